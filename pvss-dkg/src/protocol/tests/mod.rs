//! The protocol under faults of less than a third of stake: whatever they do, all honest parties end
//! with one key and shares of it, or all with the same reason, and none of them is ever accused.

mod chain;
mod either;
mod evidence;
mod faults;
mod kinds;
mod order;
mod purposes;

use std::collections::BTreeMap;
use std::time::Duration;

use chain::{Event, World, ms, simulate};
use kinds::{Case, Kind};
use prefinal_sim::{Network, Seat, Simulation, Stop};

use super::{Abort, Evidence, Fault};

const SEEDS: [u64; 1] = [7];

/// 20 ms one way, more or less.
fn network() -> Network {
    Network::constant(Duration::from_millis(20)).in_order()
}

/// What a run came to.
struct End {
    /// The key's digest for each seat that ended with one.
    keys: BTreeMap<u32, [u8; 32]>,
    aborts: BTreeMap<u32, Abort>,
    faults: Vec<Fault>,
    ignored: Vec<String>,
}

/// Runs to the end and checks what must hold in every run.
fn finish<C: Case>(simulation: &mut Simulation<World<C>>, byzantine: &[u32]) -> End {
    let seed = simulation.seed();
    let stop = simulation.run(ms(600_000));
    assert_eq!(stop, Stop::Idle, "seed {seed}");
    let notes = simulation.take_notes();
    let blank = &simulation.host().blank;
    let mut end = End {
        keys: BTreeMap::new(),
        aborts: BTreeMap::new(),
        faults: Vec::new(),
        ignored: Vec::new(),
    };
    for note in notes {
        let seat = note.seat.get();
        match note.event {
            Event::Accused(fault, evidence) => {
                assert!(byzantine.contains(&fault.party.get()), "seed {seed}: {fault}");
                let bytes = evidence.to_bytes();
                let read = Evidence::from_bytes(blank.dealing_bytes(), &bytes).unwrap();
                assert_eq!(read.verify(blank).as_ref(), Ok(&fault), "seed {seed}");
                if !end.faults.contains(&fault) {
                    end.faults.push(fault);
                }
            }
            Event::Ignored(why) => end.ignored.push(why.to_string()),
            Event::Aborted(abort) => drop(end.aborts.insert(seat, abort)),
            Event::Ready(ready) => {
                let recipient = simulation.host().seats[note.seat.index()].role.recipient;
                assert_eq!(ready.shares.is_some(), recipient.is_some(), "seed {seed}");
                if let (Some(shares), Some(party)) = (ready.shares, recipient) {
                    C::check_shares(&ready.key, &shares.unwrap(), party);
                }
                end.keys.insert(seat, ready.key.digest());
            }
        }
    }
    end
}

/// All honest seats have one key.
fn one_key<C: Case>(simulation: &mut Simulation<World<C>>, byzantine: &[u32]) -> End {
    let end = finish(simulation, byzantine);
    let seed = simulation.seed();
    let seats = u32::try_from(simulation.host().seats.len()).unwrap();
    let honest: Vec<u32> = (0..seats).filter(|seat| !byzantine.contains(seat)).collect();
    let keys: Vec<_> = honest.iter().map(|seat| end.keys.get(seat)).collect();
    assert!(keys.iter().all(Option::is_some), "seed {seed}: {:?}, {:?}", end.keys, end.aborts);
    assert!(keys.iter().all(|key| *key == keys[0]), "seed {seed}: two keys");
    let combined = honest.iter().map(|seat| {
        let node = simulation.machine(Seat::new(*seat)).unwrap().keygen.as_ref().unwrap();
        node.key().unwrap().clone()
    });
    C::check_key(&simulation.host().blank, &combined.last().unwrap());
    end
}

fn honest_run<C: Case>(_: Kind<C>) {
    for seed in SEEDS {
        let mut simulation = simulate(C::world(seed), network());
        let end = one_key(&mut simulation, &[]);
        assert!(end.faults.is_empty() && end.aborts.is_empty(), "seed {seed}");
    }
}

macro_rules! for_each_kind {
    ($($test:path => $name:ident),* $(,)?) => {
        mod group {
            use super::*;
            $(#[test] fn $name() { $test(kinds::GROUP); })*
        }
        mod field {
            use super::*;
            $(#[test] fn $name() { $test(kinds::FIELD); })*
        }
        mod handover {
            use super::*;
            $(#[test] fn $name() { $test(kinds::HANDOVER); })*
        }
    };
}

for_each_kind! {
    honest_run => all_honest,
    faults::one_misdeed_each => misdeeds_are_shown_to_everybody,
    faults::accused_for_good => an_accusation_survives_a_crash,
    faults::equivocation => a_dealer_that_contradicts_itself,
    faults::copies_and_forgeries => copies_and_forgeries_accuse_nobody,
    faults::silence => silence,
    faults::flood => a_flood_makes_no_two_keys,
    faults::crashes => a_crash_after_every_record,
    faults::crashes_in_time => a_crash_at_any_time,
    faults::other_records => records_of_another_session_are_refused,
    faults::partition => a_partition,
    faults::late => whoever_is_late_reads_the_order,
    faults::absent => whoever_was_absent_needs_key_and_offer,
    faults::aborts => too_few_end_with_the_same_reason,
    order::behind_the_end => what_is_ordered_behind_the_end_counts_for_nobody,
    order::interleavings => the_order_alone_decides,
    purposes::kept_apart => two_purposes_have_nothing_in_common,
    evidence::tampered => evidence_that_shows_nothing,
    evidence::encodings => encodings_are_canonical_and_bounded,
}
