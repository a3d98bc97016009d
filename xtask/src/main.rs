//! `cargo xtask test`: sets up what is missing on this machine, says so, and runs every gate.
//!
//! A gate is a command that anybody could type; each is printed before it runs, so that a failure
//! can be repeated by hand. The first failure ends the run.
//!
//! Elsewhere: what the source must look like (`xtask/tests/tidy.rs`), lints (`Cargo.toml`).

mod setup;

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use clap::Parser;

/// The crates that must build without an operating system, and for browsers.
const NO_STD: [&str; 2] = ["prefinal-weighted-rounding", "prefinal-machine"];
const TARGETS: [&str; 2] = ["wasm32-unknown-unknown", "thumbv7em-none-eabihf"];

/// The simulation that every test run repeats: small, seeded, both paths.
const SIMULATION: &str = "run --release -- simulate --parties 16 --slots 20 --seed 7";
/// The main job in real time, without emulated distance so that it takes seconds.
const DEVNET: &str = "run --release -- devnet --parties 7 --slots 8 --regions none --seed 7";

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Sets up what is missing and runs the project's gates")]
enum Task {
    /// Formats, lints, docs, tests, doc tests, targets without std, a seeded simulation, a devnet.
    Test,
}

/// Why a run ended early.
#[derive(Debug)]
struct Failed(String);

fn main() -> ExitCode {
    let Task::Test = Task::parse();
    let started = Instant::now();
    match test() {
        Ok(gates) => {
            println!("\n{gates} gates passed in {}", minutes(started.elapsed()));
            ExitCode::SUCCESS
        }
        Err(Failed(gate)) => {
            eprintln!("\nfailed after {}: {gate}", minutes(started.elapsed()));
            ExitCode::FAILURE
        }
    }
}

fn test() -> Result<usize, Failed> {
    setup::components(&["rustfmt", "clippy"])?;
    setup::targets(&TARGETS)?;
    let mut gates = vec![
        cargo("fmt --all --check"),
        cargo("clippy --workspace --all-targets --locked -- -D warnings"),
        with(cargo("doc --workspace --no-deps --locked"), "RUSTDOCFLAGS", "-D warnings"),
        cargo("test --workspace --locked"),
    ];
    for target in TARGETS {
        let packages: String = NO_STD.iter().map(|name| format!(" -p {name}")).collect();
        gates.push(cargo(&format!("check --locked --target {target}{packages}")));
    }
    gates.push(cargo(SIMULATION));
    gates.push(cargo(DEVNET));
    for gate in &mut gates {
        run(gate)?;
    }
    Ok(gates.len())
}

/// `cargo` with arguments that contain no spaces of their own.
fn cargo(arguments: &str) -> Command {
    // The cargo that runs this task, so that a toolchain override reaches the gates.
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments.split(' '));
    command
}

fn with(mut command: Command, name: &str, value: &str) -> Command {
    command.env(name, value);
    command
}

/// Runs a gate, its output going where ours goes.
fn run(command: &mut Command) -> Result<(), Failed> {
    let arguments: Vec<_> = command.get_args().map(|part| part.to_string_lossy()).collect();
    let shown = format!("cargo {}", arguments.join(" "));
    println!("\n> {shown}");
    let started = Instant::now();
    match command.status() {
        Ok(status) if status.success() => {
            println!("  passed in {}", minutes(started.elapsed()));
            Ok(())
        }
        Ok(status) => Err(Failed(format!("{shown} ({status})"))),
        Err(error) => Err(Failed(format!("{shown} ({error})"))),
    }
}

fn minutes(span: Duration) -> String {
    format!("{}:{:02} min", span.as_secs() / 60, span.as_secs() % 60)
}
