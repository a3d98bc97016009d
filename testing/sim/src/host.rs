//! What a user of the simulator writes: which machines run, what their outputs do, what work costs.

use std::fmt;
use std::time::Duration;

use protocol::{Instant, Machine, Recipient};

use crate::time::{instant, nanos};

/// Where one machine runs. Mostly seat `i` is party `i` of a committee, but a twin, two machines
/// with one key, takes two seats, and an observer without a key takes one.
///
/// ```compile_fail,E0277
/// let seat: sim::Seat = 3_u32.into();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat(u32);

impl Seat {
    /// The seat of this number; the first is 0.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
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

/// The driver's part that the simulator cannot know.
///
/// One host serves all seats, so it is also the place for a memo: a job that 129 seats run on equal
/// data is computed once and charged 129 times. What a host returns must depend on its arguments
/// and on earlier calls alone, else the run cannot be replayed.
pub trait Host {
    /// What runs in a seat. Honest and Byzantine machines of different code are an enum here.
    type Machine: Machine;
    /// What travels. Cloned when a step mixes broadcasts with direct messages and when a rule looks
    /// at them, so make it cheap to clone (an `Arc`) if it is large.
    type Message: Clone;
    /// Work that leaves the machine.
    type Job;
    /// What a job returns with.
    type Verdict;
    /// What checkers and statistics read.
    type Event;

    /// A machine for this seat, at the first start and after every crash. `records` is what its
    /// disk holds, oldest first.
    fn boot(&mut self, seat: Seat, records: &[RecordOf<Self>]) -> Self::Machine;

    /// The first input after `boot`, if the machine wants one.
    fn first_input(&mut self, _seat: Seat) -> Option<InputOf<Self>> {
        None
    }

    /// A message arrives at a seat that is up. For hosts that measure links; before
    /// [`received`](Self::received).
    fn arrives(&mut self, _now: Instant, _at: Seat, _from: Seat, _message: &Self::Message) {}

    /// The input for a message that arrived at seat `at`.
    fn received(&mut self, at: Seat, from: Seat, message: &Self::Message) -> InputOf<Self>;

    /// The input for a job that ended at seat `at`.
    fn checked(&mut self, at: Seat, verdict: Self::Verdict) -> InputOf<Self>;

    /// The input for a deadline that passed at seat `at`.
    fn tick(&mut self, at: Seat) -> InputOf<Self>;

    /// What taking this input costs on lane 0: decoding, hashing, looking up.
    fn input_cost(&mut self, _seat: Seat, _input: &InputOf<Self>) -> Duration {
        Duration::ZERO
    }

    /// A record is about to be written to the seat's disk: what that costs, and what checkers are told.
    /// A crash behind it finds both done.
    fn writes(&mut self, _record: &RecordOf<Self>, _step: &mut Step<'_, Self>) {}

    /// Carries one effect out on `step`, in any number of parts, also none.
    fn carry_out(&mut self, effect: EffectOf<Self>, step: &mut Step<'_, Self>);

    /// Does a job, at once in real time, and says how long it takes in virtual time.
    fn run(&mut self, seat: Seat, job: Self::Job) -> (Self::Verdict, Duration);
}

/// One effect of a step and when it counts if the step is cut short.
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

/// One `handle` and what follows from it, in order.
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

    /// Whose step it is.
    #[must_use]
    pub const fn seat(&self) -> Seat {
        self.seat
    }

    /// When the effects from here on count: the start of the step plus what was spent since.
    #[must_use]
    pub const fn now(&self) -> Instant {
        instant(self.start.saturating_add(self.spent))
    }

    /// Occupies lane 0 for so long, before the effects that follow.
    pub fn spend(&mut self, cost: Duration) {
        self.spent = self.spent.saturating_add(nanos(cost));
    }

    /// Writes a record to the seat's disk; from here on a crash cannot lose it.
    pub(crate) fn persist(&mut self, record: RecordOf<H>) {
        self.push(Effect::Persist(record));
    }

    /// Sends a message; to everybody is to every seat but the sender, and to the sender itself is legal
    /// and costs no delay. It leaves when the step ends, together with the step's other messages.
    pub fn send(&mut self, to: Recipient<Seat>, message: H::Message) {
        self.push(Effect::Send(to, message));
    }

    /// Queues a job for a free lane.
    pub fn run(&mut self, job: H::Job) {
        self.push(Effect::Run(job));
    }

    /// Tells the checkers.
    pub fn note(&mut self, event: H::Event) {
        self.push(Effect::Note(event));
    }

    fn push(&mut self, effect: Effect<H>) {
        self.effects.push(Timed { at: self.start.saturating_add(self.spent), effect });
    }
}
