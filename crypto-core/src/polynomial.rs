//! Polynomials over the scalars, which share a secret and recover it.
//!
//! | step        | equation                                        | by whom                    |
//! |-------------|-------------------------------------------------|----------------------------|
//! | share       | `f(X) = s + c₁X + … + c_(t−1)X^(t−1)`, `cᵢ` random | dealer                     |
//! | evaluate    | all `f(xⱼ)`, where `xⱼ` is the point of share `j` | dealer, constant time     |
//! | interpolate | `f(0) = Σᵢ λᵢ·f(xᵢ)`, `λᵢ = ∏_(j≠i) xⱼ/(xⱼ − xᵢ)` | anyone; the `xᵢ` are public |
//!
//! After Shamir (1979). Any `t` values fix `f`; with `t − 1` values every `s` is equally likely.
//!
//! [`Points`] holds the evaluation points of the shares, consecutive numbers or roots of unity, and
//! interpolates in `O(t log² t)` or better. [`lagrange_at_zero`] works for any points in quadratic
//! time.
//!
//! See also: [`crate::sharing`] for two polynomials with one constant, [`crate::commitment`] for a
//! polynomial in the exponent, [`crate::access`] for which party holds which share, and the crate
//! `prefinal_pvss_dkg` for the test that points in the exponent lie on one polynomial.
mod coefficients;
mod consecutive;
mod differences;
mod domain;
mod points;
mod progression;

use alloc::vec::Vec;
use core::num::NonZeroU32;

use rand_core::CryptoRng;

use crate::curve::Scalar;
use crate::curve::hazmat::batch_invert;
use crate::secret::Secret;

pub use self::coefficients::Coefficients;
pub use self::domain::Domain;
pub use self::points::{CountError, InterpolationError, Placement, Points};

/// A secret polynomial, wiped on drop.
///
/// ```compile_fail,E0308
/// use prefinal_crypto_core::polynomial::Polynomial;
/// fn twice(f: &Polynomial) -> (Polynomial, Polynomial) {
///     (f.clone(), f.clone())
/// }
/// ```
///
/// ```
/// use prefinal_crypto_core::curve::Scalar;
/// use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
/// use prefinal_crypto_core::secret::Secret;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// let secret = Secret::new(Scalar::random(&mut rng));
/// let f = Polynomial::random(3.try_into()?, &secret, &mut rng); // three shares rebuild the secret
/// assert!(f.evaluate(&Scalar::ZERO).expose() == secret.expose());
/// let points = Points::new(Placement::Consecutive, 5)?;
/// let shares = f.shares(&points);
/// assert!(shares.expose()[0] == *f.evaluate(&Scalar::ONE).expose());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Polynomial {
    /// Lowest degree first; never empty.
    coefficients: Secret<Vec<Scalar>>,
}

impl Polynomial {
    /// Draws a polynomial uniformly among those of degree below `t` with this constant term.
    pub fn random(t: NonZeroU32, constant: &Secret<Scalar>, rng: &mut impl CryptoRng) -> Self {
        let mut coefficients = Vec::with_capacity(usize::try_from(t.get()).unwrap_or(usize::MAX));
        coefficients.push(*constant.expose());
        coefficients.extend((1..t.get()).map(|_| Scalar::random(rng)));
        Self { coefficients: Secret::new(coefficients) }
    }

    /// The value `f(point)`, by Horner's rule in constant time.
    #[must_use]
    pub fn evaluate(&self, point: &Scalar) -> Secret<Scalar> {
        let horner = |sum, coefficient: &Scalar| sum * point + *coefficient;
        Secret::new(self.coefficients.expose().iter().rev().fold(Scalar::ZERO, horner))
    }

    /// The values at all points, in the order of their indices, in constant time.
    #[must_use]
    pub fn shares(&self, points: &Points) -> Secret<Vec<Scalar>> {
        let count = usize::try_from(points.count()).unwrap_or(usize::MAX);
        Secret::new(match points.domain() {
            None => differences::values(self.coefficients.expose(), count),
            Some(domain) => {
                let mut values = self.values_over(domain);
                // The truncated values stay within the vector's capacity, which is wiped as well.
                values.truncate(count);
                values
            }
        })
    }

    /// `f(ω^k)` for every `k` below the domain's size, in constant time.
    #[must_use]
    pub fn evaluate_over(&self, domain: &Domain) -> Secret<Vec<Scalar>> {
        Secret::new(self.values_over(domain))
    }

    pub(crate) fn coefficients(&self) -> &Secret<Vec<Scalar>> {
        &self.coefficients
    }

    fn values_over(&self, domain: &Domain) -> Vec<Scalar> {
        let mut values = alloc::vec![Scalar::ZERO; domain.size()];
        // On the domain `X^size = 1`, so higher coefficients fold onto lower ones.
        for part in self.coefficients.expose().chunks(domain.size()) {
            values.iter_mut().zip(part).for_each(|(value, coefficient)| *value += *coefficient);
        }
        domain.transform(&mut values);
        values
    }
}

/// The `λᵢ` with `f(0) = Σᵢ λᵢ·f(xᵢ)` for every `f` of degree below the number of points. `None` if
/// there are no points, if two points are equal, or if one is zero, because then there are no such
/// coefficients. Takes quadratic time.
///
/// ```
/// use prefinal_crypto_core::curve::Scalar;
/// use prefinal_crypto_core::polynomial::lagrange_at_zero;
/// let [one, two, five] = [1, 2, 5].map(Scalar::from_u64);
/// // The line through (1, 7) and (2, 9) is at 5 where x is zero.
/// let lambda = lagrange_at_zero(&[one, two]).unwrap();
/// assert!(lambda[0] * Scalar::from_u64(7) + lambda[1] * Scalar::from_u64(9) == five);
/// assert!(lagrange_at_zero(&[one, one]).is_none());
/// ```
#[must_use]
pub fn lagrange_at_zero(points: &[Scalar]) -> Option<Vec<Scalar>> {
    let product: Scalar = points.iter().copied().product();
    let mut coefficients: Vec<Scalar> = points
        .iter()
        .enumerate()
        .map(|(i, x)| {
            let others = points.iter().enumerate().filter(|(j, _)| *j != i);
            others.fold(*x, |below, (_, y)| below * (*y - *x))
        })
        .collect();
    if points.is_empty() || coefficients.contains(&Scalar::ZERO) {
        return None;
    }
    batch_invert(&mut coefficients);
    coefficients.iter_mut().for_each(|inverse| *inverse *= product);
    Some(coefficients)
}
