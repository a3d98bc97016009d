//! A committee's keys, and what its key generation has computed so far.
//!
//! Parties of one committee compute the same things over and over, and so do thousands of runs of one
//! committee. The first who asks computes, everybody is charged (`prices`). What is looked up is what
//! the work depends on, never who asks:
//!
//! | work                    | looked up under          |
//! |-------------------------|--------------------------|
//! | a party's dealings      | the party                |
//! | a dealing's judgement   | the signed statement     |
//! | a sum of dealings       | who dealt                |
//! | who evaluates           | the key's name           |
//! | a party's shares        | the party and the key    |
//! | published keys          | the transaction and the key |
//!
//! Elsewhere: votes and partials, which differ from run to run (`host`).

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use ::beacon::{Reveal, Slot};
use crypto_core::access::Party;
use crypto_core::drand::RoundNumber;
use pvss_dkg::AggregateError;
use pvss_dkg::field::HandoverError;
use pvss_dkg::protocol::{self, Collect, Judged, Place};
use sha2::{Digest, Sha256};

use super::memo::Memo;
use crate::keygen::{self, Job, Verdict};
use crate::scheme::{AdmittedKeys, Fixed, Keyed, Opened, Sum};
use crate::setup::{self, Identity, Plan, PlanError, Setup};

/// Keys of all parties, and what they have computed so far.
pub struct Ground<S: Keyed> {
    setup: Setup,
    identities: Vec<Arc<Identity>>,
    dealt: Memo<Party, Dealt>,
    judged: Memo<[u8; 32], Judged<<S::Collect as Collect>::Dealing>>,
    summed: Memo<BTreeSet<Place>, Result<Arc<Sum<S>>, AggregateError>>,
    fixed: Memo<[u8; 32], Result<Arc<Fixed<S>>, String>>,
    decrypted: Memo<(Party, [u8; 32]), Decrypted<S>>,
    admitted: Memo<([u8; 32], [u8; 32]), Admitted<S>>,
    verified: Mutex<Verified>,
}

type Dealt = Result<Vec<Vec<u8>>, HandoverError>;
type Decrypted<S> = Result<Arc<<S as Keyed>::Shares>, String>;
/// Values by key, slot and round.
type Verified = BTreeMap<([u8; 32], Slot, Option<RoundNumber>), [u8; 32]>;
type Admitted<S> = Result<Arc<AdmittedKeys<S>>, String>;

impl<S: Keyed> Ground<S> {
    /// Draws everybody's keys from the seed.
    ///
    /// # Errors
    /// If the plan's parts do not fit together.
    pub fn new(plan: &Plan, seed: u64) -> Result<Self, PlanError> {
        let (setup, identities) = setup::found(plan, seed)?;
        Ok(Self {
            setup,
            identities: identities.into_iter().map(Arc::new).collect(),
            dealt: Memo::default(),
            judged: Memo::default(),
            summed: Memo::default(),
            fixed: Memo::default(),
            decrypted: Memo::default(),
            admitted: Memo::default(),
            verified: Mutex::default(),
        })
    }

    /// What all parties know.
    #[must_use]
    pub const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// What each party knows, in their order.
    #[must_use]
    pub fn identities(&self) -> &[Arc<Identity>] {
        &self.identities
    }

    /// Makes all dealings, on as many threads as there are cores: runs side by side would come to each
    /// at the same time, and one would wait for the other.
    pub fn deal(&self) {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        std::thread::scope(|scope| {
            for first in 0..threads {
                scope.spawn(move || {
                    for identity in self.identities.iter().skip(first).step_by(threads) {
                        drop(self.dealt(&self.setup, identity));
                    }
                });
            }
        });
    }

    /// What a party that has decrypted its shares under this key makes of them.
    ///
    /// # Errors
    /// If they cannot be decrypted.
    pub fn open(&self, identity: &Identity, key: &Fixed<S>) -> Result<Opened<S>, String> {
        let shares = self.decrypted.get((identity.me, *key.key.name()), || {
            S::decrypt(&self.setup, identity, key).map(Arc::new)
        })?;
        S::open(&self.setup, identity, key, &shares)
    }

    /// Whether this was verified from public data before: a value depends on nothing but the
    /// key, the slot and the round as which it is counted.
    pub(super) fn is_verified(&self, key: &[u8; 32], reveal: &Reveal<S>) -> bool {
        let verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        verified.get(&(*key, reveal.slot, reveal.round)) == Some(&reveal.randomness())
    }

    pub(super) fn note_verified(&self, key: [u8; 32], reveal: &Reveal<S>) {
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        verified.insert((key, reveal.slot, reveal.round), reveal.randomness());
    }

    /// What a job gives. `setup` is that of the run, which may differ in what no key depends on.
    #[must_use]
    pub fn run(&self, setup: &Setup, identity: &Identity, job: &Job<S>) -> Verdict<S> {
        match job {
            Job::Dealings(job) => Verdict::Dealings(self.run_dealings(setup, identity, job)),
            Job::Fix { key, sum } => {
                let fixed = self.fixed.get(*key.name(), || S::fix(key, sum).map(Arc::new));
                Verdict::Fixed(fixed)
            }
            Job::Open { key } => Verdict::Opened(self.open(identity, key)),
            Job::Admit { transactions, key } => {
                let admit = |transaction| self.admit(setup, transaction, key);
                Verdict::Admitted(transactions.iter().map(admit).collect())
            }
        }
    }

    fn dealt(&self, setup: &Setup, identity: &Identity) -> Dealt {
        self.dealt.get(identity.me, || keygen::deal::<S>(setup, identity))
    }

    fn run_dealings(
        &self,
        setup: &Setup,
        identity: &Identity,
        job: &protocol::Job<S::Collect>,
    ) -> protocol::Verdict<S::Collect> {
        match job {
            protocol::Job::Deal { .. } => protocol::Verdict::Dealt(self.dealt(setup, identity)),
            protocol::Job::Judge { blank, claims } => {
                let judged = claims.iter().map(|claim| {
                    self.judged.get(Sha256::digest(claim.id()).into(), || claim.judge(&**blank))
                });
                protocol::Verdict::Judged(judged.collect())
            }
            protocol::Job::Sum { counted } => {
                let summed = self.summed.get(counted.places(), || counted.sum().map(Arc::new));
                protocol::Verdict::Summed(summed)
            }
            // The scheme opens shares, and nobody is absent.
            job @ (protocol::Job::Open { .. } | protocol::Job::Recover { .. }) => {
                keygen::run_dealings::<S>(job, setup, identity)
            }
        }
    }

    /// One by one: a batch gives what judging one by one would.
    fn admit(&self, setup: &Setup, transaction: &Arc<[u8]>, key: &Fixed<S>) -> Admitted<S> {
        let name = (*key.key.name(), Sha256::digest(transaction).into());
        self.admitted.get(name, || {
            let mut one = S::admit_all(setup, std::slice::from_ref(transaction), key);
            one.pop().unwrap_or_else(|| Err("nothing was admitted".to_owned()))
        })
    }
}
