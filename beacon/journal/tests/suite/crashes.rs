//! A crash before, in and after every single operation of the journal, and between all effects.
use std::cell::RefCell;
use std::rc::Rc;

use prefinal_beacon::{Input, Path, Value};
use prefinal_journal::Memory;
use proptest::prelude::*;

use crate::fixture::*;
use crate::lives::{Disk, Fuse, LEFT, Observed, Party};

suite! {
    every_crash_point_of_a_script
    any_script_any_crashes
}

const PROFILES: [Profile; 5] = [SLOW, TIGHT, TIGHT_VALUE, BOTH, BOTH_VALUE];

fn bound(profile: &Profile, value: Value) -> Option<Value> {
    (profile.binding == BOTH_VALUE.binding).then_some(value)
}

/// Two slots, one by the early path where there is one, and a view that is given up.
fn script<S: Instance>(world: &World<S>, profile: &Profile) -> Vec<Input<S>> {
    let late = if profile.algorithm == Algorithm::Tight { Path::Tight } else { Path::Slow };
    let mut inputs = Vec::new();
    for at in 1..=2 {
        inputs.push(prefinalized(at, 0, V));
        if profile.algorithm == Algorithm::FastAndSlow && at == 1 {
            for peer in [B, C, D] {
                let message = world.message(peer, Path::Fast, slot(at), bound(profile, V));
                inputs.push(received(peer, message));
            }
        }
        inputs.push(finalized(at, Some(V)));
        for peer in [B, C] {
            inputs.push(received(peer, world.message(peer, late, slot(at), bound(profile, V))));
        }
    }
    inputs.push(prefinalized(3, 0, V));
    inputs.push(abandoned(3, 0));
    inputs
}

/// Lives until the fuse ends, then once more to the end, from what the crash left.
fn two_lives<S: Instance>(
    party: &Party<'_, S>,
    inputs: &[Input<S>],
    (steps, written, lucky): (usize, usize, bool),
) -> (Observed<S>, usize) {
    let mut heard = Observed::new();
    let (memory, fuse) = (Rc::new(RefCell::new(Memory::new())), Fuse::new(steps));
    let disk = Disk { memory: Rc::clone(&memory), fuse: fuse.clone(), lucky };
    let crashed = party.live(&mut heard, disk, inputs);
    let left = Rc::new(RefCell::new(memory.borrow().after_crash(written)));
    // The engine says again what it was saying; another value than before if it forgot its own.
    let rest = &inputs[crashed.unwrap_or(inputs.len())..];
    let again = Disk { memory: left, fuse: Fuse::new(usize::MAX), lucky: false };
    assert_eq!(party.live(&mut heard, again, rest), None);
    heard.check(party.world);
    (heard, fuse.left())
}

fn every_crash_point_of_a_script<S: Instance>() {
    let world = World::<S>::demanding(701);
    for profile in PROFILES {
        for every in [usize::MAX, 2] {
            let party = Party { world: &world, profile, every };
            let inputs = script(&world, &profile);
            let (whole, left) = two_lives(&party, &inputs, (10_000, 0, false));
            assert_eq!(whole.reveals.len(), 2, "{profile:?}");
            for steps in 0..(10_000 - left) {
                for (written, lucky) in LEFT {
                    let (heard, _) = two_lives(&party, &inputs, (steps, written, lucky));
                    let mut slots: Vec<_> = heard.reveals.iter().map(|one| one.slot).collect();
                    slots.dedup();
                    // What peers sent before the crash they send again only when asked, so a slot
                    // may stay open; what is revealed is so in order.
                    assert!(slots.is_sorted(), "{profile:?}, crash after {steps} steps: {slots:?}");
                }
            }
        }
    }
}

/// What an engine may say, in any order, and peers.
#[derive(Clone, Debug)]
enum Event {
    Prefinalized(u64, u32, bool),
    Finalized(u64),
    Abandoned(u64, u32),
    Received(u8, bool, u64),
}

fn said() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (1_u64..5, 0_u32..2, any::<bool>()).prop_map(|(at, view, w)| Event::Prefinalized(at, view, w)),
        3 => (1_u64..5).prop_map(Event::Finalized),
        1 => (1_u64..6, 0_u32..2).prop_map(|(at, view)| Event::Abandoned(at, view)),
        3 => (1_u8..4, any::<bool>(), 1_u64..5).prop_map(|(who, early, at)| Event::Received(who, early, at)),
    ]
}

fn input<S: Instance>(
    world: &World<S>,
    profile: &Profile,
    finals: &[u8],
    said: &Event,
) -> Input<S> {
    let last = |at: u64| match finals[usize::try_from(at).unwrap()] {
        0 => None,
        1 => Some(W),
        _ => Some(V),
    };
    match *said {
        Event::Prefinalized(at, view, other) => prefinalized(at, view, if other { W } else { V }),
        Event::Finalized(at) => finalized(at, last(at)),
        Event::Abandoned(at, view) => abandoned(at, view),
        Event::Received(who, early, at) => {
            let path = match (profile.algorithm, early) {
                (Algorithm::Tight, _) => Path::Tight,
                (Algorithm::FastAndSlow, true) => Path::Fast,
                _ => Path::Slow,
            };
            let peer = prefinal_crypto_core::access::Party::new(u32::from(who));
            let value = bound(profile, last(at).unwrap_or(V));
            received(peer, world.message(peer, path, slot(at), value))
        }
    }
}

/// Several crashes, each with a prefix of what was not durable, while the engine says what it likes.
fn any_script_any_crashes<S: Instance>() {
    let world = World::<S>::four(702);
    let lives = prop::collection::vec((0_usize..40, 0_usize..3, any::<bool>()), 1..5);
    let script = prop::collection::vec(said(), 1..24);
    let finals = prop::collection::vec(0_u8..6, 6);
    let config = ProptestConfig { cases: 16, failure_persistence: None, ..Default::default() };
    proptest!(config, |(
        profile in 0..PROFILES.len(),
        every in 1_usize..8,
        script in script,
        finals in finals,
        lives in lives,
    )| {
        let profile = PROFILES[profile];
        let party = Party { world: &world, profile, every };
        let inputs: Vec<_> =
            script.iter().map(|said| input(&world, &profile, &finals, said)).collect();
        let (mut heard, mut memory, mut from) = (Observed::new(), Memory::new(), 0);
        for (steps, written, lucky) in lives {
            let shared = Rc::new(RefCell::new(memory.clone()));
            let disk = Disk { memory: Rc::clone(&shared), fuse: Fuse::new(steps), lucky };
            from += party.live(&mut heard, disk, &inputs[from..]).unwrap_or(inputs.len() - from);
            memory = shared.borrow().after_crash(written);
        }
        heard.check(&world);
    });
}
