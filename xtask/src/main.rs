//! `cargo xtask test`: sets up what is missing on this machine, says so, and runs every gate.
//! `cargo xtask bench`: measures everything, here, and makes the report of it.
//!
//! A gate is a command that anybody could type; each is printed before it runs, so that a failure
//! can be repeated by hand. The first failure ends the run, or its half: stages run in two lanes, of which
//! the second gives way. `cargo xtask test constant-time fuzz` runs the gates of these two stages one after
//! the other, `cargo xtask list` says which stages there are. `cargo xtask page` builds what
//! `prefinal devnet --http` shows, in the same way.
//!
//! | module  | what                                    |
//! |---------|-----------------------------------------|
//! | `setup` | installs what is missing                |
//! | `gate`  | one command                             |
//! | `gates` | which commands, stage by stage          |
//! | `bench` | what is measured, one after another     |
//!
//! `xtask/tests/tidy.rs` says what the source must look like, and `Cargo.toml` lists the lints.

mod bench;
mod gate;
mod gates;
mod setup;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use crate::bench::Samples;
use crate::gate::Gate;
use crate::gates::{Lane, STAGES, Stage};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Sets up what is missing and runs the project's gates")]
enum Task {
    /// Runs the gates that CI runs, or those of the named stages.
    Test {
        /// Stages, as `cargo xtask list` names them.
        stages: Vec<String>,
    },
    /// Lists the stages.
    List,
    /// Builds the npm package, and with it the page that the devnet serves.
    Page,
    /// Measures everything, or the named programs, and writes the report.
    Bench {
        /// Few samples and small cases, in minutes; the README stays as it is.
        #[arg(long)]
        quick: bool,
        /// Programs, or kinds of them: `scale`, `peers`, `peers-blsttc`.
        programs: Vec<String>,
    },
}

/// Why a run ended early.
#[derive(Debug)]
struct Failed(String);

fn main() -> ExitCode {
    let started = Instant::now();
    let (done, what) = match Task::parse() {
        Task::Test { stages } if stages.is_empty() => (test_all(), "gates passed"),
        Task::Test { stages } => (chosen(&stages).and_then(|stages| test(&stages)), "gates passed"),
        Task::Page => (gates::page().and_then(run), "gates passed"),
        Task::Bench { quick, programs } => {
            let samples = if quick { Samples::Few } else { Samples::All };
            (bench::run(samples, &programs), "programs ran")
        }
        Task::List => {
            STAGES.iter().for_each(|stage| println!("{:14} {}", stage.name, stage.about));
            return ExitCode::SUCCESS;
        }
    };
    match done {
        Ok(count) => {
            println!("\n{count} {what} in {}", minutes(started.elapsed()));
            ExitCode::SUCCESS
        }
        Err(Failed(gate)) => {
            eprintln!("\nfailed after {}: {gate}", minutes(started.elapsed()));
            ExitCode::FAILURE
        }
    }
}

fn chosen(names: &[String]) -> Result<Vec<&'static Stage>, Failed> {
    let named = |name: &String| {
        let found = STAGES.iter().find(|stage| stage.name == name);
        found.ok_or_else(|| Failed(format!("no stage is named {name}, see cargo xtask list")))
    };
    names.iter().map(named).collect()
}

/// All stages in two lanes. What the second one printed comes when both have ended.
fn test_all() -> Result<usize, Failed> {
    let (first, second): (Vec<_>, Vec<_>) =
        STAGES.iter().partition(|stage| stage.lane == Lane::First);
    let names: Vec<&str> = second.iter().map(|stage| stage.name).collect();
    let program = std::env::current_exe().map_err(|error| Failed(error.to_string()))?;
    let lane = Gate::new("nice", "-n 5").and(&program.to_string_lossy()).and("test").all(&names);
    println!("\n> {lane} &");
    lane.while_running("second", || test(&first))
}

/// How long each stage took is said last.
fn test(stages: &[&Stage]) -> Result<usize, Failed> {
    let mut times = String::new();
    let mut all = |stage: &&Stage| {
        println!("\n== {}: {}", stage.name, stage.about);
        let started = Instant::now();
        let passed = (stage.gates)().and_then(run);
        times += &format!("{:14} {:>9}\n", stage.name, minutes(started.elapsed()));
        passed
    };
    let passed = stages.iter().map(&mut all).sum();
    print!("\n{times}");
    passed
}

/// Gives how many passed, which is all of them.
fn run(gates: Vec<Gate>) -> Result<usize, Failed> {
    gates.iter().map(Gate::run).sum()
}

fn minutes(span: Duration) -> String {
    format!("{}:{:02} min", span.as_secs() / 60, span.as_secs() % 60)
}
