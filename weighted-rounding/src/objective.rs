//! What to optimize, how far to look, and what is known of the optimum afterwards.
//!
//! All limits are counts, not times, so that every machine stops at the same place: *totals* that are
//! tried at all, *steps* (a table entry, a party or a unit that is looked at) of each offset of the
//! scan, and *nodes* (regions of vectors) of the branch and bound.

use crate::quantity::{Stake, Weight};
use crate::verify::MAX_TOTAL;

/// What to optimize, and how far to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Objective {
    pub(crate) goal: Goal,
    pub(crate) limit: Weight,
    pub(crate) steps: u64,
    pub(crate) nodes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    Total,
    Reconstruction,
}

impl Objective {
    /// Steps of an offset: all 150 of them end within seconds. Ratios a hundredth apart or more need
    /// less than a tenth of them for some hundred parties.
    pub const DEFAULT_STEPS: u64 = 1 << 23;

    /// Regions at which the objectives look after the scan: enough for small committees.
    pub const DEFAULT_NODES: u64 = 1000;

    /// The least total weight that satisfies the profile, up to [`MAX_TOTAL`].
    #[must_use]
    pub const fn least_total() -> Self {
        Self {
            goal: Goal::Total,
            limit: MAX_TOTAL,
            steps: Self::DEFAULT_STEPS,
            nodes: Self::DEFAULT_NODES,
        }
    }

    /// The least stake from which every set reaches the threshold of the profile's *last* pair, with
    /// a total weight of at most `budget` or [`MAX_TOTAL`]. The last pair's own reconstruction ratio is the largest
    /// that is acceptable; the other pairs hold as they are.
    #[must_use]
    pub const fn least_reconstruction(budget: Weight) -> Self {
        Self { goal: Goal::Reconstruction, limit: budget, ..Self::least_total() }
    }

    /// The same, looking at totals up to `limit` only.
    #[must_use]
    pub const fn within(self, limit: Weight) -> Self {
        Self { limit, ..self }
    }

    /// The same, with up to `steps` steps for each offset of the scan. Where they end before anything
    /// is found, one offset goes on and skips totals: its total may be far from the least.
    #[must_use]
    pub const fn steps(self, steps: u64) -> Self {
        Self { steps, ..self }
    }

    /// The same, with a branch and bound of at most `nodes` regions after the scan, which finds
    /// something better or proves that there is nothing, or nothing beyond a [`Bound`]. For hundreds
    /// of parties ten thousand take about a second.
    #[must_use]
    pub const fn prove(self, nodes: u64) -> Self {
        Self { nodes, ..self }
    }
}

/// How good weights can be at best, proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// No weights of a smaller total satisfy the profile; one if nothing was proven.
    Total(Weight),
    /// No weights within the budget let less stake reconstruct for the last pair. If nothing was proven,
    /// what the pair's secrecy ratio alone says.
    Sufficient(Stake),
}

/// How much work a rounding took, in counts that are the same on all machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Steps of the scan, all offsets together. A table made party by party takes
    /// `holders × total` of them.
    pub steps: u64,
    /// Regions at which the branch and bound looked.
    pub nodes: u64,
}
