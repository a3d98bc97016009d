//! Partials that this party released on finalize, and the peers to which it repeated them.
//!
//! A peer that missed a partial asks for it. Each answer is one partial. A peer gets it at most once in a
//! pause, and for a bounded number of slots. So asking costs the asker more than the answerer, and the
//! notes on which peers were answered do not pile up. Only the last few finished slots are answerable. A
//! peer that missed more has missed an output, and catches up from outputs instead
//! (`prefinal_beacon::missed`).
use std::collections::BTreeMap;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Slot, Value};

use crate::config::Limits;
use crate::schemes::Function;
use prefinal_contract::Path;

/// A final slot's answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer<S: Function> {
    /// The value that the slot was finalized with.
    pub(crate) value: Option<Value>,
    /// This party's partial; `None` if it has none, or if nobody asked for it since a restart.
    pub(crate) partial: Option<S::Partial>,
    /// The path that gave the output, and the output; `None` before that, and after a restart.
    pub(crate) shown: Option<(Path, Box<S::OutputMessage>)>,
}

impl<S: Function> Answer<S> {
    pub(crate) const fn new(value: Option<Value>, partial: Option<S::Partial>) -> Self {
        Self { value, partial, shown: None }
    }
}

/// Which peer was sent something again for which slots, as long as it matters.
#[derive(Clone, Debug)]
pub(crate) struct Resends {
    most: usize,
    pause: Duration,
    by: BTreeMap<Party, BTreeMap<Slot, Instant>>,
}

impl Resends {
    /// Allows each slot once in a pause, and at most `most` slots at a time.
    pub(crate) const fn new(most: usize, pause: Duration) -> Self {
        Self { most, pause, by: BTreeMap::new() }
    }

    /// Whether this peer may be answered now. If so, notes the answer.
    pub(crate) fn give(&mut self, to: Party, slot: Slot, now: Instant) -> bool {
        let slots = self.by.entry(to).or_default();
        slots.retain(|_, last| *last + self.pause > now);
        let rested = slots.len() < self.most && !slots.contains_key(&slot);
        if rested {
            slots.insert(slot, now);
        }
        rested
    }

    /// How many notes are kept of a peer.
    pub(crate) fn notes_of(&self, party: Party) -> usize {
        self.by.get(&party).map_or(0, BTreeMap::len)
    }
}

/// How far peers have been shown outputs, and how many each was shown again.
///
/// An output takes some bytes to ask for, and up to a hundred for each party to show. So a peer gets each
/// output once, in ascending order. Outputs that it asks for again are counted: `most` at first, and one
/// more for each slot that becomes final. However often it asks, it gets no more. A peer that lost an
/// answer, or crashed before it used it, gets it again, from this party or from the next.
#[derive(Clone, Debug)]
struct OutputQuota {
    most: usize,
    by: BTreeMap<Party, Progress>,
}

#[derive(Clone, Copy, Debug)]
struct Progress {
    /// The slot after the last that was shown.
    next: Slot,
    /// How many were shown again, minus those that were earned.
    again: usize,
}

impl OutputQuota {
    const fn new(most: usize) -> Self {
        Self { most, by: BTreeMap::new() }
    }

    /// Whether this peer may be shown the output. If so, notes it.
    fn give(&mut self, to: Party, slot: Slot) -> bool {
        let new = Progress { next: Slot::new(0), again: 0 };
        let progress = self.by.entry(to).or_insert(new);
        if slot >= progress.next {
            progress.next = slot.next();
            return true;
        }
        let left = progress.again < self.most;
        progress.again = progress.again.saturating_add(usize::from(left));
        left
    }

    /// Allows every peer one more repetition, because another slot is final.
    fn earn(&mut self) {
        for progress in self.by.values_mut() {
            progress.again = progress.again.saturating_sub(1);
        }
    }

    /// How many notes are kept of a peer.
    fn notes_of(&self, party: Party) -> usize {
        usize::from(self.by.contains_key(&party))
    }
}

/// Which peers may be shown which outputs: each a bounded number in a pause, each output once, and some again.
#[derive(Clone, Debug)]
pub(crate) struct Shows {
    most: usize,
    lately: Resends,
    quota: OutputQuota,
}

impl Shows {
    pub(crate) fn new(limits: &Limits) -> Self {
        let most = limits.outputs;
        let lately = Resends::new(most, limits.retry / 2);
        Self { most, lately, quota: OutputQuota::new(most) }
    }

    /// The slots that a request for `count` outputs from `first` on is about.
    pub(crate) fn asked(&self, first: Slot, count: u32) -> impl Iterator<Item = Slot> + use<> {
        let most = u32::try_from(self.most).unwrap_or(u32::MAX);
        (0..u64::from(count.min(most))).map(move |ahead| first.after(ahead))
    }

    /// Whether this peer may be shown the output now. If so, notes it.
    pub(crate) fn give(&mut self, to: Party, slot: Slot, now: Instant) -> bool {
        self.lately.give(to, slot, now) && self.quota.give(to, slot)
    }

    /// Another slot is final, so each peer may be shown one more again.
    pub(crate) fn earn(&mut self) {
        self.quota.earn();
    }

    /// How many notes are kept of a peer.
    pub(crate) fn notes_of(&self, party: Party) -> usize {
        self.lately.notes_of(party) + self.quota.notes_of(party)
    }
}

/// Answers of the last finished slots.
#[derive(Clone, Debug)]
pub(crate) struct History<S: Function> {
    limit: usize,
    answers: BTreeMap<Slot, Answer<S>>,
}

impl<S: Function> History<S> {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { limit, answers: BTreeMap::new() }
    }

    pub(crate) fn push(&mut self, slot: Slot, answer: Answer<S>) {
        self.answers.insert(slot, answer);
        while self.answers.len() > self.limit {
            self.answers.pop_first();
        }
    }

    /// The oldest slot that is kept.
    pub(crate) fn first(&self) -> Option<Slot> {
        self.answers.first_key_value().map(|(slot, _)| *slot)
    }

    pub(crate) fn len(&self) -> usize {
        self.answers.len()
    }

    pub(crate) fn get(&self, slot: Slot) -> Option<&Answer<S>> {
        self.answers.get(&slot)
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
        let mut given = Resends::new(9, PAUSE);
        let (one, other, slot) = (Party::new(1), Party::new(2), Slot::new(7));
        assert!(given.give(one, slot, ms(0)));
        assert!(!given.give(one, slot, ms(9)));
        assert!(given.give(other, slot, ms(9)));
        assert!(given.give(one, slot, ms(10)));
        assert!(given.give(one, slot.next(), ms(10)));
    }

    #[test]
    fn a_peer_is_answered_for_a_few_slots_in_a_pause() {
        let mut given = Resends::new(3, PAUSE);
        let party = Party::new(1);
        let mut ask =
            |now| (0..100).filter(|slot| given.give(party, Slot::new(*slot), now)).count();
        assert_eq!([ask(ms(0)), ask(ms(9)), ask(ms(10))], [3, 0, 3]);
        assert_eq!(given.notes_of(party), 3);
    }

    #[test]
    fn an_output_is_shown_once_and_some_again() {
        let (one, other) = (Party::new(1), Party::new(2));
        let mut passed = OutputQuota::new(2);
        let shown = |passed: &mut OutputQuota, party| {
            (0..9).filter(|slot| passed.give(party, Slot::new(*slot))).count()
        };
        assert_eq!([shown(&mut passed, one), shown(&mut passed, one)], [9, 2]);
        assert_eq!([shown(&mut passed, one), shown(&mut passed, other)], [0, 9]);
        passed.earn();
        assert_eq!([shown(&mut passed, one), shown(&mut passed, one)], [1, 0]);
        // What was not used does not add up.
        (0..9).for_each(|_| passed.earn());
        assert_eq!([shown(&mut passed, one), shown(&mut passed, one)], [2, 0]);
        assert!(passed.give(one, Slot::new(9)), "new slots at any time");
        assert_eq!(passed.notes_of(one), 1);
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
