//! `cargo xtask bench`: builds all that measures, runs it one program after another, makes the report.
//!
//! Nothing else should run meanwhile. Building comes first, so that no compiler is beside a measurement.
//! A program that does not build, or fails, does not end the others: its command is named at the end, and
//! the report does without it. What is published comes from one run on one machine:
//!
//! | asked                  | figures, pictures, report | README                                 |
//! |------------------------|---------------------------|----------------------------------------|
//! | all                    | `benches/results/`        | its table is written if nothing failed |
//! | `--quick`, or by name  | `target/bench/`           | is left as it is                       |
//!
//! The measurements are in `benches/`, and `benches/report` writes the report.
use std::path::Path;
use std::time::Instant;

use crate::gate::{Gate, root};
use crate::gates::{NODE, NPM, WASM_TRIPLE};
use crate::setup::{self, Program};
use crate::{Failed, minutes};

/// Criterion's programs: operations against their limits, whole flows.
const MICRO: [&str; 8] =
    ["beacon", "flows", "heap", "primitives", "pvss", "rounding", "threshold", "wvuf"];
/// Programs of the workspace that are one crate each.
const CRATES: [&str; 3] = ["scale", "geo", "throughput"];
/// Below `benches/peers/`: crates with their own lock files.
const PEERS: [&str; 5] = ["arkworks", "blsttc", "commonware", "fastcrypto", "ferveo"];
/// Below `benches/peers/`: a script each.
const SCRIPTS: [&str; 2] = ["noble", "python"];

/// What the peers compile, once for all of them.
const PEERS_TARGET: &str = "target/peers";

/// How thoroughly it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Samples {
    /// Within half an hour on two cores, without building.
    All,
    /// Within five minutes.
    Few,
}

/// One program.
struct Measure {
    name: String,
    build: Gate,
    run: Gate,
}

impl Measure {
    /// Whether it is what the command line names: `scale`, `peers`, `peers-blsttc`.
    fn is(&self, asked: &str) -> bool {
        self.name == asked
            || self.name.strip_prefix(asked).is_some_and(|rest| rest.starts_with('-'))
    }
}

/// Runs the named programs, or all. Gives how many.
pub(crate) fn run(samples: Samples, names: &[String]) -> Result<usize, Failed> {
    let all = programs();
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|one| one.is(name))) {
        let known: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        return Err(Failed(format!("no program is named {unknown}: {}", known.join(" "))));
    }
    let chosen: Vec<Measure> = all
        .into_iter()
        .filter(|one| names.is_empty() || names.iter().any(|name| one.is(name)))
        .collect();
    set_up(&chosen)?;
    let published = samples == Samples::All && names.is_empty();
    let results = if published { "benches/results" } else { "target/bench" };
    let report = format!("-p prefinal-report -- --results {results}");
    let started = Instant::now();
    Gate::cargo("build --release --locked -p prefinal-report").run()?;
    let (ready, mut failures) = built(&chosen);
    println!("\nbuilt in {}", minutes(started.elapsed()));

    setup::folder(results)?;
    let results = root().join(results);
    forget(&results)?;
    let thorough = if samples == Samples::All { "all" } else { "few" };
    Gate::cargo(&format!("run --release --locked {report} --begin {thorough}")).run()?;
    let started = Instant::now();
    let failed = ready.into_iter().filter_map(|one| measure(one, samples, &results).err());
    failures.extend(failed.map(|failed| failed.0));
    println!("\nmeasured in {}", minutes(started.elapsed()));
    let readme = if published && failures.is_empty() { " --readme README.md" } else { "" };
    Gate::cargo(&format!("run --release --locked {report}{readme}")).run()?;
    if failures.is_empty() { Ok(chosen.len()) } else { Err(Failed(failures.join("\n  "))) }
}

/// Those that build, and why the others do not.
fn built(chosen: &[Measure]) -> (Vec<&Measure>, Vec<String>) {
    let (mut ready, mut failures) = (Vec::new(), Vec::new());
    for one in chosen {
        match one.build.run() {
            Ok(_) => ready.push(one),
            Err(failed) => failures.push(failed.0),
        }
    }
    (ready, failures)
}

/// Into a file whose name is whole: Criterion's programs run in their own folder.
fn measure(program: &Measure, samples: Samples, results: &Path) -> Result<(), Failed> {
    let file = results.join(format!("{}.csv", program.name));
    let run = program.run.clone().and("--csv").and(&file.to_string_lossy());
    let run = if samples == Samples::Few { run.and("--quick") } else { run };
    run.run().map(drop)
}

/// Figures of an earlier run are not of this one.
fn forget(results: &Path) -> Result<(), Failed> {
    let at = |error: std::io::Error| Failed(format!("{}: {error}", results.display()));
    for entry in std::fs::read_dir(results).map_err(at)? {
        let file = entry.map_err(at)?.path();
        if file.extension().is_some_and(|end| end == "csv" || end == "svg") {
            std::fs::remove_file(file).map_err(at)?;
        }
    }
    Ok(())
}

fn programs() -> Vec<Measure> {
    let mut all = Vec::new();
    for bench in MICRO {
        let cargo = |line: &str| {
            Gate::cargo(&format!("bench --locked -p prefinal-bench --bench {bench}{line}"))
        };
        let (build, run) = (cargo(" --no-run"), cargo(" --"));
        all.push(Measure { name: format!("micro-{bench}"), build, run });
    }
    for (name, package) in [("state", "prefinal-state --features evm"), ("light", "prefinal-light")]
    {
        let cargo =
            |line: &str| Gate::cargo(&format!("bench --locked -p {package} --bench {name}{line}"));
        let (build, run) = (cargo(" --no-run"), cargo(" --"));
        all.push(Measure { name: name.to_owned(), build, run });
    }
    for folder in PEERS {
        let cargo = |task: &str| {
            let manifest = format!("--manifest-path benches/peers/{folder}/Cargo.toml");
            let gate = Gate::cargo(&format!("{task} --release --locked {manifest}"));
            gate.with("CARGO_TARGET_DIR", &root().join(PEERS_TARGET).to_string_lossy())
        };
        let (build, run) = (cargo("build"), cargo("run").and("--"));
        all.push(Measure { name: format!("peers-{folder}"), build, run });
    }
    for name in CRATES {
        let cargo =
            |task: &str| Gate::cargo(&format!("{task} --release --locked -p prefinal-{name}"));
        let (build, run) = (cargo("build"), cargo("run").and("--"));
        all.push(Measure { name: name.to_owned(), build, run });
    }
    for name in SCRIPTS {
        let run = Gate::new("sh", &format!("benches/peers/{name}/run.sh"));
        let build = run.clone().and("--build");
        all.push(Measure { name: format!("bindings-{name}"), build, run });
    }
    all
}

/// What the scripts need; the rest is Rust.
fn set_up(chosen: &[Measure]) -> Result<(), Failed> {
    let python = Program { name: "python3", package: "python3" };
    let cc = Program { name: "cc", package: "gcc" };
    setup::programs(&[cc])?;
    for program in chosen {
        match program.name.as_str() {
            "bindings-noble" => {
                setup::targets(&[WASM_TRIPLE])?;
                setup::programs(&[NODE, NPM])?;
            }
            "bindings-python" => {
                setup::programs(&[python])?;
                setup::venv("target/peers-python", "benches/peers/python/requirements.txt")?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn folders(path: &str) -> BTreeSet<String> {
        let entries = std::fs::read_dir(root().join(path)).unwrap();
        let folders = entries.map(Result::unwrap).filter(|entry| entry.path().is_dir());
        folders.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn no_program_is_forgotten() {
        let peers = PEERS.into_iter().chain(SCRIPTS).chain(["common"]);
        assert_eq!(folders("benches/peers"), peers.map(str::to_owned).collect());
        let sources = std::fs::read_dir(root().join("benches/micro/benches")).unwrap();
        let sources = sources.map(|entry| entry.unwrap().path());
        let names = sources.map(|file| file.file_stem().unwrap().to_string_lossy().into_owned());
        assert_eq!(names.collect::<BTreeSet<_>>(), MICRO.map(str::to_owned).into());
        for name in CRATES {
            assert!(root().join(format!("benches/{name}/src/main.rs")).exists(), "{name}");
        }
    }

    #[test]
    fn programs_are_chosen_by_name_or_kind() {
        let chosen = |asked: &str| programs().iter().filter(|one| one.is(asked)).count();
        assert_eq!(chosen("peers"), PEERS.len());
        assert_eq!(chosen("peers-blsttc"), 1);
        assert_eq!(chosen("peer"), 0);
        assert_eq!(chosen("geo"), 1);
        assert!(run(Samples::Few, &["nothing".to_owned()]).is_err());
    }
}
