//! A lower bound on the stake that suffices for the last pair within a budget.
//!
//! A vector satisfies the last demand with stake `M` missing iff stake `X − M` always suffices. So if
//! the branch and bound refutes this for every total up to the budget, no weights let less than
//! `X − M + 1` suffice. A larger `M` is easier to refute, and totals that were refuted for one `M`
//! need not be tried for a larger one.
//!
//! Half of the nodes are spent on the smallest `M` that the best known vector fails. If this `M` is
//! refuted, that vector is optimal. If it is met, there is a better vector, and half of the remaining
//! nodes are spent on its `M`. The rest is spent on a bisection for the least `M` that can be
//! refuted, with a sixteenth of the nodes for each `M`.

use alloc::vec;
use alloc::vec::Vec;

use crate::exact::{Exact, Tree};
use crate::search::{Candidate, Demand};

/// The bisection ends when its interval is `2^−PRECISION` of the stake.
const PRECISION: u32 = 20;

/// Number of sets that are tried in the search for a large set that must not reach the threshold.
const STARTS: usize = 64;

/// The best vector, and the proven bound on all others.
#[derive(Debug)]
pub(crate) struct Proof {
    pub(crate) best: Candidate,
    /// No vector within the budget satisfies the last demand with this stake missing.
    pub(crate) missing: u128,
    /// Number of nodes that were visited.
    pub(crate) nodes: u64,
}

/// A committee and the demands that its weights must satisfy.
pub(crate) struct Prover<'a> {
    /// The stakes, descending, none of them zero.
    stakes: &'a [u128],
    demands: &'a [Demand],
    /// The largest allowed total.
    budget: u32,
    nodes: u64,
    used: u64,
    reached: Vec<Reached>,
}

/// No vector with a smaller total than `total` satisfies the demands with stake `missing` missing.
struct Reached {
    missing: u128,
    total: u32,
}

enum Probe {
    Refuted,
    Met(Candidate),
    Open,
}

impl<'a> Prover<'a> {
    /// `stakes` must descend, and none may be zero. No total below `least` may satisfy the demands.
    pub(crate) fn new(stakes: &'a [u128], demands: &'a [Demand], budget: u32, least: u32) -> Self {
        let reached = vec![Reached { missing: 0, total: least }];
        Self { stakes, demands, budget, nodes: 0, used: 0, reached }
    }

    /// Starts from `best`, which must be within the budget, and searches for a vector for which less
    /// stake suffices, or for a bound. Visits at most `nodes` nodes.
    pub(crate) fn least_reconstruction(mut self, best: Candidate, nodes: u64) -> Proof {
        self.nodes = nodes;
        let total: u128 = self.stakes.iter().sum();
        // A set that must not reach the threshold does not suffice.
        let leaking = self.demands.last().map_or(0, |demand| self.nearly_filled(demand.leaking));
        let mut proof = Proof { best, missing: total.saturating_sub(leaking), nodes: 0 };
        let mut open = proof.best.absent();
        let mut share = self.nodes / 2;
        while self.used < self.nodes && open < proof.missing {
            match self.probe(open, share) {
                Probe::Refuted => proof.missing = open,
                Probe::Met(better) => {
                    open = better.absent();
                    proof.best = better;
                    share = (self.nodes - self.used) / 2;
                }
                Probe::Open => break,
            }
        }
        while self.used < self.nodes && proof.missing.saturating_sub(open) > total >> PRECISION {
            let middle = open.midpoint(proof.missing);
            let share = self.nodes.div_ceil(16).min(self.nodes - self.used);
            match self.probe(middle, share) {
                Probe::Refuted => proof.missing = middle,
                Probe::Met(better) => {
                    open = better.absent();
                    proof.best = better;
                }
                Probe::Open => open = middle,
            }
        }
        Proof { nodes: self.used, ..proof }
    }

    /// The stake of some set that is at most `bound` and close to it.
    fn nearly_filled(&self, bound: u128) -> u128 {
        let starts = (0..self.stakes.len()).take(STARTS);
        let left = starts.map(|start| {
            let stakes = self.stakes.iter().skip(start);
            stakes.fold(bound, |room, stake| room.checked_sub(*stake).unwrap_or(room))
        });
        bound - left.min().unwrap_or(bound)
    }

    /// Tests whether some vector satisfies the last demand with this stake missing.
    fn probe(&mut self, missing: u128, nodes: u64) -> Probe {
        let mut demands: Vec<Demand> = self.demands.to_vec();
        if let Some(last) = demands.last_mut() {
            last.missing = missing;
        }
        let mut tree = Tree::new(self.stakes, &demands, nodes);
        let beyond = self.budget.saturating_add(1);
        let easier = self.reached.iter().filter(|reached| reached.missing <= missing);
        let from = easier.map(|reached| reached.total).max().unwrap_or(1);
        let outcome = tree.least_between(from, beyond);
        self.used += nodes - tree.nodes();
        match outcome {
            Exact::Least(weights) => Probe::Met(Candidate::new(self.stakes, weights, self.demands)),
            Exact::AtLeast(total) if total == beyond => Probe::Refuted,
            Exact::AtLeast(total) => {
                self.reached.push(Reached { missing, total });
                Probe::Open
            }
        }
    }
}
