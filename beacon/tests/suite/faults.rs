//! Faulty peers: verified late, named exactly, and never able to stop or change an output.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use beacon::{Config, ConfigError, Fault, Finding, Input, Known, Message, Output, Path, Paths};
use beacon::{Refusal, Scheme, Work};
use crypto_core::access::Party;
use crypto_core::curve::Scalar;
use crypto_core::wvuf::{InsertError, Partial, QuorumError};

use crate::fixture::*;

fn partial_message(path: Path, at: u64, partial: Partial) -> Message {
    Message::Partial { path, slot: slot(at), value: None, partial }
}

/// Seven equal parties, two faulty: five on the slow path.
fn seven() -> World {
    World::new(301, &[1; 7], [4, 7, 5])
}

fn false_partial(at: u64, partial: Partial) -> Fault {
    let (slot, path, partial) = (slot(at), Path::Slow, Box::new(partial));
    Fault::FalsePartial { slot, path, value: None, partial }
}

#[test]
fn nothing_is_verified_before_it_can_suffice() {
    let world = seven();
    let mut beacon = world.beacon(A, &SLOW);
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    for peer in [B, C] {
        let outputs = step(
            &mut beacon,
            ms(0),
            received(peer, world.message(peer, Path::Slow, slot(1), None)),
        );
        assert!(outputs.is_empty());
    }
    let outputs =
        step(&mut beacon, ms(0), received(D, world.message(D, Path::Slow, slot(1), None)));
    assert_eq!(jobs(&outputs).len(), 1);
    assert_eq!(reveals(&outputs).len(), 1);
}

#[test]
fn a_false_partial_is_found_dropped_and_accused_with_its_evidence() {
    let world = seven();
    let mut beacon = world.beacon(A, &SLOW);
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    let wrong = wrong_partial(5);
    step(&mut beacon, ms(0), received(B, partial_message(Path::Slow, 1, wrong)));
    step(&mut beacon, ms(0), received(C, world.message(C, Path::Slow, slot(1), None)));
    let outputs =
        step(&mut beacon, ms(0), received(D, world.message(D, Path::Slow, slot(1), None)));
    assert_eq!(accused(&outputs), [(B, false_partial(1, wrong))]);
    assert!(reveals(&outputs).is_empty());
    // The culprit is out for this slot, even with the right partial.
    let right = world.message(B, Path::Slow, slot(1), None);
    assert!(step(&mut beacon, ms(0), received(B, right)).is_empty());
    let last = Party::new(4);
    let outputs =
        step(&mut beacon, ms(0), received(last, world.message(last, Path::Slow, slot(1), None)));
    let reveal = &reveals(&outputs)[0];
    assert_eq!(reveal.output, world.output(slot(1), None));
    assert_eq!(reveal.proof.keys().copied().collect::<Vec<_>>(), [A, C, D, last]);
}

/// Two errors chosen so that the product of the two pairing equations still holds. A batch without
/// random coefficients accepts them and combines to a wrong output.
#[test]
fn wrong_partials_that_cancel_are_found() {
    let world = seven();
    let dealt = &world.paths[&Path::Slow];
    let (r, s) = (dealt.blinding(B), dealt.blinding(C));
    for (party, blinding) in [(B, r), (C, s)] {
        assert_eq!(dealt.committee.keys()[&party].pi().to_bytes(), pi(&blinding));
    }
    let honest: BTreeMap<Party, Partial> = [A, B, C, D]
        .into_iter()
        .map(|party| (party, world.partial(party, Path::Slow, slot(1), None)))
        .collect();
    let mut cancelling = honest.clone();
    cancelling.insert(B, shifted(&honest[&B], &s));
    cancelling.insert(C, shifted(&honest[&C], &(Scalar::ZERO - r)));
    assert_eq!(plain_product(dealt, &honest), plain_product(dealt, &cancelling));

    let mut beacon = world.beacon(A, &SLOW);
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    let mut outputs = Vec::new();
    for peer in [B, C, D] {
        let message = partial_message(Path::Slow, 1, cancelling[&peer]);
        outputs.extend(step(&mut beacon, ms(0), received(peer, message)));
    }
    let culprits: BTreeSet<Party> = accused(&outputs).iter().map(|(party, _)| *party).collect();
    assert_eq!(culprits, BTreeSet::from([B, C]));
    for peer in [Party::new(4), Party::new(5)] {
        let message = world.message(peer, Path::Slow, slot(1), None);
        outputs.extend(step(&mut beacon, ms(0), received(peer, message)));
    }
    assert_eq!(reveals(&outputs)[0].output, world.output(slot(1), None));
}

#[test]
fn who_was_caught_is_checked_at_once_from_then_on() {
    let world = seven();
    let mut beacon = world.beacon(A, &SLOW);
    // Kept before the party is caught, to be checked when it is.
    let early = wrong_partial(9);
    step(&mut beacon, ms(0), received(B, partial_message(Path::Slow, 2, early)));
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    step(&mut beacon, ms(0), received(B, partial_message(Path::Slow, 1, wrong_partial(5))));
    let mut outputs = Vec::new();
    for peer in [C, D] {
        let message = world.message(peer, Path::Slow, slot(1), None);
        outputs.extend(step(&mut beacon, ms(0), received(peer, message)));
    }
    assert_eq!(
        accused(&outputs),
        [(B, false_partial(1, wrong_partial(5))), (B, false_partial(2, early))]
    );
    // A right one is checked too, alone, and counts.
    let outputs =
        step(&mut beacon, ms(0), received(B, world.message(B, Path::Slow, slot(3), None)));
    assert!(matches!(jobs(&outputs)[..], [ref job] if matches!(job.work(), Work::Verify(B, _))));
    step(&mut beacon, ms(0), received(C, world.message(C, Path::Slow, slot(3), None)));
    step(&mut beacon, ms(0), received(D, world.message(D, Path::Slow, slot(3), None)));
    let outputs = step(&mut beacon, ms(0), finalized(3, Some(V)));
    assert!(matches!(jobs(&outputs)[..], [ref job] if matches!(job.work(), Work::Combine(_))));
    assert!(accused(&outputs).is_empty());
}

#[test]
fn what_arrives_during_a_job_is_kept_and_tried_next() {
    let world = seven();
    let mut beacon = world.beacon(A, &SLOW);
    raw_step(&mut beacon, ms(0), finalized(1, Some(V)));
    raw_step(&mut beacon, ms(0), received(B, partial_message(Path::Slow, 1, wrong_partial(5))));
    raw_step(&mut beacon, ms(0), received(C, world.message(C, Path::Slow, slot(1), None)));
    let outputs =
        raw_step(&mut beacon, ms(0), received(D, world.message(D, Path::Slow, slot(1), None)));
    let first = jobs(&outputs).remove(0);
    for peer in [4, 5, 6].map(Party::new) {
        let message = world.message(peer, Path::Slow, slot(1), None);
        let outputs = raw_step(&mut beacon, ms(0), received(peer, message));
        assert!(outputs.is_empty(), "one job at a time in a lane");
    }
    let outputs = raw_step(&mut beacon, ms(0), Input::Checked(first.run()));
    assert_eq!(accused(&outputs).len(), 1);
    let second = jobs(&outputs).remove(0);
    let outputs = raw_step(&mut beacon, ms(0), Input::Checked(second.run()));
    assert_eq!(reveals(&outputs)[0].output, world.output(slot(1), None));
    // Verdicts that come twice or too late change nothing.
    assert!(raw_step(&mut beacon, ms(0), Input::Checked(second.run())).is_empty());
    assert!(raw_step(&mut beacon, ms(0), Input::Checked(first.run())).is_empty());
}

#[test]
fn both_paths_check_at_once_and_the_first_wins() {
    let world = World::four(302);
    for slow_first in [true, false] {
        let mut beacon = world.beacon(A, &BOTH);
        raw_step(&mut beacon, ms(0), prefinalized(1, 0, V));
        let mut running = Vec::new();
        for peer in [B, C, D] {
            let message = world.message(peer, Path::Fast, slot(1), None);
            running.extend(jobs(&raw_step(&mut beacon, ms(0), received(peer, message))));
        }
        raw_step(&mut beacon, ms(0), finalized(1, Some(V)));
        let message = world.message(B, Path::Slow, slot(1), None);
        running.extend(jobs(&raw_step(&mut beacon, ms(0), received(B, message))));
        let paths: Vec<_> = running.iter().map(beacon::Job::path).collect();
        assert_eq!(paths, [Path::Fast, Path::Slow]);
        if slow_first {
            running.reverse();
        }
        let outputs = raw_step(&mut beacon, ms(0), Input::Checked(running[0].run()));
        let reveal = &reveals(&outputs)[0];
        assert_eq!((reveal.path, reveal.output), (running[0].path(), world.output(slot(1), None)));
        assert!(raw_step(&mut beacon, ms(0), Input::Checked(running[1].run())).is_empty());
    }
}

#[test]
fn partials_of_a_slot_with_output_are_not_verified() {
    let world = World::four(303);
    let mut beacon = world.beacon(A, &BOTH);
    step(&mut beacon, ms(0), prefinalized(1, 0, V));
    for peer in [B, C, D] {
        step(&mut beacon, ms(0), received(peer, world.message(peer, Path::Fast, slot(1), None)));
    }
    // The result waits for finality; slow partials are neither kept nor checked.
    assert_eq!(beacon.pending_partials(), 0);
    for peer in [B, C, D] {
        let message = partial_message(Path::Slow, 1, wrong_partial(3));
        assert!(step(&mut beacon, ms(0), received(peer, message)).is_empty());
    }
    assert_eq!(beacon.pending_partials(), 0);
}

#[test]
fn shapes_are_checked_on_arrival_and_accused_once() {
    let world = World::new(304, &[2, 0, 1, 1], [2, 4, 3]);
    let partial = wrong_partial(2);
    let message = |path, value| Message::Partial { path, slot: slot(1), value, partial };
    let cases = [
        (BOTH, B, message(Path::Slow, None), Fault::NoShares { path: Path::Slow }),
        (BOTH, C, message(Path::Slow, Some(V)), Fault::ValueShape { present: true }),
        (BOTH_VALUE, C, message(Path::Fast, None), Fault::ValueShape { present: false }),
        (SLOW, C, message(Path::Fast, None), Fault::UnusedPath { path: Path::Fast, slot: slot(1) }),
        (
            BOTH,
            C,
            message(Path::Tight, None),
            Fault::UnusedPath { path: Path::Tight, slot: slot(1) },
        ),
        (
            TIGHT,
            C,
            message(Path::Slow, None),
            Fault::UnusedPath { path: Path::Slow, slot: slot(1) },
        ),
    ];
    for (profile, from, message, fault) in cases {
        let mut beacon = world.beacon(A, &profile);
        let outputs = step(&mut beacon, ms(0), received(from, message.clone()));
        assert_eq!(accused(&outputs), [(from, fault.clone())]);
        assert!(step(&mut beacon, ms(0), received(from, message)).is_empty(), "{fault}");
        assert_eq!(beacon.pending_partials(), 0, "{fault}");
    }
    let mut beacon = world.beacon(A, &BOTH);
    let stranger = Party::new(4);
    for message in [message(Path::Slow, None), Message::Request { slot: slot(1) }] {
        let outputs = step(&mut beacon, ms(0), received(stranger, message));
        assert_eq!(accused(&outputs), [(stranger, Fault::NotMember)]);
    }
}

#[test]
fn an_echo_of_oneself_is_ignored() {
    let world = World::four(305);
    let mut beacon = world.beacon(A, &BOTH);
    assert!(
        step(&mut beacon, ms(0), received(A, world.message(A, Path::Fast, slot(1), None)))
            .is_empty()
    );
    assert_eq!(beacon.pending_partials(), 0);
}

#[test]
fn the_first_of_two_different_partials_stands() {
    let world = World::demanding(306);
    let mut beacon = world.beacon(A, &BOTH);
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    step(&mut beacon, ms(0), received(B, world.message(B, Path::Slow, slot(1), None)));
    let second = partial_message(Path::Slow, 1, wrong_partial(4));
    let outputs = step(&mut beacon, ms(0), received(B, second.clone()));
    assert!(matches!(accused(&outputs)[..], [(B, Fault::Equivocation { .. })]));
    assert!(step(&mut beacon, ms(0), received(B, second)).is_empty(), "accused once");
    let outputs =
        step(&mut beacon, ms(0), received(C, world.message(C, Path::Slow, slot(1), None)));
    assert_eq!(reveals(&outputs).len(), 1);
}

#[test]
fn a_partial_of_another_value_is_not_counted() {
    let world = World::demanding(307);
    let mut beacon = world.beacon(A, &TIGHT_VALUE);
    // B and C prefinalized one value, and sent the final one's partial later.
    for peer in [B, C] {
        let other = world.message(peer, Path::Tight, slot(1), Some(W));
        assert!(step(&mut beacon, ms(0), received(peer, other)).is_empty());
    }
    let outputs = step(&mut beacon, ms(0), finalized(1, Some(V)));
    assert!(jobs(&outputs).is_empty());
    assert_eq!(beacon.pending_partials(), 1, "only its own is left");
    let late = world.message(D, Path::Tight, slot(1), Some(W));
    assert!(step(&mut beacon, ms(0), received(D, late)).is_empty());
    let mut shown = Vec::new();
    for peer in [B, C] {
        let message = world.message(peer, Path::Tight, slot(1), Some(V));
        shown.extend(reveals(&step(&mut beacon, ms(0), received(peer, message))));
    }
    assert_eq!(shown[0].output, world.output(slot(1), Some(V)));
}

#[test]
fn a_party_has_room_for_two_values_on_the_tight_path_and_one_elsewhere() {
    let world = World::four(308);
    let values = [0x31, 0x32, 0x33].map(|byte| beacon::Value::new([byte; 32]));
    for (profile, path, room) in [(TIGHT_VALUE, Path::Tight, 2), (BOTH_VALUE, Path::Fast, 1)] {
        let mut beacon = world.beacon(A, &profile);
        let mut found = Vec::new();
        for value in values {
            let message = world.message(B, path, slot(1), Some(value));
            found.extend(accused(&step(&mut beacon, ms(0), received(B, message))));
        }
        assert_eq!(beacon.pending_partials(), room);
        assert!(matches!(found[..], [(B, Fault::Equivocation { .. })]));
    }
}

#[test]
fn a_flood_of_future_slots_and_values_is_bounded_for_each_party() {
    let world = World::four(309);
    let mut beacon = world.beacon(A, &TIGHT_VALUE);
    for at in 0..200 {
        for byte in 0..5 {
            let value = Some(beacon::Value::new([byte; 32]));
            let partial = wrong_partial(7);
            let message = Message::Partial { path: Path::Tight, slot: slot(at), value, partial };
            step(&mut beacon, ms(0), received(D, message));
        }
    }
    let slots = usize::try_from(TIGHT_VALUE.limits.window).unwrap() + 1;
    assert_eq!(beacon.pending_partials(), 2 * slots);
    // The flood of one leaves the room of others alone.
    let message = world.message(B, Path::Tight, slot(5), Some(V));
    step(&mut beacon, ms(0), received(B, message));
    assert_eq!(beacon.pending_partials(), 2 * slots + 1);
}

#[test]
fn keys_admitted_later_join() {
    let world = World::demanding(310);
    let dealt = &world.paths[&Path::Slow];
    let mut config = world.config(A, &SLOW);
    config.paths = Paths::Slow(Scheme { committee: dealt.empty.clone(), evaluation: dealt.key(A) });
    let mut beacon = beacon::Beacon::new(config, &[]).unwrap();
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    for peer in [B, C, D] {
        let message = world.message(peer, Path::Slow, slot(1), None);
        assert!(step(&mut beacon, ms(0), received(peer, message)).is_empty(), "no keys, no weight");
    }
    let admit =
        |party: Party| Input::Admitted { path: Path::Slow, key: dealt.admitted[&party].clone() };
    assert!(step(&mut beacon, ms(0), admit(B)).is_empty());
    assert!(step(&mut beacon, ms(0), admit(C)).is_empty());
    let again = step(&mut beacon, ms(0), admit(C));
    assert!(matches!(
        again[..],
        [Output::Refused(Refusal::Key(InsertError::Duplicate { party: C }))]
    ));
    let outputs = step(&mut beacon, ms(0), admit(D));
    assert_eq!(reveals(&outputs)[0].output, world.output(slot(1), None));
    let other = Input::Admitted { path: Path::Fast, key: dealt.admitted[&A].clone() };
    assert!(matches!(
        step(&mut beacon, ms(0), other)[..],
        [Output::Refused(Refusal::Key(InsertError::OtherCommittee { party: A }))]
    ));
}

#[test]
fn equal_work_has_equal_fingerprints_and_verdicts() {
    let world = World::four(311);
    let job = |me: Party| {
        let mut beacon = world.beacon(me, &SLOW);
        raw_step(&mut beacon, ms(0), finalized(1, Some(V)));
        raw_step(&mut beacon, ms(0), received(C, world.message(C, Path::Slow, slot(1), None)));
        let other = if me == A { B } else { A };
        raw_step(&mut beacon, ms(0), finalized(2, Some(V)));
        let message = world.message(other, Path::Slow, slot(2), None);
        jobs(&raw_step(&mut beacon, ms(0), received(other, message))).remove(0)
    };
    let (first, second) = (job(A), job(B));
    assert_eq!(first.fingerprint(), second.fingerprint());
    assert_eq!(first.run(), second.run());
}

#[test]
fn a_driver_that_knows_partials_gives_the_same_verdicts() {
    let world = seven();
    let mut known = Known::default();
    for wrong in [None, Some(C), None, Some(D)] {
        let mut beacon = world.beacon(A, &SLOW);
        raw_step(&mut beacon, ms(0), finalized(1, Some(V)));
        let mut found = Vec::new();
        for peer in [B, C, D] {
            let mut message = world.message(peer, Path::Slow, slot(1), None);
            if wrong == Some(peer) {
                message = partial_message(Path::Slow, 1, wrong_partial(6));
            }
            found.extend(jobs(&raw_step(&mut beacon, ms(0), received(peer, message))));
        }
        assert_eq!(found[0].run_knowing(&mut known), found[0].run());
        let finding = found[0].run().finding;
        let culprits = wrong.map(|party| BTreeSet::from([party]));
        match (finding, culprits) {
            (Finding::Combined(Ok(_)), None) => {}
            (Finding::Combined(Err(QuorumError::Faulty { culprits })), Some(expected)) => {
                assert_eq!(culprits, expected);
            }
            (finding, _) => panic!("{finding:?}"),
        }
    }
}

#[test]
fn configurations_that_contradict_themselves_are_refused() {
    let world = World::four(312);
    let scheme = |path: Path, party| {
        let dealt = &world.paths[&path];
        Scheme { committee: dealt.committee.clone(), evaluation: dealt.key(party) }
    };
    let refuse = |me, paths| {
        let config = Config { paths, me, ..world.config(A, &SLOW) };
        beacon::Beacon::new(config, &[]).map(|_| ()).unwrap_err()
    };
    let fast_from = slot(0);
    let stranger = Party::new(4);
    assert_eq!(
        refuse(stranger, Paths::Slow(scheme(Path::Slow, A))),
        ConfigError::NotMember { party: stranger, path: Path::Slow, members: 4 }
    );
    let swapped =
        Paths::FastAndSlow { slow: scheme(Path::Fast, A), fast: scheme(Path::Slow, A), fast_from };
    assert_eq!(refuse(A, swapped), ConfigError::Thresholds { slow: 4, fast: 2 });
    assert_eq!(
        refuse(A, Paths::Slow(scheme(Path::Slow, B))),
        ConfigError::WrongKey { path: Path::Slow }
    );
    let shared =
        Paths::FastAndSlow { slow: scheme(Path::Slow, A), fast: scheme(Path::Slow, A), fast_from };
    assert_eq!(refuse(A, shared), ConfigError::SharedBlinding { party: A });
    let smaller = World::new(313, &[1, 1, 2], [2, 4, 3]);
    let fast = Scheme { committee: smaller.paths[&Path::Fast].committee.clone(), evaluation: None };
    let uneven = Paths::FastAndSlow { slow: scheme(Path::Slow, A), fast, fast_from };
    assert_eq!(refuse(A, uneven), ConfigError::Members { slow: 4, fast: 3 });
}

#[test]
fn jobs_keep_the_keys_they_were_made_with() {
    let world = World::four(314);
    let mut beacon = world.beacon(A, &SLOW);
    raw_step(&mut beacon, ms(0), finalized(1, Some(V)));
    let message = world.message(B, Path::Slow, slot(1), None);
    let job = jobs(&raw_step(&mut beacon, ms(0), received(B, message))).remove(0);
    assert!(Arc::strong_count(beacon.keys()) > 1);
    drop(beacon);
    assert!(matches!(job.run().finding, Finding::Combined(Ok(_))));
}
