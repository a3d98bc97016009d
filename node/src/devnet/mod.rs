//! `prefinal devnet`: a committee in one process, in real time.
//!
//! Parties talk over the links of validators ([`prefinal_net`]) on the loopback, delayed by the distance between
//! their regions; pairings run on one thread pool. The committee rounds its stake, makes its key, and reveals one
//! value per slot. At the end every value of every party is compared, and checked once more from
//! public data by code that shares nothing with what computed it.
//!
//! With `--http` slots come at their times, and their values are served ([`crate::http`]).
//!
//! | module           | what it does                                          |
//! |------------------|-------------------------------------------------------|
//! | [`crate::party`] | runs one validator on its links                       |
//! | `ledger`         | collects what the run showed                          |
//! | `pulse`          | notices a run that stands still                       |
//! | `served`         | serves the values                                     |
//! | `start`          | brings up the parties, and those that were away         |
//! | `soak`           | watches the memory of a long run                      |

mod ledger;
mod pulse;
mod served;
pub mod soak;
mod start;
#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use prefinal_crypto_core::access::Party;
use prefinal_sim::Placement;
use sha2::{Digest, Sha256};
use tokio::time::Instant as Clock;

use self::ledger::Ledger;
use self::served::Served;
use self::start::{Committee, Durable, cores, start};
use crate::changes::Changes;
use crate::choice::choice;
use crate::committee::{CommitteeOptions, Parties};
use crate::execution::{
    ExecuteOptions, ExecutedChain, ExecutorName, NamedExecutor, Site, Workload,
};
use crate::http::HttpOptions;
use crate::interrupt::Interrupts;
use crate::journal::{JournalFolder, Journals};
use crate::memory;
use crate::output::{self, Sink};
use crate::party::PartyEvent;
use prefinal_lab::Failure;
use prefinal_registry::chronicle::Chronicle;
use prefinal_registry::{NamedEngine, engine};
use prefinal_registry::{NamedScheme, scheme};
use prefinal_state::transfers::Transfers;
use prefinal_validator::Event;
use prefinal_validator::fixed::FixedCommittees;
use prefinal_validator::keygen::Progress;
use prefinal_validator::setup::{self, Algorithm, FIRST, Identity, Plan, Setup};

/// How long parties may take to close their journals.
const CLOSING: Duration = Duration::from_secs(10);

/// No progress for so long, and for some slots, means that the committee is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many of these slots there are beside those between the keys and the first value.
const SPARE_SLOTS: u64 = 4;

/// How many parties a run has by default.
const PARTIES: usize = 16;

/// How many slots a run has by default.
const SLOTS: u64 = 30;

/// How long proposers wait where slots would outrun jobs.
const REST: Duration = Duration::from_millis(100);

/// What a devnet is asked for.
#[derive(Args, Debug)]
pub struct Options {
    #[command(flatten)]
    committee: CommitteeOptions,
    #[command(flatten)]
    changes: Changes,
    /// How many of the table's largest holders take part [default: 16, or all if there are fewer]
    #[arg(long)]
    parties: Option<usize>,
    /// How many slots get a value before the devnet ends [default: 30 an epoch, or no end with --http]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    slots: Option<u64>,
    /// Which algorithm reveals
    #[arg(long, value_parser = choice::<Algorithm>(), default_value = "fast")]
    path: Algorithm,
    /// What the committee evaluates
    #[arg(long, value_parser = choice::<scheme::Name>(), default_value = "bls")]
    scheme: scheme::Name,
    /// Which consensus orders the blocks
    #[arg(long, value_parser = choice::<engine::Name>(), default_value = "jolteon")]
    engine: engine::Name,
    /// Keep the parties' journals in this folder, and go on where those that are there end: with the
    /// same options, for as many slots again. With --http the values are kept as well, and served
    #[arg(long, value_name = "FOLDER")]
    journal: Option<PathBuf>,
    /// Write the values with what it takes to verify them to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Leave these parties out of this run, separated by commas, as if they were down. A later run with the same
    /// --journal has them back, behind the others
    #[arg(long, value_name = "PARTY", value_delimiter = ',', requires = "journal",
          value_parser = clap::value_parser!(u32).range(1..))]
    away: Vec<u32>,
    #[command(flatten)]
    execute: ExecuteOptions,
    #[command(flatten)]
    http: HttpOptions,
}

impl Options {
    /// How many slots there are; `None` if there is no end.
    fn slots(&self) -> Option<u64> {
        self.slots.or_else(|| self.http.http.is_none().then_some(self.usual()))
    }

    /// The parties that are left out of this run.
    fn away(&self, parties: &[Party]) -> Result<BTreeSet<Party>, Failure> {
        let away: BTreeSet<Party> = self.away.iter().copied().map(Party::new).collect();
        match away.iter().find(|party| !parties.contains(party)) {
            Some(party) => Err(Failure::bad_input(format_args!(
                "--away {}: the parties have numbers from 0 to {}",
                party.get(),
                parties.len().saturating_sub(1)
            ))),
            None => Ok(away),
        }
    }

    /// How many slots a run has if nobody says so.
    fn usual(&self) -> u64 {
        SLOTS.saturating_mul(self.changes.epochs().into())
    }
}

/// Runs the devnet.
///
/// # Errors
/// If the input is bad, the parties disagree, a value does not verify, or the committee is stuck.
pub fn run(options: &Options) -> Result<(), Failure> {
    prefinal_registry::types!(options.scheme, options.engine, S, E => run_with::<S, E>(options))
}

fn run_with<S: NamedScheme, E: NamedEngine>(options: &Options) -> Result<(), Failure> {
    // The archive of values holds signatures, so a later run could serve none of the values before it.
    if S::NAME == scheme::Name::Wvuf && options.http.http.is_some() && options.journal.is_some() {
        let why = "--http with --scheme wvuf keeps no values for later runs: leave out --journal";
        return Err(Failure::bad_input(why));
    }
    let out = options.out.as_deref().map(Sink::open).transpose()?;
    let parties = Parties::of(options.parties, PARTIES);
    let (plan, later, placement) =
        options.committee.gather_all(parties, options.path, &options.changes)?;
    let (mut setup, identities) =
        setup::found(&plan, options.committee.seed).map_err(Failure::bad_input)?;
    let shelf = shelf(options, &plan, &later)?;
    // The first half of the first epoch's slots shows what the fast path is compared with.
    let slots = options.slots().unwrap_or_else(|| options.usual());
    setup.fast_after = slots / u64::from(options.changes.epochs()) / 2;
    if options.http.http.is_some() {
        setup.pace.period = Duration::from_secs(options.http.period.get().into());
    } else if E::OUTRUNS_JOBS || options.execute.execute.is_some() {
        setup.pace.pause = REST;
        setup.lead = setup.lead.saturating_mul(4);
    }
    let setup =
        FixedCommittees::chain(setup, &later, identities.iter(), options.changes.every(slots))
            .map_err(Failure::bad_input)?;
    let founded = Founded { setup: Arc::new(setup), identities, later, placement, shelf };
    match options.execute.execute {
        None => run_work::<S, E, ()>(options, founded, (), out),
        Some(ExecutorName::Transfers) => run_executed::<S, E, Transfers>(options, founded, out),
        #[cfg(feature = "evm")]
        Some(ExecutorName::Evm) => {
            run_executed::<S, E, prefinal_state::evm::Evm>(options, founded, out)
        }
        #[cfg(not(feature = "evm"))]
        Some(ExecutorName::Evm) => {
            Err(Failure::bad_input("this build has no EVM: build it with `--features evm`"))
        }
    }
}

/// A committee that is founded, and where it is.
struct Founded {
    setup: Arc<Setup>,
    identities: Vec<Identity>,
    later: Vec<Plan>,
    placement: Option<Placement>,
    shelf: JournalFolder,
}

fn run_executed<S: NamedScheme, E: NamedEngine, X: NamedExecutor>(
    options: &Options,
    founded: Founded,
    out: Option<Sink>,
) -> Result<(), Failure> {
    let site = Site {
        setup: &founded.setup,
        quorum: E::QUORUM,
        tells_proposals: E::TELLS_PROPOSALS,
        folder: options.journal.clone(),
        seed: options.committee.seed,
    };
    let chain = ExecutedChain::<X>::open(site, options.execute.load)?;
    run_work::<S, E, _>(options, founded, chain, out)
}

fn run_work<S: NamedScheme, E: NamedEngine, W: Workload>(
    options: &Options,
    founded: Founded,
    mut work: W,
    out: Option<Sink>,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(cores().saturating_add(work.threads()))
        .enable_all()
        .build()
        .map_err(|error| Failure::bad_input(format_args!("no thread pool: {error}")))?;
    let ledger = runtime.block_on(watch::<S, E, W>(options, founded, &mut work))?;
    // Tasks that still sleep are of no interest any more, unless they have a journal to close.
    let patience = options.journal.as_ref().map_or(Duration::ZERO, |_| CLOSING);
    runtime.shutdown_timeout(patience);
    ledger.print_summary();
    work.print_summary();
    let chronicles = ledger.settle()?;
    let (Some(out), Some(file)) = (out, &options.out) else { return Ok(()) };
    write(&chronicles, out, file)
}

/// The values of the first key go to `out`, those of each further key to another file beside it.
fn write(chronicles: &[Chronicle], out: Sink, file: &Path) -> Result<(), Failure> {
    let Some((first, others)) = chronicles.split_first() else {
        let why = "the run was ended before there was a key".to_owned();
        return Err(Failure::Disagreement(why));
    };
    out.write(&first.to_json().map_err(Failure::bad_input)?)?;
    let mut files = vec![file.to_path_buf()];
    for (number, chronicle) in (2..).zip(others) {
        let file = file.with_extension(format!("{number}.json"));
        Sink::open(&file)?.write(&chronicle.to_json().map_err(Failure::bad_input)?)?;
        files.push(file);
    }
    for file in files {
        say!("written to {}; check it with: prefinal verify {0}", file.display());
    }
    Ok(())
}

/// Starts everybody and watches until every party has revealed the last slot, or until it is interrupted.
async fn watch<S: NamedScheme, E: NamedEngine, W: Workload>(
    options: &Options,
    founded: Founded,
    work: &mut W,
) -> Result<Ledger<S>, Failure> {
    let Founded { setup, identities, later, placement, shelf } = founded;
    let mut interrupts = Interrupts::listen().map_err(Failure::bad_input)?;
    let parties: Vec<Party> = identities.iter().map(|identity| identity.me).collect();
    let away = options.away(&parties)?;
    let journals = shelf.journals(&parties).map_err(Failure::bad_input)?;
    let followers = if S::NAME == scheme::Name::Wvuf { None } else { work.followers() };
    let routes = work.wallets().map(|wallets| wallets.merge(followers.unwrap_or_default()));
    let kept = (&shelf, journals.used);
    let served = Served::open::<S>(&options.http, &setup, &later, kept, routes).await?;
    let Journals { of_parties: journals, used } = journals;
    if let Some(values) = work.values() {
        served.keep_past(&values);
    }
    let (archive, vuf) = (served.archive(), served.vuf());
    let durable = Durable { shelf, journals, used, archive, vuf };
    let mut ledger = Ledger::new(&setup, options.slots(), &later).without(away.len());
    work.without(away.len());
    let committee = Committee { setup, identities, placement, durable, away, time: served.time() };
    let mut run = start::<S, E, W>(committee, memory::shares::<E>(parties.len()), work).await?;
    let progress = KeyProgress::new();
    loop {
        let deadline = run.pulse.deadline();
        let next = tokio::select! {
            next = tokio::time::timeout_at(deadline, run.noticed.recv()) => next,
            Some(told) = run.told.recv() => {
                work.take(told)?.into_iter().for_each(|line| say!("{line}"));
                continue;
            }
            Some(back) = run.back.recv() => {
                run.seat::<W>(back, work)?;
                continue;
            }
            () = interrupts.next() => {
                progress.finish();
                say!("interrupted");
                return Ok(ledger);
            }
        };
        if let Ok(Some(noticed)) = next {
            progress.show(&noticed);
            served.post::<S>(&noticed.event);
            tell_key(work, &noticed.event);
            run.pulse.notice(Clock::now(), &noticed);
            if let Some(shown) = ledger.take(noticed) {
                run.pulse.show(Clock::now(), shown.slot.get());
                say!("{}", ledger.line(&shown));
                served.show(&shown);
            }
        }
        // After a fault the run has failed; who stopped for it would be waited for without an end. And a run
        // that nobody looks at any more, with a reader that went away, is over.
        if ledger.is_complete() || ledger.has_faults() || output::is_closed() {
            return Ok(ledger);
        }
        if let Some(why) = run.stuck(Clock::now()) {
            progress.finish();
            ledger.print_summary();
            return Err(Failure::Disagreement(why));
        }
    }
}

/// Tells the key of the first committee, once there is one.
fn tell_key<S: NamedScheme>(work: &impl Workload, event: &Event<S>) {
    if let Event::Ready { epoch: FIRST, first_slot, committees } = event
        && let Some(key) = S::public_key(&committees.slow)
    {
        work.ready(&key, *first_slot);
    }
}

/// Where the journals are, and whose they are.
fn shelf(options: &Options, plan: &Plan, later: &[Plan]) -> Result<JournalFolder, Failure> {
    if let Some(folder) = &options.journal {
        std::fs::create_dir_all(folder).map_err(|error| unusable(folder, &error))?;
    }
    let shape = &plan.shape;
    let fast = shape.threshold(prefinal_pvss_dkg::SharePath::Fast);
    let table = format!("{:?}", (&plan.stakes, shape.weights(), shape.slow(), fast));
    let table = hex::encode(Sha256::digest(table)).chars().take(16).collect::<String>();
    let Options { path, scheme, engine, .. } = options;
    let seed = options.committee.seed;
    let mut committee =
        format!("seed {seed}, table {table}, {path:?} path, {scheme:?}, {engine:?}");
    if !later.is_empty() {
        let plans: Vec<_> = later.iter().map(|plan| (&plan.stakes, plan.shape.weights())).collect();
        let every = options.changes.every(options.slots().unwrap_or_else(|| options.usual()));
        let plans = hex::encode(Sha256::digest(format!("{plans:?}")));
        let plans = plans.chars().take(16).collect::<String>();
        committee += &format!(", then {plans} every {every} slots");
    }
    if let Some(execute) = options.execute.execute {
        committee += &format!(", executes {execute:?}");
    }
    if options.http.http.is_some() {
        // A served chain says in its name when its rounds are due.
        committee += &format!(", served each {} s", options.http.period);
    }
    Ok(JournalFolder::new(options.journal.clone(), committee))
}

fn unusable(folder: &std::path::Path, error: &std::io::Error) -> Failure {
    let folder = folder.display();
    Failure::bad_input(format_args!(
        "--journal {folder}: {error}; name a folder that can be written"
    ))
}

/// The bar while the key is made.
struct KeyProgress {
    bar: ProgressBar,
    watched: Party,
}

impl KeyProgress {
    /// Follows the first party; the others are at the same point a little earlier or later.
    fn new() -> Self {
        let bar = ProgressBar::new(100);
        let style = ProgressStyle::with_template("key generation {bar:10} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        bar.set_message("parties deal");
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, watched: Party::new(0) }
    }

    fn show<S: NamedScheme>(&self, noticed: &PartyEvent<S>) {
        if noticed.by != self.watched {
            return;
        }
        match &noticed.event {
            Event::Dealing {
                epoch: FIRST,
                dealings,
                progress: Progress::Collecting { got, need },
            } => {
                self.bar.set_position(percent(got.get(), need.get()).min(100));
                self.bar.set_message(format!("dealings that count: {dealings}"));
            }
            Event::Dealing { epoch: FIRST, dealings, progress: Progress::Qualified } => {
                self.bar.set_position(100);
                self.bar.set_message(format!(
                    "{dealings} dealings make the key, parties open their shares"
                ));
            }
            Event::Ready { epoch: FIRST, first_slot, .. } => {
                self.finish();
                say!("key generation: done, first value in slot {}", first_slot.get());
            }
            _ => {}
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// How much of what is needed is there.
fn percent(got: u128, needed: u128) -> u64 {
    let whole = got.saturating_mul(100) / needed.max(1);
    u64::try_from(whole).unwrap_or(100)
}
