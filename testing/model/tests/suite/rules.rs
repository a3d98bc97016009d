//! The contract without one rule: what breaks, in which engine, and where the rule has nothing to do.
//!
//! | rule       | Tendermint | Jolteon     | Simplex     | Trantor     | DISPEL      |
//! |------------|------------|-------------|-------------|-------------|-------------|
//! | 1          | one output | one output  | one output  | one output  |             |
//! | 2          | no leak    |             |             | no leak     |             |
//! | 3          |            | no leak     | no leak     |             |             |
//! | 4          |            | no leak     | no leak     | no leak     |             |
//! | 4, later   |            | no leak     | no leak     | no leak     |             |
//! | 5          |            | no leak     | no leak     | no leak     |             |
//! | 6          | termination | termination | termination | termination | termination |
//! | 7          | no leak    |             |             | no leak     |             |
//! | 8          |            | termination | termination | termination |             |
//! | 9          | no leak    | no leak     | no leak     | no leak     | no leak     |
use std::num::NonZeroUsize;

use prefinal_contract::Rule;
use prefinal_model::desk::{Omission, Terms};
use prefinal_model::dispel::Dispel;
use prefinal_model::jolteon::Jolteon;
use prefinal_model::properties::{Engine, NO_CONTRADICTION, NO_LEAK, ONE_OUTPUT, TERMINATION};
use prefinal_model::search::{self, Report};
use prefinal_model::simplex::Simplex;
use prefinal_model::tendermint::Tendermint;
use prefinal_model::trantor::Trantor;

fn breaks(case: &str, report: &Report, property: &str) {
    println!("{case}: {report}");
    assert!(report.path(property).is_some(), "{case}: {report}");
}

/// Each rule with what is violated without it; nothing if the engine never needs the rule.
fn matrix<E: Engine>(name: &str, engine: fn(Terms) -> E, cases: [Option<&'static str>; 9]) {
    for (rule, property) in Rule::ALL.into_iter().zip(cases) {
        let case = format!("{name} without {rule}");
        let engine = engine(Terms::without(rule));
        if let Some(property) = property {
            breaks(&case, &search::first(engine, &[property]), property);
        } else {
            let report = search::all(engine, NonZeroUsize::MIN);
            println!("{case}: {report}");
            assert!(report.found.is_empty(), "{case}: {report}");
        }
    }
}

#[test]
fn tendermint() {
    let engine = |terms| Tendermint::new(terms, 2);
    matrix(
        "tendermint",
        engine,
        [
            Some(ONE_OUTPUT),
            Some(NO_LEAK),
            None,
            None,
            None,
            Some(TERMINATION),
            Some(NO_LEAK),
            None,
            Some(NO_LEAK),
        ],
    );
}

const CHAIN: [Option<&str>; 9] = [
    Some(ONE_OUTPUT),
    None,
    Some(NO_LEAK),
    Some(NO_LEAK),
    Some(NO_LEAK),
    Some(TERMINATION),
    None,
    Some(TERMINATION),
    Some(NO_LEAK),
];

#[test]
fn jolteon() {
    matrix("jolteon", |terms| Jolteon::new(terms, 2), CHAIN);
}

#[test]
fn simplex() {
    matrix("simplex", |terms| Simplex::new(terms, 2), CHAIN);
}

#[test]
fn trantor() {
    let cases = [
        Some(ONE_OUTPUT),
        Some(NO_LEAK),
        None,
        Some(NO_LEAK),
        Some(NO_LEAK),
        Some(TERMINATION),
        Some(NO_LEAK),
        Some(TERMINATION),
        Some(NO_LEAK),
    ];
    matrix("trantor", |terms| Trantor::new(terms, 1, 2), cases);
}

/// A stage has one attempt, and no two parties find different bits: what rules 1 to 5 keep back never comes. Nothing is
/// skipped.
#[test]
fn dispel() {
    let mut cases = [None; 9];
    (cases[5], cases[8]) = (Some(TERMINATION), Some(NO_LEAK));
    matrix("dispel", |terms| Dispel::new(terms, 2), cases);
}

#[test]
fn rule_4_is_about_later_views_too() {
    let terms = Terms { without: Some(Omission::LaterViews), ..Terms::WHOLE };
    let report = search::first(Jolteon::new(terms, 2), &[NO_LEAK]);
    breaks("jolteon without later views in rule 4", &report, NO_LEAK);
    // A party remembers one view, the latest that it gave up.
    let report = search::first(Simplex::new(terms, 2), &[NO_LEAK]);
    breaks("simplex without later views in rule 4", &report, NO_LEAK);
    // It gave this height up, and then a later height, and the certificate of this one arrives.
    let report = search::first(Trantor::new(terms, 2, 2), &[NO_LEAK]);
    breaks("trantor without later views in rule 4", &report, NO_LEAK);
}

/// What leaks is the output of a block that another one wins over, within the same two views.
#[test]
fn chains_leak_outputs_of_orphans() {
    for rule in [Rule::Direct, Rule::GivenUp, Rule::Durable] {
        let engine = Jolteon { twins: 1, ..Jolteon::new(Terms::without(rule), 2) };
        let report = search::first(engine, &[NO_CONTRADICTION]);
        breaks(&format!("jolteon without {rule}"), &report, NO_CONTRADICTION);
        let engine = Simplex { twins: 1, ..Simplex::new(Terms::without(rule), 2) };
        let report = search::first(engine, &[NO_CONTRADICTION]);
        breaks(&format!("simplex without {rule}"), &report, NO_CONTRADICTION);
    }
    for rule in [Rule::GivenUp, Rule::Durable] {
        let report = search::first(Trantor::new(Terms::without(rule), 1, 2), &[NO_CONTRADICTION]);
        breaks(&format!("trantor without {rule}"), &report, NO_CONTRADICTION);
    }
}

/// Rule 2 until another value is final. It takes four rounds, and there is no shorter way than the one
/// that is known, of twelve steps.
#[test]
#[ignore = "takes a minute"]
fn tendermint_leaks_across_four_rounds() {
    let search = |steps| {
        let engine = Tendermint::new(Terms::without(Rule::OneView), 4);
        search::within(engine, &[NO_CONTRADICTION], steps)
    };
    let shorter = search(11);
    assert!(shorter.path(NO_CONTRADICTION).is_none(), "{shorter}");
    let report = search(12);
    breaks("tendermint, 4 rounds without rule 2", &report, NO_CONTRADICTION);
    assert_eq!(report.path(NO_CONTRADICTION).map(<[String]>::len), Some(12));
}
