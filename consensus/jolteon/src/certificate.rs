//! Certificates: statements of a quorum, in one signature.
//!
//! | certificate | statement that was signed          | by                                    |
//! |-------------|------------------------------------|---------------------------------------|
//! | QC          | "vote", round, block               | a quorum, the same statement          |
//! | order       | "order", round, block              | a quorum, the same statement          |
//! | TC          | "timeout", round, my QC's round    | a quorum, one statement per QC round  |
//!
//! Signatures are BLS multi-signatures with a bitmap of the signers. Stake is counted exactly
//! (`prefinal_crypto_core::certificate`). Nobody certifies the genesis block, so it has
//! [`QuorumCertificate::genesis`].
//!
//! See also `collector` and `job`, which turn single votes into certificates.
use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::{Domain, Signature};
use prefinal_crypto_core::certificate::{self, Signers, Statement};
use thiserror::Error;

use crate::block::{BlockId, Round};
use crate::config::Replicas;

const PROPOSAL: Domain = Domain::new("jolteon proposal");
const VOTE: Domain = Domain::new("jolteon vote");
const ORDER: Domain = Domain::new("jolteon order vote");
pub(crate) const TIMEOUT: Domain = Domain::new("jolteon timeout");

/// A statement of a party about a block. A party may make each statement about one block in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub enum Stage {
    /// The leader's signature on its proposal.
    Proposal,
    /// "I vote for it."
    Vote,
    /// "I have seen its certificate and will not hide it."
    Order,
}

impl Stage {
    /// The domain under which a party signs [`Replicas::statement`] for this stage.
    #[must_use]
    pub const fn domain(self) -> Domain {
        match self {
            Self::Proposal => PROPOSAL,
            Self::Vote => VOTE,
            Self::Order => ORDER,
        }
    }
}

/// The signed bytes of a timeout: context, round, round of the signer's highest QC: 48 bytes.
pub(crate) fn timeout_statement(committee: &Replicas, round: Round, qc: Round) -> Vec<u8> {
    [&committee.context()[..], &round.get().to_be_bytes(), &qc.get().to_be_bytes()].concat()
}

/// Why a certificate is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The timeout names a certificate that its signers cannot have had when they timed out.
    #[error("timeout of {round} with a certificate of {qc}")]
    FromTheFuture {
        /// The round that timed out.
        round: Round,
        /// The round of the certificate.
        qc: Round,
    },
    /// An unsigned certificate of another block than genesis, or a signed one of genesis.
    #[error("certificate of {round} is unsigned, or genesis is signed")]
    Genesis {
        /// The round of the certificate.
        round: Round,
    },
    /// The signers are not a quorum, or the signature is not theirs.
    #[error(transparent)]
    Quorum(#[from] certificate::CertificateError),
}

impl CertificateError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::FromTheFuture { .. } => "later-certificate",
            Self::Genesis { .. } => "genesis-certificate",
            Self::Quorum(error) => error.code(),
        }
    }
}

/// Signers and the sum of their signatures.
pub type MultiSignature = certificate::Certificate<MinSig>;

/// A quorum voted for a block.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct QuorumCertificate {
    /// The block's round.
    pub round: Round,
    /// The block.
    pub block: BlockId,
    /// The votes; `None` for the genesis block.
    pub votes: Option<MultiSignature>,
}

impl QuorumCertificate {
    /// The certificate of the genesis block.
    #[must_use]
    pub fn genesis(committee: &Replicas) -> Self {
        Self { round: Round::GENESIS, block: committee.genesis(), votes: None }
    }

    /// The signers, which vouch that they have the block.
    pub(crate) fn signers(&self) -> impl Iterator<Item = Party> + '_ {
        self.votes.iter().flat_map(|votes| votes.signers.iter())
    }

    /// Checks bitmap and stake, without algebra.
    pub(crate) fn check_shape(&self, committee: &Replicas) -> Result<(), CertificateError> {
        let genesis = self.round == Round::GENESIS;
        match &self.votes {
            Some(votes) if !genesis => {
                committee.check_quorum(&votes.signers)?;
                Ok(())
            }
            None if genesis && self.block == committee.genesis() => Ok(()),
            _ => Err(CertificateError::Genesis { round: self.round }),
        }
    }

    /// Checks everything.
    ///
    /// # Errors
    /// [`CertificateError`] says what is wrong.
    pub fn verify(&self, committee: &Replicas) -> Result<(), CertificateError> {
        self.check_shape(committee)?;
        let Some(votes) = &self.votes else { return Ok(()) };
        let message = committee.statement(self.round, self.block);
        votes.verify(committee.electorate(), Stage::Vote.domain(), &message)?;
        Ok(())
    }
}

/// A quorum gave a round up.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct TimeoutCertificate {
    /// The round.
    pub round: Round,
    /// The signers, grouped by the round of their highest QC.
    pub timeouts: BTreeMap<Round, Signers>,
    /// The sum of the signatures.
    pub signature: Signature,
}

impl TimeoutCertificate {
    /// The highest QC round that a signer had.
    #[must_use]
    pub fn highest_qc(&self) -> Round {
        self.timeouts.keys().next_back().copied().unwrap_or_default()
    }

    /// Checks bitmaps, rounds and stake, without algebra.
    pub(crate) fn check_shape(&self, committee: &Replicas) -> Result<(), CertificateError> {
        let round = self.round;
        if let Some(&qc) = self.timeouts.keys().find(|qc| **qc >= round) {
            return Err(CertificateError::FromTheFuture { round, qc });
        }
        committee.electorate().check_quorum(self.timeouts.values())?;
        Ok(())
    }

    /// Checks everything. There is one statement for each QC round.
    ///
    /// # Errors
    /// [`CertificateError`] says what is wrong.
    pub fn verify(&self, committee: &Replicas) -> Result<(), CertificateError> {
        self.check_shape(committee)?;
        let messages = self.timeouts.keys().map(|qc| timeout_statement(committee, self.round, *qc));
        let messages: Vec<Vec<u8>> = messages.collect();
        let statements = messages.iter().zip(self.timeouts.values());
        let statements: Vec<_> =
            statements.map(|(message, signers)| Statement { message, signers }).collect();
        committee.electorate().verify(TIMEOUT, &statements, &self.signature)?;
        Ok(())
    }
}
