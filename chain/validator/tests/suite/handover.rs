//! Four parties make a key, then hand it over to other stakes: one joins from stake 0, one leaves to 0.
use std::sync::{Arc, LazyLock};

use prefinal_crypto_core::access::Party;
use prefinal_pvss_dkg::Config;
use prefinal_pvss_dkg::protocol::Record;
use prefinal_validator::keygen::{Boundary, Effect, Job, Keygen, KeygenError, Output, Progress};
use prefinal_validator::scheme::{Bls, KeyedScheme, PreviousKey, Wvuf};
use prefinal_validator::setup::{Algorithm, Identity, Plan, PlanError, Setup, found};
use prefinal_weighted_rounding::{Ratio, Stake};

/// The last one joins, the second one leaves.
const STAKES: [[u128; 4]; 2] = [[40, 30, 30, 0], [35, 0, 30, 25]];
const JOINS: usize = 3;
const LEAVES: usize = 1;

struct World {
    setups: [Arc<Setup>; 2],
    identities: Vec<Identity>,
}

fn plan(stakes: [u128; 4]) -> Plan {
    let fast = Ratio::new(9, 10).unwrap();
    Plan::new(stakes.map(Stake::new).to_vec(), Algorithm::Fast, fast).unwrap()
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let (first, identities) = found(&plan(STAKES[0]), 1).unwrap();
    let epoch = first.context.epoch.next();
    let registrations: Vec<_> = identities.iter().map(|one| one.register(epoch)).collect();
    let second = first.next(&plan(STAKES[1]), &registrations).unwrap();
    World { setups: [Arc::new(first), Arc::new(second)], identities }
});

type Transaction = Arc<[u8]>;

/// One party's key generation, and what is on its disk.
struct Node<S: KeyedScheme> {
    setup: &'static Arc<Setup>,
    identity: &'static Identity,
    keygen: Keygen<S>,
    disk: Vec<Record>,
    submitted: Vec<Transaction>,
    told: Vec<String>,
    ready: Option<u64>,
    last: Option<Progress>,
}

impl<S: KeyedScheme> Node<S> {
    fn new(
        epoch: usize,
        party: usize,
        disk: Vec<Record>,
        before: Option<PreviousKey<S>>,
    ) -> Result<Self, KeygenError> {
        let (setup, identity) = (&WORLD.setups[epoch], &WORLD.identities[party]);
        let keygen = Keygen::new(Arc::clone(setup), identity.me, disk.clone(), before)?;
        let mut node = Self {
            setup,
            identity,
            keygen,
            disk,
            submitted: Vec::new(),
            told: Vec::new(),
            ready: None,
            last: None,
        };
        node.settle();
        Ok(node)
    }

    fn settle(&mut self) {
        while let Some(output) = self.keygen.poll() {
            match output {
                Output::Keep(record) | Output::Note(record) => self.disk.push(record),
                Output::Do(Effect::Run(job)) => {
                    self.keygen.checked(job.run(self.setup, self.identity));
                }
                Output::Do(Effect::Submit(one)) => self.submitted.push(one.into()),
                Output::Do(Effect::Dealing { progress, .. }) => self.last = Some(progress),
                Output::Do(Effect::Ready { first_slot }) => self.ready = Some(first_slot),
                Output::Do(Effect::Refused(why)) => self.told.push(why),
                Output::Do(Effect::Accused(fault)) => self.told.push(fault.to_string()),
                Output::Do(Effect::Late(_)) => {}
            }
        }
    }

    fn order(&mut self, round: u64, transactions: &[Transaction]) {
        self.keygen.ordered(round, transactions);
        self.settle();
    }

    fn dealt(&mut self) -> Vec<Transaction> {
        std::mem::take(&mut self.submitted)
    }
}

/// Everybody's transactions are ordered, a block for each party, until nobody has any; the blocks.
fn run<S: KeyedScheme>(nodes: &mut [Node<S>]) -> Vec<Vec<Transaction>> {
    let mut blocks = Vec::new();
    loop {
        let next: Vec<_> =
            nodes.iter_mut().map(Node::dealt).filter(|own| !own.is_empty()).collect();
        if next.is_empty() {
            return blocks;
        }
        for block in next {
            blocks.push(block);
            let round = u64::try_from(blocks.len()).unwrap();
            nodes.iter_mut().for_each(|node| node.order(round, blocks.last().unwrap()));
        }
    }
}

fn first_epoch<S: KeyedScheme>() -> Vec<Node<S>> {
    let mut nodes: Vec<_> =
        (0..4).map(|party| Node::new(0, party, vec![], None).unwrap()).collect();
    run(&mut nodes);
    nodes
}

fn second_epoch<S: KeyedScheme>(first: &[Node<S>]) -> Vec<Node<S>> {
    let next = |(party, node): (usize, &Node<S>)| {
        Node::new(1, party, vec![], node.keygen.handed_over()).unwrap()
    };
    first.iter().enumerate().map(next).collect()
}

/// All have one key, know the same first slot, and hold as many shares as it says.
fn check_ready<S: KeyedScheme>(nodes: &mut [Node<S>]) {
    let (digest, ready) = (nodes[0].keygen.key().unwrap().key.digest(), nodes[0].ready);
    assert!(ready.is_some());
    for node in nodes {
        let key = Arc::clone(node.keygen.key().unwrap());
        assert_eq!((key.key.digest(), node.ready), (digest, ready));
        assert_eq!(node.last, Some(Progress::Qualified));
        let weight = key.key.shape().access().weight(node.identity.me);
        let epoch = node.keygen.take_epoch().unwrap();
        assert_eq!(epoch.own.is_some(), weight > 0);
        if let (Some(own), Some(fast)) = (epoch.own, &key.key.shape().stakes().map(<[_]>::len)) {
            // On both paths, of the four parties of the list.
            assert_eq!((own.fast.is_some(), *fast), (true, 4));
        }
    }
}

fn weights(epoch: usize) -> Vec<u32> {
    let access = WORLD.setups[epoch].keygen.shape().access();
    (0..4).map(|party| access.weight(Party::new(party))).collect()
}

#[test]
fn a_party_of_stake_0_has_no_weight_and_the_next_committee_is_another() {
    let [before, after] = [0, 1].map(weights);
    assert_eq!((before[JOINS], after[LEAVES]), (0, 0));
    assert!(after[JOINS] > 0 && before[LEAVES] > 0);
    let [first, second] = &WORLD.setups;
    assert_eq!(second.context.epoch, first.context.epoch.next());
    assert_eq!(second.context.chain, first.context.chain);
    let stakes =
        |setup: &Setup| setup.members.iter().map(|one| one.stake.get()).collect::<Vec<_>>();
    assert_eq!([stakes(first), stakes(second)], STAKES.map(Vec::from));
    let dealers = second.keygen.dealers().iter().map(|one| one.stake.get());
    assert_eq!(dealers.collect::<Vec<_>>(), STAKES[0]);
}

/// The same set-up, in which dealers encrypt under the keys of another one.
fn with_keys(setup: &Setup, other: &Setup) -> Arc<Setup> {
    let config = &setup.keygen;
    let mut members = config.members().to_vec();
    for (member, other) in members.iter_mut().zip(other.keygen.members()) {
        member.encryption = other.encryption.clone();
    }
    let (session, shape) = (*config.session(), config.shape().clone());
    let (dealers, qualify) = (config.dealers().to_vec(), config.qualify());
    let config = Config::handover(session, shape, members, dealers, qualify).unwrap();
    Arc::new(Setup { keygen: Arc::new(config), ..setup.clone() })
}

#[test]
fn other_parties_and_other_keys_make_no_next_set_up() {
    let [first, _] = &WORLD.setups;
    let epoch = first.context.epoch.next();
    let own: Vec<_> = WORLD.identities.iter().map(|one| one.register(epoch)).collect();
    let few = first.next(&plan(STAKES[1]), &own[1..]).map(drop).unwrap_err();
    assert!(matches!(few, PlanError::Parties { got: 3, expected: 4, .. }), "{few}");
    let swapped: Vec<_> = own.iter().rev().cloned().collect();
    let others = first.next(&plan(STAKES[1]), &swapped).map(drop).unwrap_err();
    assert!(matches!(others, PlanError::Encryption { .. }), "{others}");
    // The keys of the epoch before would open what was dealt in it.
    let used: Vec<_> =
        WORLD.identities.iter().map(|one| one.register(first.context.epoch)).collect();
    let refused = first.next(&plan(STAKES[1]), &used).map(drop).unwrap_err();
    assert!(matches!(refused, PlanError::UsedKey { party } if party.get() == 0), "{refused}");
    let setup = with_keys(&first.next(&plan(STAKES[1]), &own).unwrap(), first);
    let nodes = first_epoch::<Bls>();
    let before = nodes[0].keygen.handed_over();
    let refused = Keygen::<Bls>::new(setup, Party::new(0), vec![], before).map(drop).unwrap_err();
    assert!(matches!(refused, KeygenError::Handover(_)), "{refused}");
}

#[test]
fn the_next_committee_signs_under_the_same_key() {
    let mut first = first_epoch::<Bls>();
    let mut second = second_epoch(&first);
    // As many dealings as shares; who held none has none.
    let owed: Vec<usize> = second.iter().map(|node| node.submitted.len()).collect();
    let before = weights(0);
    assert_eq!(owed, before.iter().map(|one| usize::try_from(*one).unwrap()).collect::<Vec<_>>());
    run(&mut second);
    check_ready(&mut first);
    check_ready(&mut second);
    let [old, new] = [&first, &second].map(|nodes| nodes[0].keygen.key().unwrap());
    assert_eq!(old.key.public_key(), new.key.public_key());
    assert_ne!(old.key.name(), new.key.name());
    let [old, new] = [old, new].map(|key| Bls::public_key(&key.committees.slow).unwrap());
    assert_eq!(old, new);
}

#[test]
fn the_next_committee_of_the_vuf_has_a_key_of_its_own() {
    let mut first = first_epoch::<Wvuf>();
    let mut second = second_epoch(&first);
    run(&mut second);
    check_ready(&mut first);
    check_ready(&mut second);
    let [old, new] = [&first, &second].map(|nodes| nodes[0].keygen.key().unwrap());
    assert_ne!(old.key.public_key(), new.key.public_key());
}

#[test]
fn shares_of_the_key_before_are_wiped_with_the_next_key() {
    let mut first = first_epoch::<Bls>();
    let held =
        |node: &Node<Bls>| Arc::downgrade(node.keygen.handed_over()?.shares.as_ref()?).into();
    let held: Vec<Option<std::sync::Weak<_>>> = first.iter().map(held).collect();
    let kept = || held.iter().flatten().filter(|shares| shares.strong_count() > 0).count();
    assert_eq!((held[JOINS].is_some(), kept()), (false, 3));
    let mut second = second_epoch(&first);
    run(&mut second);
    // The machine of the epoch before has them as long as nobody says so.
    first.iter_mut().for_each(|node| node.keygen.wipe_shares());
    assert_eq!(kept(), 0);
    assert!(first.iter().all(|node| node.keygen.handed_over().unwrap().shares.is_none()));
}

#[test]
fn a_party_that_restarts_in_the_middle_comes_to_the_same() {
    restarts::<Bls>();
    restarts::<Wvuf>();
}

/// The party restarts behind each block of the handover, from its records.
fn restarts<S: KeyedScheme>() {
    let first = first_epoch::<S>();
    let mut second = second_epoch(&first);
    let blocks = run(&mut second);
    check_ready(&mut second);
    let (digest, ready) = (second[0].keygen.key().unwrap().key.digest(), second[0].ready);
    for party in [0, LEAVES, JOINS] {
        let before = || first[party].keygen.handed_over();
        for crash in 0..=blocks.len() {
            let mut node = Node::new(1, party, vec![], before()).unwrap();
            let dealt = node.dealt();
            for (round, block) in (1..).zip(&blocks[..crash]) {
                node.order(round, block);
            }
            let mut node = Node::new(1, party, node.disk, before()).unwrap();
            if crash == 0 {
                assert_eq!(node.submitted, dealt, "what was dealt is not dealt again");
            }
            (1..).zip(&blocks).for_each(|(round, block)| node.order(round, block));
            assert_eq!(node.told, [""; 0], "party {party}, crash {crash}");
            let key = node.keygen.key().unwrap().key.digest();
            assert_eq!((key, node.ready), (digest, ready), "party {party}, crash {crash}");
        }
    }
}

#[test]
fn dealings_of_another_session_do_not_count() {
    other_session::<Bls>();
    other_session::<Wvuf>();
}

/// All that was ordered for the first key is ordered again for the second.
fn other_session<S: KeyedScheme>() {
    let mut first: Vec<Node<S>> =
        (0..4).map(|party| Node::new(0, party, vec![], None).unwrap()).collect();
    let old = run(&mut first);
    let mut second = second_epoch(&first);
    // As they were they are not this key generation's; anybody can write another epoch on them.
    for (round, block) in (1..).zip(&old) {
        second[0].order(round, block);
    }
    assert_eq!((second[0].told.len(), second[0].last), (0, None));
    let renamed = |one: &Transaction| -> Transaction {
        [&one[..1], &1_u64.to_be_bytes()[..], &one[9..]].concat().into()
    };
    for (round, block) in (50..).zip(&old) {
        second[0].order(round, &block.iter().map(renamed).collect::<Vec<_>>());
    }
    let dealings = old.concat().len();
    assert_eq!((second[0].told.len(), second[0].last), (dealings, None));
    assert!(second[0].keygen.key().is_none());
    // Behind them, the right ones make the key.
    let new: Vec<_> = second.iter_mut().flat_map(Node::dealt).collect();
    second[0].order(100, &new);
    assert!(second[0].keygen.key().is_some());
}

#[test]
fn a_party_without_its_shares_deals_nothing_and_takes_part() {
    let first = first_epoch::<Bls>();
    let lost = |party: usize| {
        let before = first[party].keygen.handed_over().unwrap();
        let shares = before.shares.filter(|_| party != 0);
        Node::new(1, party, vec![], Some(PreviousKey { key: before.key, shares })).unwrap()
    };
    let mut second: Vec<Node<Bls>> = (0..4).map(lost).collect();
    assert!(second[0].submitted.is_empty());
    assert!(second[0].told[0].contains("no shares"), "{:?}", second[0].told);
    run(&mut second);
    check_ready(&mut second);
}

#[test]
fn a_dealing_that_was_changed_on_its_way_counts_for_nobody_and_accuses_nobody() {
    let first = first_epoch::<Bls>();
    let mut second = second_epoch(&first);
    let mut changed = second[0].submitted[0].to_vec();
    *changed.last_mut().unwrap() ^= 1;
    let good: Vec<_> = second.iter_mut().flat_map(Node::dealt).collect();
    let block = [vec![Transaction::from(changed)], good].concat();
    for node in &mut second {
        node.order(1, &block);
        assert_eq!(node.told, ["not signed by party 0"]);
    }
    check_ready(&mut second);
}

#[test]
fn the_boundary_is_never_before_what_was_said_of_it() {
    boundaries::<Bls>();
    boundaries::<Wvuf>();
}

/// A party that runs no job before a later block is ordered: whatever it has judged by then, the epoch
/// begins with no earlier slot than it said, and in the end with the same slot as at all others.
fn boundaries<S: KeyedScheme>() {
    let first = first_epoch::<S>();
    let mut second = second_epoch(&first);
    let blocks = run(&mut second);
    let begins = second[0].ready.unwrap();
    for behind in 0..=blocks.len() {
        let (setup, identity) = (&WORLD.setups[1], &WORLD.identities[0]);
        let before = first[0].keygen.handed_over();
        let mut keygen = Keygen::<S>::new(Arc::clone(setup), identity.me, vec![], before).unwrap();
        let mut jobs = std::collections::VecDeque::new();
        let mut last = 0;
        for (round, block) in (1..).zip(&blocks) {
            keygen.ordered(round, block);
            if usize::try_from(round).unwrap() > behind {
                while let Some(job) = next_job(&mut keygen, &mut jobs) {
                    keygen.checked(Job::run(&job, setup, identity));
                    last = bounded(&keygen, round, begins, last);
                }
            }
            last = bounded(&keygen, round, begins, last);
        }
        while let Some(job) = next_job(&mut keygen, &mut jobs) {
            keygen.checked(Job::run(&job, setup, identity));
        }
        let next = u64::try_from(blocks.len()).unwrap() + 1;
        assert_eq!(keygen.boundary(next), Boundary::At(begins), "{behind} blocks behind");
        // Where the epoch begins may depend on more than these keys, so the slot stays undecided until that is told.
        assert_eq!(keygen.undecided(next) + setup.lead, begins);
    }
}

fn next_job<S: KeyedScheme>(
    keygen: &mut Keygen<S>,
    jobs: &mut std::collections::VecDeque<Job<S>>,
) -> Option<Job<S>> {
    while let Some(output) = keygen.poll() {
        if let Output::Do(Effect::Run(job)) = output {
            jobs.push_back(job);
        }
    }
    jobs.pop_front()
}

/// What is said now, which never takes back what was said before.
fn bounded<S: KeyedScheme>(keygen: &Keygen<S>, round: u64, begins: u64, last: u64) -> u64 {
    let said = match keygen.boundary(round + 1) {
        Boundary::NotBefore(slot) => slot,
        Boundary::At(slot) => {
            assert_eq!(slot, begins);
            slot
        }
    };
    assert!(last <= said && said <= begins, "{last}, {said}, {begins}");
    said
}
