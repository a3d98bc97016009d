//! `prefinal run`: one validator as a process, on Malachite's engine as published, or beside an engine in another
//! process that calls its [sidecar](prefinal_sidecar).
//!
//! ```text
//!  Malachite's engine ─► host ─► driver ─► participant     links ◄─► other validators
//!  (its own network,      ▲        │                         ▲
//!   log and sync)         │     effects ─────────────────────┤
//!                    mempool ◄─────┤                         └─ late partials, transactions, missed values
//!                                  └─► archive, HTTP, metrics, sidecar
//! ```
//! | module     | what it does                                                          |
//! |------------|-----------------------------------------------------------------------|
//! | `home`     | where the journal and the values are                                  |
//! | `host`     | what the chain does with the engine's events                          |
//! | `execution` | executes blocks and certifies their states, if the chain does         |
//! | `gate`     | keeps early partials back until their vote has left                   |
//! | `effects`  | carries out what the participant wants done                           |
//! | `links`    | beacon messages and transactions between validators                   |
//! | `members`  | who the others are, and where                                         |
//! | `mempool`  | transactions that wait for a block                                    |
//! | `state`    | what these share, and what an operator sees of it                     |
//! | `operator` | what an operator asks a running validator                             |
//! | `arrivals`, `metrics`, `journal`, `log`, `pages` | figures and logs for those who watch        |
//! | `commands`, `committee` | what `prefinal status`, `peers`, `export`, `switch` and `committee` do |
//!
//! The process ends with the first part that fails: a validator that does half of its work harms more than one
//! that is away.
mod arrivals;
pub mod commands;
pub mod committee;
mod effects;
mod execution;
mod gate;
pub(crate) mod home;
mod host;
mod journal;
mod links;
mod log;
mod members;
mod mempool;
mod metrics;
mod operator;
mod pages;
mod state;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::Args;
use prefinal_beacon::{Bls, Life, Slot};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::entropy::system_seed;
use prefinal_driver::{Driver, Receiver, Task};
use prefinal_engine::Quorum;
use prefinal_home::config::{LogFormat, SidecarCarry};
use prefinal_home::{Config, Home};
use prefinal_journal::Journal;
use prefinal_malachite::SecretKey;
use prefinal_malachite_app::App;
use prefinal_net::{LinkKey, Links, PeerKey};
use prefinal_protocol::Recipient;
use prefinal_sidecar::{Endpoint, Feed, Listener, PartialCarrier, Sidecar};
use prefinal_validator::participant::{Effect, Host};
use prefinal_validator::setup::{Identity, Setup};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use self::execution::{Beside, Opened, Running, Worker};
use self::host::ChainHost;
use self::journal::MeteredJournal;
use self::members::Members;
use self::mempool::Mempool;
use self::metrics::Metrics;
use self::state::Validator;
use crate::archive::Archive;
use crate::http::{Board, Server};
use crate::interrupt::Interrupts;
use prefinal_lab::Failure;

/// The socket for operators, in the home folder.
const SOCKET: &str = "operator.sock";
/// How often the participant's clock is looked at.
const TICK: Duration = Duration::from_millis(20);
/// How long a part may take to end.
const CLOSING: Duration = Duration::from_secs(10);

/// Which validator is run.
#[derive(Args, Debug)]
pub struct Options {
    /// The validator's home folder, as `prefinal init` or `prefinal testnet` made it
    #[arg(long, value_name = "DIR")]
    home: PathBuf,
}

/// Runs a validator until it is told to end (Ctrl-C, SIGTERM).
///
/// # Errors
/// If the home cannot be used, or a part of the validator fails.
pub fn run(options: &Options) -> Result<(), Failure> {
    let home = Home::open(&options.home).map_err(Failure::bad_input)?;
    let format = match home.config().log.format {
        LogFormat::Json => log::Format::Json,
        LogFormat::Text => log::Format::Text,
    };
    log::begin(home.config().log.filter.as_str(), format)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::bad_input)?;
    let ended = runtime.block_on(validate(home));
    runtime.shutdown_timeout(CLOSING);
    ended
}

async fn validate(mut home: Home) -> Result<(), Failure> {
    let mut interrupts = Interrupts::listen().map_err(Failure::bad_input)?;
    let mut reloads = signal(SignalKind::hangup()).map_err(Failure::bad_input)?;
    let mut process = Process::start(&home).await?;
    let validator = Arc::clone(&process.validator);
    let mut ended = validator.ended.subscribe();
    let why = loop {
        tokio::select! {
            () = interrupts.next() => break None,
            _ = reloads.recv() => process.reload(&mut home).await,
            () = validator.reload.notified() => process.reload(&mut home).await,
            exit = process.engine.exited() => break Some(exit),
            ended = ended.wait_for(Option::is_some) => {
                break ended.ok().and_then(|why| why.clone());
            }
            Some(ended) = process.tasks.join_next() => {
                let why = ended.err().map_or_else(|| "a part has ended".to_owned(), |why| why.to_string());
                validator.end(why);
            }
        }
    };
    process.stop().await;
    match why {
        None => {
            tracing::info!("stopped");
            Ok(())
        }
        Some(why) => {
            tracing::error!(why, "the validator ends");
            Err(Failure::bad_input(format_args!("the validator ends: {why}")))
        }
    }
}

/// The engine, where it runs.
enum Engine {
    /// Malachite's, in this process.
    Malachite(Box<App>),
    /// In another process, which calls this one.
    Outside(oneshot::Sender<()>),
}

impl Engine {
    /// Waits for its end. An engine outside comes and goes as it likes.
    async fn exited(&self) -> String {
        match self {
            Self::Malachite(app) => app.exited().await.to_string(),
            Self::Outside(_) => std::future::pending().await,
        }
    }

    async fn set_peers(&self, peers: Vec<SocketAddr>) {
        if let Self::Malachite(app) = self
            && let Err(why) = app.set_peers(peers).await
        {
            tracing::error!(%why, "peers of the engine");
        }
    }

    async fn stop(self) {
        match self {
            Self::Malachite(app) => {
                let stopped = tokio::time::timeout(CLOSING, app.stop()).await;
                if !matches!(stopped, Ok(Ok(()))) {
                    tracing::warn!(?stopped, "the engine did not end by itself");
                }
            }
            // The sidecar ends its streams, and what it answers.
            Self::Outside(stop) => drop(stop.send(())),
        }
    }
}

/// A validator that runs.
struct Process {
    validator: Arc<Validator>,
    members: Members,
    /// This validator's Ed25519 key.
    own: [u8; 32],
    engine: Engine,
    tasks: JoinSet<()>,
    socket: PathBuf,
}

impl Process {
    async fn start(home: &Home) -> Result<Self, Failure> {
        let me = home::party(home)?;
        let identity = Arc::new(home.identity(me));
        let metrics = Metrics::new();
        let opened = execution::open(home, &home::setup(home))?;
        let (driver, effects, archive) = beacon(home, &identity, &metrics, opened.as_ref())?;
        let members = Members::of(home)?;
        let (links, inbox) = start_links(home, &identity, &members).await?;
        let mut validator = assemble(home, me, (driver, links, archive), &members, metrics);
        let mut tasks = JoinSet::new();
        validator.execution = opened.as_ref().map(|opened| {
            opened.execution.tell_past(&validator.archive.past(), opened.last());
            Arc::clone(&opened.execution)
        });
        let validator = Arc::new(validator);
        if let Some(opened) = opened {
            tasks.spawn(execution::submit(Arc::clone(&validator), opened.submitted));
            let worker = Worker::new(Arc::clone(&validator), opened.execution, opened.pending);
            tasks.spawn_blocking(move || worker.run());
        }
        tasks.spawn(links::read(Arc::clone(&validator), inbox));
        let (sidecar, feed) = outside(home.config(), &validator, &mut tasks)?.unzip();
        tasks.spawn(effects::carry_out(Arc::clone(&validator), effects, feed));
        let clock = validator.driver.clone();
        // It comes back when the driver has stopped.
        tasks.spawn_blocking(move || drop(clock.run_clock(TICK)));
        let socket = home.folder().path().join(SOCKET);
        let operator = operator::serve(&socket, Arc::clone(&validator));
        let operator = operator
            .map_err(|error| Failure::bad_input(format_args!("{}: {error}", socket.display())))?;
        tasks.spawn(operator);
        if let Some(server) = http(home.config(), &validator).await? {
            tasks.spawn(server.run());
        }
        let own = home.keys().ed25519;
        let engine = match sidecar {
            Some(stop) => Engine::Outside(stop),
            None => {
                let peers = members.engines(&own).await;
                Engine::Malachite(Box::new(malachite(home, &identity, &validator, peers).await?))
            }
        };
        Ok(Self { validator, members, own, engine, tasks, socket })
    }

    /// Reads the configuration again, and uses what may change at run time: the peers' addresses.
    async fn reload(&mut self, home: &mut Home) {
        match self.members.reload(home) {
            Ok(reload) => {
                self.validator.set_members(&self.members).await;
                let peers = self.members.engines(&self.own).await;
                self.engine.set_peers(peers).await;
                tracing::info!(?reload, "configuration read again");
            }
            Err(why) => tracing::error!(%why, "configuration not read again"),
        }
    }

    /// First the engine, so that it votes no more; then what its last events led to.
    async fn stop(mut self) {
        self.engine.stop().await;
        if let Err(why) = self.validator.driver.shut_down() {
            tracing::warn!(%why, "the driver had stopped");
        }
        if let Some(execution) = &self.validator.execution {
            execution.stop();
        }
        drop(tokio::time::timeout(CLOSING, self.validator.links.close()).await);
        self.tasks.shutdown().await;
        drop(std::fs::remove_file(&self.socket));
    }
}

type Participating = (Driver<Running>, Receiver<Effect<Bls, Beside>>, Archive);

/// The participant behind its driver and its journal, and the values that it has revealed.
fn beacon(
    home: &Home,
    identity: &Arc<Identity>,
    metrics: &Metrics,
    opened: Option<&Opened>,
) -> Result<Participating, Failure> {
    let mut journal = home::open_journal(home)?;
    let records = journal.replay().map_err(|error| home::journal_failure(home, &error))?;
    // Nothing leaves without a record before it: where there is none, nothing has left.
    let life = if records.is_empty() {
        Life::First
    } else {
        let mut life = [0; 16];
        let drawn = system_seed().map_err(Failure::bad_input)?;
        life.iter_mut().zip(drawn.expose()).for_each(|(byte, drawn)| *byte = *drawn);
        Life::later(life)
    };
    drop(records);
    let archive = home::open_values(home)?;
    let kept = archive.newest().unwrap_or(Slot::new(0));
    let options = prefinal_driver::Options {
        read: Some(kept),
        read_beside: opened.map(Opened::last),
        ..prefinal_driver::Options::default()
    };
    // More than two thirds of the stake decide, and precommits of round 0 release.
    let host = Host::new(Quorum::BYZANTINE, Some(0));
    let host = if opened.is_some() { host } else { host.without_beside() };
    let setup = home::setup(home);
    let more =
        |records: &[_]| opened.map_or_else(Vec::new, |opened| opened.passed_over(&setup, records));
    let build = |records| Running::new(&setup, identity, life, records, host);
    let journal = MeteredJournal { journal, metrics: metrics.journal.clone() };
    let pool = tokio::runtime::Handle::current();
    let pool = move |task: Task| drop(pool.spawn_blocking(task));
    let (driver, effects) =
        Driver::start_behind(more, build, journal, pool, options).map_err(|error| {
            Failure::bad_input(format_args!("{}: {error}", home.folder().journal().display()))
        })?;
    Ok((driver, effects, archive))
}

async fn start_links(
    home: &Home,
    identity: &Identity,
    members: &Members,
) -> Result<(Links, prefinal_net::Inbox), Failure> {
    let (config, setup) = (&home.config().links, home.setup());
    let own = PeerKey::new(home.keys().ed25519);
    let key = LinkKey::new(identity.ed25519().expose(), own).map_err(Failure::bad_input)?;
    let options = prefinal_net::Options {
        me: identity.me,
        chain: setup.context.chain,
        version: links::VERSION,
        agent: links::AGENT.to_owned(),
        listen: config.listen,
        window: NonZeroU32::new(config.window).unwrap_or(NonZeroU32::MIN),
        streams: links::streams(setup.max_block_bytes, config),
    };
    let peers = members.peers([setup]).await;
    Links::start(key, options, peers).map_err(Failure::bad_input)
}

fn assemble(
    home: &Home,
    me: Party,
    (driver, links, archive): (Driver<Running>, Links, Archive),
    members: &Members,
    metrics: Metrics,
) -> Validator {
    let setup = home::setup(home);
    let period = period(&setup);
    let board = Board::new(archive.start(), period, *setup.context.chain.as_bytes());
    board.describe(&setup.keygen);
    Validator {
        driver,
        execution: None,
        links,
        gate: gate::Gate::default(),
        arrivals: arrivals::Arrivals::default(),
        mempool: Mempool::new(setup.max_block_bytes),
        metrics,
        board: Arc::new(board),
        archive,
        chain: home.genesis().name.to_string(),
        name: home.config().moniker.to_string(),
        me,
        names: members.names(&setup).into(),
        committees: std::sync::Mutex::new([(Slot::new(1), Arc::clone(&setup))].into()),
        setup,
        height: std::sync::atomic::AtomicU64::new(0),
        key: std::sync::OnceLock::new(),
        revealed: std::sync::Mutex::default(),
        finals: std::sync::Mutex::default(),
        reload: tokio::sync::Notify::new(),
        ended: watch::Sender::new(None),
    }
}

/// Whole seconds, as drand counts them: a faster chain is ahead of the rounds' times.
fn period(setup: &Setup) -> NonZeroU32 {
    let period = setup.pace.period;
    let seconds = period.as_secs().saturating_add(u64::from(period.subsec_nanos() > 0));
    u32::try_from(seconds).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN)
}

async fn http(config: &Config, validator: &Arc<Validator>) -> Result<Option<Server>, Failure> {
    let config = &config.http;
    let Some(address) = config.listen else { return Ok(None) };
    let limits = pages::limits(config);
    let routes = match config.metrics {
        true => pages::router(Arc::clone(validator)),
        false => axum::Router::new(),
    };
    let board = Arc::clone(&validator.board);
    let server = match &validator.execution {
        None => Server::open_beside(address, routes, board, &limits).await?,
        // Wallets and nodes that follow send bodies.
        Some(execution) => {
            let routes = routes.merge(execution.routes(&validator.setup));
            Server::open_with(address, None, routes, board, &limits).await?
        }
    };
    let address = server.address().map_err(Failure::bad_input)?;
    tracing::info!(%address, "serves values over HTTP");
    Ok(Some(server))
}

/// Lets an engine in another process call this one, if the configuration says so. Gives what ends it, and what it has
/// to be told.
fn outside(
    config: &Config,
    validator: &Arc<Validator>,
    tasks: &mut JoinSet<()>,
) -> Result<Option<(oneshot::Sender<()>, Feed)>, Failure> {
    let Some(listen) = &config.sidecar.listen else { return Ok(None) };
    let endpoint: Endpoint = listen.to_string().parse().map_err(Failure::bad_input)?;
    let mut options = prefinal_sidecar::Options::new(&validator.setup, Some(0));
    if config.sidecar.carry == SidecarCarry::Links {
        let sender = Arc::clone(validator);
        options.carry = PartialCarrier::Links(Arc::new(move |message| {
            links::send(&sender.links, Recipient::All, &message);
        }));
    }
    let (sidecar, feed) = Sidecar::new(validator.driver.clone(), &validator.setup, options)
        .map_err(Failure::bad_input)?;
    let listener = Listener::bind(&endpoint).map_err(Failure::bad_input)?;
    let (stop, stopped) = oneshot::channel();
    let served = Arc::clone(validator);
    tasks.spawn(async move {
        if let Err(why) = sidecar.serve(listener, async { drop(stopped.await) }).await {
            served.end(why);
        }
    });
    tracing::info!(%listen, "an engine in another process may call");
    Ok(Some((stop, feed)))
}

async fn malachite(
    home: &Home,
    identity: &Identity,
    validator: &Arc<Validator>,
    peers: Vec<SocketAddr>,
) -> Result<App, Failure> {
    let setup = home.setup();
    let start = home.genesis().time;
    let host = ChainHost {
        validator: Arc::clone(validator),
        start,
        period: setup.pace.period,
        evidence: home.folder().path().join("evidence"),
        tip: std::sync::Mutex::default(),
    };
    let key = SecretKey::from_seed(*identity.ed25519().expose());
    let folder = home.folder().engine();
    let options = prefinal_malachite_app::Options {
        listen: home.config().engine.listen,
        peers,
        max_block_bytes: setup.max_block_bytes,
        timeout: setup.timeout,
        ..prefinal_malachite_app::Options::new(setup.context.chain, identity.me, key, folder)
    };
    let late = SystemTime::now().duration_since(start).unwrap_or_default();
    tracing::info!(party = identity.me.get(), chain = validator.chain, ?late, "the engine starts");
    App::start(options, host).await.map_err(Failure::bad_input)
}
