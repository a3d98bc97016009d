//! Faulty peers: verified late, named exactly, and never able to stop or change an output.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prefinal_beacon::Wvuf;
use prefinal_beacon::{Binding, Config, ConfigError, Fault, Finding, Input, KeyError, Message};
use prefinal_beacon::{Effect, Output, PartialsError, Path, Paths, Refusal, Sharing, Work};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::wvuf::AdmittedKey;

use crate::fixture::*;
use crate::instances::DealtWvuf;

suite! {
    nothing_is_verified_before_it_can_suffice
    a_false_partial_is_found_dropped_and_accused_with_its_evidence
    wrong_partials_that_cancel_are_found
    a_party_that_was_caught_is_checked_at_once_from_then_on
    what_arrives_during_a_job_is_kept_and_tried_next
    both_paths_check_at_once_and_the_first_wins
    partials_of_a_slot_with_output_are_not_verified
    shapes_are_checked_on_arrival_and_accused_once
    an_echo_of_oneself_is_ignored
    the_first_of_two_different_partials_stands
    equal_work_has_equal_fingerprints_and_verdicts
    a_driver_that_checks_partials_one_by_one_gives_the_same_verdicts
    configurations_that_contradict_themselves_are_refused
    jobs_keep_the_keys_they_were_made_with
    ; with values:
    a_partial_of_another_value_is_not_counted
    a_party_has_room_for_two_values_on_the_tight_path_and_one_elsewhere
    a_flood_of_future_slots_and_values_is_bounded_for_each_party
}

/// Why a late key was refused, if that is all that came of it.
fn refused_key<S: Instance>(outputs: &[Output<S>]) -> Option<KeyError> {
    match outputs {
        [Output::Do(Effect::Refused(Refusal::Key(error)))] => Some(*error),
        _ => None,
    }
}

fn partial_message<S: Instance>(path: Path, at: u64, partial: S::Partial) -> Message<S> {
    Message::Partial { path, slot: slot(at), value: None, partial }
}

/// Seven equal parties, two faulty: five on the slow path.
fn seven<S: Instance>() -> World<S> {
    World::new(301, &[1; 7], [4, 7, 5])
}

fn false_partial<S: Instance>(at: u64, partial: S::Partial) -> Fault<S> {
    let (slot, path, partial) = (slot(at), Path::Slow, Box::new(partial));
    Fault::FalsePartial { slot, path, value: None, partial }
}

fn nothing_is_verified_before_it_can_suffice<S: Instance>() {
    let world = seven::<S>();
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

fn a_false_partial_is_found_dropped_and_accused_with_its_evidence<S: Instance>() {
    let world = seven::<S>();
    let mut beacon = world.beacon(A, &SLOW);
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    let wrong = S::wrong_partial(5);
    step(&mut beacon, ms(0), received(B, partial_message(Path::Slow, 1, wrong.clone())));
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
    let good = |party| (party, world.partial(party, Path::Slow, slot(1), None));
    let partials = BTreeMap::from([A, C, D, last].map(good));
    let committee = S::committee(&world.paths[&Path::Slow], Binding::Slot);
    let proof = S::prove(&committee, &input::<S>(slot(1), None), &partials).unwrap();
    assert_eq!(reveal.proof, proof);
}

/// Two errors chosen so that what a batch without random coefficients compares stays as it is. Such a
/// batch accepts them and combines to a wrong output.
fn wrong_partials_that_cancel_are_found<S: Instance>() {
    let world = seven::<S>();
    let dealt = &world.paths[&Path::Slow];
    let honest: BTreeMap<Party, S::Partial> = [A, B, C, D]
        .into_iter()
        .map(|party| (party, world.partial(party, Path::Slow, slot(1), None)))
        .collect();
    let mut cancelling = honest.clone();
    let [one, other] = S::cancelling(dealt, [(B, &honest[&B]), (C, &honest[&C])]);
    cancelling.extend([(B, one), (C, other)]);
    assert_eq!(S::naive(dealt, &honest), S::naive(dealt, &cancelling));

    let mut beacon = world.beacon(A, &SLOW);
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    let mut outputs = Vec::new();
    for peer in [B, C, D] {
        let message = partial_message(Path::Slow, 1, cancelling[&peer].clone());
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

fn a_party_that_was_caught_is_checked_at_once_from_then_on<S: Instance>() {
    let world = seven::<S>();
    let mut beacon = world.beacon(A, &SLOW);
    // Kept before the party is caught, to be checked when it is.
    let early = partial_message(Path::Slow, 2, S::wrong_partial(9));
    step(&mut beacon, ms(0), received(B, early));
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    step(&mut beacon, ms(0), received(B, partial_message(Path::Slow, 1, S::wrong_partial(5))));
    let mut outputs = Vec::new();
    for peer in [C, D] {
        let message = world.message(peer, Path::Slow, slot(1), None);
        outputs.extend(step(&mut beacon, ms(0), received(peer, message)));
    }
    // Once, though both are found.
    assert_eq!(accused(&outputs), [(B, false_partial(1, S::wrong_partial(5)))]);
    let of_b = |job: &prefinal_beacon::Job<S>| matches!(job.work(), Work::Verify(B, _));
    assert!(jobs(&outputs).iter().any(|job| job.slot() == slot(2) && of_b(job)));
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

fn what_arrives_during_a_job_is_kept_and_tried_next<S: Instance>() {
    let world = seven::<S>();
    let mut beacon = world.beacon(A, &SLOW);
    raw_step(&mut beacon, ms(0), finalized(1, Some(V)));
    raw_step(&mut beacon, ms(0), received(B, partial_message(Path::Slow, 1, S::wrong_partial(5))));
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

fn both_paths_check_at_once_and_the_first_wins<S: Instance>() {
    let world = World::<S>::four(302);
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
        let paths: Vec<_> = running.iter().map(prefinal_beacon::Job::path).collect();
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

fn partials_of_a_slot_with_output_are_not_verified<S: Instance>() {
    let world = World::<S>::four(303);
    let mut beacon = world.beacon(A, &BOTH);
    step(&mut beacon, ms(0), prefinalized(1, 0, V));
    for peer in [B, C, D] {
        step(&mut beacon, ms(0), received(peer, world.message(peer, Path::Fast, slot(1), None)));
    }
    // The result waits for finality; slow partials are neither kept nor checked.
    assert_eq!(beacon.pending_partials(), 0);
    for peer in [B, C, D] {
        let message = partial_message(Path::Slow, 1, S::wrong_partial(3));
        assert!(step(&mut beacon, ms(0), received(peer, message)).is_empty());
    }
    assert_eq!(beacon.pending_partials(), 0);
}

fn shapes_are_checked_on_arrival_and_accused_once<S: Instance>() {
    let world = World::<S>::new(304, &[2, 0, 1, 1], [2, 4, 3]);
    let partial = S::wrong_partial(2);
    let message =
        |path, value| Message::Partial { path, slot: slot(1), value, partial: partial.clone() };
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

fn an_echo_of_oneself_is_ignored<S: Instance>() {
    let world = World::<S>::four(305);
    let mut beacon = world.beacon(A, &BOTH);
    assert!(
        step(&mut beacon, ms(0), received(A, world.message(A, Path::Fast, slot(1), None)))
            .is_empty()
    );
    assert_eq!(beacon.pending_partials(), 0);
}

fn the_first_of_two_different_partials_stands<S: Instance>() {
    let world = World::<S>::demanding(306);
    let mut beacon = world.beacon(A, &BOTH);
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    step(&mut beacon, ms(0), received(B, world.message(B, Path::Slow, slot(1), None)));
    let second = partial_message(Path::Slow, 1, S::wrong_partial(4));
    let outputs = step(&mut beacon, ms(0), received(B, second.clone()));
    assert!(matches!(accused(&outputs)[..], [(B, Fault::Equivocation { .. })]));
    assert!(step(&mut beacon, ms(0), received(B, second)).is_empty(), "accused once");
    let outputs =
        step(&mut beacon, ms(0), received(C, world.message(C, Path::Slow, slot(1), None)));
    assert_eq!(reveals(&outputs).len(), 1);
}

fn a_partial_of_another_value_is_not_counted<S: Instance>() {
    let world = World::<S>::demanding(307);
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

fn a_party_has_room_for_two_values_on_the_tight_path_and_one_elsewhere<S: Instance>() {
    let world = World::<S>::four(308);
    let values = [0x31, 0x32, 0x33].map(|byte| prefinal_beacon::Value::new([byte; 32]));
    let cases = [(TIGHT_VALUE, Path::Tight, 2), (BOTH_VALUE, Path::Fast, 1)];
    for (profile, path, room) in cases.into_iter().filter(|(profile, ..)| runs::<S>(profile)) {
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

fn a_flood_of_future_slots_and_values_is_bounded_for_each_party<S: Instance>() {
    let world = World::<S>::four(309);
    let mut beacon = world.beacon(A, &TIGHT_VALUE);
    for at in 0..200 {
        for byte in 0..5 {
            let value = Some(prefinal_beacon::Value::new([byte; 32]));
            let partial = S::wrong_partial(7);
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
    let world = World::<Wvuf>::demanding(310);
    let dealt = &world.paths[&Path::Slow];
    let mut config = world.config(A, &SLOW);
    let sharing = world.sharing(Path::Slow, A, Binding::Slot);
    config.paths = Paths::Slow(Sharing { committee: dealt.empty.clone(), ..sharing });
    let mut beacon = prefinal_beacon::Beacon::new(config, &[]).unwrap();
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
    assert_eq!(refused_key(&again), Some(KeyError::Duplicate { party: C }));
    let outputs = step(&mut beacon, ms(0), admit(D));
    assert_eq!(reveals(&outputs)[0].output, world.output(slot(1), None));
    let unused = Input::Admitted { path: Path::Fast, key: dealt.admitted[&A].clone() };
    assert_eq!(
        refused_key(&step(&mut beacon, ms(0), unused)),
        Some(KeyError::UnusedPath { path: Path::Fast })
    );
    let key = world.paths[&Path::Fast].admitted[&A].clone();
    let other = Input::Admitted { path: Path::Slow, key };
    assert_eq!(
        refused_key(&step(&mut beacon, ms(0), other)),
        Some(KeyError::OtherCommittee { party: A })
    );
}

/// The trap of the weighted VUF, before anybody has admitted the keys that would show it.
#[test]
fn one_blinding_for_both_paths_is_refused_without_its_keys() {
    let world = World::<Wvuf>::four(315);
    let empty = |path| world.paths[&path].empty.clone();
    let secret = |path| world.sharing(path, A, Binding::Slot).secret;
    let beacon = |other| {
        let mut config = world.config(A, &BOTH);
        config.paths = Paths::FastAndSlow {
            slow: Sharing { committee: empty(Path::Slow), secret: secret(Path::Slow) },
            fast: Sharing { committee: empty(Path::Fast), secret: secret(other) },
            fast_from: slot(0),
        };
        prefinal_beacon::Beacon::new(config, &[]).map(drop)
    };
    assert_eq!(beacon(Path::Slow), Err(ConfigError::SharedBlinding { party: A }));
    assert_eq!(beacon(Path::Fast), Ok(()));
}

/// The same of others, who publish the keys that show it.
#[test]
fn one_blinding_for_both_paths_is_refused_with_its_keys() {
    let world = World::<Wvuf>::four(316);
    let shared = |dealt: &DealtWvuf| dealt.blinded(B, 9);
    let (slow, fast) = (&world.paths[&Path::Slow], &world.paths[&Path::Fast]);
    let beacon = |keys: [Option<AdmittedKey>; 2]| {
        let mut config = world.config(A, &BOTH);
        let [slow, fast] = [(Path::Slow, &keys[0]), (Path::Fast, &keys[1])].map(|(path, key)| {
            let mut committee = world.paths[&path].empty.clone();
            if let Some(key) = key.clone() {
                committee.insert(key).unwrap();
            }
            Sharing { committee, secret: world.sharing(path, A, Binding::Slot).secret }
        });
        config.paths = Paths::FastAndSlow { slow, fast, fast_from: slot(0) };
        prefinal_beacon::Beacon::new(config, &[])
    };
    let verdict = beacon([Some(shared(slow)), Some(shared(fast))]).map(drop);
    assert_eq!(verdict, Err(ConfigError::SharedBlinding { party: B }));
    // One after the other, whichever comes first.
    let late = [(Path::Slow, [None, Some(shared(fast))]), (Path::Fast, [Some(shared(slow)), None])];
    for (path, known) in late {
        let mut beacon = beacon(known).unwrap();
        let input = |key| Input::Admitted { path, key };
        let refused = step(&mut beacon, ms(0), input(shared(&world.paths[&path])));
        assert_eq!(refused_key(&refused), Some(KeyError::SharedBlinding { party: B }));
        let own = world.paths[&path].admitted[&B].clone();
        assert!(step(&mut beacon, ms(0), input(own)).is_empty());
    }
}

/// A late key that does not belong to its party's secret: what it evaluates fails with every
/// batch, so it stops instead of trying for ever, and the others suffice without it.
#[test]
fn a_late_own_key_of_another_secret_is_noticed() {
    let world = World::<Wvuf>::demanding(312);
    let dealt = &world.paths[&Path::Slow];
    let mut config = world.config(A, &SLOW);
    let secret = world.sharing(Path::Fast, A, Binding::Slot).secret;
    config.paths = Paths::Slow(Sharing { committee: dealt.empty.clone(), secret });
    let mut beacon = prefinal_beacon::Beacon::new(config, &[]).unwrap();
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    for party in [A, B, C, D] {
        let key = dealt.admitted[&party].clone();
        step(&mut beacon, ms(0), Input::Admitted { path: Path::Slow, key });
    }
    let from = |party| received(party, world.message(party, Path::Slow, slot(1), None));
    let mut outputs = step(&mut beacon, ms(0), from(B));
    outputs.extend(step(&mut beacon, ms(0), from(C)));
    let own = Refusal::OwnSecret { path: Path::Slow };
    let is_own = |output: &&_| matches!(output, Output::Do(Effect::Refused(why)) if *why == own);
    assert_eq!(outputs.iter().filter(is_own).count(), 1);
    assert_eq!((jobs(&outputs).len(), accused(&outputs).len()), (1, 0));
    let outputs = step(&mut beacon, ms(0), from(D));
    assert_eq!(reveals(&outputs)[0].output, world.output(slot(1), None));
    assert!(sent(&step(&mut beacon, ms(0), finalized(2, Some(V)))).is_empty());
}

fn equal_work_has_equal_fingerprints_and_verdicts<S: Instance>() {
    let world = World::<S>::four(311);
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

fn a_driver_that_checks_partials_one_by_one_gives_the_same_verdicts<S: Instance>() {
    let world = seven::<S>();
    for wrong in [None, Some(C), None, Some(D)] {
        let mut beacon = world.beacon(A, &SLOW);
        raw_step(&mut beacon, ms(0), finalized(1, Some(V)));
        let mut found = Vec::new();
        for peer in [B, C, D] {
            let mut message = world.message(peer, Path::Slow, slot(1), None);
            if wrong == Some(peer) {
                message = partial_message(Path::Slow, 1, S::wrong_partial(6));
            }
            found.extend(jobs(&raw_step(&mut beacon, ms(0), received(peer, message))));
        }
        assert_eq!(one_by_one(&found[0]), found[0].run());
        let finding = found[0].run().finding;
        let culprits = wrong.map(|party| BTreeSet::from([party]));
        match (finding, culprits) {
            (Finding::Combined(Ok(_)), None) => {}
            (Finding::Combined(Err(PartialsError::Faulty { culprits })), Some(expected)) => {
                assert_eq!(culprits, expected);
            }
            (finding, _) => panic!("{finding:?}"),
        }
    }
}

fn configurations_that_contradict_themselves_are_refused<S: Instance>() {
    let world = World::<S>::four(312);
    let sharing = |path: Path, party| world.sharing(path, party, Binding::Slot);
    let refuse = |me, paths| {
        let config = Config { paths, me, ..world.config(A, &SLOW) };
        prefinal_beacon::Beacon::new(config, &[]).map(|_| ()).unwrap_err()
    };
    let fast_from = slot(0);
    let stranger = Party::new(4);
    assert_eq!(
        refuse(stranger, Paths::Slow(sharing(Path::Slow, A))),
        ConfigError::NotMember { party: stranger, path: Path::Slow, members: 4 }
    );
    let swapped = Paths::FastAndSlow {
        slow: sharing(Path::Fast, A),
        fast: sharing(Path::Slow, A),
        fast_from,
    };
    assert_eq!(refuse(A, swapped), ConfigError::Thresholds { slow: 4, fast: 2 });
    assert_eq!(
        refuse(A, Paths::Slow(sharing(Path::Slow, B))),
        ConfigError::WrongKey { path: Path::Slow }
    );
    let crossed = Sharing { secret: sharing(Path::Fast, A).secret, ..sharing(Path::Slow, A) };
    assert_eq!(refuse(A, Paths::Slow(crossed)), ConfigError::WrongKey { path: Path::Slow });
    // A threshold that fits both paths.
    let shared = Paths::FastAndSlow {
        slow: sharing(Path::Tight, A),
        fast: sharing(Path::Tight, A),
        fast_from,
    };
    assert_eq!(refuse(A, shared), (S::ONE_PATH)(A));
    let smaller = World::<S>::new(313, &[1, 1, 2], [2, 4, 3]);
    let fast = Sharing { secret: None, ..smaller.sharing(Path::Fast, A, Binding::Slot) };
    let uneven = Paths::FastAndSlow { slow: sharing(Path::Slow, A), fast, fast_from };
    assert_eq!(refuse(A, uneven), ConfigError::Members { slow: 4, fast: 3 });
    // Each path has its own key, as of two key generations: there would be two outputs.
    let other = World::<S>::four(315);
    let fast = other.sharing(Path::Fast, A, Binding::Slot);
    let apart = Paths::FastAndSlow { slow: sharing(Path::Slow, A), fast, fast_from };
    assert_eq!(refuse(A, apart), ConfigError::GroupKeys);
}

fn jobs_keep_the_keys_they_were_made_with<S: Instance>() {
    let world = World::<S>::four(314);
    let mut beacon = world.beacon(A, &SLOW);
    raw_step(&mut beacon, ms(0), finalized(1, Some(V)));
    let message = world.message(B, Path::Slow, slot(1), None);
    let job = jobs(&raw_step(&mut beacon, ms(0), received(B, message))).remove(0);
    assert!(Arc::strong_count(beacon.keys()) > 1);
    drop(beacon);
    assert!(matches!(job.run().finding, Finding::Combined(Ok(_))));
}
