//! Processor time of the thread that measures.
//!
//! Every row is about one thread. While that thread waits for a processor that others use, this clock
//! stands still, so a loaded machine gives nearly the figures of an idle one. It knows nothing of other
//! threads: with the feature `parallel` it is the wall clock, and the machine has to be idle.
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use rustix::time::{ClockId, clock_gettime};

/// For `Criterion::with_measurement`.
#[derive(Clone, Copy, Debug)]
pub struct ThreadTime;

impl Measurement for ThreadTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        let clock =
            if cfg!(feature = "parallel") { ClockId::Monotonic } else { ClockId::ThreadCPUTime };
        let now = clock_gettime(clock);
        let (seconds, nanoseconds) = (now.tv_sec.try_into(), now.tv_nsec.try_into());
        Duration::new(seconds.unwrap_or(0), nanoseconds.unwrap_or(0))
    }

    fn end(&self, start: Duration) -> Duration {
        self.start() - start
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_secs_f64() * 1e9
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}
