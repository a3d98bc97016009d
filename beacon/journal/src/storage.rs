//! The journal's interface, and how a journal fails.
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// A sequence of byte records that outlives the process.
pub trait Journal {
    /// Adds a record after all others. It need not be durable before [`sync`](Self::sync).
    ///
    /// # Errors
    /// If the record cannot be kept. The journal cannot be used any more.
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError>;

    /// Makes all appended records durable. Records become durable in their order: if one of them survives a
    /// crash, all records before it do too.
    ///
    /// # Errors
    /// If it is not certain that they are durable. The journal cannot be used any more.
    fn sync(&mut self) -> Result<(), JournalError>;

    /// All records, oldest first.
    ///
    /// # Errors
    /// If the journal cannot be read, or holds something else than what was written.
    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError>;

    /// From here on, holds these records instead of all others, durably. After a crash it holds either all
    /// of the old records or all of these.
    ///
    /// # Errors
    /// If that is not certain. The journal cannot be used any more.
    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError>;
}

/// A journal that is shared: with an engine's own log, or with a test that looks at it.
///
/// If a thread panics while it holds the lock, it is not certain what was written last. Then nothing more
/// is written or read.
impl<J: Journal + ?Sized> Journal for Arc<Mutex<J>> {
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError> {
        held(self, JournalOperation::Append)?.append(record)
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        held(self, JournalOperation::Sync)?.sync()
    }

    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        held(self, JournalOperation::Replay)?.replay()
    }

    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
        held(self, JournalOperation::Replace)?.replace(records)
    }
}

fn held<J: ?Sized>(
    journal: &Mutex<J>,
    doing: JournalOperation,
) -> Result<MutexGuard<'_, J>, JournalError> {
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

/// What a journal was doing when it failed. Part of [`JournalError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalOperation {
    /// Creating a new journal.
    Create,
    /// Opening an existing journal.
    Open,
    /// Adding a record: [`Journal::append`].
    Append,
    /// Making records durable: [`Journal::sync`].
    Sync,
    /// Reading the records: [`Journal::replay`].
    Replay,
    /// Replacing the records by a summary: [`Journal::replace`].
    Replace,
}

impl fmt::Display for JournalOperation {
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

/// Why a journal cannot be used any more. Clones share the cause, so that every later call can name it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The storage under the journal failed.
    #[error("journal cannot {doing}: {cause}")]
    Storage {
        /// What the journal was doing.
        doing: JournalOperation,
        /// The error of the storage.
        cause: Arc<dyn Error + Send + Sync>,
    },
    /// The journal has another owner: another party, chain or epoch.
    #[error(
        "journal is of `{got}`, not of `{expected}`: do not run one party's keys on another's journal"
    )]
    Owner {
        /// The owner that the journal names.
        got: String,
        /// The owner that was expected.
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
    /// A record does not decode as a record of the machine that reads it.
    #[error("record {index} of the journal, {bytes} bytes, is not this machine's: {why}")]
    Record {
        /// The position of the record, counted from 0.
        index: usize,
        /// The length of the record in bytes.
        bytes: usize,
        /// The message of the decoder.
        why: String,
    },
}

impl JournalError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Storage { .. } => "input-output",
            Self::Owner { .. } => "other-owner",
            Self::Lost { .. } => "journal-lost",
            Self::Record { .. } => "unreadable-record",
        }
    }
}

impl JournalError {
    /// An error of the storage under the journal.
    pub fn storage(
        doing: JournalOperation,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Storage { doing, cause: Arc::from(cause.into()) }
    }
    /// What kind of trouble it is. A program can tell its operator what to do.
    #[must_use]
    pub fn trouble(&self) -> Trouble {
        match self {
            Self::Owner { .. } => Trouble::Foreign,
            Self::Lost { .. } => Trouble::Lost,
            Self::Record { .. } => Trouble::Damaged,
            Self::Storage { cause, .. } => trouble_of(&**cause),
        }
    }
}

/// Kinds of trouble that an operator can do something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no such journal.
    Missing,
    /// It was there, its keys were used, and it is gone. A new one in its place would forget what was released.
    Lost,
    /// Another process has it open.
    InUse,
    /// The system does not let this process read or write it.
    Denied,
    /// There is no space left.
    Full,
    /// The file is not what was written, or never was a journal.
    Damaged,
    /// The journal has another owner.
    Foreign,
    /// Anything else: the text of the error says more.
    Other,
}

/// The innermost known cause is the most exact, so it decides.
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

/// The trouble behind an error of the operating system.
pub(crate) const fn of_kind(kind: io::ErrorKind) -> Trouble {
    match kind {
        io::ErrorKind::NotFound => Trouble::Missing,
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::NotADirectory => Trouble::Denied,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            Trouble::Full
        }
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => Trouble::Damaged,
        _ => Trouble::Other,
    }
}
