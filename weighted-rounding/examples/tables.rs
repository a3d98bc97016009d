//! Rounds every shipped stake table: `cargo run --release -p prefinal-weighted-rounding --example
//! tables`. Prints the least total for the slow pair alone and for the standard profile, with the
//! thresholds and the stake that is guaranteed to reconstruct.

use std::error::Error;
use std::path::{Path, PathBuf};

use weighted_rounding::{Objective, Pair, Profile, Rounding, Stake};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/stakes");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    files.sort();
    println!(
        "{:<26}{:>7}{:>7}  two pairs: total, largest, holders, T and r* of each",
        "table", "n", "slow"
    );
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "csv")) {
        let stakes = read(file)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let slow = Profile::new(vec![Pair::slow()])?;
        let alone = Rounding::solve(&stakes, &slow, Objective::least_total())?;
        let both = Rounding::solve(&stakes, &Profile::standard(), Objective::least_total())?;
        print!("{name:<26}{:>7}{:>7}", stakes.len(), alone.total());
        print!("{:>7}{:>5}{:>7}", both.total(), both.largest(), both.holders());
        for guarantee in both.guarantees() {
            print!("  {:>5} {:.4}", guarantee.threshold(), percent(guarantee.reconstruction()));
        }
        println!();
    }
    Ok(())
}

/// For the eye only.
#[expect(clippy::as_conversions, reason = "four digits for a table, computed from exact fractions")]
fn percent(ratio: weighted_rounding::Ratio) -> f64 {
    ratio.numerator() as f64 / ratio.denominator() as f64
}

fn read(file: &Path) -> Result<Vec<Stake>, Box<dyn Error>> {
    let text = std::fs::read_to_string(file)?;
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| Ok(Stake::new(line.trim().parse()?))).collect()
}
