//! Why an engine cannot start, and why it ended.
use std::io;
use std::net::SocketAddr;

use prefinal_malachite::{ConfigError, Height};

use crate::store::StoreError;

/// Why an engine cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The home folder cannot be made or used.
    #[error("home folder cannot be used")]
    Home(#[source] io::Error),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// The decided blocks cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The host holds more blocks than the store of decided blocks: the store was lost or is older.
    #[error(
        "host has blocks up to {host}, but decided blocks end before: the store was lost or replaced"
    )]
    Behind {
        /// The last height of the host.
        host: Height,
        /// The last height of the store.
        store: Option<Height>,
    },
    /// Malachite did not start.
    #[error("Malachite did not start: {0}")]
    Engine(String),
}

impl StartError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Home(_) => "input-output",
            Self::Listen { .. } => "cannot-listen",
            Self::Store(error) => error.code(),
            Self::Behind { .. } => "store-behind",
            Self::Engine(_) => "engine-not-started",
        }
    }
}

/// Why an engine ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Exit {
    /// It was stopped.
    #[error("the engine was stopped")]
    Stopped,
    /// Malachite ended. Its log says why. It may be started again.
    #[error("Malachite ended by itself; its log says why")]
    Ended,
    /// Malachite refuses to sign, because the write-ahead log cannot be written or does not fit to what it
    /// would sign. Look at the log and the disk before a new start.
    #[error("Malachite refuses to sign: its write-ahead log is damaged or cannot be written")]
    Unsafe,
    /// The decided blocks cannot be read or written.
    #[error("{0}")]
    Store(String),
    /// The committee of a height has another key under this party's number.
    #[error("committee of {height}: {cause}")]
    Committee {
        /// The height.
        height: Height,
        /// What is wrong.
        cause: ConfigError,
    },
    /// Malachite decided a block that it does not have.
    #[error("{height} is decided, but Malachite does not hold its block")]
    NoBlock {
        /// The height.
        height: Height,
    },
    /// A call of the host panicked.
    #[error("the host failed: {0}")]
    Host(String),
}

impl Exit {
    /// The reason's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Stopped => "shut-down",
            Self::Ended => "engine-ended",
            Self::Unsafe => "engine-unsafe",
            Self::Store(_) => "store-failed",
            Self::Committee { cause, .. } => cause.code(),
            Self::NoBlock { .. } => "no-block",
            Self::Host(_) => "panicked",
        }
    }
}

impl From<StoreError> for Exit {
    fn from(error: StoreError) -> Self {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        Self::Store(format!("{error}{}", cause.unwrap_or_default()))
    }
}
