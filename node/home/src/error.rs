//! What an operator is told when a home cannot be made or opened.
use std::path::{Path, PathBuf};

use prefinal_crypto_core::entropy::SystemError;

use crate::files::FileError;
use crate::genesis::GenesisError;
use crate::identity::IdentityError;
use crate::lock::LockError;
use crate::parse::ParseError;

/// Why a home cannot be made or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// A file or folder cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file is not there.
    #[error("{}: not there: {next}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// What to do.
        next: &'static str,
    },
    /// A text is not what it should be.
    #[error("{}: {error}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, the key and what is wrong.
        #[source]
        error: ParseError,
    },
    /// A row of a table is not what it should be.
    #[error("{}: line {line}: {what}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The line, counted from one.
        line: u64,
        /// What is wrong.
        what: String,
    },
    /// The genesis is refused.
    #[error("{}: {error}", path.display())]
    Genesis {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        error: Box<GenesisError>,
    },
    /// The identity or its passphrase is refused.
    #[error("{}: {error}", path.display())]
    Identity {
        /// The file.
        path: PathBuf,
        /// What is wrong. Nothing of the file is in it.
        #[source]
        error: IdentityError,
    },
    /// The identity is encrypted, and there is no terminal to ask for the passphrase.
    #[error(
        "{}: no terminal to ask for its passphrase: name a file with it \
         (identity.passphrase_file in config.toml, or --passphrase-file)",
        path.display()
    )]
    NoTerminal {
        /// The identity's file.
        path: PathBuf,
    },
    /// Another process runs on the home.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The system gives no randomness for keys.
    #[error(transparent)]
    Randomness(#[from] SystemError),
    /// What was asked for on the command line does not fit together.
    #[error("{0}")]
    Options(String),
}

impl HomeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::File(error) => error.code(),
            Self::Missing { .. } => "missing",
            Self::Parse { error, .. } => error.code(),
            Self::Table { .. } => "malformed",
            Self::Genesis { error, .. } => error.code(),
            Self::Identity { error, .. } => error.code(),
            Self::NoTerminal { .. } => "no-terminal",
            Self::Lock(error) => error.code(),
            Self::Randomness(error) => error.code(),
            Self::Options(_) => "bad-options",
        }
    }

    pub(crate) fn genesis(path: &Path, error: GenesisError) -> Self {
        Self::Genesis { path: path.to_owned(), error: Box::new(error) }
    }
}
