//! Combining ahead: guesses which parties will suffice from those that did.
//!
//! Partials of a slot arrive over many milliseconds, in much the same order in every slot. Most of the work
//! on them depends on which parties take part. So for each path a set of parties is expected. While their
//! partials arrive, the beacon works on those that are here. When the last one arrives, only a part of the
//! terms and the check of the result are left.
//!
//! ```text
//!                         a quarter of the expected weight is new
//!   expected set ─► lane ─► Prepare ─► lane … ─┐
//!        ▲                                     │ the weight suffices
//!        │          all of the set are here ───┴─► Combine the rest         (foreseen)
//!        └ Foresee ◄─ the set was another one ───► Combine from the start
//! ```
//! The beacon waits for no party. If the weight suffices without some expected party, the fewest partials
//! that suffice are combined as usual. Prepared results only save time and decide nothing: the same
//! partials are checked in the same way, or the same result is. If a prepared result does not fit, the work
//! is done from the start. A peer that comes early in one slot and late in the next costs the gain, and
//! nothing else.
//!
//! | what peers can cause              | bound                                                         |
//! |-----------------------------------|---------------------------------------------------------------|
//! | work for a slot that is not used  | each expected partial's terms once in a lane, one `Foresee`    |
//! | a wrong partial among the terms   | threshold BLS: one check of a result more; the weighted VUF: one search for culprits more in each portion that has one |
//! | a value that waits for a thread   | one portion, where a pool has one thread; none where it has two |
//! | slots far ahead                   | those of the window, as for partials that are kept             |
//!
//! The guess: of all parties that came in time before, those that came most often, until they suffice. A
//! party's score halves its distance to "always" or "never" in about five slots. A set is kept until it
//! fails, because its preparation is expensive: coefficients for threshold BLS, a base for each party with
//! the weighted VUF. No clocks or floats are used: the same slots give the same guess everywhere.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prefinal_crypto_core::access::Party;

use super::Beacon;
use crate::collector::{Expected, Lane};
use crate::job::{Finding, Job, Work};
use crate::schemes::{Foresight, Function, Scheme};
use prefinal_contract::Path;
use prefinal_protocol::Slot;

/// The score of a party that always comes in time approaches this.
const ALWAYS: u32 = 1 << 16;
/// A score moves by one part in `INERTIA` of its distance.
const INERTIA: u32 = 8;

/// How often the guess of parties was right. For monitoring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Foresights {
    /// Combinations for which a set of parties was expected.
    pub guessed: u64,
    /// How many of them used exactly this set.
    pub right: u64,
}

/// The parties that are expected on each path.
#[derive(Debug)]
pub(super) struct Guesses<S: Function> {
    guesses: BTreeMap<Path, Guess<S>>,
    count: Foresights,
}

#[derive(Debug)]
struct Guess<S: Function> {
    scores: BTreeMap<Party, u32>,
    expected: Option<Arc<Expected<S>>>,
    /// The set of parties that is being prepared for.
    pending: Option<BTreeSet<Party>>,
    /// Whether the expected parties had arrived the last time.
    met: bool,
}

// A derived `Default` would require defaults of the associated types.
impl<S: Function> Default for Guesses<S> {
    fn default() -> Self {
        Self { guesses: BTreeMap::new(), count: Foresights::default() }
    }
}

impl<S: Function> Default for Guess<S> {
    fn default() -> Self {
        Self { scores: BTreeMap::new(), expected: None, pending: None, met: false }
    }
}

impl<S: Function> Guesses<S> {
    pub(super) fn expected(&self, path: Path) -> Option<&Arc<Expected<S>>> {
        self.guesses.get(&path)?.expected.as_ref()
    }

    /// Notes which parties were there when the weight sufficed, and whether they were the expected ones.
    pub(super) fn learn(&mut self, path: Path, came: &BTreeSet<Party>, foreseen: Option<bool>) {
        self.count.guessed += u64::from(foreseen.is_some());
        self.count.right += u64::from(foreseen == Some(true));
        let guess = self.guesses.entry(path).or_default();
        guess.met = foreseen == Some(true);
        for party in came {
            guess.scores.entry(*party).or_default();
        }
        for (party, score) in &mut guess.scores {
            let gain = if came.contains(party) { ALWAYS / INERTIA } else { 0 };
            *score = *score - *score / INERTIA + gain;
        }
    }

    /// Gives the new set to expect, if it is worth a preparation.
    fn revise(
        &mut self,
        path: Path,
        committee: &S::Committee,
        suspects: &BTreeSet<Party>,
    ) -> Option<BTreeSet<Party>> {
        let guess = self.guesses.get_mut(&path)?;
        if guess.pending.is_some() || guess.met {
            return None;
        }
        let parties = guess.likely(committee, suspects)?;
        if guess.expected.as_ref().is_some_and(|expected| expected.parties == parties) {
            return None;
        }
        guess.pending = Some(parties.clone());
        Some(parties)
    }

    fn foreseen(&mut self, path: Path, expected: Expected<S>) {
        let awaited = |guess: &&mut Guess<S>| guess.pending.as_ref() == Some(&expected.parties);
        if let Some(guess) = self.guesses.get_mut(&path).filter(awaited) {
            guess.pending = None;
            guess.expected = Some(Arc::new(expected));
        }
    }
}

impl<S: Function> Guess<S> {
    /// The parties that come most often, as many as suffice. Of equals, the heaviest.
    fn likely(
        &self,
        committee: &S::Committee,
        suspects: &BTreeSet<Party>,
    ) -> Option<BTreeSet<Party>> {
        let trusted = self.scores.iter().filter(|(party, _)| !suspects.contains(party));
        let mut ranked: Vec<_> = trusted
            .map(|(party, score)| (*score, S::weight(committee, *party), *party))
            .filter(|(_, weight, _)| *weight > 0)
            .collect();
        ranked.sort_unstable_by(|one, other| other.cmp(one));
        let mut missing = S::threshold(committee);
        let mut likely = BTreeSet::new();
        for (_, weight, party) in ranked {
            if missing == 0 {
                break;
            }
            missing = missing.saturating_sub(weight);
            likely.insert(party);
        }
        (missing == 0).then_some(likely)
    }
}

impl<S: Scheme> Beacon<S> {
    /// How often the set that sufficed was the expected one.
    #[must_use]
    pub fn foresights(&self) -> Foresights {
        self.foresight.count
    }

    /// After a slot was combined: gives the job that prepares the expected set for the next one.
    pub(super) fn look_ahead(&mut self, lane: Lane, slot: Slot) -> Option<Job<S>> {
        if !<S::Foresight as Foresight<S>>::USED {
            return None;
        }
        let keys = Arc::clone(&self.keys);
        let committee = keys.committee(lane.path)?;
        let subject = self.subject(slot, lane.value)?;
        let parties = self.foresight.revise(lane.path, committee, &self.suspects)?;
        Some(Job::new(&keys, &subject, lane.path, Work::Foresee(parties)))
    }

    /// Takes results that were computed ahead. Gives back findings of other kinds.
    pub(super) fn take_ahead(
        &mut self,
        slot: Slot,
        lane: Lane,
        finding: Finding<S>,
    ) -> Option<Finding<S>> {
        match finding {
            Finding::Foreseen(parties, foreseen) => {
                self.foresight.foreseen(lane.path, Expected { parties, foreseen });
            }
            Finding::Prepared(parties, ahead) => {
                if let Some(open) = self.open.get_mut(&slot) {
                    open.collector.prepared(lane, parties, ahead);
                    self.advance(slot);
                }
            }
            other => return Some(other),
        }
        None
    }
}
