//! Participants behind drivers, around an engine of somebody else's that orders the slots of all epochs:
//! they make a key, hand it over twice, and crash anywhere.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU64;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use prefinal_beacon::stack::{Envelope, OneOf};
use prefinal_beacon::{Function, Life, MultiSig, Path, Slot, Value, View, epochs};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::{Elector, Electorate};
use prefinal_crypto_core::context::EpochId;
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_crypto_core::threshold;
use prefinal_driver::{Driver, MessageError, Options, Receiver, StopReason, Task};
use prefinal_engine::{Block, Quorum};
use prefinal_journal::Memory;
use prefinal_protocol::Recipient;
use prefinal_validator::Event;
use prefinal_validator::fixed::FixedCommittees;
use prefinal_validator::keygen::KeygenError;
use prefinal_validator::participant::{Effect, Host, Participant, Record};
use prefinal_validator::scheme::{Bls, KeyedScheme, Wvuf};
use prefinal_validator::setup::{Algorithm, Decision, Identity, Plan, Setup, Succession, found};
use prefinal_weighted_rounding::{Ratio, Stake};

/// Who has how much stake in each epoch: the last joins, the second leaves.
const STAKES: [[u128; 5]; 3] = [[30, 30, 20, 20, 0], [25, 30, 20, 0, 25], [25, 0, 25, 25, 25]];
const LAST: u64 = 36;
const VALUE: Value = Value::new([7; 32]);
/// The party that crashes.
const CRASHES: Party = Party::new(2);

struct World {
    setup: Arc<Setup>,
    identities: Vec<Arc<Identity>>,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let plan = |stakes: [u128; 5]| {
        let stakes = stakes.map(Stake::new).to_vec();
        Plan::new(stakes, Algorithm::Fast, Ratio::new(9, 10).unwrap()).unwrap()
    };
    let (setup, identities) = found(&plan(STAKES[0]), 1).unwrap();
    let plans = [plan(STAKES[1]), plan(STAKES[2])];
    let every = NonZeroU64::new(8).unwrap();
    let setup = FixedCommittees::chain(setup, &plans, identities.iter(), every).unwrap();
    let succession =
        setup.succession.clone().map(|rota| -> Arc<dyn Succession> { Arc::new(Ends(rota)) });
    World {
        setup: Arc::new(Setup { succession, ..setup }),
        identities: identities.into_iter().map(Arc::new).collect(),
    }
});

/// Certificates beside the randomness.
type Beside = (MultiSig, ());
type Machine<S> = Participant<S, Beside>;
type Message<S> = Envelope<(S, Beside)>;
/// Decides on two committees; the last one stays.
struct Ends(Arc<dyn Succession>);

impl Succession for Ends {
    fn next(&self, current: &Setup, slot: Slot, block: &Block) -> Decision {
        let decision = self.0.next(current, slot, block);
        let next = decision.next.map(|next| {
            let is_last = next.context.epoch == EpochId::new(2);
            let succession = next.succession.clone().filter(|_| !is_last);
            Arc::new(Setup { succession, ..(*next).clone() })
        });
        Decision { next, ..decision }
    }
}

type Started<S> = (Driver<Machine<S>>, Receiver<Effect<S, Beside>>);

const HOST: Host = Host::new(Quorum::BYZANTINE, Some(0));

/// A pool that runs each job before it returns.
fn here(task: Task) {
    task();
}

/// Values, and the paths on which they came.
type Values<S> = BTreeMap<u64, (<S as Function>::Output, Path)>;

/// The engine, the parties, and everything between them in the order in which it was sent.
struct Net<S: KeyedScheme> {
    journals: Vec<Arc<Mutex<Memory>>>,
    drivers: Vec<Started<S>>,
    mempool: Vec<Arc<[u8]>>,
    queue: VecDeque<(Party, Recipient<Party>, Vec<u8>)>,
    shown: Vec<Values<S>>,
    committees: BTreeMap<EpochId, (Slot, S::Committee)>,
    entered: Vec<BTreeSet<EpochId>>,
    electorates: BTreeMap<EpochId, Electorate<MinSig>>,
    /// The slots of which each party has shown a certificate.
    certified: Vec<BTreeSet<u64>>,
    /// How many steps the party that crashes has made, and behind which it does.
    steps: usize,
    crash: Option<usize>,
}

impl<S: KeyedScheme> Net<S> {
    fn new(crash: Option<usize>) -> Self {
        let parties = WORLD.identities.len();
        let journals: Vec<_> = (0..parties).map(|_| Arc::new(Mutex::new(Memory::new()))).collect();
        let drivers = journals.iter().zip(&WORLD.identities);
        let drivers = drivers.map(|(journal, one)| start(one, journal, Life::First)).collect();
        let mut net = Self {
            journals,
            drivers,
            mempool: Vec::new(),
            queue: VecDeque::new(),
            shown: vec![Values::<S>::new(); parties],
            committees: BTreeMap::new(),
            entered: vec![BTreeSet::new(); parties],
            electorates: electorates(),
            certified: vec![BTreeSet::new(); parties],
            steps: 0,
            crash,
        };
        parties_of(&WORLD.setup).for_each(|party| net.carry_out(party));
        net
    }

    /// Behind each call what it led to is carried out, and the crash comes if it is due.
    fn step(&mut self, party: Party, call: impl FnOnce(&Driver<Machine<S>>)) {
        call(&self.drivers[party.index()].0);
        self.carry_out(party);
        self.steps += usize::from(party == CRASHES);
        if party == CRASHES && self.crash == Some(self.steps) {
            self.crash = None;
            let left = self.journals[party.index()].lock().unwrap().after_crash(0);
            let (identity, journal) =
                (&WORLD.identities[party.index()], Arc::new(Mutex::new(left)));
            self.drivers[party.index()] = start(identity, &journal, Life::later([1; 16]));
            self.journals[party.index()] = journal;
            self.carry_out(party);
        }
    }

    fn carry_out(&mut self, party: Party) {
        while let Ok(effect) = self.drivers[party.index()].1.try_recv() {
            match effect {
                Effect::Send { to, envelope } => self.post(party, to, &envelope),
                Effect::Submit { transaction, .. } => self.mempool.push(transaction.into()),
                Effect::Enter { setup, .. } => {
                    self.entered[party.index()].insert(setup.context.epoch);
                }
                Effect::Tell(Event::Revealed(reveal)) => {
                    let value = (reveal.output.clone(), reveal.path);
                    let before = self.shown[party.index()].insert(reveal.slot.get(), value);
                    let same = before.is_none_or(|(before, _)| before == reveal.output);
                    assert!(same, "{party}, {}: two values", reveal.slot);
                }
                Effect::Tell(Event::Ready { epoch, first_slot, committees }) => {
                    let known = self.committees.insert(epoch, (first_slot, committees.slow));
                    assert!(known.is_none_or(|(first, _)| first == first_slot), "{epoch}");
                }
                Effect::Beside(OneOf::First(effect)) => self.certified(party, effect),
                Effect::Beside(OneOf::Rest(never)) => match never {},
                Effect::Tell(Event::Accused { fault, .. }) => panic!("{party}: {fault}"),
                Effect::Tell(Event::Halted(why)) => panic!("{party}: {why}"),
                Effect::Lookup { .. }
                | Effect::Tell(_)
                | Effect::Ordered { .. }
                | Effect::Prepare { .. } => {}
                Effect::Run(_) => panic!("the pool has the jobs"),
            }
        }
    }

    /// Anyone who knows the epoch's members verifies what a party shows.
    fn certified(&mut self, party: Party, effect: epochs::Effect<MultiSig>) {
        match effect {
            epochs::Effect::Of { epoch, effect: prefinal_beacon::Effect::Reveal(reveal) } => {
                let electorate = &self.electorates[&epoch];
                assert_eq!(reveal.output.verify(electorate, &reveal.proof), Ok(()));
                assert_eq!((reveal.output.slot, reveal.output.value), (reveal.slot, VALUE));
                self.certified[party.index()].insert(reveal.slot.get());
            }
            epochs::Effect::Of {
                effect: prefinal_beacon::Effect::Accuse { fault, .. }, ..
            } => {
                panic!("{party}: {fault}")
            }
            _ => {}
        }
    }

    fn post(&mut self, from: Party, to: Recipient<Party>, message: &Message<S>) {
        self.queue.push_back((from, to, borsh::to_vec(message).unwrap()));
    }

    fn deliver(&mut self) {
        while let Some((from, to, bytes)) = self.queue.pop_front() {
            for party in parties_of(&WORLD.setup).filter(|party| *party != from) {
                if to == Recipient::All || to == Recipient::One(party) {
                    let message = borsh::from_slice(&bytes).unwrap();
                    self.step(party, |driver| driver.on_message(from, message).unwrap());
                }
            }
        }
    }

    /// One slot of an engine that knows nothing of epochs.
    fn order(&mut self, number: u64) {
        let slot = Slot::new(number);
        let transactions = std::mem::take(&mut self.mempool);
        let block = Block { value: VALUE, transactions };
        for party in parties_of(&WORLD.setup) {
            let mut vote = None;
            self.step(party, |driver| {
                vote = driver.on_prefinalize(slot, View::new(slot, 0), block.value).unwrap();
            });
            vote.iter().for_each(|message| self.post(party, Recipient::All, message));
        }
        self.deliver();
        for party in parties_of(&WORLD.setup) {
            let block = block.clone();
            self.step(party, |driver| driver.on_finalize(slot, Some(block)).unwrap());
        }
        self.deliver();
    }

    fn run(&mut self) {
        for number in 1..=LAST {
            self.order(number);
            self.catch_up(number);
        }
    }

    /// What a crash has lost of the peers' words is asked for when it is time, which is before they have
    /// forgotten it: epochs are longer than a second elsewhere.
    fn catch_up(&mut self, number: u64) {
        let first =
            self.committees.get(&EpochId::new(0)).map_or(u64::MAX, |(first, _)| first.get());
        for _ in 0..8 {
            if number < first || self.certified.iter().all(|one| one.contains(&number)) {
                return;
            }
            let due = self.drivers.iter().filter_map(|(driver, _)| driver.next_tick().unwrap());
            std::thread::sleep(due.min().unwrap_or_default());
            for party in parties_of(&WORLD.setup) {
                self.step(party, |driver| driver.tick().unwrap());
            }
            self.deliver();
        }
    }

    /// Everybody has every value, they are the same, and the committee's keys say that they are right.
    fn check(&self) {
        let first = self.committees[&EpochId::new(0)].0.get();
        for (shown, entered) in self.shown.iter().zip(&self.entered) {
            assert!(shown.keys().copied().eq(first..=LAST), "{:?}", shown.keys());
            let both = shown.values().zip(self.shown[0].values());
            assert!(both.into_iter().all(|((one, _), (other, _))| one == other));
            assert!(entered.iter().copied().eq([1, 2].map(EpochId::new)), "{entered:?}");
        }
        for (party, certified) in parties_of(&WORLD.setup).zip(&self.certified) {
            assert!(certified.iter().copied().eq(first..=LAST), "{party}: {certified:?}");
        }
    }
}

/// Who signs certificates in each epoch, from what everybody knows.
fn electorates() -> BTreeMap<EpochId, Electorate<MinSig>> {
    let of = |(epoch, stakes): (u64, &[u128; 5])| {
        let electors = WORLD.setup.certifiers.iter().zip(stakes);
        let electors = electors.map(|(one, stake)| Elector { key: one.key, stake: *stake });
        let electorate = Electorate::more_than_two_thirds(electors.collect()).unwrap();
        (EpochId::new(epoch), electorate)
    };
    (0..).zip(&STAKES).map(of).collect()
}

fn parties_of(setup: &Setup) -> impl Iterator<Item = Party> + use<> {
    (0..).map(Party::new).take(setup.members.len())
}

fn start<S: KeyedScheme>(
    identity: &Arc<Identity>,
    journal: &Arc<Mutex<Memory>>,
    life: Life,
) -> Started<S> {
    start_with(identity, journal, life, Options::default())
}

fn start_with<S: KeyedScheme>(
    identity: &Arc<Identity>,
    journal: &Arc<Mutex<Memory>>,
    life: Life,
    options: Options,
) -> Started<S> {
    let build = |records: Vec<Record>| -> Result<_, KeygenError> {
        Participant::new(&WORLD.setup, identity, life, records, HOST)
    };
    Driver::start(build, Arc::clone(journal), here, options).unwrap()
}

/// The values are the rounds of one chain under one key, though the committee changes.
#[test]
fn a_key_is_made_and_handed_over_behind_the_drivers() {
    let mut net = Net::<Bls>::new(None);
    net.run();
    net.check();
    let (first, committee) = &net.committees[&EpochId::new(0)];
    for (_, other) in net.committees.values() {
        assert_eq!(Bls::public_key(other), Bls::public_key(committee));
    }
    for (slot, (value, _)) in &net.shown[0] {
        let round = RoundNumber::new(slot - first.get() + 1).unwrap();
        assert_eq!(committee.verify_result(&threshold::Message::round(round), value), Ok(()));
    }
    // The fast path works in every epoch.
    for (epoch, (first, _)) in &net.committees {
        let slots = net.shown[0].range(first.get() + 4..).take(2);
        assert!(slots.into_iter().all(|(_, (_, path))| *path == Path::Fast), "{epoch}");
    }
}

#[test]
fn a_scheme_with_a_fresh_key_in_each_epoch_goes_on_as_well() {
    let mut net = Net::<Wvuf>::new(None);
    net.run();
    net.check();
    assert_eq!(net.committees.len(), STAKES.len());
}

/// In the key generation, at a boundary, between record and message.
#[test]
fn a_crash_anywhere_loses_neither_keys_nor_values() {
    let mut whole = Net::<Bls>::new(None);
    whole.run();
    let points = 8;
    for point in 1..=points {
        let crash = whole.steps * point / points;
        println!("crash behind step {crash} of {}", whole.steps);
        let mut net = Net::<Bls>::new(Some(crash));
        net.run();
        net.check();
    }
}

/// A reader that had dealt with no value, or with those of the epochs before, starts again; of the epoch
/// that the others still know it is shown what it lacks.
#[test]
fn values_that_were_not_read_are_shown_again() {
    let mut net = Net::<Bls>::new(None);
    net.run();
    let whole = std::mem::take(&mut net.shown[CRASHES.index()]);
    let (journal, identity) =
        (Arc::clone(&net.journals[CRASHES.index()]), &WORLD.identities[CRASHES.index()]);
    let first = net.committees[&EpochId::new(2)].0;
    for (life, read) in [(2, Slot::new(0)), (3, first)] {
        net.drivers[CRASHES.index()].0.shut_down().unwrap();
        let options = Options { read: Some(read), ..Options::default() };
        let started = start_with(identity, &journal, Life::later([life; 16]), options);
        net.drivers[CRASHES.index()] = started;
        net.carry_out(CRASHES);
    }
    for _ in 0..8 {
        net.deliver();
        if net.shown[CRASHES.index()].contains_key(&LAST) {
            break;
        }
        std::thread::sleep(Duration::from_millis(300));
        net.step(CRASHES, |driver| driver.tick().unwrap());
    }
    let again = &net.shown[CRASHES.index()];
    assert!(
        !again.is_empty() && again.keys().eq(whole.range(first.next().get()..).map(|(at, _)| at))
    );
    assert!(again.iter().all(|(at, (value, _))| whole[at].0 == *value));
}

/// The engine goes on before the party has judged the key generations again, in an epoch that stays.
#[test]
fn a_restart_takes_the_next_slot_before_it_knows_its_epoch() {
    let mut net = Net::<Bls>::new(None);
    net.run();
    net.drivers[CRASHES.index()].0.shut_down().unwrap();
    let (journal, identity) = (&net.journals[CRASHES.index()], &WORLD.identities[CRASHES.index()]);
    let build =
        |records| Participant::new(&WORLD.setup, identity, Life::later([4; 16]), records, HOST);
    let idle = |task: Task| drop(task);
    let (driver, _effects): Started<Bls> =
        Driver::start(build, Arc::clone(journal), idle, Options::default()).unwrap();
    let block = Block { value: VALUE, transactions: Vec::new() };
    driver.on_finalize(Slot::new(LAST + 1), Some(block)).unwrap();
}

/// Nothing is on record any more, so the engine must not go on as if it were.
#[test]
fn a_participant_that_has_halted_stops_its_driver() {
    let net = Net::<Bls>::new(None);
    let driver = &net.drivers[0].0;
    let block = Block { value: VALUE, transactions: Vec::new() };
    driver.on_finalize(Slot::new(1), Some(block.clone())).unwrap();
    let why = driver.on_finalize(Slot::new(3), Some(block)).unwrap_err();
    assert!(matches!(&why, StopReason::Halted(why) if why.contains("slot 3")), "{why}");
    let view = View::new(Slot::new(4), 0);
    assert!(matches!(driver.on_view_abandoned(view), Err(StopReason::Halted(_))));
    let told = std::iter::from_fn(|| net.drivers[0].1.try_recv().ok());
    assert!(told.into_iter().any(|effect| matches!(effect, Effect::Tell(Event::Halted(_)))));
}

/// Parties are those of the chain, in every epoch.
#[test]
fn a_stranger_has_no_room() {
    let net = Net::<Bls>::new(None);
    let request = OneOf::First(prefinal_beacon::Message::Request { slot: Slot::new(1) });
    let message = Envelope::one(EpochId::new(0), request);
    let said = net.drivers[0].0.on_message(Party::new(5), message);
    assert!(matches!(said, Err(MessageError::NotMember { members: 5, .. })), "{said:?}");
}
