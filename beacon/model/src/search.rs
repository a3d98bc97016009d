//! Running the checker, and what it says.
//!
//! Breadth first on one thread, so that what is found is as short as can be.
use std::fmt;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries};

use crate::properties::Engine;

/// What a search found.
#[derive(Clone, Debug)]
pub struct Report {
    /// States that differ by more than names.
    pub states: usize,
    /// Steps of the longest shortest path.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// Violated properties, each with a shortest path.
    pub found: Vec<(&'static str, Vec<String>)>,
}

impl Report {
    /// The path that violates a property.
    #[must_use]
    pub fn path(&self, property: &str) -> Option<&[String]> {
        let found = self.found.iter().find(|(name, _)| *name == property);
        found.map(|(_, path)| path.as_slice())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { states, depth, took, found } = self;
        write!(f, "{states} states, depth {depth}, {:.1} s", took.as_secs_f64())?;
        for (property, path) in found {
            write!(f, "\n    {property} is violated: {}", path.join("; "))?;
        }
        Ok(())
    }
}

/// Visits every state, and goes on after violations.
pub fn all<E: Engine>(engine: E) -> Report {
    run(engine, HasDiscoveries::All, NonZeroUsize::MIN)
}

/// As [`all`], on several threads. Paths may be longer.
pub fn all_on<E: Engine>(engine: E, threads: NonZeroUsize) -> Report {
    run(engine, HasDiscoveries::All, threads)
}

/// Stops at the first violation of one of these properties.
pub fn first_of<E: Engine>(engine: E, properties: &[&'static str]) -> Report {
    let any = HasDiscoveries::AnyOf(properties.iter().copied().collect());
    run(engine, any, NonZeroUsize::MIN)
}

fn run<E: Engine>(engine: E, until: HasDiscoveries, threads: NonZeroUsize) -> Report {
    let start = Instant::now();
    let checker = engine.checker().finish_when(until).threads(threads.get()).spawn_bfs().join();
    let mut found: Vec<_> = checker
        .discoveries()
        .into_iter()
        .map(|(name, path)| (name, path.into_actions().iter().map(E::Action::to_string).collect()))
        .collect();
    found.sort_unstable_by_key(|(name, path): &(_, Vec<String>)| (path.len(), *name));
    Report {
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        took: start.elapsed(),
        found,
    }
}
