//! Feldman's commitment to a polynomial.
//!
//! | step     | equation                               | by whom                     |
//! |----------|----------------------------------------|-----------------------------|
//! | commit   | `Cₖ = g^cₖ` for `f(X) = Σₖ cₖ·Xᵏ`      | dealer, constant time       |
//! | evaluate | `g^f(x) = ∏ₖ Cₖ^(xᵏ)`                  | anyone                      |
//! | verify   | `g^s = g^f(j)`                         | who was given share `s`     |
//!
//! After Feldman (1987). The number of coefficients bounds the degree, so shares that verify lie on
//! one polynomial of degree below [`t`](Commitment::t); that `t` is the committee's is for the
//! caller to compare. The commitment hides the secret only as far as `g^f(0)` does.
//!
//! Elsewhere: where shares sit ([`crate::polynomial::Points`]), commitments to values instead of
//! coefficients and the proof of their degree (`pvss_dkg`).
mod evaluate;

use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::ops::Add;

use borsh::io::{Error, ErrorKind, Read, Result as IoResult, Write};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::access::{Access, ShareIndex};
use crate::curve::hazmat::{FixedBase, vartime_msm};
use crate::curve::{Affine, Group, Projective, Scalar};
use crate::polynomial::{Placement, Points, Polynomial};
use crate::secret::Secret;

/// Why points are not a commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("commitment has {got} coefficients, expected 1 to {max}")]
pub struct CommitmentError {
    /// Coefficients there are.
    pub got: usize,
    /// The most that is supported.
    pub max: u32,
}

/// Why a share is not the dealer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// The caller's mistake.
    #[error("{index} does not exist, there are {count}")]
    OutOfRange {
        /// Which.
        index: ShareIndex,
        /// Shares there are.
        count: u32,
    },
    /// The dealer's fault, or a liar's on the way.
    #[error("{index} does not match the commitment")]
    Mismatch {
        /// Which.
        index: ShareIndex,
    },
}

/// `g^c₀, …, g^c_(t−1)`: fixes a polynomial and says nothing about it but `g^f(x)`.
///
/// Commitments add up as their polynomials do.
///
/// ```compile_fail,E0451
/// use crypto_core::commitment::Commitment;
/// use crypto_core::curve::G1;
/// let empty: Commitment<G1> = Commitment { points: vec![] };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commitment<G: Group> {
    /// Lowest degree first; from one to [`Access::MAX`].
    points: Vec<Affine<G>>,
}

impl<G: Group> Commitment<G> {
    /// Commits to a polynomial in constant time: `t` multiplications of the generator.
    #[must_use]
    pub fn commit(f: &Polynomial) -> Self {
        Self::commit_with(&FixedBase::new(&Affine::generator()), f)
    }

    /// The same with the generator's table at hand.
    #[must_use]
    pub fn commit_with(generator: &FixedBase<G>, f: &Polynomial) -> Self {
        Self { points: generator.multiply_all(f.coefficients().expose()) }
    }

    /// The commitment with these coefficients, lowest degree first. Any may be the identity.
    ///
    /// # Errors
    /// Unless there is at least one coefficient and at most [`Access::MAX`].
    pub fn from_points(points: Vec<Affine<G>>) -> Result<Self, CommitmentError> {
        let got = points.len();
        match u32::try_from(got) {
            Ok(count) if count > 0 && count <= Access::MAX => Ok(Self { points }),
            _ => Err(CommitmentError { got, max: Access::MAX }),
        }
    }

    /// The coefficients, lowest degree first.
    #[must_use]
    pub fn points(&self) -> &[Affine<G>] {
        &self.points
    }

    /// `g^f(0)`: the group's public key.
    #[must_use]
    pub fn constant(&self) -> Affine<G> {
        self.points.first().copied().unwrap_or(Affine::identity())
    }

    /// How many shares determine the polynomial: its degree is below this.
    #[must_use]
    pub fn t(&self) -> NonZeroU32 {
        let count = u32::try_from(self.points.len()).unwrap_or(u32::MAX);
        NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN)
    }

    /// `g^f(x)`
    #[must_use]
    pub fn evaluate(&self, x: &Scalar) -> Projective<G> {
        let powers = core::iter::successors(Some(Scalar::ONE), |power| Some(*power * *x));
        let powers: Vec<Scalar> = powers.take(self.points.len()).collect();
        vartime_msm(&self.points, &powers)
    }

    /// `g^f(j)` for one share; none if there is no such share. At a number of `b` bits that is `t·b`
    /// doublings and some half as many additions, at a root of unity a sum of products.
    #[must_use]
    pub fn share_key(&self, points: &Points, index: ShareIndex) -> Option<Projective<G>> {
        let x = points.point(index)?;
        Some(match points.placement() {
            Placement::Consecutive => evaluate::at_number(&self.points, index.get()),
            Placement::RootsOfUnity => self.evaluate(&x),
        })
    }

    /// `g^f(j)` for all `n` shares, in the order of their indices. At numbers that is `n·t` additions
    /// of affine points, and `4·t²` to find the differences that are added, or from `t = 128` on some
    /// `500·t + 60·n·t/128`; at `N ≥ n` roots of unity it is `N·log₂(N)/2` multiplications. Keys that
    /// come with a dealing cost none of this
    /// ([`from_share_keys`](crate::threshold::SigningCommittee::from_share_keys)).
    #[must_use]
    pub fn evaluate_all(&self, points: &Points) -> Vec<Affine<G>> {
        let count = usize::try_from(points.count()).unwrap_or(usize::MAX);
        match points.domain() {
            None => evaluate::at_numbers(&self.points, count),
            Some(domain) => evaluate::at_roots(&self.points, domain, count),
        }
    }

    /// Checks a share, in constant time as far as the share is concerned.
    ///
    /// # Errors
    /// If there is no such share, or it is not `f(j)`.
    pub fn verify_share(
        &self,
        points: &Points,
        index: ShareIndex,
        share: &Secret<Scalar>,
    ) -> Result<(), ShareError> {
        let expected = self
            .share_key(points, index)
            .ok_or(ShareError::OutOfRange { index, count: points.count() })?;
        if Projective::generator() * share.expose() == expected {
            Ok(())
        } else {
            Err(ShareError::Mismatch { index })
        }
    }
}

impl<G: Group> Add for &Commitment<G> {
    type Output = Commitment<G>;

    fn add(self, other: Self) -> Commitment<G> {
        let (long, short) = if self.points.len() < other.points.len() {
            (&other.points, &self.points)
        } else {
            (&self.points, &other.points)
        };
        let padded = short.iter().copied().chain(core::iter::repeat(Affine::identity()));
        let sums: Vec<Projective<G>> = long.iter().zip(padded).map(|(a, b)| *a + b).collect();
        Commitment { points: Projective::batch_to_affine(&sums) }
    }
}

impl<G: Group> BorshSerialize for Commitment<G> {
    fn serialize<W: Write>(&self, writer: &mut W) -> IoResult<()> {
        self.points.serialize(writer)
    }
}

impl<G: Group> BorshDeserialize for Commitment<G> {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        use alloc::string::ToString;
        let points = Vec::<Affine<G>>::deserialize_reader(reader)?;
        Self::from_points(points).map_err(|e| Error::new(ErrorKind::InvalidData, e.to_string()))
    }
}
