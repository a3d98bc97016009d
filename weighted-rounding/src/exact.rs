//! Branch and bound: totals are refuted one after another until one is met, or the nodes run out.
//!
//! Two facts make this possible.
//!
//! *Sorted weights lose nothing.* If a party with more stake had less weight than another, swapping
//! the two weights keeps every pair: a set that gets heavier by the swap has the weight that another
//! set of no more stake had before. So only vectors that do not increase along descending stake are
//! tried; a branch fixes the weights of the largest parties.
//!
//! *Less weight is a bound.* `g` only grows with the weights, so a vector that lies below every
//! completion of a branch refutes the branch if it misses a pair already. With `R` units left for `N`
//! parties, none above `c`, the `j`-th of them has at least `⌈(R − (j−1)·c)/(N − j + 1)⌉`, for the
//! units behind the first `j − 1` are at least `R − (j−1)·c` and do not increase. All but the first
//! `a` of them together weigh at least `R − a·c`, whatever the vector.
//!
//! As in `search`, a branch that misses by `e` at total `W` misses at every total below `W + e` as
//! well; the least `e` of all branches is how far the next total may jump.

use alloc::vec;
use alloc::vec::Vec;

use crate::knapsack::Knapsack;
use crate::search::Demand;

/// What is known about the least total.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Exact {
    /// This vector has it.
    Least(Vec<u32>),
    /// It is at least this.
    AtLeast(u32),
}

/// Refutes totals from one upward until one below `known` is met, all below `known` are refuted, or
/// `nodes` branches were looked at. `stakes` descend and none is zero.
pub(crate) fn search(stakes: &[u128], demands: &[Demand], known: u32, nodes: u64) -> Exact {
    let mut tree = Tree::new(stakes, demands, nodes);
    let mut total = 1;
    while total < known {
        match tree.refute(total) {
            Refutation::Met => return Exact::Least(tree.weights),
            Refutation::Excess(excess) => total = total.saturating_add(excess),
            Refutation::OutOfNodes => break,
        }
    }
    Exact::AtLeast(total.min(known))
}

enum Refutation {
    /// A vector of this total satisfies all demands.
    Met,
    /// None does, nor at any total that is larger by less than this.
    Excess(u32),
    OutOfNodes,
}

/// Depth-first, with one table per fixed weight.
struct Tree<'a> {
    stakes: &'a [u128],
    /// `behind[i]`: stake of the parties from `i` on.
    behind: Vec<u128>,
    demands: &'a [Demand],
    bound: u128,
    nodes: u64,
    weights: Vec<u32>,
    /// `tables[k]` is the least stake per weight of the first `k` parties.
    tables: Vec<Vec<u128>>,
    knapsack: Knapsack,
    /// Stake and weight of sets among the parties that have no weight yet, both growing.
    extras: Vec<(u128, u32)>,
}

impl<'a> Tree<'a> {
    fn new(stakes: &'a [u128], demands: &'a [Demand], nodes: u64) -> Self {
        let mut sum = 0u128;
        let mut behind: Vec<u128> = vec![0];
        behind.extend(stakes.iter().rev().map(|stake| {
            sum = sum.saturating_add(*stake);
            sum
        }));
        behind.reverse();
        Self {
            stakes,
            behind,
            demands,
            bound: Demand::largest(demands),
            nodes,
            weights: Vec::new(),
            tables: vec![vec![0]],
            knapsack: Knapsack::new(),
            extras: Vec::new(),
        }
    }

    /// Tries all vectors of this total.
    fn refute(&mut self, total: u32) -> Refutation {
        self.weights.clear();
        let mut rest = total;
        let mut least_excess = u32::MAX;
        // The weight to try for the next party; `None` once all were.
        let mut next = Some(total);
        loop {
            match next.filter(|weight| *weight >= self.floor(rest)) {
                Some(weight) => {
                    let Some(nodes) = self.nodes.checked_sub(1) else {
                        return Refutation::OutOfNodes;
                    };
                    self.nodes = nodes;
                    self.fix(weight);
                    rest -= weight;
                    let excess = self.excess(rest, weight, total);
                    if excess == 0 && rest == 0 {
                        return Refutation::Met;
                    }
                    if excess > 0 {
                        least_excess = least_excess.min(excess);
                    } else if self.weights.len() < self.stakes.len() {
                        next = Some(weight.min(rest));
                        continue;
                    }
                }
                None if self.weights.is_empty() => break,
                None => {}
            }
            let Some(weight) = self.weights.pop() else { break };
            rest += weight;
            next = weight.checked_sub(1).filter(|weight| *weight > 0);
        }
        Refutation::Excess(least_excess)
    }

    /// The least weight that the next party can have with `rest` units to go, at least one.
    fn floor(&self, rest: u32) -> u32 {
        let parties = self.stakes.len() - self.weights.len();
        rest.div_ceil(u32::try_from(parties).unwrap_or(u32::MAX).max(1)).max(1)
    }

    /// Gives the next party `weight`.
    fn fix(&mut self, weight: u32) {
        let depth = self.weights.len();
        self.weights.push(weight);
        let stake = self.stakes.get(depth).copied().unwrap_or(0);
        if self.tables.len() < depth + 2 {
            self.tables.push(Vec::new());
        }
        let (before, after) = self.tables.split_at_mut(depth + 1);
        if let (Some(before), Some(after)) = (before.last(), after.first_mut()) {
            self.knapsack.load(before);
            self.knapsack.add_class(weight, &[stake], self.bound);
            after.clear();
            after.extend_from_slice(self.knapsack.table());
        }
    }

    /// By how much every completion misses at least one demand. `rest` units are to go, at most
    /// `cap` for each party.
    fn excess(&mut self, rest: u32, cap: u32, total: u32) -> u32 {
        let depth = self.weights.len();
        let Some(table) = self.tables.get(depth) else { return 0 };
        self.knapsack.load(table);
        self.add_floors(depth, rest, cap);
        let excess = self.worst(self.knapsack.table(), total);
        if excess > 0 {
            return excess;
        }
        self.list_tails(depth, rest, cap);
        self.worst(self.tables.get(depth).map_or(&[], Vec::as_slice), total)
    }

    /// The weights that the undecided parties have in every completion: all classes but the last
    /// enter the knapsack, the last becomes `extras`.
    fn add_floors(&mut self, depth: usize, rest: u32, cap: u32) {
        self.extras.clear();
        let undecided = self.stakes.get(depth..).unwrap_or_default();
        let mut parties = u32::try_from(undecided.len()).unwrap_or(u32::MAX);
        let (mut rest, mut start, mut end, mut class) = (rest, 0, 0, 0);
        while rest > 0 && parties > 0 {
            let floor = rest.div_ceil(parties);
            if floor != class {
                let stakes = undecided.get(start..end).unwrap_or_default();
                self.knapsack.add_class(class, stakes, self.bound);
                (start, class) = (end, floor);
            }
            (rest, parties, end) = (rest.saturating_sub(cap), parties - 1, end + 1);
        }
        let last = undecided.get(start..end).unwrap_or_default();
        let (mut stake, mut weight) = (0u128, 0u32);
        self.extras.extend(last.iter().rev().map(|poorest| {
            (stake, weight) = (stake.saturating_add(*poorest), weight.saturating_add(class));
            (stake, weight)
        }));
    }

    /// The sets of all undecided parties but the first `a`, lightest first.
    fn list_tails(&mut self, depth: usize, rest: u32, cap: u32) {
        self.extras.clear();
        let weights = (0..).map_while(|a: u32| rest.checked_sub(a * cap)).filter(|w| *w > 0);
        let stakes = self.behind.get(depth..).unwrap_or_default();
        self.extras.extend(stakes.iter().copied().zip(weights));
        self.extras.reverse();
    }

    /// The largest excess over the demands, of `table` together with at most one of the `extras`.
    fn worst(&self, table: &[u128], total: u32) -> u32 {
        let excess = self.demands.iter().map(|demand| {
            let heaviest = self.largest_weight(table, demand.leaking);
            let absent = self.largest_weight(table, demand.missing);
            heaviest.saturating_add(absent).saturating_add(1).saturating_sub(total)
        });
        excess.max().unwrap_or(0)
    }

    fn largest_weight(&self, table: &[u128], bound: u128) -> u32 {
        let mut extras = self.extras.as_slice();
        let mut largest = 0;
        for (weight, stake) in (0u32..).zip(table) {
            let Some(room) = bound.checked_sub(*stake) else { break };
            while let Some(((stake, _), lighter)) = extras.split_last() {
                if *stake <= room {
                    break;
                }
                extras = lighter;
            }
            let extra = extras.last().map_or(0, |(_, weight)| *weight);
            largest = largest.max(weight.saturating_add(extra));
        }
        largest
    }
}
