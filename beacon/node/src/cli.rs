//! The command line: what can be asked, and the two ways in which it can fail.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use weighted_rounding::Ratio;

use crate::stakes::{StakeTable, StakesError};
use crate::{devnet, round, simulate, verify};

/// What the command can do.
#[derive(Subcommand)]
pub enum Command {
    /// Run a committee in this process, in real time: key generation, then one value per slot
    Devnet(devnet::Options),
    /// Repeat the paper's latency experiment in virtual time: slow path against fast path
    Simulate(simulate::Options),
    /// Round a stake table to weights and thresholds
    Round(round::Options),
    /// Check the values in a file that a devnet wrote, from public data alone
    Verify(verify::Options),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// [`Failure::BadInput`] before anything runs; [`Failure::Disagreement`] after it.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::Devnet(options) => devnet::run(&options),
            Self::Simulate(options) => simulate::run(&options),
            Self::Round(options) => round::run(&options),
            Self::Verify(options) => verify::run(&options),
        }
    }
}

/// How a command fails.
#[derive(Debug)]
pub enum Failure {
    /// The input is bad: one line says what and where. Exit code 2.
    BadInput(String),
    /// Parties disagree, or a value does not verify. Exit code 1.
    Disagreement(String),
}

impl Failure {
    /// Bad input, in its own words.
    pub fn bad_input(what: impl fmt::Display) -> Self {
        Self::BadInput(what.to_string())
    }
}

impl From<StakesError> for Failure {
    fn from(error: StakesError) -> Self {
        Self::bad_input(error)
    }
}

/// Which path reveals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PathChoice {
    /// Algorithm 1: partials go out when a slot is final
    Slow,
    /// Algorithm 3: partials of a second sharing go out with the vote that makes the slot final
    Fast,
    /// Algorithm 2: one sharing, no extra delay; every party counts as one unit of stake
    Tight,
}

/// The committee that a command runs.
#[derive(Args, Clone, Debug)]
pub struct CommitteeOptions {
    /// Stake table: a header line `stake`, then one whole number a line [default: Aptos mainnet]
    #[arg(long, value_name = "FILE")]
    pub stakes: Option<PathBuf>,
    /// The stake that the fast path needs to reconstruct, as a fraction
    #[arg(long, value_name = "N/D", default_value = "5/6", value_parser = parse_ratio)]
    pub fast: Ratio,
    /// Seed of everything that is drawn: placement, keys, delays
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl CommitteeOptions {
    /// The table that the options name.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn table(&self) -> Result<StakeTable, StakesError> {
        self.stakes.as_deref().map_or_else(StakeTable::embedded, StakeTable::read)
    }
}

/// Reads `2/3`.
///
/// # Errors
/// What is wrong with it.
pub fn parse_ratio(text: &str) -> Result<Ratio, String> {
    let parts = text.split_once('/').and_then(|(numerator, denominator)| {
        Some((numerator.trim().parse().ok()?, denominator.trim().parse().ok()?))
    });
    let (numerator, denominator) = parts.ok_or("expected a fraction like 5/6")?;
    Ratio::new(numerator, denominator).map_err(|error| error.to_string())
}
