//! Who belongs to the committee, with which key, and where it listens. It may change while links are up.
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use prefinal_protocol::Party;

use crate::key::PeerKey;

/// A member of the committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its key in the genesis.
    pub key: PeerKey,
    /// Where it listens. Without an address it is not dialled, but may dial.
    pub address: Option<SocketAddr>,
}

/// The list of members does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// Two members have one key, so a link could not tell them apart.
    #[error("{first} and {second} have the same key")]
    SameKey {
        /// One of the two.
        first: Party,
        /// The other member.
        second: Party,
    },
}

impl DirectoryError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::SameKey { .. } => "duplicate-key",
        }
    }
}

/// The members, shared by all links of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directory(Arc<RwLock<Members>>);

#[derive(Debug, Default)]
struct Members {
    peers: BTreeMap<Party, Peer>,
    parties: BTreeMap<PeerKey, Party>,
}

impl Directory {
    pub(crate) fn replace(&self, peers: BTreeMap<Party, Peer>) -> Result<(), DirectoryError> {
        let mut parties = BTreeMap::new();
        for (second, peer) in &peers {
            if let Some(first) = parties.insert(peer.key, *second) {
                return Err(DirectoryError::SameKey { first, second: *second });
            }
        }
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Members { peers, parties };
        Ok(())
    }

    pub(crate) fn party(&self, key: PeerKey) -> Option<Party> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).parties.get(&key).copied()
    }

    pub(crate) fn peer(&self, party: Party) -> Option<Peer> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).peers.get(&party).copied()
    }
}
