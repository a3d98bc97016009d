//! What a seat's links have brought and nobody has decoded yet.
//!
//! A real node has a task for each link: what one link brings is decoded in its order, what several bring at the
//! same time on several cores. So here: an envelope waits for those before it on its link, and for a lane.

use std::collections::{BTreeMap, VecDeque};

use crate::host::Seat;

/// An envelope that is to be decoded: its inputs, and how long that takes.
pub(crate) struct Reading<I> {
    pub(crate) inputs: Vec<I>,
    pub(crate) cost: u64,
}

struct Link<I> {
    waiting: VecDeque<Reading<I>>,
    /// Whether one of its envelopes is being decoded.
    busy: bool,
}

pub(crate) struct Readers<I> {
    links: BTreeMap<Seat, Link<I>>,
    /// Links that are not busy and have something, in the order in which it came.
    ready: VecDeque<Seat>,
}

impl<I> Readers<I> {
    pub(crate) const fn new() -> Self {
        Self { links: BTreeMap::new(), ready: VecDeque::new() }
    }

    /// Whether this link has nothing to decode, so that what costs nothing need not wait.
    pub(crate) fn is_idle(&self, from: Seat) -> bool {
        self.links.get(&from).is_none_or(|link| !link.busy && link.waiting.is_empty())
    }

    pub(crate) fn push(&mut self, from: Seat, reading: Reading<I>) {
        let link = Link { waiting: VecDeque::new(), busy: false };
        let link = self.links.entry(from).or_insert(link);
        if !link.busy && link.waiting.is_empty() {
            self.ready.push_back(from);
        }
        link.waiting.push_back(reading);
    }

    pub(crate) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The next envelope and its link, which is busy until [`done`](Self::done).
    pub(crate) fn next(&mut self) -> Option<(Seat, Reading<I>)> {
        let from = self.ready.pop_front()?;
        let link = self.links.get_mut(&from)?;
        let reading = link.waiting.pop_front()?;
        link.busy = true;
        Some((from, reading))
    }

    pub(crate) fn done(&mut self, from: Seat) {
        let Some(link) = self.links.get_mut(&from) else { return };
        link.busy = false;
        if !link.waiting.is_empty() {
            self.ready.push_back(from);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.links.clear();
        self.ready.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_read_in_order_and_several_at_once() {
        let mut readers = Readers::new();
        let (one, two) = (Seat::new(1), Seat::new(2));
        for (from, input) in [(one, 10), (one, 11), (two, 20)] {
            readers.push(from, Reading { inputs: vec![input], cost: 1 });
        }
        let mut next = || readers.next().map(|(from, reading)| (from, reading.inputs));
        assert_eq!((next(), next()), (Some((one, vec![10])), Some((two, vec![20]))));
        assert_eq!(next(), None, "its link is busy");
        assert!(!readers.is_idle(one) && !readers.is_idle(two));
        readers.done(two);
        assert!(readers.is_idle(two) && !readers.is_ready());
        readers.done(one);
        let next = readers.next().map(|(from, reading)| (from, reading.inputs));
        assert_eq!(next, Some((one, vec![11])));
    }
}
