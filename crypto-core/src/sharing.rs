//! One secret, shared with one polynomial or with two.
//!
//! The fast path and the slow path of the beacon rebuild the same secret `s` under different
//! thresholds:
//!
//! ```text
//! f(X)  = s + c₁·X + … + c_(t−1)·X^(t−1)           slow
//! f'(X) = s + c'₁·X + … + c'_(t'−1)·X^(t'−1)       fast
//! ```
//!
//! The coefficients of the two are independent. If both paths used one polynomial of the lower
//! degree, or had coefficients in common, shares of one path would count on the other. Both
//! polynomials have the same constant because they are made from one value; no comparison is needed.
//! The evaluation points are the same for both.
//!
//! See also: [`Polynomial::shares`] computes the shares, and the crate `prefinal_pvss_dkg` encrypts them and
//! proves that they are right.
use core::num::NonZeroU32;

use rand_core::CryptoRng;

use crate::access::Threshold;
use crate::curve::Scalar;
use crate::polynomial::Polynomial;
use crate::secret::Secret;

/// A secret with a polynomial for the slow path and, if there is one, for the fast path.
///
/// ```
/// use prefinal_crypto_core::access::Threshold;
/// use prefinal_crypto_core::curve::Scalar;
/// use prefinal_crypto_core::sharing::Sharing;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// let (slow, fast) = (Threshold::new(4, 7)?, Threshold::new(6, 7)?);
/// let sharing = Sharing::random(slow, Some(fast), &mut rng);
/// let fast = sharing.fast().unwrap();
/// assert!(fast.evaluate(&Scalar::ZERO).expose() == sharing.secret().expose());
/// // The shares of one path are nothing to the other.
/// assert!(fast.evaluate(&Scalar::ONE).expose() != sharing.slow().evaluate(&Scalar::ONE).expose());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Sharing {
    secret: Secret<Scalar>,
    slow: Polynomial,
    fast: Option<Polynomial>,
}

impl Sharing {
    /// Shares a fresh secret, for both paths if there is a fast threshold.
    pub fn random(slow: Threshold, fast: Option<Threshold>, rng: &mut impl CryptoRng) -> Self {
        Self::new(Secret::new(Scalar::random(rng)), slow, fast, rng)
    }

    /// Shares this secret, for both paths if there is a fast threshold.
    pub fn new(
        secret: Secret<Scalar>,
        slow: Threshold,
        fast: Option<Threshold>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let mut polynomial = |t: NonZeroU32| Polynomial::random(t, &secret, rng);
        let slow = polynomial(slow.t());
        let fast = fast.map(|fast| polynomial(fast.t()));
        Self { secret, slow, fast }
    }

    /// The value of both polynomials at zero.
    #[must_use]
    pub const fn secret(&self) -> &Secret<Scalar> {
        &self.secret
    }

    /// The polynomial of the slow path.
    #[must_use]
    pub const fn slow(&self) -> &Polynomial {
        &self.slow
    }

    /// The polynomial of the fast path, if there is one.
    #[must_use]
    pub const fn fast(&self) -> Option<&Polynomial> {
        self.fast.as_ref()
    }
}
