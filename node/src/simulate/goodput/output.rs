//! What came of the experiments: as a table, as CSV, and as plots with the paper's claims beside.
use std::path::Path;

use prefinal_chart::{Axis, Legend, Line, Lines, Scale};
use prefinal_lab::load::goodput::GoodputPoint;
use prefinal_lab::waits::milliseconds;
use prefinal_lab::{Costs, Failure};

use super::super::thresholds::records;
use super::super::{Options, write_costs};
use super::{BELOW, ExperimentName, OrdererName, Series};
use crate::output::Sink;
use crate::table;

/// Everything that was measured.
pub(super) struct Results {
    /// The names of the replicas' places.
    pub(super) regions: String,
    pub(super) series: Vec<Series>,
}

impl Results {
    fn points(&self) -> impl Iterator<Item = (&Series, &GoodputPoint)> {
        self.series.iter().flat_map(|one| one.points.iter().map(move |point| (one, point)))
    }

    /// What was measured of a setting.
    fn of(&self, name: OrdererName, replicas: u32, transaction: u64) -> Option<&Series> {
        self.series.iter().find(|one| {
            let goodput = &one.goodput;
            (one.name, goodput.replicas.get(), goodput.transaction) == (name, replicas, transaction)
        })
    }
}

fn megabytes(bytes: u64) -> f64 {
    f64::from(u32::try_from(bytes / 1000).unwrap_or(u32::MAX)) / 1000.0
}

fn median(point: &GoodputPoint) -> f64 {
    point.waits.percentile(50).unwrap_or_default().as_secs_f64() * 1e3
}

pub(super) fn show(experiment: ExperimentName, results: &Results) {
    // As wide as a terminal: what is in no column is in the CSV.
    let header = [
        "orders",
        "n",
        "bytes",
        "offered MB/s",
        "goodput MB/s",
        "of links",
        "p50 ms",
        "p99 ms",
        "cores",
    ];
    let rows = results.points().map(|(one, point)| {
        let [_, p50, _, p99] = point.waits.cells();
        let capacity = one.goodput.capacity().max(1);
        [
            one.name.title().to_owned(),
            one.goodput.replicas.to_string(),
            one.goodput.transaction.to_string(),
            format!("{:.0}", megabytes(point.offered)),
            format!("{:.1}", megabytes(point.goodput)),
            format!("{} %", point.goodput.saturating_mul(100) / capacity),
            p50,
            p99,
            format!("{} %", point.busy),
        ]
    });
    say!("{}", table::table(&header, rows));
    match experiment {
        ExperimentName::Sizes => sizes(results),
        ExperimentName::Curve => curve(results),
        ExperimentName::Failures => failures(results),
        ExperimentName::Payments => payments(results),
    }
}

fn sizes(results: &Results) {
    for one in results.series.iter().filter(|one| one.name == OrdererName::Pipeline) {
        let (replicas, bytes) = (one.goodput.replicas.get(), one.goodput.transaction);
        let Some(leader) = results.of(OrdererName::Leader, replicas, bytes) else { continue };
        let ratio = full(one) / full(leader).max(f64::MIN_POSITIVE);
        let (fast, slow) = (median_below(one), median_below(leader));
        say!(
            "{replicas} replicas, {bytes} bytes: {ratio:.1} times the leader's goodput; at {BELOW} % of it after {fast:.0} and {slow:.0} ms"
        );
    }
    say!("the paper, 128 replicas: 8 times HotStuff's goodput, after 1.6 and 54 s on the mean");
}

fn payments(results: &Results) {
    for (one, point) in results.points() {
        let (title, replicas) = (one.name.title(), one.goodput.replicas);
        let count = point.goodput / one.goodput.transaction;
        say!("{title}, {replicas} replicas: {count} transactions a second");
    }
    say!("the paper: neither throughput nor latency depend on the number of replicas, 10 to 380");
}

/// Goodput when more is offered than can be carried.
fn full(one: &Series) -> f64 {
    one.points.first().map_or(0.0, |point| megabytes(point.goodput))
}

/// The median latency below that.
fn median_below(one: &Series) -> f64 {
    one.points.last().map_or(0.0, median)
}

/// The first load of which less than 97 % is delivered.
fn curve(results: &Results) {
    for one in &results.series {
        let saturated = |point: &&GoodputPoint| point.goodput < point.offered / 100 * 97;
        let title = one.name.title();
        if let Some(point) = one.points.iter().find(saturated) {
            let [offered, got] = [point.offered, point.goodput].map(megabytes);
            say!("{title}: full at {offered:.0} MB/s, of which it delivers {got:.1}");
        }
        for point in &one.points {
            let [broadcast, vote, report] = point.phases.map(milliseconds);
            let offered = megabytes(point.offered);
            say!(
                "{title}, {offered:.0} MB/s: {broadcast} ms to the first batch, {vote} to the first vote, {report} to the report"
            );
        }
    }
}

/// Goodput in the second half of the time before, between and after crashes.
fn failures(results: &Results) {
    for (one, point) in results.points() {
        let times: Vec<u64> = one.goodput.crashes.iter().map(|crash| crash.at.as_secs()).collect();
        let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) else { continue };
        let end = (one.goodput.warm_up + one.goodput.counted).as_secs();
        let mean = |from: u64, until: u64| {
            let from = (from + until) / 2;
            let [from, until] = [from * 10, until * 10].map(|at| usize::try_from(at).unwrap_or(0));
            let tenths = point.tenths.iter().skip(from).take(until.saturating_sub(from));
            let count = u64::try_from(until.saturating_sub(from)).unwrap_or(1).max(1);
            tenths.sum::<u64>() * 10 / count
        };
        let [before, between, after] =
            [(0, *first), (*first, *last), (*last, end)].map(|(from, until)| mean(from, until));
        let percent = |now: u64| 100.0 * megabytes(now) / megabytes(before).max(f64::MIN_POSITIVE);
        let (title, before_mb) = (one.name.title(), megabytes(before));
        say!(
            "{title}: {before_mb:.1} MB/s, after one crash {:.0} %, after its region {:.0} %",
            percent(between),
            percent(after)
        );
    }
    say!("the paper: no dip after one crash, some 30 % less after a region; with a leader nothing");
}

const HEADER: [&str; 29] = [
    "orders",
    "max_stages",
    "replicas",
    "regions",
    "seed",
    "transaction_bytes",
    "batch_bytes",
    "bundle",
    "gather_us",
    "patience_ms",
    "interface",
    "connection",
    "cores",
    "memory",
    "signed",
    "crashes_s",
    "warm_up_ms",
    "counted_ms",
    "offered",
    "goodput",
    "p50_us",
    "p90_us",
    "p99_us",
    "blocks",
    "discarded_percent",
    "busiest_percent",
    "sent_percent",
    "phases_us",
    "each_tenth",
];

fn listed(numbers: impl Iterator<Item = u128>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
}

fn row(options: &Options, results: &Results, one: &Series, point: &GoodputPoint) -> Vec<String> {
    let (goodput, wait) = (&one.goodput, |percent| point.waits.percentile(percent));
    let wait = |percent| wait(percent).unwrap_or_default().as_micros().to_string();
    let max_stages = match one.name {
        OrdererName::Pipeline => options.goodput.stages,
        OrdererName::OneStage | OrdererName::Leader => 1,
    };
    vec![
        one.name.title().to_owned(),
        max_stages.to_string(),
        goodput.replicas.to_string(),
        results.regions.clone(),
        goodput.seed.to_string(),
        goodput.transaction.to_string(),
        goodput.batch.to_string(),
        goodput.bundle.to_string(),
        goodput.gather.as_micros().to_string(),
        goodput.timeout.as_millis().to_string(),
        goodput.machines.interface.to_string(),
        goodput.machines.connection.map(|rate| rate.to_string()).unwrap_or_default(),
        goodput.machines.cores.to_string(),
        goodput.machines.memory.to_string(),
        goodput.signed.to_string(),
        listed(goodput.crashes.iter().map(|crash| crash.at.as_secs().into())),
        goodput.warm_up.as_millis().to_string(),
        goodput.counted.as_millis().to_string(),
        point.offered.to_string(),
        point.goodput.to_string(),
        wait(50),
        wait(90),
        wait(99),
        point.blocks.to_string(),
        point.discarded.to_string(),
        point.busy.to_string(),
        point.sent.to_string(),
        listed(point.phases.iter().map(std::time::Duration::as_micros)),
        listed(point.tenths.iter().map(|bytes| u128::from(*bytes))),
    ]
}

pub(super) fn write(options: &Options, results: &Results, costs: Costs) -> Result<(), Failure> {
    let [csv, svg, latency, json] =
        ["load.csv", "load.svg", "latency.svg", "costs.json"].map(|name| options.out.join(name));
    let rows = results.points().map(|(one, point)| row(options, results, one, point));
    records(&csv, std::iter::once(HEADER.map(str::to_owned).to_vec()).chain(rows))?;
    let seed = options.committee.seed;
    write_costs(&json, &costs)?;
    match options.goodput.experiment {
        ExperimentName::Sizes | ExperimentName::Payments => {
            let title = format!("goodput over replicas, seed {seed}");
            let lines = over_sizes(results, full);
            draw(&svg, &title, ["replicas", "goodput, MB/s"], lines)?;
            let lines = over_sizes(results, median_below);
            let title = format!("median latency at {BELOW} % of goodput, seed {seed}");
            draw(&latency, &title, ["replicas", "median latency, ms"], lines)?;
            say!("written: {}", latency.display());
        }
        ExperimentName::Curve => {
            let line = |one: &Series| Line {
                name: one.name.title().to_owned(),
                points: one
                    .points
                    .iter()
                    .map(|point| (megabytes(point.goodput), median(point)))
                    .collect(),
            };
            let title = format!("latency over goodput, seed {seed}");
            let lines = results.series.iter().map(line).collect();
            draw(&svg, &title, ["goodput, MB/s", "median latency, ms"], lines)?;
        }
        ExperimentName::Failures => {
            let title = format!("goodput over time, seed {seed}");
            draw(&svg, &title, ["seconds", "goodput, MB/s"], over_time(results))?;
        }
    }
    say!("written: {}, {}, {}", csv.display(), svg.display(), json.display());
    Ok(())
}

/// A line for each way to order and each length of transactions.
fn over_sizes(results: &Results, of: impl Fn(&Series) -> f64) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for one in &results.series {
        let name = format!("{}, {} bytes", one.name.title(), one.goodput.transaction);
        let at = (f64::from(one.goodput.replicas.get()), of(one));
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(at),
            None => lines.push(Line { name, points: vec![at] }),
        }
    }
    lines
}

/// Goodput of each second.
fn over_time(results: &Results) -> Vec<Line> {
    let line = |(one, point): (&Series, &GoodputPoint)| {
        let seconds = point.tenths.chunks(10).map(|tenths| megabytes(tenths.iter().sum()));
        let points = (0_u32..).map(f64::from).zip(seconds).collect();
        Line { name: one.name.title().to_owned(), points }
    };
    results.points().map(line).collect()
}

fn draw(svg: &Path, title: &str, labels: [&str; 2], lines: Vec<Line>) -> Result<(), Failure> {
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let right = points().map(|(across, _)| across).fold(1.0, f64::max) * 1.05;
    let top = points().map(|(_, up)| up).fold(1.0, f64::max) * 1.1;
    let [across, up] = labels;
    let across = Axis { label: across, range: 0.0..right, scale: Scale::Linear };
    let up = Axis { label: up, range: 0.0..top, scale: Scale::Linear };
    let picture =
        Lines { title, across, up, legend: Legend::Beside, dots: lines.len() < 20, lines };
    Sink::open(svg)?.picture(picture.svg())
}
