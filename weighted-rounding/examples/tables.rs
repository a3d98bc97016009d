//! Figures for every shipped stake table.
//!
//! `cargo run --release -p prefinal-weighted-rounding --example tables [NODES]` prints
//!
//! 1. per table the least total for the pair (1/2, 2/3), whether it is proven within `NODES` nodes
//!    of branch and bound (10 000 if not given), and the standard profile's thresholds with the stake
//!    from which each is guaranteed to reconstruct,
//! 2. the total that a second pair (2/3, r') costs, and
//! 3. the r' that a budget of total weight buys.

use std::error::Error;
use std::path::{Path, PathBuf};

use weighted_rounding::{Objective, Pair, Profile, Ratio, Rounding, Stake, Weight};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let nodes = std::env::args().nth(1).map_or(Ok(10_000), |nodes| nodes.parse())?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/stakes");
    all_tables(&folder, nodes)?;
    for name in ["aptos_mainnet_129", "sui_epoch_1200"] {
        let stakes = read(&folder.join(name).with_extension("csv"))?;
        println!("\n{name}: (1/2, 2/3) and (2/3, r')");
        second_pair(&stakes)?;
        budgets(&stakes)?;
    }
    Ok(())
}

fn all_tables(folder: &Path, nodes: u64) -> Outcome<()> {
    let entries = std::fs::read_dir(folder)?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "csv"));
    files.sort();
    println!("{:26}{:>6}  {:14}{:>9}  standard profile", "table", "n", "(1/2, 2/3)", "ms");
    for file in files {
        let stakes = read(&file)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let slow = Profile::new(vec![Pair::slow()])?;
        let scan = Objective::least_total().prove(0);
        let (_, duration) = timed(|| Rounding::solve(&stakes, &slow, scan))?;
        let alone = Rounding::solve(&stakes, &slow, scan.prove(nodes))?;
        let bound = if alone.is_optimal() {
            format!("{} proven", alone.total())
        } else {
            format!("{} (≥ {})", alone.total(), alone.least_possible())
        };
        print!("{name:26}{:>6}  {bound:14}{duration:>9.1}", stakes.len());
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

fn second_pair(stakes: &[Stake]) -> Outcome<()> {
    for most in ["1", "5/6", "0.80", "0.75", "0.72", "0.70", "0.69", "0.68", "0.675"] {
        let profile = slow_and_fast(most.parse()?)?;
        let scan = Objective::least_total().prove(0);
        let (rounding, duration) = timed(|| Rounding::solve(stakes, &profile, scan))?;
        println!("  r' ≤ {most:5} costs {:>5} units ({duration:.0} ms)", rounding.total());
    }
    Ok(())
}

fn budgets(stakes: &[Stake]) -> Outcome<()> {
    let profile = slow_and_fast(Ratio::ONE)?;
    for budget in [256, 512, 1024, 2048, 4096] {
        let objective = Objective::least_reconstruction(Weight::new(budget));
        let (rounding, duration) = timed(|| Rounding::solve(stakes, &profile, objective))?;
        let reached =
            rounding.guarantees().last().map_or(1.0, |fast| decimal(fast.reconstruction()));
        let total = rounding.total();
        println!("  {budget:>4} units buy r* {reached:.5}, with {total} ({duration:.0} ms)");
    }
    Ok(())
}

fn slow_and_fast(reconstruction: Ratio) -> Outcome<Profile> {
    let fast = Pair::new("fast", Ratio::TWO_THIRDS, reconstruction)?;
    Ok(Profile::new(vec![Pair::slow(), fast])?)
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
