//! With the whole contract every property holds in every state.
use std::num::NonZeroUsize;

use model::desk::Terms;
use model::jolteon::Jolteon;
use model::properties::Engine;
use model::search;
use model::simplex::Simplex;
use model::tendermint::Tendermint;

/// A model that visits less than it did has lost something.
fn holds<E: Engine>(name: &str, engine: E, states: usize) {
    let report = search::all(engine, NonZeroUsize::MIN);
    println!("{name}: {report}");
    assert!(report.found.is_empty(), "{name}: {report}");
    assert_eq!(report.states, states, "{name}");
}

#[test]
fn tendermint() {
    holds("tendermint, 4 rounds", Tendermint::new(Terms::WHOLE, 4), 2_286_346);
}

#[test]
fn jolteon_with_twins() {
    holds("jolteon, 2 rounds, twins", Jolteon::new(Terms::WHOLE, 2), 123_543);
}

#[test]
fn jolteon_of_three_rounds() {
    let engine = Jolteon { twins: 1, timeouts: 2, ..Jolteon::new(Terms::WHOLE, 3) };
    holds("jolteon, 3 rounds", engine, 1_490_759);
}

#[test]
fn simplex() {
    holds("simplex, 2 views, twins", Simplex::new(Terms::WHOLE, 2), 35_026);
}
