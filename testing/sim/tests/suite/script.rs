//! A machine that does what its input says: for tests of the simulator itself.

use std::collections::VecDeque;
use std::time::Duration;

use prefinal_protocol::{Instant, Machine, Output, Recipient};
use prefinal_sim::{Host, Network, Seat, Setup, Simulation, Step};

/// One thing to do, in milliseconds where it takes time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Spend(u64),
    Persist(u32),
    Send(Recipient<Seat>, u32),
    /// A job of this length; its verdict is the length.
    Job(u64),
    Note(u32),
    /// From now on the machine wants to be woken then, or never.
    Wake(Option<u64>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Booted(Vec<u32>),
    Got(Seat, u32),
    Done(u64),
    Said(u32),
    Woke,
}

#[derive(Clone, Debug)]
pub(crate) enum Input {
    Acts(Vec<Act>),
    Event(Event),
    Tick,
}

#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Act(Act),
    Event(Event),
}

#[derive(Debug, Default)]
pub(crate) struct Script {
    outputs: VecDeque<Output<u32, Effect>>,
    wake: Option<Instant>,
    /// Never forgets its wish, as a broken machine would.
    pub(crate) stubborn: bool,
}

impl Machine for Script {
    type Input = Input;
    type Record = u32;
    type Effect = Effect;

    fn handle(&mut self, _: Instant, input: Input) {
        match input {
            Input::Event(event) => self.outputs.push_back(Output::Do(Effect::Event(event))),
            Input::Tick => {
                if !self.stubborn {
                    self.wake = None;
                }
                self.outputs.push_back(Output::Do(Effect::Event(Event::Woke)));
            }
            Input::Acts(acts) => {
                for act in acts {
                    match act {
                        Act::Wake(at) => self.wake = at.map(ms),
                        Act::Persist(record) => self.outputs.push_back(Output::Keep(record)),
                        act => self.outputs.push_back(Output::Do(Effect::Act(act))),
                    }
                }
            }
        }
    }

    fn poll(&mut self) -> Option<Output<u32, Effect>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        self.wake
    }
}

/// Hosts scripts; every received message costs this much to take, and this much for each unit of its number to
/// decode.
#[derive(Debug, Default)]
pub(crate) struct Stage {
    pub(crate) decoding_cost: Duration,
    pub(crate) input_cost: Duration,
    pub(crate) stubborn: bool,
    pub(crate) note_boots: bool,
    /// Bytes in a message, for each unit of its number.
    pub(crate) unit: u64,
    /// Whether smaller messages leave before larger ones.
    pub(crate) ranked: bool,
}

impl Host for Stage {
    type Machine = Script;
    type Message = u32;
    type Job = u64;
    type Verdict = u64;
    type Event = Event;

    fn boot(&mut self, _: Seat, records: &[u32]) -> Script {
        let booted =
            self.note_boots.then(|| Output::Do(Effect::Event(Event::Booted(records.to_vec()))));
        Script { outputs: booted.into_iter().collect(), wake: None, stubborn: self.stubborn }
    }

    fn first_input(&mut self, _: Seat) -> Option<Input> {
        self.note_boots.then(|| Input::Acts(Vec::new()))
    }

    fn encoded_len(&mut self, message: &u32) -> u64 {
        self.unit * u64::from(*message)
    }

    fn rank(&mut self, message: &u32) -> u64 {
        if self.ranked { u64::from(*message) } else { 0 }
    }

    fn received(&mut self, _: Seat, from: Seat, message: &u32) -> Input {
        Input::Event(Event::Got(from, *message))
    }

    fn checked(&mut self, _: Seat, verdict: u64) -> Input {
        Input::Event(Event::Done(verdict))
    }

    fn tick(&mut self, _: Seat) -> Input {
        Input::Tick
    }

    fn decoding_cost(&mut self, _: Seat, message: &u32) -> Duration {
        self.decoding_cost * *message
    }

    fn input_cost(&mut self, _: Seat, input: &Input) -> Duration {
        match input {
            Input::Event(Event::Got(..)) => self.input_cost,
            _ => Duration::ZERO,
        }
    }

    fn carry_out(&mut self, effect: Effect, step: &mut Step<'_, Self>) {
        match effect {
            Effect::Event(event) => step.note(event),
            Effect::Act(Act::Spend(cost)) => step.spend(Duration::from_millis(cost)),
            Effect::Act(Act::Send(to, message)) => step.send(to, message),
            Effect::Act(Act::Job(length)) => step.run(length),
            Effect::Act(Act::Note(said)) => step.note(Event::Said(said)),
            Effect::Act(Act::Persist(_) | Act::Wake(_)) => {}
        }
    }

    fn run(&mut self, _: Seat, length: u64) -> (u64, Duration) {
        (length, Duration::from_millis(length))
    }
}

pub(crate) const A: Seat = Seat::new(0);
pub(crate) const B: Seat = Seat::new(1);
pub(crate) const C: Seat = Seat::new(2);
pub(crate) const FOREVER: Instant = Instant::at(Duration::MAX);

pub(crate) const fn ms(count: u64) -> Instant {
    Instant::at(Duration::from_millis(count))
}

/// Links of exactly 10 ms.
pub(crate) fn setup(seats: u32) -> Setup {
    Setup::new(seats, 1, Network::constant(Duration::from_millis(10)))
}

/// What was noted, as (millisecond, seat, event).
pub(crate) fn seen(simulation: &Simulation<Stage>) -> Vec<(u128, u32, Event)> {
    let line = |note: &prefinal_sim::Note<Event>| {
        (note.at.since_start().as_millis(), note.seat.get(), note.event.clone())
    };
    simulation.notes().iter().map(line).collect()
}
