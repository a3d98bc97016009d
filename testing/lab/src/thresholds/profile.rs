//! How long a committee with given weights and thresholds waits, computed from a trace.
//!
//! A path completes at a party when the partials that have arrived weigh as much as its threshold. The
//! value is there when the first path is complete and combined, after finality and after the values of
//! the slots before. Without computation, this is what the machine does, to the nanosecond (a test
//! compares the two). With computation, for `n` arrivals at `aᵢ` of weight `wᵢ`, on one lane that
//! decodes and `c` cores:
//!
//! | compute   | the value is there                                                            |
//! |-----------|-------------------------------------------------------------------------------|
//! | `Free`    | with the partial that completes the path                                       |
//! | `Behind`  | after decoding, one after another, and one job that combines and checks all     |
//! | `Ahead`   | after decoding; each partial's terms are added when it comes, then one check    |
//!
//! `Ahead` is the best that speculation can reach: every prediction of the parties that complete the
//! path is right.

use std::num::NonZeroU32;
use std::time::Duration;

use ::prefinal_beacon::{Path, Slot};
use prefinal_protocol::Instant;
use prefinal_weighted_rounding::Ratio;

use super::trace::Trace;
use crate::costs::{Costs, Work};
use crate::priced::Priced;
use crate::waits::{Wait, Waits};

/// Weights and thresholds. They are in stake if they are exact.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The name of the profile.
    pub name: String,
    /// Shares, or stake, of each party.
    pub weights: Vec<u128>,
    /// Shares, or stake, that reconstruct on the slow path; `None` if there is none.
    pub slow: Option<u128>,
    /// The same on the fast path.
    pub fast: Option<u128>,
    /// The stake that the early path needs, if total weight decides it.
    pub needs: Option<Ratio>,
    /// Whether another method than ours has rounded: it is not on the curve of what total weight buys.
    pub is_peer: bool,
}

/// What computing costs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Compute {
    Free,
    Behind(Machine),
    Ahead(Machine),
}

/// A party's machine, and what a scheme's work takes on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    costs: Costs,
    cores: NonZeroU32,
    decode: fn(&Costs, Work) -> u64,
    add: fn(&Costs, Work) -> u64,
    combine: fn(&Costs, Work) -> u64,
}

impl Machine {
    pub(super) fn of<S: Priced>(costs: Costs, cores: NonZeroU32) -> Self {
        Self { costs, cores, decode: S::decoding, add: S::adding, combine: S::combining }
    }

    fn takes(&self, price: fn(&Costs, Work) -> u64, (parties, shares): (u64, u64)) -> Duration {
        let cores = self.cores.get().into();
        let work = Work { parties, shares, paths: 2, heaviest: 0, cores };
        Duration::from_nanos(price(&self.costs, work))
    }
}

impl Profile {
    /// The total of all weights: shares, or stake.
    #[must_use]
    pub fn total(&self) -> u128 {
        self.weights.iter().sum()
    }

    /// How long each party waited for each slot.
    pub(super) fn waits(&self, trace: &Trace, compute: Compute) -> Waits {
        let mut waits = Vec::new();
        for party in 0..trace.parties() {
            let mut revealed = Instant::START;
            for slot in trace.slots() {
                let Some(finalized) = trace.finalized(slot, party) else { continue };
                let Some(ready) = self.ready(trace, (slot, party), compute) else { continue };
                revealed = ready.max(finalized).max(revealed);
                waits.push(Wait { slot, span: revealed.since(finalized) });
            }
        }
        waits.into_iter().collect()
    }

    fn ready(
        &self,
        trace: &Trace,
        (slot, party): (Slot, usize),
        compute: Compute,
    ) -> Option<Instant> {
        let paths = [(Path::Slow, self.slow), (Path::Fast, self.fast)];
        let ready = paths.into_iter().filter_map(|(path, threshold)| {
            let mut arrivals: Vec<(Instant, u128)> = trace
                .arrivals(path, slot, party)
                .filter_map(|(at, from)| Some((at, *self.weights.get(from)?)))
                .filter(|(_, weight)| *weight > 0)
                .collect();
            arrivals.sort_unstable();
            complete(&arrivals, threshold?, compute)
        });
        ready.min()
    }
}

/// When the partials that suffice are combined.
fn complete(arrivals: &[(Instant, u128)], threshold: u128, compute: Compute) -> Option<Instant> {
    let mut got = 0_u128;
    let used = arrivals.iter().position(|(_, weight)| {
        got += weight;
        got >= threshold
    })?;
    let arrivals = arrivals.get(..=used)?;
    let (last, _) = *arrivals.last()?;
    let shares = |weight: u128| u64::try_from(weight).unwrap_or(u64::MAX);
    let machine = match compute {
        Compute::Free => return Some(last),
        Compute::Behind(machine) | Compute::Ahead(machine) => machine,
    };
    let (mut decoded, mut added) = (Instant::START, Instant::START);
    for (at, weight) in arrivals {
        let own = (1, shares(*weight));
        decoded = decoded.max(*at) + machine.takes(machine.decode, own);
        added = added.max(decoded) + machine.takes(machine.add, own);
    }
    let many = u64::try_from(arrivals.len()).unwrap_or(u64::MAX);
    let combining = |of| machine.takes(machine.combine, of);
    Some(match compute {
        Compute::Ahead(_) => added + combining((0, 0)),
        _ => decoded + combining((many, shares(got))),
    })
}
