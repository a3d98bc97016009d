//! The scan: finds the least total whose apportionment, for some offset, satisfies every pair.
//!
//! With `g` from `knapsack`, a vector of total `W` satisfies `(s, r)` iff its excess
//! `g(⌊sX⌋) + g(X − ⌈rX⌉) − (W − 1)` is not positive. In words: there is room for a threshold between
//! the heaviest set that must stay below it and the weight that remains without the heaviest set that
//! may be missing.
//!
//! Totals need not be tried one by one. For one offset, the weights and therefore `g` only grow with
//! the total, so an increase of the total by `d` lowers the excess by at most `d`. After an excess
//! `e > 0` the scan jumps `e` totals ahead and still finds the first total that is accepted. Most
//! totals are refuted by a heavy set (`greedy`). The others need `g` itself, from a table that reuses
//! parts of the table before it (`knapsack`).
//!
//! *Cost.* A step is a bid, party, choice or table entry that is visited. The unit of comparison is
//! one table of the result, built party by party. All totals of one offset take 0.2 to 0.7 of such a
//! table for chains with about a hundred validators, 0.02 to 0.1 for large chains, up to 2 if ratios
//! are close or a budget is used, and 2.6 if fewer than ten parties hold weight, where a table costs
//! almost nothing. All 150 offsets together thus cost 3 to 100 tables, not one. The exact tables are
//! the smaller part of this cost, because heavy sets leave only one or two of them for ten offsets.
//! The rest is handing out units and keeping parties in order.
//!
//! If several offsets reach the least total, the winner is the one with the least sufficient stake
//! for the last pair, then for the pair before it, and so on. If all are equal, the earlier one in
//! `Offset::all` wins.
//!
//! The other objective, the least sufficient stake for the last pair, is a chain of such scans. Each
//! vector that is found tightens the last demand so that only a better vector satisfies it, and the
//! climb continues from its current total. Here the first vector with the least stake wins.
//!
//! Offsets are climbed in batches. All offsets of a batch start from the results of the batches
//! before it. So they give the same results whether they run one after another or, with the feature
//! `parallel`, on all cores.

use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::apportion::{Apportionment, Offset};
use crate::greedy::Greedy;
use crate::knapsack::Knapsack;

/// Number of offsets in a batch. They do not use each other's results.
const BATCH: usize = 8;

/// The offset that skips totals may take this many times the steps of a normal offset.
const COARSE: u64 = 64;

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

    /// The amount by which a vector misses the worst of the demands, or zero if it meets them all.
    /// `g` must give the largest weight of a set with bounded stake, or a lower bound on it.
    pub(crate) fn excess(demands: &[Self], total: u32, mut g: impl FnMut(u128) -> u32) -> u32 {
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
    /// Weights in the order of descending stake, without the zeros at the end.
    pub(crate) weights: Vec<u32>,
    /// The sum of the weights.
    pub(crate) total: u32,
    /// For each demand, the last one first, the least stake whose absence prevents reconstruction.
    /// The larger it is, the less stake suffices to reconstruct.
    absent: Vec<Reverse<u128>>,
}

impl Candidate {
    /// A candidate with these weights, which must satisfy the demands.
    pub(crate) fn new(stakes: &[u128], weights: Vec<u32>, demands: &[Demand]) -> Self {
        Self::with(&mut Knapsack::new(), stakes, weights, demands)
    }

    fn with(
        knapsack: &mut Knapsack,
        stakes: &[u128],
        weights: Vec<u32>,
        demands: &[Demand],
    ) -> Self {
        let total: u32 = weights.iter().sum();
        // A table up to the largest demand is usually large enough. If not, a table of all stakes is.
        for bound in [Demand::largest(demands), u128::MAX] {
            knapsack.rebuild(stakes, &weights, bound);
            let absent = demands.iter().rev().map(|demand| {
                let threshold = knapsack.largest_weight(demand.leaking).saturating_add(1);
                let stopping = total.saturating_add(1).saturating_sub(threshold);
                knapsack.least_stake(stopping).map(Reverse)
            });
            if let Some(absent) = absent.collect() {
                return Self { weights, total, absent };
            }
        }
        Self { weights, total, absent: Vec::new() }
    }

    /// The least stake whose absence prevents reconstruction for the last demand.
    pub(crate) fn absent(&self) -> u128 {
        self.absent.first().map_or(u128::MAX, |absent| absent.0)
    }
}

/// The result of all offsets together.
#[derive(Debug)]
pub(crate) struct Scan {
    /// The best vector.
    pub(crate) best: Option<Candidate>,
    /// The last total that is ruled out for every offset that found nothing.
    pub(crate) searched: u32,
    /// Whether some offset stopped because its steps were used up.
    pub(crate) exhausted: bool,
    /// Number of table entries, parties and units that were visited.
    pub(crate) steps: u64,
}

/// A vector, and the number of steps that it took to find it.
pub(crate) struct Found {
    pub(crate) best: Candidate,
    pub(crate) steps: u64,
}

/// The input that all offsets share.
pub(crate) struct Scanner<'a> {
    /// The stakes, descending. The first is not zero.
    pub(crate) stakes: &'a [u128],
    pub(crate) demands: &'a [Demand],
    /// The largest allowed total.
    pub(crate) limit: u32,
    /// The limit of steps for each offset.
    pub(crate) steps: u64,
}

impl Scanner<'_> {
    /// Finds the least total over all offsets.
    pub(crate) fn least_total(&self) -> Scan {
        let mut scan = Scan { best: None, searched: self.limit, exhausted: false, steps: 0 };
        self.each_batch(|lanes, batch| {
            let limit = scan.best.as_ref().map_or(self.limit, |best| best.total);
            let climbs = lanes::map(lanes, batch, |knapsack, offset| {
                let mut climb = self.climb(offset, 1);
                (climb.next(knapsack, self.demands, limit), climb)
            });
            for (found, climb) in climbs {
                scan.steps = scan.steps.saturating_add(climb.steps);
                if let Some(found) = found {
                    let better = scan.best.as_ref().is_none_or(|best| {
                        (found.total, &found.absent) < (best.total, &best.absent)
                    });
                    if better {
                        scan.best = Some(found);
                    }
                } else if scan.best.is_none() {
                    scan.searched = scan.searched.min(climb.total - 1);
                    scan.exhausted |= climb.total <= limit;
                }
            }
        });
        scan
    }

    /// Finds any total above `searched`, trying totals up to a sixteenth larger each time. This is
    /// used if the ratios are so close that no offset finds anything within its steps.
    pub(crate) fn some_total(&self, searched: u32) -> Scan {
        let mut scan = Scan { best: None, searched, exhausted: false, steps: 0 };
        for offset in Offset::all().take(1) {
            let steps = self.steps.saturating_mul(COARSE);
            let mut climb = self.climb(offset, searched.saturating_add(1));
            (climb.stride, climb.most_steps) = (16, steps);
            scan.best = climb.next(&mut Knapsack::new(), self.demands, self.limit);
            scan.searched = self.limit.min(climb.total.saturating_sub(1));
            scan.exhausted = climb.total <= self.limit;
            scan.steps = climb.steps;
        }
        scan
    }

    /// Finds the least sufficient stake for the last demand. `first` must satisfy the demands, and no
    /// apportionment with a smaller total may.
    pub(crate) fn least_reconstruction(&self, first: Candidate) -> Found {
        let start = first.total;
        let mut best = first;
        let mut steps = 0u64;
        self.each_batch(|lanes, batch| {
            let climbs = lanes::map(lanes, batch, |knapsack, offset| {
                let mut climb = self.climb(offset, start);
                let mut demands = self.demands.to_vec();
                let mut better: Option<Candidate> = None;
                loop {
                    if let Some(last) = demands.last_mut() {
                        // The next vector must still reconstruct without the stake whose absence
                        // stops the best one.
                        last.missing = better.as_ref().unwrap_or(&best).absent();
                    }
                    match climb.next(knapsack, &demands, self.limit) {
                        Some(found) => better = Some(found),
                        None => break (better, climb.steps),
                    }
                }
            });
            for (found, taken) in climbs {
                steps = steps.saturating_add(taken);
                if let Some(found) = found.filter(|found| found.absent() > best.absent()) {
                    best = found;
                }
            }
        });
        Found { best, steps }
    }

    fn climb(&self, offset: Offset, total: u32) -> Climb<'_> {
        Climb {
            apportionment: Apportionment::new(self.stakes, offset),
            greedy: Greedy::default(),
            changed: Vec::new(),
            total,
            stride: u32::MAX,
            steps: 0,
            most_steps: self.steps,
        }
    }

    fn each_batch(&self, mut run: impl FnMut(&mut [Knapsack], &[Offset])) {
        let offsets: Vec<Offset> = Offset::all().collect();
        let mut lanes: Vec<Knapsack> = (0..BATCH).map(|_| Knapsack::new()).collect();
        offsets.chunks(BATCH).for_each(|batch| run(&mut lanes, batch));
    }
}

/// Runs the offsets of a batch on one thread, or on several. The offset at the same position in the
/// next batch reuses the tables, so the number of steps does not depend on the threads.
mod lanes {
    use super::{Knapsack, Offset, Vec};

    #[cfg(not(feature = "parallel"))]
    pub(super) fn map<T>(
        lanes: &mut [Knapsack],
        offsets: &[Offset],
        mut climb: impl FnMut(&mut Knapsack, Offset) -> T,
    ) -> Vec<T> {
        lanes.iter_mut().zip(offsets).map(|(knapsack, offset)| climb(knapsack, *offset)).collect()
    }

    #[cfg(feature = "parallel")]
    pub(super) fn map<T: Send>(
        lanes: &mut [Knapsack],
        offsets: &[Offset],
        climb: impl Fn(&mut Knapsack, Offset) -> T + Sync,
    ) -> Vec<T> {
        use rayon::prelude::*;
        let lanes = lanes.par_iter_mut().zip(offsets);
        lanes.map(|(knapsack, offset)| climb(knapsack, *offset)).collect()
    }
}

/// The climb of one offset through growing totals.
struct Climb<'a> {
    apportionment: Apportionment<'a>,
    greedy: Greedy,
    /// The parties that got a unit since the heavy sets were sorted.
    changed: Vec<usize>,
    total: u32,
    /// A jump is at least `total / stride`.
    stride: u32,
    steps: u64,
    most_steps: u64,
}

impl Climb<'_> {
    /// The first vector without excess, from the current total up to `limit`. All totals below the
    /// current one are ruled out.
    fn next(
        &mut self,
        knapsack: &mut Knapsack,
        demands: &[Demand],
        limit: u32,
    ) -> Option<Candidate> {
        while self.total <= limit && self.steps < self.most_steps {
            let before = knapsack.cells() + self.greedy.steps();
            self.steps += self.apportionment.advance_to(self.total, &mut self.changed);
            let Some(excess) = self.excess(knapsack, demands) else {
                self.steps = self.most_steps;
                return None;
            };
            let candidate = (excess == 0).then(|| {
                let (stakes, weights) = (self.apportionment.stakes(), self.apportionment.weights());
                Candidate::with(knapsack, stakes, weights.to_vec(), demands)
            });
            self.steps += knapsack.cells() + self.greedy.steps() - before;
            if candidate.is_some() {
                return candidate;
            }
            let step = excess.max(self.total / self.stride);
            self.total = self.total.saturating_add(step);
        }
        None
    }

    /// The excess, found by the cheapest method that shows one. `None` if this takes more steps than
    /// are left.
    fn excess(&mut self, knapsack: &mut Knapsack, demands: &[Demand]) -> Option<u32> {
        let (stakes, weights) = (self.apportionment.stakes(), self.apportionment.weights());
        let (total, greedy) = (self.total, &mut self.greedy);
        greedy.update(stakes, weights, &mut self.changed);
        let mut excess = Demand::excess(demands, total, |bound| greedy.heavy_weight(bound));
        if excess == 0 {
            excess = Demand::excess(demands, total, |bound| greedy.heaviest_around_break(bound));
        }
        if excess == 0 {
            if self.steps.saturating_add(Knapsack::most_cells(weights)) > self.most_steps {
                return None;
            }
            knapsack.rebuild(stakes, weights, Demand::largest(demands));
            excess = Demand::excess(demands, total, |bound| knapsack.largest_weight(bound));
        }
        Some(excess)
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
                let mut apportionment = Apportionment::new(stakes, offset);
                apportionment.advance_to(total, &mut Vec::new());
                let mut knapsack = Knapsack::new();
                knapsack.rebuild(stakes, apportionment.weights(), u128::MAX);
                if Demand::excess(demands, total, |bound| knapsack.largest_weight(bound)) == 0 {
                    let weights = apportionment.weights().to_vec();
                    candidates.push(Candidate::new(stakes, weights, demands));
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
                let scanner =
                    Scanner { stakes: &stakes, demands: &demands, limit, steps: u64::MAX };
                let found = scanner.least_total().best;
                assert_eq!(found.as_ref().map(|found| found.total), least);
                let Some(found) = found else { continue };
                let best = scanner.least_reconstruction(found).best;
                let most = all.iter().map(Candidate::absent).max();
                assert_eq!(Some(best.absent()), most, "{stakes:?}, missing {missing}");
            }
        }
    }
}
