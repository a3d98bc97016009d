//! What must hold of every run of a committee, from what was noted of it.
//!
//! | checked          | how                                                                            |
//! |------------------|--------------------------------------------------------------------------------|
//! | agreement        | one block per slot, one value per slot, one first slot                          |
//! | total order      | slots are final and revealed in one order, from the first on, none left out      |
//! | validity         | the values of a slot's block; each verifies from public data, by other code      |
//! | accusations      | nobody honest is accused by anybody honest                                      |
//! | release contract | no early partial after a timeout of its round                                   |
//! | secrecy          | see `view`                                                                       |
//!
//! A party is faulty for a whole run: also one that lost its disk on the way, for it may have forgotten
//! that it released a partial or signed a timeout, and the release contract rests on that.
//!
//! Elsewhere: that something happens at all, and how much is kept (`campaign`).

use std::collections::{BTreeMap, BTreeSet};

use ::beacon::{Path, Reveal, Slot, Value};
use crypto_core::access::Party;
use sim::{Note, Seat, check};

use super::committee::{Ground, Seen};
use super::view::View;
use crate::scheme::{Keyed, PerPath};

/// What does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Two parties hold different things for one slot.
    #[error("agreement: {0}")]
    Agreement(String),
    /// A slot comes out of turn.
    #[error("total order: {0}")]
    Order(String),
    /// A value is not the slot's.
    #[error("validity: {0}")]
    Validity(String),
    /// An honest party stands accused.
    #[error("accusation: {0}")]
    Accusation(String),
    /// A partial left that had to stay.
    #[error("release contract: {0}")]
    Contract(String),
    /// The adversary could compute a value before its slot was final.
    #[error("secrecy: {0}")]
    Secrecy(String),
    /// An honest party keeps more than it may.
    #[error("memory: {0}")]
    Memory(String),
    /// An honest party does not reveal what it must.
    #[error("liveness: {0}")]
    Liveness(String),
}

/// A run and who was faulty in it.
pub struct Trial<'a, S: Keyed> {
    /// The committee.
    pub ground: &'a Ground<S>,
    /// Whose seat each seat is.
    pub parties: &'a dyn Fn(Seat) -> Party,
    /// Who may do anything.
    pub faulty: &'a BTreeSet<Party>,
    /// What was noted of an earlier life, if the run goes on from disks.
    pub before: &'a [Note<Seen<S>>],
    /// What was noted of the run.
    pub notes: &'a [Note<Seen<S>>],
}

/// What a run showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Slots that have a value somewhere.
    pub slots: usize,
    /// Values of parties by the slow path.
    pub slow: usize,
    /// By the fast path.
    pub fast: usize,
    /// By tight thresholds.
    pub tight: usize,
}

impl<S: Keyed> Trial<'_, S> {
    /// Checks all that can be read off the notes.
    ///
    /// # Errors
    /// The first violation.
    pub fn check(&self) -> Result<Summary, Violation> {
        let values = self.check_agreement()?;
        self.check_order()?;
        self.check_accusations()?;
        self.check_contract()?;
        View::new(self.ground.setup(), self.faulty).check(self)?;
        self.check_values()?;
        let mut summary = Summary { slots: values, ..Summary::default() };
        for (_, reveal) in self.reveals() {
            let count = match reveal.path {
                Path::Slow => &mut summary.slow,
                Path::Fast => &mut summary.fast,
                Path::Tight => &mut summary.tight,
            };
            *count += 1;
        }
        Ok(summary)
    }

    /// Whether a seat is a faulty party's.
    pub(super) fn is_faulty(&self, seat: Seat) -> bool {
        self.faulty.contains(&(self.parties)(seat))
    }

    fn honest(&self) -> impl Iterator<Item = &Note<Seen<S>>> {
        self.notes.iter().filter(|note| !self.is_faulty(note.seat))
    }

    /// What honest seats reveal.
    fn reveals(&self) -> impl Iterator<Item = (Seat, &Reveal<S>)> {
        self.honest().filter_map(|note| match &note.event {
            Seen::Revealed(reveal) => Some((note.seat, &**reveal)),
            _ => None,
        })
    }

    /// How many slots have a value.
    fn check_agreement(&self) -> Result<usize, Violation> {
        let failed = |error: &dyn std::fmt::Display| Violation::Agreement(error.to_string());
        let blocks = check::agreement(self.honest(), |seen| match seen {
            Seen::Finalized(slot, block) => Some((*slot, *block)),
            _ => None,
        });
        let blocks: BTreeMap<Slot, Option<Value>> = blocks.map_err(|error| failed(&error))?;
        let values = check::agreement(self.honest(), |seen| match seen {
            Seen::Revealed(reveal) => {
                Some((reveal.slot, (reveal.value, hex::encode(reveal.randomness()))))
            }
            _ => None,
        });
        let values = values.map_err(|error| failed(&error))?;
        check::agreement(self.honest(), |seen| match seen {
            Seen::Ready { first, .. } => Some(((), *first)),
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

    /// Slots come in order and none is left out. After a restart a seat may repeat itself.
    fn check_order(&self) -> Result<(), Violation> {
        let mut first = None;
        let mut next: BTreeMap<(Seat, bool), Slot> = BTreeMap::new();
        for note in self.honest() {
            let (slot, revealed) = match &note.event {
                Seen::Ready { first: slot, .. } => {
                    first = Some(*slot);
                    continue;
                }
                Seen::Finalized(slot, _) => (*slot, false),
                Seen::Revealed(reveal) => (reveal.slot, true),
                // With inputs that have no value a skipped slot has an output too.
                Seen::Skipped(slot) => {
                    let what = format!("{slot} has no value at {}", note.seat);
                    return Err(Violation::Validity(what));
                }
                _ => continue,
            };
            let from = first.filter(|_| revealed && self.before.is_empty()).unwrap_or(slot);
            let expected = next.entry((note.seat, revealed)).or_insert(from);
            if slot > *expected {
                let what = if revealed { "revealed" } else { "final" };
                let what = format!("{slot} is {what} at {} before {expected}", note.seat);
                return Err(Violation::Order(what));
            }
            *expected = slot.after(1).max(*expected);
        }
        Ok(())
    }

    fn check_accusations(&self) -> Result<(), Violation> {
        let unjust = self.honest().find_map(|note| match &note.event {
            Seen::Accused(party, fault) if !self.faulty.contains(party) => {
                Some(format!("{} accuses {party}, which is honest: {fault}", note.seat))
            }
            _ => None,
        });
        unjust.map_or(Ok(()), |what| Err(Violation::Accusation(what)))
    }

    /// After a timeout of a round has left, no early partial of it or of an earlier one does, unless
    /// the slot is final there. (A tight partial may leave on finalize.)
    fn check_contract(&self) -> Result<(), Violation> {
        let mut timed_out: BTreeMap<Seat, u64> = BTreeMap::new();
        for note in self.honest() {
            let last = timed_out.entry(note.seat).or_insert(0);
            match note.event {
                Seen::TimedOut(round) => *last = round.max(*last),
                Seen::Released(Path::Fast, slot) if slot.get() <= *last => {
                    return Err(Violation::Contract(format!(
                        "a fast partial of {slot} leaves {} at {:?}, after its timeout of round {last}",
                        note.seat,
                        note.at.since_start()
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Every slot's value, verified from what one party shows of it.
    fn check_values(&self) -> Result<(), Violation> {
        let mut committees: Option<PerPath<S::Committee>> = None;
        for note in self.honest() {
            match (&note.event, &mut committees) {
                (Seen::Ready { committees: ready, .. }, None) => {
                    committees = Some((**ready).clone());
                }
                (Seen::Admitted(keys), Some(known)) => {
                    let _known = S::admit(&mut known.slow, keys.keys.slow.clone());
                    if let (Some(fast), Some(key)) = (&mut known.fast, &keys.keys.fast) {
                        let _known = S::admit(fast, key.clone());
                    }
                }
                _ => {}
            }
        }
        let Some(committees) = committees else { return Ok(()) };
        let key = S::id(&committees.slow);
        let shown: BTreeMap<Slot, &Reveal<S>> =
            self.reveals().map(|(_, reveal)| (reveal.slot, reveal)).collect();
        let is_new = |reveal: &&Reveal<S>| !self.ground.is_verified(&key, reveal);
        let shown: Vec<&Reveal<S>> = shown.into_values().filter(is_new).collect();
        if shown.is_empty() {
            return Ok(());
        }
        S::chronicle(self.ground.setup().context, &committees, &shown)
            .verify()
            .map_err(|failure| Violation::Validity(failure.to_string()))?;
        for reveal in shown {
            self.ground.note_verified(key, reveal);
        }
        Ok(())
    }
}
