//! With the whole contract every property holds in every state.
use model::desk::Terms;
use model::jolteon::Jolteon;
use model::search::{self, Report};
use model::simplex::Simplex;
use model::tendermint::Tendermint;

fn holds(engine: &str, report: &Report) {
    println!("{engine}: {report}");
    assert!(report.found.is_empty(), "{engine}: {report}");
}

#[test]
fn tendermint_three_rounds() {
    holds("tendermint, 3 rounds", &search::all(Tendermint::new(Terms::WHOLE, 3)));
}

#[test]
fn jolteon_two_rounds() {
    holds("jolteon, 2 rounds", &search::all(Jolteon::new(Terms::WHOLE, 2)));
}

#[test]
fn simplex_two_views() {
    holds("simplex, 2 views", &search::all(Simplex::new(Terms::WHOLE, 2)));
}
