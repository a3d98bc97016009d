//! Why a key generation ignores an input, and why it ends without a key.
use prefinal_crypto_core::access::Party;
use thiserror::Error;

use super::collect::{NotCounted, RecoverError};
use super::record::RecordError;
use crate::aggregate::AggregateError;
use crate::field::HandoverError;

/// Why an input had no effect.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Not an envelope: a mistake or malice, and nobody can tell whose.
    #[error("no envelope")]
    NoEnvelope,
    /// An envelope of another session. Anybody may have copied it from there.
    #[error("envelope of another session")]
    OtherSession,
    /// The message was ordered behind the end of the session.
    #[error("ordered behind the end of the session")]
    BehindEnd,
    /// A repetition of a dealing that counts already.
    #[error("a dealing that counts already")]
    Repeated,
    /// The sender was accused before. One accusation is enough.
    #[error("from {0}, who was accused before")]
    Accused(Party),
    /// The party did not sign it: somebody else sent it in the party's name.
    #[error("not signed by {0}")]
    Forged(Party),
    /// A valid dealing that does not count.
    #[error(transparent)]
    NotCounted(#[from] NotCounted),
    /// This party cannot deal.
    #[error("cannot deal: {0}")]
    Deal(#[from] HandoverError),
    /// What a peer offers is not the finalized key.
    #[error("offer refused: {0}")]
    Offer(#[from] RecoverError),
}

impl Refusal {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoEnvelope => "no-envelope",
            Self::OtherSession => "other-session",
            Self::BehindEnd => "behind-end",
            Self::Repeated => "dealt-twice",
            Self::Accused(_) => "accused-before",
            Self::Forged(_) => "signature-mismatch",
            Self::NotCounted(error) => error.code(),
            Self::Deal(error) => error.code(),
            Self::Offer(error) => error.code(),
        }
    }
}

/// Why there will be no key in this session. The chain goes on with its next attempt.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Abort {
    /// All dealers have dealt or were accused, and the dealings do not suffice.
    #[error("nobody is left to deal: {0}")]
    Exhausted(AggregateError),
    /// The order has ended, and the dealings do not suffice.
    #[error("too late: {0}")]
    Ended(AggregateError),
    /// The dealings that count do not make a key.
    #[error("no key: {0}")]
    Sum(AggregateError),
    /// This party's own records are damaged. Nobody else is affected: restore the disk, or recover from
    /// a peer.
    #[error("own records: {0}")]
    Records(#[from] RecordError),
}

impl Abort {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Exhausted(error) => error.code(),
            Self::Ended(error) => error.code(),
            Self::Sum(error) => error.code(),
            Self::Records(error) => error.code(),
        }
    }
}
