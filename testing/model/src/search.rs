//! Running the checker, and what it says.
//!
//! Breadth first, so a counterexample is about as short as can be; that there is none within some steps is seen
//! by [`within`] them.
use std::fmt;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries};

use crate::properties::Engine;

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// States that differ by more than names.
    pub states: usize,
    /// Steps of the longest shortest path.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// Violated properties, each with a path.
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
            let path = if path.is_empty() { "at the start".to_owned() } else { path.join("; ") };
            write!(f, "\n    {property} is violated: {path}")?;
        }
        Ok(())
    }
}

/// Visits every state, and goes on after violations.
pub fn all<E: Engine>(engine: E, threads: NonZeroUsize) -> Report {
    run(engine, HasDiscoveries::All, threads, usize::MAX)
}

/// Until one of these properties is violated, if any ever is.
pub fn first<E: Engine>(engine: E, properties: &[&'static str]) -> Report {
    within(engine, properties, usize::MAX)
}

/// Visits every state that so many steps lead to, until one of these properties is violated.
pub fn within<E: Engine>(engine: E, properties: &[&'static str], steps: usize) -> Report {
    let any = HasDiscoveries::AnyOf(properties.iter().copied().collect());
    // The checker counts states, the first one too, and stops in front of the last.
    run(engine, any, NonZeroUsize::MIN, steps.saturating_add(2))
}

fn run<E: Engine>(engine: E, until: HasDiscoveries, threads: NonZeroUsize, depth: usize) -> Report {
    let start = Instant::now();
    let search = engine.checker().finish_when(until).threads(threads.get()).target_max_depth(depth);
    let checker = search.spawn_bfs().join();
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
