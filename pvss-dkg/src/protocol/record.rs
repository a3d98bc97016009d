//! The records that must be durable, so that a party that crashes deals once, judges once and ends with
//! the same key.
//!
//! A dealing that was judged before the crash is read again but not judged again. So an attacker that
//! can write to a party's disk can make it accept any dealing.
use borsh::{BorshDeserialize, BorshSerialize};
use thiserror::Error;

use super::epoch::EpochKeyError;
use super::keygen::Position;
use crate::wire::DecodeError;

/// One entry of this party's log. The log keeps the order in which the entries were written.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Record {
    /// This party's own dealings. The record is written before anybody has seen one of them.
    Dealt {
        /// The dealings in signed envelopes.
        envelopes: Vec<Vec<u8>>,
    },
    /// A valid dealing was ordered in time, so it is part of the key.
    Counted {
        /// The position at which it was ordered.
        position: u64,
        /// The envelope, as it was ordered.
        envelope: Vec<u8>,
    },
    /// A party was accused. What it sends from here on does not count.
    Accused {
        /// The position of the message that it is accused for.
        position: u64,
        /// The [`Evidence`](super::Evidence) against it, encoded.
        evidence: Vec<u8>,
    },
    /// A key that the chain finalized, and what a peer offered for it.
    Recovered {
        /// The [`EpochKey`](super::EpochKey) that the chain finalized, encoded.
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

/// Why records are refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The record is not in the format that this machine writes.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The key in a record is not in the format that this machine writes.
    #[error(transparent)]
    Key(#[from] EpochKeyError),
    /// The record belongs to another session.
    #[error("records are of another session")]
    Session,
    /// A dealing that counted cannot be decoded, or a recovered key is another one than was finalized.
    #[error("a record is not what was written")]
    Unreadable,
}

impl RecordError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Decode(error) => error.code(),
            Self::Key(error) => error.code(),
            Self::Session => "other-session",
            Self::Unreadable => "unreadable-record",
        }
    }
}
