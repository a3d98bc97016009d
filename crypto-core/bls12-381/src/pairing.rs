//! The pairing `e: 𝔾₁ × 𝔾₂ → 𝔾_T`.
//!
//! A pairing is a Miller loop and a final exponentiation. Equations are checked as one product,
//! `∏ e(Pᵢ, Qᵢ) = 1`, with one loop over all terms (they share the squarings) and one exponentiation.
//! A term with the identity contributes the factor one.
//!
//! If the processor has eight lanes (`lanes`), eight loops run at a time, each with its own
//! squarings. This is faster from four terms on, and many terms take a quarter of the time. The
//! results of these loops differ from the backend's by factors that the final exponentiation removes.
//! So a [`MillerLoop`] can be multiplied, but not compared or encoded. The only branches on values
//! there are those on whether a point is the identity. Secrets come in one or two terms (`timelock`)
//! and never use the lanes, because the lanes do not wipe what they leave on the stack.
//!
//! The byte encoding of `𝔾_T` lists the coefficients of `w⁰, w¹, …, w⁵` in
//! `𝔽p² = 𝔽p[u]/(u² + 1)`, `𝔽p¹² = 𝔽p²[w]/(w⁶ − u − 1)`: for each the constant, then the coefficient of
//! `u`, 48 bytes each, big-endian.
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Mul, MulAssign};

use zeroize::Zeroize;

use crate::backend::{self, Fp12, G1, G2};
use crate::group::Group;
use crate::lanes::{LANES, Wide};
use crate::many::in_parts;
use crate::points::{G1Affine, G2Affine};
use crate::scalar::Scalar;

/// The smallest number of terms for which a separate thread pays off. They take half a millisecond.
const LEAST_TERMS: usize = 4;
/// With fewer terms, the backend computes them one by one. Eight lanes take as long as three terms
/// there.
const LEAST_WIDE: usize = 4;
/// This many terms share their squarings. They take 300 KB, which fits into a processor's cache.
const MOST_WIDE: usize = 32 * LANES;
/// One group of eight full lanes already pays for a separate thread.
const LEAST_EIGHTS: usize = 1;

/// A pair of points in the backend's representation.
type Term = (<G1 as Group>::RawAffine, <G2 as Group>::RawAffine);

/// An element of the target group `𝔾_T`, the value of pairings.
#[derive(Clone, Copy)]
pub struct Gt(Fp12);

impl Gt {
    /// Length of an encoding in bytes.
    pub const BYTES: usize = 576;

    /// The neutral element of multiplication.
    #[must_use]
    pub fn one() -> Self {
        Self(backend::fp12_one())
    }

    /// The multiplicative inverse. In this group it is the conjugate, so it costs little.
    #[must_use]
    pub fn invert(&self) -> Self {
        Self(backend::fp12_conjugate(&self.0))
    }

    /// The power `self^exponent`. The time depends on the exponent.
    #[must_use]
    pub fn vartime_pow(&self, exponent: &Scalar) -> Self {
        let mut power = Self::one();
        for byte in exponent.to_bytes() {
            for bit in (0..u8::BITS).rev() {
                power = Self(backend::fp12_cyclotomic_square(&power.0));
                if byte >> bit & 1 == 1 {
                    power *= *self;
                }
            }
        }
        power
    }

    /// The encoding: 576 bytes in the order that the module describes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        backend::fp12_to_bytes(&self.0)
    }
}

impl Zeroize for Gt {
    fn zeroize(&mut self) {
        backend::fp12_wipe(&mut self.0);
    }
}

impl PartialEq for Gt {
    fn eq(&self, other: &Self) -> bool {
        backend::fp12_equal(&self.0, &other.0)
    }
}

impl Eq for Gt {}

impl fmt::Debug for Gt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gt(..)")
    }
}

impl Mul for Gt {
    type Output = Self;

    #[inline]
    fn mul(self, other: Self) -> Self {
        Self(backend::fp12_mul(&self.0, &other.0))
    }
}

impl MulAssign for Gt {
    fn mul_assign(&mut self, other: Self) {
        *self = *self * other;
    }
}

/// A product of pairings before the final exponentiation. A product needs only one exponentiation at
/// the end, so terms can be multiplied in as they arrive.
#[derive(Clone, Copy)]
pub struct MillerLoop(Fp12);

impl MillerLoop {
    /// The empty product, one.
    #[must_use]
    pub fn one() -> Self {
        Self(backend::fp12_one())
    }

    /// The product of the Miller loops over all terms.
    #[must_use]
    pub fn from_terms(terms: impl IntoIterator<Item = (G1Affine, G2Affine)>) -> Self {
        let mut terms: Vec<Term> = terms.into_iter().map(|(p, q)| (p.0, q.0)).collect();
        terms.retain(|(p, q)| !G1::is_identity_affine(p) && !G2::is_identity_affine(q));
        let parts = match Wide::detect() {
            Some(wide) if terms.len() >= LEAST_WIDE => wide_parts(wide, &terms),
            _ => in_parts(terms.len(), LEAST_TERMS, |range| {
                backend::miller_loop(terms.get(range).unwrap_or_default())
            }),
        };
        parts.into_iter().map(Self).fold(Self::one(), Mul::mul)
    }

    /// Finishes the computation and returns the product of the pairings.
    #[must_use]
    pub fn final_exponentiation(&self) -> Gt {
        Gt(backend::final_exponentiation(&self.0))
    }
}

/// Runs the loops over groups of eight terms. No term may contain the identity.
fn wide_parts(wide: Wide, terms: &[Term]) -> Vec<Fp12> {
    in_parts(terms.len().div_ceil(LANES), LEAST_EIGHTS, |eights| {
        let range = eights.start * LANES..terms.len().min(eights.end * LANES);
        let mut product = backend::fp12_one();
        for terms in terms.get(range).unwrap_or_default().chunks(MOST_WIDE) {
            for lane in wide.miller_loops::<G1, G2>(terms) {
                product = backend::fp12_mul(&product, &backend::fp12_from_words(&lane));
            }
        }
        product
    })
}

impl Zeroize for MillerLoop {
    fn zeroize(&mut self) {
        backend::fp12_wipe(&mut self.0);
    }
}

impl fmt::Debug for MillerLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MillerLoop(..)")
    }
}

impl Mul for MillerLoop {
    type Output = Self;

    #[inline]
    fn mul(self, other: Self) -> Self {
        Self(backend::fp12_mul(&self.0, &other.0))
    }
}

/// A product of pairings that should be one is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pairing equation does not hold")]
pub struct PairingMismatch;

impl PairingMismatch {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "pairing-mismatch"
    }
}

/// The pairing `e(p, q)`.
#[must_use]
pub fn pairing(p: &G1Affine, q: &G2Affine) -> Gt {
    MillerLoop::from_terms([(*p, *q)]).final_exponentiation()
}

/// The product of pairings `∏ e(Pᵢ, Qᵢ)`. It is one if there are no terms.
#[must_use]
pub fn pairing_product(terms: &[(G1Affine, G2Affine)]) -> Gt {
    MillerLoop::from_terms(terms.iter().copied()).final_exponentiation()
}

/// Checks `∏ e(Pᵢ, Qᵢ) = 1`.
///
/// # Errors
/// If the product is not one. With no terms, the product is one.
pub fn check_pairing_product(
    terms: impl IntoIterator<Item = (G1Affine, G2Affine)>,
) -> Result<(), PairingMismatch> {
    if MillerLoop::from_terms(terms).final_exponentiation() == Gt::one() {
        Ok(())
    } else {
        Err(PairingMismatch)
    }
}
