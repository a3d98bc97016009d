//! Pairings as jobs, which a driver may run anywhere.
//!
//! A [`Job`] is data, and [`Job::run`] is a pure function of it. The answer names its job by a
//! [`Fingerprint`] of the work alone, so a driver that runs many parties may compute the same work
//! once. Verification is late: single votes are never checked as long as their sum is valid. Only if a
//! sum fails are the culprits searched for, by random linear combination and bisection.
//!
//! A driver that has checked part of the work before, or computes it in another way, need not call
//! [`Job::run`]. [`Job::work`] and [`Job::committee`] say what is asked. [`Claim::holds`] decides one
//! claim. [`Replicas::statement`] and [`Stage::domain`] give what a vote is checked with. A [`Verdict`]
//! consists of the fingerprint and the result. The engine trusts it.
//!
//! See also `collector` and `receive` (when jobs are due), and `prefinal_crypto_core::certificate` (the
//! equations).
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use borsh::BorshSerialize;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::{Domain, Signature};
use prefinal_crypto_core::certificate::{Signers, Vote, VotesError};
use sha2::{Digest, Sha256};

use crate::block::{BlockId, Round};
use crate::certificate::{
    QuorumCertificate, Stage, TIMEOUT, TimeoutCertificate, timeout_statement,
};
use crate::config::Replicas;
use crate::fault::Equivocation;

/// Names a job by a hash of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

/// The work of a job.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize)]
pub enum Work {
    /// Add up votes for one block and check the sum.
    Votes {
        /// Whether these are votes or order votes.
        stage: Stage,
        /// The block's round.
        round: Round,
        /// The block.
        block: BlockId,
        /// The signature of each voter.
        votes: BTreeMap<Party, Signature>,
    },
    /// Add up timeouts of one round and check the sum.
    Timeouts {
        /// The round.
        round: Round,
        /// For each sender, the round of its highest certificate and its signature.
        votes: BTreeMap<Party, (Round, Signature)>,
    },
    /// Check statements inside a message.
    Claims(Vec<Claim>),
    /// Check both statements of an equivocation.
    Evidence {
        /// The party that is said to have equivocated.
        party: Party,
        /// The two statements.
        equivocation: Box<Equivocation>,
    },
}

/// A statement in a message that others have signed.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize)]
pub enum Claim {
    /// A quorum voted for a block.
    Quorum(QuorumCertificate),
    /// A quorum gave a round up.
    Timeouts(TimeoutCertificate),
    /// The leader proposed a block.
    Proposal {
        /// The leader.
        author: Party,
        /// The block's round.
        round: Round,
        /// The block.
        block: BlockId,
        /// The leader's signature.
        signature: Signature,
    },
}

/// Work, with the committee that it is about.
#[derive(Clone, Debug)]
pub struct Job {
    committee: Arc<Replicas>,
    work: Work,
    /// Hashed once: it is asked for by the engine and again for the verdict.
    fingerprint: Fingerprint,
}

/// The result of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The sum of the signatures, or the parties whose signatures are invalid.
    Sum(Result<Signature, BTreeSet<Party>>),
    /// The positions of the claims that are false.
    Claims(BTreeSet<usize>),
    /// Whether both statements are signed by the party.
    Evidence(bool),
}

/// The answer to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The job's fingerprint.
    pub job: Fingerprint,
    /// The result. It must be the one that [`Job::run`] gives, wherever it was computed.
    pub outcome: Outcome,
}

impl Fingerprint {
    fn of(committee: &Replicas, work: &Work) -> Self {
        let mut hash = Hasher(Sha256::new());
        hash.0.update(b"prefinal/jolteon/v1/job");
        hash.0.update(committee.context());
        // Writing into a hash cannot fail.
        let _infallible = work.serialize(&mut hash);
        Self(hash.0.finalize().into())
    }
}

impl Job {
    pub(crate) fn new(committee: Arc<Replicas>, work: Work) -> Self {
        let fingerprint = Fingerprint::of(&committee, &work);
        Self { committee, work, fingerprint }
    }

    /// The committee whose signatures are checked.
    #[must_use]
    pub fn committee(&self) -> &Replicas {
        &self.committee
    }

    /// The work to be done.
    #[must_use]
    pub const fn work(&self) -> &Work {
        &self.work
    }

    /// The name of this work. Two jobs of one committee with the same name have the same verdict.
    #[must_use]
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Computes the job and gives its result, for the engine that asked for it.
    #[must_use]
    pub fn run(&self) -> Verdict {
        let committee = &self.committee;
        let outcome = match &self.work {
            Work::Votes { stage, round, block, votes } => {
                let message = committee.statement(*round, *block);
                Outcome::Sum(sum_votes(committee, stage.domain(), &message, votes))
            }
            Work::Timeouts { round, votes } => Outcome::Sum(sum_timeouts(committee, *round, votes)),
            Work::Claims(claims) => failing(claims, |claim| claim.holds(committee)),
            Work::Evidence { party, equivocation } => {
                Outcome::Evidence(equivocation.verify(committee, *party).is_ok())
            }
        };
        Verdict { job: self.fingerprint(), outcome }
    }
}

/// The positions of the claims that do not hold.
fn failing(claims: &[Claim], holds: impl Fn(&Claim) -> bool) -> Outcome {
    let bad = claims.iter().enumerate().filter_map(|(i, claim)| (!holds(claim)).then_some(i));
    Outcome::Claims(bad.collect())
}

impl Claim {
    /// Whether the signatures of this committee prove the claim.
    #[must_use]
    pub fn holds(&self, committee: &Replicas) -> bool {
        match self {
            Self::Quorum(qc) => qc.verify(committee).is_ok(),
            Self::Timeouts(tc) => tc.verify(committee).is_ok(),
            Self::Proposal { author, round, block, signature } => {
                let message = committee.statement(*round, *block);
                committee.member(*author).is_some_and(|member| {
                    signature.verify(member.key.get(), Stage::Proposal.domain(), &message).is_ok()
                })
            }
        }
    }
}

fn sum_votes(
    committee: &Replicas,
    domain: Domain,
    message: &[u8],
    votes: &BTreeMap<Party, Signature>,
) -> Result<Signature, BTreeSet<Party>> {
    let vote = |(&party, &signature): (&_, &_)| (party, Vote { message, signature });
    sum(committee, domain, &votes.iter().map(vote).collect())
}

fn sum_timeouts(
    committee: &Replicas,
    round: Round,
    votes: &BTreeMap<Party, (Round, Signature)>,
) -> Result<Signature, BTreeSet<Party>> {
    let messages: BTreeMap<Round, Vec<u8>> =
        votes.values().map(|(qc, _)| (*qc, timeout_statement(committee, round, *qc))).collect();
    let votes = votes.iter().filter_map(|(&party, (qc, signature))| {
        messages.get(qc).map(|message| (party, Vote { message, signature: *signature }))
    });
    sum(committee, TIMEOUT, &votes.collect())
}

/// The sum of the votes, or the parties whose votes are invalid.
fn sum(
    committee: &Replicas,
    domain: Domain,
    votes: &BTreeMap<Party, Vote<'_, MinSig>>,
) -> Result<Signature, BTreeSet<Party>> {
    committee.electorate().add_up(domain, votes).map_err(|error| match error {
        VotesError::Faulty { culprits } => culprits,
        VotesError::Stranger(stranger) => BTreeSet::from([stranger.party]),
        // There are no votes, or it fails in a way that is not known here: nobody is accused.
        _ => BTreeSet::new(),
    })
}

/// The signers of a timeout certificate by the round of their highest certificate.
pub(crate) fn group(
    committee: &Replicas,
    votes: &BTreeMap<Party, (Round, Signature)>,
) -> BTreeMap<Round, Signers> {
    let mut parties: BTreeMap<Round, Vec<Party>> = BTreeMap::new();
    for (&party, &(qc, _)) in votes {
        parties.entry(qc).or_default().push(party);
    }
    parties.into_iter().map(|(qc, parties)| (qc, committee.signers(parties))).collect()
}

struct Hasher(Sha256);

impl borsh::io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> borsh::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> borsh::io::Result<()> {
        Ok(())
    }
}
