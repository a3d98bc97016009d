//! With the whole contract every property holds in every state.
use std::num::NonZeroUsize;
use std::thread;

use prefinal_model::desk::{Journal, Terms};
use prefinal_model::dispel::Dispel;
use prefinal_model::jolteon::Jolteon;
use prefinal_model::properties::Engine;
use prefinal_model::search;
use prefinal_model::simplex::Simplex;
use prefinal_model::tendermint::Tendermint;
use prefinal_model::trantor::Trantor;

/// A model that visits less than it did has lost something.
fn holds<E: Engine>(name: &str, engine: E, states: usize) {
    assert_eq!(sound(name, engine), states, "{name}");
}

/// Gives how many states were visited.
fn sound<E: Engine>(name: &str, engine: E) -> usize {
    // A few of these are longer than all others together.
    let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let report = search::all(engine, threads);
    println!("{name}: {report}");
    assert!(report.found.is_empty(), "{name}: {report}");
    report.states
}

#[test]
#[ignore = "takes a minute"]
fn tendermint_of_four_rounds() {
    holds("tendermint, 4 rounds", Tendermint::new(Terms::WHOLE, 4), 2_286_346);
}

#[test]
fn jolteon_with_twins() {
    holds("jolteon, 2 rounds, twins", Jolteon::new(Terms::WHOLE, 2), 123_543);
}

#[test]
#[ignore = "takes a minute"]
fn jolteon_of_three_rounds() {
    let engine = Jolteon { twins: 1, timeouts: 2, ..Jolteon::new(Terms::WHOLE, 3) };
    holds("jolteon, 3 rounds", engine, 1_490_759);
}

#[test]
fn simplex() {
    holds("simplex, 2 views, twins", Simplex::new(Terms::WHOLE, 2), 35_026);
}

#[test]
fn trantor_with_twins() {
    let engine = Trantor { twins: 2, ..Trantor::new(Terms::WHOLE, 1, 2) };
    holds("trantor, 2 views, twins", engine, 6_495);
}

#[test]
fn trantor_of_three_views() {
    holds("trantor, 3 views", Trantor::new(Terms::WHOLE, 1, 3), 433_340);
}

/// Two heights are open at a time. The one behind is not given up here; that takes 86 seconds, see the crate.
#[test]
fn trantor_with_two_heights() {
    let engine = Trantor { behind: 1, ..Trantor::new(Terms::WHOLE, 2, 2) };
    holds("trantor, 2 heights", engine, 62_970);
}

#[test]
fn dispel_of_two_rounds() {
    holds("dispel, 2 rounds", Dispel::new(Terms::WHOLE, 2), 8_224);
}

#[test]
fn dispel_of_three_rounds() {
    holds("dispel, 3 rounds", Dispel::new(Terms::WHOLE, 3), 313_163);
}

/// Any party may restart at any time, from the whole journal or from the oldest copy of it. What rule 5
/// alone keeps back then is in `rules`: without it the same restarts leak.
#[test]
fn restarts_from_an_older_copy() {
    let visited = [Journal::Known, Journal::Whole, Journal::PutBack].map(|journal| {
        let terms = Terms::with(journal);
        [
            sound("jolteon", Jolteon { twins: 1, ..Jolteon::new(terms, 2) }),
            sound("simplex", Simplex { twins: 1, ..Simplex::new(terms, 2) }),
            sound("tendermint", Tendermint::new(terms, 2)),
            sound("trantor", Trantor::new(terms, 1, 2)),
            sound("dispel", Dispel::new(terms, 2)),
        ]
    });
    let [known, whole, put_back] = visited;
    for engine in 0..known.len() {
        assert!(known[engine] < whole[engine], "a restart is a step: {visited:?}");
        assert!(known[engine] < put_back[engine], "a restart is a step: {visited:?}");
    }
}
