//! With the whole contract every property holds in every state.
use std::num::NonZeroUsize;

use model::desk::Terms;
use model::jolteon::Jolteon;
use model::properties::Engine;
use model::search;
use model::simplex::Simplex;
use model::tendermint::Tendermint;

fn holds<E: Engine>(name: &str, engine: E) {
    let report = search::all(engine, NonZeroUsize::MIN);
    println!("{name}: {report}");
    assert!(report.found.is_empty(), "{name}: {report}");
}

#[test]
fn tendermint() {
    holds("tendermint, 4 rounds", Tendermint::new(Terms::WHOLE, 4));
}

#[test]
fn jolteon_with_twins() {
    holds("jolteon, 2 rounds, twins", Jolteon::new(Terms::WHOLE, 2));
}

#[test]
fn jolteon_of_three_rounds() {
    let engine = Jolteon { twins: 1, timeouts: 2, ..Jolteon::new(Terms::WHOLE, 3) };
    holds("jolteon, 3 rounds", engine);
}

#[test]
fn simplex() {
    holds("simplex, 2 views, twins", Simplex::new(Terms::WHOLE, 2));
}
