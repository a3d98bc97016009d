//! A committee's keys, and what its key generation has computed so far.
//!
//! The parties of one committee compute the same things over and over, and so do thousands of runs of
//! one committee. The first that asks computes, and everybody is charged (`prices`). Results are looked
//! up under the data they depend on, never under the party that asks:
//!
//! | work                    | looked up under          |
//! |-------------------------|--------------------------|
//! | a party's dealings      | the party                |
//! | a party's shares        | the party and the key    |
//!
//! Results that depend on nobody's secret are in [`Once`]. Votes and partials, which differ from run to
//! run, are with the host in [`crate::committee`].

use crate::priced::Priced;
use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::{Arc, Mutex, PoisonError};

use ::prefinal_beacon::{Reveal, Slot};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_pvss_dkg::field::HandoverError;
use prefinal_pvss_dkg::protocol;

use crate::cache::ResultCache;
use crate::memo::Memo;
use prefinal_validator::fixed::FixedCommittees;
use prefinal_validator::keygen::{self, Job, Verdict};
use prefinal_validator::scheme::{CommitteeKey, KeyedScheme, PartyKeys};
use prefinal_validator::setup::{self, Identity, Plan, PlanError, Setup};

/// The keys of all parties, and the results computed so far.
pub struct Ground<S: Priced> {
    setup: Setup,
    identities: Vec<Arc<Identity>>,
    dealt: Memo<(Party, EpochId), Dealt>,
    once: ResultCache<S>,
    decrypted: Memo<(Party, [u8; 32]), Decrypted<S>>,
    verified: Mutex<Verified>,
}

type Dealt = Result<Vec<Vec<u8>>, HandoverError>;
type Decrypted<S> = Result<Arc<<S as KeyedScheme>::Shares>, String>;
/// Values by key, slot and round.
type Verified = BTreeMap<([u8; 32], Slot, Option<RoundNumber>), [u8; 32]>;

impl<S: Priced> Ground<S> {
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
            once: ResultCache::default(),
            decrypted: Memo::default(),
            verified: Mutex::default(),
        })
    }

    /// The same chain with committees that follow: one of the plans in `later` for each epoch, named
    /// after this number of slots.
    ///
    /// # Errors
    /// The same as [`FixedCommittees::chain`].
    pub fn followed_by(self, later: &[Plan], every: NonZeroU64) -> Result<Self, PlanError> {
        let identities = self.identities.iter().map(|identity| &**identity);
        let setup = FixedCommittees::chain(self.setup, later, identities, every)?;
        Ok(Self { setup, ..self })
    }

    /// The public set-up.
    #[must_use]
    pub const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The secrets of each party, in their order.
    #[must_use]
    pub fn identities(&self) -> &[Arc<Identity>] {
        &self.identities
    }

    /// Makes all dealings, on as many threads as there are cores. Otherwise runs side by side would
    /// need the same dealing at the same time, and one would wait for the other.
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

    /// The keys that a party makes from its shares under this key.
    ///
    /// # Errors
    /// If the shares cannot be decrypted.
    pub fn open(
        &self,
        setup: &Setup,
        identity: &Identity,
        key: &CommitteeKey<S>,
    ) -> Result<PartyKeys<S>, String> {
        let shares = self.decrypted.get((identity.me, *key.key.name()), || {
            S::decrypt(setup, identity, key).map(Arc::new)
        })?;
        S::open(setup, identity, key, &shares)
    }

    /// Whether this value was verified from public data before. A value depends only on the key, the
    /// slot and the round number.
    pub(crate) fn is_verified(&self, key: &[u8; 32], reveal: &Reveal<S>) -> bool {
        let verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        verified.get(&(*key, reveal.slot, reveal.round)) == Some(&reveal.randomness())
    }

    pub(crate) fn note_verified(&self, key: [u8; 32], reveal: &Reveal<S>) {
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        verified.insert((key, reveal.slot, reveal.round), reveal.randomness());
    }

    /// The verdict of a job. `setup` is that of the run, which may differ in fields that no key depends on.
    #[must_use]
    pub fn run(&self, setup: &Setup, identity: &Identity, job: &Job<S>) -> Verdict<S> {
        match job {
            Job::Dealings(protocol::Job::Deal { .. }) => {
                Verdict::Dealings(protocol::Verdict::Dealt(self.dealt(setup, identity)))
            }
            Job::Open { key } => Verdict::Opened(self.open(setup, identity, key)),
            job => self.once.run(setup, identity, job),
        }
    }

    fn dealt(&self, setup: &Setup, identity: &Identity) -> Dealt {
        self.dealt.get((identity.me, setup.context.epoch), || keygen::deal::<S>(setup, identity))
    }
}
