//! `prefinal simulate --load`: Trantor under the load of clients, as a table, CSV and a plot.
//!
//! Parameters and points beside which it stands are those of [Trantor](https://arxiv.org/abs/2308.15849), section 7:
//! 32 and 64 replicas, transactions of 512 bytes, batches of at most 2048 that wait 0.4 or 0.8 seconds, 4 cores.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::{Duration, Instant as Clock};

use clap::{Args, ValueEnum};
use prefinal_lab::load::{Batching, Floor, Hardware, Improvement, Load, Point, Vice};
use prefinal_lab::waits::milliseconds;
use prefinal_lab::{Costs, Failure, place};
use prefinal_sim::{Interface, Rate};

use super::thresholds::records;
use super::throughput;
use super::{Options, costs, write_costs};
use crate::output::aside;
use crate::table;
use prefinal_chart::{Legend, Line};

/// Replicas of the smaller committee in the paper.
const REPLICAS: u32 = 32;
/// Cores of a replica there.
const CORES: NonZeroU32 = NonZeroU32::new(4).unwrap();
/// A replica's interface: 5 Gbit/s, in bytes.
const INTERFACE: Rate = Rate::bytes_per_second(NonZeroU64::new(625_000_000).unwrap());
/// Transactions a second and median latency in milliseconds, read from the paper's text: 32 replicas, in 8 regions
/// and in one datacenter; and 64, of which it says that they are a little slower around the world.
const PAPER_WORLD: [(f64, f64); 3] = [(4_500.0, 500.0), (10_000.0, 1000.0), (30_000.0, 1300.0)];
const PAPER_WORLD_64: [(f64, f64); 2] = [(10_000.0, 1000.0), (30_000.0, 1300.0)];
const PAPER_ROOM: [(f64, f64); 1] = [(60_000.0, 250.0)];
const PAPER_ROOM_64: [(f64, f64); 1] = [(40_000.0, 1000.0)];

/// What an experiment under load is asked for.
#[derive(Args, Debug)]
pub(super) struct LoadOptions {
    /// Let clients submit transactions to Trantor's ordering instead, ever more of them, and measure latency over
    /// throughput [--parties 32, --regions trantor, --cores 4, --interface 5Gbit/s unless they are given]; with
    /// --engine dispel to DISPEL's, beside one stage at a time and a leader that sends all payloads; with --engine
    /// jolteon to Jolteon with a beacon and without one [--parties 32, --interface 1Gbit/s]
    #[arg(long, conflicts_with_all = [
        "campaign", "thresholds", "ideal", "epochs", "scheme", "slots", "stakes", "fast",
    ])]
    load: bool,
    /// Clients of each replica, one run for each number
    #[arg(long, value_name = "COUNT,…", requires = "load", value_delimiter = ',',
        default_values_t = [16, 64, 160, 400, 1000, 2500, 5000])]
    clients: Vec<usize>,
    /// How long a transaction waits for others to fill its batch, one curve for each, in milliseconds
    #[arg(long, value_name = "MS,…", requires = "load", value_delimiter = ',',
        default_values_t = [400, 800])]
    batch_timeout: Vec<u64>,
    /// Time from one proposal to the next, over all leaders, in milliseconds
    #[arg(long, value_name = "MS", requires = "load", default_value_t = 3)]
    pause: u64,
    /// Virtual seconds that are counted
    /// [default: 10; of DISPEL 3, and 120 if replicas fail]
    #[arg(long, requires = "load", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// Virtual seconds before, in which the pipeline fills [default: 4; of DISPEL 1]
    #[arg(long, requires = "load")]
    warm_up: Option<u64>,
    /// What goes wrong with the last replica when the counting begins
    #[arg(long, value_name = "WHAT", requires = "load")]
    vice: Option<ViceName>,
    /// What the replicas do not have, of what the paper's do not have
    #[arg(long, value_name = "NAME,…", requires = "load", value_delimiter = ',')]
    without: Vec<ImprovementName>,
}

/// What a replica has in addition to the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ImprovementName {
    /// A leader's own batches are in its block before they are certified
    OwnBatches,
    /// Heights of two epochs are open at a time
    Overlap,
    /// Certificates are sums of signatures, not lists
    Aggregation,
    /// Messages are decoded on any core
    Decoding,
    /// Leaders that left heights empty lead no more for some epochs
    BackOff,
}

impl ImprovementName {
    const fn improvement(self) -> Improvement {
        match self {
            Self::OwnBatches => Improvement::OwnBatches,
            Self::Overlap => Improvement::Overlap,
            Self::Aggregation => Improvement::Aggregation,
            Self::Decoding => Improvement::Decoding,
            Self::BackOff => Improvement::BackOff,
        }
    }
}

/// A fault of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ViceName {
    /// The replica is down
    Crash,
    /// As a leader it proposes one block to a third of the others, and another one to the rest
    Equivocation,
}

impl LoadOptions {
    pub(super) const fn is_asked_for(&self) -> bool {
        self.load
    }

    /// Virtual time that is counted.
    pub(super) fn seconds(&self, usual: u64) -> Duration {
        Duration::from_secs(self.seconds.unwrap_or(usual))
    }

    /// Virtual time before the counting begins.
    pub(super) fn warm_up(&self, usual: u64) -> Duration {
        Duration::from_secs(self.warm_up.unwrap_or(usual))
    }
}

/// A curve: one batch timeout, and what came of each load.
struct Curve {
    batch_timeout: u64,
    points: Vec<Point>,
}

/// All curves, and what they stand beside.
struct Results {
    replicas: NonZeroU32,
    /// The names of the replicas' places.
    places: String,
    is_spread: bool,
    /// What distances alone cost; `None` without places.
    floor: Option<Floor>,
    curves: Vec<Curve>,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let started = Clock::now();
    let asked = &options.load;
    let replicas = options.parties.map_or(Ok(REPLICAS), u32::try_from);
    let replicas = NonZeroU32::new(replicas.map_err(Failure::bad_input)?);
    let replicas = replicas.ok_or_else(|| Failure::bad_input("--parties 0: nobody orders"))?;
    let usual = ["trantor".to_owned()];
    let regions = match &options.committee.regions[..] {
        [all] if all == "all" => &usual[..],
        regions => regions,
    };
    let seed = options.committee.seed;
    let placement = place(regions, usize::try_from(replicas.get()).unwrap_or(usize::MAX), seed)?;
    let cores = options.cores.unwrap_or(CORES);
    let costs = costs(options)?;
    let places = regions.join(" ");
    say!("{replicas} replicas in {places}, {cores} cores each, seed {seed}");
    let floor = placement.as_ref().map(|placement| Floor::of(placement, replicas.get()));
    if let Some(Floor { certified, at_once, in_order }) = floor {
        let [certified, at_once, in_order] = [certified, at_once, in_order].map(milliseconds);
        say!("distances alone: {certified} ms if batches are certified first, else {at_once} ms,");
        say!("and {in_order} ms behind blocks that all others propose at that time");
    }
    let interface = Interface::duplex(options.interface.unwrap_or(INTERFACE));
    let network = options.network(placement).with_interfaces(interface);
    let hardware = Hardware { network, cores, costs };
    let curve = |&batch_timeout: &u64| {
        let batching = Batching {
            timeout: Duration::from_millis(batch_timeout),
            transactions: 2048,
            pause: Duration::from_millis(asked.pause),
        };
        let load = Load::new(replicas, hardware.clone(), batching, seed)?;
        let points = measure(asked, load)?;
        Ok(Curve { batch_timeout, points })
    };
    let curves: Result<Vec<_>, Failure> = asked.batch_timeout.iter().map(curve).collect();
    let is_spread = regions.len() > 1 || places == "trantor";
    let results = Results { replicas, places, is_spread, floor, curves: curves? };
    print(&results);
    if asked.vice.is_some() {
        print_seconds(&results.curves);
    }
    write(options, &results, costs)?;
    say!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// One run for each number of clients.
fn measure(asked: &LoadOptions, mut load: Load) -> Result<Vec<Point>, Failure> {
    load.counted = asked.seconds(10);
    load.warm_up = asked.warm_up(4);
    load.vice = asked.vice.map(|vice| match vice {
        ViceName::Crash => Vice::Crash,
        ViceName::Equivocation => Vice::Equivocation,
    });
    load.without = asked.without.iter().map(|name| name.improvement()).collect();
    let mut points = Vec::new();
    for &clients in &asked.clients {
        let point = load.run(clients)?;
        let p50 = point.waits.percentile(50).map_or_else(|| "-".to_owned(), milliseconds);
        let (clients, per_second) = (point.clients, point.per_second);
        let what = format_args!("{clients} clients, {per_second}/s, median {p50} ms");
        aside("measured", what);
        points.push(point);
    }
    Ok(points)
}

/// The median over what distances alone cost at least.
fn over_floor(floor: Option<Floor>, point: &Point) -> Option<f64> {
    let floor = floor.filter(|floor| !floor.at_once.is_zero())?;
    Some(point.waits.percentile(50)?.as_secs_f64() / floor.at_once.as_secs_f64())
}

fn print(results: &Results) {
    let rows = results.curves.iter().flat_map(|curve| {
        curve.points.iter().map(|point| {
            let [_, p50, p90, p99] = point.waits.cells();
            let ratio = over_floor(results.floor, point);
            [
                format!("{} ms", curve.batch_timeout),
                point.clients.to_string(),
                point.per_second.to_string(),
                p50,
                ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
                p90,
                p99,
                format!("{} %", point.busy),
            ]
        })
    });
    let header = [
        "batch timeout",
        "clients",
        "transactions/s",
        "p50, ms",
        "÷ floor",
        "p90",
        "p99",
        "busiest",
    ];
    say!("{}", table::table(&header, rows));
}

/// Throughput over time, for what goes wrong shows there.
fn print_seconds(curves: &[Curve]) {
    for Curve { batch_timeout, points } in curves {
        for point in points {
            let seconds: Vec<String> = point.seconds.iter().map(u64::to_string).collect();
            let clients = point.clients;
            say!("{batch_timeout} ms, {clients} clients, in each second: {}", seconds.join(" "));
        }
    }
}

const HEADER: [&str; 16] = [
    "replicas",
    "regions",
    "seed",
    "pause_ms",
    "without",
    "vice",
    "batch_timeout_ms",
    "clients",
    "per_second",
    "p50_us",
    "p90_us",
    "p99_us",
    "floor_us",
    "skipped",
    "busiest_percent",
    "each_second",
];

fn row(options: &Options, results: &Results, batch_timeout: u64, point: &Point) -> Vec<String> {
    let asked = &options.load;
    let wait = |percent| point.waits.percentile(percent).unwrap_or_default();
    let [p50, p90, p99] = [50, 90, 99].map(|percent| wait(percent).as_micros().to_string());
    let without: Vec<String> = asked.without.iter().map(named_value).collect();
    let vice = asked.vice.as_ref().map(named_value).unwrap_or_default();
    let seconds: Vec<String> = point.seconds.iter().map(u64::to_string).collect();
    let floor = results.floor.map(|floor| floor.at_once.as_micros().to_string());
    vec![
        results.replicas.to_string(),
        results.places.clone(),
        options.committee.seed.to_string(),
        asked.pause.to_string(),
        without.join(" "),
        vice,
        batch_timeout.to_string(),
        point.clients.to_string(),
        point.per_second.to_string(),
        p50,
        p90,
        p99,
        floor.unwrap_or_default(),
        point.skipped.to_string(),
        point.busy.to_string(),
        seconds.join(" "),
    ]
}

/// A choice by the name that it has on the command line.
fn named_value(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn write(options: &Options, results: &Results, costs: Costs) -> Result<(), Failure> {
    let [csv, svg, json] =
        ["load.csv", "load.svg", "costs.json"].map(|name| options.out.join(name));
    let rows = results.curves.iter().flat_map(|Curve { batch_timeout, points }| {
        points.iter().map(|point| row(options, results, *batch_timeout, point))
    });
    let header = HEADER.map(str::to_owned).to_vec();
    records(&csv, std::iter::once(header).chain(rows))?;
    plot(options, &svg, results)?;
    write_costs(&json, &costs)?;
    say!("written: {}, {}, {}", csv.display(), svg.display(), json.display());
    Ok(())
}

fn plot(options: &Options, svg: &std::path::Path, results: &Results) -> Result<(), Failure> {
    let Results { replicas, is_spread, floor, curves, .. } = results;
    let line = |curve: &Curve| {
        let points = curve.points.iter();
        let points = points.map(|point| throughput::place(point.per_second, &point.waits));
        let name = format!("batch timeout {} ms", curve.batch_timeout);
        Line { name, points: points.collect() }
    };
    let mut lines: Vec<Line> = curves.iter().map(line).collect();
    let paper = paper(replicas.get(), *is_spread);
    lines.extend(paper.map(|(name, points)| Line { name, points: points.to_vec() }));
    let floors = floor.iter().flat_map(|Floor { certified, at_once, in_order }| {
        [("certified first", certified), ("at once", at_once), ("in one order", in_order)]
    });
    let floors =
        floors.map(|(name, floor)| (format!("distances alone, {name}"), floor.as_secs_f64() * 1e3));
    let seed = options.committee.seed;
    let plot = throughput::Plot {
        title: &format!("{replicas} replicas, 512-byte transactions, seed {seed}"),
        legend: Legend::LowerRight,
        curves: lines,
        peaks: Vec::new(),
        floors: floors.collect(),
    };
    plot.write(svg)
}

/// The paper's points for a committee of this size; of others it says nothing.
fn paper(replicas: u32, is_spread: bool) -> Option<(String, &'static [(f64, f64)])> {
    let points = match (replicas, is_spread) {
        (32, true) => &PAPER_WORLD[..],
        (64, true) => &PAPER_WORLD_64,
        (32, false) => &PAPER_ROOM,
        (64, false) => &PAPER_ROOM_64,
        _ => return None,
    };
    Some((format!("the paper, {replicas} replicas"), points))
}
