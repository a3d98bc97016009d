//! `prefinal simulate --sync`: followers of a chain, naive against pipelined, as tables, CSV and plots.
//!
//! Beside them stand the numbers of Joshua Lind, *The evolution of state sync* (Aptos): devnet with round trips
//! of 150 ms. What work costs is measured, on one thread; a second table has the throughputs at costs that are fitted
//! to the post.
use std::num::NonZeroU32;
use std::time::{Duration, Instant as Clock};

use clap::Args;
use prefinal_chart::{Axis, Legend, Line, Lines, Scale};
use prefinal_lab::Failure;
use prefinal_lab::sync::{
    CatchUp, Crowd, Replay, Strategy, SyncExperiment, SyncParameters, SyncPrices, SyncSetting,
};
use prefinal_lab::waits::Waits;

use super::thresholds::records;
use super::{Options, write_costs};
use crate::output::{self, Sink, aside, named};
use crate::table;

/// What experiments with followers are asked for.
#[derive(Args, Debug)]
pub(super) struct SyncOptions {
    /// Follow a chain instead, naively and in a pipeline, executing and by deltas, among slow and lying peers; with
    /// --campaign play followers among hostile peers
    #[arg(long, conflicts_with_all = [
        "thresholds", "ideal", "epochs", "scheme", "engine", "slots", "stakes", "fast", "load", "execute",
        "interface", "connection", "parties", "regions",
    ])]
    sync: bool,
    /// Transactions a second while the distance to the tip is measured
    #[arg(
        long,
        value_name = "COUNT",
        requires = "sync",
        conflicts_with = "campaign",
        default_value = "1000"
    )]
    rate: NonZeroU32,
    /// Blocks of the chain that is followed
    #[arg(long, value_name = "COUNT", requires = "sync", conflicts_with = "campaign", default_value_t = 240,
        value_parser = clap::value_parser!(u64).range(40..))]
    blocks: u64,
}

impl SyncOptions {
    pub(super) const fn is_asked_for(&self) -> bool {
        self.sync
    }
}

/// Who follows, in which way.
const WAYS: [(&str, Strategy, Replay); 4] = [
    ("naive, executing", Strategy::Naive, Replay::Execute),
    ("naive, deltas", Strategy::Naive, Replay::Deltas),
    ("pipelined, executing", Strategy::Pipelined, Replay::Execute),
    ("pipelined, deltas", Strategy::Pipelined, Replay::Deltas),
];

/// What the post says of each: transactions a second, and milliseconds behind the tip.
const POST: [(&str, &str); 4] = [("1200", "900"), ("-", "-"), ("4500", "300"), ("> 10000", "300")];

const CROWDS: [(&str, Crowd); 3] =
    [("honest", Crowd::Honest), ("slow", Crowd::Slow), ("lying", Crowd::Lying)];

/// Round trips of the plot, in milliseconds.
const ROUND_TRIPS: [u32; 4] = [20, 75, 150, 300];

const ASKERS: [(u32, &str); 2] = [(20, "70 to 80"), (60, "93 to 98")];

/// One number that was measured.
struct Record {
    experiment: &'static str,
    way: &'static str,
    crowd: &'static str,
    prices: &'static str,
    /// What is varied: a height, a round trip or a number of those who ask.
    across: u64,
    value: u64,
    unit: &'static str,
}

/// All that was measured.
struct Bench<'a> {
    options: &'a Options,
    experiment: SyncExperiment,
    records: Vec<Record>,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let started = Clock::now();
    let prices = options.costs.as_deref().map(|file| {
        let text = std::fs::read(file).map_err(|error| named(file, error))?;
        serde_json::from_slice::<SyncPrices>(&text).map_err(|error| named(file, error))
    });
    let prices = prices.transpose()?;
    output::folder(&options.out)?;
    let mut parameters = SyncParameters::usual(options.committee.seed);
    parameters.blocks = options.sync.blocks;
    if let Some(cores) = options.cores {
        parameters.cores = cores;
    }
    let experiment = SyncExperiment::new(parameters, prices)?;
    let mut bench = Bench { options, experiment, records: Vec::new() };
    bench.introduce();
    bench.throughput()?;
    bench.latency()?;
    bench.bytes()?;
    bench.cache()?;
    let bootstrap = bench.bootstrap()?;
    let round_trips = bench.round_trips()?;
    bench.write([bootstrap, round_trips])?;
    say!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn seconds(span: Duration) -> String {
    format!("{:.2}", span.as_secs_f64())
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

impl Bench<'_> {
    fn introduce(&self) {
        let SyncParameters {
            blocks,
            transfers,
            accounts,
            peers,
            round_trip,
            answer_blocks,
            poll,
            slow,
            cores,
            seed,
            ..
        } = *self.experiment.parameters();
        say!(
            "{blocks} blocks of {transfers} transfers, {accounts} accounts, {peers} peers, round trips of \
             {} ms, 1 Gbit/s, {answer_blocks} blocks an answer, summaries every {} ms, slow answers {} ms later, \
             {cores} cores, seed {seed}",
            round_trip.as_millis(),
            poll.as_millis(),
            slow.as_millis()
        );
        let prices = self.experiment.prices();
        let micros = |nanos: u64| format!("{:.1}", Duration::from_nanos(nanos).as_secs_f64() * 1e6);
        let rows = [
            ("verifying a certificate", prices.certificate),
            ("decoding and hashing a transaction", prices.check_each),
            ("the same with its delta", prices.check_delta_each),
            ("executing it", prices.execute_each),
            ("applying its delta", prices.apply_each),
            ("writing it", prices.write_each),
            ("making a write durable", prices.flush),
            ("verifying a row of a state", prices.check_row),
            ("writing a row of a state", prices.write_row),
        ];
        let rows = rows.map(|(what, nanos)| [what.to_owned(), micros(nanos)]);
        say!("{}", table::table(&["on one thread", "µs"], rows));
    }

    fn keep(&mut self, record: Record) {
        self.records.push(record);
    }

    fn caught_up(
        &mut self,
        experiment: &SyncExperiment,
        way: usize,
        crowd: (&'static str, Crowd),
        prices: &'static str,
    ) -> Result<CatchUp, Failure> {
        let Some((name, strategy, replay)) = WAYS.get(way).copied() else {
            return Err(Failure::bad_input("no such way"));
        };
        let (crowd_name, crowd) = crowd;
        let setting = SyncSetting { replay, strategy, snapshot: false, crowd };
        let blocks = experiment.parameters().blocks;
        let done = experiment.catch_up(blocks, setting)?;
        aside("measured", format_args!("{name}, {crowd_name} peers, {}/s", done.per_second));
        let round_trip = experiment.parameters().round_trip.as_millis();
        self.keep(Record {
            experiment: "throughput",
            way: name,
            crowd: crowd_name,
            prices,
            across: u64::try_from(round_trip).unwrap_or(u64::MAX),
            value: done.per_second,
            unit: "transactions_per_second",
        });
        Ok(done)
    }

    /// Each way among each crowd, and at the post's costs.
    fn throughput(&mut self) -> Result<(), Failure> {
        let here = self.experiment.at_prices(*self.experiment.prices());
        let post = self.experiment.at_prices(SyncPrices::post());
        let mut rows = Vec::new();
        for (way, ((name, ..), (of_post, _))) in WAYS.iter().zip(POST).enumerate() {
            let mut row = vec![(*name).to_owned()];
            for crowd in CROWDS {
                row.push(self.caught_up(&here, way, crowd, "measured")?.per_second.to_string());
            }
            let at_post = self.caught_up(&post, way, ("honest", Crowd::Honest), "post")?;
            row.push(at_post.per_second.to_string());
            row.push(of_post.to_owned());
            rows.push(row);
        }
        say!(
            "transactions a second from the genesis to the tip, with a third of the peers slow or"
        );
        say!("lying; then at costs that are fitted to the post, and the post's own numbers");
        let header = ["", "honest", "slow", "lying", "its costs", "the post"];
        say!("{}", table::table(&header, rows));
        Ok(())
    }

    fn latency(&mut self) -> Result<(), Failure> {
        let rate = self.options.sync.rate;
        let mut rows = Vec::new();
        for ((name, strategy, replay), (_, post)) in WAYS.into_iter().zip(POST) {
            let waits = self.experiment.behind_tip(replay, strategy, rate)?;
            aside("measured", format_args!("{name}, {} blocks at the tip", waits.count()));
            let [mean, p50, p90, _] = Waits::cells(&waits);
            self.keep(Record {
                experiment: "latency",
                way: name,
                crowd: "honest",
                prices: "measured",
                across: rate.get().into(),
                value: micros(waits.mean().unwrap_or_default()),
                unit: "mean_us",
            });
            rows.push([name.to_owned(), mean, p50, p90, post.to_owned()]);
        }
        say!("milliseconds from a block's certificate until a follower has it durable, {rate}");
        say!("transactions a second, through two tiers of followers of the same kind");
        say!("{}", table::table(&["", "mean", "p50", "p90", "the post"], rows));
        Ok(())
    }

    fn bytes(&mut self) -> Result<(), Failure> {
        let [blocks, deltas] =
            [Replay::Execute, Replay::Deltas].map(|replay| self.experiment.answer_bytes(replay));
        let (blocks, deltas) = (blocks?, deltas?);
        let count = self.experiment.parameters().blocks * self.experiment.parameters().transfers;
        let each = |bytes: u64| format!("{:.0}", ratio(bytes, count));
        let row = |name: &str, one: u64, other: u64, post: &str| {
            let ratio = format!("{:.2}", ratio(other, one));
            [name.to_owned(), each(one), each(other), ratio, post.to_owned()]
        };
        let rows = [
            row("as they are encoded", blocks.plain, deltas.plain, "2.5"),
            row("compressed", blocks.packed, deltas.packed, "-"),
        ];
        for (way, value) in [
            ("executing, encoded", blocks.plain),
            ("deltas, encoded", deltas.plain),
            ("executing, compressed", blocks.packed),
            ("deltas, compressed", deltas.packed),
        ] {
            self.keep(Record {
                experiment: "bytes",
                way,
                crowd: "-",
                prices: "-",
                across: count,
                value,
                unit: "bytes",
            });
        }
        say!("bytes for each transaction on the wire: of blocks alone, and with deltas");
        say!("{}", table::table(&["", "blocks", "with deltas", "ratio", "the post"], rows));
        Ok(())
    }

    fn cache(&mut self) -> Result<(), Failure> {
        let mut rows = Vec::new();
        for (askers, post) in ASKERS {
            let cache = self.experiment.cache(askers)?;
            let percent = 100.0 * ratio(cache.hits, cache.requests);
            aside("measured", format_args!("{askers} who ask, {percent:.1} %"));
            for (value, unit) in [(cache.hits, "hits"), (cache.requests, "requests")] {
                self.keep(Record {
                    experiment: "cache",
                    way: "pipelined, deltas",
                    crowd: "honest",
                    prices: "measured",
                    across: askers.into(),
                    value,
                    unit,
                });
            }
            let cells = [cache.requests.to_string(), format!("{percent:.1}"), post.to_owned()];
            let kib = (cache.bytes >> 10).to_string();
            let [requests, hits, post] = cells;
            rows.push([askers.to_string(), requests, hits, post, kib]);
        }
        say!("answers of four servers that were in their caches, while so many catch up");
        let header = ["followers", "requests", "% cached", "the post", "KiB kept"];
        say!("{}", table::table(&header, rows));
        Ok(())
    }

    /// Seconds over the length of the chain.
    fn bootstrap(&mut self) -> Result<Vec<Line>, Failure> {
        let blocks = self.experiment.parameters().blocks;
        let ways = [
            ("the state whole", Replay::Deltas, true, Crowd::Honest),
            ("the same, third slow", Replay::Deltas, true, Crowd::Slow),
            ("the same, third lying", Replay::Deltas, true, Crowd::Lying),
            ("all deltas", Replay::Deltas, false, Crowd::Honest),
            ("all executed", Replay::Execute, false, Crowd::Honest),
        ];
        let mut lines: Vec<Line> =
            ways.map(|(name, ..)| Line { name: name.to_owned(), points: Vec::new() }).into();
        let mut rows = Vec::new();
        for quarter in 1..=4 {
            let height = blocks * quarter / 4;
            let mut row = vec![height.to_string()];
            for ((name, replay, snapshot, crowd), line) in ways.into_iter().zip(&mut lines) {
                let strategy = Strategy::Pipelined;
                let setting = SyncSetting { replay, strategy, snapshot, crowd };
                let done = self.experiment.catch_up(height, setting)?;
                aside(
                    "measured",
                    format_args!("{height} blocks, {name}, {} s", seconds(done.took)),
                );
                row.push(seconds(done.took));
                let across = f64::from(u32::try_from(height).unwrap_or(u32::MAX));
                line.points.push((across, done.took.as_secs_f64()));
                self.keep(Record {
                    experiment: "bootstrap",
                    way: name,
                    crowd: CROWDS
                        .iter()
                        .find(|(_, one)| *one == crowd)
                        .map_or("-", |(name, _)| name),
                    prices: "measured",
                    across: height,
                    value: micros(done.took),
                    unit: "us",
                });
            }
            rows.push(row);
        }
        say!("seconds from the genesis to the tip, over the length of the chain");
        let header = ["blocks", "the state", "slow", "lying", "deltas", "executed"];
        say!("{}", table::table(&header, rows));
        Ok(lines)
    }

    /// Throughput over round trips.
    fn round_trips(&mut self) -> Result<Vec<Line>, Failure> {
        let mut lines = Vec::new();
        let mut rows = Vec::new();
        for (way, (name, ..)) in WAYS.into_iter().enumerate() {
            let (mut points, mut row) = (Vec::new(), vec![name.to_owned()]);
            for round_trip in ROUND_TRIPS {
                let span = Duration::from_millis(round_trip.into());
                let experiment = self.experiment.with_round_trip(span);
                let done =
                    self.caught_up(&experiment, way, ("honest", Crowd::Honest), "measured")?;
                let rate = f64::from(u32::try_from(done.per_second).unwrap_or(u32::MAX));
                points.push((f64::from(round_trip), rate));
                row.push(done.per_second.to_string());
            }
            lines.push(Line { name: name.to_owned(), points });
            rows.push(row);
        }
        let header: Vec<String> = ROUND_TRIPS.iter().map(|trip| format!("{trip} ms")).collect();
        let header: Vec<&str> =
            std::iter::once("").chain(header.iter().map(String::as_str)).collect();
        say!("transactions a second, over round trips");
        say!("{}", table::table(&header, rows));
        Ok(lines)
    }

    fn write(&self, [bootstrap, round_trips]: [Vec<Line>; 2]) -> Result<(), Failure> {
        let names = ["sync.csv", "sync-bootstrap.svg", "sync-round-trips.svg", "sync-costs.json"];
        let [csv, first, second, json] = names.map(|name| self.options.out.join(name));
        let given = self.experiment.parameters();
        let (seed, transfers) = (given.seed, given.transfers);
        let count = |number: u64| number.to_string();
        let millis = |span: Duration| span.as_millis().to_string();
        let columns = [
            count(seed),
            count(given.blocks),
            count(transfers),
            count(given.accounts),
            count(given.peers.into()),
            millis(given.round_trip),
            count(given.answer_blocks.into()),
            millis(given.poll),
            millis(given.slow),
            given.cores.to_string(),
        ];
        let rows = self.records.iter().map(|record| {
            let Record { experiment, way, crowd, prices, across, value, unit } = record;
            let words = [*experiment, *way, *crowd, *prices].map(str::to_owned);
            let last = [across.to_string(), value.to_string(), (*unit).to_owned()];
            columns.iter().cloned().chain(words).chain(last).collect::<Vec<_>>()
        });
        let header = COLUMNS.map(str::to_owned).to_vec();
        records(&csv, std::iter::once(header).chain(rows))?;
        let title =
            format!("From the genesis to the tip, {transfers} transfers a block, seed {seed}");
        let picture = picture(&title, ("blocks", "seconds"), bootstrap);
        Sink::open(&first)?.picture(picture.svg())?;
        let title = format!("Catching up, {transfers} transfers a block, seed {seed}");
        let axes = ("round trip, ms", "transactions a second");
        Sink::open(&second)?.picture(self::picture(&title, axes, round_trips).svg())?;
        write_costs(&json, self.experiment.prices())?;
        say!(
            "written: {}, {}, {}, {}",
            csv.display(),
            first.display(),
            second.display(),
            json.display()
        );
        Ok(())
    }
}

/// The columns of the records.
const COLUMNS: [&str; 17] = [
    "seed",
    "blocks",
    "transfers",
    "accounts",
    "peers",
    "round_trip_ms",
    "answer_blocks",
    "poll_ms",
    "slow_ms",
    "cores",
    "experiment",
    "way",
    "crowd",
    "prices",
    "across",
    "value",
    "unit",
];

fn ratio(one: u64, other: u64) -> f64 {
    let float = |number: u64| Duration::from_micros(number).as_secs_f64();
    float(one) / float(other.max(1))
}

fn picture<'a>(title: &'a str, (across, up): (&'a str, &'a str), lines: Vec<Line>) -> Lines<'a> {
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let right = points().map(|(across, _)| across).fold(1.0, f64::max) * 1.05;
    let top = points().map(|(_, up)| up).fold(1.0, f64::max) * 1.1;
    Lines {
        title,
        across: Axis { label: across, range: 0.0..right, scale: Scale::Linear },
        up: Axis { label: up, range: 0.0..top, scale: Scale::Linear },
        legend: Legend::Beside,
        dots: true,
        lines,
    }
}
