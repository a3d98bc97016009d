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

use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;

use crate::committee::Committee;
use crate::objective::{Bound, Effort, Objective};
use crate::profile::{Pair, Profile};
use crate::quantity::{Stake, Weight};
use crate::ratio::Ratio;
use crate::verify::VerifyError;

/// Weights for all parties, and a threshold for each pair of the profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounding {
    pub(crate) stakes: Vec<Stake>,
    pub(crate) weights: Vec<Weight>,
    pub(crate) total: Weight,
    pub(crate) bound: Bound,
    pub(crate) effort: Effort,
    pub(crate) guarantees: Vec<Guarantee>,
}

impl Rounding {
    /// Rounds `stakes` so that every pair of `profile` holds. The result is a function of the stakes
    /// and follows them when they are permuted, except that of equal stakes those listed first may
    /// get one unit more. [`verify`](mod@crate::verify) has accepted what this returns.
    ///
    /// # Errors
    /// If there is no stake, the sum of stakes exceeds 128 bits, or no total within the objective's
    /// limit satisfies the profile.
    pub fn solve(
        stakes: &[Stake],
        profile: &Profile,
        objective: Objective,
    ) -> Result<Self, SolveError> {
        Committee::round(stakes, profile, objective)
    }

    /// The stakes that were rounded.
    #[must_use]
    pub fn stakes(&self) -> &[Stake] {
        &self.stakes
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

    /// What is proven about all other weights, in the terms of the objective.
    #[must_use]
    pub const fn bound(&self) -> Bound {
        self.bound
    }

    /// Whether nothing better is possible, proven: no smaller total, or with a budget no less stake
    /// that suffices.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        match self.bound {
            Bound::Total(least) => least == self.total,
            Bound::Sufficient(least) => {
                self.guarantees.last().is_some_and(|last| last.sufficient == least)
            }
        }
    }

    /// What it took to find this.
    #[must_use]
    pub const fn effort(&self) -> Effort {
        self.effort
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

    /// The guarantee of the pair that is named [`Pair::SLOW`].
    #[must_use]
    pub fn slow(&self) -> Option<&Guarantee> {
        self.guarantee(Pair::SLOW)
    }

    /// The guarantee of the pair that is named [`Pair::FAST`].
    #[must_use]
    pub fn fast(&self) -> Option<&Guarantee> {
        self.guarantee(Pair::FAST)
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
    pub(crate) pair: Pair,
    pub(crate) threshold: Weight,
    pub(crate) legal: RangeInclusive<Weight>,
    pub(crate) leaking: Stake,
    pub(crate) sufficient: Stake,
    pub(crate) total: Stake,
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
        self.share(self.sufficient)
    }

    /// A stake as a fraction of the total stake, one if it is larger.
    #[must_use]
    pub fn share(&self, stake: Stake) -> Ratio {
        Ratio::new(stake.get(), self.total.get()).unwrap_or(Ratio::ONE)
    }

    /// All that the exact stakes claim, as pairs: where one set both leaks and does not suffice, no
    /// single pair says it.
    pub(crate) fn exact_pairs(&self) -> [Pair; 2] {
        let safe = Stake::new(self.leaking.get().saturating_sub(1));
        let failing = Stake::new(self.sufficient.get().saturating_sub(1));
        [(safe, self.sufficient.max(self.leaking)), (safe.min(failing), self.sufficient)].map(
            |(below, above)| {
                let pair = self.pair.exactly(self.share(below), self.share(above));
                pair.unwrap_or_else(|| self.pair.clone())
            },
        )
    }
}

/// Why there is no rounding.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// No apportionment of a total in reach satisfies the profile: its ratios are too close for these
    /// stakes.
    NothingFound {
        /// The last total that was tried.
        searched: Weight,
    },
    /// The steps ended before anything was found.
    OutOfSteps {
        /// No apportionment up to this total satisfies the profile.
        searched: Weight,
        /// The last total that was tried beyond it.
        tried: Weight,
        /// How many steps each offset was allowed.
        steps: u64,
    },
    /// No weights within the budget satisfy the profile.
    BudgetTooSmall {
        /// The largest total that was allowed.
        budget: Weight,
        /// The smallest budget that is known to work.
        least: Weight,
        /// No smaller one works, proven.
        least_possible: Weight,
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
            Self::OutOfSteps { searched, tried, steps } => write!(
                f,
                "no weights of total up to {searched} satisfy the profile, nor some up to {tried}, \
                 in {steps} steps an offset: allow more steps or put its ratios further apart"
            ),
            Self::BudgetTooSmall { budget, least, least_possible } if budget < least_possible => {
                write!(
                    f,
                    "a total weight of {budget} is too small for the profile, it takes at least \
                     {least_possible}, and {least} is enough"
                )
            }
            Self::BudgetTooSmall { budget, least, .. } => write!(
                f,
                "a total weight of {budget} seems too small for the profile, {least} is enough"
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
