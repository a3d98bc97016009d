//! Finds the equations that are at fault when a batched check fails.
//!
//! A batch multiplies many equations, each raised to its own random 128-bit coefficient `τᵢ`, into
//! one. Let `dᵢ` be the error of equation `i`, raised to its coefficient; a correct equation has
//! `dᵢ = 1`. `i` counts from one. The search uses two products:
//!
//! ```text
//! D = ∏ᵢ dᵢ          the batch
//! E = ∏ᵢ dᵢ^i        the same with coefficients i·τᵢ
//! ```
//!
//! If `E = D^k` for a `k` in the range, then `k` is the only culprit there: with other culprits,
//! `∏ᵢ dᵢ^(i−k) = 1` would have to hold, which has probability 2⁻¹²⁸ over random `τᵢ`. If there is no
//! such `k`, the range is halved. The error of the right half is a quotient, so it needs no other
//! product. One culprit thus costs one more batch, however many equations there are. The same
//! coefficients are used for every part. They were drawn after all errors were fixed, so each of the
//! at most `2n` parts hides an error with probability 2⁻¹²⁸. After Law and Matt, "Finding invalid
//! signatures in pairing-based batches" (2007).
//!
//! The equations are in [`bls`](crate::bls), [`wvuf`](crate::wvuf) and the crate `prefinal_pvss_dkg`. The
//! coefficients come from [`challenge`](crate::challenge).
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Range;

use crate::curve::hazmat::Gt;

/// The factor by which the coefficients of a batch are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The factor one: the coefficients stay as they are.
    One,
    /// The place of the equation in the batch, counted from one.
    Place,
}

impl Weight {
    /// The product of the coefficient and the factor for the equation at `position`, which is counted
    /// from zero. Little-endian.
    #[must_use]
    pub fn apply(self, coefficient: u128, position: usize) -> [u8; 24] {
        let place = match self {
            Self::One => 1,
            Self::Place => u128::try_from(position + 1).unwrap_or(u128::MAX),
        };
        let (low, high) = coefficient.carrying_mul(place, 0);
        let mut bytes = [0; 24];
        bytes
            .iter_mut()
            .zip(low.to_le_bytes().into_iter().chain(high.to_le_bytes()))
            .for_each(|(to, byte)| *to = byte);
        bytes
    }
}

/// The positions in `0..len` whose equation does not hold. `len` is at most 2³². `product` must
/// multiply the equations in a range, with weighted coefficients; it is never called with an empty
/// range.
///
/// ```
/// use prefinal_crypto_core::bisect::{Weight, locate};
/// use prefinal_crypto_core::curve::hazmat::{pairing, vartime_msm_bytes};
/// use prefinal_crypto_core::curve::{G1Affine, G2Affine};
/// // Each "equation" says that a point is the identity; two of them do not hold.
/// let mut points = [G1Affine::identity(); 8];
/// points[2] = G1Affine::generator();
/// points[6] = G1Affine::generator();
/// let found = locate(points.len(), |range, weight: Weight| {
///     // In earnest, coefficients come from a transcript.
///     let powers: Vec<_> = range.clone().map(|at| weight.apply(1 + at as u128, at)).collect();
///     let sum = vartime_msm_bytes(&points[range], &powers).to_affine();
///     pairing(&sum, &G2Affine::generator())
/// });
/// assert_eq!(found, [2, 6].into());
/// ```
pub fn locate(len: usize, mut product: impl FnMut(Range<usize>, Weight) -> Gt) -> BTreeSet<usize> {
    if len == 0 {
        return BTreeSet::new();
    }
    let plain = product(0..len, Weight::One);
    locate_in(len, plain, product)
}

/// Like [`locate`], for at least one equation, if the caller already has the product of all
/// equations.
pub(crate) fn locate_in(
    len: usize,
    plain: Gt,
    mut product: impl FnMut(Range<usize>, Weight) -> Gt,
) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    if plain == Gt::one() {
        return found;
    }
    if len == 1 {
        found.insert(0);
    } else {
        let weighted = product(0..len, Weight::Place);
        descend(0..len, (plain, weighted), &mut product, &mut found);
    }
    found
}

/// Searches a range that is known to fail and has these two products.
fn descend(
    range: Range<usize>,
    (plain, weighted): (Gt, Gt),
    product: &mut impl FnMut(Range<usize>, Weight) -> Gt,
    found: &mut BTreeSet<usize>,
) {
    if range.len() == 1 {
        found.extend(range);
        return;
    }
    if let Some(culprit) = exponent(plain, weighted, &range) {
        found.insert(culprit);
        return;
    }
    let middle = range.start.midpoint(range.end);
    let (left, right) = (range.start..middle, middle..range.end);
    let left_plain = product(left.clone(), Weight::One);
    let right_plain = plain * left_plain.invert();
    if left_plain == Gt::one() {
        return descend(right, (plain, weighted), product, found);
    }
    if right_plain == Gt::one() {
        return descend(left, (plain, weighted), product, found);
    }
    // For a range of one equation, the weighted product is the plain one to the power of its place.
    let left_weighted = match (left.len(), right.len()) {
        (1, _) => power(left_plain, left.end),
        (_, 1) => weighted * power(right_plain, right.end).invert(),
        _ => product(left.clone(), Weight::Place),
    };
    let right_weighted = weighted * left_weighted.invert();
    descend(left, (left_plain, left_weighted), product, found);
    descend(right, (right_plain, right_weighted), product, found);
}

/// The position in the range whose place `k` satisfies `plain^k = weighted`, found by baby steps and
/// giant steps.
fn exponent(plain: Gt, weighted: Gt, range: &Range<usize>) -> Option<usize> {
    let step = range.len().isqrt().max(1);
    let mut baby = Vec::with_capacity(step);
    let mut next = Gt::one();
    for _ in 0..step {
        baby.push(next);
        next *= plain;
    }
    let giant = next.invert();
    let mut rest = weighted * power(plain, range.start + 1).invert();
    for above in range.clone().step_by(step) {
        if let Some(small) = baby.iter().position(|power| *power == rest) {
            return Some(above + small).filter(|position| range.contains(position));
        }
        rest *= giant;
    }
    None
}

fn power(base: Gt, exponent: usize) -> Gt {
    let bits = usize::BITS - exponent.leading_zeros();
    (0..bits).rev().fold(Gt::one(), |power, bit| {
        let square = power * power;
        if exponent >> bit & 1 == 1 { square * base } else { square }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::hazmat::pairing;
    use crate::curve::{G1Affine, G2Affine, Scalar};

    /// As `locate` sees a batch in which some equations are off, and how often it looked.
    fn located(len: usize, faulty: impl Fn(usize) -> bool) -> (BTreeSet<usize>, usize) {
        let base = pairing(&G1Affine::generator(), &G2Affine::generator());
        // Any coefficients: what matters is that no sum of them vanishes by accident.
        let error = |at: usize| Scalar::from_u64(u64::try_from(at).unwrap() * 7919 + 1).invert();
        let mut calls = 0;
        let found = locate(len, |range, weight| {
            assert!(!range.is_empty());
            calls += 1;
            let place = |at: usize| match weight {
                Weight::One => Scalar::ONE,
                Weight::Place => Scalar::from_u64(u64::try_from(at).unwrap() + 1),
            };
            let off = range.filter(|at| faulty(*at)).map(|at| error(at).unwrap() * place(at));
            base.vartime_pow(&off.sum())
        });
        (found, calls)
    }

    #[test]
    fn every_set_of_culprits_is_located_exactly() {
        for len in 0..7_usize {
            for faults in 0..1_u32 << len {
                let faulty = |at: usize| faults >> at & 1 == 1;
                let expected = (0..len).filter(|at| faulty(*at)).collect();
                assert_eq!(located(len, faulty).0, expected, "{len} {faults:b}");
            }
        }
    }

    #[test]
    fn one_culprit_costs_one_more_batch_wherever_it_is() {
        for culprit in [0, 1, 30, 31, 32, 33, 998, 999] {
            let (found, calls) = located(1000, |at| at == culprit);
            assert_eq!((found, calls), (BTreeSet::from([culprit]), 2));
        }
        let (found, calls) = located(1000, |at| at == 3 || at == 997);
        assert_eq!((found, calls), (BTreeSet::from([3, 997]), 4));
    }

    #[test]
    fn coefficients_keep_all_their_bits() {
        let bytes = |number: u128, above: u64| {
            let mut bytes = number.to_le_bytes().to_vec();
            bytes.extend(above.to_le_bytes());
            bytes
        };
        assert_eq!(Weight::One.apply(u128::MAX, 1 << 19).to_vec(), bytes(u128::MAX, 0));
        assert_eq!(Weight::Place.apply(u128::MAX, 2).to_vec(), bytes(u128::MAX - 2, 2));
    }
}
