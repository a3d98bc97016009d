//! What is durable, so that a party that crashes deals once, judges once and ends with the same key.
//!
//! Whoever can write to a party's disk can make it believe any dealing: what was judged before the
//! crash is read again and not judged again.
use borsh::{BorshDeserialize, BorshSerialize};
use thiserror::Error;

use super::epoch::EpochKeyError;
use super::keygen::Position;
use crate::wire::DecodeError;

/// One entry of this party's own log, in the order in which they were written.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Record {
    /// This party's dealings, before anybody has seen one.
    Dealt {
        /// Sealed and signed.
        envelopes: Vec<Vec<u8>>,
    },
    /// A dealing counts.
    Counted {
        /// Where it was ordered.
        position: u64,
        /// As it was ordered.
        envelope: Vec<u8>,
    },
    /// A party was accused; what it sends from here on does not count.
    Accused {
        /// What for was ordered there.
        position: u64,
        /// [`Evidence`](super::Evidence) in bytes.
        evidence: Vec<u8>,
    },
    /// A key that the chain finalized, with what a peer offered for it.
    Recovered {
        /// [`EpochKey`](super::EpochKey) in bytes.
        key: Vec<u8>,
        /// What the peer offered.
        offer: Vec<u8>,
    },
}

impl Record {
    pub(super) fn position(&self) -> Option<Position> {
        match self {
            Self::Counted { position, .. } | Self::Accused { position, .. } => {
                Some(Position::new(*position))
            }
            Self::Dealt { .. } | Self::Recovered { .. } => None,
        }
    }
}

/// Why records are of no use.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecordError {
    /// Not what this machine writes.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Not what this machine writes.
    #[error(transparent)]
    Key(#[from] EpochKeyError),
    /// Of another session.
    #[error("records are of another session")]
    Session,
    /// A dealing that counted does not decode, or a key that was recovered is another one.
    #[error("a record is not what was written")]
    Unreadable,
}
