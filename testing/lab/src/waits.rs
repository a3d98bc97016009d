//! How long parties waited for values after finality.
//!
//! A wait is the time between a party's finalization of a slot and its value. Definition 12 of the
//! paper takes the longest of the parties as the slot's latency; of what its measurement is the average it does not
//! say. We report mean and percentiles of all waits, and the mean of the slots' longest ones.

use std::collections::BTreeMap;
use std::time::Duration;

use ::prefinal_beacon::Slot;

/// One party's wait for one slot's value.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The slot whose value was awaited.
    pub slot: Slot,
    /// Time from finality to the value.
    pub span: Duration,
}

/// The waits of one path.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// In ascending order, as percentiles need it.
    sorted: Vec<Duration>,
    /// The longest of each slot; empty if it is not known which wait is whose.
    slots: Vec<Duration>,
}

impl Waits {
    /// How many waits there are, of all slots and parties.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// The mean; `None` if there are no waits.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        mean(&self.sorted)
    }

    /// The paper's Definition 12, as a mean over the slots: the longest wait of any party for a slot. `None` if it is not
    /// known which wait is for which slot.
    #[must_use]
    pub fn mean_of_longest(&self) -> Option<Duration> {
        mean(&self.slots)
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
        [self.mean(), self.percentile(50), self.percentile(90), self.percentile(99)].map(cell)
    }

    /// The same, and [`mean_of_longest`](Self::mean_of_longest).
    #[must_use]
    pub fn cells_with_longest(&self) -> [String; 5] {
        let [mean, p50, p90, p99] = self.cells();
        [mean, p50, p90, p99, cell(self.mean_of_longest())]
    }
}

fn cell(wait: Option<Duration>) -> String {
    wait.map_or_else(|| "-".to_owned(), milliseconds)
}

fn mean(spans: &[Duration]) -> Option<Duration> {
    let count = u32::try_from(spans.len()).ok().filter(|&count| count > 0)?;
    Some(spans.iter().sum::<Duration>() / count)
}

impl FromIterator<Duration> for Waits {
    fn from_iter<I: IntoIterator<Item = Duration>>(waits: I) -> Self {
        let mut sorted: Vec<Duration> = waits.into_iter().collect();
        sorted.sort_unstable();
        Self { sorted, slots: Vec::new() }
    }
}

impl FromIterator<Wait> for Waits {
    fn from_iter<I: IntoIterator<Item = Wait>>(waits: I) -> Self {
        let mut slots: BTreeMap<Slot, Duration> = BTreeMap::new();
        let all = waits.into_iter().map(|Wait { slot, span }| {
            let longest = slots.entry(slot).or_default();
            *longest = span.max(*longest);
            span
        });
        let all: Self = all.collect();
        Self { slots: slots.into_values().collect(), ..all }
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
        assert_eq!(ten.cells_with_longest(), ["5.5", "5.0", "9.0", "10.0", "-"].map(str::to_owned));
        assert_eq!(waits([7]).percentile(90), Some(Duration::from_millis(7)));
        assert_eq!(waits([]).cells(), ["-"; 4].map(str::to_owned));
    }

    /// Definition 12: the maximum of each round, here 9, 2 and 4.
    #[test]
    fn a_slot_is_as_late_as_its_last_party() {
        let waits: Waits = [(1, 9), (2, 2), (1, 1), (3, 4), (2, 0)]
            .into_iter()
            .map(|(slot, span)| Wait { slot: Slot::new(slot), span: Duration::from_millis(span) })
            .collect();
        assert_eq!(waits.mean_of_longest(), Some(Duration::from_millis(5)));
        assert_eq!(waits.longest(), Some(Duration::from_millis(9)));
        assert_eq!(
            waits.cells_with_longest(),
            ["3.2", "2.0", "9.0", "9.0", "5.0"].map(str::to_owned)
        );
    }
}
