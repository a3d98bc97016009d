//! `prefinal-report`: see the library of this crate.
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use prefinal_report::compare::{Comparison, comparisons};
use prefinal_report::machine::Machine;
use prefinal_report::{page, pictures, readme};
use prefinal_rows::Row;

/// Makes a report of measured figures.
#[derive(Parser)]
#[command(name = "prefinal-report")]
struct Options {
    /// The folder of the figures; the report is written there too
    #[arg(long, value_name = "FOLDER", default_value = "benches/results")]
    results: PathBuf,
    /// Rewrite the table in this file as well
    #[arg(long, value_name = "FILE")]
    readme: Option<PathBuf>,
    /// Only write down where and how thoroughly measuring begins
    #[arg(long, value_name = "SAMPLES")]
    begin: Option<String>,
}

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    prefinal_rows::exit_code(run(&Options::parse()))
}

fn run(options: &Options) -> Outcome<()> {
    let folder = &options.results;
    if let Some(samples) = &options.begin {
        fs::create_dir_all(folder)?;
        return Ok(Machine::here(samples).write(folder)?);
    }
    let machine = Machine::read(folder).map_err(|error| {
        format!("{}: {error}", folder.join(prefinal_report::machine::FILE).display())
    })?;
    let comparisons = comparisons(&rows_of(folder)?)?;
    let pictures = pictures::draw(&comparisons, folder)?;
    let file = folder.join("report.md");
    fs::write(&file, page::report(&comparisons, &machine, &pictures))?;
    println!("written: {}", file.display());
    options.readme.as_deref().map_or(Ok(()), |file| rewrite(file, &comparisons, &machine))
}

/// Of all files, in the order of their names.
fn rows_of(folder: &Path) -> Outcome<Vec<Row>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(|error| format!("{}: {error}", folder.display()))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "csv"));
    files.sort();
    let mut all = Vec::new();
    for file in &files {
        all.extend(prefinal_rows::read(file)?);
    }
    if all.is_empty() {
        return Err(format!("{}: no figures", folder.display()).into());
    }
    Ok(all)
}

fn rewrite(file: &Path, comparisons: &[Comparison], machine: &Machine) -> Outcome<()> {
    let at = |error: &dyn Error| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| at(&error))?;
    let choices = &readme::CHOICES;
    for name in readme::missing(choices, comparisons) {
        println!("not measured, so not in {}: {name}", file.display());
    }
    let text =
        readme::rewritten(&text, choices, comparisons, machine).map_err(|error| at(&error))?;
    fs::write(file, text)?;
    println!("written: {}", file.display());
    Ok(())
}
