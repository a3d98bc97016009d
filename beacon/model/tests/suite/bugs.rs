//! Engines with a fault: a checker that finds nothing in them would find nothing at all.
use model::desk::Terms;
use model::jolteon::Jolteon;
use model::properties::AGREEMENT;
use model::search::{self, Report};
use model::simplex::Simplex;
use model::tendermint::Tendermint;
use model::{jolteon, simplex, tendermint};

const SAFETY: [&str; 1] = [AGREEMENT];

fn found(case: &str, report: &Report) {
    println!("{case}: {report}");
    assert!(report.path(AGREEMENT).is_some(), "{case}: {report}");
}

#[test]
fn tendermint() {
    use tendermint::Bug::{NoLock, OldPolkaUnlocks, SmallQuorum};
    for (bug, rounds) in [(NoLock, 2), (OldPolkaUnlocks, 3), (SmallQuorum, 1)] {
        let engine = Tendermint { bug: Some(bug), ..Tendermint::new(Terms::WHOLE, rounds) };
        found(&format!("tendermint, {bug:?}"), &search::first_of(engine, &SAFETY));
    }
}

#[test]
fn jolteon() {
    use jolteon::Bug::{AnyParent, OrderAfterTimeout, SmallQuorum, TimeoutsHideCertificates};
    let bugs =
        [(OrderAfterTimeout, 2), (TimeoutsHideCertificates, 2), (AnyParent, 2), (SmallQuorum, 2)];
    for (bug, rounds) in bugs {
        let engine = Jolteon { bug: Some(bug), ..Jolteon::new(Terms::WHOLE, rounds) };
        found(&format!("jolteon, {bug:?}"), &search::first_of(engine, &SAFETY));
    }
}

#[test]
fn simplex() {
    use simplex::Bug::{FinalizeAfterNullify, GapsInTheChain, SmallQuorum};
    for (bug, views) in [(FinalizeAfterNullify, 2), (GapsInTheChain, 2), (SmallQuorum, 2)] {
        let engine = Simplex { bug: Some(bug), ..Simplex::new(Terms::WHOLE, views) };
        found(&format!("simplex, {bug:?}"), &search::first_of(engine, &SAFETY));
    }
}
