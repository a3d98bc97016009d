//! `prefinal round`: stake tables in, weights and thresholds out.
//!
//! Elsewhere: the search and the independent check of its result (`weighted_rounding`).

use std::path::PathBuf;

use clap::Args;
use comfy_table::Table;
use serde::Serialize;
use weighted_rounding::{Guarantee, Objective, Pair, Profile, Ratio, Rounding, Weight};

use crate::failure::Failure;
use crate::stakes::StakeTable;
use crate::table::table;

/// What `round` is asked.
#[derive(Args, Debug)]
pub struct Options {
    /// Stake tables: a header line `stake`, then one whole number a line
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Stake below which the slow path leaks nothing, and stake from which it reconstructs
    #[arg(long, value_name = "S R", num_args = 2, default_values = ["1/2", "2/3"])]
    slow: Vec<Ratio>,
    /// The same for the fast path
    #[arg(long, value_name = "S R", num_args = 2, default_values = ["2/3", "5/6"])]
    fast: Vec<Ratio>,
    /// Print every weight, not only the summary
    #[arg(long)]
    weights: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One table's rounding, as JSON shows it. Stakes are strings: they exceed what JavaScript counts.
#[derive(Serialize)]
struct Report {
    table: String,
    parties: usize,
    total_weight: u32,
    largest_weight: u32,
    holders: usize,
    paths: Vec<PathReport>,
    weights: Vec<u32>,
}

#[derive(Serialize)]
struct PathReport {
    path: String,
    threshold: u32,
    legal_thresholds: [u32; 2],
    least_leaking_stake: String,
    least_sufficient_stake: String,
    guaranteed: [String; 2],
}

/// Rounds every table and prints what came out.
///
/// # Errors
/// If a table is bad, the ratios are in the wrong order, or a table cannot be rounded.
pub fn run(options: &Options) -> Result<(), Failure> {
    let profile = profile(&options.slow, &options.fast)?;
    let mut reports = Vec::with_capacity(options.files.len());
    for file in &options.files {
        let table = StakeTable::read(file)?;
        let rounding = solve(&table, &profile)?;
        reports.push(report(&table, &rounding));
        if !options.json {
            print_human(&table, &rounding, options.weights);
        }
    }
    if options.json {
        let text = serde_json::to_string_pretty(&reports).map_err(Failure::bad_input)?;
        println!("{text}");
    }
    Ok(())
}

/// Rounds a table under a profile.
///
/// # Errors
/// What the search says, with the table's name.
pub fn solve(table: &StakeTable, profile: &Profile) -> Result<Rounding, Failure> {
    Rounding::solve(&table.stakes(), profile, Objective::least_total())
        .map_err(|error| Failure::bad_input(format_args!("{}: {error}", table.name())))
}

fn profile(slow: &[Ratio], fast: &[Ratio]) -> Result<Profile, Failure> {
    let pair = |name: &str, ratios: &[Ratio]| match ratios {
        [secrecy, reconstruction] => Pair::new(name, *secrecy, *reconstruction)
            .map_err(|error| Failure::bad_input(format_args!("--{name}: {error}"))),
        _ => Err(Failure::bad_input(format_args!("--{name}: expected two fractions"))),
    };
    Profile::new(vec![pair("slow", slow)?, pair("fast", fast)?]).map_err(Failure::bad_input)
}

fn report(table: &StakeTable, rounding: &Rounding) -> Report {
    Report {
        table: table.name().to_owned(),
        parties: table.len(),
        total_weight: rounding.total().get(),
        largest_weight: rounding.largest().get(),
        holders: rounding.holders(),
        paths: rounding.guarantees().iter().map(path_report).collect(),
        weights: rounding.weights().iter().map(|weight| weight.get()).collect(),
    }
}

fn path_report(guarantee: &Guarantee) -> PathReport {
    let legal = guarantee.legal_thresholds();
    let guaranteed = guarantee.reconstruction();
    PathReport {
        path: guarantee.name().to_owned(),
        threshold: guarantee.threshold().get(),
        legal_thresholds: [legal.start().get(), legal.end().get()],
        least_leaking_stake: guarantee.least_leaking().to_string(),
        least_sufficient_stake: guarantee.least_sufficient().to_string(),
        guaranteed: [guaranteed.numerator().to_string(), guaranteed.denominator().to_string()],
    }
}

fn print_human(table: &StakeTable, rounding: &Rounding, weights: bool) {
    println!(
        "{}: {} parties, total weight {}, largest {}, {} hold a share",
        table.name(),
        table.len(),
        rounding.total(),
        rounding.largest(),
        rounding.holders()
    );
    println!("{}", guarantees(rounding.guarantees()));
    if weights {
        let listed: Vec<String> = rounding.weights().iter().map(Weight::to_string).collect();
        println!("weights: {}\n", listed.join(" "));
    }
}

/// The table of thresholds with what they guarantee in stake.
#[must_use]
pub fn guarantees(guarantees: &[Guarantee]) -> Table {
    let header = [
        "path",
        "threshold",
        "legal",
        "leaks nothing up to",
        "reconstructs from (asked)",
        "reconstructs from (guaranteed)",
    ];
    table(&header, guarantees.iter().map(row))
}

fn row(guarantee: &Guarantee) -> [String; 6] {
    let legal = guarantee.legal_thresholds();
    [
        guarantee.name().to_owned(),
        guarantee.threshold().to_string(),
        format!("{}..{}", legal.start(), legal.end()),
        percent(guarantee.pair().secrecy()),
        percent(guarantee.pair().reconstruction()),
        percent(guarantee.reconstruction()),
    ]
}

/// A fraction of the stake for the eye, cut to two digits behind the point.
#[must_use]
pub fn percent(ratio: Ratio) -> String {
    // Stakes may fill 128 bits; 10 000 needs 14 of them, and the digits shown do not need the lowest.
    let shift = 14_u32.saturating_sub(ratio.denominator().leading_zeros());
    let hundredths = (ratio.numerator() >> shift) * 10_000 / (ratio.denominator() >> shift).max(1);
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_cuts_and_never_overflows() {
        assert_eq!(percent(Ratio::TWO_THIRDS), "66.66 %");
        assert_eq!(percent(Ratio::ONE), "100.00 %");
        let huge = Ratio::new(u128::MAX - 1, u128::MAX).expect("below one");
        assert_eq!(percent(huge), "99.99 %");
    }
}
