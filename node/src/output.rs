//! Where results go: lines on stdout, and files that appear once they are complete.
//!
//! `println!` panics if nobody reads any more (`prefinal round … | head`) or nothing more fits
//! (`> /dev/full`). `say!` remembers the first such failure and is silent from then on: a reader
//! that has seen enough is no failure, every other one is reported at the end by [`finish`], and a
//! command that would run without an end asks `is_closed` whether anybody still listens.
//!
//! A `Sink` is opened before the work whose result it takes, so that a place that cannot be written is
//! known at once and not after an hour.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::NamedTempFile;

use prefinal_chart::DrawError;
use prefinal_lab::Failure;

/// Why stdout takes no more.
static CLOSED: OnceLock<io::Error> = OnceLock::new();

/// Prints a line, as `println!` does, but never panics.
macro_rules! say {
    ($($what:tt)*) => { $crate::output::line(format_args!($($what)*)) };
}

/// Prints a warning to stderr, which nobody may be reading.
macro_rules! warn {
    ($($what:tt)*) => { $crate::output::aside("warning", format_args!($($what)*)) };
}

/// A line on stdout; see `say!`.
pub(crate) fn line(what: std::fmt::Arguments<'_>) {
    remember(writeln!(io::stdout().lock(), "{what}"));
}

/// stdout for bytes: takes everything, and is silent once there was a failure.
#[cfg(feature = "timelock")]
pub(crate) struct Stdout;

#[cfg(feature = "timelock")]
impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !is_closed() {
            remember(io::stdout().lock().write_all(bytes));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !is_closed() {
            remember(io::stdout().lock().flush());
        }
        Ok(())
    }
}

fn remember(printed: io::Result<()>) {
    if let Err(error) = printed {
        // One reason is enough, the first.
        let _: Result<(), io::Error> = CLOSED.set(error);
    }
}

/// A line on stderr; if that takes none either, there is nobody to tell.
pub fn aside(kind: &str, what: impl std::fmt::Display) {
    let _: io::Result<()> = writeln!(io::stderr().lock(), "{kind}: {what}");
}

/// Whether stdout takes no more, for whatever reason.
pub(crate) fn is_closed() -> bool {
    CLOSED.get().is_some()
}

/// Ends the output.
///
/// # Errors
/// If something could not be printed, unless the reader went away.
pub fn finish() -> Result<(), Failure> {
    match CLOSED.get() {
        Some(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::bad_input(format_args!("stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Takes a result.
#[derive(Debug)]
pub(crate) enum Sink {
    /// A file that appears under its name once it is complete.
    File {
        /// What is there until then.
        draft: NamedTempFile,
        /// The path that it gets.
        path: PathBuf,
    },
    /// A device or a pipe, which is not to be replaced by a file.
    Stream {
        /// Open for writing.
        stream: File,
        /// The path that it gets.
        path: PathBuf,
    },
}

impl Sink {
    /// Makes sure that the place can be written.
    ///
    /// # Errors
    /// If it cannot, with its name and what the system says.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        Self::try_open(path).map_err(|error| named(path, error))
    }

    fn try_open(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => {
                let stream = File::options().write(true).open(path)?;
                Ok(Self::Stream { stream, path: path.to_owned() })
            }
            Ok(found) if found.permissions().readonly() => Err(ErrorKind::PermissionDenied.into()),
            // What a link points to is replaced, not the link.
            Ok(_) => Self::draft(&fs::canonicalize(path)?),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::draft(path),
            Err(error) => Err(error),
        }
    }

    fn draft(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        builder.prefix(".prefinal-").suffix(".part");
        // As any other file: what the user's mask leaves of it.
        #[cfg(unix)]
        builder.permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
        let draft = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
        Ok(Self::File { draft, path: path.to_owned() })
    }

    /// Takes a part of the result.
    pub(crate) fn writer(&self) -> BufWriter<&File> {
        BufWriter::new(match self {
            Self::File { draft, .. } => draft.as_file(),
            Self::Stream { stream, .. } => stream,
        })
    }

    /// Takes all of the result, and lets it appear.
    ///
    /// # Errors
    /// What the system says, with the name.
    pub(crate) fn write(self, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.path().to_owned();
        let written = self.writer().write_all(bytes);
        written.map_err(|error| named(&path, error))?;
        self.keep()
    }

    /// Takes a picture, as SVG.
    ///
    /// # Errors
    /// What the system or the plotting library says, with the name.
    pub(crate) fn picture(self, picture: Result<String, DrawError>) -> Result<(), Failure> {
        let svg = picture.map_err(|error| named(self.path(), error))?;
        self.write(svg.as_bytes())
    }

    /// The result is complete.
    ///
    /// # Errors
    /// What the system says, with the name.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        match self {
            Self::File { draft, path } => {
                let synced = draft.as_file().sync_all();
                let moved = synced.and_then(|()| Ok(draft.persist(&path).map(drop)?));
                moved.map_err(|error| named(&path, error))
            }
            Self::Stream { .. } => Ok(()),
        }
    }

    /// The path that it gets.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File { path, .. } | Self::Stream { path, .. } => path,
        }
    }
}

/// Makes a folder if it is not there, and sure that files can be written into it.
///
/// # Errors
/// If they cannot, with the folder's name and what the system says.
pub(crate) fn folder(path: &Path) -> Result<(), Failure> {
    let tried = fs::create_dir_all(path).and_then(|()| tempfile::tempfile_in(path));
    tried.map(drop).map_err(|error| named(path, error))
}

/// What is wrong with a file, with its name.
pub(crate) fn named(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::bad_input(format_args!("{}: {error}", path.display()))
}
