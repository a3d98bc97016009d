//! The messages of parties, and the shape that a message must have before anything is computed with it.
//!
//! | message      | to          | says                                                          |
//! |--------------|-------------|---------------------------------------------------------------|
//! | proposal     | all         | my block, the QC of its parent, why its round follows           |
//! | vote         | all         | I vote for this block                                         |
//! | order vote   | all         | here is its QC, and I will not hide it                          |
//! | timeout      | all         | this round takes too long, my highest QC, why I am in the round |
//! | status       | one         | the certificates that put me in my round                       |
//! | transactions | all         | please put these into blocks                                  |
//! | request      | one         | I miss this certified block and its ancestors                  |
//! | response     | one         | here they are, newest first                                   |
//!
//! The link authenticates the sender, so messages do not name it. The signatures inside are for
//! certificates and evidence. The encoding is Borsh: canonical, exact length.
//!
//! See also `certificate` and `job` (signatures in messages), and `receive` (what messages do).
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;
use thiserror::Error;

use crate::block::{Block, BlockId, PayloadMismatch, Round, Transaction};
use crate::certificate::{CertificateError, QuorumCertificate, TimeoutCertificate};
use crate::config::Replicas;

/// Largest number of blocks in a response.
pub(crate) const MAX_RESPONSE_BLOCKS: usize = 64;
/// Largest number of transactions in a message.
pub(crate) const MAX_GOSSIP: usize = 1024;

/// A leader's block, with the certificates that allow to vote for it.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Proposal {
    /// The block.
    pub block: Block,
    /// The certificate of its parent.
    pub qc: QuorumCertificate,
    /// The timeout certificate of the round before, if the parent is of an earlier round.
    pub tc: Option<TimeoutCertificate>,
    /// The leader's signature on the block.
    pub signature: Signature,
}

/// A vote for a block.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Vote {
    /// The block's round.
    pub round: Round,
    /// The block.
    pub block: BlockId,
    /// The voter's signature.
    pub signature: Signature,
}

/// An order vote: the vote that, cast by a quorum, makes a block final.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct OrderVote {
    /// The certificate of the block that is voted for.
    pub qc: QuorumCertificate,
    /// The voter's signature.
    pub signature: Signature,
}

/// A timeout: the round takes too long.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Timeout {
    /// The round.
    pub round: Round,
    /// The sender's highest certificate.
    pub qc: QuorumCertificate,
    /// The timeout certificate of the round before, if `qc` is of an earlier round.
    pub tc: Option<TimeoutCertificate>,
    /// The sender's signature on the round and on the certificate's round.
    pub signature: Signature,
}

/// The certificates that put the sender in its round.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Status {
    /// Its highest certificate.
    pub qc: QuorumCertificate,
    /// The timeout certificate of the round before, if the sender entered its round by that.
    pub tc: Option<TimeoutCertificate>,
}

/// Asks for a certified block and as many of its ancestors as the answer may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Request {
    /// The block.
    pub block: BlockId,
    /// Ancestors of this round and earlier ones are not needed.
    pub above: Round,
}

/// Blocks, each the parent of the one before it.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Response {
    /// The blocks, the requested one first.
    pub blocks: Vec<Block>,
}

/// Everything that engines send each other.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Message {
    /// See [`Proposal`].
    Proposal(Box<Proposal>),
    /// See [`Vote`].
    Vote(Vote),
    /// See [`OrderVote`].
    OrderVote(Box<OrderVote>),
    /// See [`Timeout`].
    Timeout(Box<Timeout>),
    /// See [`Status`].
    Status(Box<Status>),
    /// Transactions that were submitted to the sender.
    Transactions(Vec<Transaction>),
    /// See [`Request`].
    Request(Request),
    /// See [`Response`].
    Response(Response),
}

impl Message {
    /// Whether the sender signs something in such a message.
    #[must_use]
    pub const fn is_signed(&self) -> bool {
        matches!(self, Self::Proposal(_) | Self::Vote(_) | Self::OrderVote(_) | Self::Timeout(_))
    }
}

/// Why a message is refused before any signature is checked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// The sender is not a member, or is this party itself.
    #[error("{from} is not a peer")]
    Stranger {
        /// The sender.
        from: Party,
    },
    /// The sender does not lead the round.
    #[error("{from} does not lead {round}")]
    NotTheLeader {
        /// The sender.
        from: Party,
        /// The round.
        round: Round,
    },
    /// The block does not extend the block whose certificate comes with it.
    #[error("block of {round} does not extend the certified block of {qc}")]
    NotItsParent {
        /// The block's round.
        round: Round,
        /// The certificate's round.
        qc: Round,
    },
    /// The round follows neither from the certificate nor from the timeout certificate.
    #[error("{round} follows neither a certificate of {qc} nor a timeout certificate")]
    Unjustified {
        /// The round.
        round: Round,
        /// The certificate's round.
        qc: Round,
    },
    /// A vote for genesis. Votes are for other blocks.
    #[error("genesis needs no votes")]
    Genesis,
    /// There is more of something than a message may hold.
    #[error("{got} {what}, at most {most} are allowed")]
    TooMuch {
        /// The kind of item.
        what: &'static str,
        /// Their number, or their bytes.
        got: usize,
        /// The largest number that is allowed.
        most: usize,
    },
    /// The payload does not belong to the block.
    #[error(transparent)]
    Payload(#[from] PayloadMismatch),
    /// A certificate has a wrong shape.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

impl ShapeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Stranger { .. } => "not-a-peer",
            Self::NotTheLeader { .. } => "not-the-leader",
            Self::NotItsParent { .. } => "other-parent",
            Self::Unjustified { .. } => "unjustified-round",
            Self::Genesis => "vote-for-genesis",
            Self::TooMuch { .. } => "count-too-large",
            Self::Payload(error) => error.code(),
            Self::Certificate(error) => error.code(),
        }
    }
}

impl Message {
    /// Checks everything that needs no algebra.
    pub(crate) fn check_shape(
        &self,
        from: Party,
        committee: &Replicas,
        max_block_bytes: usize,
    ) -> Result<(), ShapeError> {
        match self {
            Self::Proposal(proposal) => proposal.check_shape(from, committee, max_block_bytes),
            Self::Vote(vote) => not_genesis(vote.round),
            Self::OrderVote(vote) => {
                not_genesis(vote.qc.round)?;
                Ok(vote.qc.check_shape(committee)?)
            }
            Self::Timeout(timeout) => {
                check_advance(timeout.round, &timeout.qc, timeout.tc.as_ref(), committee)
            }
            Self::Status(status) => status.check_shape(committee),
            Self::Transactions(transactions) => {
                at_most("transactions", transactions.len(), MAX_GOSSIP)?;
                transactions.iter().try_for_each(|one| check_transaction(one, max_block_bytes))
            }
            Self::Request(_) => Ok(()),
            Self::Response(response) => {
                at_most("blocks", response.blocks.len(), MAX_RESPONSE_BLOCKS)?;
                response.blocks.iter().try_for_each(|block| check_block(block, max_block_bytes))
            }
        }
    }
}

impl Proposal {
    fn check_shape(
        &self,
        from: Party,
        committee: &Replicas,
        max_block_bytes: usize,
    ) -> Result<(), ShapeError> {
        let (block, round) = (&self.block, self.block.round());
        if block.author() != from || committee.leader(round) != Some(from) {
            return Err(ShapeError::NotTheLeader { from, round });
        }
        if (block.parent_round(), block.parent()) != (self.qc.round, self.qc.block) {
            return Err(ShapeError::NotItsParent { round, qc: self.qc.round });
        }
        check_advance(round, &self.qc, self.tc.as_ref(), committee)?;
        check_block(block, max_block_bytes)
    }
}

impl Status {
    fn check_shape(&self, committee: &Replicas) -> Result<(), ShapeError> {
        match &self.tc {
            Some(tc) => check_advance(tc.round.next(), &self.qc, Some(tc), committee),
            None => Ok(self.qc.check_shape(committee)?),
        }
    }
}

/// Checks that the round follows: the certificate is of the round before, or there is a timeout
/// certificate of the round before and `qc` is at least as high as its highest QC.
fn check_advance(
    round: Round,
    qc: &QuorumCertificate,
    tc: Option<&TimeoutCertificate>,
    committee: &Replicas,
) -> Result<(), ShapeError> {
    qc.check_shape(committee)?;
    let justified = match tc {
        None => qc.round.next() == round,
        Some(tc) => {
            tc.check_shape(committee)?;
            tc.round.next() == round && qc.round >= tc.highest_qc() && qc.round < round
        }
    };
    if justified { Ok(()) } else { Err(ShapeError::Unjustified { round, qc: qc.round }) }
}

fn check_block(block: &Block, max_block_bytes: usize) -> Result<(), ShapeError> {
    at_most("payload bytes", block.payload_len(), max_block_bytes)?;
    Ok(block.check_payload()?)
}

pub(crate) fn check_transaction(
    transaction: &Transaction,
    max_block_bytes: usize,
) -> Result<(), ShapeError> {
    at_most("transaction bytes", transaction.encoded_len(), max_block_bytes)
}

fn not_genesis(round: Round) -> Result<(), ShapeError> {
    if round == Round::GENESIS { Err(ShapeError::Genesis) } else { Ok(()) }
}

fn at_most(what: &'static str, got: usize, most: usize) -> Result<(), ShapeError> {
    if got > most { Err(ShapeError::TooMuch { what, got, most }) } else { Ok(()) }
}
