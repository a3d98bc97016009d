//! Committees whose weights do not come from the usual rounding: given weights, a budget, another slow pair.

use prefinal_pvss_dkg::Shape;
use prefinal_validator::setup::{Algorithm, Plan, PlanError};
use prefinal_weighted_rounding::verify::VerifyError;
use prefinal_weighted_rounding::{Objective, Pair, Profile, Ratio, Rounding, Stake, Weight};

use crate::failure::Failure;

/// How a committee gets its weights and thresholds.
#[derive(Clone, Debug)]
pub struct Weighing {
    /// Stake up to which the slow path leaks nothing, and stake from which it reconstructs.
    pub slow: Pair,
    /// Where the weights come from.
    pub weights: WeightSource,
}

/// Where weights come from.
#[derive(Clone, Debug)]
pub enum WeightSource {
    /// The least total weight with which the thresholds hold.
    LeastTotal,
    /// This total weight at most, for the least stake that the fast path can reconstruct from.
    Budget(Weight),
    /// As they are, one for each party. Thresholds follow from them, and the fast path needs what they give.
    Given(Vec<Weight>),
}

impl Default for Weighing {
    fn default() -> Self {
        Self { slow: Pair::slow(), weights: WeightSource::LeastTotal }
    }
}

impl Weighing {
    fn is_usual(&self) -> bool {
        matches!(self.weights, WeightSource::LeastTotal) && self.slow == Pair::slow()
    }

    /// The plan of a committee. `fast` is the most stake that the fast path may need, unless weights are given.
    ///
    /// # Errors
    /// If stakes, weights and thresholds do not fit together, or the algorithm counts every party as one.
    pub fn plan(
        &self,
        stakes: Vec<Stake>,
        algorithm: Algorithm,
        fast: Ratio,
    ) -> Result<Plan, WeighingError> {
        if self.is_usual() {
            return Ok(Plan::new(stakes, algorithm, fast)?);
        }
        if algorithm == Algorithm::Tight {
            let why =
                "with tight thresholds every party counts as one: no weights, budget or slow pair";
            return Err(Failure::bad_input(why).into());
        }
        if stakes.len() < 4 {
            return Err(PlanError::TooFew(stakes.len()).into());
        }
        let solve = |objective| {
            let profile = pairs(self.slow.clone(), fast, algorithm)?;
            Rounding::solve(&stakes, &profile, objective)
                .map_err(|error| WeighingError::Plan(error.into()))
        };
        let rounding = match &self.weights {
            WeightSource::LeastTotal => solve(Objective::least_total())?,
            WeightSource::Budget(budget) => solve(Objective::least_reconstruction(*budget))?,
            WeightSource::Given(weights) => {
                let profile = pairs(self.slow.clone(), Ratio::ONE, algorithm)?;
                Rounding::of_weights(&stakes, weights, &profile).map_err(WeighingError::Weights)?
            }
        };
        let shape = Shape::from_rounding(&rounding).map_err(PlanError::from)?;
        Ok(Plan { stakes, shape, choice: algorithm, fast_ratio: fast, rounding: Some(rounding) })
    }
}

/// The pairs that the paths of an algorithm need: the slow one, and for the fast algorithm the early one too.
fn pairs(slow: Pair, fast: Ratio, algorithm: Algorithm) -> Result<Profile, Failure> {
    let early = (algorithm == Algorithm::Fast)
        .then(|| Pair::new(Pair::FAST, Ratio::TWO_THIRDS, fast))
        .transpose()
        .map_err(Failure::bad_input)?;
    Profile::new([slow].into_iter().chain(early).collect()).map_err(Failure::bad_input)
}

/// Why there is no plan.
#[derive(Debug)]
pub enum WeighingError {
    /// The stakes and ratios do not fit.
    Plan(PlanError),
    /// No threshold fits weights that were given.
    Weights(VerifyError),
    /// What was asked for does not fit together.
    Options(Failure),
}

impl From<PlanError> for WeighingError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

impl From<Failure> for WeighingError {
    fn from(failure: Failure) -> Self {
        Self::Options(failure)
    }
}

impl From<WeighingError> for Failure {
    fn from(error: WeighingError) -> Self {
        match error {
            WeighingError::Plan(error) => Self::bad_input(error),
            WeighingError::Weights(error) => Self::bad_input(format_args!("weights: {error}")),
            WeighingError::Options(failure) => failure,
        }
    }
}
