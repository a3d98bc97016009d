//! Random schedules. Three honest parties, one faulty; the engine says anything that an engine which
//! agrees on final values may say. `network` checks every step: one early value for a slot, none
//! after giving up, records first, reveals in order. In the end all honest parties have all outputs.
use prefinal_beacon::{Message, Path, Slot, Value};
use prefinal_crypto_core::access::Party;
use proptest::prelude::*;
use proptest::test_runner::{Config as Runner, RngAlgorithm, RngSeed};

use crate::fixture::*;
use crate::network::Network;

suite! {
    random_schedules_slow
    random_schedules_tight
    random_schedules_fast_and_slow
    random_schedules_fast_and_slow_with_values
    ; with values:
    random_schedules_tight_with_values
}

const SLOTS: u64 = 3;
const HONEST: [Party; 3] = [A, B, C];

#[derive(Clone, Copy, Debug)]
enum Act {
    Prefinalize { slot: u64, attempt: u32, value: Value },
    Imply { slot: u64 },
    Abandon { slot: u64, attempt: u32 },
    Finalize { slot: u64 },
    Crash,
    Right { path: Path, slot: u64, value: Value },
    Wrong { path: Path, slot: u64, number: u64 },
    Ask { slot: u64 },
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![Just(V), Just(W)]
}

fn act() -> impl Strategy<Value = Act> {
    let slot = 1..=SLOTS;
    let path = prop_oneof![Just(Path::Slow), Just(Path::Fast), Just(Path::Tight)];
    prop_oneof![
        6 => (slot.clone(), 0..2_u32, value())
            .prop_map(|(slot, attempt, value)| Act::Prefinalize { slot, attempt, value }),
        1 => slot.clone().prop_map(|slot| Act::Imply { slot }),
        2 => (slot.clone(), 0..2_u32).prop_map(|(slot, attempt)| Act::Abandon { slot, attempt }),
        4 => slot.clone().prop_map(|slot| Act::Finalize { slot }),
        2 => Just(Act::Crash),
        3 => (path.clone(), slot.clone(), value())
            .prop_map(|(path, slot, value)| Act::Right { path, slot, value }),
        2 => (path, slot.clone(), 2..9_u64)
            .prop_map(|(path, slot, number)| Act::Wrong { path, slot, number }),
        1 => slot.prop_map(|slot| Act::Ask { slot }),
    ]
}

#[derive(Clone, Debug)]
struct Schedule {
    finals: Vec<Option<Value>>,
    acts: Vec<(u64, usize, Act)>,
    losses: Vec<bool>,
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let last = prop_oneof![3 => Just(Some(V)), 2 => Just(Some(W)), 1 => Just(None)];
    let finals = prop::collection::vec(last, usize::try_from(SLOTS).unwrap());
    let acts = prop::collection::vec((0..2000_u64, 0..3_usize, act()), 0..40);
    let losses = prop::collection::vec(prop::bool::weighted(0.3), 1..30);
    (finals, acts, losses).prop_map(|(finals, mut acts, losses)| {
        acts.sort_by_key(|(time, ..)| *time);
        Schedule { finals, acts, losses }
    })
}

fn play<S: Instance>(
    network: &mut Network<'_, S>,
    schedule: &Schedule,
    bound: impl Fn(Value) -> Option<Value>,
) {
    let truth = |at: u64| schedule.finals[usize::try_from(at - 1).unwrap()];
    for (time, who, act) in &schedule.acts {
        network.run_until(*time);
        let party = HONEST[*who];
        match *act {
            Act::Prefinalize { slot, attempt, value } => {
                network.at(*time, party, prefinalized(slot, attempt, value));
            }
            Act::Imply { slot: at } => {
                let (slot, view) = (slot(at), view(at + 1, 0));
                network.at(
                    *time,
                    party,
                    prefinal_beacon::Input::Prefinalized { slot, view, value: V },
                );
            }
            Act::Abandon { slot, attempt } => network.at(*time, party, abandoned(slot, attempt)),
            Act::Finalize { slot } => network.at(*time, party, finalized(slot, truth(slot))),
            Act::Crash => network.restart(party),
            Act::Right { path, slot: at, value } => {
                let message = network.world.message(D, path, slot(at), bound(value));
                network.inject(D, party, message);
            }
            Act::Wrong { path, slot: at, number } => {
                let (value, partial) = (bound(V), S::wrong_partial(number));
                let message = Message::Partial { path, slot: slot(at), value, partial };
                network.inject(D, party, message);
            }
            Act::Ask { slot: at } => {
                network.inject(D, party, Message::Request { slot: slot(at) });
            }
        }
    }
    network.run_until(2500);
    network.passes = Box::new(|_, _, _| true);
    for at in 1..=SLOTS {
        network.all(2500, &HONEST, &finalized(at, truth(at)));
    }
    network.run_until(20_000);
}

/// All honest parties have one output for each slot, the right one, and accuse nobody honest.
fn check<S: Instance>(
    network: &Network<'_, S>,
    schedule: &Schedule,
    bound: impl Fn(Value) -> Option<Value>,
) {
    for party in HONEST {
        let mut seen = Vec::new();
        for (_, reveal) in network.reveals.get(&party).into_iter().flatten() {
            let last = schedule.finals[usize::try_from(reveal.slot.get() - 1).unwrap()];
            assert_eq!((reveal.value, reveal.bound), (last, last.and_then(&bound)));
            assert_eq!(reveal.output, network.world.output(reveal.slot, reveal.bound));
            seen.push(reveal.slot);
        }
        seen.extend(network.skipped.get(&party).into_iter().flatten());
        seen.sort();
        assert_eq!(seen, (1..=SLOTS).map(Slot::new).collect::<Vec<_>>(), "{party}");
    }
    let blamed = network.accusations.iter().find(|(_, party, _)| *party != D);
    assert!(blamed.is_none(), "{blamed:?}");
}

fn explore<S: Instance>(profile: &Profile, seed: u64) {
    println!("seed {seed}");
    let world = World::<S>::demanding(seed);
    let bind = |value| (profile.binding == BOTH_VALUE.binding).then_some(value);
    let runner = Runner {
        cases: 8,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Runner::default()
    };
    proptest!(runner, |(schedule in schedule())| {
        let mut network = Network::new(&world, profile, &[D]);
        let mut losses = schedule.losses.clone().into_iter().cycle();
        network.passes = Box::new(move |_, _, _| !losses.next().unwrap());
        play(&mut network, &schedule, bind);
        check(&network, &schedule, bind);
    });
}

fn random_schedules_slow<S: Instance>() {
    explore::<S>(&SLOW, 601);
}

fn random_schedules_tight<S: Instance>() {
    explore::<S>(&TIGHT, 602);
}

fn random_schedules_tight_with_values<S: Instance>() {
    explore::<S>(&TIGHT_VALUE, 603);
}

fn random_schedules_fast_and_slow<S: Instance>() {
    explore::<S>(&BOTH, 604);
}

fn random_schedules_fast_and_slow_with_values<S: Instance>() {
    explore::<S>(&BOTH_VALUE, 605);
}
