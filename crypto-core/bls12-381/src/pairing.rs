//! The pairing `e: 𝔾₁ × 𝔾₂ → 𝔾_T`.
//!
//! A pairing is a Miller loop and a final exponentiation. Equations are checked as one product,
//! `∏ e(Pᵢ, Qᵢ) = 1`: one loop over all terms (they share the squarings), one exponentiation. A term
//! with the identity contributes one.
//!
//! Where the processor has eight lanes (`lanes`), terms run in these, eight loops at a
//! time and each with squarings of its own: from four terms on that is faster, of many a quarter of the
//! time. The loops are not the backend's to the bit, but differ by factors that the final exponentiation
//! kills; so a [`MillerLoop`] can be multiplied, but neither compared nor written. No branch there depends
//! on a value but on whether a point is the identity. Secrets come in one or two terms (`timelock`) and
//! never get there, for what is left on the stack is not wiped.
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

/// The fewest terms that are worth a thread of their own: half a millisecond.
const LEAST_TERMS: usize = 4;
/// Fewer terms are computed by the backend, one by one: eight lanes take as long as three terms there.
const LEAST_WIDE: usize = 4;
/// So many share squarings: 300 KB, which processors have near them.
const MOST_WIDE: usize = 32 * LANES;
/// Eight lanes full are worth a thread of their own, too.
const LEAST_EIGHTS: usize = 1;

/// A pair as the backend has it.
type Term = (<G1 as Group>::RawAffine, <G2 as Group>::RawAffine);

/// An element of the target group.
#[derive(Clone, Copy)]
pub struct Gt(Fp12);

impl Gt {
    /// Bytes of an encoding.
    pub const BYTES: usize = 576;

    /// The neutral element.
    #[must_use]
    pub fn one() -> Self {
        Self(backend::fp12_one())
    }

    /// The inverse.
    #[must_use]
    pub fn invert(&self) -> Self {
        Self(backend::fp12_conjugate(&self.0))
    }

    /// `self^exponent`. The time depends on the exponent.
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

    /// 576 bytes in the order that the module describes.
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

/// Pairings before their final exponentiation. Products of these cost one exponentiation in the end,
/// so terms can be multiplied in as they arrive.
#[derive(Clone, Copy)]
pub struct MillerLoop(Fp12);

impl MillerLoop {
    /// The empty product.
    #[must_use]
    pub fn one() -> Self {
        Self(backend::fp12_one())
    }

    /// Product over all terms.
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

    /// The product of the pairings.
    #[must_use]
    pub fn final_exponentiation(&self) -> Gt {
        Gt(backend::final_exponentiation(&self.0))
    }
}

/// Loops over eights of the terms, in none of which is the identity.
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

/// A product of pairings that had to be one is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pairing equation does not hold")]
pub struct PairingMismatch;

/// `e(p, q)`.
#[must_use]
pub fn pairing(p: &G1Affine, q: &G2Affine) -> Gt {
    MillerLoop::from_terms([(*p, *q)]).final_exponentiation()
}

/// `∏ e(Pᵢ, Qᵢ)`; one for no terms.
#[must_use]
pub fn pairing_product(terms: &[(G1Affine, G2Affine)]) -> Gt {
    MillerLoop::from_terms(terms.iter().copied()).final_exponentiation()
}

/// Checks `∏ e(Pᵢ, Qᵢ) = 1`.
///
/// # Errors
/// If the product is not one. The product of no terms is.
pub fn check_pairing_product(
    terms: impl IntoIterator<Item = (G1Affine, G2Affine)>,
) -> Result<(), PairingMismatch> {
    if MillerLoop::from_terms(terms).final_exponentiation() == Gt::one() {
        Ok(())
    } else {
        Err(PairingMismatch)
    }
}
