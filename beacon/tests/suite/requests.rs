//! Lost messages: asked for again, answered within bounds.
use std::time::Duration;

use prefinal_beacon::{Effect, Input, Message, Output, Path, Record};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Machine, Recipient};

use crate::fixture::*;
use crate::network::{DELAY, Network};

suite! {
    missing_partials_are_asked_for_after_a_while_and_again
    nobody_is_asked_while_a_job_runs
    a_backlog_is_asked_for_oldest_first_and_not_all_at_once
    answers_are_rate_limited_by_peer_and_slot
    finished_slots_answer_within_a_bound_and_after_a_restart
    who_passed_over_slots_gives_its_partials_to_those_that_lack_them
    what_the_host_has_from_elsewhere_is_finished_and_the_rest_goes_on
    a_skipped_slot_without_input_is_neither_asked_for_nor_answered
    a_party_that_missed_everything_catches_up
    the_log_shrinks_to_a_snapshot
    time_does_not_overflow
    behind_the_backlog_a_peer_is_given_one_evaluation_in_a_pause
    ; with values:
    an_answer_is_the_partial_that_finality_released
    lost_partials_are_recovered
}

fn request<S: Instance>(from: Party, at: u64) -> Input<S> {
    received(from, Message::Request { slot: slot(at) })
}

fn asked<S: Instance>(outputs: &[Output<S>]) -> Vec<(Party, u64)> {
    let asked = outputs.iter().filter_map(|output| match output {
        Output::Do(Effect::Send {
            to: Recipient::One(party),
            message: Message::Request { slot },
        }) => Some((*party, slot.get())),
        _ => None,
    });
    asked.collect()
}

fn missing_partials_are_asked_for_after_a_while_and_again<S: Instance>() {
    let world = World::<S>::demanding(401);
    let mut beacon = world.beacon(A, &BOTH);
    assert_eq!(beacon.wake_at(), None);
    step(&mut beacon, ms(100), finalized(1, Some(V)));
    assert_eq!(beacon.wake_at(), Some(ms(100) + RETRY));
    step(&mut beacon, ms(200), received(C, world.message(C, Path::Slow, slot(1), None)));
    assert!(asked(&step(&mut beacon, ms(599), Input::Tick)).is_empty());
    // Only those whose partial is missing.
    assert_eq!(asked(&step(&mut beacon, ms(600), Input::Tick)), [(B, 1), (D, 1)]);
    assert_eq!(beacon.wake_at(), Some(ms(600) + RETRY));
    assert!(asked(&step(&mut beacon, ms(601), Input::Tick)).is_empty());
    assert_eq!(asked(&step(&mut beacon, ms(1100), Input::Tick)), [(B, 1), (D, 1)]);
    let outputs =
        step(&mut beacon, ms(1200), received(B, world.message(B, Path::Slow, slot(1), None)));
    assert_eq!(reveals(&outputs).len(), 1);
    assert_eq!(beacon.wake_at(), None);
}

fn nobody_is_asked_while_a_job_runs<S: Instance>() {
    let world = World::<S>::four(402);
    let mut beacon = world.beacon(A, &SLOW);
    raw_step(&mut beacon, ms(0), finalized(1, Some(V)));
    let message = world.message(B, Path::Slow, slot(1), None);
    let job = jobs(&raw_step(&mut beacon, ms(0), received(B, message))).remove(0);
    let outputs = raw_step(&mut beacon, ms(600), Input::Tick);
    assert!(outputs.is_empty());
    assert!(beacon.wake_at() > Some(ms(600)), "or the driver would spin");
    assert_eq!(reveals(&raw_step(&mut beacon, ms(700), Input::Checked(job.run()))).len(), 1);
}

fn a_backlog_is_asked_for_oldest_first_and_not_all_at_once<S: Instance>() {
    let world = World::<S>::new(403, &[1, 1], [2, 2, 2]);
    let mut beacon = world.beacon(A, &SLOW);
    for at in 1..=40 {
        step(&mut beacon, ms(0), finalized(at, Some(V)));
    }
    let first: Vec<_> = asked(&step(&mut beacon, ms(500), Input::Tick));
    assert_eq!(first, (1..=16).map(|at| (B, at)).collect::<Vec<_>>());
    assert_eq!(beacon.wake_at(), Some(ms(1000)));
    // As the oldest are answered, the next are asked for.
    let mut next = Vec::new();
    for at in 1..=16 {
        let message = world.message(B, Path::Slow, slot(at), None);
        next.extend(asked(&step(&mut beacon, ms(600), received(B, message))));
    }
    assert_eq!(next, (17..=32).map(|at| (B, at)).collect::<Vec<_>>());
    assert_eq!(beacon.wake_at(), Some(ms(1100)));
}

fn an_answer_is_the_partial_that_finality_released<S: Instance>() {
    let world = World::<S>::four(404);
    for (profile, path, value) in [
        (SLOW, Path::Slow, None),
        (BOTH, Path::Slow, None),
        (BOTH_VALUE, Path::Slow, Some(V)),
        (TIGHT, Path::Tight, None),
        (TIGHT_VALUE, Path::Tight, Some(V)),
    ]
    .into_iter()
    .filter(|(profile, ..)| runs::<S>(profile))
    {
        let mut beacon = world.beacon(A, &profile);
        // Prefinalized is not final: nothing is repeated on a peer's word.
        step(&mut beacon, ms(0), prefinalized(1, 0, V));
        assert!(step(&mut beacon, ms(0), request(B, 1)).is_empty());
        step(&mut beacon, ms(0), finalized(1, Some(V)));
        let outputs = step(&mut beacon, ms(0), request(B, 1));
        assert!(
            matches!(&outputs[..], [Output::Do(Effect::Send { to: Recipient::One(B), message })]
            if *message == world.message(A, path, slot(1), value))
        );
    }
}

fn answers_are_rate_limited_by_peer_and_slot<S: Instance>() {
    let world = World::<S>::demanding(405);
    let mut beacon = world.beacon(A, &SLOW);
    for at in 1..=2 {
        step(&mut beacon, ms(0), finalized(at, Some(V)));
    }
    let answers = |outputs: Vec<Output<S>>| sent(&outputs).len();
    assert_eq!(answers(step(&mut beacon, ms(10), request(B, 1))), 1);
    assert_eq!(answers(step(&mut beacon, ms(11), request(B, 1))), 0);
    assert_eq!(answers(step(&mut beacon, ms(11), request(B, 2))), 1);
    assert_eq!(answers(step(&mut beacon, ms(11), request(C, 1))), 1);
    let half = u64::try_from((RETRY / 2).as_millis()).unwrap();
    assert_eq!(answers(step(&mut beacon, ms(10 + half), request(B, 1))), 1);
}

fn finished_slots_answer_within_a_bound_and_after_a_restart<S: Instance>() {
    let world = World::<S>::four(406);
    let mut beacon = world.beacon(A, &SLOW);
    let mut log = Vec::new();
    for at in 1..=7 {
        log.extend(records(&step(&mut beacon, ms(0), finalized(at, Some(V)))));
        let message = world.message(B, Path::Slow, slot(at), None);
        log.extend(records(&step(&mut beacon, ms(0), received(B, message))));
    }
    assert_eq!(beacon.head(), slot(8));
    let answered = |beacon: &mut prefinal_beacon::Beacon<S>| -> Vec<u64> {
        (0..10).filter(|at| !step(beacon, ms(1), request(C, *at)).is_empty()).collect()
    };
    assert_eq!(answered(&mut beacon), [4, 5, 6, 7]);
    let mut second = world.restart(A, &SLOW, &log);
    assert!(drain(&mut second, ms(2)).is_empty(), "nothing is open");
    let answer = step(&mut second, ms(2), request(D, 5));
    assert_eq!(sent(&answer), [world.message(A, Path::Slow, slot(5), None)]);
    assert_eq!(answered(&mut second), [4, 5, 6, 7]);
}

/// It was away, and others may be stuck for want of its partials.
fn who_passed_over_slots_gives_its_partials_to_those_that_lack_them<S: Instance>() {
    let world = World::<S>::four(413);
    let records = [
        Record::Finalized { slot: slot(1), value: Some(V) },
        Record::Revealed { slot: slot(1) },
        Record::WasOff { first: slot(4), last: slot(4) },
        Record::PassedOver { first: slot(2), last: slot(12) },
    ];
    let mut beacon = world.restart(A, &SLOW, &records);
    assert!(drain(&mut beacon, ms(0)).is_empty(), "nothing is open");
    assert_eq!(beacon.head(), slot(13));
    let check = |beacon: &mut prefinal_beacon::Beacon<S>, at| {
        let answer = step(beacon, ms(at), request(C, 5));
        assert_eq!(sent(&answer), [world.message(A, Path::Slow, slot(5), None)]);
        assert!(step(beacon, ms(at), request(C, 4)).is_empty(), "it has no value");
        assert!(step(beacon, ms(at), request(C, 13)).is_empty(), "it is not final");
    };
    check(&mut beacon, 1);
    for at in 13..=20 {
        step(&mut beacon, ms(0), finalized(at, Some(V)));
        step(&mut beacon, ms(0), received(B, world.message(B, Path::Slow, slot(at), None)));
    }
    assert_eq!(beacon.head(), slot(21));
    let mut short = world.restart(A, &SLOW, &beacon.snapshot());
    assert_eq!((short.head(), short.snapshot()), (beacon.head(), beacon.snapshot()));
    for beacon in [&mut beacon, &mut short] {
        let answer = step(beacon, ms(2000), request(D, 12));
        assert_eq!(sent(&answer), [world.message(A, Path::Slow, slot(12), None)]);
        assert!(step(beacon, ms(2000), request(D, 4)).is_empty(), "it still has none");
    }
    // A value would enter the function, and is not known here.
    let mut bound = world.restart(A, &BOTH_VALUE, &records);
    assert!(sent(&step(&mut bound, ms(1), request(C, 5))).is_empty());
}

/// Slots that nobody gives partials of any more, behind which others wait.
fn what_the_host_has_from_elsewhere_is_finished_and_the_rest_goes_on<S: Instance>() {
    let world = World::<S>::four(414);
    let limits = prefinal_beacon::Limits { backlog: 2, ..SLOW.limits };
    let profile = Profile { limits, ..SLOW };
    let mut beacon = world.beacon(A, &profile);
    let mut log = Vec::new();
    let mut tell = |beacon: &mut prefinal_beacon::Beacon<S>, input| {
        let outputs = step(beacon, ms(0), input);
        log.extend(records(&outputs));
        outputs
    };
    let partial = |at| received(B, world.message(B, Path::Slow, slot(at), None));
    for at in 1..=6 {
        tell(&mut beacon, finalized(at, Some(V)));
    }
    let outputs = tell(&mut beacon, Input::PassedOver { last: slot(4) });
    assert_eq!(records(&outputs), [Record::PassedOver { first: slot(1), last: slot(4) }]);
    assert!(reveals(&outputs).is_empty());
    assert_eq!(beacon.head(), slot(5));
    assert!(tell(&mut beacon, Input::PassedOver { last: slot(3) }).is_empty(), "it is finished");
    // The backlog had not reached these two, and each needs this party's own partial.
    for at in [6, 5] {
        tell(&mut beacon, partial(at));
    }
    assert_eq!(beacon.head(), slot(7));
    // A slot that is not final here waits for its value, and counts.
    assert!(tell(&mut beacon, Input::PassedOver { last: slot(9) }).is_empty(), "nothing is final");
    tell(&mut beacon, finalized(7, Some(V)));
    let outputs = tell(&mut beacon, Input::PassedOver { last: slot(u64::MAX) });
    assert!(records(&outputs).is_empty(), "no slot comes after the last");
    tell(&mut beacon, partial(7));
    assert_eq!(beacon.head(), slot(8));
    // It begins again as it was, and peers have its partials.
    let again = world.restart(A, &profile, &log);
    for mut beacon in [beacon, again] {
        assert_eq!(beacon.head(), slot(8));
        let answer = step(&mut beacon, ms(1), request(C, 2));
        assert_eq!(sent(&answer), [world.message(A, Path::Slow, slot(2), None)]);
    }
}

fn a_skipped_slot_without_input_is_neither_asked_for_nor_answered<S: Instance>() {
    let world = World::<S>::four(407);
    let mut beacon = world.beacon(A, &BOTH_VALUE);
    step(&mut beacon, ms(0), finalized(2, None));
    // It wakes once, for slot 1 is missing, and asks nobody for slot 2.
    assert!(sent(&step(&mut beacon, ms(0) + RETRY, Input::Tick)).is_empty());
    assert_eq!(beacon.wake_at(), None);
    assert!(step(&mut beacon, ms(0) + RETRY, request(B, 2)).is_empty());
}

/// Half of everything is lost in the first second; all outputs come nevertheless.
fn lost_partials_are_recovered<S: Instance>() {
    for profile in profiles::<S>(&[SLOW, TIGHT, BOTH, TIGHT_VALUE, BOTH_VALUE]) {
        let world = World::<S>::demanding(408);
        let mut network = Network::new(&world, &profile, &[D]);
        let mut count = 0_u64;
        network.passes = Box::new(move |_, _, _| {
            count += 1;
            count > 30 || count.is_multiple_of(2)
        });
        let honest = [A, B, C];
        for at in 1..=4 {
            network.all(at * DELAY, &honest, &prefinalized(at, 0, V));
            network.all((at + 1) * DELAY, &honest, &finalized(at, Some(V)));
        }
        network.run_until(30_000);
        for party in honest {
            assert_eq!(network.reveals[&party].len(), 4, "{party} under {profile:?}");
        }
        assert!(network.accusations.is_empty());
    }
}

/// A party that was away during the slots and hears only that they are final.
fn a_party_that_missed_everything_catches_up<S: Instance>() {
    let world = World::<S>::four(409);
    let mut network = Network::new(&world, &BOTH, &[]);
    network.passes = Box::new(|_, to, message| {
        to != D || !matches!(message, Message::Partial { path: Path::Fast, .. })
    });
    let awake = [A, B, C];
    for at in 1..=4 {
        network.all(at * DELAY, &awake, &finalized(at, Some(V)));
    }
    network.run_until(5000);
    assert!(!network.reveals.contains_key(&D));
    for at in 1..=4 {
        network.at(6000, D, finalized(at, Some(V)));
    }
    network.run_until(6000 + 2 * DELAY + 1000);
    let outputs: Vec<_> = network.reveals[&D].iter().map(|(_, reveal)| reveal.output).collect();
    assert_eq!(outputs, (1..=4).map(|at| world.output(slot(at), None)).collect::<Vec<_>>());
}

fn the_log_shrinks_to_a_snapshot<S: Instance>() {
    let world = World::<S>::four(410);
    let mut beacon = world.beacon(A, &BOTH_VALUE);
    let mut log = Vec::new();
    for at in 1..=9 {
        log.extend(records(&step(&mut beacon, ms(0), prefinalized(at, 0, V))));
        log.extend(records(&step(&mut beacon, ms(0), finalized(at, Some(V)))));
        let message = world.message(B, Path::Slow, slot(at), Some(V));
        log.extend(records(&step(&mut beacon, ms(0), received(B, message))));
    }
    log.extend(records(&step(&mut beacon, ms(0), finalized(10, Some(W)))));
    log.extend(records(&step(&mut beacon, ms(0), prefinalized(12, 0, V))));
    log.extend(records(&step(&mut beacon, ms(0), abandoned(11, 0))));
    let snapshot = beacon.snapshot();
    assert!(snapshot.len() < log.len(), "{} of {}", snapshot.len(), log.len());
    let mut whole = world.restart(A, &BOTH_VALUE, &log);
    let mut short = world.restart(A, &BOTH_VALUE, &snapshot);
    assert_eq!(whole.head(), short.head());
    assert_eq!(short.snapshot(), snapshot);
    assert_eq!(sent(&drain(&mut whole, ms(1))), sent(&drain(&mut short, ms(1))));
    for beacon in [&mut whole, &mut short] {
        // The open slot is asked for at once.
        assert_eq!(asked(&step(beacon, ms(1), Input::Tick)).len(), 3);
        assert!(sent(&step(beacon, ms(1), prefinalized(12, 0, W))).is_empty());
        assert!(sent(&step(beacon, ms(1), prefinalized(11, 0, V))).is_empty());
        assert_eq!(sent(&step(beacon, ms(2), request(B, 9))).len(), 1);
    }
    assert!(snapshot.contains(&Record::Released { slot: slot(12), value: V }));
}

fn time_does_not_overflow<S: Instance>() {
    let world = World::<S>::four(411);
    let mut beacon = world.beacon(A, &SLOW);
    let end = prefinal_protocol::Instant::at(Duration::MAX);
    step(&mut beacon, end, finalized(1, Some(V)));
    step(&mut beacon, end, finalized(u64::MAX, Some(V)));
    assert_eq!(beacon.wake_at(), Some(end));
}

fn behind_the_backlog_a_peer_is_given_one_evaluation_in_a_pause<S: Instance>() {
    let world = World::<S>::new(412, &[1, 1, 1], [2, 2, 2]);
    let limits = prefinal_beacon::Limits { backlog: 2, ..SLOW.limits };
    let mut beacon = world.beacon(A, &Profile { limits, ..SLOW });
    for at in 1..=5 {
        step(&mut beacon, ms(0), finalized(at, Some(V)));
    }
    let answered = |beacon: &mut prefinal_beacon::Beacon<S>, now| -> Vec<u64> {
        (1..=5).filter(|at| !sent(&step(beacon, ms(now), request(C, *at))).is_empty()).collect()
    };
    assert_eq!(answered(&mut beacon, 1), [1, 2, 3]);
    // As the head goes on, so does what is answered.
    step(&mut beacon, ms(2), received(B, world.message(B, Path::Slow, slot(1), None)));
    assert_eq!(answered(&mut beacon, 1001), [1, 2, 3, 4]);
}
