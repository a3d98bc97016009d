//! Stake to weight. Results go over as plain numbers; `prefinal.rounding` makes dataclasses of them.
use prefinal_weighted_rounding::verify::{Claim, verify as check};
use prefinal_weighted_rounding::{
    Bound as Proven, Guarantee, Objective, Pair, Profile, Ratio, Rounding, Weight,
};
use pyo3::prelude::*;

use crate::error::refused;
use crate::input::{number, stakes, weights};
use crate::work::interruptible;

/// A name, and secrecy and reconstruction as fractions.
pub(crate) type RawPair<'py> = (String, RawRatio<'py>, RawRatio<'py>);
pub(crate) type RawRatio<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// How far to look; what is not given has Rust's default.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Limits<'py> {
    budget: Option<Bound<'py, PyAny>>,
    limit: Option<Bound<'py, PyAny>>,
    steps: Option<Bound<'py, PyAny>>,
    nodes: Option<Bound<'py, PyAny>>,
}

impl Limits<'_> {
    fn objective(&self) -> PyResult<Objective> {
        let mut objective = match &self.budget {
            Some(budget) => Objective::least_reconstruction(Weight::new(number(budget, "budget")?)),
            None => Objective::least_total(),
        };
        if let Some(limit) = &self.limit {
            objective = objective.within(Weight::new(number(limit, "limit")?));
        }
        if let Some(steps) = &self.steps {
            objective = objective.steps(number(steps, "steps")?);
        }
        if let Some(nodes) = &self.nodes {
            objective = objective.prove(number(nodes, "nodes")?);
        }
        Ok(objective)
    }
}

fn ratio((numerator, denominator): &RawRatio<'_>) -> PyResult<Ratio> {
    let ratio = Ratio::new(number(numerator, "numerator")?, number(denominator, "denominator")?);
    ratio.map_err(|error| refused(&error))
}

pub(crate) fn pair((name, secrecy, reconstruction): &RawPair<'_>) -> PyResult<Pair> {
    let pair = Pair::new(name.as_str(), ratio(secrecy)?, ratio(reconstruction)?);
    pair.map_err(|error| refused(&error))
}

/// What `prefinal.rounding` makes a `Rounding` of.
#[derive(IntoPyObject)]
pub(crate) struct Solved {
    weights: Vec<u32>,
    guarantees: Vec<Guaranteed>,
    /// Proven: no smaller total, or no smaller sufficient stake.
    least_total: Option<u32>,
    least_sufficient: Option<u128>,
    optimal: bool,
    steps: u64,
    nodes: u64,
}

#[derive(IntoPyObject)]
struct Guaranteed {
    threshold: u32,
    legal: (u32, u32),
    least_leaking: u128,
    least_sufficient: u128,
}

impl From<&Guarantee> for Guaranteed {
    fn from(guarantee: &Guarantee) -> Self {
        let legal = guarantee.legal_thresholds();
        Self {
            threshold: guarantee.threshold().get(),
            legal: (legal.start().get(), legal.end().get()),
            least_leaking: guarantee.least_leaking().get(),
            least_sufficient: guarantee.least_sufficient().get(),
        }
    }
}

impl From<&Rounding> for Solved {
    fn from(rounding: &Rounding) -> Self {
        let (least_total, least_sufficient) = match rounding.bound() {
            Proven::Total(least) => (Some(least.get()), None),
            Proven::Sufficient(least) => (None, Some(least.get())),
        };
        Self {
            weights: rounding.weights().iter().map(|weight| weight.get()).collect(),
            guarantees: rounding.guarantees().iter().map(Guaranteed::from).collect(),
            least_total,
            least_sufficient,
            optimal: rounding.is_optimal(),
            steps: rounding.effort().steps,
            nodes: rounding.effort().nodes,
        }
    }
}

/// Weights for all stakes.
#[pyfunction]
pub(crate) fn solve<'py>(
    py: Python<'py>,
    stakes_: &Bound<'py, PyAny>,
    pairs: Vec<RawPair<'py>>,
    limits: Limits<'py>,
) -> PyResult<Solved> {
    let stakes = stakes(stakes_)?;
    let pairs: Vec<Pair> = pairs.iter().map(pair).collect::<PyResult<_>>()?;
    let profile = Profile::new(pairs).map_err(|error| refused(&error))?;
    let objective = limits.objective()?;
    let solved = interruptible(py, move || Rounding::solve(&stakes, &profile, objective))?;
    solved.map(|rounding| Solved::from(&rounding)).map_err(|error| refused(&error))
}

/// Checks thresholds over all sets of parties.
#[pyfunction]
pub(crate) fn verify<'py>(
    py: Python<'py>,
    stakes_: &Bound<'py, PyAny>,
    weights_: &Bound<'py, PyAny>,
    claims: Vec<(RawPair<'py>, Bound<'py, PyAny>)>,
) -> PyResult<()> {
    let stakes = stakes(stakes_)?;
    let weights: Vec<Weight> = weights(weights_)?.into_iter().map(Weight::new).collect();
    let claims = claims
        .iter()
        .map(|(raw, threshold)| Ok((pair(raw)?, Weight::new(number(threshold, "threshold")?))));
    let claims: Vec<(Pair, Weight)> = claims.collect::<PyResult<_>>()?;
    let checked = interruptible(py, move || {
        let claims = claims.iter().map(|(pair, threshold)| Claim { pair, threshold: *threshold });
        check(&stakes, &weights, &claims.collect::<Vec<_>>())
    })?;
    checked.map_err(|error| refused(&error))
}

/// Stakes in any iterable as plain whole numbers.
#[pyfunction]
pub(crate) fn whole_numbers(values: &Bound<'_, PyAny>) -> PyResult<Vec<u128>> {
    Ok(stakes(values)?.into_iter().map(|stake| stake.get()).collect())
}
