//! From stakes to a verified rounding: scan, branch and bound, exact stakes, verification.
//!
//! Parties are sorted by descending stake only here. Among equal stakes, the party listed first stays
//! first.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::exact::{Exact, Tree};
use crate::knapsack::Knapsack;
use crate::objective::{Bound, Effort, Goal, Objective};
use crate::profile::{Pair, Profile};
use crate::proof::Prover;
use crate::quantity::{Stake, Weight};
use crate::rounding::{Guarantee, Rounding, SolveError};
use crate::search::{Candidate, Demand, Found, Scanner};
use crate::separation::Separation;
use crate::verify::{self, Claim, MAX_TOTAL, VerifyError};

/// Weights in the order of descending stake, and the proven bound on better ones.
struct Solution {
    weights: Vec<u32>,
    bound: Bound,
    effort: Effort,
}

/// Stakes that were checked, in the order that the search needs.
pub(crate) struct Committee {
    descending: Vec<u128>,
    /// The position of each stake in the caller's list.
    places: Vec<usize>,
    total: u128,
}

impl Committee {
    /// The best weights that were found for the profile, verified.
    pub(crate) fn round(
        stakes: &[Stake],
        profile: &Profile,
        objective: Objective,
    ) -> Result<Rounding, SolveError> {
        let committee = Self::new(stakes)?;
        let pairs = profile.pairs().iter();
        let demands: Vec<Demand> = pairs.map(|pair| committee.demand(pair)).collect();
        let solution = committee.solve(&demands, objective)?;
        committee.certify(stakes, profile, &demands, solution)
    }

    /// These weights with the least threshold for each pair, verified.
    pub(crate) fn take(
        stakes: &[Stake],
        weights: &[Weight],
        profile: &Profile,
    ) -> Result<Rounding, VerifyError> {
        let separation = Separation::new(stakes, weights)?;
        let total = stakes.iter().fold(0_u128, |sum, stake| sum.saturating_add(stake.get()));
        let mut claims = Vec::with_capacity(profile.pairs().len());
        for pair in profile.pairs() {
            let unsafe_stake = pair.secrecy().floor_of(total);
            let least = separation.least_safe(Stake::new(unsafe_stake.saturating_add(1)));
            // If even all shares leak, the check shows who holds them.
            claims.push(Claim { pair, threshold: least.unwrap_or(separation.total()) });
        }
        verify::verify(stakes, weights, &claims)?;
        let sound = |error| match error {
            SolveError::Unsound(error) => error,
            _ => VerifyError::ZeroTotal { parties: stakes.len() },
        };
        let committee = Self::new(stakes).map_err(sound)?;
        let demands: Vec<Demand> =
            profile.pairs().iter().map(|pair| committee.demand(pair)).collect();
        let weight = |place: &usize| weights.get(*place).map_or(0, |weight| weight.get());
        let solution = Solution {
            weights: committee.places.iter().map(weight).collect(),
            bound: Bound::Total(Weight::new(1)),
            effort: Effort::default(),
        };
        committee.certify(stakes, profile, &demands, solution).map_err(sound)
    }

    fn new(stakes: &[Stake]) -> Result<Self, SolveError> {
        if stakes.is_empty() {
            return Err(SolveError::NoParties);
        }
        let mut total = 0u128;
        for (party, stake) in stakes.iter().enumerate() {
            total = total.checked_add(stake.get()).ok_or(SolveError::TotalOverflow { party })?;
        }
        if total == 0 {
            return Err(SolveError::ZeroTotal { parties: stakes.len() });
        }
        let mut order: Vec<(Reverse<u128>, usize)> =
            stakes.iter().enumerate().map(|(place, stake)| (Reverse(stake.get()), place)).collect();
        order.sort_unstable();
        let (descending, places) = order.into_iter().map(|(stake, place)| (stake.0, place)).unzip();
        Ok(Self { descending, places, total })
    }

    /// The stakes that are not zero.
    fn holders(&self) -> &[u128] {
        let holders = self.descending.partition_point(|stake| *stake > 0);
        self.descending.get(..holders).unwrap_or_default()
    }

    fn demand(&self, pair: &Pair) -> Demand {
        Demand {
            leaking: pair.secrecy().floor_of(self.total),
            missing: self.total - pair.reconstruction().ceil_of(self.total),
        }
    }

    /// Solves for these demands, which must be those of the profile.
    fn solve(&self, demands: &[Demand], objective: Objective) -> Result<Solution, SolveError> {
        match objective.goal {
            Goal::Total => self.least_total(demands, objective),
            Goal::Reconstruction => self.least_reconstruction(demands, objective),
        }
    }

    /// The least total that was found, and the proven bound on it.
    fn least_total(
        &self,
        demands: &[Demand],
        objective: Objective,
    ) -> Result<Solution, SolveError> {
        let Found { best, steps } = self.scan(demands, objective)?;
        let mut tree = Tree::new(self.holders(), demands, objective.nodes);
        let (weights, least) = match tree.least_below(best.total) {
            Exact::Least(weights) => {
                let total = weights.iter().sum();
                (weights, total)
            }
            Exact::AtLeast(least) => (best.weights, least),
        };
        let effort = Effort { steps, nodes: objective.nodes - tree.nodes() };
        Ok(Solution { weights, bound: Bound::Total(Weight::new(least)), effort })
    }

    /// Weights within the budget with which the least stake suffices for the last demand.
    fn least_reconstruction(
        &self,
        demands: &[Demand],
        objective: Objective,
    ) -> Result<Solution, SolveError> {
        let budget = objective.limit.min(MAX_TOTAL).get();
        let Found { best: mut first, mut steps } =
            self.scan(demands, objective.within(MAX_TOTAL))?;
        let (mut nodes, mut possible) = (objective.nodes, 1);
        if first.total > budget {
            // The scan's least total is above the budget. Perhaps a smaller one exists.
            let mut tree = Tree::new(self.holders(), demands, nodes);
            match tree.least_below(first.total) {
                Exact::Least(weights) => {
                    first = Candidate::new(&self.descending, weights, demands);
                    possible = first.total;
                }
                Exact::AtLeast(least) => possible = least,
            }
            nodes = tree.nodes();
            if first.total > budget {
                return Err(SolveError::BudgetTooSmall {
                    budget: objective.limit,
                    least: Weight::new(first.total),
                    least_possible: Weight::new(possible),
                });
            }
        }
        let scanner = self.scanner(demands, objective);
        let scan = scanner.least_reconstruction(first);
        steps = steps.saturating_add(scan.steps);
        let prover = Prover::new(self.holders(), demands, budget, possible);
        let proof = prover.least_reconstruction(scan.best, nodes);
        let used = objective.nodes - nodes + proof.nodes;
        let least = self.total.saturating_sub(proof.missing).saturating_add(1);
        Ok(Solution {
            weights: proof.best.weights,
            bound: Bound::Sufficient(Stake::new(least)),
            effort: Effort { steps, nodes: used },
        })
    }

    /// The least total of an apportionment. If the steps are used up before it is found, any total.
    fn scan(&self, demands: &[Demand], objective: Objective) -> Result<Found, SolveError> {
        let scanner = self.scanner(demands, objective);
        let scan = scanner.least_total();
        if let Some(best) = scan.best {
            return Ok(Found { best, steps: scan.steps });
        }
        let searched = Weight::new(scan.searched);
        if !scan.exhausted {
            return Err(SolveError::NothingFound { searched });
        }
        let coarse = scanner.some_total(scan.searched);
        let steps = scan.steps.saturating_add(coarse.steps);
        let tried = Weight::new(coarse.searched);
        match coarse.best {
            Some(best) => Ok(Found { best, steps }),
            None => Err(SolveError::OutOfSteps { searched, tried, steps: objective.steps }),
        }
    }

    fn scanner<'a>(&'a self, demands: &'a [Demand], objective: Objective) -> Scanner<'a> {
        Scanner {
            stakes: &self.descending,
            demands,
            limit: objective.limit.min(MAX_TOTAL).get(),
            steps: objective.steps,
        }
    }

    /// Turns weights in the order of descending stake into a verified result in the caller's order.
    fn certify(
        &self,
        stakes: &[Stake],
        profile: &Profile,
        demands: &[Demand],
        solution: Solution,
    ) -> Result<Rounding, SolveError> {
        let mut weights = vec![Weight::ZERO; stakes.len()];
        for (weight, place) in solution.weights.iter().zip(&self.places) {
            if let Some(slot) = weights.get_mut(*place) {
                *slot = Weight::new(*weight);
            }
        }
        let mut knapsack = Knapsack::new();
        knapsack.rebuild(&self.descending, &solution.weights, u128::MAX);
        let total = Weight::new(solution.weights.iter().sum());
        let pairs = profile.pairs().iter().zip(demands);
        let guarantees: Vec<Guarantee> =
            pairs.map(|(pair, demand)| self.guarantee(&knapsack, total, pair, *demand)).collect();
        let exact: Vec<[Pair; 2]> = guarantees.iter().map(Guarantee::exact_pairs).collect();
        let claims = guarantees.iter().zip(&exact).flat_map(|(guarantee, [below, above])| {
            let (least, greatest) = (guarantee.threshold, *guarantee.legal.end());
            let asked = &guarantee.pair;
            [(asked, least), (asked, greatest), (below, least), (above, least)]
                .map(|(pair, threshold)| Claim { pair, threshold })
        });
        let claims: Vec<Claim<'_>> = claims.collect();
        verify::verify(stakes, &weights, &claims).map_err(SolveError::Unsound)?;
        let Solution { bound, effort, .. } = solution;
        let stakes = stakes.to_vec();
        Ok(Rounding { stakes, weights, total, bound, effort, guarantees })
    }

    fn guarantee(
        &self,
        knapsack: &Knapsack,
        total: Weight,
        pair: &Pair,
        demand: Demand,
    ) -> Guarantee {
        let least = knapsack.largest_weight(demand.leaking).saturating_add(1);
        let greatest = total.get().saturating_sub(knapsack.largest_weight(demand.missing));
        let stopping = total.get().saturating_add(1).saturating_sub(least);
        let leaking = knapsack.least_stake(least).unwrap_or(self.total);
        let stopped = knapsack.least_stake(stopping).unwrap_or(self.total);
        Guarantee {
            pair: pair.clone(),
            threshold: Weight::new(least),
            legal: Weight::new(least)..=Weight::new(greatest),
            leaking: Stake::new(leaking),
            sufficient: Stake::new(self.total.saturating_sub(stopped).saturating_add(1)),
            total: Stake::new(self.total),
        }
    }
}
