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
//! (width-5 NAF) over odd multiples, and the terms of a sum share their doublings (Straus). Multiples,
//! what is added between two doublings, and the doublings of many sums are batches of affine additions
//! (`batch`). Sums of some dozens of terms and more need less with buckets (`msm`).
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

use super::batch::vartime_add_cells;
use super::group::Z;
use super::msm;
use super::{Affine, Group, Projective, Scalar, vartime_add_pairs};

/// The most digits that a group cuts a scalar into.
const MOST: usize = 4;
/// Bits of a digit of a challenge.
const SHORT: u32 = 32;
/// Width of the signed windows: digits are odd, between −15 and 15.
const WIDTH: u32 = 5;
/// The multiples 1, 3, …, 15.
const MULTIPLES: usize = 1 << (WIDTH - 2);
/// Places of all digits of a scalar, with a carry for each: their windows end below these.
const PLACES: usize = 264;
/// So many sums are doubled side by side.
const MANY: usize = 24;
/// Terms whose points are added up at once: enough to share an inversion, few enough for the cache.
const TOGETHER: usize = 128;

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
        Self::from_le_bytes(&scalar.to_le_bytes())
    }

    /// A number in at most 32 bytes, little-endian.
    pub(super) fn from_le_bytes(bytes: &[u8]) -> Self {
        let mut rest = limbs(bytes);
        let [a, b, c] = [(); 3].map(|()| u128::from(divide(&mut rest)));
        match rest {
            [d, 0, ..] if d < Z => Self::pack([a, b, c, u128::from(d)]),
            // Above z⁴, so above the order.
            _ => {
                let mut wide = [0; 64];
                wide.iter_mut().rev().zip(bytes).for_each(|(to, byte)| *to = *byte);
                Self::new(&Scalar::from_wide(&wide))
            }
        }
    }

    /// To the base `z²` in `𝔾₁`, to the base `z` in `𝔾₂`.
    pub(super) fn digits(&self) -> &[u128] {
        self.digits.get(..G::DIGITS).unwrap_or_default()
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

/// `Σ factor·point` over the terms up to each of `ends`, which ascend, from where the one before ended.
#[must_use]
pub fn vartime_sums<G: Group>(terms: &[(Affine<G>, Factor<G>)], ends: &[usize]) -> Vec<Affine<G>> {
    let mut sums = Vec::with_capacity(ends.len());
    let (mut from, mut rest) = (0, ends);
    while !rest.is_empty() {
        // Sums that end within the first so many terms, at least one.
        let count = rest.partition_point(|end| *end < from + TOGETHER).max(1);
        let (own, others) = rest.split_at(count);
        let to = own.last().copied().unwrap_or(from).min(terms.len());
        let own: Vec<usize> = own.iter().map(|end| end.saturating_sub(from)).collect();
        let terms = terms.get(from..to).unwrap_or_default();
        match own.as_slice() {
            [_] if terms.len() >= msm::FEW => sums.push(msm::sum(terms).to_affine()),
            own => sums.extend(together(terms, own)),
        }
        (from, rest) = (to.max(from), others);
    }
    sums
}

/// The sums at once: first what is added at each place of each of them, then the doublings.
fn together<G: Group>(terms: &[(Affine<G>, Factor<G>)], ends: &[usize]) -> Vec<Affine<G>> {
    let (additions, places) = (at_places(terms, ends), PLACES / G::DIGITS);
    if ends.len() < MANY {
        let sums: Vec<_> = additions.chunks_exact(places).map(horner).collect();
        return Projective::batch_to_affine(&sums);
    }
    horner_all(&additions, places)
}

/// What is added at each place of each of the sums: `Σ 2ᵏ·termₖ` over its places is a sum.
pub(super) fn at_places<G: Group>(
    terms: &[(Affine<G>, Factor<G>)],
    ends: &[usize],
) -> Vec<Affine<G>> {
    let points: Vec<Affine<G>> = terms.iter().map(|(point, _)| *point).collect();
    let mut rows = terms.iter().zip(odd_multiples(&points));
    let places = PLACES / G::DIGITS;
    let (mut additions, mut start) = (Vec::new(), 0);
    for (sum, end) in ends.iter().enumerate() {
        for ((_, factor), mut row) in rows.by_ref().take(end.saturating_sub(start)) {
            for digit in factor.digits() {
                additions.extend(windows(*digit).filter_map(|(place, window)| {
                    let multiple = *row.get(usize::from(window.unsigned_abs() / 2))?;
                    Some((sum * places + place, if window < 0 { -multiple } else { multiple }))
                }));
                row.iter_mut().for_each(|point| *point = Affine(G::endomorphism(&point.0)));
            }
        }
        start = *end;
    }
    vartime_add_cells(ends.len() * places, &additions)
}

/// `Σ 2ᵏ·termₖ`
pub(super) fn horner<G: Group>(terms: &[Affine<G>]) -> Projective<G> {
    let terms = terms.iter().rev().skip_while(|term| term.is_identity());
    terms.fold(Projective::identity(), |sum: Projective<G>, term| {
        let double = sum.double();
        if term.is_identity() { double } else { double + *term }
    })
}

/// `Σ 2ᵏ·termₖ` of each so many terms, side by side.
fn horner_all<G: Group>(terms: &[Affine<G>], places: usize) -> Vec<Affine<G>> {
    let rows = || terms.chunks_exact(places);
    let mut sums = alloc::vec![Affine::identity(); rows().len()];
    for place in (0..places).rev() {
        let doubled = sums.clone();
        vartime_add_pairs(&mut sums, &doubled);
        let column: Vec<_> = rows().filter_map(|row| row.get(place)).copied().collect();
        vartime_add_pairs(&mut sums, &column);
    }
    sums
}

/// `P, 3P, 5P, …` for each point.
fn odd_multiples<G: Group>(points: &[Affine<G>]) -> Vec<[Affine<G>; MULTIPLES]> {
    let mut doubles = points.to_vec();
    vartime_add_pairs(&mut doubles, points);
    let mut rows: Vec<_> = points.iter().map(|point| [*point; MULTIPLES]).collect();
    let mut multiples = points.to_vec();
    for column in 1..MULTIPLES {
        vartime_add_pairs(&mut multiples, &doubles);
        for (row, multiple) in rows.iter_mut().zip(&multiples) {
            row.iter_mut().skip(column).take(1).for_each(|place| *place = *multiple);
        }
    }
    rows
}

/// The odd digits of the non-adjacent form of a number below 2¹²⁸ − 16, with their places.
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
fn limbs(bytes: &[u8]) -> [u64; 4] {
    let mut limbs = [0; 4];
    for (limb, bytes) in limbs.iter_mut().zip(bytes.chunks(8)) {
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

    use super::super::{G1, G2, vartime_msm_challenges};
    use super::*;

    fn scalars() -> Vec<Scalar> {
        let mut rng = ChaCha20Rng::seed_from_u64(41);
        let z = Scalar::from_u64(Z);
        let mut scalars =
            [0, 1, 2, 7, 8, 15, 16, u64::MAX, Z - 1, Z].map(Scalar::from_u64).to_vec();
        // The windows of these end one place above their digits.
        scalars.push(Scalar::from_u64(26 << 59));
        scalars.push(
            Scalar::from_u64(21 << 59) * Scalar::from_u64(1 << 32) * Scalar::from_u64(1 << 32),
        );
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
        assert_eq!(vartime_sums(&terms, &singles), Projective::batch_to_affine(&products));
        let ends = [0, 3, 3, 10, terms.len()];
        let mut start = 0;
        for (end, sum) in ends.into_iter().zip(vartime_sums(&terms, &ends)) {
            assert_eq!(
                sum,
                products[start..end].iter().copied().sum::<Projective<G>>().to_affine(),
                "{start}..{end}"
            );
            start = end;
        }
        assert!(vartime_sums::<G>(&[], &[]).is_empty());
    }

    #[test]
    fn sums_in_both_groups_are_those_of_single_products() {
        sums_are_those_of_single_products::<G1>();
        sums_are_those_of_single_products::<G2>();
    }

    #[test]
    fn sums_do_not_depend_on_what_is_added_up_together() {
        let count = 2 * TOGETHER + 44;
        let points = points::<G1>(u64::try_from(count).unwrap());
        let number = |at: usize| Scalar::from_u64(u64::try_from(at * at + 5).unwrap());
        let terms: Vec<_> =
            points.into_iter().zip((0..count).map(|at| Factor::new(&number(at)))).collect();
        let value = |at: usize| Scalar::from_u64(u64::try_from((at + 1) * (at + 1)).unwrap());
        for ends in [
            (1..=count).collect(),
            alloc::vec![count],
            alloc::vec![TOGETHER - 1, TOGETHER, TOGETHER, TOGETHER + 1, count],
            alloc::vec![0, 1, 2 * TOGETHER + 1, 2 * TOGETHER + 3],
        ] {
            let sums = vartime_sums(&terms, &ends);
            assert_eq!(sums.len(), ends.len());
            let mut start = 0;
            for (end, sum) in ends.into_iter().zip(sums) {
                let expected = (start..end).map(|at| number(at) * value(at)).sum::<Scalar>();
                assert_eq!(sum, (Projective::generator() * expected).to_affine(), "{start}..{end}");
                start = end;
            }
        }
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
        assert_eq!(vartime_sums(&terms, &singles), Projective::batch_to_affine(&products));
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
