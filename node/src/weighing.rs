//! How the committee of an experiment is weighed and placed, where the usual way is not asked for.

use std::path::PathBuf;

use clap::Args;
use prefinal_lab::Failure;
use prefinal_lab::stakes::{Holders, StakeTable};
use prefinal_lab::weighing::{self, WeighingError, WeightSource};
use prefinal_lab::{place, place_in};
use prefinal_sim::Placement;
use prefinal_validator::setup::{Algorithm, Plan};
use prefinal_weighted_rounding::{Pair, Ratio, Weight};

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

    /// The plan of a committee of these holders. Where every party counts as one, the options have no meaning.
    pub(crate) fn plan(
        &self,
        holders: &Holders,
        algorithm: Algorithm,
        fast: Ratio,
    ) -> Result<Plan, WeighingError> {
        let weighing = match algorithm {
            Algorithm::Tight => weighing::Weighing::default(),
            Algorithm::Slow | Algorithm::Fast => {
                weighing::Weighing { slow: self.slow()?, weights: self.source(holders) }
            }
        };
        weighing.plan(holders.stakes.clone(), algorithm, fast)
    }

    fn source(&self, holders: &Holders) -> WeightSource {
        match self.budget {
            _ if self.weights => WeightSource::Given(holders.weights.clone()),
            Some(budget) => WeightSource::Budget(Weight::new(budget)),
            None => WeightSource::LeastTotal,
        }
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
