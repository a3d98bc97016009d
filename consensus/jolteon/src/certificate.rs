//! What a quorum has said, in one signature.
//!
//! | certificate | statement that was signed          | by                                    |
//! |-------------|------------------------------------|---------------------------------------|
//! | QC          | "vote", round, block               | a quorum, the same statement          |
//! | order       | "order", round, block              | a quorum, the same statement          |
//! | TC          | "timeout", round, my QC's round    | a quorum, one statement per QC round  |
//!
//! Signatures are BLS multi-signatures with a bitmap of the signers; stake is counted exactly
//! (`crypto_core::certificate`). The genesis block is certified by nobody, hence
//! [`QuorumCertificate::genesis`].
//!
//! Elsewhere: how single votes become certificates (`collector`, `job`).
use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::access::Party;
use crypto_core::bls::MinSig;
use crypto_core::bls::min_sig::{Domain, Signature};
use crypto_core::certificate::{self, Signers, Statement};
use thiserror::Error;

use crate::block::{BlockId, Round};
use crate::config::Replicas;

const PROPOSAL: Domain = Domain::new("jolteon proposal");
const VOTE: Domain = Domain::new("jolteon vote");
const ORDER: Domain = Domain::new("jolteon order vote");
pub(crate) const TIMEOUT: Domain = Domain::new("jolteon timeout");

/// What a party may say about a block. It may say each of them about one block a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub enum Stage {
    /// "I propose it."
    Proposal,
    /// "I vote for it."
    Vote,
    /// "I have seen its certificate and will not hide it."
    Order,
}

impl Stage {
    /// What a party signs [`Replicas::statement`] under when it says so.
    #[must_use]
    pub const fn domain(self) -> Domain {
        match self {
            Self::Proposal => PROPOSAL,
            Self::Vote => VOTE,
            Self::Order => ORDER,
        }
    }
}

/// Context, round, round of the signer's highest QC: 48 bytes.
pub(crate) fn timeout_statement(committee: &Replicas, round: Round, qc: Round) -> Vec<u8> {
    [&committee.context()[..], &round.get().to_be_bytes(), &qc.get().to_be_bytes()].concat()
}

/// Why a certificate proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CertificateError {
    /// A certificate that its signers cannot have had when they timed out.
    #[error("timeout of {round} with a certificate of {qc}")]
    FromTheFuture {
        /// The round that timed out.
        round: Round,
        /// The round of the certificate.
        qc: Round,
    },
    /// Nobody certifies the genesis block, and nobody certifies another block without signing.
    #[error("certificate of {round} is unsigned, or genesis is signed")]
    Genesis {
        /// Its round.
        round: Round,
    },
    /// The signers are not a quorum that signed.
    #[error(transparent)]
    Quorum(#[from] certificate::CertificateError),
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
    /// The votes; none for the genesis block.
    pub votes: Option<MultiSignature>,
}

impl QuorumCertificate {
    /// The certificate of the genesis block.
    #[must_use]
    pub fn genesis(committee: &Replicas) -> Self {
        Self { round: Round::GENESIS, block: committee.genesis(), votes: None }
    }

    /// Who vouches for having the block.
    pub(crate) fn signers(&self) -> impl Iterator<Item = Party> + '_ {
        self.votes.iter().flat_map(|votes| votes.signers.iter())
    }

    /// Bitmap and stake, without algebra.
    pub(crate) fn check_shape(&self, committee: &Replicas) -> Result<(), CertificateError> {
        let genesis = self.round == Round::GENESIS;
        match &self.votes {
            Some(votes) if !genesis => {
                committee.electorate().check_quorum([&votes.signers])?;
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
    /// Who had a highest QC of which round.
    pub timeouts: BTreeMap<Round, Signers>,
    /// The sum of what they signed.
    pub signature: Signature,
}

impl TimeoutCertificate {
    /// The highest QC round that a signer had.
    #[must_use]
    pub fn highest_qc(&self) -> Round {
        self.timeouts.keys().next_back().copied().unwrap_or_default()
    }

    /// Bitmaps, rounds and stake, without algebra.
    pub(crate) fn check_shape(&self, committee: &Replicas) -> Result<(), CertificateError> {
        let round = self.round;
        if let Some(&qc) = self.timeouts.keys().find(|qc| **qc >= round) {
            return Err(CertificateError::FromTheFuture { round, qc });
        }
        committee.electorate().check_quorum(self.timeouts.values())?;
        Ok(())
    }

    /// Checks everything: one statement per QC round.
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
