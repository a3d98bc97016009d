//! Values of a polynomial in the exponent. For consecutive points, small numbers take the place of
//! scalars.
//!
//! All of `g^f(1), …, g^f(n)` come from finite differences as in `polynomial::differences`:
//!
//! ```text
//! p ← X·p + c      D₀ ← c,  Dₖ ← k·(Dₖ + Dₖ₋₁)        for each coefficient, from the highest
//! x ← x + 1        Dₖ ← Dₖ + Dₖ₊₁                     for each share
//! ```
//!
//! Finding the differences takes `t²/2` multiplications by small numbers, so a long polynomial is cut
//! into blocks `p = Σᵦ X^(Bβ)·pᵦ` of `B` coefficients, and their values are put together:
//!
//! ```text
//! g^p(x) = ∏ᵦ (g^pᵦ(x))^(x^(Bβ))
//! ```
//!
//! Both steps work on all orders `k` at once, so they are batches of affine additions; `k·P` is a sum
//! of `2ⁱ·P` over the signed digits of `k` (non-adjacent form). The sums for all `k` advance
//! together; with the feature `parallel`, each of several parts advances separately.
//!
//! For roots of unity the Fourier transform is used, with a multiplication by a full scalar in each
//! butterfly. Commitments and points are public: nothing here is constant time.
use alloc::vec;
use alloc::vec::Vec;

use crate::curve::hazmat::in_parts;
use crate::curve::hazmat::{Factor, vartime_add_cells, vartime_add_pairs, vartime_sums};
use crate::curve::{Affine, Group, Projective, Scalar};
use crate::polynomial::Domain;

/// With fewer points than this, a separate thread costs more than it saves.
const LEAST: usize = 64;
/// Number of coefficients of a block. With more, finding the differences takes too long; with fewer,
/// too many values must be put together.
const BLOCK: usize = 128;

/// Horner's rule at one small number.
pub(super) fn at_number<G: Group>(coefficients: &[Affine<G>], x: u32) -> Projective<G> {
    let times_x = |point: Projective<G>| {
        let bits = (0..u32::BITS - x.leading_zeros()).rev();
        bits.fold(Projective::identity(), |sum: Projective<G>, bit| {
            let double = sum.double();
            if x >> bit & 1 == 1 { double + point } else { double }
        })
    };
    let horner = |sum, coefficient: &Affine<G>| times_x(sum) + *coefficient;
    coefficients.iter().rev().fold(Projective::identity(), horner)
}

/// The values at `1, …, count`.
pub(super) fn at_numbers<G: Group>(coefficients: &[Affine<G>], count: usize) -> Vec<Affine<G>> {
    let mut parts = coefficients.chunks(BLOCK).map(|part| by_differences(part, count));
    let Some(mut values) = parts.next() else { return vec![Affine::identity(); count] };
    let higher: Vec<Vec<Affine<G>>> = parts.collect();
    if higher.is_empty() {
        return values;
    }
    let sums = in_parts(count, LEAST, |range| {
        let terms: Vec<_> = range.clone().flat_map(|at| scaled(&higher, at)).collect();
        let ends: Vec<usize> = range.zip(1..).map(|(_, sums)| sums * higher.len()).collect();
        vartime_sums(&terms, &ends)
    });
    vartime_add_pairs(&mut values, &sums.concat());
    values
}

/// The terms that all parts but the first add at `x = at + 1`: their values, times `x^B`, `x^2B` and
/// so on.
fn scaled<G: Group>(parts: &[Vec<Affine<G>>], at: usize) -> Vec<(Affine<G>, Factor<G>)> {
    let x = u64::try_from(at + 1).unwrap_or(u64::MAX);
    let step = Scalar::from_u64(x).vartime_pow(u64::try_from(BLOCK).unwrap_or(u64::MAX));
    let powers = core::iter::successors(Some(step), |power| Some(*power * step));
    let values = parts.iter().filter_map(|part| part.get(at).copied());
    values.zip(powers).map(|(value, power)| (value, Factor::new(&power))).collect()
}

fn by_differences<G: Group>(coefficients: &[Affine<G>], count: usize) -> Vec<Affine<G>> {
    // A difference of higher order than there are steps never reaches a value.
    let orders = coefficients.len().min(count + 1);
    let mut differences = Vec::with_capacity(orders);
    for coefficient in coefficients.iter().rev() {
        horner(&mut differences, coefficient, orders);
    }
    let mut values = Vec::with_capacity(count);
    for left in (0..count).rev() {
        let above: Vec<Affine<G>> = differences.iter().skip(1).take(left + 1).copied().collect();
        vartime_add_pairs(&mut differences, &above);
        values.extend(differences.first());
    }
    values
}

/// Replaces the differences of `p` by those of `X·p + coefficient`. Only orders below `orders` are
/// kept.
fn horner<G: Group>(differences: &mut Vec<Affine<G>>, coefficient: &Affine<G>, orders: usize) {
    let below = differences.clone();
    differences.push(Affine::identity());
    differences.truncate(orders);
    let (constant, above) = match differences.as_mut_slice() {
        [constant, above @ ..] => (constant, above),
        [] => return,
    };
    *constant = *coefficient;
    vartime_add_pairs(above, &below);
    let parts = in_parts(above.len(), LEAST, |range| {
        multiples(above.get(range.clone()).unwrap_or_default(), range.start)
    });
    above.copy_from_slice(&parts.concat());
}

/// The multiples of the points: the first times `before + 1`, the second times `before + 2`, and so
/// on.
fn multiples<G: Group>(points: &[Affine<G>], before: usize) -> Vec<Affine<G>> {
    let mut powers = points.to_vec();
    let mut terms = Vec::with_capacity(3 * points.len());
    for position in 0.. {
        for (at, (power, place)) in powers.iter().zip((1_u64..).skip(before)).enumerate() {
            match digit(place, position) {
                Digit::Zero => {}
                Digit::Plus => terms.push((at, *power)),
                Digit::Minus => terms.push((at, -*power)),
            }
        }
        // Only numbers `k` that have digits above this position continue: `3k` has a bit there.
        let first = (4_usize << position).div_ceil(3).saturating_sub(before + 1);
        let Some(rest) = powers.get_mut(first..).filter(|rest| !rest.is_empty()) else { break };
        let same = rest.to_vec();
        vartime_add_pairs(rest, &same);
    }
    vartime_add_cells(points.len(), &terms)
}

enum Digit {
    Zero,
    Plus,
    Minus,
}

/// The digit at `2^position` of the non-adjacent form, which is `3k − k` without carries, halved.
fn digit(number: u64, position: u32) -> Digit {
    let bit = |n: u64| n >> (position + 1) & 1 == 1;
    match (bit(3 * number), bit(number)) {
        (true, false) => Digit::Plus,
        (false, true) => Digit::Minus,
        _ => Digit::Zero,
    }
}

/// The values at the first `count` points of a domain.
pub(super) fn at_roots<G: Group>(
    coefficients: &[Affine<G>],
    domain: &Domain,
    count: usize,
) -> Vec<Affine<G>> {
    let mut values = vec![Projective::identity(); domain.size()];
    // On the domain `X^size = 1`, so higher coefficients fold onto lower ones.
    for part in coefficients.chunks(domain.size()) {
        values.iter_mut().zip(part).for_each(|(value, coefficient)| *value += *coefficient);
    }
    domain.transform_with(&mut values, |a, b, twiddle| {
        let scaled = if *twiddle == Scalar::ONE || b.is_identity() { *b } else { *b * *twiddle };
        (*a, *b) = (*a + scaled, *a - scaled);
    });
    values.truncate(count);
    Projective::batch_to_affine(&values)
}
