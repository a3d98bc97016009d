//! The committee that a command runs: which stakes, how rounded, where placed.
//!
//! Elsewhere: tables ([`crate::stakes`]), rounding to a plan ([`crate::setup`]), distances (`sim`).

use std::path::PathBuf;

use clap::Args;
use sim::{Geography, Placement};
use weighted_rounding::Ratio;

use crate::failure::Failure;
use crate::round;
use crate::setup::{Algorithm, Plan};
use crate::stakes::StakeTable;

/// The committee that a command runs.
#[derive(Args, Clone, Debug)]
pub struct CommitteeOptions {
    /// Stake table: a header line `stake`, then one whole number a line [default: Aptos mainnet]
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
        parties: Option<usize>,
        algorithm: Algorithm,
    ) -> Result<(Plan, Option<Placement>), Failure> {
        let table = self.stakes.as_deref().map_or_else(StakeTable::embedded, StakeTable::read)?;
        let count = parties.unwrap_or(table.holders());
        let stakes = table.largest(count).ok_or_else(|| {
            let (name, holders) = (table.name(), table.holders());
            Failure::bad_input(format_args!(
                "--parties {count}: {name} has only {holders} holders with stake"
            ))
        })?;
        let plan = Plan::new(stakes, algorithm, self.fast).map_err(Failure::bad_input)?;
        let placement = place(&self.regions, plan.parties(), self.seed)?;
        println!("{count} largest stakes of {}, seed {}", table.name(), self.seed);
        describe(&plan, placement.as_ref());
        Ok((plan, placement))
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

/// Prints the rounding and the distances.
fn describe(plan: &Plan, placement: Option<&Placement>) {
    match &plan.rounding {
        Some(rounding) => {
            println!(
                "rounding: total weight {}, largest {}, {} of {} parties hold a share",
                rounding.total(),
                rounding.largest(),
                rounding.holders(),
                plan.parties()
            );
            println!("{}", round::guarantees(rounding.guarantees()));
        }
        None => println!(
            "tight: every party counts as one, {} of {} reconstruct and finalize",
            plan.slow.t(),
            plan.slow.n()
        ),
    }
    match placement {
        Some(placement) => {
            let trips = placement.round_trips();
            println!(
                "round trips between parties: median {} ms, 90th percentile {} ms",
                trips.percentile(50).as_millis(),
                trips.percentile(90).as_millis()
            );
        }
        None => println!("all parties in one room, no delay"),
    }
}
