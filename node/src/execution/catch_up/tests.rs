//! A party that was away, over real links, among peers of which some lie.
use std::future::pending;
use std::sync::Mutex;

use prefinal_beacon::StateSig;
use prefinal_crypto_core::certificate::Certificate;
use prefinal_execution::{Block, BlockId, Committed, Execution, Executor, Header};
use prefinal_light::CertifiedBlock;
use prefinal_protocol::{EpochId, Slot, Value};
use prefinal_state::Genesis;
use prefinal_state::transfers::{SignedTransfer, Transfers};
use prefinal_sync::wire::HeightRange;
use prefinal_validator::execution::StateCertificate;
use prefinal_validator::extra::electorate;
use prefinal_validator::setup::{Algorithm, Identity, Plan, found};
use prefinal_weighted_rounding::{Ratio, Stake};
use tempfile::TempDir;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;

use super::super::executor::Accounts;
use super::super::{AttestedStore, Endings, Library};
use super::*;
use crate::http::sync::{Librarian, SyncError};
use crate::party::network::{Ends, Incoming, Outbox, connect_all};
use crate::party::{Desk, SyncLinks, aside};

type Stored = Arc<Mutex<AttestedStore<Transfers>>>;

const SOON: Duration = Duration::from_secs(60);
const BLOCKS: u64 = 100;

/// What the parties of these tests could say besides.
type Silence = Vec<u8>;

/// A committee of four, of which one may lie, and the stores of its parties.
struct World {
    setup: Arc<Setup>,
    identities: Vec<Identity>,
    genesis: Genesis,
    folder: TempDir,
}

/// A block with what executing it changed.
struct Executed {
    block: Block<SignedTransfer>,
    execution: Execution<Transfers>,
}

impl World {
    fn new() -> Self {
        let stakes = vec![Stake::new(1); 4];
        let plan = Plan::new(stakes, Algorithm::Tight, Ratio::new(9, 10).unwrap()).unwrap();
        let (setup, identities) = found(&plan, 1).unwrap();
        let rows = <Transfers as NamedExecutor>::genesis(&Accounts::new(1, None)).unwrap();
        let (genesis, folder) = (Genesis::of(rows), tempfile::tempdir().unwrap());
        Self { setup: Arc::new(setup), identities, genesis, folder }
    }

    fn executor(&self) -> Transfers {
        <Transfers as NamedExecutor>::new(self.setup.context.chain)
    }

    /// The store of a party that has so many blocks.
    fn store(&self, party: u32, blocks: u64) -> Stored {
        let file = self.folder.path().join(party.to_string());
        let mut store = AttestedStore::open(&file, &self.genesis, Arc::default()).unwrap();
        (0..blocks).for_each(|_| self.commit(&mut store));
        Arc::new(Mutex::new(store))
    }

    /// The next block, which is empty, and what executing it in this slot gives.
    fn next(&self, store: &AttestedStore<Transfers>, slot: Option<Slot>) -> Executed {
        let Committed { height, block: parent, .. } = store.committed().unwrap();
        let height = height.next();
        let mut id = [7; 32];
        id[..8].copy_from_slice(&height.get().to_be_bytes());
        let slot = slot.unwrap_or_else(|| Slot::new(height.get() + 7));
        let block = Block::new(Header { id: BlockId::new(id), parent, height, slot }, Vec::new());
        let executor = self.executor();
        let draft = executor.head(&store.states().view().unwrap(), &block).unwrap();
        let execution = executor.seal(draft, &block).unwrap();
        Executed { block, execution }
    }

    /// One block more, certified by three.
    fn commit(&self, store: &mut AttestedStore<Transfers>) {
        self.commit_in(store, self.setup.context.epoch);
    }

    /// The same, as of this epoch.
    fn commit_in(&self, store: &mut AttestedStore<Transfers>, epoch: EpochId) {
        let Executed { block, execution } = self.next(store, None);
        let Header { id, slot, .. } = block.header;
        let value = Value::new(id.to_bytes());
        let unsigned =
            CertifiedBlock { epoch, slot, value, roots: execution.roots, certificate: () };
        let message = unsigned.statement(self.setup.context.chain).to_bytes();
        let sign = |one: &Identity| (one.me, one.certifier().sign(StateSig::DOMAIN, &message));
        let votes = self.identities.iter().take(3).map(sign).collect();
        let electorate = electorate(&self.setup, Quorum::BYZANTINE).unwrap();
        let certificate =
            Certificate::assemble(&electorate, StateSig::DOMAIN, &message, &votes).unwrap();
        let certificate = StateCertificate { epoch, certificate: certificate.into_inner() };
        store.write_certified(&block, &execution, &certificate).unwrap();
    }

    fn catch_up(&self, store: &Stored) -> CatchUp<Transfers> {
        CatchUp {
            me: Party::new(3),
            setup: Arc::clone(&self.setup),
            quorum: Quorum::BYZANTINE,
            shelf: Shelf {
                executor: Arc::new(self.executor()),
                store: Arc::clone(store),
                beacon: None,
            },
        }
    }

    fn ends(&self) -> Vec<Ends<Silence>> {
        connect_all(&self.setup, &self.identities, |_, _| Duration::ZERO).unwrap()
    }
}

fn library(store: &Stored) -> Arc<dyn Librarian> {
    Arc::new(Library::among_parties(Arc::clone(store), Endings::default()))
}

fn honest(store: &Stored, (outbox, mut inbox): Ends<Silence>) {
    let mut desk = Desk::new(Some(library(store)), Arc::new(outbox));
    let (answers, _) = unbounded_channel();
    tokio::spawn(async move { aside(&mut inbox, &mut desk, &answers, pending()).await });
}

/// Answers so much later.
fn slow(store: &Stored, (outbox, mut inbox): Ends<Silence>, late: Duration) {
    let library = library(store);
    tokio::spawn(async move {
        while let Some(Incoming::Sync(frame)) = inbox.recv().await {
            tokio::time::sleep(late).await;
            outbox.send_sync(frame.from, library.answer(&frame.content).unwrap());
        }
    });
}

/// Says that the chain is long, and changes a byte of everything that it shows of it.
fn liar(store: &Stored, (outbox, mut inbox): Ends<Silence>) {
    let library = library(store);
    tokio::spawn(async move {
        while let Some(Incoming::Sync(frame)) = inbox.recv().await {
            let mut answer = library.answer(&frame.content).unwrap();
            if let Ok(mut summary) = Summary::from_wire(&answer) {
                let all = HeightRange { first: Height::new(1), last: Height::new(1 << 40) };
                (summary.blocks, summary.deltas) = (Some(all), Some(all));
                answer = summary.to_wire();
            } else if let Some(last) = answer.last_mut() {
                *last ^= 1;
            }
            outbox.send_sync(frame.from, answer);
        }
    });
}

/// The party catches up, within a time.
async fn come_back(world: &World, store: &Stored, (outbox, mut inbox): Ends<Silence>) {
    let mut desk = Desk::new(None, Arc::new(outbox.clone()));
    let (to, answers) = unbounded_channel();
    let run = world.catch_up(store).run(Line { links: Arc::new(outbox), answers });
    timeout(SOON, aside(&mut inbox, &mut desk, &to, run)).await.expect("in time");
}

fn committed(store: &Stored) -> Committed {
    lock(store).committed().unwrap()
}

#[tokio::test]
async fn one_liar_neither_stops_nor_misleads_a_party_that_comes_back() {
    let world = World::new();
    let (ahead, own) = (world.store(0, BLOCKS), world.store(3, 10));
    let mut ends = world.ends();
    let mine = ends.pop().unwrap();
    liar(&ahead, ends.pop().unwrap());
    ends.into_iter().for_each(|ends| honest(&ahead, ends));
    come_back(&world, &own, mine).await;
    let here = committed(&own);
    assert!(here.height.after(NEAR) >= Height::new(BLOCKS), "{here:?}");
    let there = lock(&ahead).states().block(here.height).unwrap();
    assert_eq!((here.block, here.roots), (there.header.id, there.roots));
    // What it has shows it to others.
    assert!(lock(&own).states().certificate(here.height).unwrap().is_some());
}

/// Another one that was away, or that lies, and is heard before others.
#[tokio::test]
async fn one_that_says_little_ends_nothing() {
    let world = World::new();
    let (ahead, short, own) = (world.store(0, BLOCKS), world.store(1, 10), world.store(3, 10));
    let mut ends = world.ends();
    let mine = ends.pop().unwrap();
    slow(&ahead, ends.pop().unwrap(), Duration::from_millis(50));
    honest(&ahead, ends.pop().unwrap());
    honest(&short, ends.pop().unwrap());
    come_back(&world, &own, mine).await;
    assert!(committed(&own).height.after(NEAR) >= Height::new(BLOCKS));
}

#[tokio::test]
async fn what_it_executed_itself_and_nobody_certified_is_not_what_it_goes_on_from() {
    let world = World::new();
    let (ahead, own) = (world.store(0, BLOCKS), world.store(3, 10));
    // The next block under its name, and other results.
    let Executed { block, execution } = world.next(&lock(&own), Some(Slot::new(9999)));
    lock(&own).write_optimistic(&block, &execution).unwrap();
    let mut ends = world.ends();
    let mine = ends.pop().unwrap();
    ends.into_iter().for_each(|ends| honest(&ahead, ends));
    come_back(&world, &own, mine).await;
    let next = Height::new(11);
    let [here, there] = [&own, &ahead].map(|store| lock(store).states().block(next).unwrap());
    assert_eq!((here.header, here.roots), (there.header, there.roots));
}

#[tokio::test]
async fn one_that_is_killed_on_the_way_goes_on_from_what_is_durable() {
    let world = World::new();
    let (ahead, own) = (world.store(0, BLOCKS), world.store(3, 10));
    let mut ends = world.ends();
    let mine = ends.pop().unwrap();
    ends.into_iter().for_each(|ends| honest(&ahead, ends));
    let (outbox, mut inbox) = mine;
    let mut desk = Desk::new(None, Arc::new(outbox.clone()));
    let line = |to: &Outbox| {
        let (answers, heard) = unbounded_channel();
        (answers, Line { links: Arc::new(to.clone()), answers: heard })
    };
    let (answers, first) = line(&outbox);
    let on_the_way = async {
        while committed(&own).height < Height::new(20) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let run = world.catch_up(&own).run(first);
    let killed = async {
        tokio::select! { () = run => {}, () = on_the_way => {} }
    };
    timeout(SOON, aside(&mut inbox, &mut desk, &answers, killed)).await.expect("in time");
    let there = committed(&own).height;
    assert!((Height::new(20)..Height::new(BLOCKS - NEAR)).contains(&there), "{there:?}");
    // The last job may still write. Then the file is opened again.
    while Arc::strong_count(&own) > 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(own);
    let own = world.store(3, 0);
    let before = committed(&own).height;
    assert!(before >= there);
    let catch_up = world.catch_up(&own);
    let (answers, second) = line(&outbox);
    let follow = async { drop(catch_up.follow(second, Height::new(BLOCKS)).await.unwrap()) };
    timeout(SOON, aside(&mut inbox, &mut desk, &answers, follow)).await.expect("in time");
    let here = committed(&own);
    let there = lock(&ahead).states().block(here.height).unwrap();
    assert!(here.height.after(NEAR) >= Height::new(BLOCKS));
    assert_eq!((here.block, here.roots), (there.header.id, there.roots));
}

#[tokio::test]
async fn among_liars_alone_it_starts_with_what_it_has() {
    let world = World::new();
    let (ahead, own) = (world.store(0, BLOCKS), world.store(3, 10));
    let before = committed(&own);
    let mut ends = world.ends();
    let mine = ends.pop().unwrap();
    ends.into_iter().for_each(|ends| liar(&ahead, ends));
    come_back(&world, &own, mine).await;
    assert_eq!(committed(&own), before);
}

#[tokio::test]
async fn a_party_that_is_a_little_behind_leaves_it_to_its_engine() {
    let world = World::new();
    let (ahead, own) = (world.store(0, FAR + 10), world.store(3, 10));
    let mut ends = world.ends();
    let mine = ends.pop().unwrap();
    ends.into_iter().for_each(|ends| honest(&ahead, ends));
    come_back(&world, &own, mine).await;
    assert_eq!(committed(&own).height, Height::new(10));
}

#[test]
fn a_node_that_has_begun_again_says_what_it_does_not_know_yet() {
    let world = World::new();
    let store = world.store(0, 3);
    let first = world.setup.context.epoch;
    let ask = |epoch| {
        let (id, accepts) = (RequestId::new(1), Compression::None);
        let request = Request { id, accepts, ask: Ask::Ending(epoch) };
        library(&store).answer(&request.to_wire()).map(drop)
    };
    // There is none: the epoch is not over.
    assert_eq!(ask(first), Ok(()));
    world.commit_in(&mut lock(&store), first.next());
    assert_eq!(ask(first), Err(SyncError::NotYet(first)));
    assert_eq!(ask(first.next()), Ok(()));
}

#[test]
fn so_much_stake_as_may_lie_is_not_believed() {
    let world = World::new();
    let witnesses = Witnesses { setup: Arc::clone(&world.setup), quorum: Quorum::BYZANTINE };
    let believed = |tips: &[(u32, u64)]| {
        let tips = tips.iter().map(|(party, tip)| (Party::new(*party), Height::new(*tip)));
        witnesses.believed(&tips.collect()).map(Height::get)
    };
    assert_eq!(
        (believed(&[]), believed(&[(0, 9)]), believed(&[(9, 9), (8, 9)])),
        (None, None, None)
    );
    assert_eq!(believed(&[(0, 5), (1, 7), (2, 1 << 40)]), Some(7));
    assert_eq!(believed(&[(0, 0), (1, 0), (2, 1 << 40)]), Some(0));
}
