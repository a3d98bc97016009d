//! What a journal is, and how it fails.
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// Records in order, as bytes, that outlive the process.
pub trait Journal {
    /// Adds a record behind all others. It need not be durable before [`sync`](Self::sync).
    ///
    /// # Errors
    /// If the record cannot be kept. The journal is of no use any more.
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError>;

    /// Makes everything durable that was appended. Records become durable in their order: if one of
    /// them survives a crash, all before it do.
    ///
    /// # Errors
    /// If that is not certain. The journal is of no use any more.
    fn sync(&mut self) -> Result<(), JournalError>;

    /// All records, oldest first.
    ///
    /// # Errors
    /// If the journal cannot be read, or is not what was written.
    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError>;

    /// Holds these records instead of all others from here on, durably. After a crash it holds either
    /// all of the old ones or all of these.
    ///
    /// # Errors
    /// If that is not certain. The journal is of no use any more.
    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError>;
}

/// A journal that others hold as well: an engine's own log, or a test that looks at it.
///
/// After a panic under the lock what was written last is not certain, so nothing more is written or read.
impl<J: Journal + ?Sized> Journal for Arc<Mutex<J>> {
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError> {
        held(self, Doing::Append)?.append(record)
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        held(self, Doing::Sync)?.sync()
    }

    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        held(self, Doing::Replay)?.replay()
    }

    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
        held(self, Doing::Replace)?.replace(records)
    }
}

fn held<J: ?Sized>(journal: &Mutex<J>, doing: Doing) -> Result<MutexGuard<'_, J>, JournalError> {
    journal.lock().map_err(|_| JournalError::storage(doing, "a thread panicked while it wrote"))
}

impl<J: Journal + ?Sized> Journal for Box<J> {
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError> {
        (**self).append(record)
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        (**self).sync()
    }

    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        (**self).replay()
    }

    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
        (**self).replace(records)
    }
}

/// What a journal was doing when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Making a new one.
    Create,
    /// Opening one.
    Open,
    /// [`Journal::append`]
    Append,
    /// [`Journal::sync`]
    Sync,
    /// [`Journal::replay`]
    Replay,
    /// [`Journal::replace`]
    Replace,
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "be created",
            Self::Open => "be opened",
            Self::Append => "take a record",
            Self::Sync => "be made durable",
            Self::Replay => "be read",
            Self::Replace => "be shortened",
        })
    }
}

/// Why a journal is of no use. Clones share the cause, so that every later call can name it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum JournalError {
    /// What it is kept on fails.
    #[error("journal cannot {doing}: {cause}")]
    Storage {
        /// What it was doing.
        doing: Doing,
        /// What went wrong.
        cause: Arc<dyn Error + Send + Sync>,
    },
    /// It is the journal of somebody else: another party, chain or epoch.
    #[error(
        "journal is of `{got}`, not of `{expected}`: do not run one party's keys on another's journal"
    )]
    Owner {
        /// Whose it is.
        got: String,
        /// Whose it should be.
        expected: String,
    },
    /// The journal of keys that were used before is not there. What was released with them is unknown, so they
    /// must not be used again: put the file back, or wait for the next epoch's keys.
    #[error(
        "journal of `{owner}` was used before and is not there: its keys must not be used without it"
    )]
    Lost {
        /// Whose journal it is.
        owner: String,
    },
    /// A record is not of the machine that reads it.
    #[error("record {index} of the journal, {bytes} bytes, is not this machine's: {why}")]
    Record {
        /// Which, from 0.
        index: usize,
        /// How long it is.
        bytes: usize,
        /// What the decoder says.
        why: String,
    },
}

impl JournalError {
    /// A failure of what a journal is kept on.
    pub fn storage(doing: Doing, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Storage { doing, cause: Arc::from(cause.into()) }
    }
    /// What kind of trouble it is, for a program that tells its operator what to do.
    #[must_use]
    pub fn trouble(&self) -> Trouble {
        match self {
            Self::Owner { .. } => Trouble::Foreign,
            Self::Lost { .. } => Trouble::Missing,
            Self::Record { .. } => Trouble::Damaged,
            Self::Storage { cause, .. } => trouble_of(&**cause),
        }
    }
}

/// What an operator can do something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no such journal.
    Missing,
    /// Another process has it open.
    InUse,
    /// The system does not let this process read or write it.
    Denied,
    /// There is no space left.
    Full,
    /// It is not what was written, or never was a journal.
    Damaged,
    /// It is somebody else's.
    Foreign,
    /// What the error's text says.
    Other,
}

/// The innermost cause that is known says it best.
fn trouble_of(cause: &(dyn Error + 'static)) -> Trouble {
    let (mut next, mut found) = (Some(cause), Trouble::Other);
    while let Some(error) = next {
        let by_system = || error.downcast_ref::<io::Error>().map(|error| of_kind(error.kind()));
        found = of_store(error).or_else(by_system).unwrap_or(found);
        next = error.source();
    }
    found
}

#[cfg(feature = "redb")]
fn of_store(error: &(dyn Error + 'static)) -> Option<Trouble> {
    crate::redb::trouble(error)
}

#[cfg(not(feature = "redb"))]
const fn of_store(_: &(dyn Error + 'static)) -> Option<Trouble> {
    None
}

/// What the system says.
pub(crate) const fn of_kind(kind: io::ErrorKind) -> Trouble {
    match kind {
        io::ErrorKind::NotFound => Trouble::Missing,
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::NotADirectory => Trouble::Denied,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Trouble::Full,
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => Trouble::Damaged,
        _ => Trouble::Other,
    }
}
