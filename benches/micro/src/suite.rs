//! Measurements by name, and the rows made of them.
//!
//! The time of a measurement is the [`ThreadTime`] of its fastest sample: on a machine that others use
//! as well, that is the sample they disturbed least. When all is measured a table is printed,
//!
//! ```text
//! operation,ours_ms,limit_ms,ratio,target,within
//! wvuf::partial/n=129,0.2914,0.2876,1.01,1.05,yes
//! ```
//!
//! and `--csv FILE` writes the same in the shape of `benches/rows`, one row `prefinal` and one row
//! `limit` for each operation. `target` is what `ratio` should not exceed, empty where there is no such
//! figure. `--quick` takes few and short samples and leaves out the larger cases ([`Suite::is_quick`]).
//! One word more, like `'combine|limit'`, leaves out what has none of its parts in its name; a ratio
//! needs its limits.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{BatchSize, Bencher, Criterion};
use prefinal_rows::{Clock, LIMIT, Meter, OURS, Options, Sheet};
use serde_json::Value;

use crate::clock::ThreadTime;

/// One line of the table: an operation and the sum of measurements that bounds it from below.
struct Row {
    operation: String,
    limit: Vec<(f64, String)>,
    target: Option<f64>,
}

/// The measurements of one bench program.
pub struct Suite {
    options: Options,
    filter: Option<String>,
    home: PathBuf,
    criterion: Criterion<ThreadTime>,
    sheet: Sheet,
    measured: BTreeSet<String>,
    /// Milliseconds of what criterion would take too many samples of.
    long: BTreeMap<String, f64>,
    rows: Vec<Row>,
}

impl Suite {
    /// An empty table of this suite (`micro` or `flows`), for the program of this name. Ends the
    /// program if the command line cannot be meant.
    #[must_use]
    pub fn new(suite: &str, name: &str) -> Self {
        let (options, filter) = Options::and_names_from_command_line();
        let home = home();
        let (warm_up, measurement) = if options.quick { (10, 50) } else { (100, 500) };
        let criterion = Criterion::default()
            .with_measurement(ThreadTime)
            .output_directory(&home)
            .without_plots()
            .sample_size(10)
            .warm_up_time(Duration::from_millis(warm_up))
            .measurement_time(Duration::from_millis(measurement));
        let command = format!("cargo bench -p prefinal-bench --bench {name}");
        let sheet = Sheet::new(suite, &command);
        let (measured, long, rows) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
        Self { options, filter, home, criterion, sheet, measured, long, rows }
    }

    /// Whether what takes long is to be left out.
    #[must_use]
    pub const fn is_quick(&self) -> bool {
        self.options.quick
    }

    /// Measures `operation` under `id`, once however often it is asked for, and returns `id`.
    pub fn measure<O>(&mut self, id: &str, mut operation: impl FnMut() -> O) -> String {
        self.measure_with(id, |bencher| bencher.iter(|| black_box(operation())))
    }

    /// As [`Suite::measure`], on what `prepare` makes for each run, which is not measured.
    pub fn measure_each<I, O>(
        &mut self,
        id: &str,
        mut prepare: impl FnMut() -> I,
        mut operation: impl FnMut(I) -> O,
    ) -> String {
        self.measure_with(id, |bencher| {
            bencher.iter_batched(&mut prepare, &mut operation, BatchSize::PerIteration);
        })
    }

    fn measure_with(
        &mut self,
        id: &str,
        measure: impl FnMut(&mut Bencher<'_, ThreadTime>),
    ) -> String {
        if self.is_asked(id) && self.measured.insert(id.to_owned()) {
            // What an earlier run left under this name would pass for a result of this one.
            let _ = fs::remove_dir_all(self.home.join(directory(id)));
            self.criterion.bench_function(id, measure);
        }
        id.to_owned()
    }

    /// As [`Suite::measure`], for what takes seconds: one sample, after a run that warms up.
    pub fn measure_long<O>(&mut self, id: &str, operation: impl FnMut() -> O) -> String {
        if self.is_asked(id) && self.measured.insert(id.to_owned()) {
            let clock = if cfg!(feature = "parallel") { Clock::Wall } else { Clock::Thread };
            let meter = Meter::new(&self.options, clock).samples(1);
            let time = meter.least(operation).as_secs_f64() * 1e3;
            println!("{id}: {time:.1} ms");
            self.long.insert(id.to_owned(), time);
        }
        id.to_owned()
    }

    /// Whether the command line leaves this in; for what takes long to set up.
    #[must_use]
    pub fn is_asked(&self, id: &str) -> bool {
        let has = |filter: &String| filter.split('|').any(|part| id.contains(part));
        self.filter.as_ref().is_none_or(has)
    }

    /// Adds a line: `operation` against the sum of `limit`, each measurement as often as it says.
    pub fn row(&mut self, operation: &str, limit: &[(f64, &str)], target: Option<f64>) {
        let limit = limit.iter().map(|(times, id)| (*times, (*id).to_owned())).collect();
        self.rows.push(Row { operation: operation.to_owned(), limit, target });
    }

    /// Adds a figure that is no time, with what it cannot fall below, if that is known.
    pub fn figure(
        &mut self,
        operation: &str,
        (quantity, unit): (&str, &str),
        (ours, limit): (f64, Option<f64>),
    ) {
        if !self.is_asked(operation) {
            return;
        }
        let beside = limit.map_or(String::new(), |limit| format!(", limit {limit}"));
        println!("{operation}: {quantity} {ours} {unit}{beside}");
        let (operation, case) = parted(operation);
        let figure = self.sheet.of(operation, case).put(OURS, quantity, ours, unit);
        if let Some(limit) = limit {
            figure.put(LIMIT, quantity, limit, unit);
        }
    }

    /// Prints the table, and writes the file if one is asked for.
    pub fn finish(mut self) {
        self.criterion.final_summary();
        let mut times = read(&self.home);
        times.append(&mut self.long);
        times.retain(|id, _| self.measured.contains(id));
        let measured = |row: &&Row| self.measured.contains(&row.operation);
        let mut table = String::from("operation,ours_ms,limit_ms,ratio,target,within\n");
        for row in self.rows.iter().filter(measured) {
            let Some(ours) = times.get(&row.operation) else { continue };
            table.push_str(&line(row, *ours, &times));
            let milliseconds = |time: f64| Duration::from_secs_f64(time / 1e3);
            let (operation, case) = parted(&row.operation);
            let put = self.sheet.of(operation, case).time(OURS, milliseconds(*ours));
            if let Some(limit) = limit_of(row, &times) {
                put.time(LIMIT, milliseconds(limit));
            }
        }
        println!("{table}");
        if let Some(file) = &self.options.csv {
            prefinal_rows::write(file, self.sheet.rows()).unwrap();
        }
    }
}

/// Operation and case.
fn parted(operation: &str) -> (&str, &str) {
    operation.split_once('/').unwrap_or((operation, "alone"))
}

/// If there is one and all of it was measured.
fn limit_of(row: &Row, times: &BTreeMap<String, f64>) -> Option<f64> {
    let limit: Option<f64> =
        row.limit.iter().map(|(count, id)| times.get(id).map(|time| count * time)).sum();
    limit.filter(|_| !row.limit.is_empty())
}

fn line(row: &Row, ours: f64, times: &BTreeMap<String, f64>) -> String {
    let mut line = format!("{},{ours:.4},", row.operation);
    match limit_of(row, times) {
        None => line.push_str(",,,"),
        Some(limit) => {
            let ratio = ours / limit;
            write!(line, "{limit:.4},{ratio:.2},").unwrap();
            if let Some(target) = row.target {
                let within = if ratio <= target { "yes" } else { "no" };
                write!(line, "{target:.2},{within}").unwrap();
            } else {
                line.push(',');
            }
        }
    }
    line.push('\n');
    line
}

/// Milliseconds of the fastest sample of every measurement.
fn read(home: &Path) -> BTreeMap<String, f64> {
    let mut times = BTreeMap::new();
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        read_below(&entry.path(), &mut times);
    }
    times
}

/// Criterion keeps a measurement in `<group>/[<value>/]new/`.
fn read_below(folder: &Path, times: &mut BTreeMap<String, f64>) {
    let new = folder.join("new");
    let json = |name: &str| -> Option<Value> {
        serde_json::from_slice(&fs::read(new.join(name)).ok()?).ok()
    };
    if let (Some(benchmark), Some(sample)) = (json("benchmark.json"), json("sample.json")) {
        let numbers =
            |key: &str| sample[key].as_array().unwrap().iter().map(|n| n.as_f64().unwrap());
        let fastest = numbers("times").zip(numbers("iters")).map(|(time, count)| time / count);
        let fastest = fastest.fold(f64::INFINITY, f64::min);
        times.insert(benchmark["full_id"].as_str().unwrap().to_owned(), fastest / 1e6);
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && path != new {
            read_below(&path, times);
        }
    }
}

/// Where criterion keeps a measurement: it replaces what some file systems do not allow.
fn directory(id: &str) -> String {
    id.replace(['?', '"', '/', '\\', '*', '<', '>', ':', '|', '^'], "_")
}

/// Where criterion keeps what it measures: `<target>/criterion`.
fn home() -> PathBuf {
    let executable = std::env::current_exe().unwrap();
    let profile = executable.parent().and_then(Path::parent).unwrap();
    profile.parent().unwrap().join("criterion")
}
