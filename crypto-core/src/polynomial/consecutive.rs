//! Lagrange coefficients for shares at consecutive numbers.
//!
//! Let `dᵢ` be the difference between point `i` and the target. Then
//!
//! ```text
//! λᵢ = ∏_(j≠i) dⱼ/(dⱼ − dᵢ) = ± (∏ⱼ |dⱼ|) / Dᵢ      with Dᵢ = |dᵢ|·∏_(j≠i) |dⱼ − dᵢ|
//!    = ± (∏ⱼ |dⱼ| / L) · Mᵢ                        with L = lcm Dᵢ, Mᵢ = L/Dᵢ
//! ```
//!
//! The `Mᵢ` are integers without a common divisor, so no shorter ones exist. For the shares `1, …, t`
//! they are the binomials `C(t, i)`, and the factor is one; they have 64 bits for `t = 67`. For any
//! 67 of 100 shares they have about 160 bits, while a scalar has 255.
//!
//! The power of a prime `p` in `Dᵢ` is found by counting, not by division: the number of differences
//! that `q = p^k` divides is the number of other points, including the target, in the residue class
//! of `dᵢ` modulo `q`.
use alloc::vec;
use alloc::vec::Vec;

use super::coefficients::{Coefficients, Short};
use super::progression::{self, Factorials};
use crate::access::ShareIndex;
use crate::curve::Scalar;
use crate::curve::hazmat::batch_invert;

/// With more shares than this, no choice of them has short coefficients.
const MOST_SHARES: usize = 300;
/// If points are farther apart, coefficients are short only for very few shares, and finding them
/// takes longer than they save.
const WIDEST: u64 = 4096;
/// With fewer shares than this, multiplying out the gaps for each share is cheaper than the
/// transforms (measured).
const DIRECT: usize = 800;
/// Number of bits of a full scalar.
const FULL: usize = 255;

/// Coefficients for the value at the number `target`. There must be at least one index, and all must
/// be distinct.
pub(super) fn lagrange(indices: &[ShareIndex], target: u32) -> Coefficients {
    let offsets: Vec<i64> =
        indices.iter().map(|index| i64::from(index.get()) - i64::from(target)).collect();
    if offsets.contains(&0) {
        let unit = |offset: &i64| if *offset == 0 { Scalar::ONE } else { Scalar::ZERO };
        return Coefficients::full(offsets.iter().map(unit).collect());
    }
    match short(&offsets) {
        Some(short) => Coefficients::short(short),
        None => Coefficients::full(full(&offsets)),
    }
}

/// The coefficients at zero as scalars.
pub(super) fn lagrange_scalars(indices: &[ShareIndex]) -> Vec<Scalar> {
    let offsets: Vec<i64> = indices.iter().map(|index| i64::from(index.get())).collect();
    full(&offsets)
}

/// `λᵢ = −A(0) / (dᵢ·A'(dᵢ))` with `A = ∏ (X − dⱼ)`, in the cheapest of three ways.
fn full(offsets: &[i64]) -> Vec<Scalar> {
    let Some((lowest, highest)) = range(offsets) else { return Vec::new() };
    let span = usize::try_from(lowest.abs_diff(highest)).unwrap_or(usize::MAX);
    let gaps = (span + 1).saturating_sub(offsets.len());
    let count = offsets.len();
    let mut coefficients = if count * count < count.min(DIRECT) * gaps {
        through_chosen(offsets)
    } else {
        through_gaps(offsets, lowest, span)
    };
    let at_zero = progression::signed_product(offsets.iter().map(|d| -d));
    coefficients.iter_mut().for_each(|c| *c *= -at_zero);
    coefficients
}

/// `1 / (dᵢ·A'(dᵢ))`, computed directly. Takes quadratic time in the number of shares.
fn through_chosen(offsets: &[i64]) -> Vec<Scalar> {
    let mut denominators: Vec<Scalar> = offsets
        .iter()
        .map(|own| {
            let others = offsets.iter().filter(|other| *other != own);
            progression::signed_product(others.map(|other| own - other).chain([*own]))
        })
        .collect();
    batch_invert(&mut denominators);
    denominators
}

/// `1 / (dᵢ·A'(dᵢ))` by way of `B`, which vanishes on all numbers between the lowest and the highest
/// that are not chosen: `A'(dᵢ)·B(dᵢ)` is a product of two factorials.
fn through_gaps(offsets: &[i64], lowest: i64, span: usize) -> Vec<Scalar> {
    let place = |offset: i64| usize::try_from(offset.abs_diff(lowest)).unwrap_or(usize::MAX);
    let mut chosen = vec![false; span + 1];
    for offset in offsets {
        if let Some(slot) = chosen.get_mut(place(*offset)) {
            *slot = true;
        }
    }
    let gaps: Vec<usize> =
        chosen.iter().zip(0..).filter(|(chosen, _)| !**chosen).map(|(_, gap)| gap).collect();
    let factorials = Factorials::up_to(progression::reach(gaps.len(), span + 1));
    let b: Vec<Scalar> = if offsets.len() <= DIRECT {
        offsets.iter().map(|d| progression::vanishing_value(&gaps, place(*d))).collect()
    } else {
        let values = progression::vanishing_values(&gaps, span + 1, &factorials);
        offsets.iter().filter_map(|d| values.get(place(*d)).copied()).collect()
    };
    let mut coefficients: Vec<Scalar> = offsets.iter().map(|d| scalar(*d)).collect();
    batch_invert(&mut coefficients);
    for ((coefficient, offset), b) in coefficients.iter_mut().zip(offsets).zip(b) {
        let below = place(*offset);
        let above = span - below;
        let factor = b * factorials.inverse(below) * factorials.inverse(above);
        *coefficient *= if above.is_multiple_of(2) { factor } else { -factor };
    }
    coefficients
}

fn range(offsets: &[i64]) -> Option<(i64, i64)> {
    Some((*offsets.iter().min()?, *offsets.iter().max()?))
}

fn scalar(number: i64) -> Scalar {
    let magnitude = Scalar::from_u64(number.unsigned_abs());
    if number < 0 { -magnitude } else { magnitude }
}

/// The short form, if it is cheaper in the exponent. The offsets must be distinct and not zero.
fn short(offsets: &[i64]) -> Option<Short> {
    let (lowest, highest) = range(offsets)?;
    let span = lowest.min(0).abs_diff(highest.max(0));
    if offsets.len() > MOST_SHARES || span > WIDEST {
        return None;
    }
    let mut magnitudes = vec![Magnitude::ONE; offsets.len()];
    let mut common = Scalar::ONE;
    for prime in primes(span) {
        let exponents = exponents(offsets, prime, span);
        let most = exponents.iter().copied().max().unwrap_or(0);
        for (magnitude, exponent) in magnitudes.iter_mut().zip(exponents) {
            for _ in exponent..most {
                *magnitude = magnitude.multiply(prime)?;
            }
        }
        common *= Scalar::from_u64(prime).vartime_pow(most);
    }
    let product: Scalar = offsets.iter().map(|d| Scalar::from_u64(d.unsigned_abs())).product();
    let factor = product * common.invert()?;
    let bits = magnitudes.iter().map(Magnitude::bits).max()?;
    let extra = if factor == Scalar::ONE { 0 } else { FULL };
    if bits * offsets.len() + extra > FULL * offsets.len() || bits > FULL {
        return None;
    }
    let terms = magnitudes.into_iter().map(Magnitude::to_le_bytes).zip(signs(offsets)).collect();
    Some(Short { factor, terms, bits })
}

/// The power of `prime` in each `Dᵢ`.
fn exponents(offsets: &[i64], prime: u64, span: u64) -> Vec<u64> {
    let mut exponents = vec![0; offsets.len()];
    let mut power = prime;
    while power <= span {
        let class = |offset: i64| {
            let residue = offset.rem_euclid(i64::try_from(power).unwrap_or(i64::MAX));
            usize::try_from(residue).unwrap_or(usize::MAX)
        };
        let mut members = vec![0_u64; usize::try_from(power).unwrap_or(0)];
        for offset in offsets.iter().chain(&[0]) {
            if let Some(count) = members.get_mut(class(*offset)) {
                *count += 1;
            }
        }
        for (exponent, offset) in exponents.iter_mut().zip(offsets) {
            // The class contains the offset itself.
            *exponent += members.get(class(*offset)).map_or(0, |count| count - 1);
        }
        power *= prime;
    }
    exponents
}

/// Whether `λᵢ` is negative: the sign of `∏_(j≠i) dⱼ/(dⱼ − dᵢ)`.
fn signs(offsets: &[i64]) -> Vec<bool> {
    let mut order: Vec<(i64, usize)> = offsets.iter().copied().zip(0..).collect();
    order.sort_unstable();
    let below_zero = offsets.iter().filter(|offset| **offset < 0).count();
    let mut signs = vec![false; offsets.len()];
    for (rank, (offset, place)) in order.into_iter().enumerate() {
        let numerator = below_zero - usize::from(offset < 0);
        if let Some(sign) = signs.get_mut(place) {
            *sign = (numerator + rank) % 2 == 1;
        }
    }
    signs
}

/// All primes up to `limit`.
fn primes(limit: u64) -> impl Iterator<Item = u64> {
    (2..=limit).filter(|n| (2..).take_while(|d| d * d <= *n).all(|d| n % d != 0))
}

/// An integer of at most 256 bits, lowest limb first.
#[derive(Clone, Copy)]
struct Magnitude([u64; 4]);

impl Magnitude {
    const ONE: Self = Self([1, 0, 0, 0]);

    /// `None` if the product has more than 256 bits.
    fn multiply(self, factor: u64) -> Option<Self> {
        let mut limbs = self.0;
        let mut carry = 0;
        for limb in &mut limbs {
            (*limb, carry) = limb.carrying_mul(factor, carry);
        }
        (carry == 0).then_some(Self(limbs))
    }

    fn bits(&self) -> usize {
        let places = self.0.iter().zip([0, 64, 128, 192]);
        let ends = places.filter(|(limb, _)| **limb != 0).map(|(limb, below)| {
            below + usize::try_from(u64::BITS - limb.leading_zeros()).unwrap_or(64)
        });
        ends.max().unwrap_or(0)
    }

    fn to_le_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (to, limb) in bytes.chunks_exact_mut(8).zip(self.0) {
            to.copy_from_slice(&limb.to_le_bytes());
        }
        bytes
    }
}
