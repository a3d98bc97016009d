//! The part that a user of the simulator writes: which machines run, what their outputs do, what work costs.

use std::fmt;
use std::time::Duration;

use prefinal_protocol::{Instant, Machine, Recipient};

use crate::time::{instant, nanos};

/// The place where one machine runs. Mostly seat `i` is party `i` of a committee. A twin (two machines
/// with one key) takes two seats, and an observer without a key takes one.
///
/// ```compile_fail,E0277
/// let seat: prefinal_sim::Seat = 3_u32.into();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat(u32);

impl Seat {
    /// The seat of this number; the first is 0.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The seat's number, from zero.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Its number as an index into a list with one entry per seat.
    #[must_use]
    pub fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seat {}", self.0)
    }
}

/// The input type of a host's machines.
pub type InputOf<H> = <<H as Host>::Machine as Machine>::Input;

/// The records of a host's machines.
pub type RecordOf<H> = <<H as Host>::Machine as Machine>::Record;

/// The effects of a host's machines.
pub type EffectOf<H> = <<H as Host>::Machine as Machine>::Effect;

/// The user's part of a simulation.
///
/// One host serves all seats, so it can also remember results: a job that 129 seats run on equal data
/// is computed once and charged 129 times. The results of a host must depend only on its arguments and
/// on earlier calls, or the run cannot be replayed.
pub trait Host {
    /// The machine in a seat. For honest and Byzantine machines of different code, use an enum.
    type Machine: Machine;
    /// The messages. They are cloned when a step mixes broadcasts with direct messages, and when a rule
    /// looks at them. So a large one should be cheap to clone (an `Arc`).
    type Message: Clone;
    /// The work that leaves a machine.
    type Job;
    /// The result of a job.
    type Verdict;
    /// The events that checkers and statistics read.
    type Event;

    /// Makes the machine of a seat, at the first start and after every crash. `records` is the content
    /// of its disk, oldest first.
    fn boot(&mut self, seat: Seat, records: &[RecordOf<Self>]) -> Self::Machine;

    /// The first input after `boot`, if the machine wants one.
    fn first_input(&mut self, _seat: Seat) -> Option<InputOf<Self>> {
        None
    }

    /// Called when a message arrives at a seat that is up, before [`received`](Self::received). For
    /// hosts that measure links, and for checkers that must know what a seat has received: the event is noted.
    fn arrives(
        &mut self,
        _now: Instant,
        _at: Seat,
        _from: Seat,
        _message: &Self::Message,
    ) -> Option<Self::Event> {
        None
    }

    /// The length of a message on the wire, in bytes: encoded, with what frames and encryption add. It is asked
    /// for once for all recipients, and only where links have limits. By default messages take no room.
    fn encoded_len(&mut self, _message: &Self::Message) -> u64 {
        0
    }

    /// Its place in the queue of its connection: lower ones leave first, equal ones in the order in which they were
    /// sent. What one step sends travels in one envelope for each rank, and a piece that is leaving is not called back.
    /// It is asked for only where links have limits. By default all are equal.
    fn rank(&mut self, _message: &Self::Message) -> u64 {
        0
    }

    /// The input for a message that arrived at seat `at`.
    fn received(&mut self, at: Seat, from: Seat, message: &Self::Message) -> InputOf<Self>;

    /// The input for a job that ended at seat `at`.
    fn checked(&mut self, at: Seat, verdict: Self::Verdict) -> InputOf<Self>;

    /// The input for a deadline that passed at seat `at`.
    fn tick(&mut self, at: Seat) -> InputOf<Self>;

    /// The cost of decoding a message, on any lane: the messages of one link one after the other, those of
    /// several links at once. By default decoding is part of [`input_cost`](Self::input_cost).
    fn decoding_cost(&mut self, _at: Seat, _message: &Self::Message) -> Duration {
        Duration::ZERO
    }

    /// The cost of taking this input on lane 0: decoding, hashing, looking up.
    fn input_cost(&mut self, _seat: Seat, _input: &InputOf<Self>) -> Duration {
        Duration::ZERO
    }

    /// Called before a record is written to the seat's disk. Charges the cost and notes it for
    /// checkers. After a crash behind it, both have happened.
    fn writes(&mut self, _record: &RecordOf<Self>, _step: &mut Step<'_, Self>) {}

    /// Carries out one effect on `step`, in any number of parts or none.
    fn carry_out(&mut self, effect: EffectOf<Self>, step: &mut Step<'_, Self>);

    /// Does a job, at once in real time, and returns how long it takes in virtual time.
    fn run(&mut self, seat: Seat, job: Self::Job) -> (Self::Verdict, Duration);
}

/// One effect of a step, with the time from which it counts if the step is cut short.
pub(crate) struct Timed<H: Host + ?Sized> {
    pub(crate) at: u64,
    pub(crate) effect: Effect<H>,
}

pub(crate) enum Effect<H: Host + ?Sized> {
    Persist(RecordOf<H>),
    Send(Recipient<Seat>, H::Message),
    Run(H::Job),
    Note(H::Event),
}

/// One `handle` and its outputs, in order.
pub struct Step<'a, H: Host + ?Sized> {
    seat: Seat,
    start: u64,
    spent: u64,
    effects: &'a mut Vec<Timed<H>>,
}

impl<'a, H: Host + ?Sized> Step<'a, H> {
    pub(crate) const fn begin(seat: Seat, start: u64, effects: &'a mut Vec<Timed<H>>) -> Self {
        Self { seat, start, spent: 0, effects }
    }

    pub(crate) const fn spent(&self) -> u64 {
        self.spent
    }

    /// The seat whose step it is.
    #[must_use]
    pub const fn seat(&self) -> Seat {
        self.seat
    }

    /// The time from which further effects count: the start of the step plus what was spent since.
    #[must_use]
    pub const fn now(&self) -> Instant {
        instant(self.start.saturating_add(self.spent))
    }

    /// Occupies lane 0 for this time, before the effects that follow.
    pub fn spend(&mut self, cost: Duration) {
        self.spent = self.spent.saturating_add(nanos(cost));
    }

    /// Writes a record to the seat's disk. From then on a crash cannot lose it.
    pub(crate) fn persist(&mut self, record: RecordOf<H>) {
        self.push(Effect::Persist(record));
    }

    /// Sends a message. A message to all goes to every seat but the sender. A message to the sender
    /// itself is allowed and has no delay. Messages leave when the step ends, together.
    pub fn send(&mut self, to: Recipient<Seat>, message: H::Message) {
        self.push(Effect::Send(to, message));
    }

    /// Queues a job for a free lane.
    pub fn run(&mut self, job: H::Job) {
        self.push(Effect::Run(job));
    }

    /// Notes an event for the checkers.
    pub fn note(&mut self, event: H::Event) {
        self.push(Effect::Note(event));
    }

    fn push(&mut self, effect: Effect<H>) {
        self.effects.push(Timed { at: self.start.saturating_add(self.spent), effect });
    }
}
