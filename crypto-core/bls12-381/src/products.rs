//! Products of many points, each with its own secret scalar.
//!
//! A secret is read in signed, odd digits (`lanes/digits.rs`). A scalar `k` times a point costs 252
//! doublings and 63 additions from the top, after eight additions for the odd multiples up to 15, by
//!
//! ```text
//! κ = 2²⁵⁵ + ((k − 1)/2 mod r)         2κ − (2²⁵⁶ − 1) ≡ k mod r         w = 4
//! ```
//!
//! If the processor can, this is done eight at a time in affine coordinates (`lanes`). Affine
//! addition fails for equal and opposite points. Only the last addition can meet these: before it, a
//! sum `A·P` has an odd `A` and becomes `16A·P`; then `d·P` is added with `|d| < 16 ≤ |16A|`, and
//! `|16A ± d| < 2²⁵³ < r`.
//!
//! For one point and many secrets, use [`FixedBase`](crate::hazmat::FixedBase).
use alloc::vec::Vec;
use core::ops::Range;

use zeroize::{Zeroize, Zeroizing};

use crate::group::Group;
use crate::lanes::{Digits, LANES, Wide};
use crate::many::in_parts;
use crate::points::{Affine, Projective};
use crate::scalar::Scalar;

/// Number of bits of a window.
const WIDTH: usize = 4;
const WINDOWS: usize = 256 / WIDTH;
/// The smallest number of products for which a separate thread, or an inversion shared by eight
/// lanes, pays off.
const LEAST: usize = 24;
/// Number of products that are computed at once, so that they stay in the processor's cache.
const MOST: usize = 512;

/// The product of each pair of a point and a scalar, for as many pairs as the shorter slice has.
/// Constant time in the scalars; the points must be public. The caller must wipe products that are
/// secret.
///
/// Each product costs as much as `point * scalar`. On processors with AVX-512 IFMA and for hundreds
/// of pairs, it costs a third of that.
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

/// Computes `count` products in batches that fit into a processor's cache, on the caller's threads.
pub(crate) fn in_batches<G: Group>(
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

/// `Some` if this many products are computed eight at a time.
pub(crate) fn wide(count: usize) -> Option<Wide> {
    Wide::detect().filter(|_| count >= LEAST)
}

/// Converts products that were computed one by one. They are wiped afterwards.
pub(crate) fn to_affine<G: Group>(products: Vec<Projective<G>>) -> Vec<Affine<G>> {
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
    // The lanes cannot represent the identity, so the generator takes its place.
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
pub(crate) fn half() -> Scalar {
    Scalar::from_u64(2).invert().unwrap_or_default()
}
