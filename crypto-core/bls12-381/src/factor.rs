//! Public factors, cut into short digits by the endomorphisms of the two groups.
//!
//! With `z = 0xd201000000010000` the curve has `r = z⁴ − z² + 1`, and each group a map that costs two
//! or four field multiplications and acts as a power of `z`:
//!
//! ```text
//! 𝔾₁: (x, y) ↦ (β·x, −y)             is P ↦ z²·P      β a cube root of unity
//! 𝔾₂: (x, y) ↦ (c·x̄, −d·ȳ)           is P ↦ z·P       untwist, Frobenius, twist
//! ```
//!
//! So a scalar is cut into two digits to the base `z²` or four digits to the base `z`, and `k·P`
//! becomes two products with half the doublings, or four products with a quarter of them. After
//! Gallant, Lambert and Vanstone (2001), and Galbraith, Lin and Scott ([eprint
//! 2008/117](https://eprint.iacr.org/2008/117)).
//!
//! A random coefficient may be chosen so that its digits are short: [`challenge`] turns 128 bits into
//! `c₀ + c₁z + c₂z² + c₃z³` with digits of 32 bits. Different bits give different scalars, because
//! `cᵢ < z` and the sum is below `r`. So these coefficients are as good as numbers of 128 bits.
//!
//! The time depends on all inputs, so they must be public.
use core::marker::PhantomData;

use crate::group::{Group, Z};
use crate::scalar::Scalar;

/// The greatest number of digits into which a group cuts a scalar.
const MOST: usize = 4;
/// Number of bits of a challenge's digit.
const SHORT: u32 = 32;

/// A public factor, cut into digits for the endomorphism of the group.
#[derive(Clone, Copy, Debug)]
pub struct Factor<G: Group> {
    digits: [u128; MOST],
    group: PhantomData<G>,
}

impl<G: Group> Factor<G> {
    /// The factor that is equal to this scalar.
    #[must_use]
    pub fn new(scalar: &Scalar) -> Self {
        Self::from_le_bytes(&scalar.to_le_bytes())
    }

    /// A number in at most 32 bytes, little-endian.
    pub(crate) fn from_le_bytes(bytes: &[u8]) -> Self {
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

    /// The digits to the base `z²` in `𝔾₁`, or to the base `z` in `𝔾₂`.
    pub(crate) fn digits(&self) -> &[u128] {
        self.digits.get(..G::DIGITS).unwrap_or_default()
    }

    /// The factor that is equal to the scalar [`challenge`] of these bits.
    #[must_use]
    pub fn challenge(bits: u128) -> Self {
        Self::pack(short_digits(bits))
    }

    /// Packs digits to the base `z`.
    fn pack([a, b, c, d]: [u128; MOST]) -> Self {
        // Digits are below z, so pairs of them are below z².
        let digits = match G::DIGITS {
            2 => [a + b * u128::from(Z), c + d * u128::from(Z), 0, 0],
            _ => [a, b, c, d],
        };
        Self { digits, group: PhantomData }
    }
}

/// Turns 128 bits into a scalar `c₀ + c₁z + c₂z² + c₃z³`, where `c₀` has the lowest 32 bits.
/// Different bits give different scalars.
#[must_use]
pub fn challenge(bits: u128) -> Scalar {
    let digit = |digit: u128| Scalar::from_u64(u64::try_from(digit).unwrap_or(u64::MAX));
    let digits = short_digits(bits).into_iter().rev();
    digits.fold(Scalar::ZERO, |sum, short| sum * Scalar::from_u64(Z) + digit(short))
}

fn short_digits(bits: u128) -> [u128; MOST] {
    let mut shift = 0;
    [(); MOST].map(|()| {
        let digit = bits >> shift & ((1 << SHORT) - 1);
        shift += SHORT;
        digit
    })
}

/// The bytes as limbs, lowest first.
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
