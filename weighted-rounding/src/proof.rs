//! How little stake the last pair can possibly need within a budget.
//!
//! A vector satisfies the last demand with stake `M` missing iff `X − M` reconstructs. So if the branch
//! and bound refutes that for every total up to the budget, no weights reconstruct from less than
//! `X − M + 1`. The larger `M`, the easier it is refuted, and totals that fell for one `M` need not be
//! looked at for a larger one.
//!
//! Half of the nodes go to the `M` that the best vector in hand just fails: refuted, that vector is
//! optimal; met, there is a better one, and half of the rest goes to its `M`. What is left closes in
//! on the least `M` that can be refuted by bisection, a sixteenth of the nodes for each.

use alloc::vec;
use alloc::vec::Vec;

use crate::exact::{Exact, Tree};
use crate::search::{Candidate, Demand};

/// Bisection ends at this fraction of the stake, as a power of two.
const PRECISION: u32 = 20;

/// Sets that are tried for what no threshold may let through.
const STARTS: usize = 64;

/// The best vector, and what is proven about all others.
#[derive(Debug)]
pub(crate) struct Proof {
    pub(crate) best: Candidate,
    /// With this stake missing no vector within the budget satisfies the last demand.
    pub(crate) missing: u128,
    /// Regions that were looked at.
    pub(crate) nodes: u64,
}

/// A committee and what its weights must satisfy.
pub(crate) struct Prover<'a> {
    /// Descending, none zero.
    stakes: &'a [u128],
    demands: &'a [Demand],
    /// The largest total.
    budget: u32,
    nodes: u64,
    used: u64,
    reached: Vec<Reached>,
}

/// With this stake missing nothing below this total satisfies the demands.
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
    /// `stakes` descend and none is zero; no total below `least` satisfies the demands.
    pub(crate) fn new(stakes: &'a [u128], demands: &'a [Demand], budget: u32, least: u32) -> Self {
        let reached = vec![Reached { missing: 0, total: least }];
        Self { stakes, demands, budget, nodes: 0, used: 0, reached }
    }

    /// From `best`, which is within the budget, to one that needs less stake, or to a bound, with at
    /// most so many nodes.
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

    /// The stake of some set, up to `bound` and not far below it.
    fn nearly_filled(&self, bound: u128) -> u128 {
        let starts = (0..self.stakes.len()).take(STARTS);
        let left = starts.map(|start| {
            let stakes = self.stakes.iter().skip(start);
            stakes.fold(bound, |room, stake| room.checked_sub(*stake).unwrap_or(room))
        });
        bound - left.min().unwrap_or(bound)
    }

    /// Whether some vector satisfies the last demand with this stake missing.
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
