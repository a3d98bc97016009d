//! What a quorum has said, in one signature.
//!
//! | certificate | statement that was signed          | by                                    |
//! |-------------|------------------------------------|---------------------------------------|
//! | QC          | "vote", round, block               | a quorum, the same statement          |
//! | order       | "order", round, block              | a quorum, the same statement          |
//! | TC          | "timeout", round, my QC's round    | a quorum, one statement per QC round  |
//!
//! Signatures are BLS multi-signatures with a bitmap of the signers; stake is counted exactly. The
//! genesis block is certified by nobody, hence [`QuorumCertificate::genesis`].
//!
//! Elsewhere: how single votes become certificates (`collector`, `job`).
use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::access::Party;
use crypto_core::bls::min_sig::{
    AggregateKey, Claim, Domain, Signature, SignatureError, verify_aggregate, verify_multi,
};
use crypto_core::verified::Verified;
use thiserror::Error;

use crate::block::{BlockId, Round};
use crate::config::Committee;

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
    pub(crate) const fn domain(self) -> Domain {
        match self {
            Self::Proposal => PROPOSAL,
            Self::Vote => VOTE,
            Self::Order => ORDER,
        }
    }
}

/// Context, round, block: 72 bytes.
pub(crate) fn statement(committee: &Committee, round: Round, block: BlockId) -> Vec<u8> {
    [&committee.context()[..], &round.get().to_be_bytes(), &block.to_bytes()].concat()
}

/// Context, round, round of the signer's highest QC: 48 bytes.
pub(crate) fn timeout_statement(committee: &Committee, round: Round, qc: Round) -> Vec<u8> {
    [&committee.context()[..], &round.get().to_be_bytes(), &qc.get().to_be_bytes()].concat()
}

/// Why a certificate proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CertificateError {
    /// A bitmap of another length, or with a bit beyond the last member.
    #[error("bitmap of {got} bytes does not fit a committee of {members}")]
    Bitmap {
        /// Its length.
        got: usize,
        /// Members of the committee.
        members: usize,
    },
    /// Not enough stake.
    #[error("signers hold {got} stake, a quorum is {need}")]
    BelowQuorum {
        /// Their stake.
        got: u128,
        /// The least that suffices.
        need: u128,
    },
    /// A party cannot have signed two timeouts of a round.
    #[error("{party} signed twice")]
    SignedTwice {
        /// The party.
        party: Party,
    },
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
    /// The signature is not that of the signers.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

/// A set of parties as a bitmap, party 0 at the lowest bit of the first byte.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Signers(Vec<u8>);

impl Signers {
    /// These parties of a committee; strangers are left out.
    #[must_use]
    pub fn new(committee: &Committee, parties: impl IntoIterator<Item = Party>) -> Self {
        let mut bitmap = vec![0_u8; committee.size().div_ceil(8)];
        for party in parties.into_iter().filter(|party| party.index() < committee.size()) {
            if let Some(byte) = bitmap.get_mut(party.index() / 8) {
                *byte |= 1 << (party.index() % 8);
            }
        }
        Self(bitmap)
    }

    /// The parties, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Party> + '_ {
        let bits = self.0.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
        (0_u32..).map(Party::new).zip(bits).filter_map(|(party, set)| set.then_some(party))
    }

    fn check(&self, committee: &Committee) -> Result<(), CertificateError> {
        let members = committee.size();
        let fits = self.0.len() == members.div_ceil(8)
            && self.iter().last().is_none_or(|last| last.index() < members);
        if fits { Ok(()) } else { Err(CertificateError::Bitmap { got: self.0.len(), members }) }
    }
}

/// Signers and the sum of their signatures.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct MultiSignature {
    /// Who signed.
    pub signers: Signers,
    /// The sum of what they signed.
    pub signature: Signature,
}

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
    pub fn genesis(committee: &Committee) -> Self {
        Self { round: Round::GENESIS, block: committee.genesis(), votes: None }
    }

    /// Who vouches for having the block.
    pub(crate) fn signers(&self) -> impl Iterator<Item = Party> + '_ {
        self.votes.iter().flat_map(|votes| votes.signers.iter())
    }

    /// Bitmap and stake, without algebra.
    pub(crate) fn check_shape(&self, committee: &Committee) -> Result<(), CertificateError> {
        let genesis = self.round == Round::GENESIS;
        match &self.votes {
            Some(votes) if !genesis => {
                votes.signers.check(committee)?;
                check_quorum(committee, committee.stake_of(votes.signers.iter()))
            }
            None if genesis && self.block == committee.genesis() => Ok(()),
            _ => Err(CertificateError::Genesis { round: self.round }),
        }
    }

    /// Checks everything.
    ///
    /// # Errors
    /// [`CertificateError`] says what is wrong.
    pub fn verify(&self, committee: &Committee) -> Result<(), CertificateError> {
        self.check_shape(committee)?;
        let Some(votes) = &self.votes else { return Ok(()) };
        let message = statement(committee, self.round, self.block);
        let keys = keys(committee, &votes.signers);
        Ok(verify_multi(keys, Stage::Vote.domain(), &message, &votes.signature)?)
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
    pub(crate) fn check_shape(&self, committee: &Committee) -> Result<(), CertificateError> {
        let mut seen = std::collections::BTreeSet::new();
        for (&qc, signers) in &self.timeouts {
            if qc >= self.round {
                return Err(CertificateError::FromTheFuture { round: self.round, qc });
            }
            signers.check(committee)?;
            if let Some(party) = signers.iter().find(|&party| !seen.insert(party)) {
                return Err(CertificateError::SignedTwice { party });
            }
        }
        check_quorum(committee, committee.stake_of(seen.into_iter()))
    }

    /// Checks everything.
    ///
    /// # Errors
    /// [`CertificateError`] says what is wrong.
    pub fn verify(&self, committee: &Committee) -> Result<(), CertificateError> {
        self.check_shape(committee)?;
        verify_timeouts(committee, self.round, &self.timeouts, &self.signature)
    }
}

/// The algebra of a timeout certificate: one statement per QC round.
pub(crate) fn verify_timeouts(
    committee: &Committee,
    round: Round,
    timeouts: &BTreeMap<Round, Signers>,
    signature: &Signature,
) -> Result<(), CertificateError> {
    let mut terms = Vec::with_capacity(timeouts.len());
    for (&qc, signers) in timeouts {
        let key = AggregateKey::sum(keys(committee, signers))?;
        terms.push((key, timeout_statement(committee, round, qc)));
    }
    let claims: Vec<_> =
        terms.iter().map(|(signers, message)| Claim { signers: *signers, message }).collect();
    Ok(verify_aggregate(&claims, TIMEOUT, signature)?)
}

pub(crate) fn keys<'a>(
    committee: &'a Committee,
    signers: &'a Signers,
) -> impl Iterator<Item = &'a Verified<crypto_core::bls::min_sig::PublicKey>> {
    signers.iter().filter_map(|party| committee.member(party)).map(|member| &member.key)
}

fn check_quorum(committee: &Committee, got: u128) -> Result<(), CertificateError> {
    if committee.is_quorum(got) {
        Ok(())
    } else {
        Err(CertificateError::BelowQuorum { got, need: committee.quorum().get() })
    }
}
