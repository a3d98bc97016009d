//! What an engine may report, and what it hears when a report is missing, too early or wrong.
use prefinal_beacon::epochs::{self, Epochs};
use prefinal_beacon::{
    Beacon, Bls, Config, Effect, Fault, Input, Output, Path, Record, Refusal, Withheld,
};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::Machine;

use crate::fixture::*;
use crate::reshared::{BOUNDARIES, Person, config, epoch};

suite! {
    final_slots_are_bounded_by_the_window
    a_slot_before_the_first_is_refused
    a_slot_that_is_not_reported_is_named_once
    a_restart_names_the_missing_slot_again
    a_party_without_shares_is_told_once
    an_honest_party_that_the_host_takes_for_another_is_accused_once
    the_last_final_slot_is_known_before_and_after_a_restart
}

fn refused<S: Instance>(outputs: &[Output<S>]) -> Vec<Refusal> {
    let refusals = outputs.iter().filter_map(|output| match output {
        Output::Do(Effect::Refused(refusal)) => Some(refusal.clone()),
        _ => None,
    });
    refusals.collect()
}

fn stalled<S: Instance>(outputs: &[Output<S>]) -> Vec<u64> {
    let stalls = outputs.iter().filter_map(|output| match output {
        Output::Do(Effect::Stalled { slot }) => Some(slot.get()),
        _ => None,
    });
    stalls.collect()
}

fn window<S: Instance>(world: &World<S>) -> u64 {
    world.config(A, &SLOW).limits.window
}

/// Without the bound an engine with a wrong number makes this party sign for a slot years ahead, and every
/// slot before it is behind the window for good.
fn final_slots_are_bounded_by_the_window<S: Instance>() {
    let world = World::<S>::four(1301);
    let mut beacon = world.beacon(A, &SLOW);
    let last = 1 + window(&world);
    let beyond = step(&mut beacon, ms(0), finalized(last + 1, Some(V)));
    let refusal = Refusal::Beyond { slot: slot(last + 1), next: slot(1), last: slot(last) };
    assert_eq!(refused(&beyond), [refusal]);
    assert!(sent(&beyond).is_empty() && records(&beyond).is_empty());
    // The engine went on without it: the first slot that is missing has a name.
    let due = ms(0) + world.config(A, &SLOW).limits.retry;
    assert_eq!(stalled(&step(&mut beacon, due, Input::Tick)), [1]);
    // The last within it is taken, out of turn, and moves the window.
    assert!(!sent(&step(&mut beacon, ms(0), finalized(last, Some(V)))).is_empty());
    let now_within = step(&mut beacon, ms(0), finalized(last + 1, Some(V)));
    assert_eq!(refused(&now_within), []);
    assert!(!sent(&now_within).is_empty());
}

fn a_slot_before_the_first_is_refused<S: Instance>() {
    let world = World::<S>::four(1302);
    let config = Config { first: slot(5), ..world.config(A, &SLOW) };
    let mut beacon = Beacon::new(config, &[]).unwrap();
    for value in [Some(V), None] {
        let outputs = step(&mut beacon, ms(0), finalized(4, value));
        let refusal = Refusal::BeforeFirst { slot: slot(4), first: slot(5) };
        assert_eq!(refused(&outputs), [refusal]);
        assert!(records(&outputs).is_empty() && sent(&outputs).is_empty());
    }
    assert_eq!(refused(&step(&mut beacon, ms(0), finalized(5, Some(V)))), []);
}

fn a_slot_that_is_not_reported_is_named_once<S: Instance>() {
    let world = World::<S>::four(1303);
    let mut beacon = world.beacon(A, &SLOW);
    let retry = world.config(A, &SLOW).limits.retry;
    assert_eq!(stalled(&step(&mut beacon, ms(0), finalized(2, Some(V)))), []);
    let due = ms(0) + retry;
    // It wakes for that by itself.
    assert!(beacon.wake_at().is_some_and(|at| at <= due));
    assert_eq!(stalled(&step(&mut beacon, due, Input::Tick)), [1]);
    assert_eq!(stalled(&step(&mut beacon, due + retry, Input::Tick)), []);
    // The next one that is missing is another, and has its own time.
    let outputs = step(&mut beacon, due + retry, finalized(1, None));
    assert_eq!(stalled(&outputs), []);
    let mut reported = world.beacon(A, &SLOW);
    step(&mut reported, ms(0), finalized(2, Some(V)));
    step(&mut reported, ms(1), finalized(1, Some(V)));
    assert_eq!(stalled(&step(&mut reported, due + retry, Input::Tick)), []);
}

fn a_restart_names_the_missing_slot_again<S: Instance>() {
    let world = World::<S>::four(1304);
    let retry = world.config(A, &SLOW).limits.retry;
    let kept = records(&step(&mut world.beacon(A, &SLOW), ms(0), finalized(2, Some(V))));
    let mut beacon = world.restart(A, &SLOW, &kept);
    assert_eq!(stalled(&step(&mut beacon, ms(0), Input::Tick)), []);
    assert_eq!(stalled(&step(&mut beacon, ms(0) + retry, Input::Tick)), [1]);
}

fn a_party_without_shares_is_told_once<S: Instance>() {
    let world = World::<S>::new(1305, &[0, 1, 1, 1], [2, 3, 2]);
    for profile in profiles::<S>(&[BOTH, TIGHT]) {
        let mut beacon = world.beacon(A, &profile);
        let told = refused(&step(&mut beacon, ms(0), prefinalized(1, 0, V)));
        assert_eq!(told, [Refusal::Withheld(Withheld::NoShares { party: A })]);
        assert_eq!(refused(&step(&mut beacon, ms(0), prefinalized(2, 0, V))), []);
    }
}

/// The host delivers what `B` sends as if it were from `C`: each of these partials is false.
fn an_honest_party_that_the_host_takes_for_another_is_accused_once<S: Instance>() {
    let world = World::<S>::new(1306, &[1; 7], [4, 7, 5]);
    let mut beacon = world.beacon(A, &SLOW);
    let mut accusations = Vec::new();
    for at in 1..=4 {
        let mut inputs = vec![finalized(at, Some(V))];
        let from_b = world.message(B, Path::Slow, slot(at), None);
        inputs.push(received(C, from_b));
        for peer in [3, 4, 5].map(Party::new) {
            inputs.push(received(peer, world.message(peer, Path::Slow, slot(at), None)));
        }
        for input in inputs {
            let outputs = step(&mut beacon, ms(0), input);
            accusations.extend(accused(&outputs));
            for job in jobs(&outputs) {
                let outputs = step(&mut beacon, ms(0), Input::Checked(job.run()));
                accusations.extend(accused(&outputs));
                for job in jobs(&outputs) {
                    let verdict = Input::Checked(job.run());
                    accusations.extend(accused(&step(&mut beacon, ms(0), verdict)));
                }
            }
        }
        assert!(beacon.head() > slot(at), "{at} has its output in spite of it");
    }
    assert!(
        matches!(accusations[..], [(C, Fault::FalsePartial { .. })]),
        "one accusation, not one for each slot: {accusations:?}"
    );
}

fn the_last_final_slot_is_known_before_and_after_a_restart<S: Instance>() {
    let world = World::<S>::four(1307);
    let mut beacon = world.beacon(A, &SLOW);
    assert_eq!(beacon.last_final(), None);
    let mut kept: Vec<Record> = Vec::new();
    for at in [3, 1] {
        kept.extend(records(&step(&mut beacon, ms(0), finalized(at, Some(V)))));
        assert_eq!(beacon.last_final(), Some(slot(3)));
    }
    assert_eq!(world.restart(A, &SLOW, &kept).last_final(), Some(slot(3)));
}

/// The next epoch's slots are reported to its own beacon, which knows nothing of the one before.
#[test]
fn the_last_slot_of_an_epoch_is_named_if_it_is_missing() {
    let (who, end) = (Person(1), BOUNDARIES[0]);
    let first = Config { first: slot(end - 1), ..config(0, who).unwrap() };
    let mut epochs = Epochs::<Bls>::new([first], &[]).unwrap();
    epochs.hand_over(config(1, who).unwrap()).unwrap();
    let mut told = |now, input| {
        epochs.handle(now, input);
        let outputs: Vec<_> = std::iter::from_fn(|| epochs.poll()).collect();
        let stalls = outputs.into_iter().filter_map(|output| match output {
            epochs::Output::Do(epochs::Effect::Of { epoch, effect: Effect::Stalled { slot } }) => {
                Some((epoch, slot))
            }
            _ => None,
        });
        stalls.collect::<Vec<_>>()
    };
    let last = |at| epochs::Input::Finalized { slot: slot(at), value: Some(V) };
    assert_eq!(told(ms(0), last(end)), []);
    assert_eq!(told(ms(0) + RETRY, epochs::Input::Tick), [(epoch(0), slot(end - 1))]);
    assert_eq!(told(ms(0) + RETRY + RETRY, epochs::Input::Tick), []);
}
