//! [`prefinal_rows::Clock`] as criterion wants it.
//!
//! Every row is about one thread, so it is the thread's own clock; with the feature `parallel` it is
//! the wall's, and the machine has to be idle.
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use prefinal_rows::Clock;

/// A clock of the thread's own computing time, for `Criterion::with_measurement`.
#[derive(Clone, Copy, Debug)]
pub struct ThreadTime;

impl Measurement for ThreadTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        let clock = if cfg!(feature = "parallel") { Clock::Wall } else { Clock::Thread };
        clock.now()
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
