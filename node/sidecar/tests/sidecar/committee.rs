//! Four parties in one process: drivers with journals that a test can hold or break, links between them, and
//! a sidecar on a Unix socket for each.
use std::collections::BTreeMap;
use std::future::pending;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, LazyLock, Mutex};
use std::thread;
use std::time::Duration;

use prefinal_beacon::{Bls, Life, Slot};
use prefinal_crypto_core::access::Party;
use prefinal_driver::{Driver, Receiver, Task};
use prefinal_engine::Quorum;
use prefinal_journal::{Journal, JournalError, JournalOperation, Memory};
use prefinal_protocol::Recipient;
use prefinal_sidecar::proto::sidecar_client::SidecarClient;
use prefinal_sidecar::{Endpoint, Feed, Listener, Message, Options, Sidecar};
use prefinal_validator::keygen::KeygenError;
use prefinal_validator::participant::{Effect, Host, Participant};
use prefinal_validator::setup::{Algorithm, Identity, Plan, Setup, found};
use prefinal_weighted_rounding::{Ratio, Stake};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tonic::transport::Channel;

pub(crate) const PARTIES: u32 = 4;

/// The attempt whose votes release.
const FAST_ATTEMPT: Option<u32> = Some(0);

pub(crate) type Client = SidecarClient<Channel>;

pub(crate) struct World {
    pub(crate) setup: Arc<Setup>,
    identities: Vec<Arc<Identity>>,
}

pub(crate) static WORLD: LazyLock<World> = LazyLock::new(|| {
    let stakes = [30, 30, 20, 20].map(Stake::new).to_vec();
    let plan = Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
    let (setup, identities) = found(&plan, 1).unwrap();
    World { setup: Arc::new(setup), identities: identities.into_iter().map(Arc::new).collect() }
});

/// What a journal does when it is to make records durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disk {
    Works,
    /// Waits until it works again, or breaks.
    Hangs,
    Breaks,
}

/// A journal in memory on a disk that a test controls.
#[derive(Clone)]
pub(crate) struct Held {
    memory: Arc<Mutex<Memory>>,
    disk: Arc<(Mutex<(Disk, usize)>, Condvar)>,
}

impl Held {
    fn new(memory: Memory) -> Self {
        let disk = Arc::new((Mutex::new((Disk::Works, 0)), Condvar::new()));
        Self { memory: Arc::new(Mutex::new(memory)), disk }
    }

    pub(crate) fn set(&self, disk: Disk) {
        self.disk.0.lock().unwrap().0 = disk;
        self.disk.1.notify_all();
    }

    /// Returns when a call hangs at the disk with a record.
    pub(crate) fn wait_for_a_call(&self) {
        self.wait(|hanging, records| hanging && records);
    }

    /// Returns when all that was to be written is written.
    pub(crate) fn wait_for_rest(&self) {
        self.wait(|hanging, records| !hanging && !records);
    }

    fn wait(&self, is_there: impl Fn(bool, bool) -> bool) {
        let records = || {
            let memory = self.memory.lock().unwrap();
            memory.after_crash(usize::MAX).durable() > memory.durable()
        };
        let state = self.disk.0.lock().unwrap();
        let goes_on = |(_, hanging): &mut (Disk, usize)| !is_there(*hanging > 0, records());
        drop(self.disk.1.wait_while(state, goes_on).unwrap());
    }

    /// What is on the disk if the process dies now.
    pub(crate) fn left(&self) -> Memory {
        self.memory.lock().unwrap().after_crash(0)
    }
}

impl Journal for Held {
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError> {
        self.memory.append(record)
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        let (state, changed) = &*self.disk;
        let mut state = state.lock().unwrap();
        state.1 += 1;
        changed.notify_all();
        let mut state = changed.wait_while(state, |(disk, _)| *disk == Disk::Hangs).unwrap();
        let written = match state.0 {
            Disk::Breaks => {
                let cause = Arc::new(std::io::Error::other("the disk is gone"));
                Err(JournalError::Storage { doing: JournalOperation::Sync, cause })
            }
            _ => self.memory.sync(),
        };
        state.1 -= 1;
        changed.notify_all();
        written
    }

    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        self.memory.replay()
    }

    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
        self.memory.replace(records)
    }
}

type Running = Driver<Participant<Bls>>;

/// The links between the parties, over which everything goes that no vote carries.
#[derive(Default)]
struct Links(Mutex<BTreeMap<Party, Running>>);

impl Links {
    fn send(&self, from: Party, to: Recipient<Party>, message: &Message<Bls>) {
        let bytes = borsh::to_vec(message).unwrap();
        let drivers = self.0.lock().unwrap().clone();
        for (party, driver) in drivers {
            if party != from && (to == Recipient::All || to == Recipient::One(party)) {
                // A party that has stopped or is full gets it on demand.
                drop(driver.on_message(from, borsh::from_slice(&bytes).unwrap()));
            }
        }
    }
}

/// A party that runs.
pub(crate) struct Node {
    pub(crate) driver: Running,
    pub(crate) journal: Held,
    pub(crate) feed: Feed,
    server: JoinHandle<()>,
}

/// How a party's sidecar is configured, beside the usual.
pub(crate) type Configure = fn(&mut Options<Bls>);

pub(crate) struct Committee {
    pub(crate) nodes: Vec<Node>,
    links: Arc<Links>,
    folder: TempDir,
    configure: Configure,
    lives: u8,
}

impl Committee {
    pub(crate) fn new() -> Self {
        Self::configured(|_| {})
    }

    pub(crate) fn configured(configure: Configure) -> Self {
        let folder = TempDir::new().unwrap();
        let links = Arc::new(Links::default());
        let mut committee = Self { nodes: Vec::new(), links, folder, configure, lives: 0 };
        for party in 0..PARTIES {
            let journal = Held::new(Memory::new());
            let node = committee.start(Party::new(party), journal, Life::First);
            committee.nodes.push(node);
        }
        committee
    }

    pub(crate) fn socket(&self, party: u32) -> PathBuf {
        self.folder.path().join(format!("{party}.sock"))
    }

    pub(crate) async fn client(&self, party: u32) -> Client {
        connect(&self.socket(party)).await
    }

    fn start(&self, me: Party, journal: Held, life: Life) -> Node {
        let host = Host::new(Quorum::BYZANTINE, FAST_ATTEMPT);
        let identity = &WORLD.identities[me.index()];
        let build = |records| -> Result<_, KeygenError> {
            Participant::<Bls>::new(&WORLD.setup, identity, life, records, host)
        };
        // After a restart all values are shown again.
        let read = (life != Life::First).then_some(Slot::new(0));
        let options = prefinal_driver::Options { read, ..prefinal_driver::Options::default() };
        let pool = |task: Task| task();
        let (driver, effects) = Driver::start(build, journal.clone(), pool, options).unwrap();
        let mut options = Options::new(&WORLD.setup, FAST_ATTEMPT);
        (self.configure)(&mut options);
        let (sidecar, feed) = Sidecar::new(driver.clone(), &WORLD.setup, options).unwrap();
        let listener = Listener::bind(&Endpoint::Unix(self.socket(me.get()))).unwrap();
        let server = tokio::spawn(async { sidecar.serve(listener, pending()).await.unwrap() });
        self.links.0.lock().unwrap().insert(me, driver.clone());
        let (links, its_feed, clock) = (Arc::clone(&self.links), feed.clone(), driver.clone());
        thread::spawn(move || carry_out(&links, me, &effects, &its_feed));
        thread::spawn(move || clock.run_clock(Duration::from_millis(20)));
        Node { driver, journal, feed, server }
    }

    /// The process dies and starts again on what is on its disk.
    pub(crate) async fn crash(&mut self, party: u32) {
        let me = Party::new(party);
        let node = &mut self.nodes[me.index()];
        let journal = Held::new(node.journal.left());
        self.links.0.lock().unwrap().remove(&me);
        drop(node.driver.shut_down());
        node.server.abort();
        // The server is gone when its socket is.
        drop((&mut node.server).await);
        self.lives += 1;
        self.nodes[me.index()] = self.start(me, journal, Life::later([self.lives; 16]));
    }
}

/// What the process around a sidecar does: it passes on what is for the engine, and sends the rest.
fn carry_out(links: &Links, me: Party, effects: &Receiver<Effect<Bls>>, feed: &Feed) {
    while let Ok(effect) = effects.recv_blocking() {
        feed.effect(&effect).unwrap();
        match effect {
            Effect::Send { to, envelope } => links.send(me, to, &envelope),
            Effect::Tell(prefinal_validator::Event::Accused { party, fault }) => {
                panic!("{me} accuses {party}: {fault}")
            }
            _ => {}
        }
    }
}

pub(crate) async fn connect(socket: &std::path::Path) -> Client {
    let endpoint = format!("unix:{}", socket.display());
    let endpoint = tonic::transport::Endpoint::try_from(endpoint).unwrap();
    let client = SidecarClient::new(endpoint.connect().await.unwrap());
    client.max_encoding_message_size(usize::MAX)
}
