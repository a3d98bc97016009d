//! How long parties waited for values after finality.
//!
//! A wait is the time between a party's finalization of a slot and its value. Definition 12 of the
//! paper takes the largest over the parties. Like the paper's measurement we keep all of them and
//! report mean and percentiles.

use std::time::Duration;

/// The waits of one path.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// In ascending order, as percentiles need it.
    sorted: Vec<Duration>,
}

impl Waits {
    /// Number of waits.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// The mean; `None` if there are no waits.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let count = u32::try_from(self.sorted.len()).ok().filter(|&count| count > 0)?;
        Some(self.sorted.iter().sum::<Duration>() / count)
    }

    /// The nearest-rank percentile: the least wait that this percentage of the waits does not exceed.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Option<Duration> {
        let rank = (self.sorted.len() * percent).div_ceil(100).max(1);
        self.sorted.get(rank - 1).copied()
    }

    /// The longest wait; `None` if there are none.
    #[must_use]
    pub fn longest(&self) -> Option<Duration> {
        self.sorted.last().copied()
    }

    /// Points of the cumulative distribution, in milliseconds and percent. A line needs no more than
    /// these, however many waits there are.
    pub fn quantiles(&self) -> impl Iterator<Item = (f64, f64)> {
        const POINTS: u16 = 400;
        let last = self.sorted.len().saturating_sub(1);
        let point = move |step: u16| {
            let wait = self.sorted.get(last * usize::from(step) / usize::from(POINTS))?;
            Some((wait.as_secs_f64() * 1e3, 100.0 * f64::from(step) / f64::from(POINTS)))
        };
        (0..=POINTS).filter_map(point)
    }

    /// Mean, median, 90th and 99th percentile as cells of a table, in milliseconds.
    #[must_use]
    pub fn cells(&self) -> [String; 4] {
        [self.mean(), self.percentile(50), self.percentile(90), self.percentile(99)]
            .map(|wait| wait.map_or_else(|| "-".to_owned(), milliseconds))
    }
}

impl FromIterator<Duration> for Waits {
    fn from_iter<I: IntoIterator<Item = Duration>>(waits: I) -> Self {
        let mut sorted: Vec<Duration> = waits.into_iter().collect();
        sorted.sort_unstable();
        Self { sorted }
    }
}

/// A duration in milliseconds with one decimal.
#[must_use]
pub fn milliseconds(span: Duration) -> String {
    format!("{:.1}", span.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(milliseconds: impl IntoIterator<Item = u64>) -> Waits {
        milliseconds.into_iter().map(Duration::from_millis).collect()
    }

    #[test]
    fn percentiles_are_nearest_rank() {
        let ten = waits((1..=10).rev());
        assert_eq!(ten.cells(), ["5.5", "5.0", "9.0", "10.0"].map(str::to_owned));
        assert_eq!(waits([7]).percentile(90), Some(Duration::from_millis(7)));
        assert_eq!(waits([]).cells(), ["-"; 4].map(str::to_owned));
    }
}
