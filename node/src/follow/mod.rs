//! `prefinal follow`: a full node of a running devnet, that verifies everything.
//!
//! ```text
//!  peers ──► link, one each ──► Follower ──► jobs: verify, execute or apply, store ──► state, durable
//!    ▲  HTTP: POST /sync           ▲  │                     │                            │
//!    └─────────────────────────────┼──┘                     │                            ▼
//!                                  └────────── verdicts ────┘            the same doors, for others (`--http`)
//! ```
//! | module   | what it does                                                     |
//! |----------|------------------------------------------------------------------|
//! | `begin`  | what is trusted, and how the chain begins                        |
//! | `client` | requests over HTTP, bounded in time, bytes and number            |
//! | `doors`  | what is served of what it has                                    |
//! | `home`   | what outlives the process, beside the state                      |
//! | `jobs`   | runs a follower's jobs, also those of a party that was away      |
//! | `node`   | runs the [`Follower`](prefinal_sync::Follower)                   |
//! | `report` | how it gets on, for people                                       |
//!
//! A peer that does not answer, or late, is asked less; one whose answer is false is banned. None of them is believed.
//! What is believed is the waypoint: that is given by `--waypoint`, or a peer is asked for it, and this is said.
mod begin;
mod client;
mod doors;
mod home;
pub(crate) mod jobs;
mod node;
mod report;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use prefinal_lab::Failure;
use prefinal_light::{LightObject, Waypoint};
use prefinal_state::transfers::Transfers;
use prefinal_sync::{Config, Keep, Replay};

use self::begin::Trusted;
use self::client::{Client, PeerUrl};
use self::home::Home;
use crate::execution::NamedExecutor;
use crate::http::{self, Limits};
use crate::interrupt::Interrupts;

/// How long the store may take to end what it does.
const CLOSING: Duration = Duration::from_secs(10);

/// In mode `snapshot` a state is fetched whole if it is so many blocks ahead.
const SNAPSHOT_BEYOND: u64 = 10;

/// A limit of fewer blocks would never be kept.
const LEAST_KEPT: u64 = Keep::FLOOR + Keep::STEP;

/// What is followed, and how.
#[derive(Args, Debug)]
pub struct Options {
    /// Nodes to follow, separated by commas, as http://HOST:PORT
    #[arg(value_name = "URL", value_delimiter = ',', required = true)]
    urls: Vec<PeerUrl>,
    /// The waypoint to trust, in hex, as the operator of the chain shows it [default: a peer is asked for it, and
    /// its answer is trusted]
    #[arg(long, value_name = "HEX", value_parser = waypoint)]
    waypoint: Option<Waypoint>,
    /// How the state behind each block is reached
    #[arg(long, default_value = "deltas")]
    mode: Mode,
    /// Keep the state in this folder, and go on where it ends
    #[arg(long, value_name = "DIR", default_value = "prefinal-follow")]
    home: PathBuf,
    /// Keep the last N blocks with their states, and forget those before [default: all are kept]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(LEAST_KEPT..))]
    keep_blocks: Option<u64>,
    /// Keep as many of the last blocks as have so many megabytes, but 32 at least. The state at the tip and the file's
    /// free pages come on top [default: all are kept]
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..))]
    keep_mb: Option<u64>,
    /// Stop when this height is reached [default: follow until Ctrl-C]
    #[arg(long, value_name = "HEIGHT")]
    to: Option<u64>,
    /// Serve what it has, as a devnet does
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:8788",
          value_parser = http::address)]
    http: Option<SocketAddr>,
    /// What clients may take
    #[command(flatten)]
    limits: Limits,
}

/// How the state behind each block is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Every block is executed here
    Execute,
    /// What each block changes is fetched and applied
    Deltas,
    /// A state is fetched whole if it is far ahead, then deltas
    Snapshot,
}

impl Mode {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Execute => "execute",
            Self::Deltas => "deltas",
            Self::Snapshot => "snapshot",
        }
    }
}

impl Options {
    fn config(&self, trusted: &Trusted) -> Result<Config, Failure> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)
            .map_err(|error| Failure::bad_input(format_args!("no randomness: {error}")))?;
        let replay = if self.mode == Mode::Execute { Replay::Execute } else { Replay::Deltas };
        let snapshot_beyond = (self.mode == Mode::Snapshot).then_some(SNAPSHOT_BEYOND);
        let beacon = Some(trusted.beginning.beacon.verifier());
        let bytes = self.keep_mb.map(|most| most.saturating_mul(1_000_000));
        let keep = Keep { blocks: self.keep_blocks, bytes, ..Keep::default() };
        Ok(Config { snapshot_beyond, beacon, keep, ..Config::new(replay, seed) })
    }
}

fn waypoint(text: &str) -> Result<Waypoint, String> {
    let bytes = hex::decode(text.trim()).map_err(|error| error.to_string())?;
    Waypoint::from_wire(&bytes).map_err(|error| error.to_string())
}

/// Follows the chain until it is interrupted, or at the height that it is to stop at.
///
/// # Errors
/// If the home cannot be used, no peer shows a chain that the waypoint's committee has certified, or all of them lie.
pub fn run(options: &Options) -> Result<(), Failure> {
    // Those that compute, and one that waits for the disk.
    let threads = std::thread::available_parallelism().map_or(1, usize::from).saturating_add(1);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(threads)
        .enable_all()
        .build()
        .map_err(|error| Failure::bad_input(format_args!("no thread pool: {error}")))?;
    let ended = runtime.block_on(follow(options));
    runtime.shutdown_timeout(CLOSING);
    ended
}

async fn follow(options: &Options) -> Result<(), Failure> {
    let mut interrupts = Interrupts::listen().map_err(Failure::bad_input)?;
    let clients: Vec<Client> = options.urls.iter().cloned().map(Client::new).collect();
    let home = Home::open(&options.home)?;
    let trusted = tokio::select! {
        trusted = begin::begin(&home, &clients, options.waypoint) => trusted?,
        () = interrupts.next() => {
            say!("interrupted");
            return Ok(());
        }
    };
    let site = node::Site { options, home, clients, trusted, interrupts };
    match site.trusted.beginning.executor.as_str() {
        <Transfers as NamedExecutor>::NAME => node::run::<Transfers>(site).await,
        #[cfg(feature = "evm")]
        <prefinal_state::evm::Evm as NamedExecutor>::NAME => {
            node::run::<prefinal_state::evm::Evm>(site).await
        }
        other => Err(Failure::bad_input(format_args!(
            "blocks of this chain are executed by {other}, which this build does not have: the EVM needs \
             `--features evm`"
        ))),
    }
}
