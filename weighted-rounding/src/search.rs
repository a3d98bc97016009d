//! The scan: least total whose apportionment, for some offset, satisfies every pair.
//!
//! With `g` from `knapsack`, a vector of total `W` satisfies `(s, r)` iff its excess
//! `g(⌊sX⌋) + g(X − ⌈rX⌉) − (W − 1)` is not positive: the heaviest set that must stay below the
//! threshold and the heaviest set that may be missing leave room for a threshold between them.
//!
//! Totals need not be tried one by one. Weights of one offset only grow with the total, and so does
//! `g`; a step by `d` lowers the excess by at most `d`. So from an excess `e > 0` the scan jumps `e`
//! totals ahead and still finds the first that is accepted. Most totals are refuted by a heavy set
//! (`greedy`); the others need `g` itself, in a table that starts from the last one (`knapsack`).
//!
//! *What it costs*, in steps (a bid, party, choice or table entry that is looked at) against one table
//! of the result made party by party: all totals of an offset take 0.2 to 0.7 of such a table for
//! the chains with about a hundred validators, 0.02 to 0.1 for the large ones, up to 2 where ratios
//! are close or a budget is spent, and 2.6 where fewer than ten parties hold weight and a table is next
//! to nothing. All 150 offsets together are thus 3 to 100 tables, not one. The exact tables in it are the smaller part, for heavy sets leave
//! only one or two for ten offsets; what remains is handing out units and keeping parties in order.
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

/// Offsets that do not hear of each other's finds.
const BATCH: usize = 8;

/// How many offsets' steps the one may take that skips totals.
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

    /// By how much a vector misses the worst of the demands, zero if it meets them all; `g` gives the
    /// largest weight of a set with bounded stake, or less.
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
    /// Weights along descending stake, without the zeros at the end.
    pub(crate) weights: Vec<u32>,
    /// Their sum.
    pub(crate) total: u32,
    /// Least stake whose absence stops each demand, the last demand first: the more that takes, the
    /// less stake reconstructs.
    absent: Vec<Reverse<u128>>,
}

impl Candidate {
    /// What `weights` are worth; they satisfy the demands.
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
        // The table in hand mostly reaches far enough; if not, one of all stakes does.
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

    /// The least stake whose absence stops the last demand.
    pub(crate) fn absent(&self) -> u128 {
        self.absent.first().map_or(u128::MAX, |absent| absent.0)
    }
}

/// What all offsets together came to.
#[derive(Debug)]
pub(crate) struct Scan {
    /// The best vector.
    pub(crate) best: Option<Candidate>,
    /// The last total that is ruled out for all offsets that found nothing.
    pub(crate) searched: u32,
    /// Whether an offset stopped there because its steps were used up.
    pub(crate) exhausted: bool,
    /// Table entries, parties and units that were looked at.
    pub(crate) steps: u64,
}

/// A vector, and the steps that it took.
pub(crate) struct Found {
    pub(crate) best: Candidate,
    pub(crate) steps: u64,
}

/// The offsets' common task.
pub(crate) struct Scanner<'a> {
    /// Descending, the first is not zero.
    pub(crate) stakes: &'a [u128],
    pub(crate) demands: &'a [Demand],
    /// The largest total.
    pub(crate) limit: u32,
    /// How many steps an offset may take.
    pub(crate) steps: u64,
}

impl Scanner<'_> {
    /// The least total.
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

    /// Any total above `searched`, up to a sixteenth larger each time: what is left when the ratios
    /// are so close that no offset comes far.
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

    /// The least stake from which the last demand reconstructs. `first` satisfies the demands, and no
    /// apportionment of a smaller total does.
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
                        // What already stops the best must not stop what follows.
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

/// The offsets of a batch, on one thread or on all of them. Each has tables that the offset in its
/// place of the next batch goes on with, so that steps are counted alike.
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

/// One offset on its way up through the totals.
struct Climb<'a> {
    apportionment: Apportionment<'a>,
    greedy: Greedy,
    /// Who got a unit since the heavy sets were sorted.
    changed: Vec<usize>,
    total: u32,
    /// Of so many totals one is tried at least.
    stride: u32,
    steps: u64,
    most_steps: u64,
}

impl Climb<'_> {
    /// The first vector without excess, from where the climb stands up to `limit`; all totals below
    /// where it stands are ruled out.
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

    /// By the cheapest means that shows any; nothing if that takes more steps than are left.
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
