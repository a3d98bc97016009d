//! Three epochs out of one order: two parties join, one leaves.
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, LazyLock};

use prefinal_crypto_core::context::EpochId;
use prefinal_engine::Block;
use prefinal_protocol::{Party, Slot, Value};
use prefinal_pvss_dkg::protocol::Record;
use prefinal_validator::handovers::Handovers;
use prefinal_validator::keygen::{Effect, Job, Output};
use prefinal_validator::scheme::{Bls, KeyedScheme, Wvuf};
use prefinal_validator::setup::{Algorithm, Decision, Identity, Plan, Setup, Succession, found};
use prefinal_validator::transaction::{Kind, SignedKeys};
use prefinal_weighted_rounding::{Ratio, Stake};

const STAKES: [[u128; 5]; 3] = [[40, 30, 30, 0, 0], [35, 25, 20, 20, 0], [30, 0, 25, 25, 20]];
/// Blocks that name the next committee.
const NAMED: [u64; 2] = [3, 40];

struct World {
    setups: Vec<Arc<Setup>>,
    identities: Vec<Identity>,
}

fn plan(stakes: [u128; 5]) -> Plan {
    let fast = Ratio::new(9, 10).unwrap();
    Plan::new(stakes.map(Stake::new).to_vec(), Algorithm::Fast, fast).unwrap()
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let (mut first, identities) = found(&plan(STAKES[0]), 1).unwrap();
    first.succession = Some(Arc::new(NamedCommittee));
    let mut setups = vec![first];
    for stakes in &STAKES[1..] {
        let before = setups.last().unwrap();
        let epoch = before.context.epoch.next();
        let registrations: Vec<_> = identities.iter().map(|one| one.register(epoch)).collect();
        setups.push(before.next(&plan(*stakes), &registrations).unwrap());
    }
    World { setups: setups.into_iter().map(Arc::new).collect(), identities }
});

struct NamedCommittee;

impl Succession for NamedCommittee {
    fn next(&self, current: &Setup, slot: Slot, _: &Block) -> Decision {
        let epoch = usize::try_from(current.context.epoch.get()).unwrap();
        let named = NAMED.get(epoch).is_some_and(|named| slot.get() >= *named);
        let next = named.then(|| Arc::clone(&WORLD.setups[epoch + 1]));
        Decision { next, refused: Vec::new() }
    }
}

/// A party, its disk, and jobs that have not returned.
struct Node<S: KeyedScheme> {
    identity: &'static Identity,
    handovers: Handovers<S>,
    jobs: VecDeque<(EpochId, Job<S>)>,
    disk: BTreeMap<EpochId, Vec<Record>>,
    submitted: Vec<Arc<[u8]>>,
    /// First slots, and group keys, of the epochs.
    boundaries: Vec<u64>,
    ready: Vec<EpochId>,
    /// Whose keys came when those of their epoch sufficed.
    late: Vec<(EpochId, Party)>,
}

impl<S: KeyedScheme> Node<S> {
    fn new(party: usize, disk: BTreeMap<EpochId, Vec<Record>>) -> Self {
        let (setup, identity) = (Arc::clone(&WORLD.setups[0]), &WORLD.identities[party]);
        let handovers = Handovers::new(setup, identity.me, disk.clone()).unwrap();
        let (jobs, submitted) = (VecDeque::new(), Vec::new());
        let (boundaries, ready) = (Vec::new(), Vec::new());
        let late = Vec::new();
        Self { identity, handovers, jobs, disk, submitted, boundaries, ready, late }
    }

    fn settle(&mut self) {
        while let Some((epoch, output)) = self.handovers.poll() {
            match output {
                Output::Keep(record) | Output::Note(record) => {
                    self.disk.entry(epoch).or_default().push(record);
                }
                Output::Do(Effect::Run(job)) => self.jobs.push_back((epoch, job)),
                Output::Do(Effect::Submit(one)) => self.submitted.push(one.into()),
                Output::Do(Effect::Ready { .. }) => self.ready.push(epoch),
                Output::Do(Effect::Late(keys)) => self.late.push((epoch, keys.party)),
                Output::Do(_) => {}
            }
        }
    }

    fn work(&mut self, jobs: usize) {
        self.settle();
        for _ in 0..jobs {
            let Some((epoch, job)) = self.jobs.pop_front() else { break };
            let setup = &WORLD.setups[usize::try_from(epoch.get()).unwrap()];
            self.handovers.checked(epoch, job.run(setup, self.identity)).unwrap();
            self.settle();
        }
    }

    /// A block becomes final, if the party may say so by now.
    fn order(&mut self, slot: u64, block: &Block) -> bool {
        self.cross();
        if self.handovers.limit().is_none_or(|limit| Slot::new(slot) >= limit) {
            return false;
        }
        self.handovers.ordered(Slot::new(slot), Some(block)).unwrap();
        self.cross();
        self.settle();
        true
    }

    fn cross(&mut self) {
        let boundary = self.handovers.boundary();
        if self.handovers.crossing().is_some() {
            self.handovers.cross();
            self.boundaries.push(boundary.unwrap().get());
        }
    }
}

const SLOTS: u64 = 80;

/// All parties work at once; the order that comes of it, and where epochs begin.
fn lead<S: KeyedScheme>() -> (Vec<Block>, Vec<u64>) {
    let mut nodes: Vec<Node<S>> = (0..5).map(|party| Node::new(party, BTreeMap::new())).collect();
    let mut blocks = Vec::new();
    for slot in 1..=SLOTS {
        nodes.iter_mut().for_each(|node| node.work(usize::MAX));
        let next = nodes.iter_mut().find(|node| !node.submitted.is_empty());
        let transactions = next.map(|node| std::mem::take(&mut node.submitted)).unwrap_or_default();
        let block = Block { value: Value::new([1; 32]), transactions };
        nodes.iter_mut().for_each(|node| assert!(node.order(slot, &block)));
        blocks.push(block);
    }
    nodes.iter_mut().for_each(|node| node.work(usize::MAX));
    for node in &nodes {
        assert_eq!(node.boundaries, nodes[0].boundaries);
        assert_eq!(node.ready.len(), 3, "{:?}", node.ready);
    }
    assert_eq!(nodes[0].boundaries.len(), 2);
    (blocks, nodes[0].boundaries.clone())
}

/// A party's keys that are ordered behind its epoch's end count there all the same, until that is done with.
#[test]
fn keys_that_come_behind_the_end_of_their_epoch_count_in_it() {
    for retired in [false, true] {
        let mut nodes: Vec<Node<Wvuf>> =
            (0..5).map(|party| Node::new(party, BTreeMap::new())).collect();
        let (mut held, mut slot) = (None, 0);
        let mut order = |nodes: &mut Vec<Node<Wvuf>>, transactions| {
            slot += 1;
            let block = Block { value: Value::new([1; 32]), transactions };
            nodes.iter_mut().for_each(|node| assert!(node.order(slot, &block)));
            nodes.iter_mut().for_each(|node| node.work(usize::MAX));
        };
        while nodes[0].boundaries.is_empty() {
            nodes.iter_mut().for_each(|node| node.work(usize::MAX));
            let mut submitted: Vec<_> =
                nodes.iter_mut().flat_map(|node| std::mem::take(&mut node.submitted)).collect();
            let is_held = |one: &Arc<[u8]>| {
                let split = Kind::split(one);
                matches!(split, Some((Kind::Keys, epoch, _)) if epoch.get() == 0)
                    && SignedKeys::claimed_party(one) == Some(Party::new(2))
            };
            held = held.or(submitted.iter().find(|one| is_held(one)).cloned());
            submitted.retain(|one| !is_held(one));
            order(&mut nodes, submitted);
        }
        if retired {
            nodes.iter_mut().for_each(|node| node.handovers.retire(EpochId::new(0)));
        }
        order(&mut nodes, vec![held.unwrap()]);
        let late = if retired { vec![] } else { vec![(EpochId::new(0), Party::new(2))] };
        assert!(nodes.iter().all(|node| node.late == late));
    }
}

#[test]
fn three_epochs_begin_where_everybody_says() {
    follows::<Bls>();
    follows::<Wvuf>();
}

/// Parties that judge slowly, or restart, come to the same boundaries.
fn follows<S: KeyedScheme>() {
    let (blocks, boundaries) = lead::<S>();
    for (party, every) in [(0, 1), (1, 3), (4, 7)] {
        let mut node = Node::<S>::new(party, BTreeMap::new());
        let mut held = 0;
        for (slot, block) in (1..).zip(&blocks) {
            if slot % every == 0 {
                node.work(1);
            }
            while !node.order(slot, block) {
                held += 1;
                assert!(!node.jobs.is_empty(), "held back with nothing to judge");
                node.work(1);
            }
        }
        node.work(usize::MAX);
        assert_eq!((node.boundaries, node.ready.len()), (boundaries.clone(), 3), "{party}, {held}");
    }
    for crash in (0..SLOTS).step_by(9) {
        let mut node = Node::<S>::new(3, BTreeMap::new());
        let crash_at = usize::try_from(crash).unwrap();
        for (slot, block) in (1..).zip(&blocks[..crash_at]) {
            node.work(usize::MAX);
            assert!(node.order(slot, block));
        }
        let mut node = Node::<S>::new(3, node.disk);
        for (slot, block) in (1..).zip(&blocks) {
            node.work(usize::MAX);
            assert!(node.order(slot, block));
        }
        node.work(usize::MAX);
        assert_eq!((node.boundaries, node.ready.len()), (boundaries.clone(), 3), "crash {crash}");
    }
}
