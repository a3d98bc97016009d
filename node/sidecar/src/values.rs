//! The last values, for readers that each go at their own pace.
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;

use prefinal_protocol::Slot;

use crate::error::CallError;
use crate::proto::{Key, NoValue, Revealed, ValuesResponse, values_response::Outcome};

/// How many keys are kept: one for each epoch.
const KEYS: usize = 16;

/// A bounded sequence of slots, in order. Readers remember only where they are, so that a slow one costs
/// nothing.
pub(crate) struct Values {
    kept: VecDeque<ValuesResponse>,
    most: usize,
    /// The first slot that is kept or still to come; `None` if it is not known yet.
    begins: Option<u64>,
    /// The first slot that came since the start.
    came_first: Option<u64>,
    /// The first slot of the chain that has a value. The slots before it have none, so nobody misses them.
    first_value: Option<u64>,
    /// Keys by the first slot with a value.
    keys: BTreeMap<u64, Key>,
}

impl Values {
    /// `head` is the first slot without a value; slot 0 if there is no key yet.
    pub(crate) fn new(most: NonZeroUsize, head: Slot) -> Self {
        let begins = Some(head.get()).filter(|head| *head > 0);
        Self {
            kept: VecDeque::new(),
            most: most.get(),
            begins,
            came_first: None,
            first_value: None,
            keys: BTreeMap::new(),
        }
    }

    /// The keys of an epoch are known. `is_first` says that it is the chain's first epoch.
    pub(crate) fn key(&mut self, key: Key, is_first: bool) {
        if is_first {
            self.first_value = Some(key.first_slot);
        }
        self.keys.insert(key.first_slot, key);
        while self.keys.len() > KEYS {
            self.keys.pop_first();
        }
    }

    /// Adds the next slot with its value. A slot that is there already is not added twice.
    pub(crate) fn reveal(&mut self, slot: Slot, revealed: Revealed) {
        let key = self.keys.range(..=slot.get()).next_back().map(|(_, key)| key.clone());
        self.push(slot, Outcome::Revealed(Revealed { key, ..revealed }));
    }

    /// Adds the next slot, which has no value.
    pub(crate) fn skip(&mut self, slot: Slot) {
        self.push(slot, Outcome::NoValue(NoValue {}));
    }

    fn push(&mut self, slot: Slot, outcome: Outcome) {
        let slot = slot.get();
        if self.kept.back().is_some_and(|last| slot <= last.slot) {
            return;
        }
        self.came_first.get_or_insert(slot);
        self.kept.push_back(ValuesResponse { slot, outcome: Some(outcome) });
        if self.kept.len() > self.most {
            self.kept.pop_front();
        }
        self.begins = self.kept.front().map(|first| first.slot);
    }

    /// The slot after the last known one.
    pub(crate) fn end(&self) -> u64 {
        self.kept.back().map_or(0, |last| last.slot.saturating_add(1)).max(self.begins.unwrap_or(0))
    }

    /// The first slot that came since the start, though it may not be kept any more; `None` if none came.
    pub(crate) const fn came_first(&self) -> Option<u64> {
        self.came_first
    }

    /// The first slot that can be sent; `None` if none is known.
    pub(crate) fn first(&self) -> Option<u64> {
        self.kept.front().map(|first| first.slot)
    }

    /// The first known slot from this one on; `None` if it is not known yet.
    pub(crate) fn next(&self, from: u64) -> Result<Option<&ValuesResponse>, CallError> {
        let is_missed = |begins: u64| {
            from < begins && self.first_value.is_none_or(|first_value| begins > first_value)
        };
        if let Some(first) = self.begins.filter(|begins| is_missed(*begins)) {
            let (slot, first) = (Slot::new(from), Slot::new(first));
            return Err(CallError::Forgotten { slot, first });
        }
        Ok(self.kept.get(self.kept.partition_point(|one| one.slot < from)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn values(head: u64) -> Values {
        Values::new(NonZeroUsize::new(3).unwrap(), Slot::new(head))
    }

    fn next(values: &Values, from: u64) -> Result<Option<u64>, CallError> {
        values.next(from).map(|one| one.map(|one| one.slot))
    }

    fn fill(values: &mut Values, slots: impl IntoIterator<Item = u64>) {
        slots.into_iter().for_each(|slot| values.skip(Slot::new(slot)));
    }

    fn forgotten(slot: u64, first: u64) -> Result<Option<u64>, CallError> {
        Err(CallError::Forgotten { slot: Slot::new(slot), first: Slot::new(first) })
    }

    #[test]
    fn slots_before_the_first_value_are_missed_by_nobody() {
        let mut values = values(0);
        assert_eq!(next(&values, 0), Ok(None));
        values.key(Key { epoch: 0, first_slot: 7, public_key: Vec::new() }, true);
        fill(&mut values, 7..9);
        assert_eq!((next(&values, 0), next(&values, 7)), (Ok(Some(7)), Ok(Some(7))));
        assert_eq!((next(&values, 8), next(&values, 9)), (Ok(Some(8)), Ok(None)));
        fill(&mut values, 9..11);
        assert_eq!(next(&values, 7), forgotten(7, 8));
        assert_eq!(next(&values, 0), forgotten(0, 8));
        assert_eq!(next(&values, 8), Ok(Some(8)));
    }

    /// The first key of a later epoch says nothing about the slots before.
    #[test]
    fn what_was_before_a_restart_is_missed() {
        let mut one = values(20);
        assert_eq!((next(&one, 19), next(&one, 20)), (forgotten(19, 20), Ok(None)));
        one.key(Key { epoch: 1, first_slot: 30, public_key: Vec::new() }, false);
        assert_eq!(next(&one, 19), forgotten(19, 20));
        // Before the keys are known again, it comes out with the first value.
        let mut one = values(0);
        one.key(Key { epoch: 0, first_slot: 7, public_key: Vec::new() }, true);
        assert_eq!(next(&one, 8), Ok(None));
        fill(&mut one, [20]);
        assert_eq!((next(&one, 8), next(&one, 20)), (forgotten(8, 20), Ok(Some(20))));
    }

    #[test]
    fn a_slot_is_there_once_and_keeps_its_key() {
        let mut values = values(0);
        for (epoch, first_slot) in [(0, 5), (1, 7)] {
            values.key(Key { epoch, first_slot, public_key: vec![1] }, epoch == 0);
        }
        for (slot, byte) in [(6, 1), (7, 2), (7, 3), (6, 4)] {
            let randomness = vec![byte];
            values.reveal(Slot::new(slot), Revealed { randomness, ..Revealed::default() });
        }
        let kept: Vec<_> = values
            .kept
            .iter()
            .map(|one| match &one.outcome {
                Some(Outcome::Revealed(it)) => {
                    (one.slot, it.randomness[0], it.key.as_ref().unwrap().epoch)
                }
                _ => unreachable!("only values were added"),
            })
            .collect();
        assert_eq!(kept, [(6, 1, 0), (7, 2, 1)]);
        assert_eq!(values.end(), 8);
    }
}
