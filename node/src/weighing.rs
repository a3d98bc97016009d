//! How the committee of an experiment is weighed and placed, where the usual way is not asked for.

use std::path::PathBuf;

use clap::Args;
use prefinal_lab::Failure;
use prefinal_lab::stakes::{Holders, StakeTable};
use prefinal_lab::{place, place_in, weighing};
use prefinal_sim::Placement;
use prefinal_validator::setup::{Algorithm, Plan, PlanError};
use prefinal_weighted_rounding::verify::VerifyError;
use prefinal_weighted_rounding::{Objective, Pair, Ratio, Rounding, Weight};

use crate::round::pair;

/// Options for experiments that bring their committee and its places along.
const OTHERS: [&str; 3] = ["load", "execute", "sync"];

/// Weights, thresholds and round trips that differ from the usual ones.
#[derive(Args, Clone, Debug, Default)]
pub struct Weighing {
    /// Stake up to which the slow path leaks nothing, and stake from which it reconstructs [default: 1/2 2/3]
    #[arg(long, value_name = "S R", num_args = 2, conflicts_with_all = OTHERS)]
    slow: Vec<Ratio>,
    /// Let the fast path reconstruct from the least stake that this total weight buys; --fast is the most
    #[arg(long, value_name = "WEIGHT", value_parser = clap::value_parser!(u32).range(1..),
        conflicts_with_all = OTHERS)]
    budget: Option<u32>,
    /// Take the weights from the column `weight` of the stake table as they are. The fast path then needs what they
    /// give, whatever --fast says
    #[arg(long, requires = "stakes",
        conflicts_with_all = ["budget", "epochs", "load", "execute", "sync"])]
    weights: bool,
    /// Table of round trips between regions, CSV with the columns `from,to,p50_ms,p90_ms`; `--regions` are then those
    /// of the table [default: between regions of AWS, as measured]
    #[arg(long, value_name = "FILE", conflicts_with_all = OTHERS)]
    round_trips: Option<PathBuf>,
}

impl Weighing {
    /// Reads the stake table, or the one that is part of the program.
    pub(crate) fn read(&self, stakes: Option<&std::path::Path>) -> Result<StakeTable, Failure> {
        let read = if self.weights { StakeTable::read_weighted } else { StakeTable::read };
        Ok(stakes.map_or_else(StakeTable::embedded, read)?)
    }

    /// The plan of a committee of these holders.
    pub(crate) fn plan(
        &self,
        holders: &Holders,
        algorithm: Algorithm,
        fast: Ratio,
    ) -> Result<Plan, WeighingError> {
        let stakes = holders.stakes.clone();
        let is_usual = self.slow.is_empty() && self.budget.is_none() && !self.weights;
        if is_usual || algorithm == Algorithm::Tight || stakes.len() < 4 {
            return Ok(Plan::new(stakes, algorithm, fast)?);
        }
        let slow = self.slow()?;
        let most = if self.weights { Ratio::ONE } else { fast };
        let early = pair(Pair::FAST, &[Ratio::TWO_THIRDS, most])?;
        let profile = weighing::pairs(slow, early, algorithm)?;
        let rounding = if self.weights {
            let given = Rounding::of_weights(&stakes, &holders.weights, &profile);
            given.map_err(WeighingError::Weights)?
        } else {
            let budget = self.budget.map(Weight::new);
            let objective =
                budget.map_or_else(Objective::least_total, Objective::least_reconstruction);
            Rounding::solve(&stakes, &profile, objective).map_err(PlanError::from)?
        };
        Ok(weighing::plan(rounding, algorithm, fast)?)
    }

    /// Where the parties are.
    pub(crate) fn place(
        &self,
        regions: &[String],
        parties: usize,
        seed: u64,
    ) -> Result<Option<Placement>, Failure> {
        match &self.round_trips {
            Some(table) => place_in(table, regions, parties, seed),
            None => place(regions, parties, seed),
        }
    }

    /// The stakes that leak and that reconstruct on the slow path.
    pub(crate) fn slow(&self) -> Result<Pair, Failure> {
        if self.slow.is_empty() { Ok(Pair::slow()) } else { pair(Pair::SLOW, &self.slow) }
    }
}

/// Why there is no plan.
pub(crate) enum WeighingError {
    /// The stakes and ratios do not fit.
    Plan(PlanError),
    /// No threshold fits weights that were given.
    Weights(VerifyError),
    /// The options do not.
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
