//! One process for each home: a lock that ends with the process, however it ends.
//!
//! Two processes with one identity would sign two different votes for one slot, which others can prove.
//! The lock does not see a copy of the home on another machine: never start one.
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::files::FileError;

/// The lock of a home. It is given back when this is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Why a home cannot be locked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process has it.
    #[error("{}: {} runs on this home already: stop it first", path.display(), holder(*pid))]
    Held {
        /// The lock's file.
        path: PathBuf,
        /// The process' number, if it has written it.
        pid: Option<u32>,
    },
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

impl LockError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Held { .. } => "locked",
            Self::File(error) => error.code(),
        }
    }
}

impl Lock {
    /// Takes the lock, without waiting for it.
    ///
    /// # Errors
    /// If another process has it, with its number.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let named = |error| LockError::from(FileError::io(path, error));
        let mut file = open(path).map_err(named)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let path = path.to_owned();
                return Err(LockError::Held { path, pid: read(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(named(error)),
        }
        // The file stays when the process ends: if it were removed, two could lock two files of one name.
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        written.map_err(named)?;
        Ok(Self { _file: file })
    }
}

fn read(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}
