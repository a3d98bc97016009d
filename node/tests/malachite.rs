//! Validators on Malachite in the simulator: the published consensus, key generation and beacon.
//!
//! | claim                                                                  | measured in                  |
//! |------------------------------------------------------------------------|------------------------------|
//! | delays between finality and value: tight 0, fast 0, slow 1              | constant delay, zero compute |
//! | a round that fails takes the slow path, and only that height            | a proposer that is down      |
//! | extensions that are withheld or garbled cost no value                   | the slow path                |
//! | after a crash anywhere the same extensions leave, and the same values come | records cut at every kind |
//!
//! Elsewhere: the engine alone (`consensus/malachite/tests`), Jolteon (`faults`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use beacon::{Path, Reveal, Slot, Value, Wvuf};
use crypto_core::access::Party;
use malachite::{Malachite, NilOrVal, Round, SignedVote, VoteType};
use prefinal_node::engine::Engine;
use prefinal_node::setup::{Algorithm, Plan, Setup};
use prefinal_node::simulate::committee::Ground;
use prefinal_node::simulate::lives::Lives;
use prefinal_node::validator::{self, Event};
use protocol::{Instant, Recipient};
use sim::{Disk, Host, Network, Seat, Simulation, Step};
use weighted_rounding::{Ratio, Stake};

type Message = validator::Message<Wvuf, <Malachite as Engine>::Message>;
type Record = validator::Record<<Malachite as Engine>::Record>;
type Job = validator::Job<Wvuf, <Malachite as Engine>::Job>;
type Verdict = validator::Verdict<Wvuf, <Malachite as Engine>::Verdict>;
type Input = validator::Input<Wvuf, Malachite>;
type Effect = validator::Effect<Wvuf, Malachite>;
type Validator = validator::Validator<Wvuf, Malachite>;

/// Of 100: a quorum is 67, the fast path asks for 84, and the last party can be missing from both.
const STAKES: [u128; 5] = [30, 25, 20, 15, 10];
const DELAY: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(120);

/// What one seat does wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Its precommits carry nothing.
    Withholds,
    /// Its precommits carry bytes that are no partial, signed by it.
    Garbles,
}

#[derive(Clone, Debug)]
enum Seen {
    Finalized(Slot, Value),
    Revealed(Box<Reveal<Wvuf>>),
    Accused(Party, String),
    Refused(String),
    Precommit(SignedVote),
    EarlyOnItsOwn,
}

struct Committee {
    ground: Arc<Ground<Wvuf>>,
    setup: Arc<Setup>,
    faulty: (Seat, Fault),
    lives: Lives,
}

/// Keys, and what key generation computes, are the same in every run.
fn ground(algorithm: Algorithm) -> Arc<Ground<Wvuf>> {
    static BOTH: LazyLock<Arc<Ground<Wvuf>>> = LazyLock::new(|| dealt(Algorithm::Fast));
    static TIGHT: LazyLock<Arc<Ground<Wvuf>>> = LazyLock::new(|| dealt(Algorithm::Tight));
    Arc::clone(if algorithm == Algorithm::Tight { &TIGHT } else { &BOTH })
}

fn dealt(algorithm: Algorithm) -> Arc<Ground<Wvuf>> {
    let stakes = STAKES.into_iter().map(Stake::new).collect();
    let plan = Plan::new(stakes, algorithm, Ratio::new(84, 100).unwrap()).unwrap();
    Arc::new(Ground::new(&plan, 1).unwrap())
}

fn precommit(message: &Message) -> Option<&SignedVote> {
    match message {
        Message::Engine(malachite::Message::Vote(vote))
            if vote.message.kind == VoteType::Precommit && vote.message.value != NilOrVal::Nil =>
        {
            Some(vote)
        }
        _ => None,
    }
}

impl Committee {
    /// What leaves the faulty seat instead.
    fn tamper(&self, seat: Seat, message: Message) -> Message {
        let fault = if seat == self.faulty.0 { self.faulty.1 } else { Fault::None };
        let bytes = match fault {
            Fault::None => return message,
            Fault::Withholds => Vec::new(),
            Fault::Garbles => b"no partial".to_vec(),
        };
        let Some(mut vote) = precommit(&message).cloned() else { return message };
        let members = self.setup.members.iter().zip(&self.setup.ed25519);
        let members =
            members.map(|(member, key)| malachite::Member { key: *key, stake: member.stake });
        let committee =
            malachite::Committee::new(&self.setup.context, &members.collect::<Vec<_>>()).unwrap();
        let secret = self.ground.identities()[seat.index()].ed25519();
        let signature = secret.sign_extension(&committee, &vote.message, &bytes).unwrap();
        let extension = vote.message.extension.as_mut().expect("every precommit has one");
        (extension.message, extension.signature) = (bytes, signature);
        Message::Engine(malachite::Message::Vote(vote))
    }
}

impl Host for Committee {
    type Machine = Validator;
    type Message = Arc<Message>;
    type Job = Job;
    type Verdict = Verdict;
    type Event = Seen;

    fn boot(&mut self, seat: Seat, records: &[Record]) -> Validator {
        let identity = Arc::clone(&self.ground.identities()[seat.index()]);
        let life = self.lives.begin(seat);
        Validator::new(Arc::clone(&self.setup), identity, life, records.to_vec()).expect("legal")
    }

    fn first_input(&mut self, _: Seat) -> Option<Input> {
        Some(Input::Start)
    }

    fn received(&mut self, _: Seat, from: Seat, message: &Arc<Message>) -> Input {
        Input::Received { from: Party::new(from.get()), message: Message::clone(message) }
    }

    fn checked(&mut self, _: Seat, verdict: Verdict) -> Input {
        Input::Checked(verdict)
    }

    fn tick(&mut self, _: Seat) -> Input {
        Input::Tick
    }

    fn carry_out(&mut self, effect: Effect, step: &mut Step<'_, Self>) {
        match effect {
            Effect::Send { to, message } => {
                if let Some(vote) = precommit(&message) {
                    step.note(Seen::Precommit(vote.clone()));
                }
                if let Message::Beacon(beacon::Message::Partial { path, .. }) = &message
                    && *path != Path::Slow
                {
                    step.note(Seen::EarlyOnItsOwn);
                }
                let to = match to {
                    Recipient::All => Recipient::All,
                    Recipient::One(party) => Recipient::One(Seat::new(party.get())),
                };
                let message = self.tamper(step.seat(), message);
                step.send(to, Arc::new(message));
            }
            Effect::Run(job) => step.run(job),
            Effect::Tell(event) => {
                let seen = match event {
                    Event::Finalized { slot, block } => Seen::Finalized(slot, block.unwrap()),
                    Event::Revealed(reveal) => Seen::Revealed(reveal),
                    Event::Accused { party, fault } => Seen::Accused(party, fault),
                    Event::Refused(why) => Seen::Refused(why),
                    Event::Halted(why) => Seen::Refused(why.to_string()),
                    Event::Skipped(_) => panic!("no height is skipped"),
                    _ => return,
                };
                step.note(seen);
            }
        }
    }

    fn run(&mut self, seat: Seat, job: Job) -> (Verdict, Duration) {
        let verdict = match job {
            Job::Engine(never) => match never {},
            Job::Keygen(job) => {
                let identity = &self.ground.identities()[seat.index()];
                Verdict::Keygen(self.ground.run(&self.setup, identity, &job))
            }
            Job::Beacon(job) => Verdict::Beacon(job.run()),
        };
        (verdict, Duration::ZERO)
    }
}

struct Run {
    simulation: Simulation<Committee>,
    seats: Vec<Seat>,
}

fn stage(algorithm: Algorithm, faulty: (Seat, Fault)) -> Run {
    let ground = ground(algorithm);
    let mut setup = ground.setup().clone();
    setup.choice = algorithm;
    setup.fast_after = if algorithm == Algorithm::Slow { u64::MAX } else { 0 };
    setup.timeout = Duration::from_millis(600);
    let host = Committee { ground, setup: Arc::new(setup), faulty, lives: Lives::default() };
    let world = sim::Setup::new(5, 1, Network::constant(DELAY));
    let simulation = Simulation::new(host, world).expect("five seats");
    Run { simulation, seats: (0..5).map(Seat::new).collect() }
}

const NOBODY: (Seat, Fault) = (Seat::new(0), Fault::None);

impl Run {
    /// Until these seats have revealed so many slots.
    fn reveal(&mut self, seats: &[Seat], slots: usize) {
        let count = |notes: &[sim::Note<Seen>], seat: Seat| {
            let revealed = notes.iter().filter_map(|note| match &note.event {
                Seen::Revealed(reveal) if note.seat == seat => Some(reveal.slot),
                _ => None,
            });
            revealed.collect::<BTreeSet<_>>().len()
        };
        let end = Instant::at(PATIENCE);
        while seats.iter().any(|seat| count(self.simulation.notes(), *seat) < slots) {
            let stop = self.simulation.run_watching(end, |note| match &note.event {
                Seen::Revealed(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            });
            assert_eq!(stop, sim::Stop::Watcher, "values in time");
        }
        self.check();
    }

    /// Agreement on blocks and values, and that honest parties blame nobody else.
    fn check(&self) {
        let faulty = self.faulty();
        let (mut blocks, mut values) = (BTreeMap::new(), BTreeMap::new());
        for note in self.simulation.notes() {
            match &note.event {
                Seen::Finalized(slot, block) => {
                    assert_eq!(blocks.entry(*slot).or_insert(*block), block, "agreement");
                }
                Seen::Revealed(reveal) => {
                    let value = reveal.randomness();
                    assert_eq!(*values.entry(reveal.slot).or_insert(value), value, "one value");
                    assert_eq!(reveal.value, blocks.get(&reveal.slot).copied());
                }
                Seen::Accused(party, why) => {
                    assert_eq!(Some(party.get()), faulty, "{} accuses {party}: {why}", note.seat);
                }
                Seen::Refused(why) => panic!("{} refuses: {why}", note.seat),
                _ => {}
            }
        }
    }

    fn faulty(&self) -> Option<u32> {
        let (seat, fault) = self.simulation.host().faulty;
        (fault != Fault::None).then_some(seat.get())
    }

    /// Per value: slot, path, and how many thousandths of a delay after finality it came.
    fn waits(&self, seats: &[Seat]) -> Vec<(Slot, Path, u128)> {
        let mut finalized = BTreeMap::new();
        let mut waits = Vec::new();
        for note in self.simulation.notes().iter().filter(|note| seats.contains(&note.seat)) {
            match &note.event {
                Seen::Finalized(slot, _) => {
                    finalized.entry((note.seat, *slot)).or_insert(note.at);
                }
                Seen::Revealed(reveal) => {
                    let wait = note.at - finalized[&(note.seat, reveal.slot)];
                    let wait = wait.as_nanos() * 1000 / DELAY.as_nanos();
                    waits.push((reveal.slot, reveal.path, wait));
                }
                _ => {}
            }
        }
        waits
    }

    /// Every precommit for a block that left, by seat and height.
    fn precommits(&self) -> BTreeMap<(Seat, u64, Round), Vec<SignedVote>> {
        let mut all = BTreeMap::<_, Vec<SignedVote>>::new();
        for note in self.simulation.notes() {
            if let Seen::Precommit(vote) = &note.event {
                let at = (note.seat, vote.message.height.get(), vote.message.round);
                all.entry(at).or_default().push(vote.clone());
            }
        }
        all
    }
}

fn delays(algorithm: Algorithm, expected: Path) -> BTreeSet<u128> {
    let mut run = stage(algorithm, NOBODY);
    let seats = run.seats.clone();
    run.reveal(&seats, 8);
    let waits = run.waits(&seats);
    assert!(waits.iter().all(|(_, path, _)| *path == expected), "{waits:?}");
    let early = |note: &sim::Note<Seen>| matches!(note.event, Seen::EarlyOnItsOwn);
    assert!(!run.simulation.notes().iter().any(early), "early partials travel in votes alone");
    waits.into_iter().map(|(_, _, delays)| delays).collect()
}

#[test]
fn tight_and_fast_add_no_message_delay_and_slow_adds_one() {
    assert_eq!(delays(Algorithm::Tight, Path::Tight), BTreeSet::from([0]));
    assert_eq!(delays(Algorithm::Fast, Path::Fast), BTreeSet::from([0]));
    assert_eq!(delays(Algorithm::Slow, Path::Slow), BTreeSet::from([1000]));
}

#[test]
fn a_height_whose_first_proposer_is_down_takes_the_slow_path_and_the_others_do_not() {
    let mut run = stage(Algorithm::Fast, NOBODY);
    let (down, up) = (run.seats[4], run.seats[..4].to_vec());
    // Once the keys are made.
    run.reveal(&up, 1);
    let now = run.simulation.notes().last().unwrap().at;
    run.simulation.crash(down, now).unwrap();
    run.reveal(&up, 14);
    let (slow, fast): (Vec<_>, Vec<_>) =
        run.waits(&up).into_iter().skip(8).partition(|(_, path, _)| *path == Path::Slow);
    assert!(slow.len() >= 4 && fast.len() >= 16, "{} slow, {} fast", slow.len(), fast.len());
    for (slot, _, delays) in &slow {
        assert_eq!(slot.get() % 5, 4, "the turn of the party that is down");
        assert!(*delays <= 1000);
    }
    assert!(fast.iter().all(|(slot, _, delays)| slot.get() % 5 != 4 && *delays == 0));
}

#[test]
fn who_withholds_or_garbles_its_extensions_costs_no_value() {
    // Without the largest party the fast path lacks stake.
    for fault in [Fault::Withholds, Fault::Garbles] {
        let mut run = stage(Algorithm::Fast, (Seat::new(0), fault));
        let honest = run.seats[1..].to_vec();
        run.reveal(&honest, 5);
        let waits = run.waits(&honest);
        assert!(waits.iter().all(|(_, path, delays)| *path == Path::Slow && *delays <= 1000));
        let named = run.simulation.notes().iter().any(|note| {
            matches!(&note.event, Seen::Accused(_, why) if why.contains("undecodable partial"))
        });
        assert_eq!(named, fault == Fault::Garbles);
    }
    // The smallest is not needed for it.
    let mut run = stage(Algorithm::Fast, (Seat::new(4), Fault::Garbles));
    let honest = run.seats[..4].to_vec();
    run.reveal(&honest, 5);
    assert!(run.waits(&honest).iter().all(|(_, path, _)| *path == Path::Fast));
}

#[test]
fn after_a_crash_the_same_extension_leaves_and_the_same_values_come() {
    let crashing = Seat::new(2);
    let mut steady = stage(Algorithm::Fast, NOBODY);
    steady.reveal(&steady.seats.clone(), 6);
    let all = steady.simulation.records(crashing);
    let own = |record: &Record| match record {
        Record::Engine(malachite::Record::Entry {
            entry: malachite::Entry::Vote(vote), ..
        }) => {
            let vote = &vote.message;
            let carried =
                vote.extension.as_ref().is_some_and(|carried| !carried.message.is_empty());
            carried && vote.voter.party() == Party::new(2)
        }
        _ => false,
    };
    // The vote is the record of the release; there is no other.
    let separate =
        |record: &Record| matches!(record, Record::Beacon(beacon::Record::Released { .. }));
    assert!(!all.iter().any(separate));
    let votes: Vec<usize> = (0..all.len()).filter(|at| own(&all[*at])).collect();
    assert!(votes.len() >= 5);
    // Around the first and the last of them: before the record, behind it, and a little later.
    for cut in [votes[0], votes[0] + 1, votes[3], votes[3] + 1] {
        let mut run = stage(Algorithm::Fast, NOBODY);
        run.simulation.crash_after_records(crashing, u64::try_from(cut).unwrap()).unwrap();
        let mut now = Instant::START;
        loop {
            now = now + DELAY;
            run.simulation.run(now);
            if run.simulation.machine(crashing).is_none() {
                break;
            }
        }
        run.simulation.restart(crashing, now + DELAY * 10, Disk::Kept).unwrap();
        run.reveal(&run.seats.clone(), 10);
        for (at, votes) in run.precommits() {
            assert!(votes.iter().all(|vote| *vote == votes[0]), "{at:?} differs between lives");
        }
    }
}
