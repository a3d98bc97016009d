//! Global times of whole committees: Lemma 1, and Theorems 5.2 and 6.3 as equalities.
//!
//! | claim                                                                        | where                              |
//! |------------------------------------------------------------------------------|------------------------------------|
//! | tight thresholds: a slot is final and its value computable at one instant      | around the world                   |
//! | a ramp: so they are if all prefinalize at one instant                          | equal links                        |
//! | a partial that leaves too late or too early is found, with slot and both times | notes that were changed            |
//!
//! Every run in this folder that is checked at all is checked for this too ([`Trial::global_times`]). Engine by engine
//! the theorems are tested in the library, with ideal cryptography.
//!
//! [`Trial::global_times`]: prefinal_lab::check::Trial::global_times

use std::time::Duration;

use prefinal_beacon::{Bls, Path, Wvuf};

use prefinal_lab::check::Violation;
use prefinal_lab::global::Premise;
use prefinal_protocol::Instant;
use prefinal_sim::Network;
use prefinal_validator::setup::Algorithm;

use crate::committee::{LINK, Observation, Run, Scene};

#[test]
fn with_tight_thresholds_whole_validators_reveal_when_a_slot_is_final() {
    let mut run = Scene { algorithm: Algorithm::Tight, ..Scene::new("tight", 4) }.stage::<Bls>();
    let times = run.finish().times();
    assert!(times.len() >= 4 && times.iter().all(|slot| slot.premise == Premise::Tight));
    assert!(times.iter().all(|slot| slot.finalized == slot.reconstructed), "{times:?}");
}

/// The verdict if the partials of a slot leave later than they did, or earlier.
fn moved(run: &Run<Wvuf>, path: Path, by: fn(Instant) -> Instant) -> String {
    let times = run.times();
    // One that has some time between the two, if there is one.
    let apart = times.iter().find(|slot| slot.finalized < slot.reconstructed);
    let slot = apart.unwrap_or(&times[1]).slot;
    let mut notes = run.simulation.notes().to_vec();
    for note in &mut notes {
        if matches!(note.event, Observation::Released(_, of, at) if of == path && at == slot) {
            note.left = by(note.left);
        }
    }
    match run.verdict_of(&notes) {
        Err(Violation::Times(error)) => {
            let (said, place) = (error.to_string(), slot.to_string());
            assert!(said.starts_with(&place), "{said}, not of {place}");
            said
        }
        other => panic!("{other:?}"),
    }
}

const MOMENT: Duration = Duration::from_nanos(1);

fn before(at: Instant) -> Instant {
    Instant::at(at.since_start() - MOMENT)
}

#[test]
fn a_fast_partial_that_leaves_at_another_time_is_found() {
    let mut run = Scene::new("for the wrong times", 5).stage::<Wvuf>();
    run.finish();
    let late = moved(&run, Path::Fast, |at| at + MOMENT);
    assert!(late.contains("enough parties had to reveal at"), "{late}");
    let early = moved(&run, Path::Fast, before);
    assert!(early.contains("too few parties may have revealed before"), "{early}");
    let never = moved(&run, Path::Fast, |_| Instant::at(Duration::from_secs(900)));
    assert!(never.contains("enough parties had to reveal at"), "{never}");
}

#[test]
fn tight_thresholds_allow_for_no_moment() {
    let scene = Scene { algorithm: Algorithm::Tight, ..Scene::new("tight", 6) };
    let mut run = scene.stage::<Wvuf>();
    run.finish();
    let late = moved(&run, Path::Tight, |at| at + MOMENT);
    assert!(late.contains("Theorem 5.2 says at one time"), "{late}");
    let early = moved(&run, Path::Tight, before);
    assert!(early.contains("Lemma 1 says not before"), "{early}");
}

#[test]
fn at_one_instant_a_ramp_allows_for_no_moment_either() {
    let scene = Scene {
        network: Network::constant(LINK),
        compute: Duration::ZERO,
        ..Scene::new("at once", 7)
    };
    let mut run = scene.stage::<Wvuf>();
    run.finish();
    let late = moved(&run, Path::Fast, |at| at + MOMENT);
    assert!(late.contains("Theorem 6.3 says at one time"), "{late}");
}
