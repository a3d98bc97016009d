//! The words that every protocol shares, and the interface of a protocol.
//!
//! A machine that promises one value for each slot, and a driver that carries its outputs out:
//! ```
//! use prefinal_protocol::{Instant, Machine, Output, OutputOf, Slot, Value};
//!
//! #[derive(Default)]
//! struct Promises {
//!     made: std::collections::BTreeMap<Slot, Value>,
//!     outputs: std::collections::VecDeque<OutputOf<Self>>,
//! }
//!
//! impl Machine for Promises {
//!     type Input = (Slot, Value);
//!     type Record = (Slot, Value); // found again after a crash
//!     type Effect = Value; // sent to everybody
//!
//!     fn handle(&mut self, _: Instant, (slot, value): (Slot, Value)) {
//!         if *self.made.entry(slot).or_insert(value) == value {
//!             self.outputs.extend([Output::Keep((slot, value)), Output::Do(value)]);
//!         }
//!     }
//!     fn poll(&mut self) -> Option<OutputOf<Self>> {
//!         self.outputs.pop_front()
//!     }
//!     fn wake_at(&self) -> Option<Instant> {
//!         None
//!     }
//! }
//!
//! let (mut machine, mut disk, mut sent) = (Promises::default(), Vec::new(), Vec::new());
//! let [first, second] = [1, 2].map(|byte| Value::new([byte; 32]));
//! for value in [first, second] {
//!     machine.handle(Instant::START, (Slot::new(7), value));
//!     while let Some(output) = machine.poll() {
//!         match output {
//!             Output::Keep(record) | Output::Note(record) => disk.push(record),
//!             Output::Do(value) => sent.push(value),
//!         }
//!     }
//! }
//! assert_eq!((disk, sent), (vec![(Slot::new(7), first)], vec![first]));
//! ```
//!
//! [`Party`], [`Slot`], [`View`], [`Value`] and [`Context`] name the parties, the times and the subjects of a
//! protocol. They mean the same in the key generation, the beacon, an engine and a chain. No type here needs
//! a curve.
//!
//! A [`Machine`] is a state machine without I/O. Inputs go in through [`Machine::handle`], outputs come out
//! of [`Machine::poll`], and time is an argument. The same inputs at the same times give the same outputs
//! everywhere, so a run can be replayed, simulated and checked.
//!
//! Some outputs are records: they must be durable before the outputs that follow them are carried out.
//! [`Output`] tells records from other outputs, so that a journal can stand between machine and driver.
#![no_std]
#![forbid(unsafe_code)]

mod words;

use core::ops::{Add, Sub};
use core::time::Duration;

pub use crate::words::{ChainId, Context, EpochId, Party, Slot, Value, View};

/// A point in time, as nanoseconds since the driver's own start. Machines compare instants of one driver,
/// and read no clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant {
    since_start: Duration,
}

impl Instant {
    /// When the driver started, the zero of its time.
    pub const START: Self = Self { since_start: Duration::ZERO };

    /// The instant that lies `since_start` after the driver's start.
    #[must_use]
    pub const fn at(since_start: Duration) -> Self {
        Self { since_start }
    }

    /// Time since the driver's start.
    #[must_use]
    pub const fn since_start(self) -> Duration {
        self.since_start
    }

    /// Time from `earlier` to `self`; zero if `earlier` is the later of the two.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        self.since_start.saturating_sub(earlier.since_start)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Saturates: the end of time is a fine deadline, a panic is not.
    fn add(self, span: Duration) -> Self {
        Self::at(self.since_start.saturating_add(span))
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

/// A protocol as a state machine, without I/O.
///
/// The driver calls [`handle`](Self::handle) for every input and then [`poll`](Self::poll) until it
/// gives `None`; it carries the outputs out in that order.
pub trait Machine {
    /// Something that happens to the machine.
    type Input;
    /// Something that the machine must find again after a crash.
    type Record;
    /// Something that the machine wants done, other than storing a record.
    type Effect;

    /// Takes one input. Never fails: if a peer does something wrong, an effect names the peer.
    fn handle(&mut self, now: Instant, input: Self::Input);

    /// The next output. Outputs come in the order in which they must be carried out.
    fn poll(&mut self) -> Option<OutputOf<Self>>;

    /// When the machine wants to be handled again, if nothing else happens first.
    fn wake_at(&self) -> Option<Instant>;
}

/// One thing that a machine wants done.
///
/// Records and notes have the same type: a journal is one sequence, and a restart reads it without asking
/// how urgent each entry was when it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<R, E> {
    /// A record that must be durable before any later effect is carried out.
    Keep(R),
    /// A record that may become durable later. If it is lost, something harmless is repeated.
    Note(R),
    /// An effect to carry out: send, compute, reveal, accuse.
    Do(E),
}

/// The outputs of machine `M`.
pub type OutputOf<M> = Output<<M as Machine>::Record, <M as Machine>::Effect>;

impl<R, E> Output<R, E> {
    /// Turns an output of a machine into an output of a machine that contains it.
    pub fn map<S, F>(
        self,
        record: impl FnOnce(R) -> S,
        effect: impl FnOnce(E) -> F,
    ) -> Output<S, F> {
        match self {
            Self::Keep(own) => Output::Keep(record(own)),
            Self::Note(own) => Output::Note(record(own)),
            Self::Do(own) => Output::Do(effect(own)),
        }
    }

    /// Takes the effect out. Turns a record into an output of a machine that contains this one. For a
    /// machine that carries out the effects of its parts itself.
    ///
    /// # Errors
    /// The record, as an output of the containing machine.
    pub fn split<S, F>(self, record: impl FnOnce(R) -> S) -> Result<E, Output<S, F>> {
        match self {
            Self::Keep(own) => Err(Output::Keep(record(own))),
            Self::Note(own) => Err(Output::Note(record(own))),
            Self::Do(effect) => Ok(effect),
        }
    }

    /// The effect; `None` for a record.
    pub fn effect(self) -> Option<E> {
        match self {
            Self::Do(effect) => Some(effect),
            Self::Keep(_) | Self::Note(_) => None,
        }
    }
}

impl<R, E> Output<R, Option<E>> {
    /// Keeps records as they are, and effects that are present. `None` for an absent effect.
    pub fn transpose(self) -> Option<Output<R, E>> {
        match self {
            Self::Keep(record) => Some(Output::Keep(record)),
            Self::Note(record) => Some(Output::Note(record)),
            Self::Do(effect) => effect.map(Output::Do),
        }
    }
}

/// The recipient of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipient<P> {
    /// Everybody but the sender.
    All,
    /// This recipient and nobody else.
    One(P),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_saturates_at_both_ends() {
        let late = Instant::START + Duration::MAX;
        assert_eq!(late + Duration::from_secs(1), late);
        assert_eq!(Instant::START - late, Duration::ZERO);
    }
}
