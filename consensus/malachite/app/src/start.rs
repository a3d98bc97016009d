//! The steps of a start, and the tasks around a running engine.
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use malachitebft_app_channel::app::types::Keypair;
use malachitebft_app_channel::app::types::codec::Codec as _;
use malachitebft_app_channel::{AppMsg, NetworkIdentity};
use prefinal_malachite::{Address, Block, BlockId, Height, Tendermint, timeouts};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::app::{State, Status};
use crate::codec::{WireCodec, WireLimits};
use crate::committees::Committees;
use crate::engine::{Engine, Parts};
use crate::error::{Exit, StartError};
use crate::finish::Finisher;
use crate::host::Host;
use crate::keys::{Keys, Proposals};
use crate::options::Options;
use crate::serve::Server;
use crate::store::{Store, StoreError};

/// What the key on the network is derived for.
const PEER_KEY: &[u8] = b"libp2p";
/// How long a log may stay locked after its last use.
const UNLOCKING: Duration = Duration::from_secs(2);

/// Malachite, started, with nobody to answer it.
pub(crate) struct Launched {
    pub(crate) engine: Engine,
    inbox: mpsc::Receiver<AppMsg<Tendermint>>,
    /// This party's precommits that have left.
    votes: mpsc::UnboundedReceiver<(Height, BlockId)>,
    /// Blocks whose proposals are signed.
    proposals: mpsc::Receiver<Block>,
    committees: Committees,
}

/// What is left to hold of an engine with its tasks.
pub(crate) struct Attended {
    pub(crate) status: watch::Receiver<Status>,
    pub(crate) exit: watch::Receiver<Option<Exit>>,
    /// Told when Malachite listens.
    pub(crate) ready: oneshot::Receiver<()>,
    pub(crate) stop: oneshot::Sender<()>,
    pub(crate) task: JoinHandle<()>,
}

/// Starts Malachite.
pub(crate) async fn launch(options: &Options, address: SocketAddr) -> Result<Launched, StartError> {
    let me = Address::new(options.me);
    let committees = Committees::default();
    let (voted, votes) = mpsc::unbounded_channel();
    let codec = WireCodec::new(WireLimits::of(options)).reporting(me, voted);
    let (proposals, proposed) = Proposals::new();
    let log = options.home.join("consensus.wal");
    unlocked(&log).await;
    let parts = Parts {
        me,
        identity: identity(options, &codec)?,
        keys: Keys { key: options.key.clone(), committees: committees.clone(), proposals },
        codec,
        log: &log,
        consensus: options.consensus(address),
        sync: options.sync(),
    };
    let (engine, inbox) = Engine::start(parts).await.map_err(StartError::Engine)?;
    Ok(Launched { engine, inbox, votes, proposals: proposed, committees })
}

/// Starts the tasks that answer Malachite, finish heights, and watch both.
pub(crate) fn attend<H: Host>(
    launched: Launched,
    options: &Options,
    host: H,
    store: Store,
) -> Attended {
    let Launched { engine, inbox, votes, proposals, committees } = launched;
    let host = Arc::new(host);
    let starting = Status { height: None, round: 0, state: State::Starting };
    let (status_sender, status) = watch::channel(starting);
    let (steps_sender, steps) = mpsc::unbounded_channel();
    let (ready_sender, ready) = oneshot::channel();
    let fetched = Arc::new(AtomicU64::new(0));
    let server = Server {
        host: Arc::clone(&host),
        me: Address::new(options.me),
        max_block_bytes: options.max_block_bytes,
        store: store.clone(),
        steps: steps_sender,
        status: status_sender,
        fetched: Arc::clone(&fetched),
        ready: Some(ready_sender),
    };
    let finisher = Finisher {
        host,
        me: options.me,
        key: options.key.clone(),
        store: store.clone(),
        committees,
        consensus: engine.consensus.clone(),
        timeouts: timeouts(options.timeout),
        pace: options.pace,
        fetched,
        begun: Instant::now(),
    };
    let serving = tokio::spawn(server.run(inbox, votes, proposals));
    let finishing = tokio::spawn(finisher.run(steps));
    let watched = Watched { engine, serving, finishing, store };
    let (stop, stopped) = oneshot::channel();
    let (exit_sender, exit) = watch::channel(None);
    let task = tokio::spawn(async move {
        let reason = watched.run(stopped).await;
        exit_sender.send_replace(Some(reason));
    });
    Attended { status, exit, ready, stop, task }
}

/// The engine with the tasks around it.
struct Watched {
    engine: Engine,
    serving: JoinHandle<()>,
    finishing: JoinHandle<Result<(), Exit>>,
    store: Store,
}

impl Watched {
    /// Waits for the end, and cleans up.
    async fn run(mut self, stopped: oneshot::Receiver<()>) -> Exit {
        let reason = tokio::select! {
            // Also if the handle is dropped.
            _ = stopped => Some(Exit::Stopped),
            () = self.engine.ended() => Some(Exit::Ended),
            served = &mut self.serving => match served {
                Ok(()) => None,
                Err(error) => Some(Exit::Host(error.to_string())),
            },
            finished = &mut self.finishing => match finished {
                Ok(Ok(()) | Err(Exit::Ended)) => None,
                Ok(Err(reason)) => Some(reason),
                Err(error) => Some(Exit::Host(error.to_string())),
            },
        };
        // Nobody is there to talk to any more before the supervisor ends, or while it stays to be looked at.
        let reason = match reason {
            Some(reason) => reason,
            None => match tokio::time::timeout(Duration::from_secs(1), self.engine.ended()).await {
                Ok(()) => Exit::Ended,
                Err(_) => Exit::Unsafe,
            },
        };
        if reason != Exit::Stopped {
            tracing::error!(%reason, "the engine has ended");
        }
        self.engine.stop().await;
        // A task that has ended was waited for above.
        if !self.serving.is_finished() {
            self.serving.abort();
            let _ = self.serving.await;
        }
        if !self.finishing.is_finished() {
            self.finishing.abort();
            let _ = self.finishing.await;
        }
        self.store.close();
        reason
    }
}

/// Hands the blocks to the host that it does not have.
pub(crate) async fn repeat<H: Host>(host: &H, store: &Store) -> Result<(), StartError> {
    let (held, last) = (host.last(), store.last()?);
    if let Some(held) = held.filter(|held| last.is_none_or(|last| last < *held)) {
        return Err(StartError::Behind { host: held, store: last });
    }
    let mut next = held.map_or(Height::new(1), Height::next);
    while last.is_some_and(|last| next <= last) {
        let decision = store.get(next)?;
        let missing = StoreError::Record { height: next };
        host.finalized(&decision.ok_or(missing)?.block).await;
        next = next.next();
    }
    Ok(())
}

/// The address with a port that is free.
///
/// Malachite says in its log only that it cannot listen, and does not name a port that it was given.
pub(crate) fn free(address: SocketAddr) -> Result<SocketAddr, StartError> {
    let listener = TcpListener::bind(address);
    let bound = listener.and_then(|listener| listener.local_addr());
    bound.map_err(|cause| StartError::Listen { address, cause })
}

/// Waits until the log is unlocked: its thread ends a moment after Malachite.
async fn unlocked(log: &Path) {
    let until = Instant::now() + UNLOCKING;
    while let Ok(file) = fs::File::open(log) {
        if file.try_lock().is_ok() || Instant::now() > until {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn identity(options: &Options, codec: &WireCodec) -> Result<NetworkIdentity, StartError> {
    let wrong = |error: &dyn std::fmt::Display| StartError::Engine(error.to_string());
    let mut seed = options.key.derive(PEER_KEY);
    // It wipes the seed.
    let keypair = Keypair::ed25519_from_bytes(&mut seed).map_err(|error| wrong(&error))?;
    let peer = keypair.public().to_peer_id();
    let proof = codec.encode(&options.key.prove_peer(&peer.to_bytes()));
    let proof = proof.map_err(|error| wrong(&error))?;
    let name = options.me.to_string();
    let address = Address::new(options.me).to_string();
    Ok(NetworkIdentity::new_validator(name, keypair, address, proof))
}
