//! What parties send, and its shape.
//!
//! | message    | from whom                | bounded by                                    |
//! |------------|--------------------------|-----------------------------------------------|
//! | `Vote`     | its voter, over its link | the extension's length                        |
//! | `Proposal` | its proposer             | bytes of a block                              |
//! | `Polka`, `Round` | anybody            | a vote of each kind from each member          |
//! | `Request`  | who lags                 |                                               |
//! | `Decided`  | who was asked            | a block, a certificate, an extension each     |
//!
//! Shape is checked before Malachite sees a message: it keeps votes of heights to come without having
//! verified them, and trusts that rounds are defined. Elsewhere: signatures (`sign`).
use borsh::{BorshDeserialize, BorshSerialize};
use malachitebft_core_types::{
    CommitCertificate, ExtendedCommitCertificate, PolkaCertificate, Round, RoundCertificate,
    SignedExtension, SignedMessage, VoteExtensions,
};
use protocol::Party;

use crate::context::{Address, Block, Height, Proposal, Tendermint, Vote};

/// Longest extension: a partial of the heaviest party in bytes, with room. A longer one is no partial.
pub const MAX_EXTENSION: usize = 1 << 18;

/// A vote with its signature.
pub type SignedVote = SignedMessage<Tendermint, Vote>;
/// A proposal with its signature.
pub type SignedProposal = SignedMessage<Tendermint, Proposal>;

/// What engines send each other.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub enum Message {
    /// A prevote or precommit.
    Vote(SignedVote),
    /// A block for a round.
    Proposal(SignedProposal),
    /// A quorum of prevotes for a block that is proposed again.
    Polka(PolkaCertificate<Tendermint>),
    /// Why a round has begun.
    Round(RoundCertificate<Tendermint>),
    /// Please send what this height decided.
    Request {
        /// The height.
        height: Height,
    },
    /// What a height decided.
    Decided(Box<Decision>),
}

/// What a height decided, and what shows it.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Decision {
    /// The block.
    pub block: Block,
    /// Precommits of a quorum.
    pub certificate: CommitCertificate<Tendermint>,
    /// What these carried.
    pub extensions: Vec<(Address, SignedExtension<Tendermint>)>,
}

/// What is wrong with a message whatever it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// Votes and proposals come from their authors.
    #[error("sent by {from}, signed by {author}")]
    Author {
        /// Whose link it came over.
        from: Party,
        /// Whose it says it is.
        author: Party,
    },
    /// Rounds count from zero.
    #[error("names no round")]
    NoRound,
    /// More than a partial.
    #[error("extension of {got} bytes, at most {MAX_EXTENSION} are taken")]
    Extension {
        /// How many there are.
        got: usize,
    },
    /// More than a block.
    #[error("block of {got} bytes, at most {most} are taken")]
    Block {
        /// How many there are.
        got: usize,
        /// How many there may be.
        most: usize,
    },
    /// A block of another height than the message's.
    #[error("block of {got} where one of {expected} belongs")]
    Height {
        /// The block's.
        got: Height,
        /// The message's.
        expected: Height,
    },
    /// Another block than the certificate's.
    #[error("block does not have the name in its certificate")]
    Name,
    /// More signatures than members could give.
    #[error("{got} signatures of {members} members")]
    Signatures {
        /// How many there are.
        got: usize,
        /// How many members there are.
        members: usize,
    },
}

/// What bounds a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) members: usize,
    pub(crate) max_block_bytes: usize,
}

impl Message {
    /// The height that it shows its sender to have reached; `None` if it does not say.
    pub(crate) const fn height(&self) -> Option<Height> {
        match self {
            Self::Vote(vote) => Some(vote.message.height),
            Self::Proposal(proposal) => Some(proposal.message.height),
            Self::Polka(certificate) => Some(certificate.height),
            Self::Round(certificate) => Some(certificate.height),
            Self::Request { .. } | Self::Decided(_) => None,
        }
    }

    /// Whether this party would look further.
    pub(crate) fn check(&self, from: Party, limits: Limits) -> Result<(), ShapeError> {
        let signatures = |got: usize, most: usize| {
            let members = limits.members;
            if got > most { Err(ShapeError::Signatures { got, members }) } else { Ok(()) }
        };
        match self {
            Self::Vote(vote) => {
                author(from, vote.message.voter)?;
                defined(vote.message.round)?;
                vote.message.extension.as_ref().map_or(Ok(()), extension)
            }
            Self::Proposal(proposal) => {
                let Proposal { height, round, proposer, block, .. } = &proposal.message;
                author(from, *proposer)?;
                defined(*round)?;
                check_block(block, *height, limits)
            }
            Self::Polka(certificate) => {
                defined(certificate.round)?;
                signatures(certificate.polka_signatures.len(), limits.members)
            }
            Self::Round(certificate) => {
                defined(certificate.round)?;
                signatures(certificate.round_signatures.len(), limits.members.saturating_mul(2))
            }
            Self::Request { .. } => Ok(()),
            Self::Decided(decision) => {
                let Decision { block, certificate, extensions } = &**decision;
                defined(certificate.round)?;
                signatures(certificate.commit_signatures.len(), limits.members)?;
                signatures(extensions.len(), limits.members)?;
                extensions.iter().try_for_each(|(_, one)| extension(one))?;
                if block.id() != certificate.value_id {
                    return Err(ShapeError::Name);
                }
                check_block(block, certificate.height, limits)
            }
        }
    }
}

impl Decision {
    /// As Malachite takes it.
    pub(crate) fn extended(&self) -> ExtendedCommitCertificate<Tendermint> {
        let extensions = VoteExtensions::new(self.extensions.clone());
        let certificate = self.certificate.clone();
        ExtendedCommitCertificate::from_commit_certificate_and_extensions(certificate, extensions)
    }
}

fn author(from: Party, author: Address) -> Result<(), ShapeError> {
    let author = author.party();
    if from == author { Ok(()) } else { Err(ShapeError::Author { from, author }) }
}

fn defined(round: Round) -> Result<(), ShapeError> {
    if round.is_defined() { Ok(()) } else { Err(ShapeError::NoRound) }
}

fn extension(extension: &SignedExtension<Tendermint>) -> Result<(), ShapeError> {
    let got = extension.message.len();
    if got > MAX_EXTENSION { Err(ShapeError::Extension { got }) } else { Ok(()) }
}

fn check_block(block: &Block, expected: Height, limits: Limits) -> Result<(), ShapeError> {
    let (got, most) = (block.payload_bytes(), limits.max_block_bytes);
    if got > most {
        return Err(ShapeError::Block { got, most });
    }
    let got = block.height();
    if got == expected { Ok(()) } else { Err(ShapeError::Height { got, expected }) }
}
