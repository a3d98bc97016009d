//! The next events: a heap ordered by time, then by the order of scheduling.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The events that will happen.
#[derive(Debug)]
pub(crate) struct Schedule<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
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
        Self { heap: BinaryHeap::new(), scheduled: 0 }
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
        self.heap.push(Reverse(Entry { at, order, event }));
    }

    /// The next event, unless it lies after `until`.
    pub(crate) fn pop_until(&mut self, until: u64) -> Option<(u64, E)> {
        if self.heap.peek().is_none_or(|Reverse(next)| next.at > until) {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
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
}
