//! A campaign's executions taken together, in whatever order they ended.

use std::collections::BTreeMap;
use std::time::Duration;

use super::execution::ExecutionReport;
use super::tally::Tally;
use super::{EngineName, Function};

/// A campaign's executions so far.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// Number of executions that were played.
    pub executions: u64,
    /// Number of executions in which something did not hold.
    pub violations: u64,
    /// Number of executions on each engine with each function.
    pub played: BTreeMap<(EngineName, Function), u64>,
    /// Number of slots with a value, in executions where everything held.
    pub slots: usize,
    /// Number of values that single parties got: by the slow path, the fast path, tight thresholds.
    pub values: [usize; 3],
    /// What was done to the executions.
    pub tally: Tally,
    /// Most partials that an honest party kept.
    pub most_kept: usize,
    /// The virtual time that all executions took.
    pub took: Duration,
    /// Of every event of every execution.
    pub fingerprint: u64,
}

impl Sums {
    /// Adds what one execution came to.
    pub fn add(&mut self, kind: (EngineName, Function), played: &ExecutionReport) {
        self.executions += 1;
        *self.played.entry(kind).or_default() += 1;
        self.tally.merge(&played.tally);
        self.most_kept = self.most_kept.max(played.most_kept);
        self.took += played.took;
        // The same in whatever order they end.
        let mixed =
            (played.fingerprint ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.fingerprint = self.fingerprint.wrapping_add(mixed ^ mixed >> 32);
        match &played.outcome {
            Ok(summary) => {
                self.slots += summary.slots;
                let values = [summary.slow, summary.fast, summary.tight];
                self.values.iter_mut().zip(values).for_each(|(sum, more)| *sum += more);
            }
            Err(_) => self.violations += 1,
        }
    }
}
