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
//! No simulator of its own: the first three are `prefinal simulate`, in this process by the same code,
//! and each row names the command. Seeds are fixed; what is not is the cost of the primitives, which
//! the simulation measures at its start and charges. Waits are virtual time, so a slow machine shows in
//! that cost alone.
//!
//! Elsewhere: the experiments (`prefinal_node::simulate`), links and places (`sim`).
mod engines;
mod simulate;

use std::process::ExitCode;

use rows::{OURS, Options, Sheet};

/// How anything here can fail.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run(&Options::from_command_line()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Outcome<()> {
    let mut sheet = Sheet::new("geo", "cargo run --release -p prefinal-geo");
    simulate::paths(&mut sheet, options.quick)?;
    simulate::thresholds(&mut sheet, options.quick)?;
    engines::compare(&mut sheet, options.quick)?;
    Ok(sheet.finish(options)?)
}

/// Mean and percentiles, in milliseconds.
fn put_waits(sheet: &mut Sheet, (operation, case): (&str, &str), waits: &[f64]) -> Outcome<()> {
    let mut sorted = waits.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = f64::from(u32::try_from(sorted.len())?);
    let mean = sorted.iter().sum::<f64>() / count;
    // The nearest rank, as `prefinal simulate` has it.
    let rank = |percent: usize| (sorted.len() * percent).div_ceil(100).max(1) - 1;
    let at = |percent| sorted.get(rank(percent)).copied().ok_or("no waits");
    let (p50, p90, p99) = (at(50)?, at(90)?, at(99)?);
    let row = sheet.of(operation, case).put(OURS, "mean", mean, "ms").put(OURS, "p50", p50, "ms");
    row.put(OURS, "p90", p90, "ms").put(OURS, "p99", p99, "ms");
    Ok(())
}
