//! A participant without an engine: what it is told is final, and what it makes of that.
use std::num::NonZeroU64;
use std::time::Duration;

use ::prefinal_beacon::stack::Envelope;
use ::prefinal_beacon::{ConfigError, Wvuf};
use prefinal_engine::Quorum;
use prefinal_pvss_dkg::protocol::Job as Dealings;
use prefinal_weighted_rounding::{Ratio, Stake};

use super::*;
use crate::early;
use crate::fixed::FixedCommittees;
use crate::keygen::Keygen;
use crate::setup::{Algorithm, Plan, found};
use crate::transaction::{self, Kind};

type Participant = super::Participant<Wvuf>;

type Seats = (Arc<Setup>, Vec<Arc<Identity>>);

const FIRST: EpochId = EpochId::new(0);

#[derive(Debug, PartialEq, Eq)]
enum Keys {
    Lacking,
    Suffice,
    Refused(HaltError),
}

fn committee() -> Seats {
    let stakes = [40, 30, 20, 10].map(Stake::new).to_vec();
    let fast = Ratio::new(9, 10).unwrap();
    let plan = Plan::new(stakes, Algorithm::Fast, fast).unwrap();
    let (setup, identities) = found(&plan, 1).unwrap();
    (Arc::new(setup), identities.into_iter().map(Arc::new).collect())
}

fn participant((setup, identities): &Seats, records: Vec<Record>) -> Participant {
    let life = if records.is_empty() { Life::First } else { Life::later([1; 16]) };
    let host = Host::new(Quorum::BYZANTINE, Some(0));
    let participant = Participant::new(setup, &identities[0], life, records, host);
    let mut participant = participant.unwrap();
    participant.handle(Instant::START, Input::Start);
    participant
}

fn block(transactions: &[Vec<u8>]) -> Block {
    let transactions = transactions.iter().map(|one| one.as_slice().into()).collect();
    Block { value: Value::new([7; 32]), transactions }
}

/// The engine finalizes this in a slot.
fn finalize(participant: &mut Participant, slot: u64, transactions: &[Vec<u8>]) {
    let input = Input::Finalized { slot: Slot::new(slot), block: Some(block(transactions)) };
    participant.handle(Instant::START, input);
}

/// Runs every job of the key generation; what was persisted, and what came of the keys.
fn run_all(participant: &mut Participant, (_, identities): &Seats) -> (Vec<Record>, Keys) {
    let (mut records, mut keys) = (Vec::new(), Keys::Lacking);
    loop {
        let Some(output) = participant.poll() else { return (records, keys) };
        match output {
            Output::Keep(record) | Output::Note(record) => records.push(record),
            Output::Do(Effect::Run(Job::Keygen(
                _,
                keygen::Job::Dealings(Dealings::Deal { .. }),
            ))) => {}
            Output::Do(Effect::Run(Job::Keygen(setup, job))) => {
                let verdict = job.run(&setup, &identities[0]);
                let verdict = Verdict::Keygen(setup.context.epoch, verdict);
                participant.handle(Instant::START, Input::Checked(verdict));
            }
            Output::Do(Effect::Tell(Event::Ready { .. })) => keys = Keys::Suffice,
            Output::Do(Effect::Tell(Event::Halted(why))) => keys = Keys::Refused(why),
            _ => {}
        }
    }
}

/// Everybody's dealings, and the keys that follow from them.
fn transactions((setup, identities): &Seats) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let submitted = |identity: &Identity, ordered: &[Vec<u8>]| {
        let mut keygen =
            Keygen::<Wvuf>::new(Arc::clone(setup), identity.me, Vec::new(), None).unwrap();
        let ordered: Vec<Arc<[u8]>> = ordered.iter().map(|one| one.as_slice().into()).collect();
        keygen.ordered(1, &ordered);
        let mut submitted = Vec::new();
        while let Some(output) = keygen.poll() {
            match output {
                keygen::Output::Do(keygen::Effect::Run(job)) => {
                    keygen.checked(job.run(setup, identity))
                }
                keygen::Output::Do(keygen::Effect::Submit(transaction)) => {
                    submitted.push(transaction)
                }
                _ => {}
            }
        }
        submitted
    };
    let dealings: Vec<_> =
        identities.iter().flat_map(|identity| submitted(identity, &[])).collect();
    let keys = identities.iter().flat_map(|identity| submitted(identity, &dealings));
    let keys = keys.filter(|one| Kind::of(one) == Some(Kind::Keys)).collect();
    (dealings, keys)
}

#[test]
fn a_flood_before_the_keys_takes_nobody_elses_place() {
    let seats = committee();
    let mut participant = participant(&seats, Vec::new());
    let mut receive = |from, slot| {
        let message = ::prefinal_beacon::Message::Request { slot: Slot::new(slot) };
        let envelope = Envelope::one(FIRST, OneOf::First(message));
        participant.handle(Instant::START, Input::Received { from: Party::new(from), envelope });
    };
    (0..10_000).for_each(|slot| receive(3, slot));
    receive(1, 1);
    let kept = participant.beacons.backlog.envelopes.counts();
    assert_eq!(kept, [1, early::MESSAGES]);
}

/// The next committee is named in the first slot, its first dealing ordered in the second, and nobody has
/// judged that yet.
#[test]
fn what_is_final_behind_a_boundary_that_is_not_known_is_on_record() {
    let (setup, identities) = committee();
    let stakes = [40, 30, 20, 10].map(Stake::new).to_vec();
    let plan = Plan::new(stakes, Algorithm::Fast, Ratio::new(9, 10).unwrap()).unwrap();
    let each = identities.iter().map(|identity| &**identity);
    let setup = FixedCommittees::chain((*setup).clone(), &[plan], each, NonZeroU64::MIN).unwrap();
    let seats: Seats = (Arc::new(setup), identities);
    let (dealings, keys) = transactions(&seats);
    let mut first = participant(&seats, Vec::new());
    finalize(&mut first, 1, &[dealings, keys].concat());
    let (mut records, keys) = run_all(&mut first, &seats);
    assert_eq!(keys, Keys::Suffice);
    let next = seats.0.succession.as_ref().unwrap();
    let next = next.next(&seats.0, Slot::new(1), &block(&[])).next.unwrap();
    let dealt = keygen::deal::<Wvuf>(&next, &seats.1[1]).unwrap();
    let mut dealing = vec![transaction::dealing(next.context.epoch, &dealt[0])];
    for slot in 2..=20 {
        finalize(&mut first, slot, &std::mem::take(&mut dealing));
        records.extend(run_none(&mut first));
    }
    // From two and the lead on.
    assert_eq!((first.past.len(), first.last), (13, Slot::new(7)));
    let ordered = |record: &&Record| matches!(record, Record::Ordered { .. });
    assert_eq!(records.iter().filter(ordered).count(), 20);
    // Without one of them it stops: what its block decides is not known.
    let lacking = records
        .iter()
        .filter(|one| !matches!(one, Record::Ordered { slot, .. } if slot.get() == 4));
    let mut lacking = participant(&seats, lacking.cloned().collect());
    run_none(&mut lacking);
    assert!(matches!(lacking.halted(), Some(HaltError::Gap { .. })), "{:?}", lacking.halted());
    // A later life goes on behind them, and takes nothing that leaves a slot out.
    let mut second = participant(&seats, records);
    finalize(&mut second, 20, &[]);
    finalize(&mut second, 21, &[]);
    assert_eq!(run_none(&mut second).iter().filter(ordered).count(), 1);
    finalize(&mut second, 23, &[]);
    assert!(second.halted().is_some());
}

/// Lets everything come to rest without any job; what was persisted.
fn run_none(participant: &mut Participant) -> Vec<Record> {
    let outputs = std::iter::from_fn(|| participant.poll());
    let records = outputs.filter_map(|output| match output {
        Output::Keep(record) | Output::Note(record) => Some(record),
        Output::Do(_) => None,
    });
    records.collect()
}

/// A host whose engine goes on casts votes for slots of which nobody knows yet whose they are.
#[test]
fn nothing_is_released_early_where_the_next_epoch_may_begin() {
    let (setup, identities) = committee();
    let plan = Plan::new(
        [40, 30, 20, 10].map(Stake::new).to_vec(),
        Algorithm::Fast,
        Ratio::new(9, 10).unwrap(),
    )
    .unwrap();
    let each = identities.iter().map(|identity| &**identity);
    let setup = FixedCommittees::chain((*setup).clone(), &[plan], each, NonZeroU64::MIN).unwrap();
    let seats: Seats = (Arc::new(setup), identities);
    let (dealings, keys) = transactions(&seats);
    let mut participant = participant(&seats, Vec::new());
    finalize(&mut participant, 1, &[dealings, keys].concat());
    assert_eq!(run_all(&mut participant, &seats).1, Keys::Suffice);
    let limit = participant.limit().unwrap();
    let last = Slot::new(limit.get() - 1);
    let released = |participant: &mut Participant, slot, view| {
        let (view, value) = (View::new(view, 0), Value::new([7; 32]));
        participant.handle(Instant::START, Input::Prefinalized { slot, view, value });
        let records = run_none(participant);
        records.iter().any(|one| {
            matches!(one, Record::Beacon(_, _, ::prefinal_beacon::Record::Released { .. }))
        })
    };
    // A later view's vote for an earlier slot is a vote of the later view.
    for (slot, view) in [(limit, limit), (last, limit)] {
        assert!(!released(&mut participant, slot, view));
    }
    assert!(released(&mut participant, last, last));
}

/// A timeout that was signed before there were keys holds back what comes after it.
#[test]
fn a_view_that_was_given_up_before_the_first_key_is_on_record() {
    let seats = committee();
    let view = View::new(Slot::new(20), 0);
    let mut first = participant(&seats, Vec::new());
    first.handle(Instant::START, Input::Abandoned { view });
    let records = run_none(&mut first);
    assert!(records.iter().any(|one| matches!(one, Record::Abandoned(of) if *of == view)));
    let (dealings, keys) = transactions(&seats);
    let released = |records| {
        let host = Host::new(Quorum::BYZANTINE, Some(0));
        let (setup, identity) = (&seats.0, &seats.1[0]);
        // As if nothing but the record held it back.
        let mut second = Participant::new(setup, identity, Life::First, records, host).unwrap();
        finalize(&mut second, 1, &[dealings.clone(), keys.clone()].concat());
        run_all(&mut second, &seats);
        let (slot, value) = (Slot::new(12), Value::new([7; 32]));
        let view = View::new(slot, 0);
        second.handle(Instant::START, Input::Prefinalized { slot, view, value });
        let kept = run_none(&mut second);
        kept.iter().any(|one| {
            matches!(one, Record::Beacon(_, _, ::prefinal_beacon::Record::Released { .. }))
        })
    };
    let given_up = records.into_iter().filter(|one| matches!(one, Record::Abandoned(_))).collect();
    assert_eq!((released(Vec::new()), released(given_up)), (true, false));
}

#[test]
fn what_the_engine_reports_again_after_a_crash_counts_once() {
    let seats = committee();
    let (dealings, keys) = transactions(&seats);
    // The last dealer knows the sum before it is ordered, and can have keys ordered before it:
    // too early to count. Read twice, they would be in time.
    let early = [keys.clone(), dealings.clone()].concat();
    let mut steady = participant(&seats, Vec::new());
    finalize(&mut steady, 1, &early);
    let (records, keys_of_steady) = run_all(&mut steady, &seats);
    assert_eq!(keys_of_steady, Keys::Lacking);
    let mut crashed = participant(&seats, records);
    finalize(&mut crashed, 1, &early);
    let (again, keys_of_crashed) = run_all(&mut crashed, &seats);
    let why = "keys count for the party that crashed, and for nobody else";
    assert_eq!(keys_of_crashed, Keys::Lacking, "{why}");
    let ordered = |record: &Record| matches!(record, Record::Ordered { .. });
    assert!(!again.iter().any(ordered));
    // In time they do.
    let mut timely = participant(&seats, Vec::new());
    finalize(&mut timely, 1, &[dealings, keys].concat());
    assert_eq!(run_all(&mut timely, &seats).1, Keys::Suffice);
}

#[test]
fn a_participant_whose_beacon_is_refused_says_why_and_does_nothing_more() {
    let (setup, identities) = committee();
    let seats = (
        Arc::new(setup.with_shape(prefinal_fixture::of_no_stakes(setup.keygen.shape())).unwrap()),
        identities,
    );
    let (dealings, keys) = transactions(&seats);
    let mut participant = participant(&seats, Vec::new());
    finalize(&mut participant, 1, &[dealings, keys].concat());
    let (_, keys) = run_all(&mut participant, &seats);
    let refused = matches!(
        keys,
        Keys::Refused(HaltError::Config(ConfigError::Threshold(
            ::prefinal_beacon::ThresholdError::OpensNever { .. }
        )))
    );
    assert!(refused, "{keys:?}");
    assert!(participant.newest_beacon().is_none() && participant.wake_at().is_none());
    participant.handle(Instant::at(Duration::from_secs(3600)), Input::Tick);
    assert!(participant.poll().is_none());
}

/// It takes no earlier slot behind this one, so it would wait for the missing ones for ever and say nothing.
#[test]
fn a_gap_that_the_beacon_refuses_stops_the_participant() {
    let seats = committee();
    let (dealings, keys) = transactions(&seats);
    let mut participant = participant(&seats, Vec::new());
    finalize(&mut participant, 1, &[dealings, keys].concat());
    assert_eq!(run_all(&mut participant, &seats).1, Keys::Suffice);
    let first = participant.newest_beacon().unwrap().first();
    finalize(&mut participant, first.get(), &[]);
    assert_eq!(run_all(&mut participant, &seats).1, Keys::Lacking);
    assert_eq!(participant.last_final(), Some(first));
    finalize(&mut participant, 1000, &[]);
    let gap = HaltError::Gap { slot: Slot::new(1000), expected: first.next() };
    assert_eq!(run_all(&mut participant, &seats).1, Keys::Refused(gap));
}
