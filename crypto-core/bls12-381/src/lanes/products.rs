//! Products of points with secrets, eight at a time, in affine coordinates.
//!
//! All sums of a batch take the same step at the same time, so they share the one inversion that the
//! step costs. Equal points, opposite points and the identity are exceptions to the formulas. The
//! digits are chosen so that no sum meets an exception before its last addition (`products`,
//! `fixed_base`). The last addition computes all cases and keeps the right one.
//!
//! **Constant time** in the digits: all branches are those of loops over public lengths, and all
//! addresses depend only on the loop counters. Every entry of a table is read, and a mask selects it
//! without a branch. The inversion is the backend's inversion for secrets. Data on the heap is wiped.
use alloc::vec;
use alloc::vec::Vec;
use core::arch::x86_64::{
    __m512i, _mm512_and_si512, _mm512_cmpeq_epi64_mask, _mm512_mask_xor_epi64, _mm512_sub_epi64,
    _mm512_test_epi64_mask,
};

use zeroize::Zeroizing;

use super::add::{Pairs, Points, Slope, inverted};
use super::digits::Digits;
use super::element::Element;
use super::field::{LIMBS, all, from_array, limbs};
use super::width::LANES;
use crate::field::BaseField;
use crate::group::Group;
use crate::points::Affine;

/// Tables of the odd multiples `1, 3, 5, …` for digits of `WIDTH` bits.
enum Table<const N: usize, const WIDTH: usize> {
    /// The multiples of one point, shared by all numbers.
    Shared(Vec<Entry<N>>),
    /// For each group of eight numbers, the multiples of its eight points.
    Own(Vec<Vec<Points<N>>>),
}

/// A point as limbs, to be copied to all lanes.
struct Entry<const N: usize> {
    x: [[u64; LIMBS]; N],
    y: [[u64; LIMBS]; N],
}

/// Sums that grow side by side, eight in each place.
struct Sums<const N: usize> {
    points: Zeroizing<Vec<Points<N>>>,
    /// The pairs of the last step.
    pairs: Zeroizing<Vec<Pairs<N>>>,
}

/// The entry of a table that each of eight digits stands for, and whether the digit stands for its
/// negative.
struct Choice {
    entry: __m512i,
    negative: u8,
}

/// `start + Σᵢ digitᵢ·2^(wi)·P` for each number, where a row of the table has the odd multiples of
/// `2^(wi)·P`. `N` is the degree of the field of coordinates.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn fixed<G: Group, const N: usize, const WIDTH: usize>(
    table: &[Affine<G>],
    start: &Affine<G>,
    digits: &Digits<WIDTH>,
) -> Vec<Affine<G>> {
    let start = Points::<N>::load([start; LANES]);
    let mut sums = Sums::new(Zeroizing::new(vec![start; digits.places()]));
    let mut steps = digits.windows().zip(table.chunks_exact(Digits::<WIDTH>::ENTRIES));
    while let Some((window, row)) = steps.next() {
        let terms = Table::<N, WIDTH>::shared(row).terms(window);
        if steps.len() == 0 {
            return sums.add_last(&terms);
        }
        sums.add::<G>(&terms);
    }
    Vec::new()
}

/// `Σᵢ digitᵢ·2^(wi)·Pⱼ` for each number and point.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn each<G: Group, const N: usize, const WIDTH: usize>(
    points: &[Affine<G>],
    digits: &Digits<WIDTH>,
) -> Vec<Affine<G>> {
    let mut bases = Vec::with_capacity(digits.places());
    for points in points.as_chunks().0 {
        bases.push(Points::load(points.each_ref()));
    }
    let table = Table::<N, WIDTH>::own::<G>(bases);
    let mut windows = digits.windows().rev();
    let Some(highest) = windows.next() else { return Vec::new() };
    let mut sums = Sums::new(table.terms(highest));
    while let Some(window) = windows.next() {
        for _ in 0..WIDTH {
            sums.double::<G>();
        }
        let terms = table.terms(window);
        if windows.len() == 0 {
            return sums.add_last(&terms);
        }
        sums.add::<G>(&terms);
    }
    Vec::new()
}

impl<const N: usize> Sums<N> {
    fn new(points: Zeroizing<Vec<Points<N>>>) -> Self {
        let pairs = Zeroizing::new(Vec::with_capacity(points.len()));
        Self { points, pairs }
    }

    /// Adds points. They must not be equal or opposite to the sums, and neither may be the identity.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn add<G: Group>(&mut self, terms: &[Points<N>]) {
        let mut runs = one::<G, N>();
        self.pairs.clear();
        for (sum, term) in self.points.iter().zip(terms) {
            self.pairs.push(pairs_of(sum, &term.x, &sum.chord(term), &mut runs));
        }
        self.settle::<G>(&runs);
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn double<G: Group>(&mut self) {
        let mut runs = one::<G, N>();
        self.pairs.clear();
        for sum in self.points.iter() {
            self.pairs.push(pairs_of(sum, &sum.x, &sum.tangent(), &mut runs));
        }
        self.settle::<G>(&runs);
    }

    /// Adds points for the last time. They may be equal or opposite to the sums, but neither may be
    /// the identity.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn add_last<G: Group>(mut self, terms: &[Points<N>]) -> Vec<Affine<G>> {
        let mut runs = one::<G, N>();
        let mut opposites = Zeroizing::new(Vec::with_capacity(terms.len()));
        self.pairs.clear();
        for (sum, term) in self.points.iter().zip(terms) {
            let chord = sum.chord(term);
            let (same_x, same_y) = (chord.run.zeros(), chord.rise.zeros());
            let mut slope = chord.select(&sum.tangent(), same_x & same_y);
            // For opposite points, a run that can be inverted with the others. This sum is not used.
            slope.run = slope.run.select(&one::<G, N>(), same_x & !same_y);
            self.pairs.push(pairs_of(sum, &term.x, &slope, &mut runs));
            opposites.push(same_x & !same_y);
        }
        self.settle::<G>(&runs);
        let mut sums = Vec::with_capacity(LANES * opposites.len());
        for (points, opposites) in self.points.iter().zip(opposites.iter()) {
            // Both backends keep the identity as zeros.
            sums.extend(points.select(&Points::zero(), *opposites).store::<G>());
        }
        sums
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn settle<G: Group>(&mut self, runs: &Element<N>) {
        let mut inverse = inverted::<G, N>(runs);
        for (sum, pairs) in self.points.iter_mut().zip(self.pairs.iter()).rev() {
            *sum = pairs.sums(&mut inverse);
        }
    }
}

/// The pairs to add. `runs` is multiplied by their runs.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn pairs_of<const N: usize>(
    point: &Points<N>,
    other_x: &Element<N>,
    slope: &Slope<N>,
    runs: &mut Element<N>,
) -> Pairs<N> {
    let (before, run) = (*runs, slope.run.factor());
    *runs = before.product(&run);
    Pairs { point: *point, other_x: *other_x, rise: slope.rise, run, before }
}

impl<const N: usize, const WIDTH: usize> Table<N, WIDTH> {
    fn shared<G: Group>(multiples: &[Affine<G>]) -> Self {
        Self::Shared(multiples.iter().map(Entry::new).collect())
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn own<G: Group>(points: Vec<Points<N>>) -> Self {
        let mut twice = Sums::new(Zeroizing::new(points.clone()));
        twice.double::<G>();
        let mut multiples = Sums::new(Zeroizing::new(points));
        let mut table = vec![multiples.points.to_vec()];
        for _ in 1..Digits::<WIDTH>::ENTRIES {
            multiples.add::<G>(&twice.points);
            table.push(multiples.points.to_vec());
        }
        Self::Own(table)
    }

    /// The points that these digits stand for.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn terms(&self, window: &[[u8; LANES]]) -> Zeroizing<Vec<Points<N>>> {
        let mut terms = Zeroizing::new(Vec::with_capacity(window.len()));
        for (place, digits) in window.iter().enumerate() {
            let choice = Choice::new::<WIDTH>(digits);
            let chosen = self.chosen(place, &choice);
            let opposite = Element::zero().difference(&chosen.y);
            terms.push(Points { x: chosen.x, y: chosen.y.select(&opposite, choice.negative) });
        }
        terms
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    fn chosen(&self, place: usize, choice: &Choice) -> Points<N> {
        let mut chosen = Points::zero();
        match self {
            Self::Shared(multiples) => {
                for (at, multiple) in (0..).zip(multiples) {
                    chosen = chosen.select(&multiple.points(), choice.is(at));
                }
            }
            Self::Own(multiples) => {
                for (at, multiple) in (0..).zip(multiples) {
                    let Some(multiple) = multiple.get(place) else { continue };
                    chosen = chosen.select(multiple, choice.is(at));
                }
            }
        }
        chosen
    }
}

impl Choice {
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    fn new<const WIDTH: usize>(digits: &[u8; LANES]) -> Self {
        let sign = all(1 << (WIDTH - 1));
        let lower = _mm512_sub_epi64(sign, all(1));
        let digits = from_array(digits.map(u64::from));
        let negative = !_mm512_test_epi64_mask(digits, sign);
        // The negative of a digit has the complement of its bits.
        let entry = _mm512_mask_xor_epi64(digits, negative, digits, lower);
        Self { entry: _mm512_and_si512(entry, lower), negative }
    }

    /// A bit that is set for each lane that chooses this entry.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    fn is(&self, entry: u64) -> u8 {
        _mm512_cmpeq_epi64_mask(self.entry, all(entry))
    }
}

impl<const N: usize> Entry<N> {
    fn new<G: Group>(point: &Affine<G>) -> Self {
        let (x, y) = G::coordinates(&point.0);
        let mut entry = Self { x: [[0; LIMBS]; N], y: [[0; LIMBS]; N] };
        for (at, (to_x, to_y)) in entry.x.iter_mut().zip(&mut entry.y).enumerate() {
            (*to_x, *to_y) = (limbs(*x.words(at)), limbs(*y.words(at)));
        }
        entry
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    fn points(&self) -> Points<N> {
        Points { x: Element::everywhere(&self.x), y: Element::everywhere(&self.y) }
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn one<G: Group, const N: usize>() -> Element<N> {
    Element::load([&G::Coordinate::UNIT; LANES])
}
