//! The `prefinal` command.
//!
//! Exit codes: 0 all is well; 1 the parties disagree or a value does not verify; 2 the input is bad,
//! with one line on stderr that says what and where.

use std::process::ExitCode;

use clap::Parser;
use prefinal_node::cli::Command;
use prefinal_node::failure::Failure;

/// Threshold cryptography inside BFT blockchains: verifiable randomness the moment a block is final.
#[derive(Parser)]
#[command(name = "prefinal", version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match Arguments::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Disagreement(what)) => {
            eprintln!("error: {what}");
            ExitCode::from(1)
        }
        Err(Failure::BadInput(what)) => {
            eprintln!("error: {what}");
            ExitCode::from(2)
        }
    }
}
