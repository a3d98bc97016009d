//! Files as an operator expects them: bounded when read, complete when written, secrets for one user only.
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use zeroize::Zeroizing;

/// Why a file or folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// The file is larger than any file of its kind.
    #[error("{}: more than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        limit: u64,
    },
    /// The path leads to a folder, pipe or device.
    #[error("{}: not a regular file", path.display())]
    NotRegular {
        /// The path.
        path: PathBuf,
    },
    /// The file is no UTF-8.
    #[error("{}: not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// The file holds a secret, and other users can read it.
    #[error("{}: other users can read it (mode {mode:04o}): chmod 600, and treat it as read", path.display())]
    Readable {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Other users can replace files of the folder.
    #[error("{}: other users can change it (mode {mode:04o}): chmod 700", path.display())]
    Writable {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file or folder is there already, and is never replaced.
    #[error("{}: is there already and stays as it is", path.display())]
    Exists {
        /// The file or folder.
        path: PathBuf,
    },
}

impl FileError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "input-output",
            Self::TooLarge { .. } => "too-long",
            Self::NotRegular { .. } => "not-a-file",
            Self::NotText { .. } => "not-text",
            Self::Readable { .. } | Self::Writable { .. } => "permissions",
            Self::Exists { .. } => "exists",
        }
    }

    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        Self::Io { path: path.to_owned(), error }
    }

    /// Whether the file is not there.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { error, .. } if error.kind() == ErrorKind::NotFound)
    }
}

/// What a file holds decides how careful its opening is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Anybody may read it.
    Public,
    /// Nobody else may read it. Links are followed: secret stores of clusters are made of them.
    Secret,
    /// The same, and the path itself must be the file: a link would point out of the home.
    OwnSecret,
}

/// All bytes of a file that has at most `limit`. The buffer is wiped.
pub(crate) fn read(
    path: &Path,
    limit: u64,
    content: Content,
) -> Result<Zeroizing<Vec<u8>>, FileError> {
    let named = |error| FileError::io(path, error);
    let file = open(path, content).map_err(named)?;
    // What was opened is examined, not what may have the name by now.
    let found = file.metadata().map_err(named)?;
    if !found.is_file() {
        return Err(FileError::NotRegular { path: path.to_owned() });
    }
    if content != Content::Public {
        private(path, &found)?;
    }
    if found.len() > limit {
        return Err(FileError::TooLarge { path: path.to_owned(), limit });
    }
    // Reserved at once, for a buffer that grows leaves copies behind.
    let size = usize::try_from(found.len().saturating_add(1)).unwrap_or(0);
    let mut bytes = Zeroizing::new(Vec::with_capacity(size));
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(named)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Err(FileError::TooLarge { path: path.to_owned(), limit });
    }
    Ok(bytes)
}

/// The text of a public file.
pub(crate) fn read_text(path: &Path, limit: u64) -> Result<String, FileError> {
    let bytes = read(path, limit, Content::Public)?;
    let text = str::from_utf8(&bytes).map_err(|_| FileError::NotText { path: path.to_owned() })?;
    Ok(text.to_owned())
}

/// Opens without waiting for the other end of a pipe.
#[cfg(unix)]
fn open(path: &Path, content: Content) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;

    let mut flags = OFlags::NONBLOCK;
    flags.set(OFlags::NOFOLLOW, content == Content::OwnSecret);
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    opened.map_err(|error| match rustix::io::Errno::from_io_error(&error) {
        Some(rustix::io::Errno::LOOP) if content == Content::OwnSecret => {
            io::Error::other("is a symbolic link, expected the file itself")
        }
        _ => error,
    })
}

#[cfg(not(unix))]
fn open(path: &Path, _: Content) -> io::Result<File> {
    File::open(path)
}

#[cfg(unix)]
fn private(path: &Path, found: &fs::Metadata) -> Result<(), FileError> {
    use std::os::unix::fs::MetadataExt;
    let mode = found.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(FileError::Readable { path: path.to_owned(), mode });
    }
    Ok(())
}

#[cfg(not(unix))]
fn private(_: &Path, _: &fs::Metadata) -> Result<(), FileError> {
    Ok(())
}

/// Makes sure that nobody else can put files into a folder.
pub(crate) fn own_folder(path: &Path) -> Result<(), FileError> {
    let found = fs::metadata(path).map_err(|error| FileError::io(path, error))?;
    if !found.is_dir() {
        return Err(FileError::io(path, ErrorKind::NotADirectory.into()));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let mode = found.mode() & 0o7777;
        if mode & 0o022 != 0 {
            return Err(FileError::Writable { path: path.to_owned(), mode });
        }
    }
    Ok(())
}

/// A folder for this user only. One that is there must be closed to others.
pub(crate) fn make_folder(path: &Path) -> Result<(), FileError> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Ok(()) => sync_folder(parent(path)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => own_folder(path),
        Err(error) => Err(FileError::io(path, error)),
    }
}

/// What may be under the name of a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing: the file is never replaced.
    Nothing,
    /// An older one, which is replaced.
    Older,
}

/// Writes a file that appears under its name once it is complete and on disk, for this user only if it
/// holds a secret.
pub(crate) fn write(
    path: &Path,
    bytes: &[u8],
    content: Content,
    before: Before,
) -> Result<(), FileError> {
    let named = |error| FileError::io(path, error);
    let folder = parent(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".prefinal-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = if content == Content::Public { 0o644 } else { 0o600 };
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    let mut draft: NamedTempFile = builder.tempfile_in(folder).map_err(named)?;
    draft.write_all(bytes).map_err(named)?;
    draft.as_file().sync_all().map_err(named)?;
    let moved = match before {
        Before::Nothing => draft.persist_noclobber(path),
        Before::Older => draft.persist(path),
    };
    match moved {
        Ok(_) => sync_folder(folder),
        Err(failed) if failed.error.kind() == ErrorKind::AlreadyExists => {
            Err(FileError::Exists { path: path.to_owned() })
        }
        Err(failed) => Err(named(failed.error)),
    }
}

/// Whether something has this name, be it a link that leads nowhere.
pub(crate) fn exists(path: &Path) -> Result<bool, FileError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(FileError::io(path, error)),
    }
}

pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name is on disk once its folder is.
pub(crate) fn sync_folder(path: &Path) -> Result<(), FileError> {
    if cfg!(unix) {
        let synced = File::open(path).and_then(|folder| folder.sync_all());
        synced.map_err(|error| FileError::io(path, error))?;
    }
    Ok(())
}
