//! A table: machines that a test moves itself, one event at a time.
//!
//! It is for tests that reach into machines between two events. For a run from beginning to end, use
//! [`Simulation`](crate::Simulation). The rules are the same. An event at an earlier time comes first,
//! and two events of one time come in the order in which they were planned. A machine is woken when
//! everything planned for that time has happened. The test carries out the machines' outputs itself.
use std::collections::BTreeMap;

use prefinal_protocol::{Instant, Machine, Output, Party, Recipient};

use crate::schedule::Schedule;
use crate::time::{instant, since_start};

/// Machines with a common clock, and the inputs on their way to them.
#[derive(Debug)]
pub struct Table<M: Machine> {
    now: Instant,
    schedule: Schedule<(Party, M::Input)>,
    machines: BTreeMap<Party, M>,
    tick: fn() -> M::Input,
}

impl<M: Machine> Table<M> {
    /// An empty table at the start of time. `tick` makes the input of a machine that is woken.
    #[must_use]
    pub const fn new(tick: fn() -> M::Input) -> Self {
        Self { now: Instant::START, schedule: Schedule::new(), machines: BTreeMap::new(), tick }
    }

    /// Gives a party this machine, in place of the one that it had.
    pub fn seat(&mut self, party: Party, machine: M) {
        self.machines.insert(party, machine);
    }

    /// Removes a party's machine. Inputs that arrive for it are dropped.
    pub fn clear(&mut self, party: Party) {
        self.machines.remove(&party);
    }

    /// A party's machine, if it has one.
    #[must_use]
    pub fn machine(&self, party: Party) -> Option<&M> {
        self.machines.get(&party)
    }

    /// A party's machine, to be changed.
    pub fn machine_mut(&mut self, party: Party) -> Option<&mut M> {
        self.machines.get_mut(&party)
    }

    /// The time of the last event, or a later one that [`advance_to`](Self::advance_to) has set.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Sets the clock to a later time. Events planned before it happen late.
    pub fn advance_to(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// Plans an input that reaches a party at this time.
    pub fn plan(&mut self, at: Instant, party: Party, input: M::Input) {
        self.schedule.push(since_start(at), (party, input));
    }

    /// The next event, to be [handled](Self::handle). The clock moves to its time. `None` if that is
    /// after `until`. If several machines are woken at one time, the one of the lowest party comes first.
    pub fn next(&mut self, until: Instant) -> Option<(Party, M::Input)> {
        let wakes = self.machines.iter();
        let wakes = wakes.filter_map(|(party, one)| Some((one.wake_at()?.max(self.now), *party)));
        let wake = wakes.min();
        let before = wake.map_or(until, |(at, _)| until.min(at));
        if let Some((at, event)) = self.schedule.pop_until(since_start(before)) {
            self.advance_to(instant(at));
            return Some(event);
        }
        let (at, party) = wake.filter(|(at, _)| *at <= until)?;
        self.advance_to(at);
        Some((party, (self.tick)()))
    }

    /// Gives an input to a party's machine, if it has one.
    pub fn handle(&mut self, party: Party, input: M::Input) {
        if let Some(machine) = self.machines.get_mut(&party) {
            machine.handle(self.now, input);
        }
    }

    /// The next output of a party's machine.
    pub fn poll(&mut self, party: Party) -> Option<Output<M::Record, M::Effect>> {
        self.machines.get_mut(&party)?.poll()
    }
}

/// The parties that a message is for, in a committee of this size.
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
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Says what it heard, and wants to be woken at a time.
    #[derive(Default)]
    struct Parrot {
        wake: Option<Instant>,
        heard: Vec<char>,
    }

    impl Machine for Parrot {
        type Input = char;
        type Record = ();
        type Effect = char;

        fn handle(&mut self, _: Instant, input: char) {
            self.heard.push(input);
            self.wake = None;
        }

        fn poll(&mut self) -> Option<Output<(), char>> {
            self.heard.pop().map(Output::Do)
        }

        fn wake_at(&self) -> Option<Instant> {
            self.wake
        }
    }

    const fn ms(count: u64) -> Instant {
        Instant::at(Duration::from_millis(count))
    }

    #[test]
    fn events_come_before_wakings_of_their_time_and_late_ones_at_once() {
        let [one, two] = [1, 2].map(Party::new);
        let mut table = Table::<Parrot>::new(|| 't');
        for party in [two, one] {
            table.seat(party, Parrot { wake: Some(ms(5)), heard: Vec::new() });
        }
        table.plan(ms(5), two, 'b');
        table.plan(ms(3), one, 'a');
        table.plan(ms(5), one, 'c');
        assert_eq!(table.next(ms(2)), None);
        let mut next = || table.next(ms(9));
        assert_eq!([next(), next(), next()], [(one, 'a'), (two, 'b'), (one, 'c')].map(Some));
        assert_eq!(next(), Some((one, 't')));
        table.handle(one, 't');
        assert_eq!(table.poll(one), Some(Output::Do('t')));
        assert_eq!((table.now(), table.next(ms(9))), (ms(5), Some((two, 't'))));
        table.clear(two);
        table.advance_to(ms(7));
        table.plan(ms(6), two, 'd');
        assert_eq!((table.next(ms(7)), table.now()), (Some((two, 'd')), ms(7)));
        table.handle(two, 'd');
        assert_eq!((table.poll(two), table.machine(two).is_none()), (None, true));
        table.machine_mut(one).unwrap().wake = Some(ms(1));
        assert_eq!(table.next(ms(7)), Some((one, 't')));
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
