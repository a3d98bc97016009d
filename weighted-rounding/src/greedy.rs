//! Finds heavy sets of bounded stake quickly. Their weights never exceed the knapsack's `g(b)`, so a
//! vector that they refute needs no table.
//!
//! | set                                     | steps                        | refutes               |
//! |-----------------------------------------|------------------------------|-----------------------|
//! | by weight per stake, every party that still fits | one per party        | most totals            |
//! | the same, and the best choice among the [`CORE`] parties around the first that does not fit | some hundred, whatever the weights | nearly all others |
//!
//! The best choice is exact: it lists the subsets of each half of the core, drops every subset that
//! another one beats in stake and in weight, and joins the two lists with two pointers. For a
//! committee no larger than the core this is the exact `g(b)`.
//!
//! Parties whose weights changed since the last vector are inserted at their new positions. The
//! others stay in order.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::ratio::wide_product;

/// Number of parties around the break among which the choice is exact. With 8 more, a set costs four
/// times as much and refutes almost nothing that 16 do not refute.
const CORE: usize = 16;

/// The parties that hold weight, the heaviest per stake first.
#[derive(Debug, Default)]
pub(crate) struct Greedy {
    order: Vec<Party>,
    moved: Vec<Party>,
    merged: Vec<Party>,
    halves: [Choices; 2],
    steps: u64,
}

#[derive(Clone, Copy, Debug)]
struct Party {
    weight: u32,
    stake: u128,
    place: usize,
}

impl Greedy {
    /// Sorts the parties with these `weights` and `stakes`. Parties beyond the end of `weights` are
    /// left out.
    pub(crate) fn sort(&mut self, stakes: &[u128], weights: &[u32]) {
        self.order.clear();
        let parties = weights.iter().zip(stakes).enumerate();
        self.order.extend(parties.map(|(place, (weight, stake))| Party {
            weight: *weight,
            stake: *stake,
            place,
        }));
        self.order.sort_unstable_by(Party::by_density);
        self.steps += steps(self.order.len() * bits(self.order.len()));
    }

    /// Like [`Greedy::sort`], if only the weights at `changed` differ from those of the last call.
    pub(crate) fn update(&mut self, stakes: &[u128], weights: &[u32], changed: &mut Vec<usize>) {
        changed.sort_unstable();
        changed.dedup();
        let held = changed.drain(..).filter_map(|place| {
            let (weight, stake) = (*weights.get(place)?, *stakes.get(place)?);
            Some(Party { weight, stake, place })
        });
        self.moved.clear();
        self.moved.extend(held);
        self.moved.sort_unstable_by(Party::by_density);
        let compared = self.order.len() + self.moved.len() * bits(self.moved.len());
        let same = |party: &Party| weights.get(party.place) == Some(&party.weight);
        let mut stayed = self.order.drain(..).filter(same).peekable();
        self.merged.clear();
        for party in self.moved.drain(..) {
            while let Some(other) = stayed.next_if(|other| other.by_density(&party).is_lt()) {
                self.merged.push(other);
            }
            self.merged.push(party);
        }
        self.merged.extend(stayed);
        core::mem::swap(&mut self.order, &mut self.merged);
        self.steps += steps(compared);
    }

    /// The weight of a heavy set with stake up to `bound`. It is at most `g(bound)`.
    pub(crate) fn heavy_weight(&mut self, bound: u128) -> u32 {
        let (mut room, mut sum) = (bound, 0u32);
        for Party { weight, stake, .. } in &self.order {
            if let Some(left) = room.checked_sub(*stake) {
                (room, sum) = (left, sum.saturating_add(*weight));
            }
        }
        self.steps += steps(self.order.len());
        sum
    }

    /// The weight of a set that is also at most `g(bound)`, and usually equal to it.
    pub(crate) fn heaviest_around_break(&mut self, bound: u128) -> u32 {
        let (mut room, mut fitting) = (bound, 0);
        for party in &self.order {
            let Some(left) = room.checked_sub(party.stake) else { break };
            (room, fitting) = (left, fitting + 1);
        }
        let end = (fitting + CORE / 2).max(CORE).min(self.order.len());
        let (taken, core) =
            self.order.get(..end).unwrap_or_default().split_at(end.saturating_sub(CORE));
        let spent: u128 = taken.iter().map(|party| party.stake).sum();
        let room = bound.saturating_sub(spent);
        let [first, second] = &mut self.halves;
        first.all_of(core.iter().step_by(2), room);
        second.all_of(core.iter().skip(1).step_by(2), room);
        let visited = fitting + 2 * (first.best.len() + second.best.len());
        self.steps += steps(visited);
        let fixed = taken.iter().map(|party| party.weight).fold(0, u32::saturating_add);
        fixed.saturating_add(first.heaviest_with(second, room))
    }

    /// Number of parties and choices that were visited so far.
    pub(crate) const fn steps(&self) -> u64 {
        self.steps
    }
}

impl Party {
    /// Orders by more weight per stake, then by smaller stake, then by position.
    fn by_density(&self, other: &Self) -> Ordering {
        let mine = wide_product(self.weight.into(), other.stake);
        let theirs = wide_product(other.weight.into(), self.stake);
        theirs.cmp(&mine).then(self.stake.cmp(&other.stake)).then(self.place.cmp(&other.place))
    }
}

/// Sets of a few parties, by growing stake and weight. Sets that another one beats in both are
/// dropped.
#[derive(Debug, Default)]
struct Choices {
    best: Vec<Choice>,
    merged: Vec<Choice>,
}

#[derive(Clone, Copy, Debug)]
struct Choice {
    stake: u128,
    weight: u32,
}

impl Choices {
    /// Lists all subsets with stake up to `room`.
    fn all_of<'a>(&mut self, parties: impl Iterator<Item = &'a Party>, room: u128) {
        self.best.clear();
        self.best.push(Choice { stake: 0, weight: 0 });
        for party in parties {
            self.merged.clear();
            let mut without = self.best.iter().copied().peekable();
            let with = self.best.iter().map(|choice| Choice {
                stake: choice.stake.saturating_add(party.stake),
                weight: choice.weight.saturating_add(party.weight),
            });
            let mut with = with.take_while(|choice| choice.stake <= room).peekable();
            loop {
                let next = match (without.peek(), with.peek()) {
                    (Some(one), Some(other)) if one.stake <= other.stake => without.next(),
                    (_, Some(_)) => with.next(),
                    (_, None) => without.next(),
                };
                let Some(choice) = next else { break };
                match self.merged.last_mut() {
                    Some(last) if last.weight >= choice.weight => {}
                    Some(last) if last.stake == choice.stake => *last = choice,
                    _ => self.merged.push(choice),
                }
            }
            core::mem::swap(&mut self.best, &mut self.merged);
        }
    }

    /// The largest weight of one choice from each list, with stake up to `room` together.
    fn heaviest_with(&self, other: &Self, room: u128) -> u32 {
        let mut heaviest = 0;
        let mut partners = other.best.iter().rev().peekable();
        for choice in &self.best {
            let left = room.saturating_sub(choice.stake);
            while partners.next_if(|partner| partner.stake > left).is_some() {}
            let partner = partners.peek().map_or(0, |partner| partner.weight);
            heaviest = heaviest.max(choice.weight.saturating_add(partner));
        }
        heaviest
    }
}

fn steps(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// How often `count` can be halved. This is the number of comparisons of a binary search.
fn bits(count: usize) -> usize {
    usize::try_from(usize::BITS - count.leading_zeros()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knapsack::Knapsack;

    const STAKES: [u128; 20] = [
        990, 960, 900, 700, 650, 640, 420, 400, 300, 210, 205, 202, 150, 110, 99, 70, 35, 20, 9, 3,
    ];
    const WEIGHTS: [u32; 20] = [10, 10, 9, 7, 7, 6, 4, 4, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1];

    #[test]
    fn a_heavy_set_is_never_heavier_than_the_best() {
        let mut greedy = Greedy::default();
        greedy.sort(&STAKES, &WEIGHTS);
        let mut knapsack = Knapsack::new();
        knapsack.rebuild(&STAKES, &WEIGHTS, u128::MAX);
        let mut equal = [0, 0];
        for bound in 0..7500 {
            let best = knapsack.largest_weight(bound);
            let (quick, slow) = (greedy.heavy_weight(bound), greedy.heaviest_around_break(bound));
            assert!(quick <= best && slow <= best, "bound {bound}: {quick}, {slow} > {best}");
            equal = [equal[0] + u32::from(quick == best), equal[1] + u32::from(slow == best)];
        }
        assert!(equal[0] > 3000 && equal[1] > 7400, "only {equal:?} of 7500 bounds are met");
    }

    #[test]
    fn a_committee_within_the_core_is_solved() {
        let (stakes, weights) = (&STAKES[4..], &WEIGHTS[4..]);
        let mut greedy = Greedy::default();
        greedy.sort(stakes, weights);
        let mut knapsack = Knapsack::new();
        knapsack.rebuild(stakes, weights, u128::MAX);
        for bound in 0..4000 {
            assert_eq!(greedy.heaviest_around_break(bound), knapsack.largest_weight(bound));
        }
    }

    #[test]
    fn moving_what_changed_is_sorting_anew() {
        let (mut moved, mut sorted) = (Greedy::default(), Greedy::default());
        let mut weights = WEIGHTS[..15].to_vec();
        moved.sort(&STAKES, &weights);
        for (round, unit) in [3usize, 0, 7, 7, 15, 15, 2, 9, 16, 1].into_iter().enumerate() {
            weights.resize(weights.len().max(unit + 1), 0);
            weights[unit] += 1;
            weights[round] += 1;
            let mut changed = alloc::vec![unit, round, unit];
            moved.update(&STAKES, &weights, &mut changed);
            sorted.sort(&STAKES, &weights);
            let places = |greedy: &Greedy| -> Vec<(usize, u32)> {
                greedy.order.iter().map(|party| (party.place, party.weight)).collect()
            };
            assert_eq!(places(&moved), places(&sorted));
        }
    }
}
