//! `prefinal devnet --execute`: blocks are executed, their states certified and stored, and clients served.
//!
//! ```text
//!  POST /transactions ─┐
//!                      ├─► door ──► a party's engine ──► PipelineHost ──► events ──► flow: table, door's index
//!  --load ─────────────┘    ▲                              │
//!  GET  /transactions/{id} ─┴────────── store of party 0 ◄─┘
//! ```
//! | module     | what it does                                                    |
//! |------------|-----------------------------------------------------------------|
//! | `executor` | what the devnet needs to know of an executor; `evm`: the EVM    |
//! | `catch_up` | how a party that was away comes back                            |
//! | `door`     | takes transactions, says what became of them                    |
//! | `library`  | what nodes are given that follow the chain                      |
//! | `endings`  | how light clients are led from one committee to the next        |
//! | `load`     | submits transactions at a rate                                  |
//! | `proofs`   | what is said of states, with what shows it                      |
//! | `store`    | states, and what shows each block to others                     |
//! | `flow`     | when blocks pass their stages, and whether all parties agree    |
//!
//! Each party has its state in a file: in the folder of `--journal`, else in one that is gone after the run.
mod catch_up;
mod door;
mod endings;
#[cfg(feature = "evm")]
mod evm;
mod executor;
mod flow;
mod library;
mod load;
mod proofs;
mod store;

use std::borrow::Borrow;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use clap::{Args, ValueEnum};
use futures_util::future::BoxFuture;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::PublicKey;
use prefinal_engine::{Engine, Quorum};
use prefinal_execution::{BlockId, Config, Limits, Role, Store, Switches};
use prefinal_lab::Failure;
use prefinal_light::LightObject;
use prefinal_protocol::{Instant, Slot};
use prefinal_registry::light;
use prefinal_state::Genesis;
use prefinal_validator::adopt::{self, StoredBlocks as _};
use prefinal_validator::execution::{
    BlockCodec, BlockEvent, HostError, PastBlocks, PipelineHost, Record, Workers,
};
use prefinal_validator::setup::Setup;
use prefinal_validator::{ChainApplication, RecordOf};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::sync::mpsc::UnboundedSender;

use self::catch_up::CatchUp;
pub use self::catch_up::{Ended, Following, Line, Shelf, Witnesses};
pub use self::door::{Door, SubmitError, TransactionId};
use self::endings::announce;
pub use self::endings::{Announcements, Endings};
pub use self::executor::{Accounts, NamedExecutor};
use self::flow::Flow;
pub use self::library::{BeaconKey, Beginning, Library};
pub use self::proofs::{Prover, certificate_of};
use self::store::carry;
pub(crate) use self::store::lock;
pub use self::store::{Attested, AttestedStates, AttestedStore, SlotValues, states};
use crate::http::{sync, transactions};
use crate::party::Time;

/// What is executed, and how much of it.
#[derive(Args, Clone, Copy, Debug)]
pub struct ExecuteOptions {
    /// Execute the blocks, certify the states that they leave, and keep them in files; with --http take and
    /// show transactions
    #[arg(long, value_name = "WHAT")]
    pub execute: Option<ExecutorName>,
    /// Submit so many transactions a second
    #[arg(long, value_name = "TPS", requires = "execute")]
    pub load: Option<NonZeroU32>,
}

/// An executor by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExecutorName {
    /// Payments of 300 bytes between accounts
    Transfers,
    /// Calls of a contract that reads the slot's value (build with `--features evm`)
    Evm,
}

/// Something that an application told, by whom and when.
pub struct Told<A: ChainApplication> {
    /// The party that tells it.
    pub by: Party,
    /// When, on the parties' clock.
    pub at: Instant,
    /// What became of one of its blocks.
    pub event: A::Event,
}

/// What a devnet does with its blocks: nothing (`()`), or executing them.
pub trait Workload: Sized + Send + 'static {
    /// The application of each party.
    type Application: ChainApplication;

    /// The application of a party, continued from its records, and what runs its jobs.
    ///
    /// # Errors
    /// If the party cannot go on from what is left of it; described in words.
    fn application(
        &self,
        party: Party,
        records: Vec<<Self::Application as ChainApplication>::Record>,
    ) -> Result<Self::Application, String>;

    /// What runs a party's jobs.
    ///
    /// # Errors
    /// If there is no such party.
    fn workers(
        &self,
        party: Party,
    ) -> Result<<Self::Application as ChainApplication>::Workers, Failure>;

    /// So many parties are away in this run.
    fn without(&mut self, away: usize);

    /// Threads that may wait for disks, beside those that compute.
    fn threads(&self) -> usize;

    /// What answers this party's peers that were away.
    fn librarian(&self, party: Party) -> Option<Arc<dyn sync::Librarian>>;

    /// Brings what a party has executed near its peers, if it was away for long and can go on from there: see
    /// [`adopted`](Self::adopted).
    fn catch_up(&self, party: Party, line: Line) -> Option<BoxFuture<'static, ()>>;

    /// The records behind these with which a party goes on from there ([`prefinal_validator::adopt`]).
    fn adopted<E: Engine>(
        &self,
        party: Party,
        records: &[RecordOf<E, Self::Application>],
    ) -> Vec<RecordOf<E, Self::Application>>;

    /// What is served besides values to wallets.
    fn wallets(&self) -> Option<Router>;

    /// What is served to nodes that follow. They verify values by the one key of all epochs.
    fn followers(&self) -> Option<Router>;

    /// Where parties leave the values that they reveal; `None` if no block reads them.
    fn values(&self) -> Option<Arc<SlotValues>>;

    /// The committee has a key that signs values, from this slot on.
    fn ready(&self, key: &PublicKey, first: Slot);

    /// The parties run; transactions go to these.
    fn start(&mut self, time: Time, parties: Vec<UnboundedSender<Vec<u8>>>);

    /// Takes what a party told; a line to be printed, perhaps.
    ///
    /// # Errors
    /// If parties disagree, or one has stopped.
    fn take(&mut self, told: Told<Self::Application>) -> Result<Option<String>, Failure>;

    /// Prints what the run showed.
    fn print_summary(&self);
}

/// A devnet whose blocks carry key generation alone.
impl Workload for () {
    type Application = ();

    fn application(&self, _: Party, _: Vec<()>) -> Result<(), String> {
        Ok(())
    }

    fn workers(&self, _: Party) -> Result<(), Failure> {
        Ok(())
    }

    fn without(&mut self, _: usize) {}

    fn threads(&self) -> usize {
        0
    }

    fn librarian(&self, _: Party) -> Option<Arc<dyn sync::Librarian>> {
        None
    }

    fn catch_up(&self, _: Party, _: Line) -> Option<BoxFuture<'static, ()>> {
        None
    }

    fn adopted<E: Engine>(&self, _: Party, _: &[RecordOf<E>]) -> Vec<RecordOf<E>> {
        Vec::new()
    }

    fn wallets(&self) -> Option<Router> {
        None
    }

    fn followers(&self) -> Option<Router> {
        None
    }

    fn values(&self) -> Option<Arc<SlotValues>> {
        None
    }

    fn ready(&self, _: &PublicKey, _: Slot) {}

    fn start(&mut self, _: Time, _: Vec<UnboundedSender<Vec<u8>>>) {}

    fn take(&mut self, told: Told<()>) -> Result<Option<String>, Failure> {
        match told.event {}
    }

    fn print_summary(&self) {}
}

/// What executes a validator's blocks and certifies their states, from what an earlier process has left.
///
/// # Errors
/// If the members cannot certify, or the store and the records do not fit.
pub fn pipeline<X: NamedExecutor>(
    setup: &Setup,
    quorum: Quorum,
    past: PastBlocks<X>,
) -> Result<PipelineHost<AttestedStore<X>>, HostError> {
    let config =
        Config { role: Role::Validator, switches: Switches::ON, limits: Limits::default() };
    let codec = BlockCodec { decode: X::decoded, announce, carry };
    PipelineHost::new(setup, quorum, config, past, codec)
}

/// What light clients of a chain with this first committee begin with.
#[must_use]
pub fn waypoint(setup: &Setup) -> Json {
    // The first epoch begins with the chain.
    let waypoint = light::waypoint(setup, Slot::new(0));
    json!({
        "waypoint": hex::encode(waypoint.to_wire()),
        "members": hex::encode(light::members(setup).to_wire()),
    })
}

type PartyStore<X> = AttestedStore<X>;

/// A devnet's blocks, executed by `X`.
pub struct ExecutedChain<X: NamedExecutor> {
    setup: Arc<Setup>,
    quorum: Quorum,
    executor: Arc<X>,
    genesis: BlockId,
    stores: Vec<Arc<Mutex<PartyStore<X>>>>,
    door: Arc<Door<X>>,
    /// In the order of the parties; the first one also serves nodes that follow.
    libraries: Vec<Arc<Library<X, PartyStore<X>>>>,
    values: Arc<SlotValues>,
    flow: Flow<X>,
    announcements: Announcements,
    load: Option<NonZeroU32>,
    accounts: Arc<Accounts>,
    _temporary: Option<TempDir>,
}

/// Where and for whom blocks are executed.
pub struct Site<'a> {
    /// The committee that executes and certifies.
    pub setup: &'a Arc<Setup>,
    /// The stake that certifies.
    pub quorum: Quorum,
    /// Whether the engine tells proposals.
    pub tells_proposals: bool,
    /// The folder of the files, if they outlive the run.
    pub folder: Option<PathBuf>,
    /// The seed that accounts are drawn from.
    pub seed: u64,
}

impl<X: NamedExecutor> ExecutedChain<X> {
    /// Opens the parties' stores, or creates them with funded accounts.
    ///
    /// # Errors
    /// If a file is not to be had, or is another chain's.
    pub fn open(site: Site<'_>, load: Option<NonZeroU32>) -> Result<Self, Failure> {
        let Site { setup, quorum, tells_proposals, folder, seed } = site;
        let accounts = Arc::new(Accounts::new(seed, load));
        let rows = X::genesis(&accounts).map_err(Failure::bad_input)?;
        let genesis = Genesis::of(rows);
        let values = Arc::<SlotValues>::default();
        let temporary = folder.is_none().then(TempDir::new).transpose();
        let temporary = temporary.map_err(Failure::bad_input)?;
        let folder = folder.or_else(|| Some(temporary.as_ref()?.path().to_path_buf()));
        let folder = folder.unwrap_or_default();
        let mut stores = Vec::new();
        for party in 0..setup.members.len() {
            let file = folder.join(format!("party-{party}.state"));
            let opened = PartyStore::<X>::open(&file, &genesis, Arc::clone(&values));
            let advice = "what was durable stays: run it again when the cause is gone, or begin again elsewhere";
            let failed = |error| crate::output::named(&file, format_args!("{error}; {advice}"));
            let store = opened.map_err(failed)?;
            stores.push(Arc::new(Mutex::new(store)));
        }
        let executor = Arc::new(X::new(setup.context.chain));
        let first = stores.first().map(Arc::clone);
        let first = first.ok_or_else(|| Failure::bad_input("a committee of nobody"))?;
        let (chain, endings) = (setup.context.chain, Endings::default());
        let prover = Prover { chain, endings: endings.clone() };
        let door = Door::new(prover, Arc::clone(&executor), Arc::clone(&first))?;
        let (door, name) = (Arc::new(door), genesis.block);
        let mut libraries = vec![Library::of_party(first, genesis, endings.clone())];
        let others = stores.iter().skip(1).map(Arc::clone);
        libraries.extend(others.map(|store| Library::among_parties(store, endings.clone())));
        let libraries = libraries.into_iter().map(Arc::new).collect();
        let early = if tells_proposals {
            "from their proposals on"
        } else {
            "once ordered; the engine tells no proposals"
        };
        say!("{}: blocks are executed {early}", X::NAME);
        let (setup, parties) = (Arc::clone(setup), stores.len());
        let flow = Flow::new(parties, Arc::clone(&door));
        let announcements = Announcements::new(Arc::clone(&setup), endings);
        let _temporary = temporary;
        Ok(Self {
            setup,
            quorum,
            executor,
            genesis: name,
            stores,
            door,
            libraries,
            values,
            flow,
            announcements,
            load,
            accounts,
            _temporary,
        })
    }

    /// A block that is executed was ordered. What was submitted before could stand in an earlier one, of the
    /// first key generation, which is not.
    fn open_door(&self) {
        if !self.door.open() {
            return;
        }
        if let Some(rate) = self.load {
            tokio::spawn(load::submit(Arc::clone(&self.door), Arc::clone(&self.accounts), rate));
        }
    }

    /// The first party's states are those that are served.
    fn settle_announcements(&mut self) -> Result<(), Failure> {
        let Some(store) = self.stores.first() else { return Ok(()) };
        let store = lock(store);
        self.announcements.settle::<X>((*store).borrow()).map_err(Failure::bad_input)
    }

    fn store(&self, party: Party) -> Option<&Arc<Mutex<PartyStore<X>>>> {
        self.stores.get(party.index())
    }
}

impl<X: NamedExecutor> Workload for ExecutedChain<X> {
    type Application = PipelineHost<PartyStore<X>>;

    fn application(&self, party: Party, records: Vec<Record>) -> Result<Self::Application, String> {
        let store = self.store(party).ok_or_else(|| format!("{party} has no store"))?;
        let recovered = store.lock().unwrap_or_else(PoisonError::into_inner).recover();
        let recovered = recovered.map_err(|error| error.to_string())?;
        let past = PastBlocks { genesis: self.genesis, recovered, records };
        pipeline::<X>(&self.setup, self.quorum, past).map_err(|error| error.to_string())
    }

    fn workers(&self, party: Party) -> Result<Workers<PartyStore<X>>, Failure> {
        let store = self.store(party).map(Arc::clone);
        let store = store.ok_or_else(|| Failure::bad_input(format_args!("{party}: no store")))?;
        Ok(Workers { executor: Arc::clone(&self.executor), store })
    }

    fn without(&mut self, away: usize) {
        self.flow.without(away);
    }

    fn threads(&self) -> usize {
        self.stores.len()
    }

    fn librarian(&self, party: Party) -> Option<Arc<dyn sync::Librarian>> {
        let library = Arc::<Library<X, _>>::clone(self.libraries.get(party.index())?);
        Some(library)
    }

    fn catch_up(&self, party: Party, line: Line) -> Option<BoxFuture<'static, ()>> {
        let (setup, store) = (Arc::clone(&self.setup), Arc::clone(self.store(party)?));
        let shelf = Shelf { executor: Arc::clone(&self.executor), store, beacon: None };
        let catch_up = CatchUp { me: party, setup, quorum: self.quorum, shelf };
        Some(Box::pin(catch_up.run(line)))
    }

    fn adopted<E: Engine>(
        &self,
        party: Party,
        records: &[RecordOf<E, Self::Application>],
    ) -> Vec<RecordOf<E, Self::Application>> {
        let adopted = self.store(party).and_then(|store| {
            let store = lock(store);
            let last = store.header(store.committed().ok()?.height)?;
            Some(adopt::adopted::<E>(&self.setup, records, last, &*store))
        });
        adopted.unwrap_or_default()
    }

    fn wallets(&self) -> Option<Router> {
        let door: Arc<dyn transactions::Ledger> = Arc::<Door<X>>::clone(&self.door);
        Some(transactions::routes(door, waypoint(&self.setup)))
    }

    fn followers(&self) -> Option<Router> {
        Some(sync::routes(self.librarian(Party::new(0))?))
    }

    fn values(&self) -> Option<Arc<SlotValues>> {
        Some(Arc::clone(&self.values))
    }

    fn ready(&self, key: &PublicKey, first: Slot) {
        let key = BeaconKey { key: *key, first };
        self.libraries.iter().for_each(|library| library.set_beacon(key));
    }

    fn start(&mut self, time: Time, parties: Vec<UnboundedSender<Vec<u8>>>) {
        self.door.connect(time, parties);
    }

    fn take(&mut self, told: Told<Self::Application>) -> Result<Option<String>, Failure> {
        match &told.event {
            BlockEvent::Ordered(_) => self.open_door(),
            BlockEvent::Follows { setup, first } => {
                self.announcements.follow(Arc::clone(setup), *first);
                self.settle_announcements()?;
            }
            BlockEvent::Committed(_) if told.by == Party::new(0) => self.settle_announcements()?,
            _ => {}
        }
        self.flow.take(told)
    }

    fn print_summary(&self) {
        self.flow.print_summary();
    }
}
