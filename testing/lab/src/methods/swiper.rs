//! Swiper's method for a pair of ratios (its "weight separation"), after
//! [arXiv:2307.15561](https://arxiv.org/abs/2307.15561).
//!
//! Weights are `⌊σ·xᵢ + c⌋` with the one offset `c = (s + r)/2`. A total of `n·(s + r)(1 − s)/(r − s)` is
//! proven to be enough; from there the scale `σ` is bisected with an exact knapsack as the test, each
//! time up or down to where the next weight changes. Where several parties change at once, a second
//! bisection finds how many of them must. The test is not monotone, so a local minimum is found: the
//! difference from a scan over all totals and many offsets.
//!
//! Scales are multiples of `2^−FRACTION` here, fine enough that two parties share a step only if
//! they change at one scale.

use super::Task;

/// Bits behind the point of a scale, less those of the offset's denominator.
const FRACTION: u32 = 104;

/// Weights and threshold.
pub(super) fn round(task: &Task) -> Option<(Vec<u32>, u32)> {
    let family = Family::new(task)?;
    let mut high = family.enough(task)?;
    let mut low = 0;
    while low < high {
        let middle = low.midpoint(high);
        let weights = family.weights(middle)?;
        if Table::new(&task.stakes, &weights).separates(task) {
            high = family.first_like(&weights)?;
        } else {
            low = family.first_after(&weights)?.min(high);
        }
    }
    let weights = settle(task, &family, high)?;
    let table = Table::new(&task.stakes, &weights);
    table.separates(task).then(|| (weights, table.heaviest(task.leaking) + 1))
}

/// How many of the parties that change at the scale must, from the first in the table on.
fn settle(task: &Task, family: &Family<'_>, scale: u128) -> Option<Vec<u32>> {
    let (before, after) = (family.weights(scale.checked_sub(1)?)?, family.weights(scale)?);
    let border = before.iter().zip(&after).filter(|(before, after)| before != after).count();
    let with = |count: usize| -> Vec<u32> {
        let mut left = count;
        let pairs = before.iter().zip(&after);
        pairs
            .map(|(before, after)| {
                let changes = before != after && left > 0;
                left -= usize::from(changes);
                if changes { *after } else { *before }
            })
            .collect()
    };
    let (mut low, mut high) = (0, border);
    while low + 1 < high {
        let middle = low.midpoint(high);
        if Table::new(&task.stakes, &with(middle)).separates(task) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(with(high))
}

/// All vectors of the method, by scale.
struct Family<'a> {
    stakes: &'a [u128],
    /// The offset's numerator and denominator.
    offset: (u128, u128),
    /// The scale one.
    one: u128,
}

impl<'a> Family<'a> {
    fn new(task: &'a Task) -> Option<Self> {
        let (below, above, scale) = task.scaled_ratios()?;
        let denominator = scale.checked_mul(2)?;
        let used = u128::BITS - denominator.leading_zeros();
        let one = 1u128.checked_shl(FRACTION.checked_sub(used)?)?;
        Some(Self { stakes: &task.stakes, offset: (below + above, denominator), one })
    }

    fn weights(&self, scale: u128) -> Option<Vec<u32>> {
        let (numerator, denominator) = self.offset;
        let shift = self.one.checked_mul(numerator)?;
        let unit = self.one.checked_mul(denominator)?;
        let weight = |stake: &u128| {
            let scaled = stake.checked_mul(scale)?.checked_mul(denominator)?;
            u32::try_from(scaled.checked_add(shift)? / unit).ok()
        };
        self.stakes.iter().map(weight).collect()
    }

    /// The scale at which a stake earns its `unit`-th unit, not the zeroth.
    fn event(&self, stake: u128, unit: u32) -> Option<u128> {
        let (numerator, denominator) = self.offset;
        let distance = u128::from(unit).checked_mul(denominator)?.checked_sub(numerator)?;
        Some(distance.checked_mul(self.one)?.div_ceil(denominator.checked_mul(stake)?))
    }

    /// The least scale with these weights.
    fn first_like(&self, weights: &[u32]) -> Option<u128> {
        let held = self.stakes.iter().zip(weights).filter(|(_, weight)| **weight > 0);
        let events = held.map(|(stake, weight)| self.event(*stake, *weight));
        events.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// The least scale with larger weights.
    fn first_after(&self, weights: &[u32]) -> Option<u128> {
        let holders = self.stakes.iter().zip(weights).filter(|(stake, _)| **stake > 0);
        let events = holders.map(|(stake, weight)| self.event(*stake, weight + 1));
        events.collect::<Option<Vec<_>>>()?.into_iter().min()
    }

    /// The least scale with a total that is proven to be enough.
    fn enough(&self, task: &Task) -> Option<u128> {
        let (below, above, scale) = task.scaled_ratios()?;
        let factor = (below + above).checked_mul(scale - below)?;
        let factor = factor.checked_mul(task.holders())?;
        let bound = factor.div_ceil(scale.checked_mul(above - below)?);
        let total = |scale| {
            let weights = self.weights(scale)?;
            Some(weights.iter().map(|weight| u128::from(*weight)).sum::<u128>())
        };
        let largest = self.stakes.iter().max()?;
        let (mut low, mut high) = (0, self.one / largest + 1);
        while total(high)? < bound {
            (low, high) = (high, high.checked_mul(2)?);
        }
        while low + 1 < high {
            let middle = low.midpoint(high);
            if total(middle)? < bound { low = middle } else { high = middle }
        }
        Some(high)
    }
}

/// The least stake of a set with exactly a weight, by weight.
struct Table(Vec<u128>);

impl Table {
    fn new(stakes: &[u128], weights: &[u32]) -> Self {
        let mut least = vec![0];
        for (stake, weight) in stakes.iter().zip(weights).filter(|(_, weight)| **weight > 0) {
            let weight = usize::try_from(*weight).unwrap_or(usize::MAX);
            let without = least.clone();
            least.resize(without.len() + weight, u128::MAX);
            for (cell, before) in least.iter_mut().skip(weight).zip(&without) {
                *cell = (*cell).min(before.saturating_add(*stake));
            }
        }
        Self(least)
    }

    /// The largest weight within a stake.
    fn heaviest(&self, stake: u128) -> u32 {
        let place = self.0.iter().rposition(|least| *least <= stake).unwrap_or(0);
        u32::try_from(place).unwrap_or(u32::MAX)
    }

    /// Whether some threshold satisfies the pair.
    fn separates(&self, task: &Task) -> bool {
        let total = u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX);
        self.heaviest(task.leaking).saturating_add(self.heaviest(task.missing)) < total
    }
}
