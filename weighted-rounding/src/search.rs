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
//!
//! The other objective, the least stake from which the last pair reconstructs, is a chain of such
//! scans: each vector that is found tightens the last demand to what only a better one satisfies, and
//! the climb goes on from where it is. Here the first vector of the least stake wins.
//!
//! Offsets are climbed in batches: all of one batch start from what the batches before it found, so
//! whether they run one after another or, with the feature `parallel`, on all cores, they see and
//! give the same.

use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::apportion::{Apportionment, Offset};
use crate::greedy::Greedy;
use crate::knapsack::Knapsack;

/// An offset that needs more table entries than this is given up: about a minute for all offsets.
const CELLS_PER_OFFSET: u64 = 1 << 28;

/// Offsets that do not hear of each other's finds.
const BATCH: usize = 8;

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

/// A vector that satisfies all demands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Weights along descending stake, without the zeros at the end.
    pub(crate) weights: Vec<u32>,
    /// Their sum.
    pub(crate) total: u32,
    /// Least stake whose absence stops each demand, the last demand first: the more that takes, the
    /// less stake reconstructs.
    absent: Vec<Reverse<u128>>,
}

/// The least total up to `limit`, or the last total that is ruled out for all offsets. `stakes`
/// descend and the first is not zero.
pub(crate) fn least_total(
    stakes: &[u128],
    demands: &[Demand],
    limit: u32,
) -> Result<Candidate, u32> {
    let mut best: Option<Candidate> = None;
    let mut searched = limit;
    let offsets: Vec<Offset> = Offset::all().collect();
    for batch in offsets.chunks(BATCH) {
        let limit = best.as_ref().map_or(limit, |best| best.total);
        let found = lanes::map(batch, |tables, offset| {
            Climb::new(stakes, offset, 1).next(tables, demands, limit)
        });
        for found in found {
            match found {
                Err(passed) => searched = searched.min(passed),
                Ok(candidate) => {
                    let better = best.as_ref().is_none_or(|best| {
                        (candidate.total, &candidate.absent) < (best.total, &best.absent)
                    });
                    if better {
                        best = Some(candidate);
                    }
                }
            }
        }
    }
    best.ok_or(searched)
}

/// The least stake from which the last demand reconstructs, with a total up to `limit`. `first`
/// satisfies the demands, and no apportionment of a smaller total does.
pub(crate) fn least_reconstruction(
    stakes: &[u128],
    demands: &[Demand],
    first: Candidate,
    limit: u32,
) -> Candidate {
    let start = first.total;
    let mut best = first;
    let offsets: Vec<Offset> = Offset::all().collect();
    for batch in offsets.chunks(BATCH) {
        let found = lanes::map(batch, |tables, offset| {
            let mut climb = Climb::new(stakes, offset, start);
            let mut demands = demands.to_vec();
            let mut better: Option<Candidate> = None;
            loop {
                // What already stops the best must not stop what follows.
                let absent = better.as_ref().unwrap_or(&best).absent.first();
                if let (Some(last), Some(absent)) = (demands.last_mut(), absent) {
                    last.missing = absent.0;
                }
                match climb.next(tables, &demands, limit) {
                    Ok(candidate) => better = Some(candidate),
                    Err(_) => break better,
                }
            }
        });
        for candidate in found.into_iter().flatten() {
            if candidate.absent.first() < best.absent.first() {
                best = candidate;
            }
        }
    }
    best
}

/// What `weights` are worth as a candidate; they satisfy the demands.
pub(crate) fn candidate(stakes: &[u128], weights: Vec<u32>, demands: &[Demand]) -> Candidate {
    let mut knapsack = Knapsack::new();
    knapsack.rebuild(stakes, &weights, u128::MAX);
    let total: u32 = weights.iter().sum();
    let absent = demands.iter().rev().map(|demand| {
        let threshold = knapsack.largest_weight(demand.leaking).saturating_add(1);
        let stopping = total.saturating_add(1).saturating_sub(threshold);
        Reverse(knapsack.least_stake(stopping).unwrap_or(u128::MAX))
    });
    let absent = absent.collect();
    Candidate { weights, total, absent }
}

/// The offsets of a batch, on one thread or on all of them.
mod lanes {
    use super::{Offset, Tables, Vec};

    #[cfg(not(feature = "parallel"))]
    pub(super) fn map<T>(
        offsets: &[Offset],
        mut climb: impl FnMut(&mut Tables, Offset) -> T,
    ) -> Vec<T> {
        let mut tables = Tables::default();
        offsets.iter().map(|offset| climb(&mut tables, *offset)).collect()
    }

    #[cfg(feature = "parallel")]
    pub(super) fn map<T: Send>(
        offsets: &[Offset],
        climb: impl Fn(&mut Tables, Offset) -> T + Sync,
    ) -> Vec<T> {
        use rayon::prelude::*;
        offsets
            .par_iter()
            .map_init(Tables::default, |tables, offset| climb(tables, *offset))
            .collect()
    }
}

/// Bounds on `g` of the vector in hand.
#[derive(Default)]
struct Tables {
    greedy: Greedy,
    knapsack: Knapsack,
}

/// One offset on its way up through the totals.
struct Climb<'a> {
    apportionment: Apportionment<'a>,
    total: u32,
    cells: u64,
}

impl<'a> Climb<'a> {
    fn new(stakes: &'a [u128], offset: Offset, total: u32) -> Self {
        Self { apportionment: Apportionment::new(stakes, offset), total, cells: 0 }
    }

    /// The first vector without excess, from where the climb stands up to `limit`, or the last total
    /// that is ruled out.
    fn next(
        &mut self,
        tables: &mut Tables,
        demands: &[Demand],
        limit: u32,
    ) -> Result<Candidate, u32> {
        let bound = Demand::largest(demands);
        while self.total <= limit && self.cells < CELLS_PER_OFFSET {
            self.apportionment.advance_to(self.total);
            let (stakes, weights) = (self.apportionment.stakes(), self.apportionment.weights());
            tables.greedy.sort(stakes, weights);
            let g = |bound| tables.greedy.heavy_weight(bound);
            let mut excess = Demand::excess(demands, self.total, g);
            if excess == 0 {
                self.cells += tables.knapsack.rebuild(stakes, weights, bound);
                let g = |bound| tables.knapsack.largest_weight(bound);
                excess = Demand::excess(demands, self.total, g);
            }
            if excess == 0 {
                return Ok(candidate(stakes, weights.to_vec(), demands));
            }
            self.total = self.total.saturating_add(excess);
        }
        Err(self.total.min(limit.saturating_add(1)).saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// Every offset and every total in turn, with full tables and no jumps.
    fn all_candidates(stakes: &[u128], demands: &[Demand], limit: u32) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for offset in Offset::all() {
            for total in 1..=limit {
                let mut climb = Climb::new(stakes, offset, total);
                climb.apportionment.advance_to(total);
                let mut knapsack = Knapsack::new();
                knapsack.rebuild(stakes, climb.apportionment.weights(), u128::MAX);
                if Demand::excess(demands, total, |bound| knapsack.largest_weight(bound)) == 0 {
                    let weights = climb.apportionment.weights().to_vec();
                    candidates.push(candidate(stakes, weights, demands));
                }
            }
        }
        candidates
    }

    #[test]
    fn jumps_miss_nothing() {
        let limit = 40;
        for stakes in [
            vec![23u128, 19, 17, 13, 11, 7, 5, 3, 2],
            vec![40, 21, 20, 10, 9, 4, 4, 1],
            vec![6, 5, 5, 5, 4, 4, 3, 2, 2, 2, 1],
        ] {
            let total: u128 = stakes.iter().sum();
            let slow = Demand { leaking: total / 2, missing: total - (total * 2).div_ceil(3) };
            for missing in 0..total / 3 {
                let demands = [slow, Demand { leaking: total * 2 / 3, missing }];
                let all = all_candidates(&stakes, &demands, limit);
                let least = all.iter().map(|candidate| candidate.total).min();
                let found = least_total(&stakes, &demands, limit);
                assert_eq!(found.as_ref().ok().map(|found| found.total), least);
                let Ok(found) = found else { continue };
                let best = least_reconstruction(&stakes, &demands, found, limit);
                let most = all.iter().map(|candidate| candidate.absent[0]).min();
                assert_eq!(Some(best.absent[0]), most, "{stakes:?}, missing {missing}");
            }
        }
    }
}
