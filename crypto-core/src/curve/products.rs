//! Products of many points with a secret each, and the digits in which secrets are read.
//!
//! A bit `b` stands for `2b − 1`, so for 1 or −1. Then a window of `w` bits, `u` as a number, stands for an
//! odd number, and `n` bits, `κ` as a number, for the sum of their windows:
//!
//! ```text
//! dᵢ = 2uᵢ − (2^w − 1)         Σᵢ dᵢ·2^(wi) = 2κ − (2ⁿ − 1)         κ = Σᵢ uᵢ·2^(wi)
//! ```
//!
//! No digit is zero, none is carried into the next, and half of a window's values are the negatives of the
//! others. A scalar `k` times a point is 252 doublings and 63 additions from the top, after eight for the
//! odd multiples to 15, by
//!
//! ```text
//! κ = 2²⁵⁵ + ((k − 1)/2 mod r)         2κ − (2²⁵⁶ − 1) ≡ k mod r         w = 4
//! ```
//!
//! Where the processor can, this is done eight at a time in affine coordinates (`lanes`), whose addition
//! fails for equal and opposite points. Only the last addition can meet such: before it, a sum `A·P` has an
//! odd `A`, becomes `16A·P` and is given `d·P` with `|d| < 16 ≤ |16A|`, and `|16A ± d| < 2²⁵³ < r`.
//!
//! Signed bits are Hamburg's ([eprint 2012/309](https://eprint.iacr.org/2012/309)). Elsewhere: one point
//! and many secrets ([`FixedBase`](super::FixedBase)).
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use zeroize::{Zeroize, Zeroizing};

use super::lanes::{LANES, Wide};
use super::{Affine, Group, Projective, Scalar, in_parts};

/// Bits of a window.
const WINDOW: usize = 4;
const WINDOWS: usize = 256 / WINDOW;
/// The fewest products that are worth a thread of their own, or eight lanes an inversion.
const LEAST: usize = 24;
/// At once, to be kept in a processor's cache.
const MOST: usize = 512;

/// Of each pair the product, over as many as the shorter slice has. Constant time in the scalars; points
/// are public.
///
/// Costs what `point * scalar` does for each, or, on processors with AVX-512 IFMA and for hundreds, a third.
#[must_use]
pub fn multiply_each<G: Group>(points: &[Affine<G>], scalars: &[Scalar]) -> Vec<Affine<G>> {
    let count = points.len().min(scalars.len());
    let (points, scalars) = (points.get(..count), scalars.get(..count));
    let (points, scalars) = (points.unwrap_or_default(), scalars.unwrap_or_default());
    many(count, |range| {
        let points = points.get(range.clone()).unwrap_or_default();
        let scalars = scalars.get(range).unwrap_or_default();
        match wide(points.len()) {
            Some(wide) => eight_at_a_time(wide, points, scalars),
            None => {
                let products = points.iter().zip(scalars).map(|(point, scalar)| *point * scalar);
                to_affine(products.collect())
            }
        }
    })
}

/// So many products, in parts that are kept in a processor's cache, and on the caller's threads.
pub(super) fn many<G: Group>(
    count: usize,
    products: impl Fn(Range<usize>) -> Vec<Affine<G>> + Sync,
) -> Vec<Affine<G>> {
    let parts = in_parts(count, LEAST, |range| {
        let starts = range.clone().step_by(MOST);
        let parts = starts.map(|start| products(start..range.end.min(start + MOST)));
        parts.map(Zeroizing::new).collect::<Vec<_>>()
    });
    let mut all = Vec::with_capacity(count);
    parts.iter().flatten().for_each(|part| all.extend_from_slice(part));
    all
}

/// Whether so many are done eight at a time.
pub(super) fn wide(count: usize) -> Option<Wide> {
    Wide::detect().filter(|_| count >= LEAST)
}

/// Products that were made one by one.
pub(super) fn to_affine<G: Group>(products: Vec<Projective<G>>) -> Vec<Affine<G>> {
    Projective::batch_to_affine(&Zeroizing::new(products))
}

fn eight_at_a_time<G: Group>(
    wide: Wide,
    points: &[Affine<G>],
    scalars: &[Scalar],
) -> Vec<Affine<G>> {
    let half = Scalar::from_u64(2).invert().unwrap_or_default();
    let mut digits = Digits::new(scalars.len(), WINDOWS, WINDOW);
    for (at, scalar) in scalars.iter().enumerate() {
        let mut halved = (*scalar - Scalar::ONE) * half;
        let mut number = halved.to_le_bytes();
        let [.., highest] = &mut number;
        *highest |= 0x80;
        digits.set(at, &number);
        halved.zeroize();
        number.zeroize();
    }
    // Lanes know no identity.
    let mut bases = points.to_vec();
    bases.resize(points.len().next_multiple_of(LANES), Affine::identity());
    for base in bases.iter_mut().filter(|base| base.is_identity()) {
        *base = Affine::generator();
    }
    let mut products = wide.multiply_each(&bases, &digits);
    products.truncate(points.len());
    for (product, _) in products.iter_mut().zip(points).filter(|(_, point)| point.is_identity()) {
        *product = Affine::identity();
    }
    products
}

/// Windows of secret numbers: the lowest of all numbers, then the next. Lanes that are left over have zeros.
pub(super) struct Digits {
    width: usize,
    count: usize,
    values: Zeroizing<Vec<u8>>,
}

impl Digits {
    /// For so many numbers of so many windows.
    pub(super) fn new(count: usize, windows: usize, width: usize) -> Self {
        let count = count.next_multiple_of(LANES);
        Self { width, count, values: Zeroizing::new(vec![0; count * windows]) }
    }

    /// The number at this place, little-endian.
    pub(super) fn set(&mut self, at: usize, number: &[u8; 32]) {
        let places = self.values.iter_mut().skip(at).step_by(self.count.max(1));
        places.zip(windows(number, self.width)).for_each(|(place, digit)| *place = digit);
    }

    /// Bits of a window.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// So many times eight numbers.
    pub(super) fn places(&self) -> usize {
        self.count / LANES
    }

    /// Entries of a table of odd multiples: half as many as a digit has values.
    pub(super) fn entries(&self) -> usize {
        1 << (self.width - 1)
    }

    /// From the lowest up; in each the numbers by eights.
    pub(super) fn windows(
        &self,
    ) -> impl DoubleEndedIterator<Item = &[[u8; LANES]]> + ExactSizeIterator {
        self.values.chunks_exact(self.count.max(1)).map(|window| window.as_chunks().0)
    }
}

/// The windows of a little-endian number from the lowest up, with zeros above it.
pub(super) fn windows(number: &[u8; 32], width: usize) -> impl Iterator<Item = u8> {
    (0_usize..).map(move |window| {
        let (byte, bit) = (window * width / 8, window * width % 8);
        let [low, high] = [byte, byte + 1].map(|at| number.get(at).copied().unwrap_or_default());
        let [digit, _] =
            (u16::from_le_bytes([low, high]) >> bit & ((1 << width) - 1)).to_le_bytes();
        digit
    })
}
