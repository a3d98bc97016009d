//! Numbers of what was done to the executions of a campaign.

use std::collections::BTreeMap;
use std::fmt;

/// What can be done to an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A party in two places.
    Twins,
    /// Two partials for one slot.
    TwoFaced,
    /// Partials that are not the party's evaluation.
    Wrong,
    /// Wrong partials whose sum is right.
    Cancel,
    /// Letters withheld from some.
    Withhold,
    /// Letters withheld from all.
    Mute,
    /// Letters delayed to the bound.
    Delay,
    /// Letters of a flood: partials and requests for slots near and far, and junk transactions.
    Flood,
    /// Old letters sent again.
    Replay,
    /// A crash that loses the disk, of a faulty party.
    Forget,
    /// A crash that keeps the disk.
    Crash,
    /// A crash right behind a record.
    CrashAtRecord,
    /// A partition that heals.
    Partition,
    /// Letters lost on the way.
    Loss,
    /// A clock that jumps ahead or back.
    Leap,
}

/// How often each was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<Kind, Count>);

/// How often something was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Executions in which it was done.
    pub executions: u64,
    /// How often, taken together.
    pub times: u64,
}

impl Tally {
    /// It was done so often in this execution.
    pub fn add(&mut self, kind: Kind, times: u64) {
        if times > 0 {
            let count = self.0.entry(kind).or_default();
            count.executions = 1;
            count.times = count.times.saturating_add(times);
        }
    }

    /// Adds what was done in others.
    pub fn merge(&mut self, other: &Self) {
        for (kind, count) in &other.0 {
            let sum = self.0.entry(*kind).or_default();
            sum.executions = sum.executions.saturating_add(count.executions);
            sum.times = sum.times.saturating_add(count.times);
        }
    }

    /// Every kind that was done, in order, with its count.
    pub fn rows(&self) -> impl Iterator<Item = (Kind, Count)> {
        self.0.iter().map(|(kind, count)| (*kind, *count))
    }

    /// How often anything was done.
    #[must_use]
    pub fn total(&self) -> u64 {
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
