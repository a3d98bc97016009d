//! Interpolation coefficients: the factors of shares in the value at another point.
//!
//! ```text
//! f(x) = Σᵢ λᵢ·f(xᵢ)          full: λᵢ are scalars
//!      = c·Σᵢ ±Mᵢ·f(xᵢ)       short: Mᵢ are integers of a few bits, c is one scalar
//! ```
//!
//! In the exponent the cost is proportional to the number of bits, so the short form pays for its
//! extra multiplication by `c`. If `c` is one, no extra multiplication is needed.
use alloc::vec::Vec;
use core::num::NonZeroU32;

use super::InterpolationError;
use crate::curve::hazmat::{vartime_msm, vartime_msm_bytes};
use crate::curve::{Affine, Group, Projective, Scalar};
use crate::secret::Secret;

/// The `λᵢ` of some shares, in the order in which their indices were given.
///
/// They are public and the same for every polynomial. They can be reused as long as the set of shares
/// stays the same.
///
/// ```compile_fail,E0277
/// use prefinal_crypto_core::{curve::Scalar, polynomial::Coefficients};
/// let coefficients: Coefficients = vec![Scalar::ONE].into();
/// ```
///
/// ```
/// use prefinal_crypto_core::access::ShareIndex;
/// use prefinal_crypto_core::commitment::Commitment;
/// use prefinal_crypto_core::curve::{G1, Scalar};
/// use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
/// use prefinal_crypto_core::secret::Secret;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// let secret = Secret::new(Scalar::random(&mut rng));
/// let key = Commitment::<G1>::commit(&Polynomial::random(2.try_into()?, &secret, &mut rng));
/// let points = Points::new(Placement::Consecutive, 4)?;
/// let keys = key.evaluate_all(&points);
/// let lambda = points.lagrange_at_zero(&[1, 3].map(|j| ShareIndex::new(j).unwrap()))?;
/// // Shares in the exponent give the secret in the exponent.
/// assert_eq!(lambda.combine(&[keys[0], keys[2]])?.to_affine(), key.constant());
/// // Four values for two coefficients are refused.
/// assert!(lambda.combine(&keys).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coefficients(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Full(Vec<Scalar>),
    Short(Short),
}

/// `λᵢ = factor·(±Mᵢ)`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Short {
    pub(super) factor: Scalar,
    /// `Mᵢ`, little-endian, and whether it is negative.
    pub(super) terms: Vec<([u8; 32], bool)>,
    /// Number of bits of the longest `Mᵢ`.
    pub(super) bits: usize,
}

impl Coefficients {
    pub(super) fn full(scalars: Vec<Scalar>) -> Self {
        Self(Form::Full(scalars))
    }

    pub(super) fn short(short: Short) -> Self {
        Self(Form::Short(short))
    }

    /// The number of coefficients, one for each share.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Full(scalars) => scalars.len(),
            Form::Short(short) => short.terms.len(),
        }
    }

    /// Always `false`, because there is at least one share.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bits that each term costs in the exponent: 255, or fewer for short coefficients.
    #[must_use]
    pub fn bits(&self) -> usize {
        match &self.0 {
            Form::Full(_) => 255,
            Form::Short(short) => short.bits,
        }
    }

    /// The `λᵢ` as full scalars.
    #[must_use]
    pub fn to_scalars(&self) -> Vec<Scalar> {
        match &self.0 {
            Form::Full(scalars) => scalars.clone(),
            Form::Short(short) => short.to_scalars(),
        }
    }

    /// `Σᵢ λᵢ·Pᵢ`: the value in the exponent, from the shares in the exponent. Costs one multi-scalar
    /// multiplication with scalars of [`bits`](Self::bits) bits, and at most one multiplication. Not
    /// constant time.
    ///
    /// # Errors
    /// If there is not exactly one point for each coefficient.
    pub fn combine<G: Group>(
        &self,
        points: &[Affine<G>],
    ) -> Result<Projective<G>, InterpolationError> {
        self.check(points.len())?;
        Ok(match &self.0 {
            Form::Full(scalars) => vartime_msm(points, scalars),
            Form::Short(short) => short.combine(points),
        })
    }

    /// `Σᵢ λᵢ·sᵢ`: the secret, from secret shares of which `t` determine it, in constant time. Fewer
    /// than `t` shares are refused, because they would give a wrong value.
    ///
    /// # Errors
    /// If there are fewer than `t` shares, or not exactly one for each coefficient.
    pub fn recover(
        &self,
        t: NonZeroU32,
        shares: &Secret<Vec<Scalar>>,
    ) -> Result<Secret<Scalar>, InterpolationError> {
        self.check(shares.expose().len())?;
        let (got, need) = (self.len(), t.get());
        if usize::try_from(need).map_or(true, |need| got < need) {
            return Err(InterpolationError::BelowThreshold { got, need });
        }
        let terms = self.to_scalars().into_iter().zip(shares.expose());
        Ok(Secret::new(terms.map(|(lambda, share)| lambda * share).sum()))
    }

    fn check(&self, got: usize) -> Result<(), InterpolationError> {
        let expected = self.len();
        if got == expected { Ok(()) } else { Err(InterpolationError::Values { expected, got }) }
    }
}

impl Short {
    fn to_scalars(&self) -> Vec<Scalar> {
        let scaled = |(magnitude, negative): &([u8; 32], bool)| {
            let mut wide = [0; 64];
            wide.iter_mut().rev().zip(magnitude).for_each(|(to, byte)| *to = *byte);
            let product = Scalar::from_wide(&wide) * self.factor;
            if *negative { -product } else { product }
        };
        self.terms.iter().map(scaled).collect()
    }

    fn combine<G: Group>(&self, points: &[Affine<G>]) -> Projective<G> {
        let signed = |(point, (_, negative)): (&Affine<G>, &([u8; 32], bool))| {
            if *negative { -*point } else { *point }
        };
        let points: Vec<Affine<G>> = points.iter().zip(&self.terms).map(signed).collect();
        let magnitudes: Vec<[u8; 32]> =
            self.terms.iter().map(|(magnitude, _)| *magnitude).collect();
        let sum = vartime_msm_bytes(&points, &magnitudes);
        if self.factor == Scalar::ONE { sum } else { sum * self.factor }
    }
}
