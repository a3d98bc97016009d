//! Committees whose weights do not come from the usual rounding: given weights, a budget, other pairs.

use prefinal_pvss_dkg::Shape;
use prefinal_validator::setup::{Algorithm, Plan, PlanError};
use prefinal_weighted_rounding::{Pair, Profile, Ratio, Rounding, Stake, Weight};

use crate::failure::Failure;

/// The pairs that the paths of an algorithm need: the slow one, and for the fast algorithm the early one too.
///
/// # Errors
/// If the two do not fit together.
pub fn pairs(slow: Pair, early: Pair, algorithm: Algorithm) -> Result<Profile, Failure> {
    let early = (algorithm == Algorithm::Fast).then_some(early);
    Profile::new([slow].into_iter().chain(early).collect()).map_err(Failure::bad_input)
}

/// The plan of a committee that is rounded already. `fast` is what was asked for, and decides nothing.
///
/// # Errors
/// If the weights are too large for a key generation.
pub fn plan(rounding: Rounding, algorithm: Algorithm, fast: Ratio) -> Result<Plan, PlanError> {
    let (stakes, shape) = (rounding.stakes().to_vec(), Shape::from_rounding(&rounding)?);
    Ok(Plan { stakes, shape, choice: algorithm, fast_ratio: fast, rounding: Some(rounding) })
}

/// The plan of a committee with given weights: its thresholds follow from them, with the usual slow pair, and the fast
/// path needs what the weights give.
///
/// # Errors
/// If no threshold fits the weights, or the algorithm counts every party as one.
pub fn of_weights(
    stakes: &[Stake],
    weights: &[Weight],
    algorithm: Algorithm,
) -> Result<Plan, Failure> {
    if algorithm == Algorithm::Tight {
        let why = "weights: with tight thresholds every party counts as one";
        return Err(Failure::bad_input(why));
    }
    if stakes.len() < 4 {
        return Err(Failure::bad_input(PlanError::TooFew(stakes.len())));
    }
    let early = Pair::new(Pair::FAST, Ratio::TWO_THIRDS, Ratio::ONE).map_err(Failure::bad_input)?;
    let rounding = Rounding::of_weights(stakes, weights, &pairs(Pair::slow(), early, algorithm)?);
    let rounding =
        rounding.map_err(|error| Failure::bad_input(format_args!("weights: {error}")))?;
    plan(rounding, algorithm, Ratio::ONE).map_err(Failure::bad_input)
}
