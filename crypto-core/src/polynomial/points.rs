//! The evaluation points of shares, and interpolation from shares to the value at any other point.
//!
//! | placement        | point of share `j` | all values of `f`               | interpolation               |
//! |------------------|-------------------|----------------------------------|-----------------------------|
//! | consecutive      | `j`               | finite differences               | often with short integers   |
//! | roots of unity   | `ω^(j−1)`         | Fourier transform                | a transform, full scalars   |
//!
//! Neither placement uses zero, the point of the secret: at most 2²⁰ shares are supported, far below
//! the group order, so indices do not wrap. With up to about 250 shares, combining in the exponent is
//! cheaper at consecutive points, by half or more. With many shares, everything else is cheaper at
//! roots of unity.
//!
//! Coefficients for a target other than zero follow from those at zero. With `A = ∏ (X − xⱼ)`,
//!
//! ```text
//! λᵢ(x) = A(x) / ((x − xᵢ)·A'(xᵢ))          from the definition
//! λᵢ(0) = −A(0) / (xᵢ·A'(xᵢ))
//! λᵢ(x) = λᵢ(0) · xᵢ/(xᵢ − x) · A(x)/A(0)
//! ```
//!
//! Indices and targets are public, so the time of all functions here may depend on them.
//!
//! See also: `consecutive` and `domain` for the formulas of each placement, [`Coefficients`] for
//! their use, and [`crate::access`] for which party holds which index.
use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU32;

use borsh::{BorshDeserialize, BorshSerialize};

use super::coefficients::Coefficients;
use super::{Domain, consecutive};
use crate::access::{Access, ShareIndex};
use crate::curve::Scalar;
use crate::curve::hazmat::batch_invert;

/// The rule by which share indices become evaluation points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub enum Placement {
    /// Share `j` is at the number `j`.
    Consecutive,
    /// Share `j` is at `ω^(j−1)`, where `ω` generates the smallest group of power-of-two order that
    /// holds all shares.
    RootsOfUnity,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Consecutive => "consecutive",
            Self::RootsOfUnity => "roots of unity",
        })
    }
}

/// The number of shares is zero or too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{got} shares, expected 1 to {max}")]
pub struct CountError {
    /// The number of shares that was asked for.
    pub got: u32,
    /// The greatest supported number.
    pub max: u32,
}

impl CountError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "too-many-shares"
    }
}

/// Why shares do not determine a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterpolationError {
    /// No shares were given. Interpolation needs at least one.
    #[error("no shares given")]
    NoShares,
    /// There is no share with this index.
    #[error("{index} does not exist, there are {count}")]
    OutOfRange {
        /// The index of the share.
        index: ShareIndex,
        /// The number of all shares.
        count: u32,
    },
    /// A share was given twice, but it counts only once.
    #[error("{index} is given twice")]
    Duplicate {
        /// The index of the share.
        index: ShareIndex,
    },
    /// There must be exactly one value for each coefficient.
    #[error("{got} values for {expected} shares")]
    Values {
        /// Number of shares, for each of which there is one coefficient.
        expected: usize,
        /// Number of values that were given.
        got: usize,
    },
    /// There are too few shares. Wait for more.
    #[error("{got} shares, threshold is {need}")]
    BelowThreshold {
        /// Number of distinct shares that were given.
        got: usize,
        /// Number of shares that are needed.
        need: u32,
    },
}

impl InterpolationError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoShares => "no-shares",
            Self::OutOfRange { .. } => "share-range",
            Self::Duplicate { .. } => "duplicate-share",
            Self::Values { .. } => "wrong-count",
            Self::BelowThreshold { .. } => "below-threshold",
        }
    }
}

/// The points of all shares of a committee.
///
/// Other code cannot construct it, so indices stay within the range:
/// ```compile_fail,E0451
/// use prefinal_crypto_core::polynomial::Points;
/// let points = Points { count: 0, domain: None };
/// ```
/// ```compile_fail,E0308
/// use prefinal_crypto_core::polynomial::{Placement, Points};
/// let points = Points::new(Placement::Consecutive, 7).unwrap();
/// let at_secret = points.point(0);
/// ```
///
/// ```
/// use prefinal_crypto_core::access::ShareIndex;
/// use prefinal_crypto_core::curve::Scalar;
/// use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
/// use prefinal_crypto_core::secret::Secret;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// let (t, secret) = (2.try_into()?, Secret::new(Scalar::random(&mut rng)));
/// let points = Points::new(Placement::RootsOfUnity, 5)?;
/// let shares = Polynomial::random(t, &secret, &mut rng).shares(&points);
/// let some = Secret::new(vec![shares.expose()[1], shares.expose()[4]]);
/// let lambda = points.lagrange_at_zero(&[2, 5].map(|j| ShareIndex::new(j).unwrap()))?;
/// assert!(lambda.recover(t, &some)?.expose() == secret.expose());
/// // One share is too few.
/// let lambda = points.lagrange_at_zero(&[ShareIndex::new(2).unwrap()])?;
/// assert!(lambda.recover(t, &Secret::new(vec![shares.expose()[1]])).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Points {
    /// The number of shares, from one to [`Access::MAX`].
    count: u32,
    /// The domain, if the placement is at roots of unity.
    domain: Option<Domain>,
}

impl Points {
    /// The points of shares `1, …, count`.
    ///
    /// # Errors
    /// If there is no share, or if there are more than [`Access::MAX`].
    pub fn new(placement: Placement, count: u32) -> Result<Self, CountError> {
        if count == 0 || count > Access::MAX {
            return Err(CountError { got: count, max: Access::MAX });
        }
        Ok(Self::place(placement, count))
    }

    /// The points of all shares that `access` hands out.
    #[must_use]
    pub fn of(access: &Access, placement: Placement) -> Self {
        Self::place(placement, access.total())
    }

    fn place(placement: Placement, count: u32) -> Self {
        let domain = match placement {
            Placement::Consecutive => None,
            Placement::RootsOfUnity => Some(Domain::new(count)),
        };
        Self { count, domain }
    }

    /// The rule by which indices become points.
    #[must_use]
    pub fn placement(&self) -> Placement {
        if self.domain.is_some() { Placement::RootsOfUnity } else { Placement::Consecutive }
    }

    /// How many shares there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// All share indices in order.
    pub fn indices(&self) -> impl Iterator<Item = ShareIndex> + use<> {
        (1..=self.count).filter_map(ShareIndex::new)
    }

    /// The point of a share. `None` if there is no such share.
    #[must_use]
    pub fn point(&self, index: ShareIndex) -> Option<Scalar> {
        if index.get() > self.count {
            return None;
        }
        match &self.domain {
            None => Some(Scalar::from_u64(index.get().into())),
            Some(domain) => domain.point(index),
        }
    }

    /// The coefficients `λᵢ`, in the order of `indices`, with `f(0) = Σᵢ λᵢ·f(xᵢ)` for every `f` of
    /// degree below the number of indices. Give at least as many indices as the threshold, which is
    /// not checked here; [`recover`](Coefficients::recover) and [`choose`](Points::choose) check it.
    ///
    /// # Errors
    /// If there is no index, one is out of range, or one is given twice.
    pub fn lagrange_at_zero(
        &self,
        indices: &[ShareIndex],
    ) -> Result<Coefficients, InterpolationError> {
        self.check(indices)?;
        Ok(match &self.domain {
            None => consecutive::lagrange(indices, 0),
            Some(domain) => Coefficients::full(domain.lagrange_at_zero(indices)),
        })
    }

    /// The coefficients for the value of share `target`. With them, a party that lost its share can
    /// recover it from other shares.
    ///
    /// # Errors
    /// If there is no index, an index or the target is out of range, or an index is given twice.
    pub fn lagrange_at_share(
        &self,
        target: ShareIndex,
        indices: &[ShareIndex],
    ) -> Result<Coefficients, InterpolationError> {
        self.check(indices)?;
        let x = self.point(target).ok_or(self.out_of_range(target))?;
        Ok(match &self.domain {
            None => consecutive::lagrange(indices, target.get()),
            Some(_) => self.lagrange_full(&x, indices),
        })
    }

    /// The coefficients for the value at any public point `x`.
    ///
    /// # Errors
    /// If there is no index, one is out of range, or one is given twice.
    pub fn lagrange_at(
        &self,
        x: &Scalar,
        indices: &[ShareIndex],
    ) -> Result<Coefficients, InterpolationError> {
        self.check(indices)?;
        Ok(self.lagrange_full(x, indices))
    }

    /// Chooses the `t` of the given shares that are the cheapest to combine. These are the lowest,
    /// because every number that is left out below the highest one makes the coefficients longer. For
    /// roots of unity all choices cost the same.
    ///
    /// # Errors
    /// If there are fewer than `t` distinct indices, or one is out of range.
    pub fn choose(
        &self,
        at_hand: &[ShareIndex],
        t: NonZeroU32,
    ) -> Result<Vec<ShareIndex>, InterpolationError> {
        let mut chosen = at_hand.to_vec();
        chosen.sort_unstable();
        chosen.dedup();
        if let Some(last) = chosen.last().filter(|last| last.get() > self.count) {
            return Err(self.out_of_range(*last));
        }
        let need = usize::try_from(t.get()).unwrap_or(usize::MAX);
        if chosen.len() < need {
            return Err(InterpolationError::BelowThreshold { got: chosen.len(), need: t.get() });
        }
        chosen.truncate(need);
        Ok(chosen)
    }

    /// `λᵢ(x) = λᵢ(0) · xᵢ/(xᵢ − x) · A(x)/A(0)`. The caller has checked the indices.
    fn lagrange_full(&self, x: &Scalar, indices: &[ShareIndex]) -> Coefficients {
        let points: Vec<Scalar> = indices.iter().filter_map(|i| self.point(*i)).collect();
        if points.contains(x) {
            let unit = |point: &Scalar| if point == x { Scalar::ONE } else { Scalar::ZERO };
            return Coefficients::full(points.iter().map(unit).collect());
        }
        let mut coefficients = match &self.domain {
            None => consecutive::lagrange_scalars(indices),
            Some(domain) => domain.lagrange_at_zero(indices),
        };
        // All xᵢ − x. Their product is A(x) up to a sign, and A(0) = ∏ (−xᵢ) has the same sign.
        let mut inverses: Vec<Scalar> = points.iter().map(|point| *point - *x).collect();
        let at_x: Scalar = inverses.iter().copied().product();
        inverses.push(points.iter().copied().product());
        batch_invert(&mut inverses);
        let ratio = at_x * inverses.pop().unwrap_or(Scalar::ZERO);
        for ((lambda, point), inverse) in coefficients.iter_mut().zip(&points).zip(&inverses) {
            *lambda *= *point * *inverse * ratio;
        }
        Coefficients::full(coefficients)
    }

    fn out_of_range(&self, index: ShareIndex) -> InterpolationError {
        InterpolationError::OutOfRange { index, count: self.count }
    }

    fn check(&self, indices: &[ShareIndex]) -> Result<(), InterpolationError> {
        let mut sorted = indices.to_vec();
        sorted.sort_unstable();
        match sorted.last() {
            None => return Err(InterpolationError::NoShares),
            Some(last) if last.get() > self.count => return Err(self.out_of_range(*last)),
            Some(_) => {}
        }
        let mut pairs = sorted.iter().zip(sorted.iter().skip(1));
        match pairs.find(|(one, next)| one == next) {
            Some((index, _)) => Err(InterpolationError::Duplicate { index: *index }),
            None => Ok(()),
        }
    }

    pub(crate) fn domain(&self) -> Option<&Domain> {
        self.domain.as_ref()
    }
}
