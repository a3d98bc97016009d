//! What happens next where a test moves machines itself, one event at a time.
//!
//! For tests that reach into machines between two events; a run from beginning to end is a
//! [`Simulation`](crate::Simulation). The rules are the same: an event at an earlier time comes first, two
//! events of one time in the order in which they were planned, and a machine is woken when all that was
//! planned for that time has happened.

use protocol::{Instant, Party, Recipient};

use crate::schedule::Schedule;
use crate::time::{instant, since_start};

/// A clock, and events that were planned.
#[derive(Debug)]
pub struct Agenda<E> {
    now: Instant,
    schedule: Schedule<E>,
}

/// What happens next: a planned event, or a machine's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<E, K> {
    /// An event that was planned.
    Event(E),
    /// This machine wants to be woken.
    Wake(K),
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Agenda<E> {
    /// Nothing is planned, and it is the start.
    #[must_use]
    pub const fn new() -> Self {
        Self { now: Instant::START, schedule: Schedule::new() }
    }

    /// The time of the last event, or a later one that [`advance_to`](Self::advance_to) has set.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Sets the clock to a later time; what was planned before it happens late.
    pub fn advance_to(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// Something will happen at this time.
    pub fn plan(&mut self, at: Instant, event: E) {
        self.schedule.push(since_start(at), event);
    }

    /// What happens next, and its time becomes the present; `None` if that is after `until`. `wakes` are
    /// the machines that want to be woken, and when; of several at one time the first.
    pub fn next<K: Ord>(
        &mut self,
        wakes: impl IntoIterator<Item = (Instant, K)>,
        until: Instant,
    ) -> Option<Next<E, K>> {
        let wake = wakes.into_iter().map(|(at, who)| (at.max(self.now), who)).min();
        let before = wake.as_ref().map_or(until, |(at, _)| until.min(*at));
        if let Some((at, event)) = self.schedule.pop_until(since_start(before)) {
            self.advance_to(instant(at));
            return Some(Next::Event(event));
        }
        let (at, who) = wake.filter(|(at, _)| *at <= until)?;
        self.advance_to(at);
        Some(Next::Wake(who))
    }
}

/// Whom a message is for, in a committee of so many.
pub fn addressees(
    to: Recipient<Party>,
    from: Party,
    members: u32,
) -> impl Iterator<Item = Party> + use<> {
    let meant = move |party: &Party| match to {
        Recipient::All => *party != from,
        Recipient::One(one) => *party == one,
    };
    (0..members).map(Party::new).filter(meant)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const fn ms(count: u64) -> Instant {
        Instant::at(Duration::from_millis(count))
    }

    #[test]
    fn events_come_before_wakings_of_their_time_and_late_ones_at_once() {
        let mut agenda = Agenda::new();
        agenda.plan(ms(5), 'b');
        agenda.plan(ms(3), 'a');
        agenda.plan(ms(5), 'c');
        let wakes = [(ms(5), 2), (ms(5), 1)];
        let never = std::iter::empty::<(Instant, u32)>;
        assert_eq!(agenda.next(wakes, ms(2)), None);
        let mut next = || agenda.next(wakes, ms(9));
        assert_eq!([next(), next(), next()], ['a', 'b', 'c'].map(|event| Some(Next::Event(event))));
        assert_eq!(next(), Some(Next::Wake(1)));
        assert_eq!(agenda.now(), ms(5));
        agenda.advance_to(ms(7));
        agenda.plan(ms(6), 'd');
        assert_eq!(agenda.next(never(), ms(7)), Some(Next::Event('d')));
        assert_eq!((agenda.now(), agenda.next(never(), ms(9))), (ms(7), None));
        assert_eq!(agenda.next([(ms(1), 3)], ms(7)), Some(Next::Wake(3)));
    }

    #[test]
    fn everybody_is_everybody_but_the_sender() {
        let two = Party::new(2);
        let all: Vec<u32> = addressees(Recipient::All, two, 4).map(Party::get).collect();
        assert_eq!(all, [0, 1, 3]);
        assert_eq!(addressees(Recipient::One(two), two, 4).count(), 1);
        assert_eq!(addressees(Recipient::One(Party::new(4)), two, 4).count(), 0);
    }
}
