//! Which keys of a state are there already.
use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};

use crate::proof::{KeyRange, StateKey};

/// Ranges without overlap, and none directly behind another: by the first key, the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Coverage(BTreeMap<StateKey, StateKey>);

impl Coverage {
    pub(crate) fn insert(&mut self, range: KeyRange) {
        let KeyRange { mut first, mut last } = range;
        if first > last {
            return;
        }
        let touching = self.0.iter().filter(|(other_first, other_last)| {
            let before = other_last.next().is_some_and(|behind| behind < first);
            let behind = last.next().is_some_and(|behind| behind < **other_first);
            !before && !behind
        });
        let touching: Vec<(StateKey, StateKey)> = touching.map(|(one, end)| (*one, *end)).collect();
        for (other_first, other_last) in touching {
            self.0.remove(&other_first);
            (first, last) = (first.min(other_first), last.max(other_last));
        }
        self.0.insert(first, last);
    }

    /// What is missing, in the order of the keys.
    pub(crate) fn gaps(&self) -> Vec<KeyRange> {
        let mut gaps = Vec::new();
        let mut next = Some(KeyRange::ALL.first);
        for (first, last) in &self.0 {
            if let (Some(start), Some(end)) = (next, first.previous())
                && start <= end
            {
                gaps.push(KeyRange { first: start, last: end });
            }
            next = last.next();
        }
        if let Some(first) = next {
            gaps.push(KeyRange { first, last: KeyRange::ALL.last });
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(first: u8, last: u8) -> StateKey {
        let mut bytes = [0; 32];
        (bytes[0], bytes[31]) = (first, last);
        StateKey::from_bytes(bytes)
    }

    fn range(first: StateKey, last: StateKey) -> KeyRange {
        KeyRange { first, last }
    }

    #[test]
    fn ranges_in_any_order_meet_without_gaps() {
        let mut covered = Coverage::default();
        assert_eq!(covered.gaps(), [KeyRange::ALL]);
        covered.insert(range(key(4, 0), key(7, 9)));
        covered.insert(range(key(1, 0), key(2, 0)));
        covered.insert(range(key(2, 1), key(3, 0)));
        assert_eq!(covered.0.len(), 2, "neighbours are one");
        let [low, middle, high] = [
            range(KeyRange::ALL.first, key(1, 0).previous().unwrap()),
            range(key(3, 1), key(4, 0).previous().unwrap()),
            range(key(7, 10), KeyRange::ALL.last),
        ];
        assert_eq!(covered.gaps(), [low, middle, high]);
        covered.insert(range(key(2, 0), key(200, 0)));
        assert_eq!(covered.gaps(), [low, range(key(200, 1), KeyRange::ALL.last)]);
        covered.insert(low);
        covered.insert(range(key(150, 0), KeyRange::ALL.last));
        assert_eq!(covered.gaps(), []);
        covered.insert(KeyRange::ALL);
        assert_eq!(covered.gaps(), []);
    }
}
