//! Every scheme runs on every engine, and here is the only place that says so.
//!
//! A command that takes `--scheme` and `--engine` is a [`Program`], generic over both; [`run`] picks the
//! types by their names.

use ::beacon::{Bls, Wvuf};
use jolteon::Jolteon;
use malachite::Malachite;

use crate::engine::{self, Listed};
use crate::scheme::{self, Keyed};

/// What runs with any scheme, on any engine.
pub trait Program {
    /// What comes of it.
    type Outcome;

    /// Runs with this scheme, on this engine.
    fn run<S: Keyed, E: Listed>(self) -> Self::Outcome;
}

/// Runs a program with the scheme and on the engine of these names.
pub fn run<P: Program>(scheme: scheme::Name, engine: engine::Name, program: P) -> P::Outcome {
    match scheme {
        scheme::Name::Bls => on::<Bls, P>(engine, program),
        scheme::Name::Wvuf => on::<Wvuf, P>(engine, program),
    }
}

fn on<S: Keyed, P: Program>(engine: engine::Name, program: P) -> P::Outcome {
    match engine {
        engine::Name::Jolteon => program.run::<S, Jolteon>(),
        engine::Name::Malachite => program.run::<S, Malachite>(),
    }
}
