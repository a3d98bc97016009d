//! Products of points with secrets, eight at a time, in affine coordinates.
//!
//! All sums of a batch take the same step at the same time and so share the one inversion that it costs.
//! Equal points, opposite points and the identity are exceptions to the formulas, but digits are such that
//! no sum meets them before its last addition (`products`, `fixed_base`). That one takes all ways and keeps
//! the right one.
//!
//! **Constant time** in the digits: all jumps are those of loops over public lengths, all addresses those
//! of the loops' counters. Every entry of a table is read, and kept or not by a mask that is never asked
//! whether it is zero. The inversion is the backend's for secrets. What is left in the heap is wiped.
use alloc::vec;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::super::batch::BaseField;
use super::super::products::Digits;
use super::super::{Affine, Group};
use super::LANES;
use super::add::{Pairs, Points, inverted};
use super::element::Element;
use super::field::{Digit, LIMBS, limbs};

/// A point as limbs, to be in all lanes.
struct Entry<const N: usize> {
    x: [[u64; LIMBS]; N],
    y: [[u64; LIMBS]; N],
}

/// Odd multiples, of each `1, 3, 5, …`.
enum Table<const N: usize> {
    /// Of one point.
    Shared(Vec<Entry<N>>),
    /// Of eight for each place.
    Own(Vec<Vec<Points<N>>>),
}

/// Sums that grow side by side, eight in each place.
struct Sums<const N: usize> {
    points: Zeroizing<Vec<Points<N>>>,
    /// Those of the step that is being taken.
    pairs: Zeroizing<Vec<Pairs<N>>>,
}

/// `start + Σᵢ digitᵢ·2^(wi)·P` for each number, where a row of the table has the odd multiples of
/// `2^(wi)·P`. `N` is the degree of the field of coordinates.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn fixed<G: Group, const N: usize>(
    table: &[Affine<G>],
    start: &Affine<G>,
    digits: &Digits,
) -> Vec<Affine<G>> {
    let start = Points::<N>::load([start; LANES]);
    let mut sums = Sums::new(Zeroizing::new(vec![start; digits.places()]));
    let mut left = digits.windows().len();
    for (window, row) in digits.windows().zip(table.chunks_exact(digits.entries())) {
        let terms = Table::Shared(row.iter().map(Entry::new).collect()).terms(window);
        left -= 1;
        if left == 0 {
            return sums.add_last(&terms);
        }
        sums.add::<G>(&terms);
    }
    Vec::new()
}

/// `Σᵢ digitᵢ·2^(wi)·Pⱼ` for each number and point.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn each<G: Group, const N: usize>(
    points: &[Affine<G>],
    digits: &Digits,
) -> Vec<Affine<G>> {
    let mut bases = Vec::with_capacity(digits.places());
    for points in points.as_chunks().0 {
        bases.push(Points::load(points.each_ref()));
    }
    let table = Table::<N>::own::<G>(bases, digits.entries());
    let mut windows = digits.windows().rev();
    let Some(highest) = windows.next() else { return Vec::new() };
    let mut sums = Sums::new(table.terms(highest));
    while let Some(window) = windows.next() {
        for _ in 0..digits.width() {
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

    /// Of points that are neither the same nor opposite nor the identity.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn add<G: Group>(&mut self, terms: &[Points<N>]) {
        let mut runs = one::<G, N>();
        for (sum, term) in self.points.iter().zip(terms) {
            self.pairs.push(Pairs::new(sum, &term.x, &sum.chord(term), &mut runs));
        }
        self.settle::<G>(&runs);
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn double<G: Group>(&mut self) {
        let mut runs = one::<G, N>();
        for sum in self.points.iter() {
            self.pairs.push(Pairs::new(sum, &sum.x, &sum.tangent(), &mut runs));
        }
        self.settle::<G>(&runs);
    }

    /// Of points that are not the identity.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn add_last<G: Group>(mut self, terms: &[Points<N>]) -> Vec<Affine<G>> {
        let mut runs = one::<G, N>();
        let mut opposites = Vec::with_capacity(terms.len());
        for (sum, term) in self.points.iter().zip(terms) {
            let chord = sum.chord(term);
            let (same_x, same_y) = (chord.run.zeros(), chord.rise.zeros());
            let mut slope = chord.select(&sum.tangent(), same_x & same_y);
            // A run that can be inverted with the others; the sum is none.
            slope.run = slope.run.select(&one::<G, N>(), same_x & !same_y);
            self.pairs.push(Pairs::new(sum, &term.x, &slope, &mut runs));
            opposites.push(same_x & !same_y);
        }
        self.settle::<G>(&runs);
        let mut sums = Vec::with_capacity(LANES * opposites.len());
        for (points, opposites) in self.points.iter().zip(opposites) {
            for (lane, mut sum) in points.store::<G>().into_iter().enumerate() {
                let is_identity = u64::from(opposites >> lane & 1).wrapping_neg();
                G::select(&mut sum.0, &G::AFFINE_IDENTITY, is_identity);
                sums.push(sum);
            }
        }
        sums
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn settle<G: Group>(&mut self, runs: &Element<N>) {
        let mut inverse = inverted::<G, N>(runs);
        for (sum, pairs) in self.points.iter_mut().zip(self.pairs.iter()).rev() {
            *sum = pairs.sums(&mut inverse);
        }
        self.pairs.clear();
    }
}

impl<const N: usize> Table<N> {
    /// So many multiples of each of these points.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn own<G: Group>(points: Vec<Points<N>>, entries: usize) -> Self {
        let [mut multiples, mut twice] =
            [points.clone(), points].map(Zeroizing::new).map(Sums::new);
        twice.double::<G>();
        let mut table = vec![multiples.points.to_vec()];
        for _ in 1..entries {
            multiples.add::<G>(&twice.points);
            table.push(multiples.points.to_vec());
        }
        Self::Own(table)
    }

    /// What these digits stand for.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn terms(&self, window: &[[u8; LANES]]) -> Zeroizing<Vec<Points<N>>> {
        let mut terms = Zeroizing::new(Vec::with_capacity(window.len()));
        for (place, digits) in window.iter().enumerate() {
            terms.push(self.term(place, digits));
        }
        terms
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    fn term(&self, place: usize, digits: &[u8; LANES]) -> Points<N> {
        let mut chosen = Points { x: Element::zero(), y: Element::zero() };
        let digit = match self {
            Self::Shared(multiples) => {
                let digit = Digit::new(digits, multiples.len());
                for (at, multiple) in (0..).zip(multiples) {
                    chosen = chosen.select(&multiple.points(), digit.is(at));
                }
                digit
            }
            Self::Own(multiples) => {
                let digit = Digit::new(digits, multiples.len());
                for (at, multiple) in (0..).zip(multiples) {
                    let Some(multiple) = multiple.get(place) else { continue };
                    chosen = chosen.select(multiple, digit.is(at));
                }
                digit
            }
        };
        let opposite = Element::zero().difference(&chosen.y);
        Points { x: chosen.x, y: chosen.y.select(&opposite, digit.negative()) }
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
