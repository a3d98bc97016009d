//! The engine as the program holds it: started, watched, told of new peers, stopped.
use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use malachitebft_app_channel::NetworkIdentity;
use malachitebft_app_channel::app::engine::network::{
    NetworkMsg, NetworkRef, PersistentPeerError, PersistentPeersOp,
};
use malachitebft_app_channel::app::types::Keypair;
use malachitebft_app_channel::app::types::codec::Codec as _;
use prefinal_malachite::{Address, Height, Tendermint, timeouts};
use prefinal_protocol::Party;
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::codec::{WireCodec, WireLimits};
use crate::committees::Committees;
use crate::engine::{Engine, Parts};
use crate::error::{Exit, StartError};
use crate::finish::Finisher;
use crate::host::Host;
use crate::keys::Keys;
use crate::options::{Options, multiaddr};
use crate::serve::Server;
use crate::store::Store;

/// What the key on the network is derived for.
const PEER_KEY: &[u8] = b"libp2p";
/// How long Malachite may take to listen.
const LISTENING: Duration = Duration::from_secs(10);
/// How long a log may stay locked after its last use.
const UNLOCKING: Duration = Duration::from_secs(2);

/// Where the engine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The height that is being decided; `None` before the first has begun.
    pub height: Option<Height>,
    /// Its round.
    pub round: u32,
    /// What this party does in the round.
    pub state: State,
}

/// What this party does in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for the committee, or for other parties.
    Starting,
    /// It proposes and votes.
    Proposing,
    /// It votes.
    Voting,
    /// It is in no committee, and takes what others decide.
    Following,
}

/// A peer that is connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectedPeer {
    /// The name that it gives itself.
    pub name: String,
    /// Its address on the network.
    pub address: String,
    /// The member that it is, if it has proved to be one.
    pub party: Option<Party>,
}

/// A running engine. It is stopped when this is dropped, but only [`Self::stop`] waits for the end.
#[derive(Debug)]
pub struct App {
    address: SocketAddr,
    status: watch::Receiver<Status>,
    exit: watch::Receiver<Option<Exit>>,
    store: Store,
    network: NetworkRef<Tendermint>,
    peers: Mutex<BTreeSet<SocketAddr>>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl App {
    /// Starts the engine. Blocks that the host lacks are repeated before this returns.
    ///
    /// # Errors
    /// [`StartError`] says what is wrong.
    pub async fn start<H: Host>(options: Options, host: H) -> Result<Self, StartError> {
        let host = Arc::new(host);
        let address = free(options.listen)?;
        fs::create_dir_all(&options.home).map_err(StartError::Home)?;
        let store = Store::open(&options.home.join("decided.redb"), options.chain)?;
        repeat(&*host, &store).await?;

        let me = Address::new(options.me);
        let committees = Committees::default();
        let keys = Keys { key: options.key.clone(), committees: committees.clone() };
        let (voted, votes) = mpsc::unbounded_channel();
        let codec = WireCodec::new(WireLimits::of(&options)).reporting(me, voted);
        let log = options.home.join("consensus.wal");
        unlocked(&log).await;
        let parts = Parts {
            me,
            identity: identity(&options, &keys, &codec)?,
            keys,
            codec,
            log: &log,
            consensus: options.consensus(address),
            sync: options.sync(),
        };
        let (engine, inbox) = Engine::start(parts).await.map_err(StartError::Engine)?;

        let starting = Status { height: None, round: 0, state: State::Starting };
        let (status_sender, status) = watch::channel(starting);
        let (steps_sender, steps) = mpsc::unbounded_channel();
        let (ready_sender, ready) = oneshot::channel();
        let fetched = Arc::new(AtomicU64::new(0));
        let server = Server {
            host: Arc::clone(&host),
            me,
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
        let network = engine.network.clone();
        let (stop, stopped) = oneshot::channel();
        let (exit_sender, exit) = watch::channel(None);
        let serving = tokio::spawn(server.run(inbox, votes));
        let finishing = tokio::spawn(finisher.run(steps));
        let watched = Watched { engine, serving, finishing, store: store.clone() };
        let task = tokio::spawn(async move {
            let reason = watched.run(stopped).await;
            exit_sender.send_replace(Some(reason));
        });
        let peers = Mutex::new(options.peers.iter().copied().collect());
        let stop = Some(stop);
        let app = Self { address, status, exit, store, network, peers, stop, task };
        if !matches!(tokio::time::timeout(LISTENING, ready).await, Ok(Ok(()))) {
            let exit = app.exit.borrow().clone();
            let said = exit.map_or_else(
                || format!("it does not listen on {address}"),
                |exit| exit.to_string(),
            );
            let _ = app.stop().await;
            return Err(StartError::Engine(said));
        }
        Ok(app)
    }

    /// The address that the engine listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the engine is.
    #[must_use]
    pub fn status(&self) -> Status {
        *self.status.borrow()
    }

    /// Follows [`Self::status`].
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }

    /// The decided blocks and their certificates.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// The peers that are connected; none if the engine has ended.
    pub async fn peers(&self) -> Vec<ConnectedPeer> {
        let (reply, state) = oneshot::channel();
        if self.network.cast(NetworkMsg::DumpState(reply.into())).is_err() {
            return Vec::new();
        }
        let peers = state.await.ok().flatten().map(|state| state.peers);
        let peers = peers.into_iter().flatten().map(|(_, peer)| ConnectedPeer {
            name: peer.moniker,
            address: peer.address.to_string(),
            party: peer.consensus_address.as_deref().and_then(party),
        });
        let mut peers: Vec<_> = peers.collect();
        peers.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        peers
    }

    /// Changes the peers to stay connected to. Connections to others stay until they break.
    ///
    /// # Errors
    /// What Malachite says of an address that it does not take; the others are changed.
    pub async fn set_peers(
        &self,
        wanted: impl IntoIterator<Item = SocketAddr>,
    ) -> Result<(), PeersError> {
        let wanted: BTreeSet<_> = wanted.into_iter().collect();
        let mut peers = self.peers.lock().await;
        let mut result = Ok(());
        let removed = peers.difference(&wanted).map(|one| (*one, false));
        let added = wanted.difference(&peers).map(|one| (*one, true));
        for (address, adds) in removed.chain(added).collect::<Vec<_>>() {
            let (one, wrong) = (multiaddr(address), address);
            let change =
                if adds { PersistentPeersOp::Add(one) } else { PersistentPeersOp::Remove(one) };
            let (reply, changed) = oneshot::channel();
            let sent = self.network.cast(NetworkMsg::UpdatePersistentPeers(change, reply.into()));
            let ended = Err(PersistentPeerError::NetworkStopped);
            let changed = if sent.is_ok() { changed.await.unwrap_or(ended) } else { ended };
            match changed {
                Ok(())
                | Err(PersistentPeerError::AlreadyExists | PersistentPeerError::NotFound) => {
                    if adds {
                        peers.insert(address)
                    } else {
                        peers.remove(&address)
                    };
                }
                Err(error) => result = Err(PeersError { address: wrong, said: error.to_string() }),
            }
        }
        result
    }

    /// Waits until the engine has ended, for whatever reason.
    pub async fn exited(&self) -> Exit {
        let mut exit = self.exit.clone();
        match exit.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or(Exit::Ended),
            // The task that watches the engine has panicked.
            Err(_) => Exit::Ended,
        }
    }

    /// Stops the engine and waits until nothing of it runs, and its files are closed.
    ///
    /// # Errors
    /// The reason for which it had ended before.
    pub async fn stop(mut self) -> Result<(), Exit> {
        if let Some(stop) = self.stop.take() {
            // If it has ended, there is nothing to stop.
            let _ = stop.send(());
        }
        let _ = (&mut self.task).await;
        match self.exited().await {
            Exit::Stopped => Ok(()),
            reason => Err(reason),
        }
    }

    /// Malachite's metrics in Prometheus' text format.
    ///
    /// Malachite keeps them in one registry for the whole process. They are labelled with the party, and a
    /// second life in the same process appears a second time.
    #[must_use]
    pub fn metrics() -> String {
        let mut text = String::new();
        malachitebft_app_channel::app::metrics::export(&mut text);
        text
    }
}

/// An address that is not taken as a peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("peer {address} is not taken: {said}")]
pub struct PeersError {
    /// The address.
    pub address: SocketAddr,
    /// What Malachite said.
    pub said: String,
}

impl PeersError {
    /// A name for the error that stays the same.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "malachite-peer"
    }
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
            _ = stopped => Exit::Stopped,
            () = self.engine.ended() => Exit::Ended,
            served = &mut self.serving => match served {
                // The channel closes before the supervisor ends, or while it stays to be looked at.
                Ok(()) => {
                    let ended = tokio::time::timeout(Duration::from_secs(1), self.engine.ended());
                    if ended.await.is_ok() { Exit::Ended } else { Exit::Unsafe }
                }
                Err(error) => Exit::Host(error.to_string()),
            },
            finished = &mut self.finishing => match finished {
                // The server holds the other end while it runs.
                Ok(Ok(())) => Exit::Ended,
                Ok(Err(reason)) => reason,
                Err(error) => Exit::Host(error.to_string()),
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
async fn repeat<H: Host>(host: &H, store: &Store) -> Result<(), StartError> {
    let (held, last) = (host.last(), store.last()?);
    if let Some(held) = held.filter(|held| last.is_none_or(|last| last < *held)) {
        return Err(StartError::Behind { host: held, store: last });
    }
    let mut next = held.map_or(Height::new(1), Height::next);
    while last.is_some_and(|last| next <= last) {
        let decision = store.get(next)?;
        let missing = crate::store::StoreError::Record { height: next };
        host.finalized(&decision.ok_or(missing)?.block).await;
        next = next.next();
    }
    Ok(())
}

/// The address with a port that is free.
///
/// Malachite says in its log only that it cannot listen, and does not name a port that it was given.
fn free(address: SocketAddr) -> Result<SocketAddr, StartError> {
    let listener = TcpListener::bind(address);
    let bound = listener.and_then(|listener| listener.local_addr());
    bound.map_err(|cause| StartError::Listen { address, cause })
}

/// Waits until the log is unlocked: its thread ends a moment after Malachite.
async fn unlocked(log: &std::path::Path) {
    let until = Instant::now() + UNLOCKING;
    while let Ok(file) = fs::File::open(log) {
        if file.try_lock().is_ok() || Instant::now() > until {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn identity(
    options: &Options,
    keys: &Keys,
    codec: &WireCodec,
) -> Result<NetworkIdentity, StartError> {
    let wrong = |error: &dyn std::fmt::Display| StartError::Engine(error.to_string());
    let mut seed = keys.key.derive(PEER_KEY);
    // It wipes the seed.
    let keypair = Keypair::ed25519_from_bytes(&mut seed).map_err(|error| wrong(&error))?;
    let peer = keypair.public().to_peer_id();
    let proof = codec.encode(&keys.key.prove_peer(&peer.to_bytes()));
    let proof = proof.map_err(|error| wrong(&error))?;
    let name = options.me.to_string();
    let address = Address::new(options.me).to_string();
    Ok(NetworkIdentity::new_validator(name, keypair, address, proof))
}

/// The party with this name: the inverse of its text.
fn party(text: &str) -> Option<Party> {
    let number = text.rsplit(|letter: char| !letter.is_ascii_digit()).next()?;
    number.parse().ok().map(Party::new)
}
