//! Keys that come after the start. Until its key is here, a party holds shares and does not count.
use std::convert::Infallible;
use std::fmt::Debug;

use prefinal_crypto_core::access::Party;

use super::Function;
use prefinal_contract::Path;

/// The keys that make parties of `S` count.
pub trait LateKeys<S: Function> {
    /// A party's key, already checked.
    type Key: Clone + Debug + Send + Sync;

    /// Whether the party's key is here.
    fn has_key(committee: &S::Committee, party: Party) -> bool;

    /// Adds a key to the committee.
    ///
    /// # Errors
    /// If the key is of another committee, or the party has one already.
    fn insert(committee: &mut S::Committee, key: Self::Key) -> Result<(), KeyError>;

    /// Checks a key of one path against the committee of another.
    /// If a partial of one path would also be a partial of the other.
    /// # Errors
    /// If a partial of one path would be one of the other.
    fn check_other(other: &S::Committee, key: &Self::Key) -> Result<(), KeyError>;
}

/// The late key of scheme `S`.
pub type LateKey<S> = <<S as Function>::LateKeys as LateKeys<S>>::Key;

/// For schemes in which every party counts from the start: there are no late keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoLateKeys;

impl<S: Function> LateKeys<S> for NoLateKeys {
    type Key = Infallible;

    fn has_key(_: &S::Committee, _: Party) -> bool {
        true
    }

    fn insert(_: &mut S::Committee, key: Infallible) -> Result<(), KeyError> {
        match key {}
    }

    fn check_other(_: &S::Committee, key: &Infallible) -> Result<(), KeyError> {
        match *key {}
    }
}

/// Why a late key is not added to its committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The path of the key has no committee.
    #[error("the {path} path is not in use")]
    UnusedPath {
        /// The path that the key is for.
        path: Path,
    },
    /// The key was admitted by another committee.
    #[error("key of {party} was admitted by another committee")]
    OtherCommittee {
        /// The party that the key belongs to.
        party: Party,
    },
    /// The party has a key already, and the first one stands.
    #[error("{party} has a key already")]
    Duplicate {
        /// The party whose key is here already.
        party: Party,
    },
    /// The key has the same blinding on both paths, so the party's fast partials would be its slow ones.
    #[error("{party} blinds its shares of both paths with one factor")]
    SharedBlinding {
        /// The party whose key would count for both paths.
        party: Party,
    },
    /// The scheme refuses the key for a reason that the beacon does not know.
    #[error("key of {party} is refused by its scheme")]
    Other {
        /// The party that the key belongs to.
        party: Party,
    },
}

impl KeyError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnusedPath { .. } => "unused-path",
            Self::OtherCommittee { .. } => "other-committee",
            Self::Duplicate { .. } => "duplicate-key",
            Self::SharedBlinding { .. } => "shared-blinding",
            Self::Other { .. } => "internal",
        }
    }
}
