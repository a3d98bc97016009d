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
const WIDTH: usize = 4;
const WINDOWS: usize = 256 / WIDTH;
/// The fewest products that are worth a thread of their own, or eight lanes an inversion.
const LEAST: usize = 24;
/// At once, to be kept in a processor's cache.
const MOST: usize = 512;

/// Of each pair the product, over as many as the shorter slice has. Constant time in the scalars; points
/// are public. Products that are secret are the caller's to wipe.
///
/// Costs what `point * scalar` does for each, or, on processors with AVX-512 IFMA and for hundreds, a third.
#[must_use]
pub fn multiply_each<G: Group>(points: &[Affine<G>], scalars: &[Scalar]) -> Vec<Affine<G>> {
    let count = points.len().min(scalars.len());
    let (points, scalars) = (points.get(..count), scalars.get(..count));
    let (points, scalars) = (points.unwrap_or_default(), scalars.unwrap_or_default());
    in_batches(count, |range| {
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

/// So many products, in batches that are kept in a processor's cache, on the caller's threads.
pub(super) fn in_batches<G: Group>(
    count: usize,
    products: impl Fn(Range<usize>) -> Vec<Affine<G>> + Sync,
) -> Vec<Affine<G>> {
    let parts = in_parts(count, LEAST, |range| {
        let batches = range.len().div_ceil(MOST).max(1);
        let length = range.len().div_ceil(batches).max(1);
        let starts = range.clone().step_by(length);
        let batches = starts.map(|start| products(start..range.end.min(start + length)));
        batches.map(Zeroizing::new).collect::<Vec<_>>()
    });
    let mut all = Vec::with_capacity(count);
    parts.iter().flatten().for_each(|batch| all.extend_from_slice(batch));
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
    let half = half();
    let digits = Digits::<WIDTH>::new(WINDOWS, scalars, |scalar| {
        let mut halved = (*scalar - Scalar::ONE) * half;
        let mut number = halved.to_le_bytes();
        halved.zeroize();
        let [.., highest] = &mut number;
        *highest |= 0x80;
        number
    });
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

/// `1/2`
pub(super) fn half() -> Scalar {
    Scalar::from_u64(2).invert().unwrap_or_default()
}

/// Windows of secret numbers: the lowest of all numbers, then the next. Lanes that are left over have zeros.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only lanes read them"))]
pub(super) struct Digits<const WIDTH: usize> {
    count: usize,
    values: Zeroizing<Vec<u8>>,
}

impl<const WIDTH: usize> Digits<WIDTH> {
    /// So many windows of the little-endian number that is made of each scalar.
    pub(super) fn new(
        windows: usize,
        scalars: &[Scalar],
        number: impl Fn(&Scalar) -> [u8; 32],
    ) -> Self {
        let count = scalars.len().next_multiple_of(LANES).max(LANES);
        let mut values = Zeroizing::new(vec![0; count * windows]);
        for (at, scalar) in scalars.iter().enumerate() {
            let number = Zeroizing::new(number(scalar));
            let places = values.iter_mut().skip(at).step_by(count);
            places.zip(digits::<WIDTH>(&number)).for_each(|(place, digit)| *place = digit);
        }
        Self { count, values }
    }
}

#[cfg(target_arch = "x86_64")]
impl<const WIDTH: usize> Digits<WIDTH> {
    /// Entries of a table of odd multiples: half as many as a digit has values.
    pub(super) const ENTRIES: usize = 1 << (WIDTH - 1);

    /// So many times eight numbers.
    pub(super) fn places(&self) -> usize {
        self.count / LANES
    }

    /// From the lowest up; in each the numbers by eights.
    pub(super) fn windows(
        &self,
    ) -> impl DoubleEndedIterator<Item = &[[u8; LANES]]> + ExactSizeIterator {
        self.values.chunks_exact(self.count).map(|window| window.as_chunks().0)
    }
}

/// The windows of a little-endian number from the lowest up, with zeros above it.
pub(super) fn digits<const WIDTH: usize>(number: &[u8; 32]) -> impl Iterator<Item = u8> {
    (0_usize..).map(move |window| {
        let (byte, bit) = (window * WIDTH / 8, window * WIDTH % 8);
        let [low, high] = [byte, byte + 1].map(|at| number.get(at).copied().unwrap_or_default());
        let [digit, _] =
            (u16::from_le_bytes([low, high]) >> bit & ((1 << WIDTH) - 1)).to_le_bytes();
        digit
    })
}
