//! Branch and bound: totals are refuted one after another until a vector satisfies all demands, or
//! until the nodes are used up.
//!
//! *Only sorted weights are needed.* If a party with more stake has less weight than another,
//! swapping the two weights keeps every pair: each set that gets heavier by the swap now has the
//! weight that another set, with no more stake, had before. So only vectors that do not increase
//! along descending stake are tried.
//!
//! A node is a [`Region`]: all sorted vectors `w` of total `W` with `low ≤ w ≤ high`. Any set `S` has
//! `w(S) ≥ low(S)`. Also `w(S) ≥ high(S) − (Σ high − W)`, because `high(S) − w(S)` is at most the
//! total surplus of `high`. Hence for every vector of the region
//!
//! `g_w(b) ≥ max(g_low(b), g_high(b) − (Σ high − W))`,
//!
//! and if these bounds miss a pair, the whole region misses it. Otherwise the region is cut in two:
//! in one half the weight of one party, and of all parties behind it, is at most `v`; in the other
//! half the weight of this party, and of all before it, is at least `v + 1`. The cut is made where
//! both halves shrink the most. Regions far from a solution miss by a large amount and are refuted
//! while they are large. So hundreds or thousands of nodes suffice where a search party by party
//! needs millions.
//!
//! As in `search`, a miss by `e` at total `W` rules out all totals below `W + e`, because every
//! sorted vector of such a total lies above a sorted vector of total `W`. The least `e` over all
//! regions is the jump to the next total.

use alloc::vec;
use alloc::vec::Vec;

use crate::greedy::Greedy;
use crate::knapsack::Knapsack;
use crate::search::Demand;

/// The result about the least total.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Exact {
    /// This vector has the least total.
    Least(Vec<u32>),
    /// The least total is at least this number.
    AtLeast(u32),
}

enum Refutation {
    /// This vector satisfies all demands.
    Met(Vec<u32>),
    /// No vector of this total does, nor of any total that is larger by less than this number.
    Excess(u32),
    OutOfNodes,
}

/// The search, and the number of nodes that it may still visit.
pub(crate) struct Tree<'a> {
    stakes: &'a [u128],
    demands: &'a [Demand],
    nodes: u64,
    /// The bounds from the region's low and high vectors.
    bounds: [Bound; 2],
}

impl<'a> Tree<'a> {
    /// `stakes` must descend, and none may be zero.
    pub(crate) fn new(stakes: &'a [u128], demands: &'a [Demand], nodes: u64) -> Self {
        Self { stakes, demands, nodes, bounds: [Bound::default(), Bound::default()] }
    }

    /// Refutes totals from one upward, until a vector with a total below `known` satisfies the
    /// demands, all totals below `known` are refuted, or no nodes are left.
    pub(crate) fn least_below(&mut self, known: u32) -> Exact {
        self.least_between(1, known)
    }

    /// Like `least_below`, if totals below `first` are refuted already.
    pub(crate) fn least_between(&mut self, first: u32, known: u32) -> Exact {
        let mut total = first;
        while total < known {
            match self.refute(total) {
                Refutation::Met(weights) => return Exact::Least(weights),
                Refutation::Excess(excess) => total = total.saturating_add(excess),
                Refutation::OutOfNodes => break,
            }
        }
        Exact::AtLeast(total.min(known))
    }

    /// The number of nodes that are left.
    pub(crate) const fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Searches all vectors of this total.
    fn refute(&mut self, total: u32) -> Refutation {
        let mut least = u32::MAX;
        let mut open = vec![Region::all(self.stakes.len(), total)];
        while let Some(mut region) = open.pop() {
            if region.tighten(total).is_none() {
                continue;
            }
            let Some(nodes) = self.nodes.checked_sub(1) else { return Refutation::OutOfNodes };
            self.nodes = nodes;
            let excess = self.excess(&region, total);
            if excess > 0 {
                least = least.min(excess);
                continue;
            }
            match region.halves() {
                Some(halves) => open.extend(halves),
                None => return Refutation::Met(held(&region.low).to_vec()),
            }
        }
        Refutation::Excess(least)
    }

    /// An amount by which every vector of the region misses at least one demand.
    fn excess(&mut self, region: &Region, total: u32) -> u32 {
        let surplus = region.high.iter().sum::<u32>().saturating_sub(total);
        let [low, high] = &mut self.bounds;
        low.greedy.sort(self.stakes, held(&region.low));
        high.greedy.sort(self.stakes, held(&region.high));
        let quick = Demand::excess(self.demands, total, |bound| {
            let of_high = high.greedy.heavy_weight(bound).saturating_sub(surplus);
            low.greedy.heavy_weight(bound).max(of_high)
        });
        if quick > 0 {
            return quick;
        }
        let close = Demand::excess(self.demands, total, |bound| {
            let of_high = high.greedy.heaviest_around_break(bound).saturating_sub(surplus);
            low.greedy.heaviest_around_break(bound).max(of_high)
        });
        if close > 0 {
            return close;
        }
        let largest = Demand::largest(self.demands);
        low.knapsack.rebuild(self.stakes, held(&region.low), largest);
        high.knapsack.rebuild(self.stakes, held(&region.high), largest);
        Demand::excess(self.demands, total, |bound| {
            let of_high = high.knapsack.largest_weight(bound).saturating_sub(surplus);
            low.knapsack.largest_weight(bound).max(of_high)
        })
    }
}

/// The tools for lower bounds on `g` of one vector: greedy sets and an exact table.
#[derive(Default)]
struct Bound {
    greedy: Greedy,
    knapsack: Knapsack,
}

/// The weights up to the first zero.
fn held(weights: &[u32]) -> &[u32] {
    weights.split(|weight| *weight == 0).next().unwrap_or_default()
}

/// All sorted vectors between two sorted vectors.
#[derive(Clone, Debug)]
struct Region {
    low: Vec<u32>,
    high: Vec<u32>,
}

impl Region {
    /// Every sorted vector of this total: the `i`-th weight is at most the mean of the first `i`.
    fn all(parties: usize, total: u32) -> Self {
        let high: Vec<u32> = (1..=total).take(parties).map(|place| total / place).collect();
        Self { low: vec![0; high.len()], high }
    }

    /// Moves the two vectors as close together as the total allows. `None` if no vector is left.
    fn tighten(&mut self, total: u32) -> Option<()> {
        loop {
            let to_add = total.checked_sub(self.low.iter().sum())?;
            let to_take = self.high.iter().sum::<u32>().checked_sub(total)?;
            let lowered = self.lower_high(to_add)?;
            let raised = self.raise_low(to_take)?;
            if !lowered && !raised {
                return Some(());
            }
        }
    }

    /// Lowers `high`: a weight can only be as high as `to_add` units lift it together with all before
    /// it.
    fn lower_high(&mut self, to_add: u32) -> Option<bool> {
        let (mut changed, mut cap) = (false, u32::MAX);
        let steps = Steps::new(&self.low);
        for (place, high) in self.high.iter_mut().enumerate() {
            let low = *self.low.get(place)?;
            let before = *high;
            let most = before.min(cap).checked_sub(low)?;
            *high = low + largest(most, |units| steps.lift(place, low + units) <= to_add);
            changed |= *high != before;
            cap = *high;
        }
        Some(changed)
    }

    /// Raises `low`: a weight can only be as low as `to_take` units drop it together with all behind
    /// it.
    fn raise_low(&mut self, to_take: u32) -> Option<bool> {
        let (mut changed, mut floor) = (false, 0);
        let steps = Steps::new(&self.high);
        for (place, low) in self.low.iter_mut().enumerate().rev() {
            let high = *self.high.get(place)?;
            let before = *low;
            let most = high.checked_sub(before.max(floor))?;
            *low = high - largest(most, |units| steps.drop(place, high - units) <= to_take);
            changed |= *low != before;
            floor = *low;
        }
        Some(changed)
    }

    /// Cuts the region into two that share no vector and together have all of them. `None` if there
    /// is only one vector.
    fn halves(&self) -> Option<[Self; 2]> {
        let (rising, falling) = (Steps::new(&self.low), Steps::new(&self.high));
        let sides =
            self.low.iter().zip(&self.high).enumerate().filter(|(_, (low, high))| low < high);
        let cuts = sides.map(|(place, (low, high))| {
            let most = low.midpoint(*high);
            let lifted = rising.lift(place, most + 1);
            let dropped = falling.drop(place, most);
            ((lifted.min(dropped), lifted.max(dropped)), (place, most))
        });
        // Among equal cuts, the first is taken.
        let (_, (place, most)) = cuts.rev().max_by_key(|(gain, _)| *gain)?;
        let mut above = self.clone();
        above.low.iter_mut().take(place + 1).for_each(|low| *low = (*low).max(most + 1));
        let mut below = self.clone();
        below.high.iter_mut().skip(place).for_each(|high| *high = (*high).min(most));
        Some([above, below])
    }
}

/// The largest accepted number up to `most`, or zero. All numbers below an accepted one must be
/// accepted.
fn largest(most: u32, accepted: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0, most);
    if accepted(most) {
        return most;
    }
    while low + 1 < high {
        let middle = low.midpoint(high);
        if accepted(middle) { low = middle } else { high = middle }
    }
    low
}

/// Weights that do not increase, with their running sums.
struct Steps<'a> {
    weights: &'a [u32],
    /// The sums of the first 0, 1, 2, … weights.
    sums: Vec<u32>,
}

impl<'a> Steps<'a> {
    fn new(weights: &'a [u32]) -> Self {
        let mut sum = 0u32;
        let rest = weights.iter().map(|weight| {
            sum = sum.saturating_add(*weight);
            sum
        });
        let sums = core::iter::once(0).chain(rest).collect();
        Self { weights, sums }
    }

    /// Number of units that raise the weight at `place`, and those before it, to at least `weight`.
    fn lift(&self, place: usize, weight: u32) -> u32 {
        let first = self.weights.partition_point(|other| *other >= weight);
        let end = (place + 1).max(first);
        self.filled(first, end, weight).saturating_sub(self.held(first, end))
    }

    /// Number of units that are removed when the weight at `place`, and those behind it, drop to at
    /// most `weight`.
    fn drop(&self, place: usize, weight: u32) -> u32 {
        let end = self.weights.partition_point(|other| *other > weight).max(place);
        self.held(place, end).saturating_sub(self.filled(place, end, weight))
    }

    fn filled(&self, first: usize, end: usize, weight: u32) -> u32 {
        u32::try_from(end - first).unwrap_or(u32::MAX).saturating_mul(weight)
    }

    fn held(&self, first: usize, end: usize) -> u32 {
        let sum = |count| self.sums.get(count).copied().unwrap_or(u32::MAX);
        sum(end) - sum(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All sorted vectors of a total, by recursion.
    fn sorted(parties: usize, cap: u32, total: u32) -> Vec<Vec<u32>> {
        if parties == 0 {
            return if total == 0 { vec![Vec::new()] } else { Vec::new() };
        }
        (0..=cap.min(total))
            .flat_map(|first| {
                let rest = sorted(parties - 1, first, total - first);
                rest.into_iter().map(move |rest| [vec![first], rest].concat())
            })
            .collect()
    }

    #[test]
    fn cutting_loses_no_vector_and_repeats_none() {
        for (parties, total) in [(1, 5), (4, 4), (5, 11), (3, 12), (6, 9)] {
            let (mut open, mut found) = (vec![Region::all(parties, total)], Vec::new());
            while let Some(mut region) = open.pop() {
                if region.tighten(total).is_none() {
                    continue;
                }
                match region.halves() {
                    Some(halves) => open.extend(halves),
                    None => found.push(region.low),
                }
            }
            found.sort_unstable();
            let mut expected = sorted(parties, total, total);
            expected.iter_mut().for_each(|vector| vector.truncate(usize::try_from(total).unwrap()));
            expected.sort_unstable();
            assert_eq!(found, expected, "{parties} parties, total {total}");
        }
    }
}
