//! The `prefinal` command.
//!
//! Exit codes: 0 all is well; 1 the parties disagree or a value does not verify; 2 the input is bad,
//! or a result cannot be written, with one line on stderr that says what and where.

use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;
use prefinal_lab::Failure;
use prefinal_node::cli::Command;
use prefinal_node::output;

/// Trees of states are many small nodes: following a chain takes a quarter less processor time than with glibc's.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Threshold cryptography inside BFT blockchains: verifiable randomness the moment a block is final.
#[derive(Parser)]
#[command(name = "prefinal", version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let done = Arguments::parse().command.run();
    let Err(failure) = done.and_then(|()| output::finish()) else { return ExitCode::SUCCESS };
    output::aside("error", &failure);
    match failure {
        Failure::Disagreement(_) => ExitCode::from(1),
        Failure::BadInput(_) => ExitCode::from(2),
    }
}
