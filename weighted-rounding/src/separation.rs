//! The stake that a threshold in weight stands for, for every threshold at once.
//!
//! Consensus decides by stake; threshold cryptography reconstructs by weight. For a threshold `T`,
//! two amounts of stake relate the two, for all sets of parties:
//!
//! | amount                                                 | meaning                                    |
//! |--------------------------------------------------------|--------------------------------------------|
//! | [`least_leaking`](Separation::least_leaking)           | a set with less stake stays below `T`      |
//! | [`least_sufficient`](Separation::least_sufficient)     | a set with this stake or more reaches `T`  |
//!
//! Both are exact and need no [`Rounding`](crate::Rounding): weights may come from anywhere.
//!
//! See also: `search` finds weights, and [`verify`](mod@crate::verify) checks pairs of ratios.

use alloc::vec::Vec;

use crate::quantity::{Stake, Weight};
use crate::verify::{Committee, VerifyError};

/// For given stakes and weights, the stake that each threshold stands for.
///
/// See the example at [`Separation::new`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Separation {
    weights: Vec<Weight>,
    total: Weight,
    /// By threshold: the least stake of a set that reaches it, `u128::MAX` if no set does.
    least_reaching: Vec<u128>,
    /// By weight: the largest stake of a set with at most this weight.
    most_within: Vec<u128>,
}

impl Separation {
    /// Computes the amounts of stake over all sets of parties. The time is proportional to the number
    /// of parties times the total weight.
    ///
    /// ```
    /// # use prefinal_weighted_rounding::{Separation, Stake, Weight};
    /// let (stakes, weights) = ([3, 2, 2].map(Stake::new), [2, 1, 1].map(Weight::new));
    /// let separation = Separation::new(&stakes, &weights)?;
    /// let two = Weight::new(2);
    /// assert_eq!(separation.least_leaking(two), Some(Stake::new(3)));
    /// assert_eq!(separation.least_sufficient(two), Some(Stake::new(3)));
    /// # Ok::<(), prefinal_weighted_rounding::verify::VerifyError>(())
    /// ```
    ///
    /// # Errors
    /// If there is not exactly one weight for each stake, all stakes are zero, or a sum is too large.
    pub fn new(stakes: &[Stake], weights: &[Weight]) -> Result<Self, VerifyError> {
        let committee = Committee::new(stakes, weights)?;
        let most = committee.weight;
        Ok(Self {
            weights: weights.to_vec(),
            total: Weight::new(u32::try_from(most).unwrap_or(u32::MAX)),
            least_reaching: committee.least_reaching(most),
            most_within: committee.most_below(most),
        })
    }

    /// The weights, in the order of the stakes.
    #[must_use]
    pub fn weights(&self) -> &[Weight] {
        &self.weights
    }

    /// The sum of the weights.
    #[must_use]
    pub const fn total(&self) -> Weight {
        self.total
    }

    /// The least stake of a set that reaches the threshold. `None` if all parties together do not
    /// reach it.
    #[must_use]
    pub fn least_leaking(&self, threshold: Weight) -> Option<Stake> {
        let least = self.least_reaching.get(place(threshold))?;
        Some(Stake::new(*least))
    }

    /// The least stake from which every set reaches the threshold. `None` if all parties together do
    /// not reach it.
    #[must_use]
    pub fn least_sufficient(&self, threshold: Weight) -> Option<Stake> {
        if threshold > self.total {
            return None;
        }
        let Some(below) = place(threshold).checked_sub(1) else { return Some(Stake::ZERO) };
        let most = self.most_within.get(below)?;
        Some(Stake::new(most.saturating_add(1)))
    }

    /// The least threshold that no set with less than this stake reaches. `None` if there is no such
    /// threshold up to the total weight.
    #[must_use]
    pub fn least_safe(&self, stake: Stake) -> Option<Weight> {
        // A larger threshold never needs less stake, so the table is sorted.
        let at = self.least_reaching.partition_point(|least| *least < stake.get());
        let threshold = Weight::new(u32::try_from(at).ok()?);
        (threshold <= self.total).then_some(threshold)
    }

    /// The largest threshold that every set with at least this stake reaches.
    #[must_use]
    pub fn most_reached(&self, stake: Stake) -> Weight {
        let at = self.most_within.partition_point(|most| *most < stake.get());
        Weight::new(u32::try_from(at).unwrap_or(u32::MAX))
    }
}

fn place(threshold: Weight) -> usize {
    usize::try_from(threshold.get()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every set of a small committee, by its members' bits.
    fn sets(stakes: &[u128], weights: &[u32]) -> Vec<(u128, u32)> {
        let sum = |set: u32| {
            let members = (0..stakes.len()).filter(|at| set >> at & 1 == 1);
            members.fold((0, 0), |(stake, weight), at| (stake + stakes[at], weight + weights[at]))
        };
        (0..1 << stakes.len()).map(sum).collect()
    }

    #[test]
    fn both_amounts_are_those_of_all_sets() {
        let cases: [(&[u128], &[u32]); 5] = [
            (&[1, 1, 1, 1], &[1, 1, 1, 1]),
            (&[40, 30, 20, 10], &[4, 3, 2, 1]),
            (&[37, 21, 9, 4, 4], &[5, 3, 1, 1, 0]),
            (&[7, 5, 5, 0, 3], &[2, 2, 1, 1, 0]),
            (&[100, 1, 1, 1], &[1, 1, 1, 1]),
        ];
        for (stakes, weights) in cases {
            let all = sets(stakes, weights);
            let stakes: Vec<Stake> = stakes.iter().copied().map(Stake::new).collect();
            let weights: Vec<Weight> = weights.iter().copied().map(Weight::new).collect();
            let separation = Separation::new(&stakes, &weights).unwrap();
            let total = separation.total().get();
            let leaking = |t| all.iter().filter(|set| set.1 >= t).map(|set| set.0).min();
            let staying = |t| all.iter().filter(|set| set.1 < t).map(|set| set.0).max();
            for t in 1..=total {
                let threshold = Weight::new(t);
                assert_eq!(separation.least_leaking(threshold).map(Stake::get), leaking(t));
                let sufficient = staying(t).map(|most| most + 1);
                assert_eq!(separation.least_sufficient(threshold).map(Stake::get), sufficient);
            }
            for stake in 1..=all.iter().map(|set| set.0).max().unwrap() {
                let safe = (1..=total).find(|t| leaking(*t) >= Some(stake));
                assert_eq!(separation.least_safe(Stake::new(stake)).map(Weight::get), safe);
                let reached = (1..=total).rev().find(|t| staying(*t) < Some(stake));
                assert_eq!(separation.most_reached(Stake::new(stake)).get(), reached.unwrap_or(0));
            }
            let beyond = Weight::new(total + 1);
            assert_eq!(separation.least_leaking(beyond), None);
            assert_eq!(separation.least_sufficient(beyond), None);
        }
    }
}
