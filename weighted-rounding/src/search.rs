//! The scan: least total whose apportionment, for some offset, satisfies every pair.
//!
//! With `g` from `knapsack`, a vector of total `W` satisfies `(s, r)` iff its excess
//! `g(⌊sX⌋) + g(X − ⌈rX⌉) − (W − 1)` is not positive: the heaviest set that must stay below the
//! threshold and the heaviest set that may be missing leave room for a threshold between them.
//!
//! Totals need not be tried one by one. Weights of one offset only grow with the total, and so does
//! `g`; a step by `d` lowers the excess by at most `d`. So from an excess `e > 0` the scan jumps `e`
//! totals ahead and still finds the first that is accepted.
//!
//! Of several offsets that reach the least total, the one wins that reconstructs from the least stake
//! for the last pair, then for the pair before it, and so on, then the earlier of `Offset::all`.

use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::apportion::{Apportionment, Offset};
use crate::greedy::Greedy;
use crate::knapsack::Knapsack;

/// An offset that needs more table entries than this is given up; some minutes in all.
const CELLS_PER_OFFSET: u64 = 1 << 30;

/// One pair of ratios as bounds on stake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// `⌊sX⌋`: the largest stake that must stay below the threshold.
    pub(crate) leaking: u128,
    /// `X − ⌈rX⌉`: the largest stake that may be missing.
    pub(crate) missing: u128,
}

impl Demand {
    /// The largest bound that the tables must cover.
    pub(crate) fn largest(demands: &[Self]) -> u128 {
        demands.iter().map(|demand| demand.leaking.max(demand.missing)).max().unwrap_or(0)
    }

    /// By how much a vector misses the worst of the demands, zero if it meets them all; `g` gives the
    /// largest weight of a set with bounded stake, or less.
    pub(crate) fn excess(demands: &[Self], total: u32, g: impl Fn(u128) -> u32) -> u32 {
        let excess = demands.iter().map(|demand| {
            let both = g(demand.leaking).saturating_add(g(demand.missing));
            both.saturating_add(1).saturating_sub(total)
        });
        excess.max().unwrap_or(0)
    }
}

/// What the scan found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    /// Weights along descending stake, without the zeros at the end.
    Found(Vec<u32>),
    /// Nothing; every total up to this one was looked at.
    Nothing {
        /// The last total that all offsets passed.
        searched: u32,
    },
}

/// A vector that satisfies all demands.
struct Candidate {
    weights: Vec<u32>,
    total: u32,
    /// Least stake whose absence stops each demand, the last demand first: the more that takes, the
    /// less stake reconstructs.
    absent: Vec<Reverse<u128>>,
}

/// Looks at all totals up to `limit`. `stakes` descend and the first is not zero.
pub(crate) fn scan(stakes: &[u128], demands: &[Demand], limit: u32) -> Scan {
    let mut knapsack = Knapsack::new();
    let mut best: Option<Candidate> = None;
    let mut searched = limit;
    for offset in Offset::all() {
        let limit = best.as_ref().map_or(limit, |best| best.total);
        let mut apportionment = Apportionment::new(stakes, offset);
        let reached = climb(&mut apportionment, &mut knapsack, demands, limit);
        if let Err(reached) = reached {
            searched = searched.min(reached);
            continue;
        }
        let candidate = measure(&apportionment, &mut knapsack, demands);
        let better = best
            .as_ref()
            .is_none_or(|best| (candidate.total, &candidate.absent) < (best.total, &best.absent));
        if better {
            best = Some(candidate);
        }
    }
    best.map_or(Scan::Nothing { searched }, |best| Scan::Found(best.weights))
}

/// Advances to the first total up to `limit` without excess, or gives the last total ruled out.
fn climb(
    apportionment: &mut Apportionment<'_>,
    knapsack: &mut Knapsack,
    demands: &[Demand],
    limit: u32,
) -> Result<(), u32> {
    let bound = Demand::largest(demands);
    let last_cell = knapsack.cells().saturating_add(CELLS_PER_OFFSET);
    let mut greedy = Greedy::default();
    let mut total = 1;
    while total <= limit && knapsack.cells() < last_cell {
        apportionment.advance_to(total);
        greedy.sort(apportionment.stakes(), apportionment.weights());
        let mut excess = Demand::excess(demands, total, |bound| greedy.heavy_weight(bound));
        if excess == 0 {
            knapsack.rebuild(apportionment.stakes(), apportionment.weights(), bound);
            excess = Demand::excess(demands, total, |bound| knapsack.largest_weight(bound));
        }
        if excess == 0 {
            return Ok(());
        }
        total = total.saturating_add(excess);
    }
    Err(total.min(limit.saturating_add(1)) - 1)
}

fn measure(
    apportionment: &Apportionment<'_>,
    knapsack: &mut Knapsack,
    demands: &[Demand],
) -> Candidate {
    let total = apportionment.total();
    knapsack.rebuild(apportionment.stakes(), apportionment.weights(), u128::MAX);
    let absent = demands.iter().rev().map(|demand| {
        let threshold = knapsack.largest_weight(demand.leaking).saturating_add(1);
        let stopping = total.saturating_add(1).saturating_sub(threshold);
        Reverse(knapsack.least_stake(stopping).unwrap_or(u128::MAX))
    });
    let absent = absent.collect();
    Candidate { weights: apportionment.weights().to_vec(), total, absent }
}
