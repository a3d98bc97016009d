//! Engines with a fault: a checker that finds nothing in them would find nothing at all.
use prefinal_model::desk::Terms;
use prefinal_model::dispel::{self, Dispel, VALIDITY};
use prefinal_model::jolteon::{self, Jolteon};
use prefinal_model::properties::{AGREEMENT, Engine, NO_CONTRADICTION, NO_LEAK, TERMINATION};
use prefinal_model::search;
use prefinal_model::simplex::{self, Simplex};
use prefinal_model::tendermint::{self, Tendermint};
use prefinal_model::trantor::{self, Trantor};

fn found<E: Engine>(case: &str, engine: E, property: &'static str) {
    let report = search::first(engine, &[property]);
    println!("{case}: {report}");
    assert!(report.path(property).is_some(), "{case}: {report}");
}

#[test]
fn tendermint() {
    use tendermint::Bug::{NoLock, NoProofOfLock, OldPolkaUnlocks, SmallQuorum};
    let bugs = [
        (NoLock, 2, AGREEMENT),
        (OldPolkaUnlocks, 3, AGREEMENT),
        (SmallQuorum, 1, AGREEMENT),
        (NoProofOfLock, 2, TERMINATION),
    ];
    for (bug, rounds, property) in bugs {
        let engine = Tendermint { bug: Some(bug), ..Tendermint::new(Terms::WHOLE, rounds) };
        found(&format!("tendermint, {bug:?}"), engine, property);
    }
}

#[test]
fn jolteon() {
    use jolteon::Bug::{
        AnyParent, NoTimeoutAfterVote, OrderAfterTimeout, SmallQuorum, TimeoutsHideCertificates,
    };
    let bugs = [
        (OrderAfterTimeout, 2, AGREEMENT),
        (TimeoutsHideCertificates, 2, AGREEMENT),
        (AnyParent, 2, AGREEMENT),
        (SmallQuorum, 2, AGREEMENT),
        (NoTimeoutAfterVote, 1, TERMINATION),
    ];
    for (bug, rounds, property) in bugs {
        let engine = Jolteon { bug: Some(bug), ..Jolteon::new(Terms::WHOLE, rounds) };
        found(&format!("jolteon, {bug:?}"), engine, property);
    }
}

#[test]
fn simplex() {
    use simplex::Bug::{FinalizeAfterNullify, GapsInTheChain, NoNullifyAfterNotarize, SmallQuorum};
    let bugs = [
        (FinalizeAfterNullify, 2, AGREEMENT),
        (GapsInTheChain, 2, AGREEMENT),
        (SmallQuorum, 2, AGREEMENT),
        (NoNullifyAfterNotarize, 1, TERMINATION),
    ];
    for (bug, views, property) in bugs {
        let engine = Simplex { bug: Some(bug), ..Simplex::new(Terms::WHOLE, views) };
        found(&format!("simplex, {bug:?}"), engine, property);
    }
}

#[test]
fn trantor() {
    use trantor::Bug::{
        ChangesHideCertificates, CommitAfterChange, NoChangeAfterCommit, OldCertificate,
        SmallQuorum,
    };
    let bugs = [
        (CommitAfterChange, 2, 1, AGREEMENT),
        (ChangesHideCertificates, 2, 1, AGREEMENT),
        (OldCertificate, 4, 1, AGREEMENT),
        (SmallQuorum, 1, 2, AGREEMENT),
        (NoChangeAfterCommit, 1, 1, TERMINATION),
    ];
    for (bug, views, twins, property) in bugs {
        let engine = Trantor { bug: Some(bug), twins, ..Trantor::new(Terms::WHOLE, 1, views) };
        found(&format!("trantor, {bug:?}"), engine, property);
    }
}

#[test]
fn dispel() {
    use dispel::Bug::{
        AnyRound, EitherBit, ProposalsAlone, SmallQuorum, Unjustified, VoteAlone, WeakProposals,
    };
    let bugs = [
        (VoteAlone, 2, NO_LEAK),
        (ProposalsAlone, 1, NO_CONTRADICTION),
        (WeakProposals, 2, NO_LEAK),
        (AnyRound, 3, NO_LEAK),
        (SmallQuorum, 2, AGREEMENT),
        (EitherBit, 2, AGREEMENT),
        (Unjustified, 1, VALIDITY),
    ];
    for (bug, rounds, property) in bugs {
        let engine = Dispel { bug: Some(bug), ..Dispel::new(Terms::WHOLE, rounds) };
        found(&format!("dispel, {bug:?}"), engine, property);
    }
}
