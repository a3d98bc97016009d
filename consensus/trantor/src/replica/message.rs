//! What replicas say to each other beside the ordering, and what they do wrong.
//!
//! | message       | to         | says                                                          |
//! |---------------|------------|---------------------------------------------------------------|
//! | order         | one or all | a message of the ordering, and the committee that it belongs to |
//! | vote          | all        | this is my state at the epoch's beginning                       |
//! | stable        | one        | I lack what you ask for, or certified what you vote for: a checkpoint |
//! | piece request | one or all | I miss these pieces of a checkpoint; or none yet, but keep it     |
//! | piece         | one        | here it is, with its way to the root                            |
//! | changes request | one      | I know this committee: what came after it?                      |
//! | changes       | one        | these changes of the committee, each signed by the one before   |
//! | checkpoint request | one or all | I lack the certificate of a checkpoint                       |
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Context;
use thiserror::Error;

use crate::config::Replicas;
use crate::message::Message as OrderMessage;
use crate::replica::certifier::{Certifier, CertifierError};
use crate::replica::checkpoint::{
    CertifiedStatement, MAX_CERTIFICATE, MAX_VOTE, Piece, PieceError, Statement,
};
use crate::replica::history::{Change, MAX_CHANGES};

/// Most pieces that are sent for one request: fewer bytes than a request for decisions brings.
pub const MAX_RUN: u32 = 16;

/// The beginning of a committee's context: which committee a message of the ordering belongs to.
pub(crate) type CommitteeTag = [u8; 8];

pub(crate) fn tag_of(committee: &Replicas) -> CommitteeTag {
    head_of(committee.context())
}

/// The tag of a committee with this context.
pub(crate) fn head_of(context: &[u8; 32]) -> CommitteeTag {
    context.first_chunk().copied().unwrap_or_default()
}

/// A party's vote for its state.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct CheckpointVote {
    /// What the party says of its state.
    pub statement: Statement,
    /// The vote, as the [`Certifier`] writes it.
    pub vote: Vec<u8>,
}

/// Everything that replicas send each other.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum ReplicaMessage {
    /// A message of the ordering.
    Order {
        /// The committee that it belongs to.
        committee: [u8; 8],
        /// The message, as that committee's engine takes it.
        message: Box<OrderMessage>,
    },
    /// The sender's state at the beginning of an epoch.
    Vote(Box<CheckpointVote>),
    /// The sender's latest certified checkpoint.
    Stable(Box<CertifiedStatement>),
    /// The sender misses pieces.
    PieceRequest {
        /// The epoch of the checkpoint.
        epoch: u64,
        /// The place of the first piece.
        first: u32,
        /// Number of pieces, at most [`MAX_RUN`] of which are sent. If it is zero, the sender fetches the state from
        /// somebody else and may come for the rest of it.
        count: u32,
    },
    /// One of the pieces that were asked for.
    Piece(Box<Piece>),
    /// The sender wants to learn which committees came after one that it knows.
    ChangesRequest {
        /// The beginning of the context of that committee.
        committee: [u8; 8],
    },
    /// The changes of the committee that were asked for, in the order of their epochs. At most [`MAX_CHANGES`].
    Changes(Vec<Change>),
    /// The sender wants the certified statement about an epoch, or a later one; any if that is epoch 0.
    CheckpointRequest {
        /// The epoch that the checkpoint begins.
        epoch: u64,
    },
}

/// A vote for a state, and what shows that it is wrong: evidence for anybody who knows the committee.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct WrongState {
    /// The vote for another state.
    pub vote: CheckpointVote,
    /// A quorum's certificate of another state at the same epoch.
    pub certified: CertifiedStatement,
}

impl WrongState {
    /// Checks that `party` voted for a state which is not the certified one.
    ///
    /// # Errors
    /// [`CertifierError`] if vote or certificate is not valid; [`CertifierError::Certificate`] also if both
    /// are about the same state, or about two epochs.
    pub fn verify(
        &self,
        certifier: &dyn Certifier,
        committee: &Replicas,
        context: &Context,
        party: Party,
    ) -> Result<(), CertifierError> {
        let (vote, certified) = (&self.vote, &self.certified);
        let (said, right) = (vote.statement, certified.statement);
        if said == right || said.epoch != right.epoch {
            return Err(CertifierError::Certificate);
        }
        certifier.check_vote(committee, &said.to_bytes(context), party, &vote.vote)?;
        certifier.verify(committee, &right.to_bytes(context), &certified.certificate)
    }
}

/// What a replica did wrong, beside the ordering.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReplicaFault {
    /// A message is larger than it may be.
    #[error("{got} bytes of a {what}, at most {most} are allowed")]
    TooLong {
        /// The kind of message.
        what: &'static str,
        /// Number of bytes that came.
        got: usize,
        /// Number of bytes that are allowed.
        most: usize,
    },
    /// An answer has more changes of the committee than it may have.
    #[error("{got} changes of the committee, at most {most} are allowed")]
    TooMany {
        /// Number of changes that came.
        got: usize,
        /// Number of changes that are allowed.
        most: usize,
    },
    /// Its vote for a checkpoint is not valid.
    #[error("invalid vote for the checkpoint of epoch {epoch}")]
    BadVote {
        /// The epoch that the checkpoint begins.
        epoch: u64,
    },
    /// It voted for a state that is not the one that a quorum certified.
    #[error("wrong state at epoch {}", .0.vote.statement.epoch)]
    WrongState(Box<WrongState>),
    /// It passed on a certificate that is none.
    #[error("forged certificate of the checkpoint of epoch {epoch}")]
    ForgedCheckpoint {
        /// The epoch that the checkpoint begins.
        epoch: u64,
    },
    /// It sent bytes that are not the piece which was asked for.
    #[error("checkpoint of epoch {epoch}: {error}")]
    BadPiece {
        /// The epoch that the checkpoint begins.
        epoch: u64,
        /// The check that the piece fails.
        error: PieceError,
    },
}

impl ReplicaFault {
    /// The fault's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLong { .. } | Self::TooMany { .. } => "too-long",
            Self::BadVote { .. } => "signature-mismatch",
            Self::WrongState(_) => "other-state",
            Self::ForgedCheckpoint { .. } => "invalid-certificate",
            Self::BadPiece { error, .. } => error.code(),
        }
    }
}

impl ReplicaMessage {
    /// Checks the sizes of what the certifier and the pieces bring. The ordering checks its own messages.
    pub(crate) fn check_size(&self) -> Result<(), ReplicaFault> {
        let (what, got, most) = match self {
            Self::Vote(vote) => ("vote", vote.vote.len(), MAX_VOTE),
            Self::Stable(certified) => {
                ("certificate", certified.certificate.len(), MAX_CERTIFICATE)
            }
            Self::Changes(changes) if changes.len() > MAX_CHANGES => {
                return Err(ReplicaFault::TooMany { got: changes.len(), most: MAX_CHANGES });
            }
            Self::Changes(changes) => {
                let lengths = changes.iter().map(|one| one.certified.certificate.len());
                ("certificate", lengths.max().unwrap_or_default(), MAX_CERTIFICATE)
            }
            Self::Order { .. }
            | Self::PieceRequest { .. }
            | Self::Piece(_)
            | Self::ChangesRequest { .. }
            | Self::CheckpointRequest { .. } => return Ok(()),
        };
        if got > most { Err(ReplicaFault::TooLong { what, got, most }) } else { Ok(()) }
    }
}

/// Whether a party with another committee can use a message of the ordering: it asks for what is decided,
/// or answers that.
pub(crate) const fn crosses_committees(message: &OrderMessage) -> bool {
    use OrderMessage as M;
    matches!(
        message,
        M::Progress(_)
            | M::Request(_)
            | M::Response(_)
            | M::BodyRequest(_)
            | M::BodyResponse(..)
            | M::BatchRequest(_)
            | M::BatchResponse(_)
    )
}
