//! The command line: what can be asked.

use clap::Subcommand;

#[cfg(feature = "timelock")]
use crate::timelock;
use crate::{devnet, follow, round, simulate, verify};
use prefinal_lab::Failure;

/// What the command can do.
#[derive(Subcommand)]
pub enum Command {
    /// Run a committee in this process, in real time: key generation, then one value per slot
    Devnet(devnet::Options),
    /// Follow a devnet that executes its blocks, as a full node that verifies everything
    Follow(follow::Options),
    /// Repeat the paper's latency experiment in virtual time: slow path against fast path
    Simulate(Box<simulate::Options>),
    /// Round a stake table to weights and thresholds
    Round(round::Options),
    /// Check the values in a file that a devnet wrote, from public data alone
    Verify(verify::Options),
    /// Validators as processes
    #[cfg(all(unix, feature = "validator"))]
    #[command(flatten)]
    Validator(crate::validator::commands::Command),
    /// Encrypt files to a round of a beacon such as drand's, and open them with its signature
    #[cfg(feature = "timelock")]
    #[command(subcommand)]
    Timelock(timelock::Command),
    /// Encrypt files to a round of a beacon such as drand's: build with `--features timelock`
    #[cfg(not(feature = "timelock"))]
    Timelock {
        /// What a build with the feature would be asked
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        asked: Vec<String>,
    },
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// [`Failure::BadInput`] before anything runs; [`Failure::Disagreement`] after it.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::Devnet(options) => devnet::run(&options),
            Self::Follow(options) => follow::run(&options),
            Self::Simulate(options) => simulate::run(&options),
            Self::Round(options) => round::run(&options),
            Self::Verify(options) => verify::run(&options),
            #[cfg(all(unix, feature = "validator"))]
            Self::Validator(command) => crate::validator::commands::run(command),
            #[cfg(feature = "timelock")]
            Self::Timelock(command) => timelock::run(&command),
            #[cfg(not(feature = "timelock"))]
            Self::Timelock { .. } => Err(Failure::bad_input(
                "this build has no timelock: build it with `--features timelock`",
            )),
        }
    }
}
