//! What this party released on finalize, and to whom it was repeated.
//!
//! A peer that missed a partial asks for it. Each answer is one partial, sent to one peer at most once
//! in a pause, so that asking costs the asker more than the answerer. Of finished slots only the last
//! few are answerable; who missed more has missed an output and catches up from outputs instead.
use std::collections::BTreeMap;
use std::time::Duration;

use crypto_core::access::Party;
use machine::Instant;

use crate::schemes::Scheme;
use crate::slot::{Slot, Value};

/// A final slot's answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer<S: Scheme> {
    /// What the slot was finalized with.
    pub(crate) value: Option<Value>,
    /// This party's partial; `None` if it has none or has not been asked since a restart.
    pub(crate) partial: Option<S::Partial>,
    given: BTreeMap<Party, Instant>,
}

impl<S: Scheme> Answer<S> {
    pub(crate) const fn new(value: Option<Value>, partial: Option<S::Partial>) -> Self {
        Self { value, partial, given: BTreeMap::new() }
    }

    /// Whether this peer may be answered now; notes that it is.
    pub(crate) fn give(&mut self, to: Party, now: Instant, pause: Duration) -> bool {
        let rested = self.given.get(&to).is_none_or(|last| *last + pause <= now);
        if rested {
            self.given.insert(to, now);
        }
        rested
    }
}

/// Answers of the last finished slots.
#[derive(Clone, Debug)]
pub(crate) struct History<S: Scheme> {
    limit: usize,
    answers: BTreeMap<Slot, Answer<S>>,
}

impl<S: Scheme> History<S> {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { limit, answers: BTreeMap::new() }
    }

    pub(crate) fn push(&mut self, slot: Slot, answer: Answer<S>) {
        self.answers.insert(slot, answer);
        while self.answers.len() > self.limit {
            self.answers.pop_first();
        }
    }

    pub(crate) fn get_mut(&mut self, slot: Slot) -> Option<&mut Answer<S>> {
        self.answers.get_mut(&slot)
    }

    /// Slots and their values, oldest first.
    pub(crate) fn values(&self) -> impl Iterator<Item = (Slot, Option<Value>)> {
        self.answers.iter().map(|(slot, answer)| (*slot, answer.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemes::Bls;

    const PAUSE: Duration = Duration::from_millis(10);

    fn ms(ms: u64) -> Instant {
        Instant::at(Duration::from_millis(ms))
    }

    #[test]
    fn a_peer_is_answered_once_in_a_pause_and_others_at_any_time() {
        let mut answer = Answer::<Bls>::new(None, None);
        assert!(answer.give(Party::new(1), ms(0), PAUSE));
        assert!(!answer.give(Party::new(1), ms(9), PAUSE));
        assert!(answer.give(Party::new(2), ms(9), PAUSE));
        assert!(answer.give(Party::new(1), ms(10), PAUSE));
    }

    #[test]
    fn only_the_last_slots_are_kept() {
        let mut history = History::<Bls>::new(2);
        for slot in 0..5 {
            history.push(Slot::new(slot), Answer::new(None, None));
        }
        let kept: Vec<_> = history.values().map(|(slot, _)| slot.get()).collect();
        assert_eq!(kept, [3, 4]);
    }
}
