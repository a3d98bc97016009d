//! Algorithms 1, 2 and 3 on links of one constant delay: when outputs come, and that they agree.
//!
//! The engine's votes travel as partials do: a party that prefinalizes at 0 knows at one delay that the
//! value is final, if enough others did so too.
use prefinal_beacon::Path;
use prefinal_crypto_core::access::Party;

use crate::fixture::*;
use crate::network::{DELAY, Network};

suite! {
    the_slow_path_takes_one_message_delay
    the_fast_path_takes_no_delay_in_an_optimistic_execution
    tight_thresholds_take_no_delay_with_a_silent_party
    fast_partials_for_a_few_starve_nobody
    a_ramp_waits_for_more_than_finality
    outputs_wait_for_those_before_them
    ; with values:
    tight_thresholds_take_no_delay
    weights_count_and_a_party_without_shares_follows
    every_reveal_can_be_audited_offline
    one_party_is_a_committee
}

/// All prefinalize slots 1 to `slots`, one a delay, and finalize one delay later.
fn optimistic<S: Instance>(network: &mut Network<'_, S>, slots: u64) {
    let parties = network.world.parties();
    for at in 1..=slots {
        network.all(at * DELAY, &parties, &prefinalized(at, 0, V));
        network.all((at + 1) * DELAY, &parties, &finalized(at, Some(V)));
    }
    network.run_until((slots + 5) * DELAY);
}

/// How long after local finality each output came, and by which path.
fn waits<S: Instance>(network: &Network<'_, S>, party: Party) -> Vec<(u64, Path)> {
    let reveals = network.reveals[&party].iter();
    reveals.map(|(at, reveal)| (at - (reveal.slot.get() + 1) * DELAY, reveal.path)).collect()
}

fn the_slow_path_takes_one_message_delay<S: Instance>() {
    let world = World::<S>::four(201);
    let mut network = Network::new(&world, &SLOW, &[]);
    optimistic(&mut network, 3);
    for party in world.parties() {
        assert_eq!(waits(&network, party), [(DELAY, Path::Slow); 3]);
    }
}

fn tight_thresholds_take_no_delay<S: Instance>() {
    for profile in profiles::<S>(&[TIGHT, TIGHT_VALUE]) {
        let world = World::<S>::four(202);
        let mut network = Network::new(&world, &profile, &[]);
        optimistic(&mut network, 3);
        for party in world.parties() {
            assert_eq!(waits(&network, party), [(0, Path::Tight); 3]);
        }
    }
}

fn the_fast_path_takes_no_delay_in_an_optimistic_execution<S: Instance>() {
    for profile in [BOTH, BOTH_VALUE] {
        let world = World::<S>::four(203);
        let mut network = Network::new(&world, &profile, &[]);
        optimistic(&mut network, 3);
        for party in world.parties() {
            assert_eq!(waits(&network, party), [(0, Path::Fast); 3]);
        }
    }
}

fn tight_thresholds_take_no_delay_with_a_silent_party<S: Instance>() {
    let world = World::<S>::four(204);
    let mut network = Network::new(&world, &TIGHT, &[D]);
    optimistic(&mut network, 2);
    for party in [A, B, C] {
        assert_eq!(waits(&network, party), [(0, Path::Tight); 2]);
    }
}

/// The faulty party gives its fast partial to `A` alone. `A` has the output with finality, the
/// others a delay later, and only because `A` releases its slow partial nevertheless.
fn fast_partials_for_a_few_starve_nobody<S: Instance>() {
    let world = World::<S>::demanding(205);
    let mut network = Network::new(&world, &BOTH, &[D]);
    network.inject(D, A, world.message(D, Path::Fast, slot(1), None));
    network.all(0, &[A, B, C], &prefinalized(1, 0, V));
    // A moment later, so that `A` finalizes with the output in hand.
    let last = DELAY + 1;
    network.all(last, &[A, B, C], &finalized(1, Some(V)));
    network.run_until(last + DELAY);
    let revealed = |party| {
        let (at, reveal) = network.reveal_of(party, slot(1)).expect("an output");
        (*at, reveal.path, reveal.output)
    };
    let output = world.output(slot(1), None);
    assert_eq!(revealed(A), (last, Path::Fast, output));
    assert_eq!(revealed(B), (last + DELAY, Path::Slow, output));
    assert_eq!(revealed(C), (last + DELAY, Path::Slow, output));
}

/// Theorem 6.1 in small: one party prefinalizes late, the value is final without it, and the ramp
/// waits for it while the tight path does not.
fn a_ramp_waits_for_more_than_finality<S: Instance>() {
    let world = World::<S>::four(206);
    for (profile, wait) in [(TIGHT, 0), (BOTH, DELAY)] {
        let mut network = Network::new(&world, &profile, &[]);
        network.all(0, &[A, B, C], &prefinalized(1, 0, V));
        network.all(DELAY, &[A, B, C], &finalized(1, Some(V)));
        network.run_until(3 * DELAY);
        let (at, _) = network.reveal_of(A, slot(1)).expect("an output");
        assert_eq!(at - DELAY, wait, "{profile:?}");
    }
}

fn outputs_wait_for_those_before_them<S: Instance>() {
    let world = World::<S>::four(207);
    let mut network = Network::new(&world, &BOTH, &[]);
    let parties = world.parties();
    // Nothing of slot 1 arrives until it is asked for again.
    network.passes = Box::new(
        |_, _, message| !matches!(message, prefinal_beacon::Message::Partial { slot, path: Path::Fast, .. } if slot.get() == 1),
    );
    for at in 1..=2 {
        network.all(0, &parties, &prefinalized(at, 0, V));
        network.all(DELAY, &parties, &finalized(at, Some(V)));
    }
    network.run_until(3 * DELAY);
    for party in parties {
        let reveals: Vec<_> = network.reveals[&party]
            .iter()
            .map(|(at, reveal)| (*at, reveal.slot.get(), reveal.path))
            .collect();
        assert_eq!(reveals, [(2 * DELAY, 1, Path::Slow), (2 * DELAY, 2, Path::Fast)]);
    }
}

/// Rounded stake: unequal weights, one of them zero. The weightless party reveals like all others.
fn weights_count_and_a_party_without_shares_follows<S: Instance>() {
    let world = World::<S>::new(208, &[5, 0, 3, 2, 1], [6, 9, 8]);
    for profile in profiles::<S>(&[SLOW, TIGHT, BOTH, TIGHT_VALUE, BOTH_VALUE]) {
        let mut network = Network::new(&world, &profile, &[]);
        optimistic(&mut network, 2);
        let bound = (profile.binding == BOTH_VALUE.binding).then_some(V);
        for party in world.parties() {
            let reveals = &network.reveals[&party];
            assert_eq!(reveals.len(), 2, "{party} under {profile:?}");
            for (_, reveal) in reveals {
                assert_eq!(reveal.output, world.output(reveal.slot, bound));
            }
        }
        assert!(!network.sent.iter().any(|(from, ..)| *from == Party::new(1)));
        assert!(network.accusations.is_empty());
    }
}

/// Both paths give one output, and whichever proof a reveal carries convinces an outsider.
fn every_reveal_can_be_audited_offline<S: Instance>() {
    let world = World::<S>::new(209, &[2, 1, 1, 1], [2, 5, 4]);
    for profile in profiles::<S>(&[SLOW, TIGHT, BOTH, SLOW_VALUE, TIGHT_VALUE, BOTH_VALUE]) {
        let path = match profile.algorithm {
            Algorithm::Slow => Path::Slow,
            Algorithm::Tight => Path::Tight,
            Algorithm::FastAndSlow => Path::Fast,
        };
        let mut network = Network::new(&world, &profile, &[]);
        optimistic(&mut network, 1);
        let (_, reveal) = network.reveal_of(B, slot(1)).expect("an output");
        assert_eq!(reveal.path, path);
        S::audit(&world.paths[&path], reveal);
    }
}

fn one_party_is_a_committee<S: Instance>() {
    let world = World::<S>::new(210, &[1], [1, 1, 1]);
    for profile in profiles::<S>(&[SLOW, TIGHT, BOTH, TIGHT_VALUE]) {
        let mut beacon = world.beacon(A, &profile);
        let mut outputs = step(&mut beacon, ms(0), prefinalized(1, 0, V));
        assert!(reveals(&outputs).is_empty(), "not before it is final");
        outputs.extend(step(&mut beacon, ms(0), finalized(1, Some(V))));
        assert_eq!(reveals(&outputs).len(), 1, "{profile:?}");
    }
}
