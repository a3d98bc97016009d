//! The exact largest weight of a coalition with bounded stake.
//!
//! `least[v]` is the least stake of any set with weight `≥ v`, so the largest weight within stake `b`
//! is `g(b) = max { v : least[v] ≤ b }`. The cost of a table over weights does not depend on the size
//! of the stakes.
//!
//! Parties of the same weight `w` are added together. Of these, only the `j` with the least stake
//! matter, with total stake `P[j]`, and `P` is convex. Then
//! `least'[v] = min over j of least[v − j·w] + P[j]`, and for each residue of `v` modulo `w`, the
//! best `v − j·w` never decreases as `v` grows (the sums are totally monotone). So halving finds all
//! minima in `O(L log L)` for `L` entries. Weights that sum to `W` have fewer than `√(2W)` distinct
//! values, which makes the table cheap even for thousands of parties.
//!
//! **Incremental.** Classes of light parties are added first, because the weights of heavy parties
//! change most often as the total grows. Copies of the unfinished table, [`Rung`]s, are kept 1, 2, 4,
//! 8, … classes before the end. The next vector starts from the last copy whose parties all kept
//! their weights.
//!
//! The check of results, `verify`, builds its own tables in a different way.

use alloc::vec::Vec;
use core::cell::Cell;

/// Up to this many parties of the same weight are added one by one.
const FEW: usize = 8;

/// Number of entries that are kept in copies. More would cost memory and save little time.
const MOST_KEPT: usize = 1 << 20;

/// The table, with buffers to rebuild it without new allocations.
#[derive(Debug, Default)]
pub(crate) struct Knapsack {
    least: Vec<u128>,
    /// The weights of the table; `bound` is the largest stake that it covers.
    weights: Vec<u32>,
    bound: u128,
    rungs: Vec<Rung>,
    old: Vec<u128>,
    prefix: Vec<u128>,
    chain: Vec<u128>,
    fresh: Vec<u128>,
    cells: u64,
}

/// The table of all parties from `start` on.
#[derive(Debug)]
struct Rung {
    start: usize,
    least: Vec<u128>,
}

impl Knapsack {
    /// An empty table.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Builds the table for `weights`. None of them may be zero, and neither `weights` nor `stakes`
    /// may increase. `stakes` must be the same in every call. Entries above `bound` may be too large,
    /// or missing, so pass the largest stake that will be asked for.
    pub(crate) fn rebuild(&mut self, stakes: &[u128], weights: &[u32], bound: u128) {
        let start = self.restart(weights, bound);
        if start == weights.len() {
            self.least.clear();
            self.least.push(0);
        }
        self.weights.clear();
        self.weights.extend_from_slice(weights);
        let mut left = weights.get(..start).unwrap_or_default();
        let mut classes = left.chunk_by(|one, other| one == other).count();
        while let Some(&weight) = left.last() {
            let count = left.iter().rev().take_while(|other| **other == weight).count();
            let start = left.len() - count;
            let class = stakes.get(start..left.len()).unwrap_or_default();
            self.add_class(usize::try_from(weight).unwrap_or(usize::MAX), class);
            let kept = self.least.partition_point(|stake| *stake <= self.bound);
            self.least.truncate(kept.max(1));
            (left, classes) = (left.get(..start).unwrap_or_default(), classes - 1);
            if classes.is_power_of_two() {
                self.keep(start);
            }
        }
    }

    /// Keeps a copy of the table of all parties from `start` on. If there are too many entries, the
    /// first copies are dropped.
    fn keep(&mut self, start: usize) {
        self.rungs.push(Rung { start, least: self.least.clone() });
        let mut kept: usize = self.rungs.iter().map(|rung| rung.least.len()).sum();
        while let Some(first) = self.rungs.first().filter(|_| kept > MOST_KEPT) {
            kept -= first.least.len();
            self.rungs.remove(0);
        }
    }

    /// Goes back to a table that is also part of the table for `weights`. Returns the first position
    /// that is in it.
    fn restart(&mut self, weights: &[u32], bound: u128) -> usize {
        if bound > self.bound || weights.len() != self.weights.len() {
            self.rungs.clear();
            self.bound = bound;
            return weights.len();
        }
        let pairs = weights.iter().zip(&self.weights);
        let Some(last) = pairs.clone().rposition(|(new, old)| new != old) else { return 0 };
        // A copy must not start in the middle of a class, neither of the old nor of the new vector.
        let same = |start: usize| start > last && weights.get(start - 1) != weights.get(start);
        while self.rungs.last().is_some_and(|rung| !same(rung.start)) {
            self.rungs.pop();
        }
        let Some(rung) = self.rungs.last() else { return weights.len() };
        self.least.clone_from(&rung.least);
        rung.start
    }

    /// Number of entries that were compared so far.
    pub(crate) const fn cells(&self) -> u64 {
        self.cells
    }

    /// An estimate of the greatest number of entries that a table of these weights compares.
    pub(crate) fn most_cells(weights: &[u32]) -> u64 {
        let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        let halvings = 2 * u64::from(u64::BITS - total.leading_zeros());
        let classes = weights.chunk_by(|one, other| one == other);
        let passes = classes.map(|class| u64::try_from(class.len()).unwrap_or(u64::MAX));
        total.saturating_mul(passes.map(|count| count.min(halvings)).sum())
    }

    /// `g(bound)`: the largest weight of a set with stake at most `bound`.
    pub(crate) fn largest_weight(&self, bound: u128) -> u32 {
        let within = self.least.partition_point(|stake| *stake <= bound);
        u32::try_from(within - 1).unwrap_or(u32::MAX)
    }

    /// The least stake of a set with at least this weight. `None` if the table has no such set.
    pub(crate) fn least_stake(&self, weight: u32) -> Option<u128> {
        self.least.get(usize::try_from(weight).ok()?).copied()
    }

    /// Adds parties of equal `weight`, which must not be zero. `stakes` must descend.
    fn add_class(&mut self, weight: usize, stakes: &[u128]) {
        let entries = self.least.len() + stakes.len() * weight;
        if stakes.len() <= FEW {
            self.cells += u64::try_from(entries * stakes.len()).unwrap_or(u64::MAX);
            stakes.iter().for_each(|stake| self.add_one(weight, *stake));
            return;
        }
        self.prefix.clear();
        self.prefix.push(0);
        let mut sum = 0u128;
        self.prefix.extend(stakes.iter().rev().map(|stake| {
            sum = sum.saturating_add(*stake);
            sum
        }));
        core::mem::swap(&mut self.least, &mut self.old);
        self.least.clear();
        self.least.resize(entries, u128::MAX);
        for residue in 0..weight {
            self.add_residue(weight, residue);
        }
    }

    fn add_one(&mut self, weight: usize, stake: u128) {
        let before = self.least.len();
        self.least.resize(before + weight, u128::MAX);
        let cells = Cell::from_mut(self.least.as_mut_slice()).as_slice_of_cells();
        let from = cells.get(..before).unwrap_or_default();
        let to = cells.get(weight..).unwrap_or_default();
        for (to, from) in to.iter().zip(from).rev() {
            to.set(to.get().min(from.get().saturating_add(stake)));
        }
        // For entries below the party's weight, the set may be the party alone.
        for cell in cells.get(1..weight).unwrap_or_default() {
            cell.set(cell.get().min(stake));
        }
    }

    /// Computes the entries `v ≡ residue` modulo `weight`.
    fn add_residue(&mut self, weight: usize, residue: usize) {
        self.chain.clear();
        if residue > 0 {
            // "Weight at least v" for negative v: the empty set.
            self.chain.push(0);
        }
        self.chain.extend(self.old.iter().skip(residue).step_by(weight));
        let skipped = usize::from(residue > 0);
        let rows = self.least.iter().skip(residue).step_by(weight).count();
        self.fresh.clear();
        self.fresh.resize(rows, u128::MAX);
        let convolution = Convolution { chain: &self.chain, prefix: &self.prefix };
        self.cells += convolution.minimize(&mut self.fresh, skipped, 0, self.chain.len());
        let targets = self.least.iter_mut().skip(residue).step_by(weight);
        targets.zip(&self.fresh).for_each(|(target, fresh)| *target = *fresh);
    }
}

/// `row ↦ min over column of chain[column] + prefix[row − column]`, `prefix` convex.
struct Convolution<'a> {
    chain: &'a [u128],
    prefix: &'a [u128],
}

impl Convolution<'_> {
    /// Fills `rows`, the first of which has number `first`. The best columns lie in `from..to`.
    /// Returns the number of entries that were compared.
    fn minimize(&self, rows: &mut [u128], first: usize, from: usize, to: usize) -> u64 {
        let middle = rows.len() / 2;
        let (above, rest) = rows.split_at_mut(middle);
        let Some((row, below)) = rest.split_first_mut() else { return 0 };
        let number = first + middle;
        let lowest = from.max((number + 1).saturating_sub(self.prefix.len()));
        let highest = to.min(number + 1);
        let columns = self.chain.get(lowest..highest).unwrap_or_default();
        let parts = self.prefix.get(..=number - lowest.min(number)).unwrap_or_default();
        let mut best = lowest;
        for (column, (chain, part)) in (lowest..).zip(columns.iter().zip(parts.iter().rev())) {
            let sum = chain.saturating_add(*part);
            if sum < *row {
                (*row, best) = (sum, column);
            }
        }
        u64::try_from(columns.len()).unwrap_or(u64::MAX)
            + self.minimize(above, first, from, (best + 1).min(to))
            + self.minimize(below, number + 1, best, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// Least stake per weight by trying all subsets.
    fn by_subsets(stakes: &[u128], weights: &[u32]) -> Vec<u128> {
        let total: u32 = weights.iter().sum();
        let mut least = vec![u128::MAX; usize::try_from(total).unwrap() + 1];
        for set in 0u32..1 << stakes.len() {
            let inside = |i: &usize| set >> *i & 1 == 1;
            let stake = (0..stakes.len()).filter(inside).map(|i| stakes[i]).sum();
            let weight: u32 = (0..stakes.len()).filter(inside).map(|i| weights[i]).sum();
            for cell in &mut least[..=usize::try_from(weight).unwrap()] {
                *cell = (*cell).min(stake);
            }
        }
        least
    }

    #[test]
    fn the_table_is_that_of_all_subsets() {
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..300 {
            let n = 1 + draw(13);
            let heaviest = 1 + draw(if round % 2 == 0 { 3 } else { 9 });
            let mut stakes: Vec<u128> = (0..n).map(|_| (1 + draw(60)).into()).collect();
            let mut weights: Vec<u32> =
                (0..n).map(|_| u32::try_from(1 + draw(heaviest)).unwrap()).collect();
            stakes.sort_unstable_by(|a, b| b.cmp(a));
            weights.sort_unstable_by(|a, b| b.cmp(a));
            let mut knapsack = Knapsack::new();
            knapsack.rebuild(&stakes, &weights, u128::MAX);
            let expected = by_subsets(&stakes, &weights);
            assert_eq!(knapsack.least, expected, "{stakes:?} {weights:?}");
            let bound = expected[expected.len() / 2];
            knapsack.rebuild(&stakes, &weights, bound);
            let within = expected.partition_point(|stake| *stake <= bound);
            assert_eq!(usize::try_from(knapsack.largest_weight(bound)).unwrap(), within - 1);
        }
    }

    #[test]
    fn many_equal_weights_take_the_monotone_way() {
        let stakes: Vec<u128> = (1..=40u128).rev().map(|x| x * x).collect();
        let weights: Vec<u32> = [vec![3; 20], vec![2; 12], vec![1; 8]].concat();
        let mut one_by_one = Knapsack::new();
        one_by_one.least.push(0);
        for (stake, weight) in stakes.iter().zip(&weights) {
            one_by_one.add_one(usize::try_from(*weight).unwrap(), *stake);
        }
        let mut by_class = Knapsack::new();
        by_class.rebuild(&stakes, &weights, u128::MAX);
        assert_eq!(by_class.least, one_by_one.least);
    }

    /// One table after another, as offsets, totals and regions ask for them.
    #[test]
    fn what_is_kept_of_the_last_table_is_that_of_a_new_one() {
        let mut state = 7u64;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from((state >> 33) % below).unwrap()
        };
        let stakes: Vec<u128> = (1..=30u128).rev().map(|x| x * x * x + 7 * x).collect();
        let mut weights: Vec<u32> = (1..=24u32).rev().map(|weight| weight / 3 + 1).collect();
        let mut kept = Knapsack::new();
        let (mut spent, mut afresh) = (0, 0);
        for round in 0..600 {
            match draw(8) {
                0 if weights.len() < 30 => weights.push(1),
                1 if weights.len() > 12 => weights.truncate(weights.len() - 1),
                // The heavy change most often.
                _ => {
                    let place = draw(24).min(draw(24)).min(weights.len() - 1);
                    weights[place] += 1;
                }
            }
            weights.sort_unstable_by(|a, b| b.cmp(a));
            if round % 50 == 49 {
                weights.iter_mut().for_each(|weight| *weight = weight.div_ceil(2));
            }
            let bound = [u128::MAX, 60_000, 90_000][draw(40).min(2)];
            let before = kept.cells();
            kept.rebuild(&stakes, &weights, bound);
            let mut fresh = Knapsack::new();
            fresh.rebuild(&stakes, &weights, bound);
            (spent, afresh) = (spent + kept.cells() - before, afresh + fresh.cells());
            let within = fresh.least.partition_point(|stake| *stake <= bound);
            assert_eq!(kept.least.get(..within), fresh.least.get(..within), "round {round}");
            assert_eq!(kept.largest_weight(bound), fresh.largest_weight(bound));
            assert!(kept.rungs.len() <= 24);
        }
        assert!(spent * 10 < afresh * 9, "{spent} of {afresh} entries");
    }
}
