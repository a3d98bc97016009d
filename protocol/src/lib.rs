//! The words that every protocol shares, and what a protocol is.
//!
//! [`Party`], [`Slot`], [`View`], [`Value`] and [`Context`] say who, when and what about; they mean the
//! same in the key generation, the beacon, an engine and a chain. None of them needs a curve.
//!
//! A [`Machine`] is a state machine without I/O: inputs go in through [`Machine::handle`], what it
//! wants done comes out of [`Machine::poll`], and time is an argument. The same inputs at the same
//! times give the same outputs everywhere, so a run can be replayed, simulated and checked.
//!
//! Some outputs are records: promises that must be durable before what follows them leaves. [`Output`]
//! tells them from the rest, so that a journal can stand between machine and driver.
#![no_std]
#![forbid(unsafe_code)]

mod words;

use core::ops::{Add, Sub};
use core::time::Duration;

pub use crate::words::{ChainId, Context, EpochId, Party, Slot, Value, View};

/// A point in time, as nanoseconds since the driver's own start. Machines compare instants of one
/// driver and know nothing of clocks.
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

/// A protocol as a value.
///
/// The driver calls [`handle`](Self::handle) for every input and then [`poll`](Self::poll) until it
/// gives `None`; it carries the outputs out in that order.
pub trait Machine {
    /// What happens to the machine.
    type Input;
    /// What it must find again after a crash.
    type Record;
    /// What it wants done, its records aside.
    type Effect;

    /// Takes one input. Never fails: what a peer does wrong comes out as an effect that names the peer.
    fn handle(&mut self, now: Instant, input: Self::Input);

    /// The next thing to do, in the order in which it must be done.
    fn poll(&mut self) -> Option<OutputOf<Self>>;

    /// When the machine wants to be handled again if nothing else happens first.
    fn wake_at(&self) -> Option<Instant>;
}

/// One thing that a machine wants done.
///
/// Records and notes are of one type: a journal is one sequence, and a restart reads it without asking
/// how urgent each entry was when it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<R, E> {
    /// A record that is durable before any later effect is carried out.
    Keep(R),
    /// A record that is written some time: losing it repeats what is harmless to repeat.
    Note(R),
    /// Something to carry out: send, compute, reveal, accuse.
    Do(E),
}

/// The outputs of a machine.
pub type OutputOf<M> = Output<<M as Machine>::Record, <M as Machine>::Effect>;

impl<R, E> Output<R, E> {
    /// The same output of a machine that contains the one that it came from.
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

    /// The effect; of a record the output of a machine that contains the one that it came from. For a
    /// machine that carries effects of its parts out itself.
    ///
    /// # Errors
    /// The record.
    pub fn split<S, F>(self, record: impl FnOnce(R) -> S) -> Result<E, Output<S, F>> {
        match self {
            Self::Keep(own) => Err(Output::Keep(record(own))),
            Self::Note(own) => Err(Output::Note(record(own))),
            Self::Do(effect) => Ok(effect),
        }
    }

    /// What is to be carried out; `None` for a record.
    pub fn effect(self) -> Option<E> {
        match self {
            Self::Do(effect) => Some(effect),
            Self::Keep(_) | Self::Note(_) => None,
        }
    }
}

impl<R, E> Output<R, Option<E>> {
    /// A record as it is, and an effect if there is one.
    pub fn transpose(self) -> Option<Output<R, E>> {
        match self {
            Self::Keep(record) => Some(Output::Keep(record)),
            Self::Note(record) => Some(Output::Note(record)),
            Self::Do(effect) => effect.map(Output::Do),
        }
    }
}

/// Whom a message is for.
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
