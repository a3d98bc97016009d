//! The command line: what can be asked.

use clap::Subcommand;

use crate::failure::Failure;
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
