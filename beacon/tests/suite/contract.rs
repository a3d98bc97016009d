//! One test per rule of the release contract, each with a schedule that leaks or breaks without it.
use prefinal_beacon::{Bls, Effect, Message, MultiSig, Output, Path, Record, Refusal};
use prefinal_beacon::{Value, Withheld, Wvuf};
use prefinal_protocol::Machine;

use crate::fixture::*;

suite! {
    rule_1_slot_and_value_are_in_the_input
    rule_2_only_the_declared_view_releases
    rule_3_an_ancestor_is_not_released
    rule_4_nothing_is_released_in_a_view_that_was_given_up
    rule_4_an_earlier_timeout_does_not_lower_a_later_one
    rule_4_holds_across_a_crash
    rule_6_finalize_releases_the_slow_partial_after_a_fast_output
    a_prefinalize_after_finality_releases_the_final_value_only
    rule_7_an_engine_without_views_gets_the_slow_path_only
    rule_8_a_skipped_slot_has_an_output_if_inputs_have_no_value
    rule_8_a_skipped_slot_is_reported_in_order_if_inputs_have_a_value
    rule_9_a_party_counts_once_in_a_path
    rule_9_a_finished_slot_is_not_released
    rule_9_far_slots_are_not_kept_and_finished_ones_are_dropped
    the_chain_switches_the_fast_path_on_at_a_slot
    the_engine_cannot_finalize_a_slot_twice
    ; with values:
    rule_1_the_view_is_not_in_the_input
    rule_2_a_slot_is_released_for_one_value
    rule_5_the_record_comes_before_the_partial
    rule_5_after_a_crash_the_same_answer_and_no_other
    rule_6_holds_whatever_happened_before
}

fn withheld<S: Instance>(outputs: &[Output<S>]) -> Vec<Withheld> {
    let refusals = outputs.iter().filter_map(|output| match output {
        Output::Do(Effect::Refused(Refusal::Withheld(reason))) => Some(*reason),
        _ => None,
    });
    refusals.collect()
}

fn paths<S: Instance>(outputs: &[Output<S>]) -> Vec<Path> {
    let paths = sent(outputs).into_iter().filter_map(|message| match message {
        Message::Partial { path, .. } => Some(path),
        _ => None,
    });
    paths.collect()
}

fn rule_1_the_view_is_not_in_the_input<S: Instance>() {
    let world = World::<S>::four(11);
    for profile in profiles::<S>(&[TIGHT, TIGHT_VALUE, BOTH, BOTH_VALUE]) {
        // One life finalizes through the first attempt, the other through the fourth.
        let mut first = world.beacon(A, &profile);
        let early = sent(&step(&mut first, ms(0), prefinalized(1, 0, V)));
        let late = sent(&step(&mut first, ms(1), finalized(1, Some(V))));
        let mut fourth = world.beacon(A, &profile);
        step(&mut fourth, ms(0), abandoned(1, 2));
        step(&mut fourth, ms(0), prefinalized(1, 3, V));
        let other = sent(&step(&mut fourth, ms(1), finalized(1, Some(V))));
        let released: Vec<_> = early.into_iter().chain(late).collect();
        assert_eq!(other.len(), 1, "{profile:?}");
        assert!(released.contains(&other[0]), "{profile:?}");
    }
}

fn rule_1_slot_and_value_are_in_the_input<S: Instance>() {
    let world = World::<S>::four(12);
    let partial = |at, value| world.partial(A, Path::Slow, slot(at), value);
    assert_ne!(partial(1, None), partial(2, None));
    assert_ne!(partial(1, None), partial(1, Some(V)));
    assert_ne!(partial(1, Some(V)), partial(1, Some(W)));
}

fn rule_2_only_the_declared_view_releases<S: Instance>() {
    let world = World::<S>::four(21);
    for profile in [TIGHT, BOTH] {
        let mut beacon = world.beacon(A, &profile);
        let outputs = step(&mut beacon, ms(0), prefinalized(1, 1, V));
        assert_eq!(withheld(&outputs), [Withheld::OtherView { view: view(1, 1), declared: 0 }]);
        assert!(sent(&outputs).is_empty() && records(&outputs).is_empty());
        // The slot takes the slow path.
        let outputs = step(&mut beacon, ms(0), finalized(1, Some(V)));
        assert_eq!(paths(&outputs).len(), 1);
    }
}

fn rule_2_a_slot_is_released_for_one_value<S: Instance>() {
    let world = World::<S>::four(22);
    for profile in profiles::<S>(&[TIGHT_VALUE, BOTH_VALUE, TIGHT, BOTH]) {
        let mut beacon = world.beacon(A, &profile);
        assert_eq!(paths(&step(&mut beacon, ms(0), prefinalized(1, 0, V))).len(), 1);
        // A view lets a party vote once; an engine that forgets this does not make the beacon forget.
        let outputs = step(&mut beacon, ms(0), prefinalized(1, 0, W));
        let reason = Withheld::OtherValue { slot: slot(1), released: V, value: W };
        assert_eq!(withheld(&outputs), [reason]);
        assert!(sent(&outputs).is_empty() && records(&outputs).is_empty());
    }
}

/// The guide's sentence on each scheme: what is signed for drand's clients names no chain, all else does.
#[test]
fn rule_1_chain_and_epoch_are_in_every_input_but_drands() {
    use prefinal_crypto_core::context::{ChainId, Context, EpochId};
    fn differs<S: Instance>(value: Option<Value>) -> [bool; 2] {
        let here = Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(1) };
        let chain = Context { chain: ChainId::new([2; 32]), ..here };
        let epoch = Context { epoch: EpochId::new(2), ..here };
        let (world, binding) = (World::<S>::four(13), binding(value));
        let secret = world.sharing(Path::Slow, A, binding).secret.unwrap();
        let evaluated = |context| {
            let input = S::input(&context, binding, slot(7), value).unwrap();
            S::evaluate(&secret, &input).unwrap()
        };
        [evaluated(chain) != evaluated(here), evaluated(epoch) != evaluated(here)]
    }
    assert_eq!(differs::<Bls>(None), [false, false]);
    assert_eq!(differs::<Bls>(Some(V)), [true, true]);
    assert_eq!(differs::<Wvuf>(None), [true, true]);
    assert_eq!(differs::<Wvuf>(Some(V)), [true, true]);
    assert_eq!(differs::<MultiSig>(Some(V)), [true, true]);
}

fn rule_3_an_ancestor_is_not_released<S: Instance>() {
    let world = World::<S>::four(31);
    let mut beacon = world.beacon(A, &BOTH);
    // The vote is cast for slot 2 and implies its parent in slot 1.
    let implied =
        prefinal_beacon::Input::Prefinalized { slot: slot(1), view: view(2, 0), value: V };
    let outputs = step(&mut beacon, ms(0), implied);
    assert_eq!(withheld(&outputs), [Withheld::Implicit { slot: slot(1), view: view(2, 0) }]);
    assert!(sent(&outputs).is_empty());
    assert_eq!(paths(&step(&mut beacon, ms(0), prefinalized(2, 0, W))), [Path::Fast]);
    assert_eq!(paths(&step(&mut beacon, ms(0), finalized(1, Some(V)))), [Path::Slow]);
}

fn rule_4_nothing_is_released_in_a_view_that_was_given_up<S: Instance>() {
    let world = World::<S>::four(41);
    for given_up in [abandoned(1, 0), abandoned(1, 5), abandoned(2, 0)] {
        let mut beacon = world.beacon(A, &BOTH);
        let outputs = step(&mut beacon, ms(0), given_up);
        assert!(matches!(records(&outputs)[..], [Record::Abandoned { .. }]));
        let outputs = step(&mut beacon, ms(0), prefinalized(1, 0, V));
        assert!(matches!(withheld(&outputs)[..], [Withheld::Abandoned { .. }]));
        assert!(sent(&outputs).is_empty() && records(&outputs).is_empty());
        // What comes after is not touched.
        assert_eq!(paths(&step(&mut beacon, ms(0), prefinalized(3, 0, V))), [Path::Fast]);
    }
}

fn rule_4_an_earlier_timeout_does_not_lower_a_later_one<S: Instance>() {
    let world = World::<S>::four(42);
    let mut beacon = world.beacon(A, &BOTH);
    step(&mut beacon, ms(0), abandoned(3, 0));
    assert!(records(&step(&mut beacon, ms(0), abandoned(1, 0))).is_empty());
    assert!(sent(&step(&mut beacon, ms(0), prefinalized(2, 0, V))).is_empty());
}

fn rule_4_holds_across_a_crash<S: Instance>() {
    let world = World::<S>::four(43);
    let mut beacon = world.beacon(A, &BOTH);
    let mut log = records(&step(&mut beacon, ms(0), prefinalized(1, 0, V)));
    log.extend(records(&step(&mut beacon, ms(0), abandoned(2, 0))));
    // Nobody knows whether the first life's partial left before its vote was withdrawn.
    let mut second = world.restart(A, &BOTH, &log);
    assert!(sent(&drain(&mut second, ms(1))).is_empty());
    assert!(sent(&step(&mut second, ms(1), prefinalized(1, 0, V))).is_empty());
    assert!(sent(&step(&mut second, ms(1), prefinalized(2, 0, V))).is_empty());
    assert_eq!(paths(&step(&mut second, ms(1), finalized(1, Some(V)))), [Path::Slow]);
}

fn rule_5_the_record_comes_before_the_partial<S: Instance>() {
    let world = World::<S>::four(51);
    for profile in profiles::<S>(&[TIGHT, TIGHT_VALUE, BOTH, BOTH_VALUE]) {
        let mut beacon = world.beacon(A, &profile);
        let outputs = step(&mut beacon, ms(0), prefinalized(1, 0, V));
        let released = Record::Released { slot: slot(1), value: V };
        assert!(matches!(&outputs[..],
            [Output::Keep(record), Output::Do(Effect::Send { .. })] if *record == released));
        let outputs = step(&mut beacon, ms(0), finalized(1, Some(W)));
        let last = Record::Finalized { slot: slot(1), value: Some(W) };
        assert!(matches!(&outputs[0], Output::Keep(record) if *record == last));
    }
}

fn rule_5_after_a_crash_the_same_answer_and_no_other<S: Instance>() {
    let world = World::<S>::four(52);
    for profile in profiles::<S>(&[TIGHT, TIGHT_VALUE, BOTH, BOTH_VALUE]) {
        let mut beacon = world.beacon(A, &profile);
        let outputs = step(&mut beacon, ms(0), prefinalized(1, 0, V));
        let (log, first) = (records(&outputs), sent(&outputs));
        let mut second = world.restart(A, &profile, &log);
        assert!(drain(&mut second, ms(1)).is_empty(), "nobody knows whether the vote was cast");
        let outputs = step(&mut second, ms(1), prefinalized(1, 0, V));
        assert_eq!(sent(&outputs), first, "repeated for the engine");
        assert!(records(&outputs).is_empty(), "the record is durable already");
        assert!(sent(&step(&mut second, ms(1), prefinalized(1, 0, W))).is_empty());
    }
}

fn rule_6_finalize_releases_the_slow_partial_after_a_fast_output<S: Instance>() {
    let world = World::<S>::four(61);
    let mut beacon = world.beacon(A, &BOTH);
    step(&mut beacon, ms(0), prefinalized(1, 0, V));
    for peer in [B, C, D] {
        let fast = world.message(peer, Path::Fast, slot(1), None);
        let outputs = step(&mut beacon, ms(0), received(peer, fast));
        assert!(reveals(&outputs).is_empty(), "not final yet");
    }
    let outputs = step(&mut beacon, ms(0), finalized(1, Some(V)));
    assert_eq!(reveals(&outputs)[0].path, Path::Fast);
    assert_eq!(paths(&outputs), [Path::Slow]);
}

fn rule_6_holds_whatever_happened_before<S: Instance>() {
    let world = World::<S>::four(62);
    for profile in profiles::<S>(&[SLOW, TIGHT, TIGHT_VALUE, BOTH, BOTH_VALUE]) {
        let mut beacon = world.beacon(A, &profile);
        step(&mut beacon, ms(0), prefinalized(1, 0, V));
        step(&mut beacon, ms(0), abandoned(9, 0));
        // Another value became final: its partial leaves too.
        let outputs = step(&mut beacon, ms(0), finalized(1, Some(W)));
        let released_already =
            profile.algorithm == Algorithm::Tight && profile.binding == TIGHT.binding;
        assert_eq!(paths(&outputs).len(), usize::from(!released_already), "{profile:?}");
    }
}

fn a_prefinalize_after_finality_releases_the_final_value_only<S: Instance>() {
    let world = World::<S>::demanding(63);
    for (value, paths_left) in [(V, vec![Path::Fast]), (W, vec![])] {
        let mut beacon = world.beacon(A, &BOTH_VALUE);
        step(&mut beacon, ms(0), finalized(1, Some(V)));
        let outputs = step(&mut beacon, ms(0), prefinalized(1, 0, value));
        assert_eq!(paths(&outputs), paths_left);
        let reason = Withheld::NotFinal { slot: slot(1), value };
        assert_eq!(withheld(&outputs).contains(&reason), value == W);
    }
}

fn rule_7_an_engine_without_views_gets_the_slow_path_only<S: Instance>() {
    let world = World::<S>::four(71);
    for profile in [TIGHT, BOTH] {
        let profile = Profile { fast_attempt: None, ..profile };
        let mut beacon = world.beacon(A, &profile);
        let outputs = step(&mut beacon, ms(0), prefinalized(1, 0, V));
        assert_eq!(withheld(&outputs), [Withheld::NoDeclaredView]);
        assert!(sent(&outputs).is_empty() && records(&outputs).is_empty());
        let outputs = step(&mut beacon, ms(0), finalized(1, Some(V)));
        assert_eq!(paths(&outputs).len(), 1);
    }
}

fn rule_8_a_skipped_slot_has_an_output_if_inputs_have_no_value<S: Instance>() {
    let world = World::<S>::four(81);
    for (profile, path) in [(SLOW, Path::Slow), (BOTH, Path::Slow), (TIGHT, Path::Tight)] {
        let mut beacon = world.beacon(A, &profile);
        let outputs = step(&mut beacon, ms(0), finalized(1, None));
        assert_eq!(paths(&outputs), [path]);
        let mut shown = Vec::new();
        for peer in [B, C, D] {
            let partial = world.message(peer, path, slot(1), None);
            shown.extend(reveals(&step(&mut beacon, ms(0), received(peer, partial))));
        }
        assert_eq!(shown.len(), 1);
        assert_eq!((shown[0].value, shown[0].output), (None, world.output(slot(1), None)));
    }
}

fn rule_8_a_skipped_slot_is_reported_in_order_if_inputs_have_a_value<S: Instance>() {
    let world = World::<S>::four(82);
    let mut beacon = world.beacon(A, &BOTH_VALUE);
    let outputs = step(&mut beacon, ms(0), finalized(1, Some(V)));
    assert_eq!(paths(&outputs), [Path::Slow]);
    let outputs = step(&mut beacon, ms(0), finalized(2, None));
    assert!(sent(&outputs).is_empty(), "there is nothing to evaluate");
    assert!(!outputs.iter().any(|output| matches!(output, Output::Do(Effect::Skipped { .. }))));
    let partial = world.message(B, Path::Slow, slot(1), Some(V));
    let outputs = step(&mut beacon, ms(0), received(B, partial));
    let order: Vec<u64> = outputs
        .iter()
        .filter_map(|output| match output {
            Output::Do(Effect::Reveal(reveal)) => Some(reveal.slot.get()),
            Output::Do(Effect::Skipped { slot }) => Some(slot.get()),
            _ => None,
        })
        .collect();
    assert_eq!(order, [1, 2]);
    assert_eq!(beacon.wake_at(), None);
}

fn rule_9_a_party_counts_once_in_a_path<S: Instance>() {
    let world = World::<S>::demanding(91);
    let mut beacon = world.beacon(A, &BOTH);
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    let partial = world.message(B, Path::Slow, slot(1), None);
    for _ in 0..3 {
        let outputs = step(&mut beacon, ms(0), received(B, partial.clone()));
        assert!(jobs(&outputs).is_empty() && accused(&outputs).is_empty());
    }
    // Nor do two paths add up.
    let fast = world.message(C, Path::Fast, slot(1), None);
    assert!(jobs(&step(&mut beacon, ms(0), received(C, fast))).is_empty());
    let third = world.message(C, Path::Slow, slot(1), None);
    assert_eq!(reveals(&step(&mut beacon, ms(0), received(C, third))).len(), 1);
}

fn rule_9_a_finished_slot_is_not_released<S: Instance>() {
    let world = World::<S>::four(95);
    let mut beacon = world.beacon(A, &BOTH_VALUE);
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    let partial = world.message(B, Path::Slow, slot(1), Some(V));
    assert_eq!(reveals(&step(&mut beacon, ms(0), received(B, partial))).len(), 1);
    // What it was released for is forgotten by now, so not even the final value is.
    for value in [V, W] {
        let outputs = step(&mut beacon, ms(0), prefinalized(1, 0, value));
        assert_eq!(withheld(&outputs), [Withheld::Finished { slot: slot(1) }]);
        assert!(sent(&outputs).is_empty() && records(&outputs).is_empty());
    }
}

fn rule_9_far_slots_are_not_kept_and_finished_ones_are_dropped<S: Instance>() {
    let world = World::<S>::four(92);
    let mut beacon = world.beacon(A, &BOTH);
    let limit = BOTH.limits.window;
    for at in 1..100 {
        for path in [Path::Slow, Path::Fast] {
            let partial = S::wrong_partial(at);
            let message = Message::Partial { path, slot: slot(at), value: None, partial };
            step(&mut beacon, ms(0), received(D, message));
        }
    }
    assert_eq!(beacon.pending_partials(), 2 * usize::try_from(limit + 1).unwrap());
    // The window moves with finality, and a finished slot takes nothing with it.
    let mut beacon = world.beacon(A, &BOTH);
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    let partial = world.message(B, Path::Slow, slot(1), None);
    assert_eq!(reveals(&step(&mut beacon, ms(0), received(B, partial))).len(), 1);
    assert_eq!(beacon.pending_partials(), 0);
    let late = world.message(C, Path::Slow, slot(1), None);
    assert!(step(&mut beacon, ms(0), received(C, late)).is_empty());
    assert_eq!(beacon.pending_partials(), 0);
    let edge = world.message(B, Path::Slow, slot(2 + limit), None);
    step(&mut beacon, ms(0), received(B, edge));
    assert_eq!(beacon.pending_partials(), 1);
    let beyond = world.message(B, Path::Slow, slot(3 + limit), None);
    step(&mut beacon, ms(0), received(B, beyond));
    assert_eq!(beacon.pending_partials(), 1);
}

fn the_chain_switches_the_fast_path_on_at_a_slot<S: Instance>() {
    let world = World::<S>::four(93);
    let profile = Profile { fast_from: slot(2), ..BOTH };
    let mut beacon = world.beacon(A, &profile);
    let outputs = step(&mut beacon, ms(0), prefinalized(1, 0, V));
    assert_eq!(withheld(&outputs), [Withheld::SlowOnly { slot: slot(1) }]);
    assert!(sent(&outputs).is_empty());
    assert_eq!(paths(&step(&mut beacon, ms(0), prefinalized(2, 0, V))), [Path::Fast]);
    // Fast partials of a slot before do not count.
    let kept = beacon.pending_partials();
    let fast = world.message(B, Path::Fast, slot(1), None);
    assert!(step(&mut beacon, ms(0), received(B, fast)).is_empty());
    assert_eq!(beacon.pending_partials(), kept);
}

fn the_engine_cannot_finalize_a_slot_twice<S: Instance>() {
    let world = World::<S>::four(94);
    let mut beacon = world.beacon(A, &BOTH_VALUE);
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    assert!(step(&mut beacon, ms(0), finalized(1, Some(V))).is_empty());
    let outputs = step(&mut beacon, ms(0), finalized(1, Some(W)));
    assert!(matches!(outputs[..], [Output::Do(Effect::Refused(Refusal::SecondFinal { .. }))]));
    // Nor after it is finished.
    let partial = world.message(B, Path::Slow, slot(1), Some(V));
    assert_eq!(reveals(&step(&mut beacon, ms(0), received(B, partial))).len(), 1);
    let outputs = step(&mut beacon, ms(0), finalized(1, None));
    assert!(matches!(outputs[..], [Output::Do(Effect::Refused(Refusal::SecondFinal { .. }))]));
}
