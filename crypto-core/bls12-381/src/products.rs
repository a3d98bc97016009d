//! Products of many points with a secret each.
//!
//! A secret is read in signed, odd digits (`lanes/digits.rs`). A scalar `k` times a point is 252 doublings and 63 additions from the top, after eight for the
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
//! Elsewhere: one point and many secrets ([`FixedBase`](crate::hazmat::FixedBase)).
use alloc::vec::Vec;
use core::ops::Range;

use zeroize::{Zeroize, Zeroizing};

use crate::group::Group;
use crate::lanes::{Digits, LANES, Wide};
use crate::many::in_parts;
use crate::points::{Affine, Projective};
use crate::scalar::Scalar;

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

/// Whether so many are done eight at a time.
pub(crate) fn wide(count: usize) -> Option<Wide> {
    Wide::detect().filter(|_| count >= LEAST)
}

/// Products that were made one by one.
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
pub(crate) fn half() -> Scalar {
    Scalar::from_u64(2).invert().unwrap_or_default()
}
