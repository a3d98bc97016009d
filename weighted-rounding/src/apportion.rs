//! The vectors `wᵢ = ⌊λ·xᵢ + c⌋` of one offset `c`, for growing `λ`, one unit of weight at a time.
//!
//! Party `i` gets its `k`-th unit when `λ` reaches `(k − c)/xᵢ`. So growing `λ` is a divisor method
//! of apportionment: the next unit goes to the party with the least `(k − c)/xᵢ`. With `c = p/q` that
//! is `(k·q − p)/(q·xᵢ)`, compared exactly in integers. `c = 0` rounds down and `c = 1/2` rounds to
//! the nearest integer. With negative offsets, small parties get their first unit late.
//!
//! **Tie rule:** among equal bids the larger stake is served first, then the party listed first. So
//! every total is reached, even where one `λ` gives several units at once, and weights never increase
//! along descending stake. Parties of equal stake may differ by one unit.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::ratio::wide_product;

/// Offsets are stored in hundredths.
const PER_ONE: u32 = 100;

/// An offset `c` in `[−0.5, 1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    hundredths: i32,
}

impl Offset {
    /// All offsets, those around 0.4 first. These win most often, and an early result lets the other
    /// offsets stop early.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let middle = 40;
        (0..=90)
            .flat_map(move |step| [middle + step, middle - step - 1])
            .filter(|hundredths| (-50..100).contains(hundredths))
            .map(|hundredths| Self { hundredths })
    }

    /// `(k − c)` in hundredths, for the `k`-th unit.
    fn price(self, unit: u32) -> u128 {
        let full = u128::from(unit) * u128::from(PER_ONE);
        full.saturating_add_signed(-i128::from(self.hundredths))
    }
}

/// A party's bid for its next unit. The greatest bid is served first.
#[derive(Clone, Copy, Debug)]
struct Bid {
    price: u128,
    stake: u128,
    place: usize,
}

impl Ord for Bid {
    fn cmp(&self, other: &Self) -> Ordering {
        let mine = wide_product(self.price, other.stake);
        let theirs = wide_product(other.price, self.stake);
        theirs.cmp(&mine).then(other.place.cmp(&self.place))
    }
}

impl PartialOrd for Bid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bid {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Bid {}

/// The weights of one offset at one total.
#[derive(Debug)]
pub(crate) struct Apportionment<'a> {
    stakes: &'a [u128],
    offset: Offset,
    weights: Vec<u32>,
    total: u32,
    bids: BinaryHeap<Bid>,
}

impl<'a> Apportionment<'a> {
    /// Starts with total zero. `stakes` must descend, and the first must not be zero.
    pub(crate) fn new(stakes: &'a [u128], offset: Offset) -> Self {
        let mut this =
            Self { stakes, offset, weights: Vec::new(), total: 0, bids: BinaryHeap::new() };
        this.enter(0);
        this
    }

    /// Hands out units until their number is `total`, and appends the parties that get them to
    /// `changed`. Returns the number of bids that were compared.
    pub(crate) fn advance_to(&mut self, total: u32, changed: &mut Vec<usize>) -> u64 {
        let mut compared = 0;
        while self.total < total {
            let Some(bid) = self.bids.pop() else { break };
            compared += u64::from(usize::BITS - self.bids.len().leading_zeros()) + 1;
            changed.push(bid.place);
            let unit = match self.weights.get_mut(bid.place) {
                Some(weight) => {
                    *weight += 1;
                    *weight
                }
                None => {
                    // Parties get their first units in descending order of stake, so the next party
                    // need not bid before this.
                    self.weights.push(1);
                    self.enter(bid.place + 1);
                    1
                }
            };
            self.total += 1;
            self.bids.push(Bid { price: self.offset.price(unit + 1), ..bid });
        }
        compared
    }

    /// The weights in the order of descending stake, without the parties that have none.
    pub(crate) fn weights(&self) -> &[u32] {
        &self.weights
    }

    /// The stakes, in the same order as the weights.
    pub(crate) fn stakes(&self) -> &'a [u128] {
        self.stakes
    }

    fn enter(&mut self, place: usize) {
        if let Some(&stake) = self.stakes.get(place).filter(|stake| **stake > 0) {
            self.bids.push(Bid { price: self.offset.price(1), stake, place });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn there_are_150_offsets_and_none_twice() {
        let mut all: Vec<i32> = Offset::all().map(|offset| offset.hundredths).collect();
        all.sort_unstable();
        assert_eq!(all, (-50..100).collect::<Vec<_>>());
    }

    #[test]
    fn between_ties_the_vector_is_the_floor() {
        let stakes = [83u128, 61, 40, 40, 17, 9, 2, 0];
        for offset in Offset::all() {
            let mut apportionment = Apportionment::new(&stakes, offset);
            // λ = a/b over a grid; the sum of floors is a total that the apportionment must match.
            for a in 1..200i128 {
                let floor = |x: u128| {
                    let x = i128::try_from(x).unwrap();
                    (a * x * 100 + i128::from(offset.hundredths) * 1000).div_euclid(100_000).max(0)
                };
                let expected: Vec<i128> = stakes[..7].iter().map(|x| floor(*x)).collect();
                let total = u32::try_from(expected.iter().sum::<i128>()).unwrap();
                apportionment.advance_to(total, &mut Vec::new());
                let mut got: Vec<i128> =
                    apportionment.weights().iter().map(|w| i128::from(*w)).collect();
                got.resize(7, 0);
                assert_eq!(got, expected, "offset {offset:?}, λ = {a}/1000");
            }
        }
    }

    #[test]
    fn equal_stakes_are_served_in_their_order() {
        let offset = Offset { hundredths: 50 };
        let mut apportionment = Apportionment::new(&[5, 5, 5, 5], offset);
        apportionment.advance_to(6, &mut Vec::new());
        assert_eq!(apportionment.weights(), vec![2, 2, 1, 1]);
    }

    #[test]
    fn stakes_of_128_bits_are_compared_exactly() {
        let stakes = [u128::MAX / 2 + 1, u128::MAX / 2];
        let mut apportionment = Apportionment::new(&stakes, Offset { hundredths: 0 });
        for total in 1..50u32 {
            apportionment.advance_to(total, &mut Vec::new());
            let second = apportionment.weights().get(1).copied().unwrap_or(0);
            assert_eq!((apportionment.weights()[0], second), (total.div_ceil(2), total / 2));
        }
    }
}
