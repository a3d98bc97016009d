//! The next events, ordered by time, then by the order of scheduling.
//!
//! Large runs have millions of events ahead. Those of the next moment are in a heap, which stays small; the later ones
//! are only put aside by their moment.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

/// A moment is so many nanoseconds, as a power of two: 65 µs.
const MOMENT: u32 = 16;

/// The events that will happen.
#[derive(Debug)]
pub(crate) struct Schedule<E> {
    /// What happens up to this moment is in the heap.
    moment: u64,
    heap: BinaryHeap<Reverse<Entry<E>>>,
    later: BTreeMap<u64, Vec<Reverse<Entry<E>>>>,
    scheduled: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: u64,
    order: u64,
    event: E,
}

impl<E> Schedule<E> {
    pub(crate) const fn new() -> Self {
        Self { moment: 0, heap: BinaryHeap::new(), later: BTreeMap::new(), scheduled: 0 }
    }

    pub(crate) fn push(&mut self, at: u64, event: E) {
        let order = self.take_order();
        self.push_in_order(at, order, event);
    }

    /// The place of an event among those of its time. The event follows with
    /// [`push_in_order`](Self::push_in_order).
    pub(crate) const fn take_order(&mut self) -> u64 {
        let order = self.scheduled;
        self.scheduled += 1;
        order
    }

    /// Schedules an event whose place was taken before.
    pub(crate) fn push_in_order(&mut self, at: u64, order: u64, event: E) {
        let entry = Reverse(Entry { at, order, event });
        let moment = at >> MOMENT;
        if moment <= self.moment {
            self.heap.push(entry);
        } else {
            self.later.entry(moment).or_default().push(entry);
        }
    }

    /// The next event, unless it lies after `until`.
    pub(crate) fn pop_until(&mut self, until: u64) -> Option<(u64, E)> {
        if self.heap.is_empty() {
            let (moment, entries) = self.later.pop_first()?;
            self.moment = moment;
            self.heap = entries.into();
        }
        if self.heap.peek().is_none_or(|Reverse(next)| next.at > until) {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty() && self.later.is_empty()
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_decides_then_the_order_of_scheduling() {
        let mut schedule = Schedule::new();
        for (at, name) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b'), (9, 'e')] {
            schedule.push(at, name);
        }
        let early: String =
            std::iter::from_fn(|| schedule.pop_until(5)).map(|(_, name)| name).collect();
        assert_eq!(early, "abcd");
        assert!(!schedule.is_empty());
        assert_eq!(schedule.pop_until(u64::MAX), Some((9, 'e')));
        assert!(schedule.is_empty());
    }

    #[test]
    fn what_comes_late_is_not_late() {
        let mut schedule = Schedule::new();
        let moment = 1 << MOMENT;
        schedule.push(5 * moment, 'e');
        schedule.push(5 * moment, 'f');
        schedule.push(3 * moment + 7, 'b');
        // The heap has the third moment by now, and an earlier event is put in front of it.
        assert_eq!(schedule.pop_until(moment), None);
        schedule.push(2 * moment, 'a');
        schedule.push(3 * moment + 9, 'c');
        schedule.push(4 * moment, 'd');
        let all: String =
            std::iter::from_fn(|| schedule.pop_until(u64::MAX)).map(|(_, name)| name).collect();
        assert_eq!(all, "abcdef");
    }
}
