//! How the state fails: a disk, a file that holds something else than was written, or a caller's mistake.
use std::io;
use std::path::PathBuf;

use prefinal_execution::{BlockId, Height};

use crate::account::AccountError;

/// Why the state cannot be read or written. What is on the disk is unknown until it is opened again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The file cannot be read or written.
    #[error("the store of the state failed while it {doing}: {source}")]
    Storage {
        /// What the store was doing.
        doing: &'static str,
        /// What the library says.
        source: Box<redb::Error>,
    },
    /// There is no room for the file: on the disk, or within what this process or its user may take of it.
    #[error("there is no room for the store of the state: {source}")]
    Full {
        /// What the library says.
        source: Box<redb::Error>,
    },
    /// The file cannot be created.
    #[error("the state cannot be created at {path}: {source}")]
    Folder {
        /// Where it would be.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file holds something else than what was written.
    #[error("the store of the state is damaged: {what}")]
    Damaged {
        /// What is missing or unreadable.
        what: String,
    },
    /// A thread panicked while it changed what is in memory.
    #[error("a thread panicked while it changed the state")]
    Poisoned,
    /// A block is written whose parent is neither written nor the last committed block.
    #[error("the parent of {block} is not in the store")]
    NoParent {
        /// The block that is written.
        block: BlockId,
    },
    /// A block is certified or read that is not written.
    #[error("{block} is not in the store")]
    NoBlock {
        /// The block that is missing.
        block: BlockId,
    },
    /// A block is certified that is no child of the last committed block.
    #[error("{block} is no child of the last committed block, which is {committed}")]
    NotNext {
        /// The block that is certified.
        block: BlockId,
        /// The last committed block.
        committed: BlockId,
    },
    /// A committed block is to be reverted.
    #[error("{block} is committed")]
    Committed {
        /// The block that cannot be reverted.
        block: BlockId,
    },
    /// A state is asked for that is pruned, or not committed yet.
    #[error("the state at {height} is not in the store")]
    NoVersion {
        /// The height whose state is asked for.
        height: Height,
    },
    /// More forks at one height than have numbers.
    #[error("{height} has too many forks")]
    TooManyForks {
        /// The height with too many blocks.
        height: Height,
    },
    /// The height has no number among the tree's versions.
    #[error("{height} is beyond the last one")]
    TooHigh {
        /// The height that is too high.
        height: Height,
    },
    /// A state is to be restored that is not behind the last committed block.
    #[error("{height} is not behind the last committed block")]
    NotAhead {
        /// The height whose state would be restored.
        height: Height,
    },
    /// A block is written while a state is being restored. Finish or abandon that first.
    #[error("a state is being restored")]
    Restoring,
    /// A range comes while no state is being restored.
    #[error("no state is being restored")]
    NotRestoring,
    /// Ranges are missing of a state that is being restored.
    #[error("the state is not restored yet")]
    NotRestored,
    /// A range is of another state than the one that is being restored.
    #[error("the range is of another state than the one that is being restored")]
    OtherState,
    /// The file holds the state of a chain with another genesis.
    #[error("the store belongs to another genesis")]
    OtherGenesis,
}

impl StateError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Storage { .. } | Self::Full { .. } | Self::Folder { .. } => "input-output",
            Self::Damaged { .. } => "altered",
            Self::Poisoned => "panicked",
            Self::NoParent { .. } | Self::NoBlock { .. } => "block-not-stored",
            Self::Committed { .. } => "committed",
            Self::NotNext { .. } | Self::NotAhead { .. } => "not-next",
            Self::Restoring | Self::NotRestoring | Self::NotRestored => "restoring",
            Self::OtherState => "other-state",
            Self::NoVersion { .. } => "no-state",
            Self::TooManyForks { .. } => "count-too-large",
            Self::TooHigh { .. } => "invalid-value",
            Self::OtherGenesis => "other-owner",
        }
    }

    pub(crate) fn storage(doing: &'static str) -> impl Fn(redb::Error) -> Self {
        move |source| {
            let source = Box::new(source);
            match &*source {
                redb::Error::Io(error) if is_full(error.kind()) => Self::Full { source },
                _ => Self::Storage { doing, source },
            }
        }
    }

    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged { what: what.into() }
    }
}

const fn is_full(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(kind, StorageFull | QuotaExceeded | FileTooLarge)
}

impl<T> From<std::sync::PoisonError<T>> for StateError {
    fn from(_: std::sync::PoisonError<T>) -> Self {
        Self::Poisoned
    }
}

impl From<AccountError> for StateError {
    fn from(error: AccountError) -> Self {
        Self::damaged(error.to_string())
    }
}
