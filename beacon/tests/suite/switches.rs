//! The kill switch: a scheme, or its fast path alone, off and on at a slot.
use prefinal_beacon::{
    Effect, Input, Mode, Output, Path, Record, Refusal, Slot, Switch, SwitchError, Withheld,
};
use prefinal_protocol::Machine;

use crate::fixture::*;
use crate::network::{DELAY, Network};

suite! {
    a_slot_that_is_off_releases_nothing_and_is_reported_in_its_turn
    partials_of_peers_for_a_slot_that_is_off_are_dropped_and_no_fault
    the_fast_path_alone_is_off
    a_result_before_finality_stays_inside
    a_verdict_after_the_switch_reveals_nothing
    switched_on_again_a_slot_is_released_for_the_same_value_or_not_at_all
    what_was_kept_counts_when_the_slot_is_on_again
    a_switch_survives_a_crash_and_may_be_told_again
    what_is_final_is_not_switched
    what_was_given_up_while_the_fast_path_was_off_stays_given_up
    parties_that_are_told_at_different_times_report_the_same
    an_operator_alone_switches_off_and_the_others_go_on
    a_party_that_was_away_is_told_which_final_slots_were_off
    that_a_slot_was_off_is_known_as_long_as_the_history
}

const ALL: [Profile; 5] = [SLOW, TIGHT, TIGHT_VALUE, BOTH, BOTH_VALUE];

fn switch<S: Instance>(from: u64, mode: Mode) -> Input<S> {
    Input::Switch(Switch { from: slot(from), mode })
}

fn bound(profile: &Profile) -> Option<prefinal_beacon::Value> {
    (profile.binding == BOTH_VALUE.binding).then_some(V)
}

fn late(profile: &Profile) -> Path {
    if profile.algorithm == Algorithm::Tight { Path::Tight } else { Path::Slow }
}

/// Slots in the order in which they are reported, those that are off with `false`.
fn reported<S: Instance>(outputs: &[Output<S>]) -> Vec<(u64, bool)> {
    let reported = outputs.iter().filter_map(|output| match output {
        Output::Do(Effect::Reveal(reveal)) => Some((reveal.slot.get(), true)),
        Output::Do(Effect::Off { slot }) => Some((slot.get(), false)),
        _ => None,
    });
    reported.collect()
}

fn a_slot_that_is_off_releases_nothing_and_is_reported_in_its_turn<S: Instance>() {
    let world = World::<S>::demanding(801);
    for profile in ALL {
        let mut beacon = world.beacon(A, &profile);
        let outputs = step(&mut beacon, ms(0), switch(2, Mode::Off));
        let off = Switch { from: slot(2), mode: Mode::Off };
        assert!(matches!(outputs[..], [Output::Keep(Record::Switched(told))] if told == off));
        step(&mut beacon, ms(0), switch(3, Mode::On));
        let outputs = step(&mut beacon, ms(0), prefinalized(2, 0, V));
        assert!(records(&outputs).is_empty() && sent(&outputs).is_empty());
        if profile.algorithm != Algorithm::Slow {
            let reason = Withheld::Off { slot: slot(2) };
            assert!(
                matches!(outputs[..], [Output::Do(Effect::Refused(Refusal::Withheld(why)))] if why == reason)
            );
        }
        // Final before slot 1, which it waits for.
        let outputs = step(&mut beacon, ms(0), finalized(2, Some(V)));
        assert_eq!(records(&outputs).len(), 1);
        assert!(sent(&outputs).is_empty() && reported(&outputs).is_empty());
        let mut outputs = Vec::new();
        for at in [1, 3] {
            outputs.extend(step(&mut beacon, ms(0), finalized(at, Some(V))));
            for peer in [B, C] {
                let message = world.message(peer, late(&profile), slot(at), bound(&profile));
                outputs.extend(step(&mut beacon, ms(0), received(peer, message)));
            }
        }
        assert_eq!(reported(&outputs), [(1, true), (2, false), (3, true)], "{profile:?}");
        assert!(records(&outputs).contains(&Record::Revealed { slot: slot(2) }));
    }
}

fn partials_of_peers_for_a_slot_that_is_off_are_dropped_and_no_fault<S: Instance>() {
    let world = World::<S>::four(802);
    for profile in ALL {
        let mut beacon = world.beacon(A, &profile);
        step(&mut beacon, ms(0), switch(2, Mode::Off));
        let mut outputs = Vec::new();
        let late = late(&profile);
        let paths = if profile.algorithm == Algorithm::FastAndSlow {
            vec![Path::Fast, late]
        } else {
            vec![late]
        };
        for peer in [B, C, D] {
            for path in &paths {
                let message = world.message(peer, *path, slot(2), bound(&profile));
                outputs.extend(step(&mut beacon, ms(0), received(peer, message)));
            }
        }
        // Waits for slot 1, so that it stays open.
        outputs.extend(step(&mut beacon, ms(0), finalized(2, Some(V))));
        for peer in [B, C, D] {
            let message = world.message(peer, late, slot(2), bound(&profile));
            outputs.extend(step(&mut beacon, ms(0), received(peer, message)));
            let request = prefinal_beacon::Message::Request { slot: slot(2) };
            outputs.extend(step(&mut beacon, ms(0), received(peer, request)));
        }
        assert_eq!(beacon.pending_partials(), 0, "{profile:?}");
        assert!(matches!(outputs[..], [Output::Keep(_)]), "{outputs:?}");
        // It wakes once, for slot 1 is missing.
        let woken = step(&mut beacon, ms(0) + RETRY, prefinal_beacon::Input::Tick);
        assert!(sent(&woken).is_empty(), "nobody is asked for it");
        assert_eq!(beacon.wake_at(), None);
    }
}

fn the_fast_path_alone_is_off<S: Instance>() {
    let world = World::<S>::four(803);
    for profile in [BOTH, BOTH_VALUE, TIGHT, TIGHT_VALUE] {
        let mut beacon = world.beacon(A, &profile);
        step(&mut beacon, ms(0), switch(1, Mode::Late));
        let outputs = step(&mut beacon, ms(0), prefinalized(1, 0, V));
        let reason = Withheld::SlowOnly { slot: slot(1) };
        assert!(
            matches!(outputs[..], [Output::Do(Effect::Refused(Refusal::Withheld(why)))] if why == reason)
        );
        if profile.algorithm == Algorithm::FastAndSlow {
            let fast = world.message(B, Path::Fast, slot(1), bound(&profile));
            assert!(step(&mut beacon, ms(0), received(B, fast)).is_empty());
            assert_eq!(beacon.pending_partials(), 0);
        }
        let mut outputs = step(&mut beacon, ms(0), finalized(1, Some(V)));
        assert_eq!(sent(&outputs).len(), 1);
        for peer in [B, C] {
            let message = world.message(peer, late(&profile), slot(1), bound(&profile));
            outputs.extend(step(&mut beacon, ms(0), received(peer, message)));
        }
        assert_eq!(reported(&outputs), [(1, true)]);
        assert_eq!(reveals(&outputs)[0].path, late(&profile));
    }
}

/// All fast partials are here, so the value is final somewhere and the output computed.
fn a_result_before_finality_stays_inside<S: Instance>() {
    let world = World::<S>::four(804);
    let mut beacon = world.beacon(A, &BOTH);
    step(&mut beacon, ms(0), prefinalized(1, 0, V));
    for peer in [B, C, D] {
        let fast = world.message(peer, Path::Fast, slot(1), None);
        step(&mut beacon, ms(0), received(peer, fast));
    }
    step(&mut beacon, ms(0), switch(1, Mode::Off));
    let outputs = step(&mut beacon, ms(0), finalized(1, Some(V)));
    assert!(sent(&outputs).is_empty());
    assert_eq!(reported(&outputs), [(1, false)]);
    let request = prefinal_beacon::Message::Request { slot: slot(1) };
    assert!(step(&mut beacon, ms(0), received(B, request)).is_empty());
}

fn a_verdict_after_the_switch_reveals_nothing<S: Instance>() {
    let world = World::<S>::four(805);
    let mut beacon = world.beacon(A, &BOTH);
    raw_step(&mut beacon, ms(0), prefinalized(1, 0, V));
    let mut running = Vec::new();
    for peer in [B, C, D] {
        let fast = world.message(peer, Path::Fast, slot(1), None);
        running.extend(jobs(&raw_step(&mut beacon, ms(0), received(peer, fast))));
    }
    raw_step(&mut beacon, ms(0), switch(1, Mode::Off));
    let checked = Input::Checked(running[0].run());
    let mut outputs = raw_step(&mut beacon, ms(0), checked.clone());
    outputs.extend(raw_step(&mut beacon, ms(0), finalized(1, Some(V))));
    outputs.extend(raw_step(&mut beacon, ms(0), checked));
    assert_eq!(reported(&outputs), [(1, false)]);
}

fn switched_on_again_a_slot_is_released_for_the_same_value_or_not_at_all<S: Instance>() {
    let world = World::<S>::demanding(806);
    for profile in [TIGHT, TIGHT_VALUE, BOTH, BOTH_VALUE] {
        let mut beacon = world.beacon(A, &profile);
        let outputs = step(&mut beacon, ms(0), prefinalized(1, 0, V));
        let (mut log, first) = (records(&outputs), sent(&outputs));
        log.extend(records(&step(&mut beacon, ms(0), switch(1, Mode::Off))));
        assert!(sent(&step(&mut beacon, ms(0), prefinalized(1, 0, V))).is_empty());
        // Off across a crash.
        let mut beacon = world.restart(A, &profile, &log);
        assert!(sent(&step(&mut beacon, ms(1), prefinalized(1, 0, V))).is_empty());
        log.extend(records(&step(&mut beacon, ms(1), switch(1, Mode::On))));
        for _ in 0..2 {
            let outputs = step(&mut beacon, ms(1), prefinalized(1, 0, W));
            let reason = Withheld::OtherValue { slot: slot(1), released: V, value: W };
            assert!(
                matches!(outputs[..], [Output::Do(Effect::Refused(Refusal::Withheld(why)))] if why == reason)
            );
            let outputs = step(&mut beacon, ms(1), prefinalized(1, 0, V));
            assert_eq!(sent(&outputs), first);
            assert!(records(&outputs).is_empty());
            beacon = world.restart(A, &profile, &log);
            assert!(sent(&drain(&mut beacon, ms(2))).is_empty());
        }
    }
}

fn what_was_kept_counts_when_the_slot_is_on_again<S: Instance>() {
    let world = World::<S>::four(807);
    let mut beacon = world.beacon(A, &BOTH);
    let fast = |peer| received(peer, world.message(peer, Path::Fast, slot(1), None));
    step(&mut beacon, ms(0), prefinalized(1, 0, V));
    for peer in [B, C] {
        step(&mut beacon, ms(0), fast(peer));
    }
    step(&mut beacon, ms(0), switch(1, Mode::Off));
    assert!(step(&mut beacon, ms(0), fast(D)).is_empty());
    step(&mut beacon, ms(0), switch(1, Mode::On));
    assert_eq!(jobs(&step(&mut beacon, ms(0), fast(D))).len(), 1);
    let outputs = step(&mut beacon, ms(0), finalized(1, Some(V)));
    assert_eq!(reveals(&outputs)[0].output, world.output(slot(1), None));
}

fn a_switch_survives_a_crash_and_may_be_told_again<S: Instance>() {
    let world = World::<S>::four(808);
    for profile in ALL {
        let mut beacon = world.beacon(A, &profile);
        let switches = [switch(1, Mode::Off), switch(3, Mode::On)];
        let mut log = Vec::new();
        for told in switches.clone() {
            log.extend(records(&step(&mut beacon, ms(0), told)));
        }
        log.extend(records(&step(&mut beacon, ms(0), finalized(1, Some(V)))));
        for records_of in [log.clone(), beacon.snapshot()] {
            let mut second = world.restart(A, &profile, &records_of);
            assert!(drain(&mut second, ms(1)).is_empty());
            assert_eq!(second.head(), slot(2));
            // The engine goes through its own log and tells everything again.
            let outputs = step(&mut second, ms(1), switches[0].clone());
            let (from, first) = (slot(1), slot(2));
            let late = SwitchError::Final { from, first };
            assert!(
                matches!(outputs[..], [Output::Do(Effect::Refused(Refusal::Switch(why)))] if why == late)
            );
            assert!(step(&mut second, ms(1), switches[1].clone()).is_empty());
            assert!(step(&mut second, ms(1), finalized(1, Some(V))).is_empty());
            let outputs = step(&mut second, ms(1), finalized(2, Some(V)));
            assert_eq!(reported(&outputs), [(2, false)]);
            assert!(sent(&outputs).is_empty());
            assert_eq!(sent(&step(&mut second, ms(1), finalized(3, Some(V)))).len(), 1);
            // A log that is kept whole goes on to say what it said of finished slots.
            let mut log = records_of;
            log.extend([2, 3].map(|at| Record::Finalized { slot: slot(at), value: Some(V) }));
            log.push(Record::Revealed { slot: slot(3) });
            let mut third = world.restart(A, &profile, &log);
            let mut answered = |at| {
                let request = prefinal_beacon::Message::Request { slot: slot(at) };
                sent(&step(&mut third, ms(2), received(B, request))).len()
            };
            assert_eq!([answered(1), answered(2), answered(3)], [0, 0, 1]);
        }
    }
}

fn what_is_final_is_not_switched<S: Instance>() {
    let world = World::<S>::four(809);
    let mut beacon = world.beacon(A, &SLOW);
    step(&mut beacon, ms(0), finalized(3, Some(V)));
    for from in [0, 1, 3] {
        let outputs = step(&mut beacon, ms(0), switch(from, Mode::Off));
        let (from, first) = (slot(from), slot(4));
        let late = SwitchError::Final { from, first };
        assert!(
            matches!(outputs[..], [Output::Do(Effect::Refused(Refusal::Switch(why)))] if why == late)
        );
    }
    assert_eq!(records(&step(&mut beacon, ms(0), switch(4, Mode::Off))).len(), 1);
    assert_eq!(sent(&step(&mut beacon, ms(0), finalized(2, Some(V)))).len(), 1);
    assert!(sent(&step(&mut beacon, ms(0), finalized(4, Some(V)))).is_empty());
    // What would undo a slot that was reported comes too late as well.
    let outputs = step(&mut beacon, ms(0), switch(4, Mode::On));
    assert!(matches!(
        outputs[..],
        [Output::Do(Effect::Refused(Refusal::Switch(SwitchError::Final { .. })))]
    ));
}

/// Rule 4 does not ask whether anything would have been released then.
fn what_was_given_up_while_the_fast_path_was_off_stays_given_up<S: Instance>() {
    let world = World::<S>::four(810);
    let profile = Profile { fast_from: Slot::new(9), ..BOTH };
    let mut beacon = world.beacon(A, &profile);
    let mut log = records(&step(&mut beacon, ms(0), abandoned(1, 0)));
    log.extend(records(&step(&mut beacon, ms(0), switch(1, Mode::On))));
    let mut second = world.restart(A, &profile, &log);
    let outputs = step(&mut second, ms(1), prefinalized(1, 0, V));
    assert!(matches!(
        outputs[..],
        [Output::Do(Effect::Refused(Refusal::Withheld(Withheld::Abandoned { .. })))]
    ));
    // The next slot was not, but a later life waits for its peers' word.
    let outputs = step(&mut second, ms(1), prefinalized(2, 0, V));
    let lost = Withheld::Lost { slot: slot(2), first_free: None };
    assert!(
        matches!(outputs[..], [Output::Do(Effect::Refused(Refusal::Withheld(why)))] if why == lost)
    );
}

/// Off for slots 3 and 4; some hear of it when they have released partials of slot 3, some restart.
fn parties_that_are_told_at_different_times_report_the_same<S: Instance>() {
    let world = World::<S>::demanding(811);
    for profile in ALL {
        let mut network = Network::new(&world, &profile, &[]);
        let parties = world.parties();
        for at in 1..=6 {
            network.all(at * DELAY, &parties, &prefinalized(at, 0, V));
            network.all((at + 1) * DELAY, &parties, &finalized(at, Some(V)));
        }
        for (party, time) in parties.iter().zip([10, 2 * DELAY, 3 * DELAY + 1, 4 * DELAY - 1]) {
            network.at(time, *party, switch(3, Mode::Off));
            network.at(time, *party, switch(5, Mode::On));
        }
        network.run_until(5 * DELAY + 1);
        network.restart(B);
        network.run_until(30 * DELAY);
        for party in parties {
            let revealed: Vec<_> =
                network.reveals[&party].iter().map(|(_, reveal)| reveal.slot.get()).collect();
            assert_eq!(revealed, [1, 2, 5, 6], "{party} under {profile:?}");
            assert_eq!(network.skipped[&party], [slot(3), slot(4)]);
        }
        assert!(network.accusations.is_empty());
    }
}

fn an_operator_alone_switches_off_and_the_others_go_on<S: Instance>() {
    let world = World::<S>::demanding(812);
    let mut network = Network::new(&world, &BOTH, &[]);
    let parties = world.parties();
    network.at(0, D, switch(1, Mode::Off));
    for at in 1..=3 {
        network.all(at * DELAY, &parties, &prefinalized(at, 0, V));
        network.all((at + 1) * DELAY, &parties, &finalized(at, Some(V)));
    }
    network.run_until(10 * DELAY);
    for party in [A, B, C] {
        assert_eq!(network.reveals[&party].len(), 3);
    }
    assert_eq!(network.skipped[&D].len(), 3);
    assert!(!network.sent.iter().any(|(from, ..)| *from == D));
    assert!(network.accusations.is_empty());
}

/// The engine reports a whole stretch of the chain before anybody reads what is in it.
fn a_party_that_was_away_is_told_which_final_slots_were_off<S: Instance>() {
    let world = World::<S>::demanding(813);
    for profile in ALL {
        let mut beacon = world.beacon(A, &profile);
        let mut log = Vec::new();
        let mut outputs = Vec::new();
        for at in 1..=6 {
            outputs.extend(step(&mut beacon, ms(0), finalized(at, Some(V))));
        }
        for peer in [B, C] {
            let message = world.message(peer, late(&profile), slot(1), bound(&profile));
            outputs.extend(step(&mut beacon, ms(0), received(peer, message)));
        }
        assert_eq!(reported(&outputs), [(1, true)]);
        log.extend(records(&outputs));
        // A switch comes too late, and not for these slots alone.
        let outputs = step(&mut beacon, ms(0), switch(2, Mode::Off));
        assert!(matches!(outputs[..], [Output::Do(Effect::Refused(Refusal::Switch(_)))]));
        let was_off = |first, last| Input::WasOff { first: slot(first), last: slot(last) };
        let outputs = step(&mut beacon, ms(0), was_off(1, 3));
        let late_word = SwitchError::Final { from: slot(1), first: slot(2) };
        assert!(
            matches!(outputs[..], [Output::Do(Effect::Refused(Refusal::Switch(why)))] if why == late_word)
        );
        let outputs = step(&mut beacon, ms(0), was_off(2, 3));
        assert_eq!(reported(&outputs), [(2, false), (3, false)]);
        let record = Record::WasOff { first: slot(2), last: slot(3) };
        assert_eq!(records(&outputs)[0], record);
        assert!(step(&mut beacon, ms(0), was_off(5, 4)).is_empty());
        // Not at the head: in its turn. Nobody gets a partial of it any more.
        log.extend(records(&outputs));
        log.extend(records(&step(&mut beacon, ms(0), was_off(5, 5))));
        let request = prefinal_beacon::Message::Request { slot: slot(5) };
        assert!(step(&mut beacon, ms(0), received(B, request)).is_empty());
        for records_of in [log.clone(), beacon.snapshot()] {
            let mut second = world.restart(A, &profile, &records_of);
            let mut outputs = drain(&mut second, ms(1));
            for at in [4, 6] {
                for peer in [B, C] {
                    let message = world.message(peer, late(&profile), slot(at), bound(&profile));
                    outputs.extend(step(&mut second, ms(1), received(peer, message)));
                }
            }
            assert_eq!(reported(&outputs), [(4, true), (5, false), (6, true)], "{profile:?}");
        }
    }
}

/// Of slots that are off no answer is kept, but their finality is, as that of others.
fn that_a_slot_was_off_is_known_as_long_as_the_history<S: Instance>() {
    let world = World::<S>::four(814);
    let mut beacon = world.beacon(A, &SLOW);
    for told in [switch(2, Mode::Off), switch(4, Mode::On)] {
        step(&mut beacon, ms(0), told);
    }
    for at in 1..=5 {
        step(&mut beacon, ms(0), finalized(at, Some(V)));
        let message = world.message(B, Path::Slow, slot(at), None);
        step(&mut beacon, ms(0), received(B, message));
    }
    assert_eq!(beacon.head(), slot(6));
    let snapshot = beacon.snapshot();
    for at in 2..=5 {
        assert!(snapshot.contains(&Record::Finalized { slot: slot(at), value: Some(V) }));
    }
    // As if nothing had been revealed after slot 1.
    let again: Vec<_> = snapshot
        .into_iter()
        .map(|record| match record {
            Record::Revealed { .. } => Record::Revealed { slot: slot(1) },
            other => other,
        })
        .collect();
    let mut second = world.restart(A, &SLOW, &again);
    let mut outputs = drain(&mut second, ms(1));
    for at in 4..=5 {
        let message = world.message(B, Path::Slow, slot(at), None);
        outputs.extend(step(&mut second, ms(1), received(B, message)));
    }
    assert_eq!(reported(&outputs), [(2, false), (3, false), (4, true), (5, true)]);
    // Nothing is repeated of a slot that was off, finished as it is, nor shown, nor looked up.
    for beacon in [&mut beacon, &mut second] {
        for at in [2, 3] {
            let request = prefinal_beacon::Message::Request { slot: slot(at) };
            assert!(step(beacon, ms(2), received(B, request)).is_empty());
        }
        let show = prefinal_beacon::Message::Show { first: slot(2), count: 3 };
        let outputs = step(beacon, ms(2), received(B, show));
        assert!(!outputs.iter().any(|output| matches!(output, Output::Do(Effect::Lookup { .. }))));
        assert_eq!(sent(&outputs).len(), 1);
    }
}
