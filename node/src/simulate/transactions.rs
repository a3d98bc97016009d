//! `prefinal simulate --load --engine jolteon`: latency and throughput of transactions without a beacon, with the slow
//! path alone and with both paths, as a table, CSV and a plot.
//!
//! The paper says that the wait for randomness is in the latency of every transaction, and measures the wait alone.

use std::time::Instant as Clock;

use clap::Args;
use prefinal_lab::dealt::transactions::{BUNDLED, Beside, Demand, Experiment, Point, TRANSACTION};
use prefinal_lab::waits::milliseconds;
use prefinal_lab::{Costs, Failure};
use prefinal_registry::{Jolteon, Wvuf};
use prefinal_sim::{Interface, Rate};
use prefinal_validator::setup::Algorithm;

use super::thresholds::records;
use super::throughput;
use super::{Options, costs, microseconds, write_costs};
use crate::committee::Parties;
use crate::output::aside;
use crate::table;
use prefinal_chart::{Legend, Line};

/// How many of the largest holders take part, unless it is said: a run of all takes minutes for each load.
const PARTIES: usize = 32;
/// The interface of the paper's validators: 1 Gbit/s, in bytes.
const INTERFACE: Rate = Rate::bytes_per_second(std::num::NonZeroU64::new(125_000_000).unwrap());

/// What an experiment with transactions is asked for.
#[derive(Args, Debug)]
pub(super) struct TransactionOptions {
    /// Transactions a second that come to all parties of Jolteon together, one run for each number
    #[arg(long, value_name = "COUNT,…", requires = "load", value_delimiter = ',',
        default_values_t = [500, 1000, 2000, 4000, 6000, 8000])]
    submitted: Vec<u64>,
}

/// What is compared, with its name in table, CSV and plot.
const RUNS: [(Beside, &str); 3] = [
    (Beside::Nothing, "no beacon"),
    (Beside::SlowPath, "slow path"),
    (Beside::BothPaths, "both paths"),
];

/// Latency over throughput for one of them.
struct Curve {
    beside: Beside,
    name: &'static str,
    points: Vec<(u64, Point)>,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let started = Clock::now();
    let parties = options.parties.unwrap_or(PARTIES);
    let (plan, placement) = options.committee.gather(Parties::Exactly(parties), Algorithm::Fast)?;
    let costs = costs(options)?;
    let mut world = options.world(placement, costs);
    let interface = Interface::duplex(options.interface.unwrap_or(INTERFACE));
    world.network = world.network.with_interfaces(interface);
    let experiment = Experiment::<Wvuf>::new(&plan, options.committee.seed, world)?;
    let mut curves = RUNS.map(|(beside, name)| Curve { beside, name, points: Vec::new() });
    for &per_second in &options.transactions.submitted {
        let counted = options.load.seconds(10);
        let demand = Demand { per_second, warm_up: options.load.warm_up(4), counted };
        for Curve { beside, name, points } in &mut curves {
            let point = experiment.run::<Jolteon>(*beside, demand)?;
            let p50 = point.waits.percentile(50).map_or_else(|| "-".to_owned(), milliseconds);
            let what =
                format_args!("{per_second}/s, {name}: {}/s, median {p50} ms", point.per_second);
            aside("measured", what);
            points.push((per_second, point));
        }
    }
    print(&curves);
    say!(
        "transactions of {TRANSACTION} bytes in bundles of {BUNDLED}; {} cores each, seed {}",
        options.cores(),
        options.committee.seed
    );
    write(options, &curves, costs)?;
    say!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn print(curves: &[Curve]) {
    let rows = curves.iter().flat_map(|Curve { name, points, .. }| {
        points.iter().map(|(submitted, point)| {
            let [mean, p50, _, p99] = point.waits.cells();
            let [value, .., longest] = point.value_waits.cells_with_longest();
            let counts = [submitted.to_string(), point.per_second.to_string()];
            [&[(*name).to_owned()][..], &counts, &[mean, p50, p99, value, longest]].concat()
        })
    });
    let header =
        ["beside the engine", "in/s", "out/s", "mean, ms", "p50", "p99", "value", "longest"];
    say!("{}", table::table(&header, rows));
    say!("in: submitted; out: executable, with the value of their slot");
    say!("value: the mean wait for it, which is in the others; longest: of a slot, mean");
}

fn write(options: &Options, curves: &[Curve], costs: Costs) -> Result<(), Failure> {
    let [csv, svg, json] =
        ["transactions.csv", "transactions.svg", "costs.json"].map(|name| options.out.join(name));
    let header = [
        "beside",
        "seed",
        "cores",
        "submitted_per_second",
        "executable_per_second",
        "mean_us",
        "p50_us",
        "p90_us",
        "p99_us",
        "value_mean_us",
        "value_mean_of_longest_us",
        "slots",
    ];
    let rows = curves.iter().flat_map(|Curve { name, points, .. }| {
        points.iter().map(|(submitted, point)| {
            let waits = &point.waits;
            let spans = [waits.mean(), waits.percentile(50), waits.percentile(90)];
            let values = [point.value_waits.mean(), point.value_waits.mean_of_longest()];
            let more = [waits.percentile(99)].into_iter().chain(values);
            let fixed = [
                (*name).to_owned(),
                options.committee.seed.to_string(),
                options.cores().to_string(),
                submitted.to_string(),
                point.per_second.to_string(),
            ];
            let spans = spans.into_iter().chain(more).map(microseconds);
            fixed.into_iter().chain(spans).chain([point.slots.to_string()]).collect()
        })
    });
    records(&csv, std::iter::once(header.map(str::to_owned).to_vec()).chain(rows))?;
    let lines = curves.iter().map(|Curve { name, points, .. }| {
        let points = points.iter();
        let points = points.map(|(_, point)| throughput::place(point.per_second, &point.waits));
        Line { name: (*name).to_owned(), points: points.collect() }
    });
    let seed = options.committee.seed;
    let plot = throughput::Plot {
        title: &format!("Transactions on Jolteon with and without a beacon, seed {seed}"),
        legend: Legend::LowerRight,
        curves: lines.collect(),
        peaks: Vec::new(),
        floors: Vec::new(),
    };
    plot.write(&svg)?;
    write_costs(&json, &costs)?;
    say!("written: {}, {}, {}", csv.display(), svg.display(), json.display());
    Ok(())
}
