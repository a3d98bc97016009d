//! `prefinal simulate --load --engine dispel`: goodput and latency without a leader, against one that sends everything.
//!
//! Experiments, regions and rates are those of [DISPEL](https://arxiv.org/abs/1912.10367), sections 5.4, 5.7 and 6:
//! interfaces of 600 MiB/s, connections of 50 MB/s in Europe, four cores, or eight where signatures are checked.
mod output;

use std::num::{NonZeroU32, NonZeroU64};
use std::time::{Duration, Instant as Clock};

use clap::{Args, ValueEnum};
use prefinal_lab::load::goodput::{Crash, Goodput, GoodputPoint, Machines, Orderer};
use prefinal_lab::waits::milliseconds;
use prefinal_lab::{Costs, Failure, place};
use prefinal_sim::{Rate, Seat};

use self::output::Results;
use super::{Options, costs};
use crate::output::aside;

/// A replica's interface: 600 MiB/s.
const INTERFACE: Rate = Rate::bytes_per_second(NonZeroU64::new(600 << 20).unwrap());
/// A connection in Europe.
const CONNECTION: Rate = Rate::bytes_per_second(NonZeroU64::new(50_000_000).unwrap());
/// Cores of the paper's machines, and of those that check signatures.
const CORES: NonZeroU32 = NonZeroU32::new(4).unwrap();
const CHECKING_CORES: NonZeroU32 = NonZeroU32::new(8).unwrap();
/// Bytes of memory for stages.
const MEMORY: u64 = 6 << 30;
/// Load beyond what can be carried, in percent.
const SATURATED: u64 = 120;
/// Load at which latency is told, in percent of what was delivered when more was offered.
const BELOW: u64 = 90;
/// Most KiB of a batch, and of a block unless it is asked for: in large committees batches are smaller.
const BATCH: u64 = 2048;
const BLOCK: u64 = 64 << 10;
/// The same for payments: what takes cores two thirds of a second.
const PAYMENTS: u64 = 20 << 10;
/// How many times longer a leader runs, that orders less in the same time.
const LEADER_SECONDS: u32 = 10;
/// Regions in which the paper's application ran.
const PAYMENT_REGIONS: [&str; 10] = [
    "us-west-1",
    "ca-central-1",
    "eu-central-1",
    "eu-west-1",
    "eu-west-2",
    "us-east-1",
    "us-east-2",
    "us-west-2",
    "ap-southeast-2",
    "ap-northeast-1",
];

/// An experiment of the paper, by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ExperimentName {
    /// Goodput and latency over the size of the committee
    #[default]
    Sizes,
    /// Latency over goodput, one point for each load
    Curve,
    /// Goodput over time: one replica is down, then all of its region
    Failures,
    /// Goodput and latency over the size, where all replicas check a signature of each transaction
    Payments,
}

/// What is compared: an engine, and how it is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OrdererName {
    /// DISPEL with its stages side by side
    Pipeline,
    /// DISPEL with one stage at a time
    OneStage,
    /// Jolteon, whose leader sends all payloads
    Leader,
}

impl OrdererName {
    const fn orderer(self, max_stages: u64) -> Orderer {
        match self {
            Self::Pipeline => Orderer::Dispel { max_stages },
            Self::OneStage => Orderer::Dispel { max_stages: 1 },
            Self::Leader => Orderer::Jolteon,
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Pipeline => "DISPEL",
            Self::OneStage => "one stage at a time",
            Self::Leader => "leader sends all",
        }
    }
}

/// What an experiment under open load is asked for; all of it with `--load --engine dispel`.
#[derive(Args, Debug)]
pub(super) struct GoodputOptions {
    /// Which of the paper's experiments is played
    #[arg(long, value_name = "NAME", requires = "load", default_value = "sizes")]
    pub(super) experiment: ExperimentName,
    /// What is compared, one curve for each
    #[arg(long, value_name = "NAME,…", requires = "load", value_delimiter = ',',
        default_values = ["pipeline", "one-stage", "leader"])]
    pub(super) orderers: Vec<OrdererName>,
    /// Sizes of the committee [default: 4,8,16,32,64,128; for payments 10,40,120,250,380; else 32]
    #[arg(long, value_name = "COUNT,…", requires = "load", value_delimiter = ',')]
    replicas: Vec<NonZeroU32>,
    /// Bytes of a transaction [default: 128,400,1024 over sizes, else 400]
    #[arg(long, value_name = "BYTES,…", requires = "load", value_delimiter = ',')]
    transaction: Vec<NonZeroU32>,
    /// KiB of what a replica proposes at a time [default: 2048, but at most 64 MiB of all, or 20 MiB of payments]
    #[arg(long, value_name = "KIB", requires = "load",
        value_parser = clap::value_parser!(u64).range(1..))]
    batch: Option<u64>,
    /// KiB of a leader's block
    #[arg(long, value_name = "KIB", requires = "load", default_value_t = 4096,
        value_parser = clap::value_parser!(u64).range(1..))]
    block: u64,
    /// Bundles in a batch: so many parts of it come to a replica one by one
    #[arg(long, value_name = "COUNT", requires = "load", default_value_t = 16,
        value_parser = clap::value_parser!(u64).range(1..))]
    bundles: u64,
    /// Stages that may be open at a time
    #[arg(long, value_name = "COUNT", requires = "load", default_value_t = 12,
        value_parser = clap::value_parser!(u64).range(1..))]
    stages: u64,
    /// Loads of a curve, in percent of what interfaces and connections carry
    #[arg(long, value_name = "PERCENT,…", requires = "load", value_delimiter = ',',
        default_values_t = [2, 10, 25, 50, 75, 90, 100, 120])]
    offered: Vec<u64>,
    /// Least time between two messages of votes of one replica, in milliseconds [default: 2, or 1 for 16 replicas; 50
    /// with payments]
    #[arg(long, value_name = "MS", requires = "load")]
    gather: Option<u64>,
    /// When one replica fails and when the rest of its region, in virtual seconds
    #[arg(long, value_name = "ONE,ALL", requires = "load", value_delimiter = ',', num_args = 2,
        default_values_t = [40, 80])]
    fails: Vec<u64>,
    /// How long a leader or a coordinator is waited for, in milliseconds [default: 1000 with failures, else 10000]
    #[arg(long, value_name = "MS", requires = "load")]
    patience: Option<u64>,
}

/// What differs from one point of an experiment to the next.
#[derive(Clone, Copy)]
struct Setting {
    name: OrdererName,
    replicas: NonZeroU32,
    transaction: NonZeroU32,
}

/// One setting, and what came of its loads.
pub(super) struct Series {
    pub(super) name: OrdererName,
    pub(super) goodput: Goodput,
    pub(super) points: Vec<GoodputPoint>,
}

impl GoodputOptions {
    fn replicas(&self) -> Vec<NonZeroU32> {
        let usual: &[u32] = match self.experiment {
            ExperimentName::Sizes => &[4, 8, 16, 32, 64, 128],
            ExperimentName::Payments => &[10, 40, 120, 250, 380],
            ExperimentName::Curve | ExperimentName::Failures => &[32],
        };
        or_usual(&self.replicas, usual)
    }

    fn transactions(&self) -> Vec<NonZeroU32> {
        let is_sizes = self.experiment == ExperimentName::Sizes;
        or_usual(&self.transaction, if is_sizes { &[128, 400, 1024] } else { &[400] })
    }

    /// Bytes of a batch.
    fn batch(&self, replicas: NonZeroU32) -> u64 {
        let block = if self.experiment == ExperimentName::Payments { PAYMENTS } else { BLOCK };
        let usual = (block / u64::from(replicas.get())).clamp(1, BATCH);
        self.batch.unwrap_or(usual) << 10
    }

    fn gather(&self, replicas: NonZeroU32) -> Duration {
        let usual = match self.experiment {
            ExperimentName::Payments => 50,
            _ => u64::from(replicas.get() / 16).max(2),
        };
        Duration::from_millis(self.gather.unwrap_or(usual))
    }

    fn patience(&self) -> Duration {
        let is_failures = self.experiment == ExperimentName::Failures;
        Duration::from_millis(self.patience.unwrap_or(if is_failures { 1000 } else { 10_000 }))
    }
}

fn or_usual(asked: &[NonZeroU32], usual: &[u32]) -> Vec<NonZeroU32> {
    if asked.is_empty() {
        return usual.iter().filter_map(|count| NonZeroU32::new(*count)).collect();
    }
    asked.to_vec()
}

/// The regions of an experiment.
fn regions(options: &Options) -> Vec<String> {
    match &options.committee.regions[..] {
        [all] if all == "all" => match options.goodput.experiment {
            ExperimentName::Payments => PAYMENT_REGIONS.map(str::to_owned).to_vec(),
            _ => vec!["dispel-europe".to_owned()],
        },
        regions => regions.to_vec(),
    }
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let started = Clock::now();
    let asked = &options.goodput;
    let costs = costs(options)?;
    let regions = regions(options);
    say!("replicas in {}, seed {}", regions.join(" "), options.committee.seed);
    let mut series = Vec::new();
    for transaction in asked.transactions() {
        for replicas in asked.replicas() {
            for name in &asked.orderers {
                let setting = Setting { name: *name, replicas, transaction };
                let goodput = set_up(options, &regions, costs, setting)?;
                series.push(measure(asked, *name, goodput)?);
            }
        }
    }
    let results = Results { regions: regions.join(" "), series };
    output::show(asked.experiment, &results);
    output::write(options, &results, costs)?;
    say!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn set_up(
    options: &Options,
    regions: &[String],
    costs: Costs,
    setting: Setting,
) -> Result<Goodput, Failure> {
    let Setting { name, replicas, transaction } = setting;
    let (asked, seed) = (&options.goodput, options.committee.seed);
    let count = usize::try_from(replicas.get()).unwrap_or(usize::MAX);
    let placement = place(regions, count, seed)?;
    let signed = asked.experiment == ExperimentName::Payments;
    let mut crashes = Vec::new();
    if let (ExperimentName::Failures, [one, all]) = (asked.experiment, &asked.fails[..]) {
        let last = Seat::new(replicas.get().saturating_sub(1));
        let region = placement.as_ref().and_then(|placement| placement.region(last));
        let seats = (0..replicas.get()).map(Seat::new);
        let there = |seat: &Seat| {
            placement.as_ref().and_then(|placement| placement.region(*seat)) == region
        };
        let at = |seat| if seat == last { *one } else { *all };
        let crash = |seat| Crash { seat, at: Duration::from_secs(at(seat)) };
        crashes.extend(seats.filter(there).map(crash));
    }
    let is_leader = name == OrdererName::Leader;
    let batch = if is_leader { asked.block << 10 } else { asked.batch(replicas) };
    let transaction = u64::from(transaction.get());
    let machines = Machines {
        network: options.network(placement),
        interface: options.interface.unwrap_or(INTERFACE),
        connection: options.connection.or(Some(CONNECTION)),
        cores: options.cores.unwrap_or(if signed { CHECKING_CORES } else { CORES }),
        memory: MEMORY,
        costs,
    };
    let (warm_up, counted) = match asked.experiment {
        ExperimentName::Failures => (1, 121),
        ExperimentName::Payments => (5, 10),
        ExperimentName::Sizes | ExperimentName::Curve => (2, 4),
    };
    let longer = if is_leader && crashes.is_empty() { LEADER_SECONDS } else { 1 };
    Ok(Goodput {
        replicas,
        machines,
        orderer: name.orderer(asked.stages),
        transaction,
        batch,
        bundle: (batch / asked.bundles / (transaction + 4)).max(1),
        signed,
        gather: asked.gather(replicas),
        timeout: asked.patience(),
        seed,
        warm_up: options.load.warm_up(warm_up) * longer,
        counted: options.load.seconds(counted) * longer,
        crashes,
    })
}

/// One run for each load of a curve. Else more is offered than can be carried, and then somewhat less than was.
fn measure(asked: &GoodputOptions, name: OrdererName, goodput: Goodput) -> Result<Series, Failure> {
    let capacity = goodput.capacity().min(goodput.checked());
    let run = |offered: u64| {
        let started = Clock::now();
        let point = goodput.run(offered)?;
        let p50 = point.waits.percentile(50).map_or_else(|| "-".to_owned(), milliseconds);
        let (replicas, bytes, got) =
            (goodput.replicas, goodput.transaction, point.goodput / 1_000_000);
        let (title, seconds) = (name.title(), started.elapsed().as_secs_f64());
        let what = format_args!(
            "{title}, {replicas} replicas, {bytes} bytes: {got} MB/s, median {p50} ms, in {seconds:.1} s"
        );
        aside("measured", what);
        Ok::<_, Failure>(point)
    };
    let percent = |of: u64, percent: u64| of.saturating_mul(percent) / 100;
    let points = match asked.experiment {
        ExperimentName::Curve => {
            let loads = asked.offered.iter();
            loads.map(|load| run(percent(capacity, *load))).collect::<Result<_, _>>()?
        }
        ExperimentName::Failures => vec![run(percent(capacity, SATURATED))?],
        ExperimentName::Sizes | ExperimentName::Payments => {
            let full = run(percent(capacity, SATURATED))?;
            let below = run(percent(full.goodput, BELOW))?;
            vec![full, below]
        }
    };
    Ok(Series { name, goodput, points })
}
