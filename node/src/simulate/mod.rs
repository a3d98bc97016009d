//! `prefinal simulate`: committees in virtual time.
//!
//! | module       | what                                                                     |
//! |--------------|--------------------------------------------------------------------------|
//! | here         | the paper's experiment: slow path against fast path                       |
//! | `campaign`   | thousands of executions under attack                                      |
//! | `deployment` | hours with restarts and moves, and the fast path from the middle on      |
//! | `execution`  | from a transaction to its certified, durable state, with the pipeline's switches |
//! | `global`     | when slots are final and computable, whether anybody knows it             |
//! | `load`       | latency over throughput, with clients on Trantor                          |
//! | `goodput`    | the same on DISPEL, over sizes, crashes and signatures, against a leader   |
//! | `sync`       | followers of a chain: naive against pipelined, among slow and lying peers |
//! | `thresholds` | Theorem 6.1: tight thresholds against ramps, and what total weight buys   |
//! | `transactions` | latency of transactions on Jolteon with a beacon and without one          |
//! | `transcripts` | key generation, stage by stage: one aggregate on the chain, or every dealing   |
//! | `throughput` | the plot of latency over throughput                                      |
//!
//! Here stands what can be asked, and how answers are shown; [`prefinal_lab`] computes them.

mod campaign;
mod deployment;
mod execution;
mod global;
mod goodput;
mod load;
mod sync;
mod thresholds;
mod throughput;
mod transactions;
mod transcripts;

use prefinal_lab::priced::Priced;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use ::prefinal_beacon::contract::Rule;
use clap::Args;
use prefinal_sim::{Interface, Jitter, Network, Placement, Rate};
use prefinal_weighted_rounding::Ratio;

use prefinal_lab::campaign::{EngineName, Function, Order, Signatures};
use prefinal_lab::committee::{Ground, Prices, Subject};
use prefinal_lab::dealt::{self, World};
use prefinal_lab::latency::{Experiment, Outcome};
use prefinal_lab::stakes::StakeTable;
use prefinal_lab::waits::milliseconds;
use prefinal_lab::{Costs, Failure};
use prefinal_registry::{engine, scheme};
use prefinal_validator::setup::{Algorithm, Plan};

use crate::changes::Changes;
use crate::choice::choice;
use crate::committee::{CommitteeOptions, Parties};
use crate::output::{self, Sink, named};
use crate::waits;
use crate::weighing::Weighing;

/// Aptos mainnet with about 130 validators, as the paper reports it (section 7.4).
const PAPER_SLOW_MS: &str = "85.5";
const PAPER_FAST_MS: &str = "24.7";

/// Cores of the paper's validators.
const CORES: NonZeroU32 = NonZeroU32::new(32).unwrap();

/// What an experiment is asked for.
#[derive(Args, Debug)]
pub struct Options {
    #[command(flatten)]
    committee: CommitteeOptions,
    #[command(flatten)]
    weighing: Weighing,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    execution: execution::ExecutionOptions,
    #[command(flatten)]
    load: load::LoadOptions,
    #[command(flatten)]
    deployment: deployment::DeploymentOptions,
    #[command(flatten)]
    transactions: transactions::TransactionOptions,
    #[command(flatten)]
    transcripts: transcripts::TranscriptOptions,
    #[command(flatten)]
    goodput: Box<goodput::GoodputOptions>,
    #[command(flatten)]
    sync: sync::SyncOptions,
    /// How many of the table's largest holders take part [default: all with stake]
    #[arg(long)]
    parties: Option<usize>,
    /// What the committee evaluates [default: bls]
    #[arg(long, value_parser = choice::<scheme::Name>())]
    scheme: Option<scheme::Name>,
    /// How many slots get a value
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    slots: u64,
    /// Cores of each party [default: 32, as the paper's validators have]
    #[arg(long)]
    cores: Option<NonZeroU32>,
    /// How far a link's delay strays from half its median round trip, in percent
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(..=100))]
    jitter: u8,
    /// Rate of each party's network interface in each direction, such as `5Gbit/s` [default: unlimited]
    #[arg(long, value_name = "RATE")]
    interface: Option<Rate>,
    /// Rate of each connection between two parties in each direction [default: unlimited]
    #[arg(long, value_name = "RATE")]
    connection: Option<Rate>,
    /// Large committees: keys are dealt before, partials and the engine's votes are looked up in place of
    /// computed, at the same prices. Waits are the same
    #[arg(long, conflicts_with_all = ["epochs", "thresholds", "campaign"])]
    ideal: bool,
    /// Costs of the primitives, as an earlier run wrote them, instead of measuring them
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
    /// Folder for the waits (CSV), their plot (SVG) and the costs (JSON)
    #[arg(long, value_name = "FOLDER", default_value = "out")]
    out: PathBuf,
    /// Run tight thresholds (Algorithm 2) beside the two paths: each party counts as one, for the engine too, and has
    /// one share
    #[arg(long, conflicts_with_all = [
        "thresholds", "campaign", "load", "execute", "sync", "hours", "keygen",
    ])]
    tight: bool,
    /// Compare tight thresholds with ramps instead, and total weights with each other
    #[arg(long, conflicts_with = "epochs")]
    thresholds: bool,
    /// Play executions of small committees under attack instead, one for each seed from --seed on
    #[arg(long, conflicts_with_all = [
        "parties", "regions", "scheme", "slots", "cores", "jitter", "interface", "connection",
        "costs", "out", "thresholds", "join", "leave", "slow", "budget", "weights", "round_trips",
    ])]
    campaign: bool,
    /// How many executions a campaign has
    #[arg(long, value_name = "COUNT", requires = "campaign", default_value_t = 200,
        value_parser = clap::value_parser!(u64).range(1..))]
    executions: u64,
    /// Play the execution of this seed alone
    #[arg(long, value_name = "SEED", requires = "campaign",
        conflicts_with_all = ["executions", "seed"])]
    only: Option<u64>,
    /// Which engine orders the slots [default: jolteon, or drawn from the seed in a campaign, which has
    /// `permissive` as well: one that does all that Definition 5 of the paper allows]
    #[arg(long, value_parser = choice::<EngineName>())]
    engine: Option<EngineName>,
    /// What the parties of a campaign evaluate [default: drawn from the seed, mostly ideal]
    #[arg(long, value_parser = choice::<Function>(), requires = "campaign")]
    function: Option<Function>,
    /// Check all signatures of engines on the curve. Without it a campaign of an ideal function does so in one of 20
    /// executions, and believes in the others what it has seen parties sign: they are the same
    #[arg(long, requires = "campaign")]
    real_signatures: bool,
    /// Leave one rule out of the release contract, and stop when that shows
    #[arg(long, value_name = "NUMBER", requires = "campaign",
        value_parser = clap::value_parser!(u8).range(1..=9))]
    without_rule: Option<u8>,
}

impl Options {
    fn cores(&self) -> NonZeroU32 {
        self.cores.unwrap_or(CORES)
    }

    /// How many take part.
    fn parties(&self) -> Parties {
        self.parties.map_or(Parties::All, Parties::Exactly)
    }

    /// The committees, and where their parties are.
    fn gather(&self, changes: &Changes) -> Result<(Plan, Vec<Plan>, Option<Placement>), Failure> {
        let Self { committee, weighing, .. } = self;
        committee.gather_weighed(self.parties(), Algorithm::Fast, changes, weighing)
    }

    /// The links between parties that are placed.
    fn network(&self, placement: Option<Placement>) -> Network {
        let mut network = match placement {
            Some(placement) => Network::placed(placement, Jitter::Percent(self.jitter)),
            None => Network::constant(Duration::ZERO),
        };
        if let Some(rate) = self.interface {
            network = network.with_interfaces(Interface::duplex(rate));
        }
        if let Some(rate) = self.connection {
            network = network.with_connections(rate);
        }
        network
    }

    /// What committees run in, except for their keys.
    fn world(&self, placement: Option<Placement>, costs: Costs) -> World {
        World {
            prices: Prices::Measured { costs, cores: self.cores() },
            network: self.network(placement),
            cores: self.cores(),
            seed: self.committee.seed,
            slots: self.slots,
        }
    }

    /// The engine of a campaign, if it is not drawn.
    fn campaign_engine(&self) -> Option<EngineName> {
        let pipeline = self.execution.is_asked_for().then_some(EngineName::Pipeline);
        let sync = self.sync.is_asked_for().then_some(EngineName::Sync);
        pipeline.or(sync).or(self.engine)
    }

    /// The function of a campaign, if it is not drawn.
    fn played_function(&self) -> Option<Function> {
        let is_alone = [EngineName::Pipeline, EngineName::Sync].map(Some);
        let is_alone = is_alone.contains(&self.campaign_engine());
        is_alone.then_some(Function::Ideal).or(self.function)
    }

    /// Refuses what a campaign on replicas or with the pipeline does not use.
    fn check_alone(&self) -> Result<(), Failure> {
        let why = match self.campaign_engine() {
            Some(EngineName::Replica) => {
                "--engine replica has an application in place of a function"
            }
            Some(EngineName::Pipeline) => "the pipeline plays with ideal values, in one epoch",
            Some(EngineName::Sync) => {
                "followers play without an engine and a committee's functions"
            }
            _ => return Ok(()),
        };
        let function = self.function.is_some_and(|function| function != Function::Ideal);
        let unused = match (function, self.without_rule, self.changes.epochs()) {
            (true, ..) => "--function",
            (_, Some(_), _) => "--without-rule",
            (_, _, epochs) if epochs > 1 => "--epochs",
            _ => return Ok(()),
        };
        Err(Failure::bad_input(format_args!("{unused}: {why}")))
    }

    /// The campaign that is asked for, and how to ask for it again.
    fn order(&self) -> Result<(Order, String), Failure> {
        self.check_alone()?;
        let table = self.committee.stakes.as_deref().map(StakeTable::read).transpose()?;
        let mut command = "prefinal simulate --campaign".to_owned();
        if let Some(file) = &self.committee.stakes {
            command += &format!(" --stakes {}", file.display());
        }
        if self.committee.fast != Ratio::FIVE_SIXTHS {
            command += &format!(" --fast {}", self.committee.fast);
        }
        let is_without = |rule: &Rule| Some(rule.number()) == self.without_rule;
        let without = Rule::ALL.into_iter().find(is_without);
        if let Some(rule) = without {
            command += &format!(" --without-rule {}", rule.number());
        }
        if self.real_signatures {
            command += " --real-signatures";
        }
        let order = Order {
            first: self.only.unwrap_or(self.committee.seed),
            executions: if self.only.is_some() { 1 } else { self.executions },
            engine: self.campaign_engine(),
            function: self.played_function(),
            signatures: self.real_signatures.then_some(Signatures::Real),
            without,
            table,
            fast: self.committee.fast,
            handover: self.changes.epochs() > 1,
        };
        if order.handover {
            command += &format!(" --epochs {}", self.changes.epochs());
        }
        Ok((order, command))
    }
}

/// Runs the experiment.
///
/// # Errors
/// If the input is bad, the parties disagree, or they do not finish.
pub fn run(options: &Options) -> Result<(), Failure> {
    if options.campaign {
        let (order, command) = options.order()?;
        return campaign::run(&order, command);
    }
    if options.execution.is_asked_for() {
        return execution::run(options);
    }
    if options.load.is_asked_for() {
        match options.engine {
            None | Some(EngineName::Listed(engine::Name::Trantor)) => {}
            Some(EngineName::Listed(engine::Name::Dispel)) => return goodput::run(options),
            Some(EngineName::Listed(engine::Name::Jolteon)) => return transactions::run(options),
            Some(_) => {
                return Err(Failure::bad_input(
                    "--engine: --load plays trantor, dispel or jolteon",
                ));
            }
        }
        return load::run(options);
    }
    if options.sync.is_asked_for() {
        return sync::run(options);
    }
    if options.transcripts.is_asked_for() {
        return transcripts::run(options);
    }
    if let Some(schedule) = options.deployment.schedule() {
        return deployment::run(options, &schedule);
    }
    let engine = match options.engine {
        None => engine::Name::default(),
        Some(EngineName::Listed(name)) => name,
        Some(
            EngineName::Permissive | EngineName::Replica | EngineName::Pipeline | EngineName::Sync,
        ) => {
            let what =
                "--engine permissive, replica, pipeline and sync: they play in a --campaign only";
            return Err(Failure::bad_input(what));
        }
    };
    let scheme = options.scheme.unwrap_or_default();
    prefinal_registry::types!(scheme, engine, S, E => run_on::<S, E>(options))
}

fn run_on<S: Priced, E: Subject>(options: &Options) -> Result<(), Failure> {
    if options.thresholds {
        return thresholds::run::<S, E>(options);
    }
    let started = Clock::now();
    let (plan, later, placement) = options.gather(&options.changes)?;
    let costs = costs(options)?;
    let tight = match options.tight {
        true => Some(tight_run::<S, E>(options, (&plan, &later), placement.clone(), costs)?),
        false => None,
    };
    let (slow, fast) = if options.ideal {
        dealt::both::<S, E>(&plan, options.committee.seed, &options.world(placement, costs))?
    } else {
        experiment::<S>(options, (&plan, &later), placement, costs)?.both::<E>()?
    };
    slow.compare(&fast)?;
    let mut runs = vec![
        Run { name: "slow path only", key: "slow", outcome: slow },
        Run { name: "fast path", key: "fast", outcome: fast },
    ];
    if let Some(outcome) = tight {
        runs.push(Run { name: "tight thresholds", key: "tight", outcome });
    }
    print_table(&runs);
    global::show(&runs);
    write(options, costs, &runs)?;
    say!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// One of an experiment's runs.
struct Run {
    /// As tables and plots name it.
    name: &'static str,
    /// As files of numbers name it.
    key: &'static str,
    outcome: Outcome,
}

/// The same parties with tight thresholds, each with one share.
fn tight_run<S: Priced, E: Subject>(
    options: &Options,
    (plan, later): (&Plan, &[Plan]),
    placement: Option<Placement>,
    costs: Costs,
) -> Result<Outcome, Failure> {
    let tight = |plan: &Plan| {
        let plan = Plan::new(plan.stakes.clone(), Algorithm::Tight, options.committee.fast);
        plan.map_err(Failure::bad_input)
    };
    let (plan, later) = (tight(plan)?, later.iter().map(tight).collect::<Result<Vec<_>, _>>()?);
    if options.ideal {
        return dealt::one::<S, E>(&plan, options.committee.seed, &options.world(placement, costs));
    }
    let experiment = experiment::<S>(options, (&plan, &later), placement, costs)?;
    experiment.run::<E>(Algorithm::Tight)
}

/// Read or measured, which takes a while: by then all that can be wrong with the options is found.
fn costs(options: &Options) -> Result<Costs, Failure> {
    let costs = options.costs.as_deref().map(|file| {
        let text = std::fs::read(file).map_err(|error| named(file, error))?;
        serde_json::from_slice(&text).map_err(|error| named(file, error))
    });
    let costs = costs.transpose()?;
    output::folder(&options.out)?;
    costs.map_or_else(Costs::measure, Ok)
}

fn experiment<S: Priced>(
    options: &Options,
    (plan, later): (&Plan, &[Plan]),
    placement: Option<Placement>,
    costs: Costs,
) -> Result<Experiment<S>, Failure> {
    let every = options.changes.every(options.slots);
    let ground = Ground::new(plan, options.committee.seed)
        .and_then(|ground| ground.followed_by(later, every))
        .map_err(Failure::bad_input)?;
    let World { prices, network, cores, seed, slots } = options.world(placement, costs);
    Ok(Experiment { ground: Arc::new(ground), prices, network, cores, seed, slots })
}

fn print_table(runs: &[Run]) {
    let waits: Vec<_> = runs.iter().map(|run| (run.name, &run.outcome.waits)).collect();
    say!("{}", waits::table(&waits));
    say!("longest: the longest wait of any party for a slot (Definition 12), a mean over slots");
    say!("the paper's mean on mainnet: {PAPER_SLOW_MS} ms slow, {PAPER_FAST_MS} ms fast");
    for Run { outcome: fast, .. } in runs.iter().filter(|run| run.key == "fast") {
        say!(
            "with both paths {} of {} values came by the fast one",
            fast.by_fast_path,
            fast.waits.count()
        );
        let before = if fast.epochs.is_empty() { "with dealt keys" } else { "of key generation" };
        say!(
            "first value after {} s {before}; a slot took {} ms",
            fast.first_value.as_secs(),
            milliseconds(fast.slot_time)
        );
        for (epoch, first) in fast.epochs.iter().skip(1) {
            say!("with both paths {epoch} began with slot {}", first.get());
        }
    }
    for Run { name, outcome, .. } in runs {
        let ::prefinal_beacon::Foresights { guessed, right } = outcome.foresights;
        say!("{name}: who would suffice was foreseen in {right} of {guessed} combinations");
    }
}

/// Writes what computing was charged, in the form in which it is read again.
fn write_costs(file: &std::path::Path, costs: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_vec_pretty(costs).map_err(Failure::bad_input)?;
    Sink::open(file)?.write(&text)
}

/// A field of a table in microseconds; empty where nothing was measured.
fn microseconds(span: Option<Duration>) -> String {
    span.map_or_else(String::new, |span| span.as_micros().to_string())
}

fn write(options: &Options, costs: Costs, runs: &[Run]) -> Result<(), Failure> {
    let folder = &options.out;
    let (csv, svg, json) =
        (folder.join("waits.csv"), folder.join("waits.svg"), folder.join("costs.json"));
    let mut writer = csv::Writer::from_path(&csv).map_err(|error| named(&csv, error))?;
    let mut record =
        |fields: [&str; 5]| writer.write_record(fields).map_err(|error| named(&csv, error));
    record(["run", "slot", "party", "path", "wait_us"])?;
    for run in runs {
        for row in &run.outcome.rows {
            let wait = row.wait.as_micros().to_string();
            let (slot, party) = (row.slot.get().to_string(), row.party.get().to_string());
            record([run.key, &slot, &party, &row.path.to_string(), &wait])?;
        }
    }
    writer.flush().map_err(|error| named(&csv, error))?;
    let title = "Wait between finality and value";
    let paths: Vec<_> = runs.iter().map(|run| (run.name, &run.outcome.waits)).collect();
    waits::plot(&svg, title, &paths)?;
    write_costs(&json, &costs)?;
    let [slots, timeline] = global::write(folder, runs)?;
    let written = [csv, svg, slots, timeline, json].map(|file| file.display().to_string());
    say!("written: {}", written.join(", "));
    Ok(())
}
