//! The known bad schedules of naive integrations, on the real beacon. Each test also shows that the
//! schedule is bad: with the one partial more that a naive beacon would release, the output leaks.
//!
//! Four parties of equal weight, `D` is faulty. A value is final with three votes of one view, and
//! three partials give the output.
use prefinal_beacon::{Message, PartialsError, Path, Record, Slot, Value};
use prefinal_crypto_core::access::Party;

use crate::fixture::*;
use crate::network::{DELAY, Network};

suite! {
    fast_partials_do_not_open_the_slow_path
    ; with values:
    tendermint_cross_round_leak
    tendermint_crash_between_record_and_vote
    tendermint_split_rounds
    jolteon_union_of_order_vote_and_vote_for_a_child
    jolteon_implicit_ancestors
    jolteon_certificate_after_a_timeout
}

const HONEST: [Party; 3] = [A, B, C];

/// The adversary cannot evaluate, and could if these parties had released too.
fn one_partial_short<S: Instance>(
    network: &Network<'_, S>,
    (path, at, value): (Path, Slot, Option<Value>),
    held_back: &[Party],
) {
    let leak = network.leak(&[D], path, at, value);
    assert!(matches!(leak, Err(PartialsError::BelowThreshold { .. })), "{leak:?}");
    let mut seen = network.seen(&[D], path, at, value);
    for party in held_back {
        seen.insert(*party, network.world.partial(*party, path, at, value));
    }
    let output = network.world.combine(path, at, value, seen);
    assert_eq!(output, Ok(network.world.output(at, value)), "the schedule would not be bad");
}

/// Everybody reveals the same output for this value.
fn agreed<S: Instance>(
    network: &Network<'_, S>,
    at: Slot,
    value: Option<Value>,
    bound: Option<Value>,
) {
    for party in HONEST {
        let (_, reveal) = network.reveal_of(party, at).expect("an output");
        assert_eq!((reveal.value, reveal.bound), (value, bound));
        assert_eq!(reveal.output, network.world.output(at, bound));
    }
}

/// Round 0: `A` precommits v, `B` and `C` nil. Round 1: `D` gathers a hidden polka for v'. Round 2:
/// `A` proposes v again, only `B` precommits it. Round 3: `D` proposes v' with its polka, and all
/// decide v'.
fn tendermint_cross_round_leak<S: Instance>() {
    let world = World::<S>::demanding(101);
    let mut network = Network::new(&world, &TIGHT_VALUE, &[D]);
    network.at(0, A, prefinalized(1, 0, V));
    network.at(0, B, abandoned(1, 0));
    network.at(0, C, abandoned(1, 0));
    for (time, round) in [(1000, 1), (2000, 2)] {
        network.at(time, A, abandoned(1, round));
        network.at(time, C, abandoned(1, round));
    }
    network.at(1000, B, abandoned(1, 1));
    network.at(2000, B, prefinalized(1, 2, V));
    network.run_until(2999);
    one_partial_short(&network, (Path::Tight, slot(1), Some(V)), &[B]);
    network.all(3000, &HONEST, &prefinalized(1, 3, W));
    network.all(3100, &HONEST, &finalized(1, Some(W)));
    network.run_until(4000);
    agreed(&network, slot(1), Some(W), Some(W));
    one_partial_short(&network, (Path::Tight, slot(1), Some(V)), &[B]);
}

/// `A` writes that it releases for v and crashes before its precommit is written: it comes back without
/// a lock. `B` precommits v, `C` nil. In round 1 `D` proposes v', and all decide it.
fn tendermint_crash_between_record_and_vote<S: Instance>() {
    let world = World::<S>::demanding(106);
    for profile in profiles::<S>(&[TIGHT, TIGHT_VALUE]) {
        let mut network = Network::new(&world, &profile, &[D]);
        network.logs.insert(A, vec![Record::Released { slot: slot(1), value: V }]);
        network.restart(A);
        network.at(0, B, prefinalized(1, 0, V));
        network.run_until(500);
        let bound = (profile.binding == TIGHT_VALUE.binding).then_some(V);
        one_partial_short(&network, (Path::Tight, slot(1), bound), &[A]);
        network.at(600, A, abandoned(1, 0));
        network.at(600, C, abandoned(1, 0));
        network.run_until(1000);
        one_partial_short(&network, (Path::Tight, slot(1), bound), &[A]);
        network.all(1000, &HONEST, &finalized(1, Some(W)));
        network.run_until(2000);
        agreed(&network, slot(1), Some(W), bound.map(|_| W));
    }
}

/// `A` decides v with a certificate of round 0, `B` and `C` with one of round 1. An input with the
/// round in it would give two outputs.
fn tendermint_split_rounds<S: Instance>() {
    for profile in profiles::<S>(&[TIGHT, TIGHT_VALUE, BOTH, BOTH_VALUE]) {
        let world = World::<S>::demanding(102);
        let mut network = Network::new(&world, &profile, &[D]);
        network.all(0, &HONEST, &prefinalized(1, 0, V));
        network.at(100, A, finalized(1, Some(V)));
        for party in [B, C] {
            network.at(500, party, abandoned(1, 0));
            network.at(900, party, prefinalized(1, 1, V));
            network.at(1000, party, finalized(1, Some(V)));
        }
        network.run_until(3000);
        let bound = (profile.binding == TIGHT_VALUE.binding).then_some(V);
        agreed(&network, slot(1), Some(V), bound);
    }
}

/// `B` and `C` time out of round 1 and know of no certificate; `A` sends its order vote for the block of
/// round 1. Then `B` gets the certificate and votes for a child in round 2, on which one union of
/// predicates would release as well. The timeouts allow a block that has the genesis as its parent,
/// and `A` and `C` make that one final.
fn jolteon_union_of_order_vote_and_vote_for_a_child<S: Instance>() {
    let world = World::<S>::demanding(103);
    let mut network = Network::new(&world, &TIGHT_VALUE, &[D]);
    network.at(0, A, prefinalized(1, 0, V));
    network.all(50, &[B, C], &abandoned(1, 0));
    // The vote for the child says nothing to the beacon but that it extends round 1.
    let child = prefinal_beacon::Input::Prefinalized { slot: slot(1), view: view(2, 0), value: V };
    network.at(100, B, child);
    network.all(200, &[A, C], &prefinalized(2, 0, W));
    network.run_until(1000);
    one_partial_short(&network, (Path::Tight, slot(1), Some(V)), &[B]);
    network.all(1200, &HONEST, &finalized(1, None));
    network.all(1200, &HONEST, &finalized(2, Some(W)));
    network.run_until(2000);
    agreed(&network, slot(2), Some(W), Some(W));
    one_partial_short(&network, (Path::Tight, slot(1), Some(V)), &[B]);
    assert!(HONEST.iter().all(|party| network.skipped[party] == [slot(1)]));
}

/// `A` sends its order vote for round 1, `B` one for a descendant in round 3: with that block the
/// ancestor would be final, so `B` prefinalizes it implicitly. A block of round 2 that has the genesis
/// as its parent, allowed by timeouts of `B` and `C`, is certified unseen; round 3 times out, and round
/// 4 extends round 2. (A child in round 2 would not do: two certificates in a row make the first block
/// final.)
fn jolteon_implicit_ancestors<S: Instance>() {
    let world = World::<S>::demanding(104);
    let mut network = Network::new(&world, &TIGHT_VALUE, &[D]);
    network.at(0, A, prefinalized(1, 0, V));
    network.all(50, &[B, C], &abandoned(1, 0));
    network.all(100, &[A, C], &abandoned(2, 0));
    network.at(300, B, prefinalized(3, 0, W));
    let ancestor =
        prefinal_beacon::Input::Prefinalized { slot: slot(1), view: view(3, 0), value: V };
    network.at(300, B, ancestor);
    network.all(500, &[A, C], &abandoned(3, 0));
    network.all(600, &[A, C], &prefinalized(4, 0, V));
    network.run_until(1100);
    one_partial_short(&network, (Path::Tight, slot(1), Some(V)), &[B]);
    one_partial_short(&network, (Path::Tight, slot(3), Some(W)), &[A]);
    for (at, value) in [(1, None), (2, Some(W)), (3, None), (4, Some(V))] {
        network.all(1200, &HONEST, &finalized(at, value));
    }
    network.run_until(2000);
    agreed(&network, slot(4), Some(V), Some(V));
    one_partial_short(&network, (Path::Tight, slot(1), Some(V)), &[B]);
    assert!(HONEST.iter().all(|party| network.skipped[party] == [slot(1), slot(3)]));
}

/// `B` and `C` sign a timeout for round 1, or for round 2, and then receive the certificate
/// of round 1. Their timeouts carry no certificate of it, so the block may be orphaned: an order vote is not
/// allowed any more, and a partial on receipt of the certificate would leak.
fn jolteon_certificate_after_a_timeout<S: Instance>() {
    for timed_out in [1, 2] {
        let world = World::<S>::demanding(105);
        let mut network = Network::new(&world, &TIGHT_VALUE, &[D]);
        network.at(0, A, prefinalized(1, 0, V));
        for party in [B, C] {
            network.at(100, party, abandoned(timed_out, 0));
            network.at(200, party, prefinalized(1, 0, V));
        }
        network.run_until(1000);
        one_partial_short(&network, (Path::Tight, slot(1), Some(V)), &[B]);
        network.all(1200, &HONEST, &finalized(1, None));
        network.run_until(2000);
        assert!(HONEST.iter().all(|party| network.skipped[party] == [slot(1)]));
    }
}

/// The trap of two paths: what leaves on prefinalize must not count on the slow path, whose secrecy
/// threshold is lower.
fn fast_partials_do_not_open_the_slow_path<S: Instance>() {
    let world = World::<S>::four(106);
    let mut network = Network::new(&world, &BOTH, &[D]);
    network.all(0, &[A, B], &prefinalized(1, 0, V));
    network.run_until(DELAY);
    // Two shares suffice on the slow path, and three parties have spoken, counting the faulty one.
    let fast = network.seen(&[D], Path::Fast, slot(1), None);
    assert_eq!(fast.len(), 3);
    let slow = world.combine(Path::Slow, slot(1), None, fast);
    assert!(matches!(slow, Err(PartialsError::Faulty { .. })));
    let fast = network.leak(&[D], Path::Fast, slot(1), None);
    assert!(matches!(fast, Err(PartialsError::BelowThreshold { got: 3, .. })));
    // A fast partial that claims to be a slow one is a false one.
    let partial = network.seen(&[], Path::Fast, slot(1), None)[&A].clone();
    let mut beacon = world.beacon(B, &BOTH);
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    let posing = Message::Partial { path: Path::Slow, slot: slot(1), value: None, partial };
    assert_eq!(accused(&step(&mut beacon, ms(0), received(A, posing))).len(), 1);
}
