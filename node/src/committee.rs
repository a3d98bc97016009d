//! The committee that a command runs: which stakes, how rounded, where placed.

use std::path::PathBuf;

use clap::Args;
use prefinal_crypto_core::access::Party;
use prefinal_sim::Placement;
use prefinal_weighted_rounding::{Ratio, Weight};

use crate::changes::{Changes, founding};
use crate::round;
use crate::weighing::Weighing;
use prefinal_lab::Failure;
use prefinal_lab::stakes::{Holders, StakeTable};
use prefinal_lab::weighing::WeighingError;
use prefinal_validator::setup::{Algorithm, Plan, PlanError};

/// The committee that a command runs.
#[derive(Args, Clone, Debug)]
pub struct CommitteeOptions {
    /// Stake table: a column `stake` of whole numbers, `-` for stdin [default: Aptos mainnet]
    #[arg(long, value_name = "FILE")]
    pub stakes: Option<PathBuf>,
    /// Regions to place the parties in, separated by commas; `all` spreads them over the world, `trantor`,
    /// `dispel-europe`, `dispel-world` and `zaptos` over those of a paper, `none` puts them into one room
    #[arg(long, value_delimiter = ',', default_value = "all")]
    pub regions: Vec<String>,
    /// The stake that the fast path needs to reconstruct, as a fraction
    #[arg(long, value_name = "N/D", default_value = "5/6")]
    pub fast: Ratio,
    /// Seed of everything that is drawn: placement, keys, delays
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl CommitteeOptions {
    /// Gathers the `parties` largest holders of the table, or all, rounds and places them, and says
    /// what came out.
    ///
    /// # Errors
    /// A bad table, fewer holders than parties, a rounding that does not exist, an unknown region.
    pub fn gather(
        &self,
        parties: Parties,
        algorithm: Algorithm,
    ) -> Result<(Plan, Option<Placement>), Failure> {
        let (plan, _, placement) = self.gather_all(parties, algorithm, &Changes::default())?;
        Ok((plan, placement))
    }

    /// As [`Self::gather`], with the committees that follow: the parties are those of all of them.
    ///
    /// # Errors
    /// As [`Self::gather`], and if a committee would be too small.
    pub fn gather_all(
        &self,
        parties: Parties,
        algorithm: Algorithm,
        changes: &Changes,
    ) -> Result<(Plan, Vec<Plan>, Option<Placement>), Failure> {
        self.gather_weighed(parties, algorithm, changes, &Weighing::default())
    }

    /// As [`Self::gather_all`], weighed and placed in another way than usual.
    ///
    /// # Errors
    /// As [`Self::gather_all`], and if a table of weights or round trips is bad.
    pub fn gather_weighed(
        &self,
        parties: Parties,
        algorithm: Algorithm,
        changes: &Changes,
        weighing: &Weighing,
    ) -> Result<(Plan, Vec<Plan>, Option<Placement>), Failure> {
        let table = weighing.read(self.stakes.as_deref())?;
        let joining = changes.joining();
        let count = parties.count(&table, joining);
        let holders = table.largest_holders(count.saturating_add(joining)).ok_or_else(|| {
            let (name, holders) = (table.name(), table.holders());
            let joining =
                if joining > 0 { format!(" and {joining} that join") } else { String::new() };
            Failure::bad_input(format_args!(
                "--parties {count}{joining}: {name} has only {holders} holders with stake"
            ))
        })?;
        let plan = |holders: &Holders| {
            weighing.plan(holders, algorithm, self.fast).map_err(|error| match error {
                // A short table, and not the number of parties, is what has to change.
                WeighingError::Plan(error @ PlanError::TooFew(_))
                    if !matches!(parties, Parties::Exactly(_)) =>
                {
                    Failure::bad_input(format_args!("{}: {error}", table.name()))
                }
                WeighingError::Plan(error) => Failure::bad_input(error),
                WeighingError::Weights(error) => Failure::bad_input(format_args!(
                    "{}, column `weight`: {error}; give other weights, or put --slow further apart",
                    table.name()
                )),
                WeighingError::Options(failure) => failure,
            })
        };
        // Weights of the table are those of all, for then no committee follows.
        let of = |stakes| Holders { stakes, weights: holders.weights.clone() };
        let later = changes.later(count, &holders.stakes, self.seed)?.into_iter();
        let later = later.map(|stakes| plan(&of(stakes))).collect::<Result<Vec<_>, _>>()?;
        let plan = plan(&of(founding(count, &holders.stakes)))?;
        let placement = weighing.place(&self.regions, plan.parties(), self.seed)?;
        say!("{count} largest stakes of {}, seed {}", table.name(), self.seed);
        describe(&plan, placement.as_ref());
        std::iter::once(&plan).chain(&later).for_each(warn_of_autocrat);
        Ok((plan, later, placement))
    }
}

/// How many of a table's largest holders take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parties {
    /// As many as were asked for.
    Exactly(usize),
    /// As many as usual, or all if there are fewer.
    AtMost(usize),
    /// All parties that have stake.
    All,
}

impl Parties {
    /// What was asked for, or else at most the usual number.
    #[must_use]
    pub fn of(asked: Option<usize>, usual: usize) -> Self {
        asked.map_or(Self::AtMost(usual), Self::Exactly)
    }

    /// How many take part from the start, if so many of the table join later.
    fn count(self, table: &StakeTable, joining: usize) -> usize {
        let all = table.holders().saturating_sub(joining);
        match self {
            Self::Exactly(count) => count,
            Self::AtMost(usual) => usual.min(all),
            Self::All => all,
        }
    }
}

/// Says so if one party alone reconstructs: then nothing is shared, whatever the thresholds promise of
/// smaller sets.
fn warn_of_autocrat(plan: &Plan) {
    if let Some(warning) = autocrat(&plan.shape.weights(), plan.shape.slow().t().get()) {
        warn!("{warning}");
    }
}

/// In words, if there is one.
pub(crate) fn autocrat(weights: &[Weight], threshold: u32) -> Option<String> {
    let (party, weight) = (0..).map(Party::new).zip(weights).max_by_key(|(_, weight)| **weight)?;
    let total: u64 = weights.iter().map(|weight| u64::from(weight.get())).sum();
    (weight.get() >= threshold).then(|| {
        format!(
            "{party} holds {weight} of {total} shares and reconstructs alone from {threshold}: it knows \
             every value before all others"
        )
    })
}

/// Prints the rounding and the distances.
fn describe(plan: &Plan, placement: Option<&Placement>) {
    match &plan.rounding {
        Some(rounding) => {
            say!(
                "rounding: total weight {}, largest {}, {} of {} parties hold a share",
                rounding.total(),
                rounding.largest(),
                rounding.holders(),
                plan.parties()
            );
            say!("{}", round::guarantees(rounding.guarantees()));
        }
        None => say!(
            "tight: every party counts as one, {} of {} reconstruct and finalize",
            plan.shape.slow().t(),
            plan.shape.slow().n()
        ),
    }
    match placement {
        Some(placement) => {
            let trips = placement.round_trips();
            say!(
                "round trips between parties: median {} ms, 90th percentile {} ms",
                trips.percentile(50).as_millis(),
                trips.percentile(90).as_millis()
            );
        }
        None => say!("all parties in one room, no delay"),
    }
}
