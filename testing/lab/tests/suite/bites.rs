//! The checkers bite: what is broken on purpose is found.
//!
//! Adversaries of more than a third are in the tests of `simulate::campaign`, and beacons that lack a rule
//! of their contract in `campaign`.

use std::collections::BTreeMap;
use std::sync::Arc;

use prefinal_beacon::{Path, Slot};
use prefinal_crypto_core::access::Party;
use prefinal_lab::check::Violation;
use prefinal_sim::{Note, Seat, rule};
use prefinal_validator::setup::{Algorithm, FIRST};

use crate::committee::{Lab, Message, Observation, Run, Scene, party, seats};
use crate::faults::seat;

/// A driver that sends a partial of the round that its engine gives up.
fn leaking<S: Lab>(path: Path) -> Violation {
    let mute = 0;
    // Enough slots with values for everybody to lead one of them.
    let scene = || {
        let scene = Scene::new("one is silent, and its rounds leak", 1).faulty([mute]);
        Scene { slots: 12, ..scene }
    };
    let mut run = scene().stage::<S>();
    run.simulation.rule(seat(mute), rule::mute()).unwrap();
    run.finish();
    let ground = S::ground(Algorithm::Fast);
    let key = Arc::clone(run.simulation.machine(seat(1)).unwrap().key().unwrap());
    let keys: BTreeMap<Seat, _> = seats()
        .filter(|at| ground.setup().keygen.shape().access().weight(party(*at)) > 0)
        .map(|at| {
            (at, ground.open(ground.setup(), &ground.identities()[at.index()], &key).unwrap().keys)
        })
        .collect();
    let context = ground.setup().context;
    let ready = |seen: &Observation<S>| match seen {
        Observation::Ready { first, .. } => Some(*first),
        _ => None,
    };
    let binding = S::binding(run.find(seat(1), ready).1);
    // The same run again.
    let mut run = scene().stage::<S>();
    run.simulation.rule(seat(mute), rule::mute()).unwrap();
    run.simulation.host_mut().slip = Some(Box::new(move |at, message| {
        let Message::Engine(_, prefinal_jolteon::Message::Timeout(timeout)) = message else {
            return None;
        };
        let slot = Slot::new(timeout.round.get());
        let keys = keys.get(&at)?;
        let secret = if path == Path::Fast { keys.fast.as_ref()? } else { &keys.slow };
        let partial = S::evaluate(secret, &S::input(&context, binding, slot, None)?)?;
        Some(Message::Beacon(
            FIRST,
            prefinal_beacon::Message::Partial { path, slot, value: None, partial },
        ))
    }));
    let waiting: Vec<Seat> = run.honest().collect();
    run.run_until_revealed(&waiting);
    run.verdict().expect_err("a leak is found")
}

pub(crate) fn a_partial_that_leaves_after_a_timeout_is_found<S: Lab>() {
    let fast = leaking::<S>(Path::Fast);
    assert!(matches!(fast, Violation::Contract(_)), "{fast}");
    let slow = leaking::<S>(Path::Slow);
    assert!(matches!(slow, Violation::Secrecy(_)), "{slow}");
}

/// A run without faults, and what comes of it when its notes are changed.
fn changed<S: Lab>(run: &Run<S>, change: impl Fn(&mut Vec<Note<Observation<S>>>)) -> Violation {
    let mut notes = run.simulation.notes().to_vec();
    change(&mut notes);
    run.verdict_of(&notes).expect_err("what is changed is found")
}

pub(crate) fn what_is_changed_in_a_run_is_found<S: Lab>() {
    let mut run = Scene::new("to be changed", 1).stage::<S>();
    run.finish();
    let shown: BTreeMap<Slot, _> =
        run.reveals().map(|(_, _, reveal)| (reveal.slot, reveal.output.clone())).collect();
    let slots: Vec<Slot> = shown.keys().copied().collect();
    // Two slots' values change places everywhere: only a look at the public key tells.
    let swapped = changed(&run, |notes| {
        for note in notes {
            if let Observation::Revealed(reveal) = &mut note.event {
                let other = match reveal.slot {
                    slot if slot == slots[0] => slots[1],
                    slot if slot == slots[1] => slots[0],
                    slot => slot,
                };
                reveal.output = shown[&other].clone();
            }
        }
    });
    assert!(matches!(swapped, Violation::Validity(_)), "{swapped}");
    let revealed = |note: &Note<Observation<S>>, at: u32, slot: Slot| match &note.event {
        Observation::Revealed(reveal) => note.seat == seat(at) && reveal.slot == slot,
        _ => false,
    };
    let one_differs = changed(&run, |notes| {
        let note = notes.iter_mut().find(|note| revealed(note, 2, slots[0])).unwrap();
        if let Observation::Revealed(reveal) = &mut note.event {
            reveal.output = shown[&slots[1]].clone();
        }
    });
    assert!(matches!(one_differs, Violation::Agreement(_)), "{one_differs}");
    let gap = changed(&run, |notes| notes.retain(|note| !revealed(note, 2, slots[1])));
    assert!(matches!(gap, Violation::Order(_)), "{gap}");
    let late = changed(&run, |notes| notes.retain(|note| !revealed(note, 2, slots[0])));
    assert!(matches!(late, Violation::Order(_)), "{late}");
    let accused = changed(&run, |notes| {
        let last = notes.last().unwrap().clone();
        notes.push(Note {
            event: Observation::Accused(Party::new(3), "nothing".to_owned()),
            ..last
        });
    });
    assert!(matches!(accused, Violation::Accusation(_)), "{accused}");
}

pub(crate) fn shares_that_suffice_without_anybody_else_are_found<S: Lab>() {
    let mut run = Scene::new("two with more than half", 1).stage::<S>();
    run.finish();
    run.faulty = [0, 1].map(seat).into();
    let violation = run.verdict().expect_err("550 of 1000");
    assert!(matches!(violation, Violation::Secrecy(_)), "{violation}");
}
