//! Sums of few products, many of them, by the endomorphisms of the two groups.
//!
//! With `z = 0xd201000000010000` the curve has `r = z⁴ − z² + 1`, and each group a map that costs two
//! or four field multiplications and acts as a power of `z`:
//!
//! ```text
//! 𝔾₁: (x, y) ↦ (β·x, −y)             is P ↦ z²·P      β a cube root of unity
//! 𝔾₂: (x, y) ↦ (c·x̄, −d·ȳ)           is P ↦ z·P       untwist, Frobenius, twist
//! ```
//!
//! So a scalar is cut into two digits to the base `z²` or four to the base `z`, and `k·P` becomes two
//! products with half the doublings or four with a quarter. Digits are read as signed windows
//! (width-4 NAF) over odd multiples, and the terms of a sum share their doublings (Straus). For sums of
//! hundreds of terms Pippenger's buckets ([`vartime_msm`](super::vartime_msm)) need less.
//!
//! After Gallant, Lambert and Vanstone (2001), and Galbraith, Lin and Scott
//! ([eprint 2008/117](https://eprint.iacr.org/2008/117)).
//!
//! A random coefficient may be chosen so that its digits are short: [`challenge`] makes of 128 bits
//! `c₀ + c₁z + c₂z² + c₃z³` with digits of 32. Different bits give different scalars, for `cᵢ < z` and
//! the sum is below `r`, so such coefficients are as good as numbers of 128 bits.
//!
//! Time depends on everything.
use alloc::vec::Vec;
use core::marker::PhantomData;

use super::{Affine, Group, Projective, Scalar, vartime_msm_bits};

const Z: u64 = 0xd201_0000_0001_0000;
/// The most digits that a group cuts a scalar into.
const MOST: usize = 4;
/// Bits of a digit of a challenge.
const SHORT: u32 = 32;
/// Width of the signed windows: digits are odd, between −7 and 7.
const WIDTH: u32 = 4;
/// The multiples 1, 3, 5 and 7.
const MULTIPLES: usize = 1 << (WIDTH - 2);

/// A public factor, cut for the endomorphism of the group.
#[derive(Clone, Copy, Debug)]
pub struct Factor<G: Group> {
    digits: [u128; MOST],
    group: PhantomData<G>,
}

impl<G: Group> Factor<G> {
    /// The scalar itself.
    #[must_use]
    pub fn new(scalar: &Scalar) -> Self {
        let mut rest = limbs(scalar);
        let mut digits = [0; MOST];
        for digit in &mut digits {
            *digit = u128::from(divide(&mut rest));
        }
        Self::pack(digits)
    }

    /// The scalar that [`challenge`] makes of these bits.
    pub(crate) fn challenge(bits: u128) -> Self {
        Self::pack(short_digits(bits))
    }

    /// From digits to the base `z`.
    fn pack([a, b, c, d]: [u128; MOST]) -> Self {
        // Digits are below z, so pairs of them are below z².
        let digits = match G::DIGITS {
            2 => [a + b * u128::from(Z), c + d * u128::from(Z), 0, 0],
            _ => [a, b, c, d],
        };
        Self { digits, group: PhantomData }
    }
}

/// 128 bits as a scalar, one for each choice of bits: `c₀ + c₁z + c₂z² + c₃z³`, from the lowest.
pub(crate) fn challenge(bits: u128) -> Scalar {
    let digit = |digit: u128| Scalar::from_u64(u64::try_from(digit).unwrap_or(u64::MAX));
    let digits = short_digits(bits).into_iter().rev();
    digits.fold(Scalar::ZERO, |sum, short| sum * Scalar::from_u64(Z) + digit(short))
}

/// `Σ challenge(bitsᵢ)·pointᵢ` over as many terms as the shorter slice has.
pub(crate) fn vartime_msm_challenges<G: Group>(
    points: &[Affine<G>],
    bits: &[u128],
) -> Projective<G> {
    let mut scaled = Vec::with_capacity(G::DIGITS * points.len());
    let mut digits = Vec::with_capacity(scaled.capacity());
    for (point, bits) in points.iter().zip(bits) {
        let mut point = *point;
        for digit in Factor::<G>::challenge(*bits).digits.iter().take(G::DIGITS) {
            scaled.push(point);
            digits.push(digit.to_le_bytes());
            point = Affine(G::endomorphism(&point.0));
        }
    }
    let bits = if G::DIGITS == 2 { 96 } else { 32 };
    vartime_msm_bits(&scaled, &digits, bits)
}

/// `Σ factor·point` over the terms up to each of `ends`, from where the one before ended.
#[must_use]
pub fn vartime_sums<G: Group>(
    terms: &[(Affine<G>, Factor<G>)],
    ends: &[usize],
) -> Vec<Projective<G>> {
    let multiples: Vec<Projective<G>> =
        terms.iter().flat_map(|(point, _)| odd_multiples(point)).collect();
    let multiples = Projective::batch_to_affine(&multiples);
    let mut rows = terms.iter().zip(multiples.chunks_exact(MULTIPLES));
    let mut start = 0;
    let mut sums = Vec::with_capacity(ends.len());
    for end in ends {
        let own = rows.by_ref().take(end.saturating_sub(start));
        sums.push(interleave(own.map(|((_, factor), row)| (factor, row))));
        start = *end;
    }
    sums
}

/// `P, 3P, 5P, 7P`
fn odd_multiples<G: Group>(point: &Affine<G>) -> [Projective<G>; MULTIPLES] {
    let mut next = Projective::from(point);
    let double = next.double();
    [(); MULTIPLES].map(|()| {
        let multiple = next;
        next += double;
        multiple
    })
}

/// One sum: doublings in common, an addition for each digit of a window that is not zero.
fn interleave<'a, G: Group>(
    terms: impl Iterator<Item = (&'a Factor<G>, &'a [Affine<G>])>,
) -> Projective<G> {
    // Windows by their lowest bit.
    let mut additions: Vec<Vec<Affine<G>>> = Vec::new();
    for (factor, row) in terms {
        let mut row = row.to_vec();
        for digit in factor.digits.iter().take(G::DIGITS) {
            for (bit, window) in windows(*digit) {
                if additions.len() <= bit {
                    additions.resize_with(bit + 1, Vec::new);
                }
                let multiple = row.get(usize::from(window.unsigned_abs() / 2)).copied();
                if let (Some(multiple), Some(additions)) = (multiple, additions.get_mut(bit)) {
                    additions.push(if window < 0 { -multiple } else { multiple });
                }
            }
            row.iter_mut().for_each(|point| *point = Affine(G::endomorphism(&point.0)));
        }
    }
    additions.iter().rev().fold(Projective::identity(), |sum, additions| {
        additions.iter().fold(sum.double(), |sum, term| sum + *term)
    })
}

/// The odd digits of the non-adjacent form of a number below 2¹²⁸ − 8, with their places.
fn windows(number: u128) -> impl Iterator<Item = (usize, i8)> {
    let (mut rest, mut place) = (number, 0);
    core::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let zeros = rest.trailing_zeros();
        rest >>= zeros;
        place += usize::try_from(zeros).unwrap_or(0);
        let low = i8::try_from(rest % (1 << WIDTH)).unwrap_or(0);
        let window = if low >= 1 << (WIDTH - 1) { low - (1 << WIDTH) } else { low };
        rest = rest.wrapping_sub_signed(window.into());
        Some((place, window))
    })
}

fn short_digits(bits: u128) -> [u128; MOST] {
    let mut shift = 0;
    [(); MOST].map(|()| {
        let digit = bits >> shift & ((1 << SHORT) - 1);
        shift += SHORT;
        digit
    })
}

/// Lowest first.
fn limbs(scalar: &Scalar) -> [u64; 4] {
    let mut limbs = [0; 4];
    for (limb, bytes) in limbs.iter_mut().zip(scalar.to_le_bytes().chunks_exact(8)) {
        *limb = bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    }
    limbs
}

/// Divides by `z`, in place, and returns the remainder.
fn divide(number: &mut [u64; 4]) -> u64 {
    number.iter_mut().rev().fold(0, |above, limb| {
        let part = u128::from(above) << 64 | u128::from(*limb);
        *limb = u64::try_from(part / u128::from(Z)).unwrap_or(u64::MAX);
        u64::try_from(part % u128::from(Z)).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::super::{G1, G2};
    use super::*;

    fn scalars() -> Vec<Scalar> {
        let mut rng = ChaCha20Rng::seed_from_u64(41);
        let z = Scalar::from_u64(Z);
        let mut scalars =
            [0, 1, 2, 7, 8, 15, 16, u64::MAX, Z - 1, Z].map(Scalar::from_u64).to_vec();
        scalars.extend([-Scalar::ONE, z * z, z * z - Scalar::ONE, -(z * z), z * z * z]);
        scalars.extend((0..10).map(|_| Scalar::random(&mut rng)));
        scalars
    }

    fn points<G: Group>(count: u64) -> Vec<Affine<G>> {
        (1..=count).map(|k| (Affine::generator() * Scalar::from_u64(k * k)).to_affine()).collect()
    }

    fn the_map_is_a_power_of_z<G: Group>() {
        let z = Scalar::from_u64(Z);
        let power = if G::DIGITS == 2 { z * z } else { z };
        for point in points::<G>(3) {
            let mapped = Affine::<G>(G::endomorphism(&point.0));
            assert_eq!(mapped, (point * power).to_affine());
        }
        let identity = Affine::<G>::identity();
        assert!(Affine::<G>(G::endomorphism(&identity.0)).is_identity());
    }

    #[test]
    fn the_maps_are_powers_of_z() {
        the_map_is_a_power_of_z::<G1>();
        the_map_is_a_power_of_z::<G2>();
    }

    fn sums_are_those_of_single_products<G: Group>() {
        let scalars = scalars();
        let mut points = points::<G>(u64::try_from(scalars.len()).unwrap());
        points[5] = Affine::identity();
        // Equal and opposite points, so that an addition meets its own value.
        points[11] = points[12];
        points[13] = -points[14];
        let terms: Vec<_> = points.iter().copied().zip(scalars.iter().map(Factor::new)).collect();
        let products: Vec<_> = points.iter().zip(&scalars).map(|(p, k)| p * k).collect();
        let singles: Vec<usize> = (1..=terms.len()).collect();
        assert_eq!(vartime_sums(&terms, &singles), products);
        let ends = [0, 3, 3, 10, terms.len()];
        let mut start = 0;
        for (end, sum) in ends.into_iter().zip(vartime_sums(&terms, &ends)) {
            assert_eq!(sum, products[start..end].iter().copied().sum(), "{start}..{end}");
            start = end;
        }
        assert!(vartime_sums::<G>(&[], &[]).is_empty());
    }

    #[test]
    fn sums_in_both_groups_are_those_of_single_products() {
        sums_are_those_of_single_products::<G1>();
        sums_are_those_of_single_products::<G2>();
    }

    fn challenges_are_scalars_too<G: Group>() {
        let mut rng = ChaCha20Rng::seed_from_u64(42);
        let mut bits = alloc::vec![0, 1, u128::MAX, 1 << 32, 1 << 64, 1 << 96, u128::MAX << 96];
        bits.extend((0..5).map(|_| u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64())));
        let points = points::<G>(u64::try_from(bits.len()).unwrap());
        let products: Vec<_> =
            points.iter().zip(&bits).map(|(point, bits)| *point * challenge(*bits)).collect();
        let factors = bits.iter().map(|bits| Factor::challenge(*bits));
        let terms: Vec<_> = points.iter().copied().zip(factors).collect();
        let singles: Vec<usize> = (1..=terms.len()).collect();
        assert_eq!(vartime_sums(&terms, &singles), products);
        assert_eq!(vartime_msm_challenges(&points, &bits), products.into_iter().sum());
    }

    #[test]
    fn challenges_are_scalars_in_both_groups() {
        challenges_are_scalars_too::<G1>();
        challenges_are_scalars_too::<G2>();
        // Injective where the digits meet.
        let z = Scalar::from_u64(Z);
        assert_eq!(challenge(u128::MAX >> 96), Scalar::from_u64(u64::from(u32::MAX)));
        assert_eq!(challenge(1 << 32), z);
        assert_eq!(challenge(1 << 96), z * z * z);
    }
}
