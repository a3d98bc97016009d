//! Collects the partials of one slot and gives jobs: rule 9, and late verification.
//!
//! A lane is a path together with the value that enters the function. Only partials of one lane combine. A
//! party has one partial on a path, or two on the tight path if inputs have a value: one prefinalized, one
//! final.
//!
//! ```text
//!         arrives            in a batch that fails
//!   ─────► Opaque ─────────────────────────────► Rejected: never again in this lane
//!           │ party was caught before             ▲
//!           └──────► Checking ────────────────────┤
//!                        └─────► Verified         │ check fails
//! ```
//! Opaque and verified partials count. Once they weigh enough, a smallest sufficient set of them leaves as one
//! job. Partials that arrive meanwhile are kept, so that after a failed batch the rest can be tried at once.
//! Weights are added up as partials arrive, so an arrival costs a look-up and not a recount.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prefinal_crypto_core::access::{Party, fewest};

use crate::job::{Opaque, Precomputed};
use crate::schemes::{Function, Preparation, RunningCombination};
use prefinal_contract::Path;
use prefinal_protocol::Value;

/// The most portions in which expected partials are worked on ahead. Each portion is a job, and one sum of
/// products over many partials is cheaper than many sums.
const PORTIONS: u128 = 4;

/// Partials that can be combined with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane {
    pub(crate) path: Path,
    pub(crate) value: Option<Value>,
}

/// What happened to an arriving partial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It is kept and may count.
    New,
    /// It was here before, or its sender was caught in this lane.
    Duplicate,
    /// The sender sent another partial before, and that one stands.
    Second,
}

#[derive(Clone, Debug)]
enum Entry<S: Function> {
    Opaque(S::Partial),
    Checking(S::Partial),
    Verified(S::Partial),
    Rejected,
}

impl<S: Function> Entry<S> {
    /// The partial if it may go into a batch.
    const fn counted(&self) -> Option<&S::Partial> {
        match self {
            Self::Opaque(partial) | Self::Verified(partial) => Some(partial),
            Self::Checking(_) | Self::Rejected => None,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Tally<S: Function> {
    entries: BTreeMap<Party, Entry<S>>,
    /// The weight of all entries that count and whose key is known.
    weight: u128,
    running: bool,
    /// The parties that are expected to suffice, and what was computed ahead for them.
    expected: Option<Arc<Expected<S>>>,
    done: Precomputed<S>,
    /// The parties whose terms are computed when the current job ends.
    preparing: Option<BTreeSet<Party>>,
    /// The weight at which more than now can be prepared.
    retry: Option<Retry<S>>,
}

/// As long as the same parties are expected and the lane has less weight than this, there is nothing to prepare.
#[derive(Clone, Debug)]
struct Retry<S: Function> {
    expected: Arc<Expected<S>>,
    weight: u128,
}

/// Parties that are expected to suffice, with results that depend on them alone.
#[derive(Clone, Debug)]
pub(crate) struct Expected<S: Function> {
    pub(crate) parties: BTreeSet<Party>,
    pub(crate) foreseen: Option<Opaque<Preparation<S>>>,
}

/// Partials to compute ahead with.
#[derive(Clone, Debug)]
pub(crate) struct Portion<S: Function> {
    pub(crate) partials: BTreeMap<Party, S::Partial>,
    pub(crate) done: Precomputed<S>,
}

/// Partials whose weight suffices.
#[derive(Clone, Debug)]
pub(crate) struct Batch<S: Function> {
    pub(crate) partials: BTreeMap<Party, S::Partial>,
    pub(crate) done: Precomputed<S>,
    /// All parties whose partials had arrived.
    pub(crate) came: BTreeSet<Party>,
    /// Whether these are the expected parties; `None` if none were expected.
    pub(crate) foreseen: Option<bool>,
}

impl<S: Function> Tally<S> {
    fn counted(&self) -> impl Iterator<Item = (Party, &S::Partial)> {
        let entries = self.entries.iter();
        entries.filter_map(|(party, entry)| Some((*party, entry.counted()?)))
    }

    /// The parties that count, with their weights.
    fn weighed(&self, committee: &S::Committee) -> impl Iterator<Item = (Party, u128)> {
        let weighed = self.counted().map(|(party, _)| (party, S::weight(committee, party)));
        weighed.filter(|(_, weight)| *weight > 0)
    }

    fn done_for(&self, expected: &Expected<S>) -> Precomputed<S> {
        Precomputed { foreseen: expected.foreseen.clone(), ..self.done.clone() }
    }

    fn recount(&mut self, committee: &S::Committee) {
        let counted = self.entries.iter().filter(|(_, entry)| entry.counted().is_some());
        self.weight = counted.map(|(party, _)| S::weight(committee, *party)).sum();
        self.retry = None;
    }

    fn set(&mut self, party: Party, entry: Entry<S>, committee: &S::Committee) {
        let weight = |entry: Option<&Entry<S>>| {
            entry.and_then(Entry::counted).map_or(0, |_| S::weight(committee, party))
        };
        let before = weight(self.entries.get(&party));
        if before > 0 {
            // Weight that goes makes no room for weight that comes.
            self.retry = None;
        }
        self.weight = self.weight.saturating_sub(before).saturating_add(weight(Some(&entry)));
        self.entries.insert(party, entry);
    }
}

/// All lanes of one slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collector<S: Function> {
    lanes: BTreeMap<Lane, Tally<S>>,
}

impl<S: Function> Collector<S> {
    /// Takes the partial of a peer. At most `most` partials of a peer fit into one path.
    pub(crate) fn arrive(
        &mut self,
        lane: Lane,
        (party, partial): (Party, &S::Partial),
        most: usize,
        committee: &S::Committee,
    ) -> Arrival {
        if let Some(entry) = self.lanes.get(&lane).and_then(|tally| tally.entries.get(&party)) {
            return match entry {
                Entry::Opaque(known) | Entry::Checking(known) | Entry::Verified(known)
                    if known != partial =>
                {
                    Arrival::Second
                }
                _ => Arrival::Duplicate,
            };
        }
        let same_path = self.lanes.iter().filter(|(other, _)| other.path == lane.path);
        if same_path.filter(|(_, tally)| tally.entries.contains_key(&party)).count() >= most {
            return Arrival::Second;
        }
        self.lanes.entry(lane).or_default().set(party, Entry::Opaque(partial.clone()), committee);
        Arrival::New
    }

    /// Enters this party's own partial, which needs no check.
    pub(crate) fn enter(
        &mut self,
        lane: Lane,
        me: Party,
        own: S::Partial,
        committee: &S::Committee,
    ) {
        self.lanes.entry(lane).or_default().set(me, Entry::Verified(own), committee);
    }

    /// Gives a sufficient set of partials, if a job should start with them now. At most one job runs in a
    /// lane.
    pub(crate) fn start(
        &mut self,
        lane: Lane,
        committee: &S::Committee,
        expected: Option<&Arc<Expected<S>>>,
    ) -> Option<Batch<S>> {
        let tally = self.lanes.get_mut(&lane)?;
        if tally.running || tally.weight < S::threshold(committee) {
            return None;
        }
        let came: BTreeSet<Party> = tally.weighed(committee).map(|(party, _)| party).collect();
        let expected = tally.expected.as_ref().or(expected);
        let met = expected.filter(|expected| expected.parties.is_subset(&came));
        let (parties, done) = match met {
            Some(expected) => (expected.parties.clone(), tally.done_for(expected)),
            None => {
                (fewest(S::threshold(committee), tally.weighed(committee))?, Precomputed::default())
            }
        };
        let foreseen = expected.map(|_| met.is_some());
        let partials = tally.counted().filter(|(party, _)| parties.contains(party));
        let partials = partials.map(|(party, partial)| (party, partial.clone())).collect();
        tally.running = true;
        Some(Batch { partials, done, came, foreseen })
    }

    /// Gives partials of expected parties that are worth a separate job before the rest has arrived: a
    /// quarter of the needed weight. It is no more, because the final job may have to wait for the thread.
    /// At most one such job runs in a lane.
    pub(crate) fn prepare(
        &mut self,
        lane: Lane,
        committee: &S::Committee,
        expected: Option<&Arc<Expected<S>>>,
    ) -> Option<Portion<S>> {
        let tally = self.lanes.get_mut(&lane)?;
        let expected = Arc::clone(tally.expected.as_ref().or(expected)?);
        let too_early = |retry: &Retry<S>| {
            Arc::ptr_eq(&retry.expected, &expected) && tally.weight < retry.weight
        };
        if tally.retry.as_ref().is_some_and(too_early) {
            return None;
        }
        let lost = |party| matches!(tally.entries.get(party), Some(Entry::Rejected));
        if tally.preparing.is_some() || tally.running || expected.parties.iter().any(lost) {
            return None;
        }
        let new =
            |party: &Party| expected.parties.contains(party) && !tally.done.parties.contains(party);
        let mut missing = S::threshold(committee).div_ceil(PORTIONS);
        let mut portion = BTreeSet::new();
        for (party, weight) in tally.weighed(committee).filter(|(party, _)| new(party)) {
            if missing > 0 {
                missing = missing.saturating_sub(weight);
                portion.insert(party);
            }
        }
        if missing > 0 {
            let weight = tally.weight.saturating_add(missing);
            tally.retry = Some(Retry { expected, weight });
            return None;
        }
        let partials = tally.counted().filter(|(party, _)| portion.contains(party));
        let partials = partials.map(|(party, partial)| (party, partial.clone())).collect();
        let done = tally.done_for(&expected);
        tally.preparing = Some(done.parties.union(&portion).copied().collect());
        tally.expected = Some(expected);
        Some(Portion { partials, done })
    }

    /// Takes the result of a job that [`prepare`](Collector::prepare) started.
    pub(crate) fn prepared(
        &mut self,
        lane: Lane,
        parties: BTreeSet<Party>,
        ahead: Option<Opaque<RunningCombination<S>>>,
    ) {
        let awaited = |tally: &&mut Tally<S>| tally.preparing.as_ref() == Some(&parties);
        let Some(tally) = self.lanes.get_mut(&lane).filter(awaited) else { return };
        (tally.preparing, tally.retry) = (None, None);
        tally.done = Precomputed { foreseen: None, ahead, parties };
    }

    /// Notes that the lane's job ended; `false` if none was running.
    pub(crate) fn finish(&mut self, lane: Lane) -> bool {
        self.lanes.get_mut(&lane).is_some_and(|tally| std::mem::take(&mut tally.running))
    }

    /// Opaque partials of suspects with an admitted key. From now on they are checked one by one. Partials in a
    /// running batch stay there.
    pub(crate) fn single_out(
        &mut self,
        lane: Lane,
        suspects: &BTreeSet<Party>,
        committee: &S::Committee,
    ) -> Vec<(Party, S::Partial)> {
        let Some(tally) = self.lanes.get_mut(&lane).filter(|tally| !tally.running) else {
            return Vec::new();
        };
        let held = |party: &Party| match tally.entries.get(party) {
            Some(Entry::Opaque(partial)) if S::weight(committee, *party) > 0 => {
                Some((*party, partial.clone()))
            }
            _ => None,
        };
        let singled: Vec<_> = suspects.iter().filter_map(held).collect();
        for (party, partial) in &singled {
            tally.set(*party, Entry::Checking(partial.clone()), committee);
        }
        singled
    }

    /// Counts a partial that was checked alone and is right.
    pub(crate) fn approve(&mut self, lane: Lane, party: Party, committee: &S::Committee) {
        let Some(tally) = self.lanes.get_mut(&lane) else { return };
        if let Some(Entry::Checking(partial)) = tally.entries.get(&party).cloned() {
            tally.set(party, Entry::Verified(partial), committee);
        }
    }

    /// Drops a wrong partial, and all others of its party in the lane. `false` if it is not here any more:
    /// the partial in its place was not checked.
    pub(crate) fn reject(
        &mut self,
        lane: Lane,
        (party, wrong): (Party, &S::Partial),
        committee: &S::Committee,
    ) -> bool {
        let Some(tally) = self.lanes.get_mut(&lane) else { return false };
        let held = match tally.entries.get(&party) {
            Some(Entry::Opaque(known) | Entry::Checking(known) | Entry::Verified(known)) => {
                known == wrong
            }
            Some(Entry::Rejected) | None => false,
        };
        if held {
            tally.set(party, Entry::Rejected, committee);
        }
        held
    }

    /// Drops everything that a party has sent on a path, for good.
    pub(crate) fn disown(&mut self, path: Path, party: Party, committee: &S::Committee) {
        let lanes = self.lanes.iter_mut().filter(|(lane, _)| lane.path == path);
        for (_, tally) in lanes.filter(|(_, tally)| tally.entries.contains_key(&party)) {
            tally.set(party, Entry::Rejected, committee);
        }
    }

    /// Counts again after a key was admitted: the partials of its party count from now on.
    pub(crate) fn recount(&mut self, path: Path, committee: &S::Committee) {
        let lanes = self.lanes.iter_mut().filter(|(lane, _)| lane.path == path);
        lanes.for_each(|(_, tally)| tally.recount(committee));
    }

    /// Drops the lanes of all other values. They will not be combined.
    pub(crate) fn keep_only(&mut self, value: Option<Value>) {
        self.lanes.retain(|lane, _| lane.value == value);
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        self.lanes.clear();
    }

    /// Whether a job of any lane is running.
    pub(crate) fn busy(&self) -> bool {
        self.lanes.values().any(|tally| tally.running)
    }

    /// Whether the lane has an entry of this party, right or wrong.
    pub(crate) fn has(&self, lane: Lane, party: Party) -> bool {
        self.lanes.get(&lane).is_some_and(|tally| tally.entries.contains_key(&party))
    }

    /// How many partials are kept, all lanes together.
    pub(crate) fn len(&self) -> usize {
        self.lanes.values().map(|tally| tally.entries.len()).sum()
    }

    /// The parties and paths of all kept partials. A rejected partial leaves a note, which is included.
    pub(crate) fn kept(&self) -> impl Iterator<Item = (Party, Path)> {
        let lanes = self.lanes.iter();
        lanes.flat_map(|(lane, tally)| tally.entries.keys().map(|party| (*party, lane.path)))
    }
}
