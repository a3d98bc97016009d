//! What is read off a run: counters before and after, their difference for each transaction, and waits.
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prefinal_lab::waits::Waits;
use prefinal_rows::Clock;
use tokio::time::Instant;

/// Work that is timed wherever it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Signatures that are checked.
    Checks,
    /// Frames that become messages.
    Decoding,
    /// What a replica does itself, with its journal and clients.
    Replicas,
}

/// Processor time by its parts, in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    checks: AtomicU64,
    decoding: AtomicU64,
    replicas: AtomicU64,
}

impl Meters {
    /// Runs work that ends on the thread that it begins on, and adds the processor time that it takes.
    pub(crate) fn charge<T>(&self, part: Part, work: impl FnOnce() -> T) -> T {
        let before = Clock::Thread.now();
        let result = work();
        let spent = Clock::Thread.now().saturating_sub(before);
        let meter = match part {
            Part::Checks => &self.checks,
            Part::Decoding => &self.decoding,
            Part::Replicas => &self.replicas,
        };
        meter.fetch_add(u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        result
    }

    /// The time so far, beside that of the whole process.
    pub(crate) fn costs(&self) -> Costs {
        let read = |meter: &AtomicU64| Duration::from_nanos(meter.load(Ordering::Relaxed));
        Costs {
            process: Clock::Process.now(),
            checks: read(&self.checks),
            decoding: read(&self.decoding),
            replicas: read(&self.replicas),
        }
    }
}

/// Processor time: of the process, and of its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Costs {
    pub(crate) process: Duration,
    pub(crate) checks: Duration,
    pub(crate) decoding: Duration,
    pub(crate) replicas: Duration,
}

impl Costs {
    fn map(self, other: Self, f: impl Fn(Duration, Duration) -> Duration) -> Self {
        Self {
            process: f(self.process, other.process),
            checks: f(self.checks, other.checks),
            decoding: f(self.decoding, other.decoding),
            replicas: f(self.replicas, other.replicas),
        }
    }
}

/// Bytes that all links have sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Frames, with their lengths.
    pub(crate) frames: u64,
    /// Datagrams, with all that QUIC adds.
    pub(crate) datagrams: u64,
}

/// All counters at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    /// Transactions that all replicas have delivered.
    pub(crate) delivered: u64,
    pub(crate) traffic: Traffic,
    pub(crate) costs: Costs,
}

/// What happened while it was counted.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    transactions: u64,
    span: Duration,
    traffic: Traffic,
    costs: Costs,
    waits: Waits,
    /// Heights that were left empty, in the whole run.
    pub(crate) skipped: u64,
    /// Checkpoints that were certified, in the whole run.
    pub(crate) checkpoints: u64,
    /// Frames that did not find room in a queue, in the whole run.
    pub(crate) left_out: u64,
}

impl Point {
    /// The difference between two samples, with the waits that ended between them.
    pub(crate) fn new(before: &Sample, after: &Sample, waits: Waits) -> Self {
        let Traffic { frames, datagrams } = before.traffic;
        Self {
            transactions: after.delivered.saturating_sub(before.delivered),
            span: after.at.saturating_duration_since(before.at),
            traffic: Traffic {
                frames: after.traffic.frames.saturating_sub(frames),
                datagrams: after.traffic.datagrams.saturating_sub(datagrams),
            },
            costs: after.costs.map(before.costs, Duration::saturating_sub),
            waits,
            skipped: 0,
            checkpoints: 0,
            left_out: 0,
        }
    }

    /// Whether nothing was delivered, so that nothing can be divided by it.
    pub(crate) fn is_empty(&self) -> bool {
        self.transactions == 0 || self.waits.count() == 0 || self.span.is_zero()
    }

    /// Transactions that all replicas delivered, per second of the run.
    pub(crate) fn per_second(&self) -> f64 {
        (float(self.transactions) / self.span.as_secs_f64()).round()
    }

    /// Bytes of frames for each transaction.
    pub(crate) fn frames_each(&self) -> f64 {
        float(self.traffic.frames) / float(self.transactions)
    }

    /// Bytes of datagrams for each transaction.
    pub(crate) fn datagrams_each(&self) -> f64 {
        float(self.traffic.datagrams) / float(self.transactions)
    }

    /// Processor time for each transaction.
    pub(crate) fn costs_each(&self) -> Costs {
        let each = |total: Duration, _| total.div_f64(float(self.transactions));
        self.costs.map(self.costs, each)
    }

    /// The wait that so many percent do not exceed; `None` if there are no waits.
    pub(crate) fn wait(&self, percent: usize) -> Option<Duration> {
        self.waits.percentile(percent)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |percent| self.wait(percent).unwrap_or_default().as_secs_f64() * 1e3;
        let cores = self.costs.process.as_secs_f64() / self.span.as_secs_f64();
        write!(
            f,
            "{} transactions in {:.1} s, {} a second; p50 {:.1} ms, p95 {:.1} ms; {:.0} bytes of frames and \
             {:.0} of datagrams each; {cores:.2} cores; {} checkpoints, {} heights skipped, {} frames left out",
            self.transactions,
            self.span.as_secs_f64(),
            self.per_second(),
            ms(50),
            ms(95),
            self.frames_each(),
            self.datagrams_each(),
            self.checkpoints,
            self.skipped,
            self.left_out,
        )
    }
}

/// Counts of a run stay far below what a float holds exactly.
#[expect(clippy::as_conversions, reason = "there is no other way from u64 to f64")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn sample(at: Instant, delivered: u64, scale: u32) -> Sample {
        let costs = Costs { process: ms(40), checks: ms(10), decoding: ms(5), replicas: ms(15) };
        let times = |one: Duration, _| one * scale;
        let (frames, datagrams) = (1000 * u64::from(scale), 1100 * u64::from(scale));
        let traffic = Traffic { frames, datagrams };
        Sample { at, delivered, traffic, costs: costs.map(costs, times) }
    }

    #[test]
    fn a_point_is_what_lies_between_two_samples() {
        let now = Instant::now();
        let (before, after) = (sample(now, 7, 1), sample(now + ms(500), 17, 3));
        let waits = (1..=20).rev().map(ms).collect();
        let point = Point::new(&before, &after, waits);
        assert_eq!((point.per_second(), point.frames_each()), (20.0, 200.0));
        assert_eq!(point.datagrams_each(), 220.0);
        let each = Costs { process: ms(8), checks: ms(2), decoding: ms(1), replicas: ms(3) };
        assert_eq!(point.costs_each(), each);
        assert_eq!((point.wait(50), point.wait(95)), (Some(ms(10)), Some(ms(19))));
        assert_eq!((point.wait(0), point.wait(100)), (Some(ms(1)), Some(ms(20))));
        assert!(!point.is_empty());
        assert!(Point::new(&before, &after, Waits::default()).is_empty());
        assert!(Point::new(&before, &before, [ms(1)].into_iter().collect()).is_empty());
    }

    #[test]
    fn work_is_charged_where_it_is_done() {
        let meters = Meters::default();
        let before = meters.costs();
        let spin = || {
            let start = Clock::Thread.now();
            while Clock::Thread.now() - start < ms(5) {}
        };
        meters.charge(Part::Checks, spin);
        meters.charge(Part::Replicas, || std::thread::sleep(ms(20)));
        let spent = meters.costs().map(before, Duration::saturating_sub);
        assert!(spent.checks >= ms(5) && spent.process >= spent.checks, "{spent:?}");
        assert!(spent.replicas < ms(10), "it slept: {spent:?}");
        assert_eq!(spent.decoding, Duration::ZERO);
    }
}
