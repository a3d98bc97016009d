//! Processor time of one thread; the least of several samples.
//!
//! While a thread waits for a processor that others use, its own clock stands still, so a loaded
//! machine gives nearly the figures of an idle one; of what disturbs it all the same (caches,
//! frequency), the fastest sample saw least. That clock knows nothing of other threads: work that is
//! shared among several is measured by the wall, and the machine has to be idle. The process's clock counts
//! all of its threads, and nothing else.
use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::Options;

/// The clock that a row was measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Processor time of the thread that asks.
    Thread,
    /// Processor time of all threads of this process, and of what the system does for them.
    Process,
    /// The wall's, for work on several threads.
    Wall,
}

impl Clock {
    /// Time since a moment that only differences know.
    #[must_use]
    pub fn now(self) -> Duration {
        let clock = match self {
            Self::Thread => ClockId::ThreadCPUTime,
            Self::Process => ClockId::ProcessCPUTime,
            Self::Wall => ClockId::Monotonic,
        };
        let now = clock_gettime(clock);
        let (seconds, nanoseconds) = (now.tv_sec.try_into(), now.tv_nsec.try_into());
        Duration::new(seconds.unwrap_or(0), nanoseconds.unwrap_or(0))
    }
}

/// Below this the clock's own cost shows, so a sample runs as often as it takes to last that long.
const SAMPLE: Duration = Duration::from_millis(5);

/// How an operation is timed.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    clock: Clock,
    samples: u32,
    budget: Duration,
    once: Duration,
}

impl Meter {
    /// Twenty samples; three if it must be quick.
    #[must_use]
    pub fn new(options: &Options, clock: Clock) -> Self {
        let samples = if options.quick { 3 } else { 20 };
        Self { clock, samples, budget: Duration::MAX, once: Duration::MAX }
    }

    /// The same clock with another number of samples, at least one, for what takes seconds.
    #[must_use]
    pub fn samples(self, samples: u32) -> Self {
        Self { samples: samples.max(1), ..self }
    }

    /// Only as many samples as fit into the budget by what the first run takes, but one at least; of what
    /// takes longer than `once` the first run is the only sample.
    #[must_use]
    pub const fn within(self, budget: Duration, once: Duration) -> Self {
        Self { budget, once, ..self }
    }

    /// Time of one run in the fastest sample. The first run, which is none, warms up and says how many
    /// runs a sample has, and how many samples there are.
    pub fn least<O>(&self, mut operation: impl FnMut() -> O) -> Duration {
        self.least_each(|| (), |()| operation())
    }

    /// As [`Meter::least`], on what `prepare` makes for each run, which is not measured.
    pub fn least_each<I, O>(
        &self,
        mut prepare: impl FnMut() -> I,
        mut operation: impl FnMut(I) -> O,
    ) -> Duration {
        let mut sample = |runs: u32| {
            let inputs: Vec<I> = (0..runs).map(|_| prepare()).collect();
            let mut outputs = Vec::with_capacity(inputs.len());
            let start = self.clock.now();
            for input in inputs {
                outputs.push(black_box(operation(black_box(input))));
            }
            // Results are dropped behind the clock.
            (self.clock.now() - start) / runs
        };
        let first = sample(1).max(Duration::from_nanos(1));
        if first > self.once {
            return first;
        }
        let runs = SAMPLE.as_nanos().div_ceil(first.as_nanos()).clamp(1, 10_000);
        let runs = u32::try_from(runs).unwrap_or(1);
        let fit = self.budget.as_nanos() / first.as_nanos();
        let samples = u32::try_from(fit).unwrap_or(u32::MAX).clamp(1, self.samples);
        (0..samples).map(|_| sample(runs)).min().unwrap_or(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(clock: Clock, span: Duration) {
        let start = clock.now();
        while clock.now() - start < span {}
    }

    #[test]
    fn the_least_is_the_undisturbed_run() {
        let meter = Meter::new(&Options::default(), Clock::Thread).samples(4);
        let mut runs = 0;
        let least = meter.least(|| {
            runs += 1;
            let span = if runs == 4 { SAMPLE } else { 2 * SAMPLE };
            busy(Clock::Thread, span);
        });
        assert!(runs == 5, "one to warm up, then one each: {runs}");
        assert!(least >= SAMPLE && least < 2 * SAMPLE, "{least:?}");
    }

    #[test]
    fn what_takes_long_is_run_as_often_as_there_is_time() {
        let runs = |budget: u32, once| {
            let mut runs = 0;
            let meter = Meter::new(&Options::default(), Clock::Thread);
            meter.within(2 * SAMPLE * budget, once).least(|| {
                runs += 1;
                busy(Clock::Thread, 2 * SAMPLE);
            });
            runs
        };
        let (short, long) = (SAMPLE, Duration::from_secs(9));
        // A run takes a little longer than it should, so one less than four fit.
        assert!((1 + 2..=1 + 4).contains(&runs(4, long)), "warmed up, then what fits");
        assert_eq!(runs(0, long), 2, "warmed up, then one at least");
        assert_eq!(runs(4, short), 1, "the first run alone");
    }

    #[test]
    fn a_thread_that_sleeps_costs_nothing() {
        let start = (Clock::Thread.now(), Clock::Wall.now());
        std::thread::sleep(Duration::from_millis(20));
        let passed = (Clock::Thread.now() - start.0, Clock::Wall.now() - start.1);
        assert!(passed.0 < Duration::from_millis(10), "{passed:?}");
        assert!(passed.1 >= Duration::from_millis(20), "{passed:?}");
    }

    #[test]
    fn a_process_counts_all_its_threads() {
        let start = (Clock::Thread.now(), Clock::Process.now());
        let span = Duration::from_millis(20);
        std::thread::scope(|scope| {
            scope.spawn(|| busy(Clock::Thread, span));
        });
        let passed = (Clock::Thread.now() - start.0, Clock::Process.now() - start.1);
        assert!(passed.0 < span && passed.1 >= span, "{passed:?}");
    }

    #[test]
    fn short_operations_run_often_in_one_sample() {
        let meter = Meter::new(&Options::default(), Clock::Thread).samples(1);
        let mut runs = 0;
        let least = meter.least(|| runs += 1);
        assert!(runs > 100, "{runs}");
        assert!(least < Duration::from_micros(50), "{least:?}");
    }

    #[test]
    fn preparing_is_not_measured() {
        let meter = Meter::new(&Options::default(), Clock::Thread).samples(2);
        let prepare = || busy(Clock::Thread, Duration::from_micros(20));
        let least = meter.least_each(prepare, |()| ());
        assert!(least < Duration::from_micros(10), "{least:?}");
    }
}
