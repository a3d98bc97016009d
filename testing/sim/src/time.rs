//! The scheduler's time: nanoseconds since the start, in a `u64` that lasts 584 years.

use std::time::Duration;

use prefinal_protocol::Instant;

/// Nanoseconds of a duration. It saturates: what lies beyond the end of time never happens.
pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

pub(crate) fn since_start(at: Instant) -> u64 {
    nanos(at.since_start())
}

pub(crate) const fn instant(nanos: u64) -> Instant {
    Instant::at(Duration::from_nanos(nanos))
}

/// A jump of a seat's clock, as when somebody sets it or a wrong clock is corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockJump {
    /// The clock jumps ahead.
    Ahead(Duration),
    /// The clock jumps back, at most to its start.
    Back(Duration),
}

/// The difference between a seat's clock and virtual time. The clock runs as fast, and was set from
/// time to time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    ahead: u64,
    behind: u64,
}

impl Clock {
    pub(crate) fn leap(&mut self, leap: ClockJump) {
        match leap {
            ClockJump::Ahead(by) => self.ahead = self.ahead.saturating_add(nanos(by)),
            ClockJump::Back(by) => self.behind = self.behind.saturating_add(nanos(by)),
        }
    }

    /// The time that it shows at this virtual time.
    pub(crate) fn read(self, now: u64) -> u64 {
        now.saturating_add(self.ahead).saturating_sub(self.behind)
    }

    /// The virtual time at which it shows `shown`, if nobody sets it before.
    pub(crate) fn when(self, shown: u64) -> u64 {
        shown.saturating_add(self.behind).saturating_sub(self.ahead)
    }
}

/// A span of virtual time: `from` belongs to it, `until` does not.
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
