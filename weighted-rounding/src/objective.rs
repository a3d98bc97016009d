//! The quantity to optimize, the limits of the search, and the proven bound on the optimum.
//!
//! All limits are counts, not times, so every machine stops at the same place. The search counts
//! *totals* that are tried, *steps* of each offset of the scan (one step is a table entry, a party or
//! a unit that is visited), and *nodes* of the branch and bound (regions of vectors).

use crate::quantity::{Stake, Weight};
use crate::verify::MAX_TOTAL;

/// The quantity to optimize, and the limits of the search.
///
/// ```
/// use prefinal_weighted_rounding::{Objective, Profile, Rounding, Stake, Weight};
/// let stakes = [340, 210, 180, 90, 90, 60, 30].map(Stake::new);
/// let few = Rounding::solve(&stakes, &Profile::standard(), Objective::least_total())?;
///
/// // Up to forty shares, spent on a fast path that needs less stake.
/// let budget = Objective::least_reconstruction(Weight::new(40));
/// let more = Rounding::solve(&stakes, &Profile::standard(), budget)?;
/// let least = |rounding: &Rounding| rounding.fast().map(|fast| fast.least_sufficient());
/// assert!(more.total() <= Weight::new(40) && least(&more) <= least(&few));
///
/// let too_few = Objective::least_total().within(Weight::new(1));
/// assert!(Rounding::solve(&stakes, &Profile::standard(), too_few).is_err());
/// # Ok::<(), prefinal_weighted_rounding::SolveError>(())
/// ```
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
    /// Default limit of steps for each offset. With it, all 150 offsets end within seconds. For about
    /// a hundred parties, ratios that are a hundredth or more apart need less than a tenth of these
    /// steps.
    pub const DEFAULT_STEPS: u64 = 1 << 23;

    /// Default limit of nodes of the branch and bound after the scan. It is enough for small
    /// committees.
    pub const DEFAULT_NODES: u64 = 1000;

    /// Find the least total weight that satisfies the profile, up to [`MAX_TOTAL`].
    #[must_use]
    pub const fn least_total() -> Self {
        Self {
            goal: Goal::Total,
            limit: MAX_TOTAL,
            steps: Self::DEFAULT_STEPS,
            nodes: Self::DEFAULT_NODES,
        }
    }

    /// Within a total weight of at most `budget` and [`MAX_TOTAL`], find the least stake from which
    /// every set reaches the threshold of the profile's *last* pair. The reconstruction ratio that
    /// the last pair names is the largest that is acceptable. The other pairs must hold unchanged.
    #[must_use]
    pub const fn least_reconstruction(budget: Weight) -> Self {
        Self { goal: Goal::Reconstruction, limit: budget, ..Self::least_total() }
    }

    /// The same objective, but only totals up to `limit` are tried.
    #[must_use]
    pub const fn within(self, limit: Weight) -> Self {
        Self { limit, ..self }
    }

    /// The same objective, with up to `steps` steps for each offset of the scan. If the steps are
    /// used up before anything is found, one offset continues and skips totals; its result may be far
    /// from the least total.
    #[must_use]
    pub const fn steps(self, steps: u64) -> Self {
        Self { steps, ..self }
    }

    /// The same objective, with a branch and bound of at most `nodes` nodes after the scan. It finds
    /// a better result, or proves that there is none, or proves a [`Bound`]. For hundreds of parties,
    /// ten thousand nodes take about a second.
    #[must_use]
    pub const fn prove(self, nodes: u64) -> Self {
        Self { nodes, ..self }
    }
}

/// A proven bound on the best possible result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// No weights with a smaller total satisfy the profile. It is one if nothing was proven.
    Total(Weight),
    /// For all weights within the budget, less stake than this does not always suffice for the last
    /// pair. If nothing was proven, this is the bound that follows from the pair's secrecy ratio
    /// alone.
    Sufficient(Stake),
}

/// The work that a rounding took, in counts that are the same on all machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Steps of the scan, summed over all offsets. For comparison, building one knapsack table party
    /// by party takes `holders × total` steps.
    pub steps: u64,
    /// Number of nodes that the branch and bound visited.
    pub nodes: u64,
}
