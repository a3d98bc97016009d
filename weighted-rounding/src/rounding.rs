//! A weight vector and its guarantees.
//!
//! For a pair `(s, r)` the threshold `T` may be anything in `[g(⌊sX⌋) + 1, W − g(X − ⌈rX⌉)]`, where
//! `g(b)` is the largest weight of a set with stake at most `b`. The rounding takes the least: it
//! already gives the requested secrecy, and with every further unit reconstruction waits for more
//! stake.
//!
//! `T` often guarantees more than the pair asks for. Let `least[v]` be the least stake of a set with
//! weight `v` or more. Sets with stake below `least[T]` stay below `T`. A set stays below `T` iff the
//! other parties have weight `W − T + 1` or more, so sets with stake above `X − least[W − T + 1]`
//! reach `T`.
//!
//! See also: `search` finds the vector, and [`verify`](crate::verify) checks it.

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
///
/// ```
/// use prefinal_weighted_rounding::verify::{Claim, verify};
/// use prefinal_weighted_rounding::{Objective, Profile, Rounding, Stake};
/// let stakes = [340, 210, 180, 90, 90, 60, 30].map(Stake::new);
/// let rounding = Rounding::solve(&stakes, &Profile::slow(), Objective::least_total())?;
/// let slow = rounding.slow().ok_or("a slow pair")?;
///
/// // What the thresholds mean in stake, exactly.
/// assert!(slow.least_leaking() > Stake::new(500)); // half of the stake learns nothing
/// assert!(slow.least_sufficient() <= Stake::new(667)); // two thirds reconstruct
///
/// // Somebody who trusts neither result nor search checks it again.
/// let claim = Claim { pair: slow.pair(), threshold: slow.threshold() };
/// assert!(verify(&stakes, rounding.weights(), &[claim]).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// Rounds `stakes` so that every pair of `profile` holds. The result depends only on the
    /// arguments. If the stakes are permuted, the weights are permuted in the same way, except that
    /// among equal stakes those listed first may get one unit more. Every result was accepted by
    /// [`verify`](mod@crate::verify) before it is returned.
    ///
    /// See the example at [`Rounding`].
    ///
    /// # Errors
    /// If there is no stake, the sum of the stakes exceeds 128 bits, or no total within the
    /// objective's limits was found to satisfy the profile.
    pub fn solve(
        stakes: &[Stake],
        profile: &Profile,
        objective: Objective,
    ) -> Result<Self, SolveError> {
        Committee::round(stakes, profile, objective)
    }

    /// Takes weights as they are, from wherever they come, and gives each pair of `profile` its least threshold.
    /// The time is proportional to the number of parties times the total weight.
    ///
    /// ```
    /// # use prefinal_weighted_rounding::{Profile, Ratio, Rounding, Stake, Weight};
    /// let (stakes, weights) = ([3, 2, 2, 2].map(Stake::new), [1; 4].map(Weight::new));
    /// let rounding = Rounding::of_weights(&stakes, &weights, &Profile::slow())?;
    /// assert_eq!(rounding.slow().map(|slow| slow.threshold()), Some(Weight::new(3)));
    /// // Without a share for the largest, no threshold works.
    /// let others = [0, 1, 1, 1].map(Weight::new);
    /// assert!(Rounding::of_weights(&stakes, &others, &Profile::slow()).is_err());
    /// # Ok::<(), prefinal_weighted_rounding::verify::VerifyError>(())
    /// ```
    ///
    /// # Errors
    /// [`VerifyError::Refuted`] with a counterexample if no threshold satisfies a pair. Another variant if there is
    /// not exactly one weight for each stake, all stakes are zero, or a sum is too large.
    pub fn of_weights(
        stakes: &[Stake],
        weights: &[Weight],
        profile: &Profile,
    ) -> Result<Self, VerifyError> {
        Committee::take(stakes, weights, profile)
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

    /// The proven bound on all other weights, for the quantity that the objective optimizes.
    #[must_use]
    pub const fn bound(&self) -> Bound {
        self.bound
    }

    /// Whether it is proven that nothing better is possible: no smaller total or, for a budget, no
    /// smaller sufficient stake.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        match self.bound {
            Bound::Total(least) => least == self.total,
            Bound::Sufficient(least) => {
                self.guarantees.last().is_some_and(|last| last.sufficient == least)
            }
        }
    }

    /// The work that it took to find this result.
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

    /// The guarantee of the pair with the name [`Pair::SLOW`], if the profile has it.
    #[must_use]
    pub fn slow(&self) -> Option<&Guarantee> {
        self.guarantee(Pair::SLOW)
    }

    /// The guarantee of the pair with the name [`Pair::FAST`], if the profile has it.
    #[must_use]
    pub fn fast(&self) -> Option<&Guarantee> {
        self.guarantee(Pair::FAST)
    }

    /// The largest weight of any party.
    #[must_use]
    pub fn largest(&self) -> Weight {
        self.weights.iter().copied().max().unwrap_or_default()
    }

    /// The number of parties that hold at least one share.
    #[must_use]
    pub fn holders(&self) -> usize {
        self.weights.iter().filter(|weight| **weight != Weight::ZERO).count()
    }
}

/// The guarantee of one threshold, in exact stake.
///
/// ```
/// use prefinal_weighted_rounding::{Objective, Profile, Ratio, Rounding, Stake};
/// let stakes = [340, 210, 180, 90, 90, 60, 30].map(Stake::new);
/// let rounding = Rounding::solve(&stakes, &Profile::standard(), Objective::least_total())?;
/// let fast = rounding.fast().ok_or("a fast pair")?;
/// assert!(fast.legal_thresholds().contains(&fast.threshold()));
/// assert_eq!(fast.share(Stake::new(500)), Ratio::HALF);
/// // The stake that always suffices is at most what the pair asks for.
/// let asked = fast.pair().reconstruction().ceil_of(1000);
/// assert!(fast.least_sufficient() <= Stake::new(asked));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

    /// The name of the pair, as the profile gave it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.pair.name()
    }

    /// The threshold `T`, which is the least legal one.
    #[must_use]
    pub const fn threshold(&self) -> Weight {
        self.threshold
    }

    /// Every threshold that satisfies the pair on these weights.
    #[must_use]
    pub const fn legal_thresholds(&self) -> &RangeInclusive<Weight> {
        &self.legal
    }

    /// The least stake of a set that reaches the threshold. Sets with less stake learn nothing.
    #[must_use]
    pub const fn least_leaking(&self) -> Stake {
        self.leaking
    }

    /// The least stake from which every set reaches the threshold.
    #[must_use]
    pub const fn least_sufficient(&self) -> Stake {
        self.sufficient
    }

    /// [`least_sufficient`](Self::least_sufficient) as a fraction of the total stake: the guaranteed
    /// ratio `r*`. Because stake is a whole number, `r*` may exceed the pair's ratio by less than one
    /// unit of stake.
    #[must_use]
    pub fn reconstruction(&self) -> Ratio {
        self.share(self.sufficient)
    }

    /// A stake as a fraction of the total stake. It is one if the stake is larger than the total.
    #[must_use]
    pub fn share(&self, stake: Stake) -> Ratio {
        Ratio::new(stake.get(), self.total.get()).unwrap_or(Ratio::ONE)
    }

    /// All claims of the exact stakes, as two pairs. If `leaking` is above `sufficient`, a single
    /// pair cannot express both claims, because its ratios would be in the wrong order.
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

/// Why no rounding was returned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SolveError {
    /// The list of stakes is empty.
    NoParties,
    /// All stakes are zero.
    ZeroTotal {
        /// Number of parties, all without stake.
        parties: usize,
    },
    /// The sum of the stakes does not fit into 128 bits.
    TotalOverflow {
        /// Position in the list at which the sum overflows, counted from zero.
        party: usize,
    },
    /// No apportionment with a total up to the limit satisfies the profile. Its ratios are too close
    /// for these stakes.
    NothingFound {
        /// The last total that was tried.
        searched: Weight,
    },
    /// The steps were used up before anything was found.
    OutOfSteps {
        /// No apportionment up to this total satisfies the profile.
        searched: Weight,
        /// Beyond that, only some totals were tried. This is the last of them.
        tried: Weight,
        /// The limit of steps for each offset.
        steps: u64,
    },
    /// No weights within the budget satisfy the profile.
    BudgetTooSmall {
        /// The largest total that was allowed.
        budget: Weight,
        /// The smallest budget that is known to work.
        least: Weight,
        /// It is proven that no budget below this works.
        least_possible: Weight,
    },
    /// The independent check refused the result of the search. This is a bug in this crate; no wrong
    /// result was returned.
    Unsound(VerifyError),
}

impl SolveError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoParties => "no-parties",
            Self::ZeroTotal { .. } => "no-stake",
            Self::TotalOverflow { .. } => "stake-overflow",
            Self::NothingFound { .. } => "no-rounding",
            Self::OutOfSteps { .. } => "out-of-steps",
            Self::BudgetTooSmall { .. } => "budget-too-small",
            Self::Unsound(error) => error.code(),
        }
    }
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
