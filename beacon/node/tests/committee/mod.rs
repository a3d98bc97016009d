//! Seven real validators of unequal stake in the simulator, and what must hold of every run.
//!
//! Engine, key generation, beacon and cryptography are the real ones; the simulator supplies links,
//! crashes and Byzantine rules. Keys are the same in every run, so what the key generation computes
//! is computed once for all tests; what differs from seed to seed is where the parties sit and every
//! delay.
//!
//! | checked in every run        | how                                                              |
//! |-----------------------------|------------------------------------------------------------------|
//! | agreement                   | one block per slot, one value per slot, one first slot            |
//! | total order                 | slots are final and revealed in one order, none left out          |
//! | nobody honest is accused    | by anybody honest                                                |
//! | the release contract        | no fast partial after a timeout of its round; none unrecorded      |
//! | the value is right          | an audit from public data, which shares no code with the beacon   |

mod checks;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use beacon::{Path, Reveal, Slot, Value, Wvuf};
use crypto_core::access::Party;
use crypto_core::wvuf;
use machine::Instant;
use prefinal_node::keygen;
use prefinal_node::scheme::{AdmittedKeys, Fixed, PerPath};
use prefinal_node::setup::Algorithm;
use prefinal_node::setup::{self, Identity, Plan, Setup};
use prefinal_node::validator::{self, Event, Recipient, Record};
use pvss_dkg::field::HandoverError;
use pvss_dkg::protocol::{self, Collect, Judged, Place};
use pvss_dkg::{Aggregate, AggregateError, Dealing, Verified};
use sha2::{Digest, Sha256};
use sim::{
    Disk, GLOBAL, Geography, Host, Jitter, Network, Note, Placement, Seat, Simulation, Step,
};
use weighted_rounding::{Ratio, Stake};

/// Of 1000 in all: a quorum is 667, and at most 333 may be faulty.
const STAKES: [u128; 7] = [310, 240, 150, 110, 90, 60, 40];

/// Virtual time after which a run has failed.
const PATIENCE: Duration = Duration::from_secs(600);

/// Keys of all seats, and what they have computed so far.
pub(crate) struct Ground {
    pub(crate) setup: Setup,
    pub(crate) identities: Vec<Arc<Identity>>,
    dealt: Memo<Party, Result<Vec<Vec<u8>>, HandoverError>>,
    judged: Memo<Vec<u8>, Judged<Dealing>>,
    summed: Memo<BTreeSet<Place>, Result<Arc<Verified<Aggregate>>, AggregateError>>,
    fixed: Memo<[u8; 32], Result<Arc<Fixed<Wvuf>>, String>>,
    admitted: Memo<[u8; 32], Vec<Admitted>>,
}

type Memo<K, V> = Mutex<BTreeMap<K, V>>;
type Admitted = Result<Arc<AdmittedKeys<Wvuf>>, String>;

// The tests here are of engine, key generation and beacon together, in the scheme whose key generation
// has more stages.
pub(crate) type Message = validator::Message<Wvuf>;
pub(crate) type KeygenJob = keygen::Job<Wvuf>;
pub(crate) type KeygenVerdict = keygen::Verdict<Wvuf>;
type Job = validator::Job<Wvuf>;
type Verdict = validator::Verdict<Wvuf>;
type Input = validator::Input<Wvuf>;
type Output = validator::Output<Wvuf>;
type Validator = validator::Validator<Wvuf>;

/// The committee that follows an algorithm.
pub(crate) fn ground(algorithm: Algorithm) -> &'static Ground {
    static BOTH: LazyLock<Ground> = LazyLock::new(|| Ground::new(Algorithm::Fast));
    static TIGHT: LazyLock<Ground> = LazyLock::new(|| Ground::new(Algorithm::Tight));
    if algorithm == Algorithm::Tight { &TIGHT } else { &BOTH }
}

fn remember<K: Ord, V: Clone>(memo: &Memo<K, V>, key: K, compute: impl FnOnce() -> V) -> V {
    let mut memo = memo.lock().unwrap_or_else(PoisonError::into_inner);
    memo.entry(key).or_insert_with(compute).clone()
}

/// Who takes part.
pub(crate) fn plan(algorithm: Algorithm) -> Plan {
    let stakes = STAKES.into_iter().map(Stake::new).collect();
    let fast = Ratio::new(5, 6).expect("below one");
    Plan::new(stakes, algorithm, fast).expect("seven can be rounded")
}

impl Ground {
    fn new(algorithm: Algorithm) -> Self {
        let (setup, identities) =
            setup::found(&plan(algorithm), 1).expect("the plan fits together");
        Self {
            setup,
            identities: identities.into_iter().map(Arc::new).collect(),
            dealt: Memo::default(),
            judged: Memo::default(),
            summed: Memo::default(),
            fixed: Memo::default(),
            admitted: Memo::default(),
        }
    }

    /// What a job of the key generation gives; for all but opening it is looked up first.
    fn run(&self, seat: Seat, job: &KeygenJob) -> KeygenVerdict {
        let identity = &self.identities[seat.index()];
        let run = || job.run(&self.setup, identity);
        match job {
            keygen::Job::Dealings(protocol::Job::Deal { .. }) => {
                let dealt = remember(&self.dealt, identity.me, || match run() {
                    keygen::Verdict::Dealings(protocol::Verdict::Dealt(dealt)) => dealt,
                    _ => panic!("dealing gives a dealing"),
                });
                keygen::Verdict::Dealings(protocol::Verdict::Dealt(dealt))
            }
            keygen::Job::Dealings(protocol::Job::Judge { blank, claims }) => {
                let judge = |claim: &protocol::Claim| {
                    remember(&self.judged, claim.id(), || claim.judge(&**blank))
                };
                let judged = claims.iter().map(judge).collect();
                keygen::Verdict::Dealings(protocol::Verdict::Judged(judged))
            }
            keygen::Job::Dealings(protocol::Job::Sum { counted }) => {
                let sum = || counted.sum().map(Arc::new);
                let summed = remember(&self.summed, counted.places(), sum);
                keygen::Verdict::Dealings(protocol::Verdict::Summed(summed))
            }
            keygen::Job::Dealings(_) => run(),
            keygen::Job::Fix { key, .. } => {
                keygen::Verdict::Fixed(remember(&self.fixed, *key.name(), || match run() {
                    keygen::Verdict::Fixed(fixed) => fixed,
                    _ => panic!("fixing gives a key"),
                }))
            }
            keygen::Job::Open { .. } => run(),
            keygen::Job::Admit { transactions, key: fixed } => {
                let mut key = Sha256::new_with_prefix(fixed.sum.digest());
                transactions.iter().for_each(|one| key.update(Sha256::digest(one)));
                let key = key.finalize().into();
                keygen::Verdict::Admitted(remember(&self.admitted, key, || match run() {
                    keygen::Verdict::Admitted(admitted) => admitted,
                    _ => panic!("admitting gives admissions"),
                }))
            }
        }
    }
}

/// What a Byzantine seat makes of its own key generation.
pub(crate) type Tamper = Box<dyn Fn(&KeygenJob, KeygenVerdict) -> KeygenVerdict>;

/// What is noted of a run.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    Ready {
        first: Slot,
        committees: Box<PerPath<wvuf::Committee>>,
    },
    Admitted(Arc<AdmittedKeys<Wvuf>>),
    Finalized(Slot, Option<Value>),
    Revealed(Box<Reveal<Wvuf>>),
    Skipped(Slot),
    Accused(Party, String),
    Refused(String),
    /// A timeout of this round has left.
    TimedOut(u64),
    /// A fast partial has left.
    Early(Slot),
}

/// The host: what the machines' outputs do.
pub(crate) struct Committee {
    ground: &'static Ground,
    setup: Arc<Setup>,
    /// What an engine's job takes; a beacon's takes twice, the key generation's ten times as much.
    compute: Duration,
    /// What honest parties have sent need not be checked seven times; `None`: it is.
    known: Option<(jolteon::Known, beacon::Known<Wvuf>)>,
    pub(crate) tampers: BTreeMap<Seat, Tamper>,
}

impl Host for Committee {
    type Machine = Validator;
    type Message = Arc<Message>;
    type Job = Job;
    type Verdict = Verdict;
    type Record = Record;
    type Event = Seen;

    fn boot(&mut self, seat: Seat, records: &[Record]) -> Validator {
        let identity = Arc::clone(&self.ground.identities[seat.index()]);
        let made = Validator::new(Arc::clone(&self.setup), identity, records.to_vec());
        made.expect("the set-up is legal")
    }

    fn first_input(&mut self, _: Seat) -> Option<Input> {
        Some(Input::Start)
    }

    fn received(&mut self, _: Seat, from: Seat, message: &Arc<Message>) -> Input {
        Input::Received { from: party(from), message: Message::clone(message) }
    }

    fn checked(&mut self, _: Seat, verdict: Verdict) -> Input {
        Input::Checked(verdict)
    }

    fn tick(&mut self, _: Seat) -> Input {
        Input::Tick
    }

    fn carry_out(&mut self, output: Output, step: &mut Step<'_, Self>) {
        match output {
            Output::Persist(record) => step.persist(record),
            Output::Send { to, message } => {
                let from = party(step.seat());
                if let Some((votes, partials)) = &mut self.known {
                    match &message {
                        Message::Engine(message) => votes.see(from, message),
                        Message::Beacon(message) => partials.see(from, message),
                    }
                }
                if let Message::Engine(jolteon::Message::Timeout(timeout)) = &message {
                    step.note(Seen::TimedOut(timeout.round.get()));
                }
                if let Some((Path::Fast, slot)) = partial_of(&message) {
                    step.note(Seen::Early(slot));
                }
                let to = match to {
                    Recipient::All => sim::Recipient::All,
                    Recipient::One(party) => sim::Recipient::One(Seat::new(party.get())),
                };
                step.send(to, Arc::new(message));
            }
            Output::Run(job) => step.run(job),
            Output::Note(event) => Seen::of(event).into_iter().for_each(|seen| step.note(seen)),
        }
    }

    fn run(&mut self, seat: Seat, job: Job) -> (Verdict, Duration) {
        match job {
            Job::Engine(job) => {
                let verdict = match &mut self.known {
                    Some((votes, _)) => job.run_knowing(votes),
                    None => job.run(),
                };
                (Verdict::Engine(verdict), self.compute)
            }
            Job::Keygen(job) => {
                let verdict = self.ground.run(seat, &job);
                let verdict = match self.tampers.get(&seat) {
                    Some(tamper) => tamper(&job, verdict),
                    None => verdict,
                };
                (Verdict::Keygen(verdict), self.compute * 10)
            }
            Job::Beacon(job) => {
                let verdict = match &mut self.known {
                    Some((_, partials)) => job.run_knowing(partials),
                    None => job.run(),
                };
                (Verdict::Beacon(verdict), self.compute * 2)
            }
        }
    }
}

impl Seen {
    fn of(event: Event<Wvuf>) -> Option<Self> {
        Some(match event {
            Event::Dealing { .. } => return None,
            Event::Ready { first_slot, committees } => {
                Self::Ready { first: first_slot, committees }
            }
            Event::Admitted(keys) => Self::Admitted(keys),
            Event::Finalized { slot, block } => Self::Finalized(slot, block),
            Event::Revealed(reveal) => Self::Revealed(reveal),
            Event::Accused { party, fault } => Self::Accused(party, fault),
            Event::Skipped(slot) => Self::Skipped(slot),
            Event::Refused(why) => Self::Refused(why),
        })
    }
}

/// Path and slot, if the message is a partial.
pub(crate) fn partial_of(message: &Message) -> Option<(Path, Slot)> {
    match message {
        Message::Beacon(beacon::Message::Partial { path, slot, .. }) => Some((*path, *slot)),
        _ => None,
    }
}

pub(crate) const fn party(seat: Seat) -> Party {
    Party::new(seat.get())
}

pub(crate) fn seats() -> impl Iterator<Item = Seat> {
    (0..7).map(Seat::new)
}

/// What a run starts from.
pub(crate) struct Scene {
    pub(crate) name: String,
    pub(crate) seed: u64,
    pub(crate) algorithm: Algorithm,
    pub(crate) network: Network,
    pub(crate) compute: Duration,
    /// How many slots every honest seat has to reveal.
    pub(crate) slots: u64,
    /// Seats that need not be right, reveal, or be spared from accusations.
    pub(crate) faulty: BTreeSet<Seat>,
    /// Whether every seat checks everything itself.
    pub(crate) alone: bool,
}

impl Scene {
    /// Both paths, parties spread over the world by the seed, a little compute, four slots.
    pub(crate) fn new(name: impl Into<String>, seed: u64) -> Self {
        let geography = Geography::aws().expect("the table is part of the crate");
        let placement = Placement::dealt(&geography, 7, &GLOBAL, seed).expect("known regions");
        Self {
            name: name.into(),
            seed,
            algorithm: Algorithm::Fast,
            network: Network::placed(placement, Jitter::Percent(5)),
            compute: Duration::from_millis(1),
            slots: 4,
            faulty: BTreeSet::new(),
            alone: false,
        }
    }

    pub(crate) fn faulty(mut self, seats: impl IntoIterator<Item = u32>) -> Self {
        self.faulty = seats.into_iter().map(Seat::new).collect();
        self
    }

    pub(crate) fn stage(self) -> Run {
        let ground = ground(self.algorithm);
        let mut setup = ground.setup.clone();
        setup.choice = self.algorithm;
        setup.fast_after = if self.algorithm == Algorithm::Slow { u64::MAX } else { 0 };
        let known = (!self.alone).then(<(jolteon::Known, beacon::Known<Wvuf>)>::default);
        let host = Committee {
            ground,
            setup: Arc::new(setup),
            compute: self.compute,
            known,
            tampers: BTreeMap::new(),
        };
        let mut world = sim::Setup::new(7, self.seed, self.network);
        world.cores = NonZeroU32::new(4).expect("four");
        let simulation = Simulation::new(host, world).expect("seven seats");
        let label = format!("{}, seed {}", self.name, self.seed);
        Run { simulation, label, faulty: self.faulty, slots: self.slots }
    }
}

/// A run under way, then over.
pub(crate) struct Run {
    pub(crate) simulation: Simulation<Committee>,
    pub(crate) label: String,
    pub(crate) faulty: BTreeSet<Seat>,
    slots: u64,
}

/// Which slots each seat has revealed, and the first with a value.
#[derive(Default)]
struct Progress {
    first: Option<Slot>,
    revealed: BTreeMap<Seat, BTreeSet<Slot>>,
}

impl Progress {
    fn see(&mut self, note: &Note<Seen>) {
        match &note.event {
            Seen::Ready { first, .. } => self.first = Some(*first),
            Seen::Revealed(reveal) => {
                self.revealed.entry(note.seat).or_default().insert(reveal.slot);
            }
            _ => {}
        }
    }

    fn lacks(&self, seat: Seat, slots: u64) -> Option<Slot> {
        let first = self.first?;
        let mut wanted = (0..slots).map(|ahead| first.after(ahead));
        wanted.find(|slot| !self.revealed.get(&seat).is_some_and(|seen| seen.contains(slot)))
    }
}

impl Run {
    pub(crate) fn honest(&self) -> impl Iterator<Item = Seat> {
        seats().filter(|seat| !self.faulty.contains(seat))
    }

    /// Runs until every honest seat has revealed its slots, and checks what must hold.
    pub(crate) fn finish(&mut self) -> &mut Self {
        let waiting: Vec<Seat> = self.honest().collect();
        self.run_until_revealed(&waiting);
        self.check();
        self
    }

    /// Runs until these seats have revealed their slots.
    pub(crate) fn run_until_revealed(&mut self, waiting: &[Seat]) {
        let slots = self.slots;
        let mut progress = Progress::default();
        self.simulation.notes().iter().for_each(|note| progress.see(note));
        let done = |progress: &Progress| {
            progress.first.is_some()
                && waiting.iter().all(|seat| progress.lacks(*seat, slots).is_none())
        };
        if done(&progress) {
            return;
        }
        let stop = self.simulation.run_watching(Instant::at(PATIENCE), |note| {
            progress.see(note);
            let revealed = matches!(note.event, Seen::Revealed(_));
            if revealed && done(&progress) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        let late: Vec<_> = waiting
            .iter()
            .filter(|seat| progress.first.is_none() || progress.lacks(**seat, slots).is_some())
            .map(|seat| (*seat, progress.lacks(*seat, slots)))
            .collect();
        assert!(
            late.is_empty(),
            "{}: {stop:?} at {:?}, first slot {:?}, these lack a slot: {late:?}",
            self.label,
            self.simulation.now(),
            progress.first
        );
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        let until = self.simulation.now() + span;
        self.simulation.run(until);
    }

    /// Runs until a seat that was to crash is down.
    pub(crate) fn run_until_down(&mut self, seat: Seat) {
        for _ in 0..100_000 {
            self.run_for(Duration::from_millis(5));
            if self.simulation.machine(seat).is_none() {
                return;
            }
        }
        panic!("{}: {seat} does not crash", self.label);
    }

    pub(crate) fn restart(&mut self, seat: Seat, after: Duration, disk: Disk) {
        let at = self.simulation.now() + after;
        self.simulation.restart(seat, at, disk).expect("the seat exists");
    }

    /// The notes of honest seats.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &Note<Seen>> {
        self.simulation.notes().iter().filter(|note| !self.faulty.contains(&note.seat))
    }

    /// The first note of a seat for which this gives something.
    pub(crate) fn find<T>(
        &self,
        seat: Seat,
        mut what: impl FnMut(&Seen) -> Option<T>,
    ) -> (Instant, T) {
        let mut notes = self.simulation.notes().iter().filter(|note| note.seat == seat);
        let found = notes.find_map(|note| Some((note.at, what(&note.event)?)));
        found.unwrap_or_else(|| panic!("{}: {seat} has noted nothing of the kind", self.label))
    }

    pub(crate) fn ready_at(&self, seat: Seat) -> Duration {
        self.find(seat, |seen| matches!(seen, Seen::Ready { .. }).then_some(())).0.since_start()
    }

    pub(crate) fn first_value_at(&self, seat: Seat) -> Duration {
        self.find(seat, |seen| matches!(seen, Seen::Revealed(_)).then_some(())).0.since_start()
    }

    /// All reveals of honest seats.
    pub(crate) fn reveals(&self) -> impl Iterator<Item = (Seat, Instant, &Reveal<Wvuf>)> {
        self.notes().filter_map(|note| match &note.event {
            Seen::Revealed(reveal) => Some((note.seat, note.at, &**reveal)),
            _ => None,
        })
    }

    /// Between finality and value, for every reveal of an honest seat.
    pub(crate) fn waits(&self) -> Vec<Duration> {
        let finalized: BTreeMap<(Seat, Slot), Instant> = self
            .notes()
            .filter_map(|note| match note.event {
                Seen::Finalized(slot, _) => Some(((note.seat, slot), note.at)),
                _ => None,
            })
            .collect();
        let waits =
            self.reveals().map(|(seat, at, reveal)| at.since(finalized[&(seat, reveal.slot)]));
        waits.collect()
    }

    /// Whom honest seats accuse, and of what.
    pub(crate) fn accusations(&self) -> BTreeSet<(Party, String)> {
        let accused = self.notes().filter_map(|note| match &note.event {
            Seen::Accused(party, fault) => Some((*party, fault.clone())),
            _ => None,
        });
        accused.collect()
    }

    /// What honest seats refused.
    pub(crate) fn refusals(&self) -> BTreeSet<String> {
        let refused = self.notes().filter_map(|note| match &note.event {
            Seen::Refused(why) => Some(why.clone()),
            _ => None,
        });
        refused.collect()
    }
}
