//! `prefinal simulate --keygen`: what key generation takes, stage by stage, with one aggregate of transcripts on the
//! chain as the paper has it, beside every dealing on the chain, as a table, CSV and a plot.
//!
//! The paper measures dealing, dissemination and aggregation together, and agreement, on Aptos mainnet, where most
//! validators have 32 cores and 1 Gbit/s; it finds that dissemination takes most.

use std::time::{Duration, Instant as Clock};

use clap::Args;
use prefinal_lab::transcripts::{Agreement, Report, Transcripts};
use prefinal_lab::waits::Waits;
use prefinal_lab::{Costs, Failure};
use prefinal_registry::Wvuf;
use prefinal_sim::{Interface, Rate};

use super::thresholds::records;
use super::{Options, costs, microseconds, write_costs};
use crate::changes::Changes;
use crate::output::{Sink, aside};
use crate::table;
use prefinal_chart::{Stack, Stacks};

/// What an experiment with key generation is asked for.
#[derive(Args, Debug)]
pub(super) struct TranscriptOptions {
    /// Generate keys of the weighted VUF instead, over interfaces of each rate: with one sum of transcripts on the
    /// chain, as the paper does, and with every dealing on it. Transcripts are real, signatures of votes ideal
    #[arg(long, conflicts_with_all = [
        "campaign", "thresholds", "ideal", "epochs", "load", "execute", "sync", "hours", "slots", "engine", "scheme",
        "interface",
    ])]
    keygen: bool,
    /// Rates of each party's network interface in each direction, one run of both kinds for each
    #[arg(long, value_name = "RATE,…", requires = "keygen", value_delimiter = ',',
        default_values = ["50Mbit/s", "200Mbit/s", "1Gbit/s"])]
    rates: Vec<Rate>,
}

impl TranscriptOptions {
    pub(super) const fn is_asked_for(&self) -> bool {
        self.keygen
    }
}

/// One key generation over interfaces of one rate.
struct Run {
    rate: Rate,
    agreement: Agreement,
    report: Report,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let started = Clock::now();
    let (plan, _, placement) = options.gather(&Changes::default())?;
    let costs = costs(options)?;
    let seed = options.committee.seed;
    let transcripts = Transcripts::new(&plan, seed)?;
    aside(
        "made",
        format_args!("{} transcripts, {:.1} s", plan.parties(), started.elapsed().as_secs_f64()),
    );
    let mut runs = Vec::new();
    for &rate in &options.transcripts.rates {
        for agreement in [Agreement::OneAggregate, Agreement::EachDealing] {
            let mut world = options.world(placement.clone(), costs);
            world.network = world.network.with_interfaces(Interface::duplex(rate));
            let report = transcripts.run::<Wvuf>(agreement, &world)?;
            runs.push(Run { rate, agreement, report });
        }
    }
    print(options, &runs);
    write(options, &runs, costs)?;
    say!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

const fn name(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::OneAggregate => "aggregate",
        Agreement::EachDealing => "dealings",
    }
}

/// Seconds, with two decimals.
fn seconds(span: Option<Duration>) -> String {
    span.map_or_else(|| "-".to_owned(), |span| format!("{:.2}", span.as_secs_f64()))
}

/// The stages, in the order in which they are shown.
fn stages(report: &Report) -> [&Waits; 4] {
    let Report { dealing, dissemination, aggregation, agreement, .. } = report;
    [dealing, dissemination, aggregation, agreement]
}

const STAGES: [&str; 4] = ["dealing", "dissemination", "aggregation", "agreement"];

fn print(options: &Options, runs: &[Run]) {
    let rows = runs.iter().map(|Run { rate, agreement, report }| {
        let head = [name(*agreement).to_owned(), rate.to_string()];
        let means = stages(report).map(|stage| seconds(stage.mean()));
        let ends = [report.total.mean(), report.total.longest()].map(seconds);
        [&head[..], &means, &ends].concat()
    });
    let header = ["ordered", "interface", "deal, s", "spread", "sum up", "agree", "all", "last"];
    say!("{}", table::table(&header, rows));
    let rows = runs.iter().map(|Run { rate, agreement, report }| {
        let Report { on_chain, transactions, sent, dealers, .. } = report;
        let head = [name(*agreement).to_owned(), rate.to_string()];
        let counts = [*transactions, *on_chain, *sent].map(|count| count.to_string());
        [&head[..], &counts, &[dealers.to_string()]].concat()
    });
    let header = ["ordered", "interface", "transactions", "bytes", "sent by each", "dealers"];
    say!("{}", table::table(&header, rows));
    say!(
        "means over parties, the last column of the slowest; spread: dissemination; bytes: of what is ordered"
    );
    if let Some(Run { report, .. }) = runs.first() {
        say!("a transcript has {} bytes, both sharings in one", report.transcript);
    }
    say!("{} cores each, seed {}", options.cores(), options.committee.seed);
}

fn write(options: &Options, runs: &[Run], costs: Costs) -> Result<(), Failure> {
    let [csv, svg, json] =
        ["keygen.csv", "keygen.svg", "costs.json"].map(|name| options.out.join(name));
    let fixed = ["on_chain", "interface", "seed", "cores"].map(str::to_owned);
    let spans = STAGES.into_iter().chain(["all"]);
    let spans = spans.flat_map(|stage| ["mean", "last"].map(|what| format!("{stage}_{what}_us")));
    let counts = ["transactions", "bytes_on_chain", "bytes_sent", "transcript_bytes", "dealers"];
    let counts = counts.map(str::to_owned);
    let header = fixed.into_iter().chain(spans).chain(counts).collect();
    records(&csv, std::iter::once(header).chain(runs.iter().map(|run| row(options, run))))?;
    let bars = runs.iter().map(|Run { rate, agreement, report }| Stack {
        name: format!("{}, {rate}", name(*agreement)),
        parts: stages(report).map(|stage| stage.mean().unwrap_or_default().as_secs_f64()).to_vec(),
    });
    let seed = options.committee.seed;
    let title = format!("Key generation, means over parties, seed {seed}");
    let (across, parts) = ("seconds", &STAGES[..]);
    let picture = Stacks { title: &title, across, parts, bars: bars.collect() };
    Sink::open(&svg)?.picture(picture.svg())?;
    write_costs(&json, &costs)?;
    say!("written: {}, {}, {}", csv.display(), svg.display(), json.display());
    Ok(())
}

fn row(options: &Options, Run { rate, agreement, report }: &Run) -> Vec<String> {
    let seed = options.committee.seed.to_string();
    let fixed = [name(*agreement).to_owned(), rate.to_string(), seed, options.cores().to_string()];
    let spans = stages(report).into_iter().chain([&report.total]);
    let spans = spans.flat_map(|stage| [stage.mean(), stage.longest()].map(microseconds));
    let Report { transactions, on_chain, sent, transcript, dealers, .. } = report;
    let counts = [transactions.to_string(), on_chain.to_string(), sent.to_string()];
    let sizes = [transcript.to_string(), dealers.to_string()];
    fixed.into_iter().chain(spans).chain(counts).chain(sizes).collect()
}
