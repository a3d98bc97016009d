//! `prefinal simulate`, and what it writes.
use std::collections::BTreeMap;
use std::path::Path;

use clap::Parser;
use prefinal_node::cli::Command;
use rows::{OURS, Sheet};
use serde::Deserialize;
use tempfile::TempDir;

use crate::{Outcome, put_waits};

/// The paper's committee in two places in the paper's scheme, and in drand's scheme in one: what
/// it is called, scheme, regions.
const COMMITTEES: [(&str, &str, &str); 3] = [
    ("world, weighted VUF", "wvuf", "all"),
    ("world, threshold BLS", "bls", "all"),
    ("Europe, weighted VUF", "wvuf", EUROPE),
];
const EUROPE: &str =
    "eu-central-1,eu-central-2,eu-north-1,eu-south-1,eu-south-2,eu-west-1,eu-west-2,eu-west-3";
/// Key generation takes most of a run, and by the square of the parties.
const QUICK: &str = " --parties 32";

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// A line of `waits.csv`.
#[derive(Deserialize)]
struct Wait {
    run: String,
    wait_us: u32,
}

/// A line of `thresholds.csv`; a dash where there is nothing.
#[derive(Deserialize)]
struct Threshold {
    profile: String,
    weight: String,
    needs_percent: String,
    links_mean_ms: String,
    links_p50_ms: String,
    links_p90_ms: String,
    links_p99_ms: String,
    behind_mean_ms: String,
    ahead_mean_ms: String,
}

/// A line of `delays.csv`.
#[derive(Deserialize)]
struct Delay {
    kind: String,
    synchronous: f64,
    adversarial: f64,
}

/// What a reader types.
fn typed(arguments: &str) -> String {
    format!("cargo run --release -- simulate {arguments}")
}

/// Runs it with these arguments; the folder has its files.
fn simulate(arguments: &str) -> Outcome<TempDir> {
    let folder = tempfile::tempdir()?;
    println!("\n> {}", typed(arguments));
    let words = ["prefinal", "simulate"].into_iter().chain(arguments.split(' '));
    let words = words.map(Into::into).chain(["--out".into(), folder.path().as_os_str().to_owned()]);
    Arguments::try_parse_from(words)?.command.run().map_err(|failure| format!("{failure:?}"))?;
    Ok(folder)
}

fn lines<T: for<'a> Deserialize<'a>>(folder: &Path, file: &str) -> Outcome<Vec<T>> {
    let mut reader = csv::Reader::from_path(folder.join(file))?;
    Ok(reader.deserialize().collect::<Result<_, _>>()?)
}

/// Slow path against fast path.
pub(crate) fn paths(sheet: &mut Sheet, quick: bool) -> Outcome<()> {
    let (committees, slots, parties) = if quick { (1, 10, QUICK) } else { (3, 15, "") };
    for (name, scheme, regions) in COMMITTEES.into_iter().take(committees) {
        let arguments =
            format!("--scheme {scheme} --regions {regions} --slots {slots} --seed 1{parties}");
        let folder = simulate(&arguments)?;
        let mut runs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for Wait { run, wait_us } in lines(folder.path(), "waits.csv")? {
            runs.entry(run).or_default().push(f64::from(wait_us) / 1e3);
        }
        sheet.command(&typed(&arguments));
        for run in ["slow", "fast"] {
            let waits = runs.get(run).map_or(&[][..], Vec::as_slice);
            put_waits(sheet, ("geo::paths", &format!("{name}, {run} path")), waits)?;
        }
    }
    Ok(())
}

/// Tight thresholds against ramps, and what the stake that the fast path needs costs.
pub(crate) fn thresholds(sheet: &mut Sheet, quick: bool) -> Outcome<()> {
    let arguments =
        format!("--thresholds --scheme wvuf --slots {} --seed 1", if quick { 10 } else { 15 });
    let folder = simulate(&arguments)?;
    sheet.command(&typed(&arguments));
    for Delay { kind, synchronous, adversarial } in lines(folder.path(), "delays.csv")? {
        let row = sheet.of("geo::delays", &kind).put(OURS, "synchronous", synchronous, "Δ");
        row.put(OURS, "adversarial", adversarial, "Δ");
    }
    for line in lines::<Threshold>(folder.path(), "thresholds.csv")? {
        let case = match line.weight.as_str() {
            "-" => line.profile.clone(),
            weight => format!("{}, weight {weight}", line.profile),
        };
        let mut row = sheet.of("geo::stake", &case);
        for (quantity, cell, unit) in [
            ("stake", &line.needs_percent, "%"),
            ("mean", &line.links_mean_ms, "ms"),
            ("p50", &line.links_p50_ms, "ms"),
            ("p90", &line.links_p90_ms, "ms"),
            ("p99", &line.links_p99_ms, "ms"),
            ("mean, combined behind", &line.behind_mean_ms, "ms"),
            ("mean, combined ahead", &line.ahead_mean_ms, "ms"),
        ] {
            if cell != "-" {
                row = row.put(OURS, quantity, cell.parse()?, unit);
            }
        }
    }
    Ok(())
}
