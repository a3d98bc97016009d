//! The engine as the program holds it: started, watched, told of new peers, stopped.
use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use malachitebft_app_channel::app::engine::network::{
    NetworkMsg, NetworkRef, PersistentPeerError, PersistentPeersOp,
};
use prefinal_malachite::{Height, Tendermint};
use prefinal_protocol::Party;
use tokio::sync::{Mutex, oneshot, watch};
use tokio::task::JoinHandle;

use crate::error::{Exit, StartError};
use crate::host::Host;
use crate::options::{Options, multiaddr};
use crate::start::{Attended, attend, free, launch, repeat};
use crate::store::Store;

/// How long Malachite may take to listen.
const LISTENING: Duration = Duration::from_secs(10);

/// Where the engine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The height that is being decided; `None` before the first has begun.
    pub height: Option<Height>,
    /// The round that is running at this height.
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
    /// It votes on the proposal of another party.
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
        let address = free(options.listen)?;
        fs::create_dir_all(&options.home).map_err(StartError::Home)?;
        let store = Store::open(&options.home.join("decided.redb"), options.chain)?;
        repeat(&host, &store).await?;
        let launched = launch(&options, address).await?;
        let network = launched.engine.network.clone();
        let Attended { status, exit, ready, stop, task } =
            attend(launched, &options, host, store.clone());
        let peers = Mutex::new(options.peers.iter().copied().collect());
        let app = Self { address, status, exit, store, network, peers, stop: Some(stop), task };
        if matches!(tokio::time::timeout(LISTENING, ready).await, Ok(Ok(()))) {
            return Ok(app);
        }
        let reason = app.exit.borrow().as_ref().map(ToString::to_string);
        let _ = app.stop().await;
        let silent = || format!("it does not listen on {address}");
        Err(StartError::Engine(reason.unwrap_or_else(silent)))
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

    /// A receiver that is told whenever [`Self::status`] changes.
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
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "peer-refused"
    }
}

/// The party with this name: the inverse of its text.
fn party(text: &str) -> Option<Party> {
    let number = text.rsplit(|letter: char| !letter.is_ascii_digit()).next()?;
    number.parse().ok().map(Party::new)
}
