//! Figures for every shipped stake table.
//!
//! `cargo run --release -p prefinal-weighted-rounding --example tables [NODES]` prints
//!
//! 1. per table the least total for the pair (1/2, 2/3), whether it is proven within `NODES` nodes
//!    of branch and bound (10 000 if not given), the scan's time and its steps for each offset, in
//!    tables of the result made party by party, and the standard profile's thresholds with the stake
//!    from which each is guaranteed to reconstruct,
//! 2. the total that a second pair (2/3, r') costs, and the least that is possible, and
//! 3. the r' that a budget of total weight buys, and the least that is possible.

use std::error::Error;
use std::path::{Path, PathBuf};

use prefinal_weighted_rounding::{Bound, Objective, Profile, Ratio, Rounding, Stake, Weight};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let nodes = std::env::args().nth(1).map_or(Ok(10_000), |nodes| nodes.parse())?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/stakes");
    all_tables(&folder, nodes)?;
    for name in ["aptos_mainnet_129", "sui_epoch_1200"] {
        let stakes = read(&folder.join(name).with_extension("csv"))?;
        println!("\n{name}: (1/2, 2/3) and (2/3, r')");
        second_pair(&stakes, nodes)?;
        budgets(&stakes, nodes)?;
    }
    Ok(())
}

fn all_tables(folder: &Path, nodes: u64) -> Outcome<()> {
    let entries = std::fs::read_dir(folder)?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "csv"));
    files.sort();
    let header = ("table", "n", "(1/2, 2/3)", "ms", "tables");
    println!(
        "{:26}{:>6}  {:14}{:>9}{:>8}  standard profile",
        header.0, header.1, header.2, header.3, header.4
    );
    for file in files {
        let stakes = read(&file)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let slow = Profile::slow();
        let scan = Objective::least_total().prove(0);
        let (scanned, duration) = timed(|| Rounding::solve(&stakes, &slow, scan))?;
        let alone = Rounding::solve(&stakes, &slow, scan.prove(nodes))?;
        let known = format!("{} {}", alone.total(), known(&alone));
        let passes = tables_an_offset(&scanned);
        print!("{name:26}{:>6}  {known:14}{duration:>9.1}{passes:>8.2}", stakes.len());
        let both = Rounding::solve(&stakes, &Profile::standard(), scan.prove(nodes))?;
        print!(
            "  W {:>4} largest {:>2} holders {:>4}",
            both.total(),
            both.largest(),
            both.holders()
        );
        for guarantee in both.guarantees() {
            let legal = guarantee.legal_thresholds();
            let reached = decimal(guarantee.reconstruction());
            let (least, most) = (legal.start(), legal.end());
            print!("  {} T {least}..={most} r* {reached:.4}", guarantee.name());
        }
        println!();
    }
    Ok(())
}

fn second_pair(stakes: &[Stake], nodes: u64) -> Outcome<()> {
    for most in ["1", "5/6", "0.80", "0.75", "0.72", "0.70", "0.69", "0.68", "0.675"] {
        let profile = Profile::slow_and_fast(most.parse()?)?;
        let objective = Objective::least_total().prove(nodes);
        let (rounding, duration) = timed(|| Rounding::solve(stakes, &profile, objective))?;
        let known = known(&rounding);
        println!("  r' ≤ {most:5} costs {:>5} units {known} ({duration:.0} ms)", rounding.total());
    }
    Ok(())
}

fn budgets(stakes: &[Stake], nodes: u64) -> Outcome<()> {
    let profile = Profile::slow_and_fast(Ratio::ONE)?;
    for budget in [256, 512, 1024, 2048, 4096] {
        let objective = Objective::least_reconstruction(Weight::new(budget)).prove(nodes);
        let (rounding, duration) = timed(|| Rounding::solve(stakes, &profile, objective))?;
        let reached =
            rounding.guarantees().last().map_or(1.0, |fast| decimal(fast.reconstruction()));
        let (total, known) = (rounding.total(), known(&rounding));
        println!("  {budget:>4} units buy r* {reached:.5} {known} with {total} ({duration:.0} ms)");
    }
    Ok(())
}

/// What is proven.
fn known(rounding: &Rounding) -> String {
    match (rounding.bound(), rounding.guarantees().last()) {
        _ if rounding.is_optimal() => "proven".to_owned(),
        (Bound::Total(least), _) => format!("(≥ {least})"),
        (Bound::Sufficient(least), Some(fast)) => format!("(≥ {:.5})", decimal(fast.share(least))),
        (Bound::Sufficient(_), None) => String::new(),
    }
}

/// The scan's steps in units of one table of the result, party by party, for each of 150 offsets.
#[expect(clippy::as_conversions, reason = "for the eye")]
fn tables_an_offset(rounding: &Rounding) -> f64 {
    let table = rounding.holders() as f64 * f64::from(rounding.total().get());
    rounding.effort().steps as f64 / table / 150.0
}

/// The result, and how many milliseconds it took.
#[expect(clippy::disallowed_types, reason = "a measurement, not a protocol")]
fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, f64), E> {
    let start = std::time::Instant::now();
    let result = work()?;
    Ok((result, start.elapsed().as_secs_f64() * 1e3))
}

#[expect(clippy::as_conversions, reason = "a few digits of an exact fraction, for the eye")]
fn decimal(ratio: Ratio) -> f64 {
    ratio.numerator() as f64 / ratio.denominator() as f64
}

fn read(file: &Path) -> Outcome<Vec<Stake>> {
    let text = std::fs::read_to_string(file)?;
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| Ok(Stake::new(line.trim().parse()?))).collect()
}
