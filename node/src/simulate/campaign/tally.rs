//! What was done to the executions of a campaign, in numbers.

use std::collections::BTreeMap;
use std::fmt;

/// What can be done to an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Twins,
    TwoFaced,
    Wrong,
    Cancel,
    Withhold,
    Mute,
    Delay,
    Flood,
    Replay,
    Forget,
    Crash,
    CrashAtRecord,
    Partition,
    Loss,
    Leap,
}

/// How often each was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally(BTreeMap<Kind, Count>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// Executions in which it was done.
    pub(super) executions: u64,
    /// How often, taken together.
    pub(super) times: u64,
}

impl Tally {
    /// It was done so often in this execution.
    pub(super) fn add(&mut self, kind: Kind, times: u64) {
        if times > 0 {
            let count = self.0.entry(kind).or_default();
            count.executions = 1;
            count.times = count.times.saturating_add(times);
        }
    }

    /// Adds what was done in others.
    pub(super) fn merge(&mut self, other: &Self) {
        for (kind, count) in &other.0 {
            let sum = self.0.entry(*kind).or_default();
            sum.executions = sum.executions.saturating_add(count.executions);
            sum.times = sum.times.saturating_add(count.times);
        }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (Kind, Count)> {
        self.0.iter().map(|(kind, count)| (*kind, *count))
    }

    /// How often anything was done.
    pub(super) fn total(&self) -> u64 {
        self.0.values().map(|count| count.times).fold(0, u64::saturating_add)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Twins => "twins: letters kept from the other half",
            Self::TwoFaced => "two partials for one slot",
            Self::Wrong => "wrong partials",
            Self::Cancel => "wrong partials that cancel each other",
            Self::Withhold => "letters withheld from some",
            Self::Mute => "letters withheld from all",
            Self::Delay => "letters delayed to the bound",
            Self::Flood => "letters of floods",
            Self::Replay => "old letters sent again",
            Self::Forget => "crashes, disk lost (faulty)",
            Self::Crash => "crashes, disk kept",
            Self::CrashAtRecord => "crashes right behind a record",
            Self::Partition => "partitions, healed",
            Self::Loss => "letters lost on the way",
            Self::Leap => "clocks set",
        })
    }
}
