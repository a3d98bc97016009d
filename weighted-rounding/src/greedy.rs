//! A heavy set of bounded stake, quickly: by weight per stake, whatever still fits.
//!
//! Its weight never exceeds the knapsack's `g(b)`, so a vector that it refutes needs no table. That
//! settles most totals that the scan looks at.

use alloc::vec::Vec;

use crate::ratio::wide_product;

/// The parties that hold weight, the heaviest per stake first.
#[derive(Debug, Default)]
pub(crate) struct Greedy {
    order: Vec<(u32, u128)>,
}

impl Greedy {
    /// Sorts parties with `weights` and `stakes`; what has no weight is left out.
    pub(crate) fn sort(&mut self, stakes: &[u128], weights: &[u32]) {
        self.order.clear();
        self.order.extend(weights.iter().copied().zip(stakes.iter().copied()));
        self.order.sort_unstable_by(|(weight, stake), (other_weight, other_stake)| {
            let mine = wide_product((*weight).into(), *other_stake);
            let theirs = wide_product((*other_weight).into(), *stake);
            theirs.cmp(&mine).then(stake.cmp(other_stake))
        });
    }

    /// At most `g(bound)`.
    pub(crate) fn heavy_weight(&self, bound: u128) -> u32 {
        let (mut room, mut sum) = (bound, 0u32);
        for (weight, stake) in &self.order {
            if let Some(left) = room.checked_sub(*stake) {
                (room, sum) = (left, sum.saturating_add(*weight));
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knapsack::Knapsack;

    #[test]
    fn a_greedy_set_is_never_heavier_than_the_best() {
        let stakes = [900u128, 700, 650, 420, 300, 210, 205, 150, 99, 70, 35, 20, 3];
        let weights = [9, 8, 7, 4, 4, 3, 2, 2, 1, 1, 1, 1, 1];
        let mut greedy = Greedy::default();
        greedy.sort(&stakes, &weights);
        let mut knapsack = Knapsack::new();
        knapsack.rebuild(&stakes, &weights, u128::MAX);
        let mut equal = 0;
        for bound in 0..4000 {
            let (quick, best) = (greedy.heavy_weight(bound), knapsack.largest_weight(bound));
            assert!(quick <= best, "bound {bound}: {quick} > {best}");
            equal += u32::from(quick == best);
        }
        assert!(equal > 2000, "only {equal} of 4000 bounds are met");
    }
}
