//! Combining ahead: who will suffice, guessed from who did.
//!
//! Partials of a slot arrive over many milliseconds, in much the same order every slot, and most of the
//! work on them depends on who takes part. So for each path a set is expected; while its partials come
//! in, what is here of them is worked on; when the last is here, what is left is a part of the terms and
//! the check of the result.
//!
//! ```text
//!                         a quarter of the expected weight is new
//!   expected set ─► lane ─► Prepare ─► lane … ─┐
//!        ▲                                     │ the weight suffices
//!        │          all of the set are here ───┴─► Combine the rest         (foreseen)
//!        └ Foresee ◄─ the set was another one ───► Combine from the start
//! ```
//! Nobody is waited for: if the weight suffices without somebody who was expected, the fewest that
//! suffice are combined as ever. What was prepared is an accelerator and no authority: the same partials
//! are checked in the same way, or the same result is, and what does not fit is done from the start. A
//! peer that comes early in one slot and late in the next costs us the gain, and nothing else.
//!
//! | what peers can make of it         | bound                                                         |
//! |-----------------------------------|---------------------------------------------------------------|
//! | work for a slot that is not used  | each expected partial's terms once in a lane, one `Foresee`    |
//! | a wrong partial among the terms   | threshold BLS: one check of a result more; the weighted VUF: one search for culprits more in each portion that has one |
//! | a value that waits for a thread   | one portion, where a pool has one thread; none where it has two |
//! | slots far ahead                   | those of the window, as for partials that are kept             |
//!
//! The guess: of everybody who has come in time before, whom most often, until they suffice. A party's
//! score halves its distance to "always" or "never" in about five slots. A set is kept until it fails,
//! for its preparation is what costs: coefficients for threshold BLS, a base for each party with the
//! weighted VUF. Without clocks or floats: the same slots give the same guess everywhere.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crypto_core::access::Party;

use super::Beacon;
use crate::collector::{Expected, Lane};
use crate::job::{Finding, Job, Work};
use crate::schemes::{Foresight, Function, Scheme};
use contract::Path;
use protocol::Slot;

/// A score of somebody who always came in time approaches this.
const ALWAYS: u32 = 1 << 16;
/// A score moves by one part in so many.
const INERTIA: u32 = 8;

/// How often the guess was right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Foresights {
    /// Combinations for which a set was expected.
    pub guessed: u64,
    /// Those of them that were of this set.
    pub right: u64,
}

/// Who is expected under each path.
#[derive(Debug)]
pub(super) struct Guesses<S: Function> {
    guesses: BTreeMap<Path, Guess<S>>,
    count: Foresights,
}

#[derive(Debug)]
struct Guess<S: Function> {
    scores: BTreeMap<Party, u32>,
    expected: Option<Arc<Expected<S>>>,
    /// The set that is being prepared for.
    pending: Option<BTreeSet<Party>>,
    /// Whether what is expected was there the last time.
    met: bool,
}

// Derived, they would ask for defaults of what is in them.
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

    /// Who was there when the weight sufficed, and whether it was as expected.
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

    /// Whom to expect from now on, if it is worth a preparation.
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
    /// Those who come most often, as many as suffice; of equals the heaviest.
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
    /// How often the set that sufficed was the one that was expected.
    #[must_use]
    pub fn foresights(&self) -> Foresights {
        self.foresight.count
    }

    /// A slot was combined: whom to expect in the next.
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

    /// Takes what was computed ahead; gives back findings of other kinds.
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
