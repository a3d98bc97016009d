//! Participants behind drivers whose chain changes its committee by transactions: one joins that nobody knew
//! at the start, one is removed while it is offline, and the key stays.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prefinal_beacon::stack::{Envelope, OneOf};
use prefinal_beacon::{Life, MultiSig, Slot, Value, View};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{ChainId, EpochId};
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::threshold;
use prefinal_driver::{Driver, MessageError, Options, Receiver, StopReason, Task};
use prefinal_engine::{Block, Quorum};
use prefinal_journal::Memory;
use prefinal_protocol::Recipient;
use prefinal_validator::Event;
use prefinal_validator::change::{Application, ApprovedChanges, Change, Draft};
use prefinal_validator::keygen::KeygenError;
use prefinal_validator::participant::{Effect, Host, Participant, Record};
use prefinal_validator::scheme::{Bls, KeyedScheme, Wvuf};
use prefinal_validator::setup::{Algorithm, Identity, Plan, Setup};
use prefinal_weighted_rounding::{Ratio, Stake};

const STAKES: [u128; 4] = [30, 30, 20, 20];
/// The fifth party joins.
const JOINED: [u128; 5] = [30, 30, 20, 20, 25];
/// The fourth is removed.
const REMOVED: [u128; 5] = [30, 30, 20, 0, 25];

const VALUE: Value = Value::new([7; 32]);
const NEWCOMER: Party = Party::new(4);
const GOES: Party = Party::new(3);

/// Certificates beside the randomness, whose signers change too.
type Beside = (MultiSig, ());
type Machine<S> = Participant<S, Beside>;
type Message<S> = Envelope<(S, Beside)>;
type Started<S> = (Driver<Machine<S>>, Receiver<Effect<S, Beside>>);

fn identity(number: u32) -> Arc<Identity> {
    let seed = [u8::try_from(number + 1).unwrap(); 32];
    Arc::new(Identity::from_seed(Party::new(number), Secret::new(seed)))
}

fn genesis() -> Arc<Setup> {
    let registrations: Vec<_> = (0..4).map(|number| identity(number).registration()).collect();
    let stakes = STAKES.map(Stake::new).to_vec();
    let plan = Plan::new(stakes, Algorithm::Fast, Ratio::new(9, 10).unwrap()).unwrap();
    let setup = Setup::new(ChainId::new([7; 32]), &plan, &registrations).unwrap();
    Arc::new(Setup { succession: Some(Arc::new(ApprovedChanges)), ..setup })
}

/// A pool that runs each job before it returns.
fn here(task: Task) {
    task();
}

/// What one party has and has shown.
struct Node<S: KeyedScheme> {
    identity: Arc<Identity>,
    journal: Arc<Mutex<Memory>>,
    started: Started<S>,
    online: bool,
    lives: u8,
    shown: BTreeMap<u64, S::Output>,
    certified: BTreeSet<u64>,
    entered: Vec<Arc<Setup>>,
    named: Vec<(u64, u64)>,
    refused: Vec<(u64, usize, &'static str)>,
    halted: Option<String>,
    /// Epochs under which it has sent a partial.
    signed: BTreeSet<EpochId>,
    /// The slots that it was told are final.
    heard: u64,
}

/// The engine, the parties, and everything between them in the order in which it was sent.
struct Net<S: KeyedScheme> {
    genesis: Arc<Setup>,
    nodes: Vec<Node<S>>,
    mempool: Vec<Arc<[u8]>>,
    queue: VecDeque<(Party, Recipient<Party>, Vec<u8>)>,
    chain: Vec<Block>,
    committees: BTreeMap<EpochId, (Slot, S::Committee)>,
    strangers: usize,
}

fn start<S: KeyedScheme>(
    setup: &Arc<Setup>,
    identity: &Arc<Identity>,
    journal: &Arc<Mutex<Memory>>,
    life: Life,
) -> Started<S> {
    let host = Host::new(Quorum::BYZANTINE, Some(0));
    let build = |records: Vec<Record>| -> Result<_, KeygenError> {
        Participant::new(setup, identity, life, records, host)
    };
    Driver::start(build, Arc::clone(journal), here, Options::default()).unwrap()
}

impl<S: KeyedScheme> Net<S> {
    fn new() -> Self {
        let mut net = Self {
            genesis: genesis(),
            nodes: Vec::new(),
            mempool: Vec::new(),
            queue: VecDeque::new(),
            chain: Vec::new(),
            committees: BTreeMap::new(),
            strangers: 0,
        };
        for number in 0..4 {
            net.join(identity(number));
        }
        net
    }

    /// A party starts with the genesis and an empty journal, and hears of all blocks.
    fn join(&mut self, identity: Arc<Identity>) -> usize {
        let journal = Arc::new(Mutex::new(Memory::new()));
        let started = start(&self.genesis, &identity, &journal, Life::First);
        self.nodes.push(Node {
            identity,
            journal,
            started,
            online: true,
            lives: 1,
            shown: BTreeMap::new(),
            certified: BTreeSet::new(),
            entered: Vec::new(),
            named: Vec::new(),
            refused: Vec::new(),
            halted: None,
            signed: BTreeSet::new(),
            heard: 0,
        });
        let at = self.nodes.len() - 1;
        self.carry_out(at);
        self.hear(at);
        at
    }

    fn restart(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        let left = node.journal.lock().unwrap().after_crash(0);
        node.journal = Arc::new(Mutex::new(left));
        node.lives += 1;
        let life = Life::later([node.lives; 16]);
        node.started = start(&self.genesis, &node.identity, &node.journal, life);
        node.entered.clear();
        self.carry_out(at);
    }

    fn go_online(&mut self, at: usize) {
        self.nodes[at].online = true;
        self.hear(at);
        self.deliver();
    }

    /// Tells a party the final blocks that it has not heard of.
    fn hear(&mut self, at: usize) {
        while self.nodes[at].halted.is_none()
            && let Some(block) =
                self.chain.get(usize::try_from(self.nodes[at].heard).unwrap()).cloned()
        {
            let slot = Slot::new(self.nodes[at].heard + 1);
            self.nodes[at].heard = slot.get();
            let told = self.nodes[at].started.0.on_finalize(slot, Some(block));
            self.carry_out(at);
            match told {
                Err(StopReason::Halted(why)) => self.nodes[at].halted = Some(why),
                told => told.unwrap(),
            }
        }
    }

    fn carry_out(&mut self, at: usize) {
        while let Ok(effect) = self.nodes[at].started.1.try_recv() {
            let node = &mut self.nodes[at];
            let party = node.identity.me;
            match effect {
                Effect::Send { to, envelope } => self.post(at, to, &envelope),
                Effect::Submit { transaction, .. } => self.mempool.push(transaction.into()),
                Effect::Enter { setup, .. } => node.entered.push(setup),
                Effect::Tell(Event::Revealed(reveal)) => {
                    let slot = reveal.slot.get();
                    let before = node.shown.insert(slot, reveal.output.clone());
                    assert!(before.is_none_or(|before| before == reveal.output), "{party}, {slot}");
                }
                Effect::Tell(Event::Ready { epoch, first_slot, committees }) => {
                    let known = self.committees.insert(epoch, (first_slot, committees.slow));
                    assert!(known.is_none_or(|(first, _)| first == first_slot), "{epoch}");
                }
                Effect::Tell(Event::Named { epoch, slot }) => {
                    node.named.push((epoch.get(), slot.get()));
                }
                Effect::Tell(Event::ChangeRefused { slot, change }) => {
                    node.refused.push((slot.get(), change.position, change.error.code()));
                }
                Effect::Tell(Event::Accused { fault, .. }) => panic!("{party}: {fault}"),
                Effect::Beside(OneOf::First(prefinal_beacon::epochs::Effect::Of {
                    effect: prefinal_beacon::Effect::Reveal(reveal),
                    ..
                })) => drop(node.certified.insert(reveal.slot.get())),
                _ => {}
            }
        }
    }

    fn post(&mut self, at: usize, to: Recipient<Party>, message: &Message<S>) {
        let is_partial = |one: &OneOf<_, _>| {
            matches!(one, OneOf::First(prefinal_beacon::Message::Partial { .. }))
        };
        let node = &mut self.nodes[at];
        if message.messages().iter().any(is_partial) {
            node.signed.insert(message.epoch());
        }
        if node.online {
            self.queue.push_back((node.identity.me, to, borsh::to_vec(message).unwrap()));
        }
    }

    fn deliver(&mut self) {
        while let Some((from, to, bytes)) = self.queue.pop_front() {
            for at in 0..self.nodes.len() {
                let Node { identity, online, halted, .. } = &self.nodes[at];
                let is_for = to == Recipient::All || to == Recipient::One(identity.me);
                if identity.me != from && is_for && *online && halted.is_none() {
                    let message = borsh::from_slice(&bytes).unwrap();
                    match self.nodes[at].started.0.on_message(from, message) {
                        Err(MessageError::NotMember { .. }) => self.strangers += 1,
                        told => told.unwrap(),
                    }
                    self.carry_out(at);
                }
            }
        }
    }

    /// One slot of an engine that knows nothing of epochs.
    fn order(&mut self) {
        let slot = Slot::new(u64::try_from(self.chain.len()).unwrap() + 1);
        let transactions = std::mem::take(&mut self.mempool);
        let block = Block { value: VALUE, transactions };
        let online: Vec<_> = (0..self.nodes.len())
            .filter(|at| self.nodes[*at].online && self.nodes[*at].halted.is_none())
            .collect();
        for at in &online {
            let driver = &self.nodes[*at].started.0;
            let vote = driver.on_prefinalize(slot, View::new(slot, 0), block.value).unwrap();
            vote.iter().for_each(|message| self.post(*at, Recipient::All, message));
            self.carry_out(*at);
        }
        self.deliver();
        self.chain.push(block);
        online.iter().for_each(|at| self.hear(*at));
        self.deliver();
        self.ask(&online, slot.get());
    }

    /// What a restart has lost of the peers' words is asked for when it is time.
    fn ask(&mut self, online: &[usize], slot: u64) {
        for _ in 0..8 {
            let lacks = |node: &Node<S>| {
                let first = node.certified.first().is_some_and(|first| *first <= slot);
                first && !(node.certified.contains(&slot) && node.shown.contains_key(&slot))
            };
            if !online.iter().any(|at| lacks(&self.nodes[*at])) {
                return;
            }
            let due = online.iter().filter_map(|at| self.nodes[*at].started.0.next_tick().unwrap());
            std::thread::sleep(due.min().unwrap_or_default());
            for at in online {
                self.nodes[*at].started.0.tick().unwrap();
                self.carry_out(*at);
            }
            self.deliver();
        }
    }

    /// Orders slots until this party is in that epoch and has shown some of its values.
    fn run_to(&mut self, at: usize, epoch: u64, values: usize) {
        for _ in 0..60 {
            let first = self.committees.get(&EpochId::new(epoch)).map(|(first, _)| first.get());
            let shown = first.map_or(0, |first| self.nodes[at].shown.range(first..).count());
            if shown >= values {
                return;
            }
            self.order();
        }
        panic!("no values of epoch {epoch} in {} slots", self.chain.len());
    }

    /// The set-up of the epoch that this party is in.
    fn current(&self, at: usize) -> &Arc<Setup> {
        self.nodes[at].entered.last().unwrap_or(&self.genesis)
    }

    /// A change that these parties consent to.
    fn change(&self, stakes: &[u128], newcomers: Vec<Application>, by: &[usize]) -> Change {
        let current = self.current(by[0]);
        let stakes = stakes.iter().copied().map(Stake::new).collect();
        let draft = Draft::new(current, stakes, newcomers).unwrap();
        let consents = by.iter().map(|at| draft.approve(&self.nodes[*at].identity));
        draft.clone().merge(current, consents.collect::<Vec<_>>()).unwrap()
    }

    fn submit(&mut self, change: &Change) {
        self.mempool.push(change.to_transaction().into());
    }

    fn applies(&self, newcomer: &Identity) -> Application {
        let context = &self.current(0).context;
        Application::new(newcomer, context.chain, context.epoch.next())
    }

    /// Everybody who is there has the same values, without a gap, since the chain's or its own first one.
    fn check_values(&self) {
        let first = |epoch| self.committees[&EpochId::new(epoch)].0.get();
        let last = u64::try_from(self.chain.len()).unwrap();
        let values = |node: &Node<S>| {
            let first = if node.identity.me == NEWCOMER { first(1) } else { first(0) };
            assert!(node.shown.keys().copied().eq(first..=last), "{}", node.identity.me);
            assert!(node.certified.iter().copied().eq(first..=last), "{}", node.identity.me);
            assert!(node.shown.iter().all(|(slot, value)| self.nodes[0].shown[slot] == *value));
        };
        self.nodes.iter().filter(|node| node.online).for_each(values);
    }
}

/// The values are the rounds of one chain under one key, whatever parties hold the shares.
fn check_key(net: &Net<Bls>) {
    let (first, committee) = &net.committees[&EpochId::new(0)];
    for (_, other) in net.committees.values() {
        assert_eq!(Bls::public_key(other), Bls::public_key(committee));
    }
    for (slot, value) in &net.nodes[0].shown {
        let round = RoundNumber::new(slot - first.get() + 1).unwrap();
        assert_eq!(committee.verify_result(&threshold::Message::round(round), value), Ok(()));
    }
}

#[test]
fn one_joins_and_one_is_removed_while_it_is_offline() {
    let mut net = Net::<Bls>::new();
    net.run_to(0, 0, 3);
    // Nobody has heard of the newcomer. It applies, and follows the chain from the genesis on.
    let newcomer = identity(NEWCOMER.get());
    let joins = net.change(&JOINED, vec![net.applies(&newcomer)], &[0, 1, 2, 3]);
    let at = net.join(newcomer);
    net.submit(&joins);
    // Ordered twice, in one block and again while the handover runs.
    net.submit(&joins);
    net.order();
    net.submit(&joins);
    net.run_to(at, 1, 3);
    assert!(net.nodes[at].signed.contains(&EpochId::new(1)), "it takes part");
    let parties = net.current(at).members.len();
    assert_eq!((parties, net.current(0).members.len()), (5, 5));
    // In the middle of its first epoch.
    net.restart(at);
    net.order();
    net.run_to(at, 1, 6);
    net.check_values();
    assert_eq!(net.strangers, 0, "there is room for what the newcomer says");

    net.nodes[GOES.index()].online = false;
    let removed = net.change(&REMOVED, vec![], &[0, 1, 2, at]);
    // The change before, again: it makes an epoch that is here.
    net.submit(&joins);
    net.submit(&removed);
    net.run_to(at, 2, 4);
    net.check_values();
    check_key(&net);
    let holds = |slot: u64, change: &Change| {
        let block = &net.chain[usize::try_from(slot - 1).unwrap()];
        block.transactions.iter().any(|one| **one == *change.to_transaction())
    };
    let named = &net.nodes[0].named;
    assert!(
        matches!(named[..], [(1, first), (2, second)]
        if holds(first, &joins) && holds(second, &removed)),
        "{named:?}"
    );
    let refused = &net.nodes[0].refused;
    assert!(matches!(refused[..], [(_, _, "other-epoch")]), "{refused:?}");
    assert!(net.nodes.iter().filter(|node| node.online).all(|node| node.refused == *refused));
    it_comes_back_and_finds_that_it_has_left(&mut net);
}

fn it_comes_back_and_finds_that_it_has_left(net: &mut Net<Bls>) {
    assert_eq!(net.current(GOES.index()).context.epoch, EpochId::new(1));
    net.go_online(GOES.index());
    net.order();
    let gone = &net.nodes[GOES.index()];
    assert_eq!(net.current(GOES.index()).context.epoch, EpochId::new(2));
    assert!(!gone.signed.contains(&EpochId::new(2)), "it has no share of the key");
    // When it has the values of its last epoch too, the secrets of that epoch are wiped.
    let last = u64::try_from(net.chain.len()).unwrap();
    for _ in 0..16 {
        if net.nodes[GOES.index()].shown.contains_key(&last) {
            break;
        }
        std::thread::sleep(Duration::from_millis(300));
        net.nodes[GOES.index()].started.0.tick().unwrap();
        net.carry_out(GOES.index());
        net.deliver();
    }
    let gone = &net.nodes[GOES.index()];
    assert!(gone.shown.contains_key(&last), "{:?}", gone.shown.keys());
    let holds = |participant: &mut Machine<Bls>| {
        let beacon = |epoch| participant.beacon(EpochId::new(epoch)).unwrap();
        (beacon(1).holds_secrets(), beacon(2).holds_secrets())
    };
    assert_eq!(gone.started.0.change(holds).unwrap(), (false, false));
    assert_eq!(net.nodes[0].started.0.change(holds).unwrap(), (false, true));
    assert!(!gone.signed.contains(&EpochId::new(2)), "it has no share of the key");
}

/// With a fresh key in each epoch. The newcomer starts long after its first epoch has begun.
#[test]
fn a_newcomer_that_is_late_finds_its_place() {
    let mut net = Net::<Wvuf>::new();
    net.run_to(0, 0, 2);
    let newcomer = identity(NEWCOMER.get());
    let joins = net.change(&JOINED, vec![net.applies(&newcomer)], &[0, 1, 2, 3]);
    net.submit(&joins);
    net.run_to(0, 1, 3);
    let at = net.join(newcomer);
    assert!(net.nodes[at].signed.contains(&EpochId::new(1)), "it takes part");
    net.run_to(at, 1, 12);
    net.check_values();
    assert_eq!(net.strangers, 0);
}

/// A number is given once, and a party that was removed may come back to its own.
#[test]
fn a_party_returns_and_the_next_newcomer_gets_the_next_number() {
    let mut net = Net::<Bls>::new();
    net.run_to(0, 0, 1);
    let fifth = identity(4);
    // One joins while one leaves.
    let swap = net.change(&REMOVED, vec![net.applies(&fifth)], &[0, 1, 2, 3]);
    let at = net.join(fifth);
    net.submit(&swap);
    net.run_to(at, 1, 2);
    let sixth = identity(5);
    let stakes = [30, 30, 20, 20, 25, 25];
    let grows = net.change(&stakes, vec![net.applies(&sixth)], &[0, 1, 2, 3, at]);
    let last = net.join(sixth);
    net.submit(&grows);
    net.run_to(last, 2, 3);
    for node in [GOES.index(), at, last] {
        assert!(net.nodes[node].signed.contains(&EpochId::new(2)), "{node}");
        assert_eq!(net.current(node).members.len(), 6);
    }
    assert!(!net.nodes[GOES.index()].signed.contains(&EpochId::new(1)));
    check_key(&net);
}

/// Its number went to another newcomer, or is that of a member. It must not open what it has no key for.
#[test]
fn a_party_whose_number_is_anothers_stops() {
    let mut net = Net::<Bls>::new();
    net.run_to(0, 0, 1);
    let newcomer = identity(NEWCOMER.get());
    let joins = net.change(&JOINED, vec![net.applies(&newcomer)], &[0, 1, 2, 3]);
    let other = Identity::from_seed(NEWCOMER, Secret::new([99; 32]));
    let other = net.join(Arc::new(other));
    net.submit(&joins);
    for _ in 0..3 {
        net.order();
    }
    let why = net.nodes[other].halted.as_ref().unwrap();
    assert!(why.contains("party 4 of epoch 1 is another party"), "{why}");
    let member = Arc::new(Identity::from_seed(Party::new(0), Secret::new([99; 32])));
    let host = Host::new(Quorum::BYZANTINE, Some(0));
    let made = Participant::<Bls>::new(&net.genesis, &member, Life::First, Vec::new(), host);
    assert!(matches!(made.err(), Some(KeygenError::OtherIdentity { .. })));
}

/// It may have its keys before others have theirs, and what it says then counts.
#[test]
fn there_is_room_for_a_newcomer_as_soon_as_it_is_named() {
    let mut net = Net::<Bls>::new();
    net.run_to(0, 0, 1);
    let newcomer = identity(NEWCOMER.get());
    let joins = net.change(&JOINED, vec![net.applies(&newcomer)], &[0, 1, 2, 3]);
    let say = |net: &Net<Bls>| {
        let request = prefinal_beacon::Message::Request { slot: Slot::new(99) };
        let message = Envelope::one(EpochId::new(1), OneOf::First(request));
        net.nodes[0].started.0.on_message(NEWCOMER, message)
    };
    assert!(matches!(say(&net), Err(MessageError::NotMember { members: 4, .. })));
    net.submit(&joins);
    net.order();
    assert_eq!(net.nodes[0].named.len(), 1);
    assert!(!net.committees.contains_key(&EpochId::new(1)));
    assert!(say(&net).is_ok());
}
