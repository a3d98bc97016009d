//! Validators on Malachite in the simulator: the published consensus, key generation and beacon.
//!
//! | claim                                                                  | measured in                  |
//! |------------------------------------------------------------------------|------------------------------|
//! | delays between finality and value: tight 0, fast 0, slow 1              | constant delay, zero compute |
//! | a round that fails takes the slow path, and only that height            | a proposer that is down      |
//! | extensions that are withheld or garbled cost no value                   | the slow path                |
//! | after a crash anywhere the same extensions leave, and the same values come | records cut at every kind |
//!
//! `consensus/malachite/tests` tests the engine alone, and `faults` tests Jolteon.
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use prefinal_beacon::{Path, Slot, Wvuf};
use prefinal_crypto_core::access::Party;
use prefinal_lab::committee::{Ground, Observation, Prices, ValidatorHost};
use prefinal_lab::machine::{MessageOf, RecordOf};
use prefinal_malachite::{Malachite, NilOrVal, Round, SignedVote, VoteType};
use prefinal_protocol::Instant;
use prefinal_registry::NamedEngine;
use prefinal_sim::rule::{self, Letter};
use prefinal_sim::{Disk, Network, Note, Seat, Simulation};
use prefinal_validator::participant::Record as Kept;
use prefinal_validator::setup::{Algorithm, Plan, Setup};
use prefinal_weighted_rounding::{Ratio, Stake};

type Message = MessageOf<Wvuf, Malachite>;
type Record = RecordOf<Malachite>;

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
        Message::Engine(_, prefinal_malachite::Message::Vote(vote))
            if vote.message.kind == VoteType::Precommit && vote.message.value != NilOrVal::Nil =>
        {
            Some(vote)
        }
        _ => None,
    }
}

/// What leaves the faulty seat instead.
fn tampered(
    setup: &Setup,
    secret: &prefinal_malachite::SecretKey,
    fault: Fault,
    message: &Message,
) -> Message {
    let bytes = match fault {
        Fault::None => return message.clone(),
        Fault::Withholds => Vec::new(),
        Fault::Garbles => b"no partial".to_vec(),
    };
    let Some(mut vote) = precommit(message).cloned() else { return message.clone() };
    let members = Malachite::members(setup).unwrap();
    let committee = prefinal_malachite::Validators::new(&setup.context, &members).unwrap();
    let signature = secret.sign_extension(&committee, &vote.message, &bytes).unwrap();
    let extension = vote.message.extension.as_mut().expect("every precommit has one");
    (extension.message, extension.signature) = (bytes, signature);
    Message::Engine(prefinal_validator::setup::FIRST, prefinal_malachite::Message::Vote(vote))
}

/// What has left and arrived.
#[derive(Default)]
struct Traffic {
    /// Precommits for a block, by seat, height and round.
    precommits: BTreeMap<(Seat, u64, Round), Vec<SignedVote>>,
    /// Whether an early partial travelled outside of a vote.
    early_on_its_own: bool,
}

impl Traffic {
    fn see(&mut self, seat: Seat, message: &Message) {
        if let Some(vote) = precommit(message) {
            let at = (seat, vote.message.height.get(), vote.message.round);
            self.precommits.entry(at).or_default().push(vote.clone());
        }
        if let Message::Beacon(_, prefinal_beacon::Message::Partial { path, .. }) = message {
            self.early_on_its_own |= *path != Path::Slow;
        }
    }
}

struct Run {
    simulation: Simulation<ValidatorHost<Wvuf, Malachite>>,
    seats: Vec<Seat>,
    faulty: Option<u32>,
    left: Rc<RefCell<Traffic>>,
}

fn stage(algorithm: Algorithm, (seat, fault): (Seat, Fault)) -> Run {
    let ground = ground(algorithm);
    let mut setup = ground.setup().clone();
    setup.choice = algorithm;
    setup.fast_after = if algorithm == Algorithm::Slow { u64::MAX } else { 0 };
    setup.timeout = Duration::from_millis(600);
    let secret = Malachite::key(&ground.identities()[seat.index()]).unwrap();
    let mut host = ValidatorHost::new(ground, setup.clone(), Prices::FREE).unwrap();
    let left: Rc<RefCell<Traffic>> = Rc::default();
    let seen = Rc::clone(&left);
    host.watch = Some(Box::new(move |_, _, from, message| seen.borrow_mut().see(from, message)));
    let world = prefinal_sim::Setup::new(5, 1, Network::constant(DELAY));
    let mut simulation = Simulation::new(host, world).expect("five seats");
    let tamper = rule::from_fn(move |_, letter: Letter<Arc<Message>>, leaves| {
        let message = Arc::new(tampered(&setup, &secret, fault, &letter.message));
        leaves.push(Letter { message, ..letter });
    });
    simulation.rule(seat, tamper).unwrap();
    let faulty = (fault != Fault::None).then_some(seat.get());
    Run { simulation, seats: (0..5).map(Seat::new).collect(), faulty, left }
}

const NOBODY: (Seat, Fault) = (Seat::new(0), Fault::None);

impl Run {
    /// Until these seats have revealed so many slots.
    fn reveal(&mut self, seats: &[Seat], slots: usize) {
        let count = |notes: &[Note<Observation<Wvuf>>], seat: Seat| {
            let revealed = notes.iter().filter_map(|note| match &note.event {
                Observation::Revealed(reveal) if note.seat == seat => Some(reveal.slot),
                _ => None,
            });
            revealed.collect::<BTreeSet<_>>().len()
        };
        let end = Instant::at(PATIENCE);
        while seats.iter().any(|seat| count(self.simulation.notes(), *seat) < slots) {
            let stop = self.simulation.run_watching(end, |note| match &note.event {
                Observation::Revealed(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            });
            assert_eq!(stop, prefinal_sim::Stop::Watcher, "values in time");
        }
        self.check();
    }

    /// Agreement on blocks and values, and that honest parties blame nobody else.
    fn check(&self) {
        let (mut blocks, mut values) = (BTreeMap::new(), BTreeMap::new());
        for note in self.simulation.notes() {
            match &note.event {
                Observation::Finalized(slot, block) => {
                    let block = &block.expect("no height is skipped");
                    assert_eq!(blocks.entry(*slot).or_insert(*block), block, "agreement");
                }
                Observation::Revealed(reveal) => {
                    let value = reveal.randomness();
                    assert_eq!(*values.entry(reveal.slot).or_insert(value), value, "one value");
                    assert_eq!(reveal.value, blocks.get(&reveal.slot).copied());
                }
                Observation::Accused(party, why) => {
                    assert_eq!(
                        Some(party.get()),
                        self.faulty,
                        "{} accuses {party}: {why}",
                        note.seat
                    );
                }
                Observation::Refused(why) => panic!("{} refuses: {why}", note.seat),
                Observation::Halted(why) => panic!("{} halts: {why}", note.seat),
                Observation::Skipped(slot) => panic!("{slot} has no value at {}", note.seat),
                _ => {}
            }
        }
    }

    /// Per value: slot, path, and how many thousandths of a delay after finality it came.
    fn waits(&self, seats: &[Seat]) -> Vec<(Slot, Path, u128)> {
        let mut finalized = BTreeMap::new();
        let mut waits = Vec::new();
        for note in self.simulation.notes().iter().filter(|note| seats.contains(&note.seat)) {
            match &note.event {
                Observation::Finalized(slot, _) => {
                    finalized.entry((note.seat, *slot)).or_insert(note.at);
                }
                Observation::Revealed(reveal) => {
                    let wait = note.at - finalized[&(note.seat, reveal.slot)];
                    let wait = wait.as_nanos() * 1000 / DELAY.as_nanos();
                    waits.push((reveal.slot, reveal.path, wait));
                }
                _ => {}
            }
        }
        waits
    }
}

fn delays(algorithm: Algorithm, expected: Path) -> BTreeSet<u128> {
    let mut run = stage(algorithm, NOBODY);
    let seats = run.seats.clone();
    run.reveal(&seats, 8);
    let waits = run.waits(&seats);
    assert!(waits.iter().all(|(_, path, _)| *path == expected), "{waits:?}");
    assert!(!run.left.borrow().early_on_its_own, "early partials travel in votes alone");
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
fn a_party_that_withholds_or_garbles_its_extensions_costs_no_value() {
    // Without the largest party the fast path lacks stake.
    for fault in [Fault::Withholds, Fault::Garbles] {
        let mut run = stage(Algorithm::Fast, (Seat::new(0), fault));
        let honest = run.seats[1..].to_vec();
        run.reveal(&honest, 5);
        let waits = run.waits(&honest);
        assert!(waits.iter().all(|(_, path, delays)| *path == Path::Slow && *delays <= 1000));
        let named = run.simulation.notes().iter().any(|note| {
            matches!(&note.event, Observation::Accused(_, why) if why.contains("undecodable partial"))
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
        Record::Engine(
            _,
            prefinal_malachite::Record::Entry {
                entry: prefinal_malachite::Entry::Vote(vote), ..
            },
        ) => {
            let vote = &vote.message;
            let carried =
                vote.extension.as_ref().is_some_and(|carried| !carried.message.is_empty());
            carried && vote.voter.party() == Party::new(2)
        }
        _ => false,
    };
    // The vote is the record of the release; there is no other.
    let separate = |record: &Record| {
        matches!(
            record,
            Record::Participant(Kept::Beacon(_, _, prefinal_beacon::Record::Released { .. }))
        )
    };
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
        for (at, votes) in &run.left.borrow().precommits {
            assert!(votes.iter().all(|vote| *vote == votes[0]), "{at:?} differs between lives");
        }
    }
}
