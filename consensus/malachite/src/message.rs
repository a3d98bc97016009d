//! The messages of parties, and their shape.
//!
//! | message    | sender                   | limit                                         |
//! |------------|--------------------------|-----------------------------------------------|
//! | `Vote`     | its voter, over its link | the extension's length                        |
//! | `Proposal` | its proposer             | bytes of a block                              |
//! | `Polka`, `Round` | anybody            | a vote of each kind from each member          |
//! | `Request`  | a party that lags        |                                               |
//! | `Decided`  | a party that was asked   | a block, a certificate, an extension each     |
//!
//! The shape is checked before Malachite sees a message, because Malachite keeps votes of later heights
//! without verifying them, and trusts that rounds are defined. Signatures are in `sign`.
use borsh::{BorshDeserialize, BorshSerialize};
use malachitebft_core_types::{
    CommitCertificate, ExtendedCommitCertificate, PolkaCertificate, Round, RoundCertificate,
    SignedExtension, SignedMessage, VoteExtensions,
};
use prefinal_protocol::Party;

use crate::context::{Address, Block, Height, Proposal, Tendermint, Vote};

/// Longest extension in bytes: a partial of the heaviest party, with room. A longer one is no partial.
pub const MAX_EXTENSION: usize = 1 << 18;

/// A vote with its signature.
pub type SignedVote = SignedMessage<Tendermint, Vote>;
/// A proposal with its signature.
pub type SignedProposal = SignedMessage<Tendermint, Proposal>;

/// The messages between engines.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub enum Message {
    /// A prevote or precommit.
    Vote(SignedVote),
    /// A block for a round.
    Proposal(SignedProposal),
    /// A quorum of prevotes for a block that is proposed again.
    Polka(PolkaCertificate<Tendermint>),
    /// The certificate that shows why a round has begun.
    Round(RoundCertificate<Tendermint>),
    /// Asks for the decision of this height.
    Request {
        /// The height.
        height: Height,
    },
    /// The decision of a height.
    Decided(Box<Decision>),
}

/// The decision of a height, with its proof.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Decision {
    /// The block.
    pub block: Block,
    /// The certificate: precommits of a quorum.
    pub certificate: CommitCertificate<Tendermint>,
    /// The extensions of these precommits.
    pub extensions: Vec<(Address, SignedExtension<Tendermint>)>,
}

/// What is wrong with the shape of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A vote or proposal did not come from its author.
    #[error("sent by {from}, signed by {author}")]
    Author {
        /// The party over whose link it came.
        from: Party,
        /// The party that it names as its author.
        author: Party,
    },
    /// The round is undefined. Rounds count from zero.
    #[error("names no round")]
    NoRound,
    /// The extension is longer than any partial.
    #[error("extension of {got} bytes, at most {MAX_EXTENSION} are taken")]
    Extension {
        /// Its length in bytes.
        got: usize,
    },
    /// The block is too large.
    #[error("block of {got} bytes, at most {most} are taken")]
    Block {
        /// Its length in bytes.
        got: usize,
        /// The largest length that is allowed.
        most: usize,
    },
    /// The block is of another height than the message.
    #[error("block of {got} where one of {expected} belongs")]
    Height {
        /// The height of the block.
        got: Height,
        /// The height of the message.
        expected: Height,
    },
    /// The block is not the one that the certificate names.
    #[error("block does not have the name in its certificate")]
    Name,
    /// There are more signatures than the members could give.
    #[error("{got} signatures of {members} members")]
    Signatures {
        /// Number of signatures.
        got: usize,
        /// Number of members.
        members: usize,
    },
}

impl ShapeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Author { .. } => "other-author",
            Self::NoRound => "no-round",
            Self::Extension { .. } | Self::Block { .. } => "too-long",
            Self::Height { .. } => "other-height",
            Self::Name => "other-block",
            Self::Signatures { .. } => "count-too-large",
        }
    }
}

/// The limits for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of members.
    pub members: usize,
    /// Largest size of a block's transactions together, in bytes.
    pub max_block_bytes: usize,
}

impl Message {
    /// The height that the sender has reached, as the message shows; `None` if it does not show one.
    pub(crate) const fn height(&self) -> Option<Height> {
        match self {
            Self::Vote(vote) => Some(vote.message.height),
            Self::Proposal(proposal) => Some(proposal.message.height),
            Self::Polka(certificate) => Some(certificate.height),
            Self::Round(certificate) => Some(certificate.height),
            Self::Request { .. } | Self::Decided(_) => None,
        }
    }

    /// Checks that votes and proposals come from their authors, and the shape of the message.
    pub(crate) fn check(&self, from: Party, limits: Limits) -> Result<(), ShapeError> {
        match self {
            Self::Vote(vote) => author(from, vote.message.voter)?,
            Self::Proposal(proposal) => author(from, proposal.message.proposer)?,
            Self::Polka(_) | Self::Round(_) | Self::Request { .. } | Self::Decided(_) => {}
        }
        self.check_shape(limits)
    }

    /// Checks the shape of the message, from wherever it came.
    ///
    /// # Errors
    /// [`ShapeError`] says what is wrong.
    pub fn check_shape(&self, limits: Limits) -> Result<(), ShapeError> {
        let signatures = |got: usize, most: usize| {
            let members = limits.members;
            if got > most { Err(ShapeError::Signatures { got, members }) } else { Ok(()) }
        };
        match self {
            Self::Vote(vote) => {
                defined(vote.message.round)?;
                vote.message.extension.as_ref().map_or(Ok(()), extension)
            }
            Self::Proposal(proposal) => {
                let Proposal { height, round, block, .. } = &proposal.message;
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
    /// The certificate with its extensions, in Malachite's form.
    #[must_use]
    pub fn extended(&self) -> ExtendedCommitCertificate<Tendermint> {
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
