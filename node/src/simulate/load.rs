//! `prefinal simulate --load`: Trantor under the load of clients, as a table, CSV and a plot.
//!
//! Parameters and points beside which it stands are those of [Trantor](https://arxiv.org/abs/2308.15849), section 7:
//! 32 and 64 replicas, transactions of 512 bytes, batches of at most 2048 that wait 0.4 or 0.8 seconds, 4 cores.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::{Duration, Instant as Clock};

use clap::{Args, ValueEnum};
use prefinal_lab::load::{Batching, Hardware, Leaders, Load, Point, Vice};
use prefinal_lab::waits::milliseconds;
use prefinal_lab::{Failure, place};
use prefinal_sim::{Interface, Rate};

use super::thresholds::records;
use super::{Options, costs};
use crate::output::{Sink, aside};
use crate::table;
use prefinal_chart::{Axis, Legend, Line, Lines, Scale};

/// Replicas of the smaller committee in the paper.
const REPLICAS: u32 = 32;
/// Cores of a replica there.
const CORES: NonZeroU32 = NonZeroU32::new(4).unwrap();
/// A replica's interface: 5 Gbit/s, in bytes.
const INTERFACE: Rate = Rate::bytes_per_second(NonZeroU64::new(625_000_000).unwrap());
/// Transactions a second and median latency in milliseconds, read from the paper's text: 32 replicas, in 8 regions
/// and in one datacenter.
const PAPER_WORLD: [(f64, f64); 3] = [(4_500.0, 500.0), (10_000.0, 1000.0), (30_000.0, 1300.0)];
const PAPER_ROOM: [(f64, f64); 1] = [(60_000.0, 250.0)];

/// What an experiment under load is asked for.
#[derive(Args, Debug)]
pub(super) struct LoadOptions {
    /// Let clients submit transactions to Trantor's ordering instead, ever more of them, and measure latency over
    /// throughput [--parties 32, --regions trantor, --cores 4, --interface 5Gbit/s unless they are given]
    #[arg(long, conflicts_with_all = [
        "campaign", "thresholds", "ideal", "epochs", "scheme", "engine", "slots", "stakes", "fast",
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
    #[arg(long, value_name = "MS", requires = "load", default_value_t = 10)]
    pause: u64,
    /// Virtual seconds that are counted; as long as it takes to fill the pipeline is added before
    #[arg(long, requires = "load", default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// What goes wrong with the last replica when the counting begins
    #[arg(long, value_name = "WHAT", requires = "load")]
    vice: Option<ViceName>,
    /// Let every replica lead, also one that left heights empty
    #[arg(long, requires = "load")]
    all_lead: bool,
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
}

/// A curve: one batch timeout, and what came of each load.
struct Curve {
    batch_timeout: u64,
    points: Vec<Point>,
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
    let places = regions.join(", ");
    say!("{replicas} replicas in {places}, {cores} cores each, seed {seed}");
    let mut curves = Vec::new();
    for &batch_timeout in &asked.batch_timeout {
        let batching = Batching {
            timeout: Duration::from_millis(batch_timeout),
            transactions: 2048,
            pause: Duration::from_millis(asked.pause),
        };
        let interface = Interface::duplex(options.interface.unwrap_or(INTERFACE));
        let network = options.network(placement.clone()).with_interfaces(interface);
        let hardware = Hardware { network, cores, costs };
        let mut load = Load::new(replicas, hardware, batching, seed)?;
        load.counted = Duration::from_secs(asked.seconds);
        load.vice = asked.vice.map(|vice| match vice {
            ViceName::Crash => Vice::Crash,
            ViceName::Equivocation => Vice::Equivocation,
        });
        load.leaders = if asked.all_lead { Leaders::All } else { Leaders::BackOff };
        let mut points = Vec::new();
        for &clients in &asked.clients {
            let point = load.run(clients)?;
            let p50 = point.waits.percentile(50).map_or_else(|| "-".to_owned(), milliseconds);
            let (clients, per_second) = (point.clients, point.per_second);
            let what = format_args!("{clients} clients, {per_second}/s, median {p50} ms");
            aside("measured", what);
            points.push(point);
        }
        curves.push(Curve { batch_timeout, points });
    }
    print(&curves);
    if asked.vice.is_some() {
        print_seconds(&curves);
    }
    write(options, replicas, &curves, regions.len() > 1 || places == "trantor")?;
    say!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn print(curves: &[Curve]) {
    let rows = curves.iter().flat_map(|curve| {
        curve.points.iter().map(|point| {
            let [_, p50, p90, p99] = point.waits.cells();
            [
                format!("{} ms", curve.batch_timeout),
                point.clients.to_string(),
                point.per_second.to_string(),
                p50,
                p90,
                p99,
                format!("{} %", point.busy),
            ]
        })
    });
    let header = ["batch timeout", "clients", "transactions/s", "p50, ms", "p90", "p99", "busiest"];
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

fn write(
    options: &Options,
    replicas: NonZeroU32,
    curves: &[Curve],
    is_spread: bool,
) -> Result<(), Failure> {
    let (csv, svg) = (options.out.join("load.csv"), options.out.join("load.svg"));
    let header = [
        "replicas",
        "seed",
        "pause_ms",
        "batch_timeout_ms",
        "clients",
        "per_second",
        "p50_us",
        "p90_us",
        "p99_us",
        "skipped",
        "busiest_percent",
    ];
    let rows = curves.iter().flat_map(|Curve { batch_timeout, points }| {
        points.iter().map(move |point| {
            let wait = |percent| point.waits.percentile(percent).unwrap_or_default();
            let [p50, p90, p99] = [50, 90, 99].map(|percent| wait(percent).as_micros().to_string());
            vec![
                replicas.to_string(),
                options.committee.seed.to_string(),
                options.load.pause.to_string(),
                batch_timeout.to_string(),
                point.clients.to_string(),
                point.per_second.to_string(),
                p50,
                p90,
                p99,
                point.skipped.to_string(),
                point.busy.to_string(),
            ]
        })
    });
    let header = header.map(str::to_owned).to_vec();
    records(&csv, std::iter::once(header).chain(rows))?;
    let paper = if is_spread { &PAPER_WORLD[..] } else { &PAPER_ROOM };
    plot(options, &svg, replicas, curves, paper)?;
    say!("written: {}, {}", csv.display(), svg.display());
    Ok(())
}

fn plot(
    options: &Options,
    svg: &std::path::Path,
    replicas: NonZeroU32,
    curves: &[Curve],
    paper: &[(f64, f64)],
) -> Result<(), Failure> {
    let number = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let place = |point: &Point| {
        let wait = point.waits.percentile(50).unwrap_or_default();
        (number(point.per_second), wait.as_secs_f64() * 1e3)
    };
    let mut lines: Vec<Line> = curves
        .iter()
        .map(|curve| Line {
            name: format!("batch timeout {} ms", curve.batch_timeout),
            points: curve.points.iter().map(place).collect(),
        })
        .collect();
    lines.push(Line { name: "the paper, 32 replicas".to_owned(), points: paper.to_vec() });
    let all = || lines.iter().flat_map(|line| line.points.iter().copied());
    let right = all().map(|(across, _)| across).fold(1.0, f64::max) * 1.05;
    let top = all().map(|(_, up)| up).fold(1.0, f64::max) * 1.1;
    let title =
        format!("{replicas} replicas, 512-byte transactions, seed {}", options.committee.seed);
    let picture = Lines {
        title: &title,
        across: Axis { label: "transactions a second", range: 0.0..right, scale: Scale::Linear },
        up: Axis { label: "median latency, ms", range: 0.0..top, scale: Scale::Linear },
        legend: Legend::LowerRight,
        dots: true,
        lines,
    };
    Sink::open(svg)?.picture(&picture)
}
