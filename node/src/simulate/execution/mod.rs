//! `prefinal simulate --execute`: from a transaction to its certified, durable state, as a table, CSV and
//! plots of the whole and of its stages; with `--readers`, what blocks that read the slot's value wait for.
//!
//! Parameters and points beside which it stands are those of Zaptos (2025), section 6.2: 100 validators and 30
//! full nodes in 10 regions, transfers of 300 bytes, validators with 32 and 64 cores; and section 6.3 for leaders
//! that equivocate.
mod readers;

use std::path::Path;
use std::time::Instant as Clock;

use clap::Args;
use prefinal_execution::Switches;
use prefinal_lab::execution::{Experiment, Parts, Point, Prices};
use prefinal_lab::waits::milliseconds;
use prefinal_lab::{Failure, place};

use super::Options;
use super::thresholds::records;
use super::throughput;
use crate::output::{Sink, aside};
use crate::table;
use prefinal_chart::{Legend, Line, Stack, Stacks};

/// Validators of the paper.
const VALIDATORS: usize = 100;

/// Transactions a second and median latency in milliseconds, read from the paper's text: both pipelines.
const PAPER_32: [[(f64, f64); 2]; 2] =
    [[(1_000.0, 750.0), (14_000.0, 1530.0)], [(1_000.0, 580.0), (15_000.0, 850.0)]];
const PAPER_64: [[(f64, f64); 2]; 2] =
    [[(1_000.0, 740.0), (20_000.0, 1320.0)], [(1_000.0, 580.0), (20_000.0, 780.0)]];

/// Transactions a second at the peak with 10 validators of which 1 and 3 equivocate, read from the text: both
/// pipelines alike.
const PAPER_EQUIVOCATING: [(u32, f64); 2] = [(1, 8_000.0), (3, 3_500.0)];

/// What an experiment with execution is asked for.
#[derive(Args, Debug)]
pub(super) struct ExecutionOptions {
    /// Follow transactions to their certified, durable state instead, with each switch of the pipeline, and
    /// measure latency over throughput [--parties 100, --regions zaptos unless they are given]; with --campaign play
    /// executions with the pipeline under attack
    #[arg(long, conflicts_with_all = [
        "thresholds", "ideal", "epochs", "scheme", "engine", "slots", "stakes", "fast",
        "load", "costs", "interface", "connection", "cores",
    ])]
    execute: bool,
    /// Transactions a second, one run for each number [default: 1000,2500,5000,7500,10000,12500,14000,15000;
    /// with --readers 5000]
    #[arg(
        long,
        value_name = "COUNT,…",
        requires = "execute",
        conflicts_with = "campaign",
        value_delimiter = ','
    )]
    loads: Vec<u64>,
    /// Cores of the paper's validators: 32 or 64. They decide how much is executed in a second
    #[arg(long, value_name = "CORES", requires = "execute", conflicts_with = "campaign", default_value_t = 32,
        value_parser = clap::value_parser!(u32).range(32..=64))]
    executors: u32,
    /// How many leaders show one block to half of the validators and another one to the others
    #[arg(
        long,
        value_name = "LEADERS",
        requires = "execute",
        conflicts_with = "campaign",
        default_value_t = 0
    )]
    equivocating: u32,
    /// Compare what waits for the slot's value instead, if of a hundred transactions so many read it, one run for
    /// each number
    #[arg(long, value_name = "PERCENT,…", requires = "execute", conflicts_with = "campaign", value_delimiter = ',',
        value_parser = clap::value_parser!(u8).range(..=100))]
    readers: Vec<u8>,
}

/// Loads of the paper's figures.
const LOADS: [u64; 8] = [1000, 2500, 5000, 7500, 10_000, 12_500, 14_000, 15_000];
/// The load under which blocks wait for values.
const READERS_LOAD: u64 = 5000;

impl ExecutionOptions {
    pub(super) const fn is_asked_for(&self) -> bool {
        self.execute
    }

    fn loads(&self) -> &[u64] {
        match &self.loads[..] {
            [] if self.readers.is_empty() => &LOADS,
            [] => &[READERS_LOAD],
            loads => loads,
        }
    }
}

/// One setting of the switches, and what came of each load.
struct Curve {
    name: &'static str,
    switches: Switches,
    points: Vec<Point>,
}

/// All off, what each adds, all on. `piggyback` without `opt_execute` has nothing to carry.
const SETTINGS: [(&str, Switches); 6] = [
    ("all off", Switches::OFF),
    ("opt-commit", Switches { opt_commit: true, ..Switches::OFF }),
    ("opt-execute", Switches { opt_execute: true, ..Switches::OFF }),
    ("opt-execute, opt-commit", Switches { piggyback: false, ..Switches::ON }),
    ("opt-execute, piggyback", Switches { opt_commit: false, ..Switches::ON }),
    ("all on", Switches::ON),
];

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let started = Clock::now();
    let asked = &options.execution;
    let (prices, paper) = match asked.executors {
        32 => (Prices::CORES_32, PAPER_32),
        64 => (Prices::CORES_64, PAPER_64),
        other => return Err(Failure::bad_input(format_args!("--executors {other}: 32 or 64"))),
    };
    let usual = ["zaptos".to_owned()];
    let regions = match &options.committee.regions[..] {
        [all] if all == "all" => &usual[..],
        regions => regions,
    };
    let seed = options.committee.seed;
    let validators = options.parties.unwrap_or(VALIDATORS);
    let placement = place(regions, validators, seed)?;
    let placement = placement.ok_or_else(|| Failure::bad_input("--regions none: no delays"))?;
    let mut experiment = Experiment::common_case(&placement, prices, seed)?;
    experiment.equivocating = asked.equivocating;
    let (full_nodes, cores) = (experiment.full_nodes, asked.executors);
    let places = regions.join(", ");
    say!(
        "{validators} validators, {full_nodes} full nodes in {places}, {cores} cores, seed {seed}"
    );
    if asked.equivocating > 0 {
        let timeout = milliseconds(experiment.round_timeout);
        say!("{} leaders equivocate; a round is given up after {timeout} ms", asked.equivocating);
    }
    if !asked.readers.is_empty() {
        readers::run(options, &experiment)?;
        say!("{:.1} s", started.elapsed().as_secs_f64());
        return Ok(());
    }
    let mut curves = Vec::new();
    for (name, switches) in SETTINGS {
        let mut points = Vec::new();
        for &load in asked.loads() {
            let point = experiment.run(load, switches)?;
            let p50 = point.waits.percentile(50).map_or_else(|| "-".to_owned(), milliseconds);
            aside("measured", format_args!("{name}, {load}/s, median {p50} ms"));
            points.push(point);
        }
        curves.push(Curve { name, switches, points });
    }
    print(&curves);
    write(options, &curves, paper)?;
    say!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// What [`stages`] gives, in words that fit above a column.
const STAGES: [&str; 6] = ["spread", "order", "execute", "certify", "commit", "follow"];

/// The stages in the order of time.
fn stages(parts: &Parts) -> [std::time::Duration; 6] {
    let Parts { disseminate, order, execute, certify, commit, full_node } = *parts;
    [disseminate, order, execute, certify, commit, full_node]
}

fn print(curves: &[Curve]) {
    say!("transactions in a second, submitted and committed; milliseconds from submission");
    say!("(p50), and in each stage on the average");
    let header = [&["load", "done", "p50"][..], &STAGES].concat();
    for curve in curves {
        let rows = curve.points.iter().map(|point| {
            let p50 = point.waits.percentile(50).map_or_else(|| "-".to_owned(), milliseconds);
            let stages = stages(&point.parts).map(milliseconds);
            let throughput = [point.load, point.per_second].map(|count| count.to_string());
            throughput.into_iter().chain([p50]).chain(stages).collect::<Vec<_>>()
        });
        say!("\n{}\n{}", curve.name, table::table(&header, rows));
    }
}

fn write(options: &Options, curves: &[Curve], paper: [[(f64, f64); 2]; 2]) -> Result<(), Failure> {
    let [csv, svg, parts] = ["execution.csv", "execution.svg", "execution-stages.svg"]
        .map(|name| options.out.join(name));
    let header = [
        "executors",
        "seed",
        "equivocating",
        "opt_execute",
        "opt_commit",
        "piggyback",
        "load_per_second",
        "committed_per_second",
        "p25_us",
        "p50_us",
        "p75_us",
        "mean_us",
        "disseminate_us",
        "order_us",
        "execute_us",
        "certify_us",
        "commit_us",
        "full_node_us",
    ];
    let rows = curves.iter().flat_map(|Curve { switches, points, .. }| {
        points.iter().map(move |point| {
            let Switches { opt_execute, opt_commit, piggyback } = *switches;
            let setting = [opt_execute, opt_commit, piggyback].map(|on| u8::from(on).to_string());
            let wait = |percent| point.waits.percentile(percent).unwrap_or_default();
            let waits = [wait(25), wait(50), wait(75), point.waits.mean().unwrap_or_default()];
            let times = waits.into_iter().chain(stages(&point.parts));
            let asked = &options.execution;
            let run = [asked.executors, asked.equivocating].map(|number| number.to_string());
            let run = [&run[..1], &[options.committee.seed.to_string()], &run[1..]].concat();
            let throughput = [point.load.to_string(), point.per_second.to_string()];
            let before = run.into_iter().chain(setting).chain(throughput);
            before.chain(times.map(|time| time.as_micros().to_string())).collect::<Vec<_>>()
        })
    });
    let header = header.map(str::to_owned).to_vec();
    records(&csv, std::iter::once(header).chain(rows))?;
    plot(options, &svg, curves, paper)?;
    plot_stages(options, &parts, curves)?;
    say!("written: {}, {}, {}", csv.display(), svg.display(), parts.display());
    Ok(())
}

/// Where the time goes with the least load and with the greatest.
fn plot_stages(options: &Options, svg: &Path, curves: &[Curve]) -> Result<(), Failure> {
    let bars = curves.iter().flat_map(|Curve { name, points, .. }| {
        let load = |point: &&Point| point.load;
        let ends = [points.iter().min_by_key(load), points.iter().max_by_key(load)];
        let ends = ends.into_iter().flatten().take(points.len());
        ends.map(move |point| Stack {
            name: format!("{name}, {}/s", point.load),
            parts: stages(&point.parts).map(|part| part.as_secs_f64() * 1e3).into(),
        })
    });
    let (cores, seed) = (options.execution.executors, options.committee.seed);
    let picture = Stacks {
        title: &format!("Stages until the full node's commit, {cores} cores, seed {seed}"),
        across: "mean, ms",
        parts: &STAGES,
        bars: bars.collect(),
    };
    Sink::open(svg)?.picture(picture.svg())
}

fn plot(
    options: &Options,
    svg: &Path,
    curves: &[Curve],
    paper: [[(f64, f64); 2]; 2],
) -> Result<(), Failure> {
    let line = |name: &str, points| Line { name: name.to_owned(), points };
    let points = |curve: &Curve| {
        curve.points.iter().map(|point| throughput::place(point.per_second, &point.waits)).collect()
    };
    let mut lines: Vec<Line> = curves.iter().map(|curve| line(curve.name, points(curve))).collect();
    let equivocating = options.execution.equivocating;
    if equivocating == 0 {
        let papers = ["the paper's baseline", "the paper's Zaptos"].into_iter().zip(paper);
        lines.extend(papers.map(|(name, points)| line(name, points.into())));
    }
    let peaks = PAPER_EQUIVOCATING.iter().filter(|(leaders, _)| *leaders == equivocating);
    let (cores, seed) = (options.execution.executors, options.committee.seed);
    let plot = throughput::Plot {
        title: &format!("From submission to the full node's commit, {cores} cores, seed {seed}"),
        legend: Legend::Beside,
        curves: lines,
        peaks: peaks.map(|(_, peak)| ("the paper's peak".to_owned(), *peak)).collect(),
        floors: Vec::new(),
    };
    plot.write(svg)
}
