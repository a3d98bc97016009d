//! A weight vector with what it guarantees.
//!
//! For a pair `(s, r)` the threshold `T` may be anything in `[g(⌊sX⌋) + 1, W − g(X − ⌈rX⌉)]`, where
//! `g(b)` is the largest weight of a set with stake at most `b`. We take the least: secrecy is what
//! was asked for, and every unit above it makes reconstruction wait for more stake.
//!
//! What `T` guarantees is often more than the pair. With `least[v]` the least stake of weight `v` or
//! more: sets with stake below `least[T]` stay below `T`; and since a set stays below `T` iff the
//! others hold `W − T + 1` or more, sets with stake above `X − least[W − T + 1]` reach it.
//!
//! Elsewhere: finding the vector (`search`), checking it ([`verify`](crate::verify)).

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;
use core::ops::RangeInclusive;

use crate::exact::{self, Exact};
use crate::knapsack::Knapsack;
use crate::profile::{Pair, Profile};
use crate::quantity::{Stake, Weight};
use crate::ratio::Ratio;
use crate::search::{self, Demand};
use crate::verify::{self, Claim, VerifyError};

/// What to optimize, and how far to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Objective {
    goal: Goal,
    limit: Weight,
    nodes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    Total,
    Reconstruction,
}

impl Objective {
    /// Totals up to which [`Objective::least_total`] looks.
    pub const DEFAULT_LIMIT: Weight = Weight::new(1 << 16);

    /// Regions at which the objectives look after the scan: enough for small committees.
    pub const DEFAULT_NODES: u64 = 1000;

    /// The least total weight that satisfies the profile.
    #[must_use]
    pub const fn least_total() -> Self {
        Self { goal: Goal::Total, limit: Self::DEFAULT_LIMIT, nodes: Self::DEFAULT_NODES }
    }

    /// The least stake from which every set reaches the threshold of the profile's *last* pair, with
    /// a total weight of at most `budget`. The last pair's own reconstruction ratio is the largest
    /// that is acceptable; the other pairs hold as they are.
    #[must_use]
    pub const fn least_reconstruction(budget: Weight) -> Self {
        Self { goal: Goal::Reconstruction, limit: budget, nodes: Self::DEFAULT_NODES }
    }

    /// The same, looking at totals up to `limit` only.
    #[must_use]
    pub const fn within(self, limit: Weight) -> Self {
        Self { limit, ..self }
    }

    /// The same, with a branch and bound of at most `nodes` regions after the scan, which finds a
    /// smaller total or proves that there is none; with a budget it runs only where the scan needs
    /// more than that. Nodes are counted, not time, so that all machines
    /// give one answer; for hundreds of parties ten thousand take about a second.
    #[must_use]
    pub const fn prove(self, nodes: u64) -> Self {
        Self { nodes, ..self }
    }
}

/// Weights for all parties, and a threshold for each pair of the profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounding {
    weights: Vec<Weight>,
    total: Weight,
    least_possible: Weight,
    guarantees: Vec<Guarantee>,
}

impl Rounding {
    /// Rounds `stakes` so that every pair of `profile` holds. The result is a function of the stakes
    /// and follows them when they are permuted, except that of equal stakes those listed first may
    /// get one unit more. [`verify::verify`] has accepted what this returns.
    ///
    /// # Errors
    /// If there is no stake, the sum of stakes exceeds 128 bits, or no total within the objective's
    /// limit satisfies the profile.
    pub fn solve(
        stakes: &[Stake],
        profile: &Profile,
        objective: Objective,
    ) -> Result<Self, SolveError> {
        let committee = Committee::new(stakes)?;
        let demands: Vec<Demand> =
            profile.pairs().iter().map(|pair| committee.demand(pair)).collect();
        let (weights, least) = match objective.goal {
            Goal::Total => committee.least_total(&demands, objective)?,
            Goal::Reconstruction => (committee.least_reconstruction(&demands, objective)?, 1),
        };
        let rounding = committee.certify(stakes, profile, &demands, &weights)?;
        Ok(Self { least_possible: Weight::new(least), ..rounding })
    }

    /// The weights, in the order of the stakes.
    #[must_use]
    pub fn weights(&self) -> &[Weight] {
        &self.weights
    }

    /// The sum of the weights: how many shares there are.
    #[must_use]
    pub const fn total(&self) -> Weight {
        self.total
    }

    /// No weights of a smaller total satisfy the profile; one if nothing was proven.
    #[must_use]
    pub const fn least_possible(&self) -> Weight {
        self.least_possible
    }

    /// Whether no smaller total is possible, proven.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.least_possible == self.total
    }

    /// One guarantee per pair, in the profile's order.
    #[must_use]
    pub fn guarantees(&self) -> &[Guarantee] {
        &self.guarantees
    }

    /// The guarantee of the pair with this name.
    #[must_use]
    pub fn guarantee(&self, name: &str) -> Option<&Guarantee> {
        self.guarantees.iter().find(|guarantee| guarantee.pair.name() == name)
    }

    /// The largest weight of a party.
    #[must_use]
    pub fn largest(&self) -> Weight {
        self.weights.iter().copied().max().unwrap_or_default()
    }

    /// How many parties hold a share.
    #[must_use]
    pub fn holders(&self) -> usize {
        self.weights.iter().filter(|weight| **weight != Weight::ZERO).count()
    }
}

/// What one threshold guarantees, in exact stake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarantee {
    pair: Pair,
    threshold: Weight,
    legal: RangeInclusive<Weight>,
    leaking: Stake,
    sufficient: Stake,
    total: Stake,
}

impl Guarantee {
    /// The pair that was asked for.
    #[must_use]
    pub const fn pair(&self) -> &Pair {
        &self.pair
    }

    /// The pair's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.pair.name()
    }

    /// The threshold `T`: the least legal one.
    #[must_use]
    pub const fn threshold(&self) -> Weight {
        self.threshold
    }

    /// Every threshold that satisfies the pair on these weights.
    #[must_use]
    pub const fn legal_thresholds(&self) -> &RangeInclusive<Weight> {
        &self.legal
    }

    /// The least stake of a set that reaches the threshold; whoever holds less learns nothing.
    #[must_use]
    pub const fn least_leaking(&self) -> Stake {
        self.leaking
    }

    /// The least stake from which every set reaches the threshold.
    #[must_use]
    pub const fn least_sufficient(&self) -> Stake {
        self.sufficient
    }

    /// [`least_sufficient`](Self::least_sufficient) as a fraction of the total stake: the `r*` that
    /// is guaranteed. Stake is whole, so it may exceed the pair's ratio by less than one unit of it.
    #[must_use]
    pub fn reconstruction(&self) -> Ratio {
        Ratio::new(self.sufficient.get(), self.total.get()).unwrap_or(Ratio::ONE)
    }
}

/// Stakes that were checked, in the order in which the search wants them.
struct Committee {
    descending: Vec<u128>,
    /// Where in the caller's list each of them stands.
    places: Vec<usize>,
    total: u128,
}

impl Committee {
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

    /// Weights of the least total that was found, and the least that is possible.
    fn least_total(
        &self,
        demands: &[Demand],
        objective: Objective,
    ) -> Result<(Vec<u32>, u32), SolveError> {
        let found = search::least_total(&self.descending, demands, objective.limit.get())
            .map_err(|searched| SolveError::NothingFound { searched: Weight::new(searched) })?;
        Ok(match exact::search(self.holders(), demands, found.total, objective.nodes) {
            Exact::Least(weights) => {
                let total = weights.iter().sum();
                (weights, total)
            }
            Exact::AtLeast(least) => (found.weights, least),
        })
    }

    /// Weights within the budget that reconstruct the last demand from the least stake.
    fn least_reconstruction(
        &self,
        demands: &[Demand],
        objective: Objective,
    ) -> Result<Vec<u32>, SolveError> {
        let budget = objective.limit.get();
        let limit = Objective::DEFAULT_LIMIT.get().max(budget);
        let mut first = search::least_total(&self.descending, demands, limit)
            .map_err(|searched| SolveError::NothingFound { searched: Weight::new(searched) })?;
        if first.total > budget {
            // The scan's least total is above what was allowed; perhaps a smaller one exists.
            match exact::search(self.holders(), demands, first.total, objective.nodes) {
                Exact::Least(weights) => {
                    first = search::candidate(&self.descending, weights, demands);
                }
                Exact::AtLeast(_) => {}
            }
        }
        if first.total > budget {
            let least = Weight::new(first.total);
            return Err(SolveError::BudgetTooSmall { budget: objective.limit, least });
        }
        Ok(search::least_reconstruction(&self.descending, demands, first, budget).weights)
    }

    /// From weights along descending stake to a result in the caller's order, verified.
    fn certify(
        &self,
        stakes: &[Stake],
        profile: &Profile,
        demands: &[Demand],
        sorted: &[u32],
    ) -> Result<Rounding, SolveError> {
        let mut weights = vec![Weight::ZERO; stakes.len()];
        for (weight, place) in sorted.iter().zip(&self.places) {
            if let Some(slot) = weights.get_mut(*place) {
                *slot = Weight::new(*weight);
            }
        }
        let mut knapsack = Knapsack::new();
        knapsack.rebuild(&self.descending, sorted, u128::MAX);
        let total = Weight::new(sorted.iter().sum());
        let guarantees: Vec<Guarantee> = profile
            .pairs()
            .iter()
            .zip(demands)
            .map(|(pair, demand)| self.guarantee(&knapsack, total, pair, *demand))
            .collect();
        let claims: Vec<Claim<'_>> = guarantees
            .iter()
            .flat_map(|guarantee| {
                [*guarantee.legal.start(), *guarantee.legal.end()]
                    .map(|threshold| Claim { pair: &guarantee.pair, threshold })
            })
            .collect();
        verify::verify(stakes, &weights, &claims).map_err(SolveError::Unsound)?;
        Ok(Rounding { weights, total, least_possible: Weight::new(1), guarantees })
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

/// Why there is no rounding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SolveError {
    /// The list of stakes is empty.
    NoParties,
    /// Nobody holds anything.
    ZeroTotal {
        /// How many parties hold nothing.
        parties: usize,
    },
    /// The stakes do not fit into 128 bits together.
    TotalOverflow {
        /// Where in the list the sum overflows, from zero.
        party: usize,
    },
    /// No total in reach satisfies the profile: its ratios are too close for these stakes.
    NothingFound {
        /// The last total that was tried.
        searched: Weight,
    },
    /// No weights within the budget satisfy the profile.
    BudgetTooSmall {
        /// The largest total that was allowed.
        budget: Weight,
        /// The smallest budget that works, as far as scan and branch and bound know.
        least: Weight,
    },
    /// The independent check refused the search's result: a bug in this crate, and nothing was
    /// returned that should not have been.
    Unsound(VerifyError),
}

impl fmt::Display for SolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoParties => f.write_str("expected at least one party, got none"),
            Self::ZeroTotal { parties } => {
                write!(f, "expected some stake, got {parties} parties that all hold zero")
            }
            Self::TotalOverflow { party } => {
                write!(f, "the sum of stakes exceeds 128 bits at entry {party}")
            }
            Self::NothingFound { searched } => write!(
                f,
                "no weights of total up to {searched} satisfy the profile, \
                 put its ratios further apart or allow a larger total"
            ),
            Self::BudgetTooSmall { budget, least } => write!(
                f,
                "a total weight of {budget} is too small for the profile, {least} is enough"
            ),
            Self::Unsound(error) => write!(f, "the check refused the search's result: {error}"),
        }
    }
}

impl core::error::Error for SolveError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Unsound(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let legal = (self.legal.start(), self.legal.end());
        write!(f, "{}: threshold {} of {}..={}", self.pair, self.threshold, legal.0, legal.1)
    }
}
