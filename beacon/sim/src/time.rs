//! The scheduler's time: nanoseconds since the start, in a `u64` that lasts 584 years.

use std::time::Duration;

use machine::Instant;

/// Saturates: what lies beyond the end of time never happens.
pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

pub(crate) fn since_start(at: Instant) -> u64 {
    nanos(at.since_start())
}

pub(crate) const fn instant(nanos: u64) -> Instant {
    Instant::at(Duration::from_nanos(nanos))
}

/// A stretch of virtual time: `from` belongs to it, `until` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first instant inside.
    pub from: Instant,
    /// The first instant after it.
    pub until: Instant,
}

impl Window {
    /// All of time.
    pub const ALWAYS: Self = Self { from: Instant::START, until: Instant::at(Duration::MAX) };

    /// The window `[from, until)`; empty if `until` is not later.
    #[must_use]
    pub const fn new(from: Instant, until: Instant) -> Self {
        Self { from, until }
    }

    /// Whether `at` lies inside.
    #[must_use]
    pub fn holds(&self, at: Instant) -> bool {
        self.from <= at && at < self.until
    }
}
