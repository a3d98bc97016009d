//! Measurements by name, and the table made of them.
//!
//! The time of a measurement is the [`ThreadTime`] of its fastest sample: on a machine that others use
//! as well, that is the sample they disturbed least. The table is printed as CSV when all is measured and written beside
//! criterion's own files:
//!
//! ```text
//! operation,ours_ms,limit_ms,ratio,target,within
//! wvuf::partial/n=129,0.2914,0.2876,1.01,1.05,yes
//! ```
//!
//! `target` is what `ratio` should not exceed, empty where a row has no such figure. Rows that the
//! filter of the command line left out are not in the table.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{BatchSize, Bencher, Criterion};
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
    name: &'static str,
    home: PathBuf,
    criterion: Criterion<ThreadTime>,
    measured: BTreeSet<String>,
    rows: Vec<Row>,
}

impl Suite {
    /// An empty table. Options are taken from the command line, as criterion has them.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        let home = home();
        let criterion = Criterion::default()
            .with_measurement(ThreadTime)
            .output_directory(&home)
            .without_plots()
            .sample_size(20)
            .warm_up_time(Duration::from_millis(200))
            .measurement_time(Duration::from_millis(800))
            .configure_from_args();
        Self { name, home, criterion, measured: BTreeSet::new(), rows: Vec::new() }
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
        if self.measured.insert(id.to_owned()) {
            // What an earlier run left under this name would pass for a result of this one.
            let _ = fs::remove_dir_all(self.home.join(directory(id)));
            self.criterion.bench_function(id, measure);
        }
        id.to_owned()
    }

    /// Whether there is a measurement of that name; for those that take long to set up.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.measured.contains(id)
    }

    /// Adds a line: `operation` against the sum of `limit`, each measurement as often as it says.
    pub fn row(&mut self, operation: &str, limit: &[(f64, &str)], target: Option<f64>) {
        let limit = limit.iter().map(|(times, id)| (*times, (*id).to_owned())).collect();
        self.rows.push(Row { operation: operation.to_owned(), limit, target });
    }

    /// Prints the table and writes it to `<target>/criterion/<name>.csv`.
    pub fn finish(self) {
        self.criterion.final_summary();
        let times = read(&self.home);
        let mut table = String::from("operation,ours_ms,limit_ms,ratio,target,within\n");
        let mut lines = 0;
        for row in &self.rows {
            if let Some(line) = line(row, &times) {
                table.push_str(&line);
                lines += 1;
            }
        }
        if lines > 0 {
            println!("{table}");
            fs::write(self.home.join(self.name).with_extension("csv"), table).unwrap();
        }
    }
}

fn line(row: &Row, times: &BTreeMap<String, f64>) -> Option<String> {
    let ours = times.get(&row.operation)?;
    let mut line = format!("{},{ours:.4},", row.operation);
    let limit: Option<f64> =
        row.limit.iter().map(|(count, id)| times.get(id).map(|time| count * time)).sum();
    match limit.filter(|_| !row.limit.is_empty()) {
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
    Some(line)
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

/// Where all tables are written: `<target>/criterion`.
#[must_use]
pub fn home() -> PathBuf {
    let executable = std::env::current_exe().unwrap();
    let profile = executable.parent().and_then(Path::parent).unwrap();
    profile.parent().unwrap().join("criterion")
}
