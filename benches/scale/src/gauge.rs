//! Time and memory of one operation over its sizes, as long as there is patience.
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use peak_alloc::PeakAlloc;
use prefinal_rows::{Clock, Meter, OURS, Options, RowsError, Sheet};

use crate::COMMAND;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// All samples of one row together, once its first run has shown how long it takes.
const SAMPLES: Duration = Duration::from_millis(1500);

/// What is measured, and how long it may take.
pub(crate) struct Gauge {
    sheet: Sheet,
    meter: Meter,
    quick: bool,
    /// The last two sizes of each operation with their times.
    seen: BTreeMap<String, Vec<(f64, Duration)>>,
}

impl Gauge {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            sheet: Sheet::new("scale", COMMAND),
            meter: Meter::new(options, Clock::Thread),
            quick: options.quick,
            seen: BTreeMap::new(),
        }
    }

    /// Total weights, or numbers of parties times four.
    pub(crate) fn sizes(&self) -> Vec<u32> {
        let all = [64, 256, 1024, 4096, 16_384];
        all.into_iter().take(if self.quick { 3 } else { 5 }).collect()
    }

    /// What one run may take.
    fn patience(&self) -> Duration {
        Duration::from_secs(if self.quick { 3 } else { 40 })
    }

    /// The output of one run, unless it would take too long. `case` begins with its size.
    pub(crate) fn measure<O>(
        &mut self,
        operation: &str,
        (case, size): (&str, u32),
        mut run: impl FnMut() -> O,
    ) -> Option<O> {
        if self.is_left_out(operation, (case, size)) {
            return None;
        }
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let start = Clock::Thread.now();
        let output = black_box(run());
        let once = Clock::Thread.now() - start;
        let peak = MEMORY.peak_usage().saturating_sub(before);
        let time = match SAMPLES.as_nanos() / once.as_nanos().max(1) {
            // The run itself is the sample, and there was none before it to warm up.
            0 => once,
            samples => {
                let samples = u32::try_from(samples.min(10)).unwrap_or(10);
                self.meter.samples(samples).least(&mut run)
            }
        };
        self.seen.entry(operation.to_owned()).or_default().push((size.into(), time));
        let peak = f64::from(u32::try_from(peak).unwrap_or(u32::MAX));
        self.sheet.of(operation, case).time(OURS, time).peak(OURS, peak);
        Some(output)
    }

    /// Whether it would take too long, which is then written down.
    fn is_left_out(&mut self, operation: &str, (case, size): (&str, u32)) -> bool {
        let too_long = self.expected(operation, size.into()) > self.patience();
        if too_long {
            self.leave_out(operation, (case, size));
        }
        too_long
    }

    /// Writes down that it was not measured, with the time that it would have taken.
    pub(crate) fn leave_out(&mut self, operation: &str, (case, size): (&str, u32)) {
        let time = self.expected(operation, size.into()).as_secs_f64() * 1e3;
        self.sheet.of(operation, case).put(OURS, "left out", time, "ms");
    }

    /// How long it is on the wire.
    pub(crate) fn bytes(&mut self, operation: &str, case: &str, bytes: usize) {
        let bytes = f64::from(u32::try_from(bytes).unwrap_or(u32::MAX));
        self.sheet.of(operation, case).bytes(OURS, bytes);
    }

    /// The last time, grown as it grew last; linear if there was one size only.
    fn expected(&self, operation: &str, size: f64) -> Duration {
        let seen = self.seen.get(operation).map_or(&[][..], Vec::as_slice);
        let seconds = |at: &(f64, Duration)| at.1.as_secs_f64();
        let slope = match seen {
            [.., one, other] => (seconds(other) / seconds(one)).ln() / (other.0 / one.0).ln(),
            _ => 1.0,
        };
        seen.last().map_or(Duration::ZERO, |last| {
            let grown = seconds(last) * (size / last.0).powf(slope);
            Duration::from_secs_f64(grown.clamp(0.0, 1e6))
        })
    }

    pub(crate) fn finish(&self, options: &Options) -> Result<(), RowsError> {
        self.sheet.finish(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_take_too_long_is_left_out_and_said() {
        let mut gauge = Gauge::new(&Options { csv: None, quick: true });
        let busy = |millis: u64| {
            let start = Clock::Thread.now();
            while Clock::Thread.now() - start < Duration::from_millis(millis) {}
        };
        assert!(gauge.measure("op", ("n=1", 1), || busy(1)).is_some());
        assert!(gauge.measure("op", ("n=10", 10), || busy(100)).is_some());
        // Ten times the size took a hundred times as long.
        assert!(gauge.measure("op", ("n=100", 100), || panic!("ten seconds")).is_none());
        assert!(gauge.measure("other", ("n=100", 100), || busy(1)).is_some());
        let rows: Vec<_> =
            gauge.sheet.rows().iter().filter(|row| row.quantity == "left out").collect();
        let [row] = rows.as_slice() else { panic!("one row: {rows:?}") };
        assert_eq!((row.operation.as_str(), row.case.as_str()), ("op", "n=100"));
        assert!(row.value > 5_000.0 && row.value < 20_000.0, "{}", row.value);
    }

    #[test]
    fn the_peak_is_what_one_run_holds() {
        let mut gauge = Gauge::new(&Options { csv: None, quick: true });
        let held = gauge.measure("op", ("n=1", 1), || vec![7_u8; 8 << 20]).unwrap();
        assert_eq!(held.len(), 8 << 20);
        let peak = gauge.sheet.rows().iter().find(|row| row.quantity == "peak").unwrap();
        assert!((8.0..9.0).contains(&peak.value), "{}", peak.value);
    }
}
