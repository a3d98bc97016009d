//! Pairings as jobs, which a driver may run anywhere.
//!
//! A [`Job`] is data, and [`Job::run`] is a pure function of it. The answer names its job by a
//! [`Fingerprint`] of the work alone, so a driver that runs many parties may compute the same work once.
//! Verification is late: single votes are never checked as long as their sum is valid. Only if a sum
//! fails are the culprits searched for, by random linear combination and bisection.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use borsh::BorshSerialize;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::{Domain, Signature};
use prefinal_crypto_core::certificate::{Signers, Vote, VotesError};
use prefinal_protocol::{Value, View};
use sha2::{Digest, Sha256};

use crate::batch::{Acks, AvailabilityCertificate, BatchLabel};
use crate::certificate::{CHANGE, ChangeCertificate, Stage, VoteCertificate};
use crate::config::Replicas;
use crate::fault::{Contradiction, Fault};

/// Names a job by a hash of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

/// View changes to one view: what each party claims, and its signature.
pub(crate) type Asks = BTreeMap<Party, (Option<u32>, Signature)>;

/// The work of a job.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize)]
pub enum Work {
    /// Add up votes for one value and check the sum.
    Votes {
        /// Whether these are prepares or commits.
        stage: Stage,
        /// The view of the votes.
        view: View,
        /// The value that the votes are for.
        value: Value,
        /// The signature of each voter.
        votes: BTreeMap<Party, Signature>,
    },
    /// Add up acknowledgements of one batch and check the sum.
    Acks {
        /// The batch that was stored.
        batch: BatchLabel,
        /// The signature of each party that stored it.
        acks: BTreeMap<Party, Signature>,
    },
    /// Add up view changes to one view and check the sum.
    Changes {
        /// The view that they ask for.
        view: View,
        /// For each sender, the attempt of its certificate and its signature.
        votes: BTreeMap<Party, (Option<u32>, Signature)>,
    },
    /// Check certificates inside a message.
    Claims(Vec<Claim>),
    /// Check both statements of a contradiction.
    Evidence {
        /// The party that is said to have made both.
        party: Party,
        /// The statements that contradict each other.
        contradiction: Box<Contradiction>,
    },
}

/// A statement in a message that others have signed.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize)]
pub enum Claim {
    /// A quorum voted for a value.
    Votes(Stage, VoteCertificate),
    /// A quorum asks for a view.
    Change(ChangeCertificate),
    /// A weak quorum has stored a batch.
    Batch(AvailabilityCertificate),
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
    /// The fingerprint of the job that was done.
    pub job: Fingerprint,
    /// The result. It must be the one that [`Job::run`] gives, wherever it was computed.
    pub outcome: Outcome,
}

impl Fingerprint {
    fn of(committee: &Replicas, work: &Work) -> Self {
        let mut hash = Hasher(Sha256::new());
        hash.0.update(b"prefinal/trantor/v1/job");
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
            Work::Votes { stage, view, value, votes } => {
                let message = committee.statement(*view, *value);
                let vote =
                    |(&party, &signature): (&_, &_)| (party, Vote { message: &message, signature });
                let votes = votes.iter().map(vote).collect();
                Outcome::Sum(sum(committee, stage.domain(), &votes))
            }
            Work::Acks { batch, acks } => Outcome::Sum(sum_acks(committee, batch, acks)),
            Work::Changes { view, votes } => Outcome::Sum(sum_changes(committee, *view, votes)),
            Work::Claims(claims) => {
                let bad = claims.iter().enumerate().filter(|(_, claim)| !claim.holds(committee));
                Outcome::Claims(bad.map(|(position, _)| position).collect())
            }
            Work::Evidence { party, contradiction } => {
                Outcome::Evidence(contradiction.verify(committee, *party).is_ok())
            }
        };
        Verdict { job: self.fingerprint, outcome }
    }
}

impl Claim {
    /// Whether the signatures of this committee prove the claim.
    #[must_use]
    pub fn holds(&self, committee: &Replicas) -> bool {
        match self {
            Self::Votes(stage, certificate) => certificate.verify(*stage, committee).is_ok(),
            Self::Change(certificate) => certificate.verify(committee).is_ok(),
            Self::Batch(certificate) => certificate.verify(committee).is_ok(),
        }
    }

    /// What a party did wrong that passed the claim on though it does not hold.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Votes(_, certificate) => Fault::ForgedCertificate { view: certificate.view },
            Self::Change(certificate) => Fault::ForgedCertificate { view: certificate.view },
            Self::Batch(certificate) => Fault::ForgedAvailability { batch: certificate.batch.id },
        }
    }
}

fn sum_acks(
    committee: &Replicas,
    batch: &BatchLabel,
    acks: &Acks,
) -> Result<Signature, BTreeSet<Party>> {
    let message = batch.statement(committee);
    let vote = |(&party, &signature): (&_, &_)| (party, Vote { message: &message, signature });
    sum(committee, BatchLabel::domain(), &acks.iter().map(vote).collect())
}

fn sum_changes(
    committee: &Replicas,
    view: View,
    votes: &Asks,
) -> Result<Signature, BTreeSet<Party>> {
    let claims: BTreeSet<Option<u32>> = votes.values().map(|(claim, _)| *claim).collect();
    let messages: BTreeMap<Option<u32>, Vec<u8>> =
        claims.into_iter().map(|claim| (claim, committee.change_statement(view, claim))).collect();
    let votes = votes.iter().filter_map(|(&party, (claim, signature))| {
        messages.get(claim).map(|message| (party, Vote { message, signature: *signature }))
    });
    sum(committee, CHANGE, &votes.collect())
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

/// The signers of a change certificate by the attempt that they name.
pub(crate) fn group(committee: &Replicas, votes: &Asks) -> BTreeMap<Option<u32>, Signers> {
    let mut parties: BTreeMap<Option<u32>, Vec<Party>> = BTreeMap::new();
    for (&party, &(claim, _)) in votes {
        parties.entry(claim).or_default().push(party);
    }
    parties.into_iter().map(|(claim, parties)| (claim, committee.signers(parties))).collect()
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
