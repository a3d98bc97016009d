//! How many instructions the most important operations take, against the counts in `counts.txt`.
//!
//! A slow-down of a few percent drowns in the noise of a clock; callgrind counts the same program twice
//! alike. Every operation runs once so that tables are built and once to be counted, and fails if it is
//! more than 2 % away from its stored count, in either direction: what became faster must not be free
//! to become slower again.
//!
//! ```text
//! cargo run --release                         # all rows, against the stored counts
//! cargo run --release -- --store              # new counts; the commit says why they are right
//! cargo run --release -- wvuf pvss            # the rows of these groups
//! ```
//!
//! | module   | what                                                                  |
//! |----------|-----------------------------------------------------------------------|
//! | `rows`   | the operations, on the inputs that `benches/micro` takes the time of   |
//! | `counts` | what is stored, and what of it holds                                  |
//!
//! Counts depend on compilers and valgrind, whose versions are stored with them, and not on the machine:
//! inputs come from seeds, blst is built for ADX wherever that happens, hashes ask a processor that
//! valgrind makes up. Instructions are not time. What stalls more often, or uses wider instructions, is found by
//! `benches/micro`.
//!
//! From an empty build folder this takes about a minute and a half, half of it to build.
//!
//! Why not gungraun, which does the like in general: it compares with the run before or with a baseline
//! in the build folder; its limits that can stand in the tree are upper ones, so that what became faster
//! passes; its runner would have to be installed first; and inputs that take ten times longer to make
//! than to use would be made again for each row.
#![forbid(unsafe_code)]

mod counts;
mod rows;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};

use crate::counts::Counts;
use crate::rows::{GROUPS, Group};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Told to the process that is counted: the group that it runs.
const COUNTED: &str = "PREFINAL_COUNTED_GROUP";

/// What stores new counts.
const STORE: &str = "cargo run --release --locked --manifest-path benches/instructions/Cargo.toml \
     --target-dir target/instructions -- --store";

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(COUNTED) {
        return be_counted(&name);
    }
    match measure(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// In a process that valgrind runs.
fn be_counted(name: &str) -> ExitCode {
    let Some(group) = GROUPS.iter().find(|group| group.name == name) else {
        return ExitCode::FAILURE;
    };
    (group.run)();
    ExitCode::SUCCESS
}

fn measure(arguments: Vec<String>) -> Outcome<()> {
    if !cfg!(target_arch = "x86_64") {
        return Err("counts are stored for x86-64 alone".into());
    }
    let store = arguments == ["--store"];
    let asked = |group: &&Group| {
        store || arguments.is_empty() || arguments.iter().any(|name| name == group.name)
    };
    let groups: Vec<&Group> = GROUPS.iter().filter(asked).collect();
    if !store && !arguments.is_empty() && groups.len() < arguments.len() {
        let names = GROUPS.map(|group| group.name).join(" ");
        return Err(format!("usage: prefinal-instructions [--store | GROUP...], of {names}").into());
    }
    let counted = Counts { tools: tools()?, rows: count_all(&groups)? };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("counts.txt");
    if store {
        print!("{counted}");
        return Ok(std::fs::write(file, counted.to_string())?);
    }
    let mut stored: Counts = std::fs::read_to_string(file)?.parse()?;
    if !arguments.is_empty() {
        stored.rows.retain(|(row, _)| groups.iter().any(|group| row.starts_with(group.name)));
    }
    let verdict = counts::compare(&stored, &counted);
    print!("{}", verdict.table);
    if verdict.failures == 0 {
        return Ok(());
    }
    let (failures, percent) = (verdict.failures, counts::TOLERANCE_PERCENT);
    Err(format!(
        "\n{failures} of the counts above are more than {percent} % off, or not on both sides.\n\
         {}Find out why. If it is meant to be so, store new counts:\n  {STORE}",
        verdict.advice
    )
    .into())
}

/// All groups at once, which changes no count; the first takes as long as the others together. Whatever
/// fails, none is left running.
fn count_all(groups: &[&Group]) -> Outcome<Vec<(String, u64)>> {
    let started: Vec<Outcome<(Child, PathBuf)>> = groups.iter().map(|group| start(group)).collect();
    let ended = groups.iter().zip(started).map(|(group, started)| {
        let (mut child, file) = started?;
        if !child.wait()?.success() {
            return Err(format!("{} did not run to its end", group.name).into());
        }
        read(&file)
    });
    let ended: Vec<Outcome<Vec<(String, u64)>>> = ended.collect();
    Ok(ended.into_iter().collect::<Outcome<Vec<_>>>()?.concat())
}

/// This program once more, under valgrind, which writes what it counts to files of this name and a
/// number.
fn start(group: &Group) -> Outcome<(Child, PathBuf)> {
    let program = std::env::current_exe()?;
    let file = program.with_file_name(format!("callgrind.{}", group.name));
    for number in 1.. {
        // What an earlier run left would pass for a result of this one.
        if std::fs::remove_file(numbered(&file, number)).is_err() {
            break;
        }
    }
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--tool=callgrind", "--instr-atstart=no"]);
    command.arg(format!("--callgrind-out-file={}", file.display()));
    command.arg(program).env(COUNTED, group.name);
    let child = command.spawn().map_err(|error| format!("valgrind: {error}"))?;
    Ok((child, file))
}

fn numbered(file: &Path, number: u32) -> PathBuf {
    file.with_added_extension(number.to_string())
}

/// Each row that was counted.
fn read(file: &Path) -> Outcome<Vec<(String, u64)>> {
    let mut rows = Vec::new();
    for number in 1.. {
        let file = numbered(file, number);
        let Ok(text) = std::fs::read_to_string(&file) else { break };
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let row = field("desc: Trigger: Client Request: ");
        match (row, field("totals: ").map(str::parse)) {
            (Some(row), Some(Ok(count))) if count > 0 => rows.push((row.to_owned(), count)),
            _ => return Err(format!("{} names no row or no total", file.display()).into()),
        }
    }
    Ok(rows)
}

/// What counts depend on besides the source.
fn tools() -> Outcome<String> {
    let version = |program: &str, argument: &str| -> Outcome<String> {
        let output = Command::new(program).arg(argument).output();
        let output = output.map_err(|error| format!("{program}: {error}"))?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let (rustc, cc) = (version("rustc", "--version")?, version("cc", "-dumpfullversion")?);
    Ok(format!("{rustc}, cc {cc}, {}", version("valgrind", "--version")?))
}
