//! The latency experiments, over the round trips of the world's cloud regions.
//!
//! ```text
//! cargo run --release -p prefinal-geo                        # five minutes of one core
//! cargo run --release -p prefinal-geo -- --quick             # one committee in one place
//! ```
//!
//! | row           | experiment                                                                  |
//! |---------------|-----------------------------------------------------------------------------|
//! | geo::paths    | the paper's: slow path against fast path, by place and scheme                |
//! | geo::delays   | Theorem 6.1 in message delays: tight thresholds against ramps                |
//! | geo::stake    | the wait by the stake from which the fast path reconstructs                  |
//! | geo::engines  | Jolteon against Malachite, links alone                                      |
//!
//! The first three are what `prefinal simulate` runs, in this process by the same code ([`prefinal_lab`]),
//! and each row names the command. Seeds are fixed; what is not is the cost of the primitives, which
//! the simulation measures at its start and charges. Waits are virtual time, so a slow machine shows in
//! that cost alone.
mod engines;
mod simulate;

use std::process::ExitCode;
use std::time::Duration;

use prefinal_lab::waits::Waits;
use prefinal_rows::{CaseRows, OURS, Options, Sheet};

/// How anything here can fail.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    prefinal_rows::exit_code(run(&Options::from_command_line()))
}

fn run(options: &Options) -> Outcome<()> {
    let mut sheet = Sheet::new("geo", "cargo run --release -p prefinal-geo");
    simulate::paths(&mut sheet, options.quick)?;
    simulate::thresholds(&mut sheet, options.quick)?;
    engines::compare(&mut sheet, options.quick)?;
    Ok(sheet.finish(options)?)
}

fn milliseconds(wait: Option<Duration>) -> Outcome<f64> {
    Ok(wait.ok_or("no waits")?.as_secs_f64() * 1e3)
}

/// Mean, percentiles, and the mean of the slots' longest, in milliseconds.
fn put_waits(row: CaseRows<'_>, waits: &Waits) -> Outcome<()> {
    let mut row = row.put(OURS, "mean", milliseconds(waits.mean())?, "ms");
    for (quantity, percent) in [("p50", 50), ("p90", 90), ("p99", 99)] {
        row = row.put(OURS, quantity, milliseconds(waits.percentile(percent))?, "ms");
    }
    row.put(OURS, "longest", milliseconds(waits.mean_of_longest())?, "ms");
    Ok(())
}
