//! Results that are the same for all parties of this process, computed once.
//!
//! Each of `n` parties checks each of up to `n` dealings, adds them up and checks each published key.
//! This is the same work on the same bytes, and its result depends on nobody's secret. In one process
//! the first party that asks computes it, and the others get the result that they would have computed.
//! Checked dealings are then in memory once and not `n` times. Work with a party's own secrets is never
//! shared: dealing, opening its shares, signing.
//!
//! | work                  | looked up under                                                    |
//! |-----------------------|--------------------------------------------------------------------|
//! | a dealing's judgement | the signed statement, which has the dealing's hash, and what is asked |
//! | a sum of dealings     | the session, and who dealt                                         |
//! | the committees        | the key's name                                                     |
//! | published keys        | the transaction and the key                                        |
//!
//! Other results that the simulator's parties share are in [`crate::committee`].

use std::collections::BTreeSet;
use std::sync::Arc;

use prefinal_pvss_dkg::AggregateError;
use prefinal_pvss_dkg::protocol::{self, ClaimVerdict, Collect, Place};
use sha2::{Digest, Sha256};

use prefinal_validator::keygen::{self, Job, Verdict};
use prefinal_validator::scheme::{AdmittedKeys, CommitteeKey, KeyedScheme, Sum};
use prefinal_validator::setup::{Identity, Setup};

use crate::memo::Memo;

type Name = [u8; 32];
type Judgement<S> = ClaimVerdict<<<S as KeyedScheme>::Collect as Collect>::Dealing>;
type Total<S> = Result<Arc<Sum<S>>, AggregateError>;
type Admission<S> = Result<Arc<AdmittedKeys<S>>, String>;

/// Results of the key generation that are the same for all parties, each computed once in a process.
pub struct ResultCache<S: KeyedScheme> {
    judged: Memo<Name, Judgement<S>>,
    summed: Memo<(Name, BTreeSet<Place>), Total<S>>,
    fixed: Memo<Name, Result<Arc<CommitteeKey<S>>, String>>,
    admitted: Memo<(Name, Name), Admission<S>>,
}

impl<S: KeyedScheme> Default for ResultCache<S> {
    fn default() -> Self {
        Self {
            judged: Memo::default(),
            summed: Memo::default(),
            fixed: Memo::default(),
            admitted: Memo::default(),
        }
    }
}

impl<S: KeyedScheme> ResultCache<S> {
    /// The verdict of a job of the key generation for this party.
    #[must_use]
    pub fn run(&self, setup: &Setup, identity: &Identity, job: &Job<S>) -> Verdict<S> {
        match job {
            Job::Dealings(job) => Verdict::Dealings(self.run_dealings(setup, identity, job)),
            Job::Fix { key, sum } => {
                let fix = || S::fix(key, sum).map(Arc::new);
                Verdict::Fixed(self.fixed.get(*key.name(), fix))
            }
            Job::HandOver { .. } | Job::Open { .. } => job.run(setup, identity),
            Job::Admit { transactions, key } => {
                let admit = |transaction| self.admit(setup, transaction, key);
                Verdict::Admitted(transactions.iter().map(admit).collect())
            }
        }
    }

    fn run_dealings(
        &self,
        setup: &Setup,
        identity: &Identity,
        job: &protocol::Job<S::Collect>,
    ) -> protocol::Verdict<S::Collect> {
        match job {
            protocol::Job::Judge { blank, claims } => {
                let judged = claims.iter().map(|claim| {
                    let name = Sha256::digest(claim.question()).into();
                    self.judged.get(name, || claim.judge(&**blank))
                });
                protocol::Verdict::Judged(judged.collect())
            }
            protocol::Job::Sum { counted } => {
                let sum = || counted.sum().map(Arc::new);
                protocol::Verdict::Summed(
                    self.summed.get((counted.session(), counted.places()), sum),
                )
            }
            job => keygen::run_dealings::<S>(job, setup, identity, None),
        }
    }

    /// One by one: a batch gives what judging one by one would.
    fn admit(&self, setup: &Setup, transaction: &Arc<[u8]>, key: &CommitteeKey<S>) -> Admission<S> {
        let name = (*key.key.name(), Sha256::digest(transaction).into());
        self.admitted.get(name, || {
            let mut one = S::admit_all(setup, std::slice::from_ref(transaction), key);
            one.pop().unwrap_or_else(|| Err("nothing was admitted".to_owned()))
        })
    }
}
