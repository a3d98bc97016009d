//! Keys that come after the start: until its key is here a party holds shares and counts for nothing.
use std::convert::Infallible;
use std::fmt::Debug;

use crypto_core::access::Party;

use super::Function;
use contract::Path;

/// What makes a party of `S` count.
pub trait LateKeys<S: Function> {
    /// A party's key, checked.
    type Key: Clone + Debug + Send + Sync;

    /// Whether the party's key is here.
    fn has_key(committee: &S::Committee, party: Party) -> bool;

    /// Enters a key.
    ///
    /// # Errors
    /// If the key is of another committee, or the party has one already.
    fn insert(committee: &mut S::Committee, key: Self::Key) -> Result<(), KeyError>;

    /// Checks a key of one path against the committee of another.
    ///
    /// # Errors
    /// If a partial of one path would be one of the other.
    fn check_other(other: &S::Committee, key: &Self::Key) -> Result<(), KeyError>;
}

/// A late key of `S`.
pub type LateKey<S> = <<S as Function>::LateKeys as LateKeys<S>>::Key;

/// Every party counts from the start: there is no such key.
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

/// Why a late key does not enter its committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no committee for it.
    #[error("the {path} path is not in use")]
    UnusedPath {
        /// The path that the key is for.
        path: Path,
    },
    /// It was admitted elsewhere.
    #[error("key of {party} was admitted by another committee")]
    OtherCommittee {
        /// The party that the key belongs to.
        party: Party,
    },
    /// The first key stands.
    #[error("{party} has a key already")]
    Duplicate {
        /// The party whose key is here already.
        party: Party,
    },
    /// Its fast partials would be its slow ones.
    #[error("{party} blinds its shares of both paths with one factor")]
    SharedBlinding {
        /// The party whose key would count for both paths.
        party: Party,
    },
}
