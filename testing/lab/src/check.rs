//! What must hold of every run of a committee, checked from its notes.
//!
//! | checked          | how                                                                            |
//! |------------------|--------------------------------------------------------------------------------|
//! | agreement        | one block per slot, one value per slot, one first slot                          |
//! | total order      | slots are final and revealed in one order, from the first on, none left out      |
//! | validity         | the values of a slot's block; each verifies from public data, by other code      |
//! | accusations      | nobody honest is accused by anybody honest, and nobody again and again for one bad signature |
//! | release contract | no early partial after a timeout of its round                                   |
//! | secrecy          | see `view`                                                                       |
//! | global times     | see [`global`](crate::global)                                                     |
//!
//! A party is faulty for a whole run. This includes a party that lost its disk on the way: it may have
//! forgotten that it released a partial or signed a timeout, and the release contract rests on these.

use crate::priced::Priced;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ::prefinal_beacon::{Path, Reveal, Slot, Value, View};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{Context, EpochId};
use prefinal_protocol::Instant;
use prefinal_sim::{Note, Seat, check};

use super::committee::{Ground, Observation};
use super::view::Secrecy;
use crate::global::{Exceptions, GlobalClocks, SlotTimes, TimesError};
use crate::legible::Act;
use crate::local::Imperfections;
use prefinal_validator::scheme::PerPath;
use prefinal_validator::setup::{FIRST, Setup};

/// A property that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Two parties hold different things for one slot.
    #[error("agreement: {0}")]
    Agreement(String),
    /// A slot is out of order.
    #[error("total order: {0}")]
    Order(String),
    /// A value does not belong to the slot.
    #[error("validity: {0}")]
    Validity(String),
    /// An honest party is accused.
    #[error("accusation: {0}")]
    Accusation(String),
    /// A faulty party is not accused although an honest one has the evidence.
    #[error("conviction: {0}")]
    Conviction(String),
    /// A partial left that the contract holds back.
    #[error("release contract: {0}")]
    Contract(String),
    /// The adversary could compute a value before its slot was final.
    #[error("secrecy: {0}")]
    Secrecy(String),
    /// A slot is final, or its value computable, at another time than the paper's theorems say.
    #[error("global times: {0}")]
    Times(#[from] TimesError),
    /// An honest party keeps more than the limit.
    #[error("memory: {0}")]
    Memory(String),
    /// An honest party does not reveal a value that it must reveal.
    #[error("liveness: {0}")]
    Liveness(String),
}

/// A run, with the parties that were faulty in it.
pub struct Trial<'a, S: Priced> {
    /// The keys of the committee, and the values that were verified before.
    pub ground: &'a Ground<S>,
    /// The party in each seat.
    pub parties: &'a dyn Fn(Seat) -> Party,
    /// The set-ups of the epochs.
    pub setups: &'a BTreeMap<EpochId, Arc<Setup>>,
    /// The faulty parties, which may do anything.
    pub faulty: &'a BTreeSet<Party>,
    /// The parties that crashed on the way, and may be late.
    pub crashed: &'a BTreeSet<Party>,
    /// What the run has that the paper's model leaves out.
    pub imperfections: Imperfections,
    /// The notes of an earlier life, if the run continues from disks.
    pub before: &'a [Note<Observation<S>>],
    /// The notes of the run.
    pub notes: &'a [Note<Observation<S>>],
}

/// The numbers of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of slots that have a value at some party.
    pub slots: usize,
    /// Number of values that parties got by the slow path.
    pub slow: usize,
    /// Number of values that parties got by the fast path.
    pub fast: usize,
    /// Number of values that parties got by tight thresholds.
    pub tight: usize,
}

impl Summary {
    /// So many slots have a value; every value of every party came by a path.
    pub(crate) fn of(slots: usize, paths: impl IntoIterator<Item = Path>) -> Self {
        let mut summary = Self { slots, ..Self::default() };
        for path in paths {
            let count = match path {
                Path::Slow => &mut summary.slow,
                Path::Fast => &mut summary.fast,
                Path::Tight => &mut summary.tight,
            };
            *count += 1;
        }
        summary
    }
}

/// The order of slots at every seat: none is left out. After a restart a seat may repeat itself.
#[derive(Default)]
pub(crate) struct TotalOrder {
    /// What comes next at a seat: final, and revealed.
    next: BTreeMap<(Seat, &'static str), Slot>,
}

impl TotalOrder {
    /// A slot is final at a seat, whose first is `first`.
    pub(crate) fn finalized(
        &mut self,
        seat: Seat,
        slot: Slot,
        first: Slot,
    ) -> Result<(), Violation> {
        self.follows(seat, "final", slot, first)
    }

    /// A slot is revealed at a seat, whose first is `first`.
    pub(crate) fn revealed(
        &mut self,
        seat: Seat,
        slot: Slot,
        first: Slot,
    ) -> Result<(), Violation> {
        self.follows(seat, "revealed", slot, first)
    }

    fn follows(
        &mut self,
        seat: Seat,
        what: &'static str,
        slot: Slot,
        first: Slot,
    ) -> Result<(), Violation> {
        let expected = self.next.entry((seat, what)).or_insert(first);
        if slot > *expected {
            let what = format!("{slot} is {what} at {seat} before {expected}");
            return Err(Violation::Order(what));
        }
        *expected = slot.after(1).max(*expected);
        Ok(())
    }
}

/// How often a seat may find one bad signature: once in a life, and once more if it is a contradiction as well.
const MOST_FINDINGS: u32 = 16;

/// Checks what honest seats accuse others of: nobody honest of anything, and nobody too often of one bad signature,
/// for then it is checked again and again.
pub(crate) fn check_accusations<'a, E: 'a>(
    honest: impl IntoIterator<Item = &'a Note<E>>,
    faulty: &BTreeSet<Party>,
    accusation: impl Fn(&'a E) -> Option<(Party, &'a str)>,
) -> Result<(), Violation> {
    let mut found: BTreeMap<(Seat, Party, &str), u32> = BTreeMap::new();
    let unjust = honest.into_iter().find_map(|note| {
        let (party, fault) = accusation(&note.event)?;
        let seat = note.seat;
        if !faulty.contains(&party) {
            return Some(format!("{seat} accuses {party}, which is honest: {fault}"));
        }
        let again = fault.starts_with("bad signature");
        let times = found.entry((seat, party, fault)).or_default();
        *times += u32::from(again);
        (*times > MOST_FINDINGS).then(|| format!("{seat} accuses {party} on and on: {fault}"))
    });
    unjust.map_or(Ok(()), |what| Err(Violation::Accusation(what)))
}

/// The chain's first slot of each epoch that has keys.
struct Timeline(BTreeMap<EpochId, Slot>);

impl Timeline {
    /// The chain's slot before an engine's first.
    fn base(&self, epoch: EpochId) -> u64 {
        let first = self.0.get(&epoch).filter(|_| epoch != FIRST);
        first.map_or(0, |first| first.get().saturating_sub(1))
    }

    /// An engine's view on the chain's line; of one behind its epoch, what lies within.
    fn view(&self, epoch: EpochId, view: View) -> View {
        let view = View::new(view.slot.after(self.base(epoch)), view.attempt);
        let end = self.0.range(epoch.next()..).next().map(|(_, first)| first.get());
        let last = end.map(|end| View::new(Slot::new(end.saturating_sub(1)), u32::MAX));
        last.map_or(view, |last| view.min(last))
    }
}

impl<S: Priced> Trial<'_, S> {
    /// Checks everything that the notes show.
    ///
    /// # Errors
    /// The first violation.
    pub fn check(&self) -> Result<Summary, Violation> {
        let values = self.check_agreement()?;
        self.check_order()?;
        check_accusations(self.honest(), self.faulty, |seen| match seen {
            Observation::Accused(party, fault) => Some((*party, fault)),
            _ => None,
        })?;
        self.check_contract()?;
        let timeline = self.timeline();
        for (epoch, setup) in self.setups {
            Secrecy::new(setup, timeline.base(*epoch), self.faulty).check(self)?;
        }
        self.global_times()?;
        self.check_values()?;
        Ok(Summary::of(values, self.reveals().map(|reveal| reveal.path)))
    }

    /// When each slot was final, and its value computable, whether anybody knew it or not. Slots of an earlier
    /// life are left out: their clock was another one.
    ///
    /// # Errors
    /// If the paper's lemma or one of its theorems does not hold of a slot.
    pub fn global_times(&self) -> Result<Vec<SlotTimes>, TimesError> {
        let (faulty, crashed) = (self.faulty.clone(), self.crashed.clone());
        let imperfections = self.imperfections;
        let mut clocks = GlobalClocks::new(Exceptions { faulty, crashed, imperfections });
        clocks.learn(self.setups);
        for note in self.before {
            clocks.take_at((self.parties)(note.seat), &note.event, Instant::START);
        }
        clocks.begin();
        self.notes.iter().for_each(|note| clocks.take((self.parties)(note.seat), note));
        clocks.close()
    }

    /// Whether a seat is a faulty party's.
    pub(crate) fn is_faulty(&self, seat: Seat) -> bool {
        self.faulty.contains(&(self.parties)(seat))
    }

    /// Where each epoch begins.
    fn timeline(&self) -> Timeline {
        let notes = self.before.iter().filter(|note| !self.is_faulty(note.seat));
        let ready = notes.chain(self.honest()).filter_map(|note| match &note.event {
            Observation::Ready { epoch, first, .. } => Some((*epoch, *first)),
            _ => None,
        });
        Timeline(ready.collect())
    }

    fn honest(&self) -> impl Iterator<Item = &Note<Observation<S>>> {
        self.notes.iter().filter(|note| !self.is_faulty(note.seat))
    }

    /// What honest seats reveal.
    fn reveals(&self) -> impl Iterator<Item = &Reveal<S>> {
        self.honest().filter_map(|note| match &note.event {
            Observation::Revealed(reveal) => Some(&**reveal),
            _ => None,
        })
    }

    /// How many slots have a value.
    fn check_agreement(&self) -> Result<usize, Violation> {
        let failed = |error: &dyn std::fmt::Display| Violation::Agreement(error.to_string());
        let blocks = check::agreement(self.honest(), |seen| match seen {
            Observation::Finalized(slot, block) => Some((*slot, *block)),
            _ => None,
        });
        let blocks: BTreeMap<Slot, Option<Value>> = blocks.map_err(|error| failed(&error))?;
        let values = check::agreement(self.honest(), |seen| match seen {
            Observation::Revealed(reveal) => {
                Some((reveal.slot, (reveal.value, hex::encode(reveal.randomness()))))
            }
            _ => None,
        });
        let values = values.map_err(|error| failed(&error))?;
        check::agreement(self.honest(), |seen| match seen {
            Observation::Ready { epoch, first, .. } => Some((*epoch, *first)),
            _ => None,
        })
        .map_err(|error| failed(&error))?;
        for (slot, (block, _)) in &values {
            if blocks.get(slot).is_some_and(|known| known != block) {
                return Err(Violation::Validity(format!("{slot} has the value of another block")));
            }
        }
        let distinct: BTreeSet<_> = values.values().map(|(_, value)| value).collect();
        if distinct.len() < values.len() {
            return Err(Violation::Validity("two slots have one value".to_owned()));
        }
        Ok(values.len())
    }

    fn check_order(&self) -> Result<(), Violation> {
        let mut first = None;
        let mut order = TotalOrder::default();
        for note in self.honest() {
            match &note.event {
                Observation::Ready { first: slot, .. } => first = Some(*slot),
                Observation::Finalized(slot, _) => order.finalized(note.seat, *slot, *slot)?,
                Observation::Revealed(reveal) => {
                    let first = first.filter(|_| self.before.is_empty()).unwrap_or(reveal.slot);
                    order.revealed(note.seat, reveal.slot, first)?;
                }
                // With inputs that have no value a skipped slot has an output too.
                Observation::Skipped(slot) => {
                    let what = format!("{slot} has no value at {}", note.seat);
                    return Err(Violation::Validity(what));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// After a timeout of a round has left, no early partial of it or of an earlier one does, unless
    /// the slot is final there. (A tight partial may leave on finalize.)
    fn check_contract(&self) -> Result<(), Violation> {
        let timeline = self.timeline();
        let mut gave_up: BTreeMap<Seat, View> = BTreeMap::new();
        for note in self.honest() {
            let last = gave_up.get(&note.seat).copied();
            match note.event {
                Observation::Act(epoch, Act::GaveUp(view)) => {
                    let view = timeline.view(epoch, view);
                    gave_up.insert(note.seat, last.map_or(view, |last| last.max(view)));
                }
                Observation::Released(_, Path::Fast, slot)
                    if last.is_some_and(|last| View::new(slot, 0) <= last) =>
                {
                    return Err(Violation::Contract(format!(
                        "a fast partial of {slot} leaves {} at {:?}, after it gave up {}",
                        note.seat,
                        note.at.since_start(),
                        last.map(|last| last.to_string()).unwrap_or_default()
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Every slot's value, verified from what one party shows of it.
    fn check_values(&self) -> Result<(), Violation> {
        let mut epochs: BTreeMap<EpochId, (Slot, PerPath<S::Committee>)> = BTreeMap::new();
        for note in self.honest() {
            match &note.event {
                Observation::Ready { epoch, first, committees } => {
                    epochs.entry(*epoch).or_insert_with(|| (*first, (**committees).clone()));
                }
                Observation::Admitted(epoch, keys) => {
                    let Some((_, known)) = epochs.get_mut(epoch) else { continue };
                    let _known = S::admit(&mut known.slow, keys.keys.slow.clone());
                    if let (Some(fast), Some(key)) = (&mut known.fast, &keys.keys.fast) {
                        let _known = S::admit(fast, key.clone());
                    }
                }
                _ => {}
            }
        }
        let shown: BTreeMap<Slot, &Reveal<S>> =
            self.reveals().map(|reveal| (reveal.slot, reveal)).collect();
        let ends = epochs.values().skip(1).map(|(first, _)| Some(*first)).chain([None]);
        let ends: Vec<_> = ends.collect();
        for ((epoch, (first, committees)), end) in epochs.iter().zip(ends) {
            let key = S::id(&committees.slow);
            let own = shown.range(*first..).map(|(_, reveal)| *reveal);
            let own = own.take_while(|reveal| end.is_none_or(|end| reveal.slot < end));
            let own = own.filter(|reveal| !self.ground.is_verified(&key, reveal));
            let own: Vec<&Reveal<S>> = own.collect();
            if own.is_empty() {
                continue;
            }
            let context = Context { epoch: *epoch, ..self.ground.setup().context };
            S::chronicle(context, committees, &own)
                .verify()
                .map_err(|failure| Violation::Validity(failure.to_string()))?;
            for reveal in own {
                self.ground.note_verified(key, reveal);
            }
        }
        Ok(())
    }
}
