//! The committee that a command runs: which stakes, how rounded, where placed.
//!
//! Elsewhere: tables ([`crate::stakes`]), rounding to a plan ([`crate::setup`]), distances (`sim`).

use std::path::PathBuf;

use clap::Args;
use crypto_core::access::Party;
use sim::{Geography, Placement};
use weighted_rounding::{Ratio, Weight};

use crate::failure::Failure;
use crate::round;
use crate::setup::{Algorithm, Plan, PlanError};
use crate::stakes::StakeTable;

/// The committee that a command runs.
#[derive(Args, Clone, Debug)]
pub struct CommitteeOptions {
    /// Stake table: a column `stake` of whole numbers, `-` for stdin [default: Aptos mainnet]
    #[arg(long, value_name = "FILE")]
    pub stakes: Option<PathBuf>,
    /// Regions to place the parties in, separated by commas; `all` spreads them over the world,
    /// `none` puts them into one room
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
        let table = self.stakes.as_deref().map_or_else(StakeTable::embedded, StakeTable::read)?;
        let count = parties.count(&table);
        let stakes = table.largest(count).ok_or_else(|| {
            let (name, holders) = (table.name(), table.holders());
            Failure::bad_input(format_args!(
                "--parties {count}: {name} has only {holders} holders with stake"
            ))
        })?;
        let plan = Plan::new(stakes, algorithm, self.fast).map_err(|error| match error {
            // A short table, and not the number of parties, is what has to change.
            PlanError::TooFew(_) if !matches!(parties, Parties::Exactly(_)) => {
                Failure::bad_input(format_args!("{}: {error}", table.name()))
            }
            error => Failure::bad_input(error),
        })?;
        let placement = place(&self.regions, plan.parties(), self.seed)?;
        say!("{count} largest stakes of {}, seed {}", table.name(), self.seed);
        describe(&plan, placement.as_ref());
        warn_of_autocrat(&plan);
        Ok((plan, placement))
    }
}

/// How many of a table's largest holders take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parties {
    /// As many as were asked for.
    Exactly(usize),
    /// As many as usual, or all if there are fewer.
    AtMost(usize),
    /// All with stake.
    All,
}

impl Parties {
    /// What was asked for, or else at most the usual number.
    #[must_use]
    pub fn of(asked: Option<usize>, usual: usize) -> Self {
        asked.map_or(Self::AtMost(usual), Self::Exactly)
    }

    fn count(self, table: &StakeTable) -> usize {
        match self {
            Self::Exactly(count) => count,
            Self::AtMost(usual) => usual.min(table.holders()),
            Self::All => table.holders(),
        }
    }
}

/// Regions by name, `all` or `none`.
///
/// # Errors
/// A region that nobody knows, with the list of those that are known.
pub(crate) fn place(
    regions: &[String],
    parties: usize,
    seed: u64,
) -> Result<Option<Placement>, Failure> {
    let names: Vec<&str> = regions.iter().map(String::as_str).collect();
    let names = match names.as_slice() {
        ["none"] => return Ok(None),
        ["all"] => sim::GLOBAL.to_vec(),
        _ => names,
    };
    let geography = Geography::aws().map_err(Failure::bad_input)?;
    let seats = u32::try_from(parties).map_err(Failure::bad_input)?;
    Placement::dealt(&geography, seats, &names, seed)
        .map(Some)
        .map_err(|error| Failure::bad_input(format_args!("--regions: {error}")))
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
