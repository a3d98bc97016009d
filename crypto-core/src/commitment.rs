//! Feldman's commitment to a polynomial.
//!
//! | step     | equation                               | by whom                     |
//! |----------|----------------------------------------|-----------------------------|
//! | commit   | `Cₖ = g^cₖ` for `f(X) = Σₖ cₖ·Xᵏ`      | dealer, constant time       |
//! | evaluate | `g^f(x) = ∏ₖ Cₖ^(xᵏ)`                  | anyone                      |
//! | verify   | `g^s = g^f(j)`                         | the holder of share `s`     |
//!
//! After Feldman (1987). The number of coefficients bounds the degree, so shares that verify lie on
//! one polynomial of degree below [`t`](Commitment::t); the caller must compare this `t` with the
//! committee's threshold. The commitment hides the secret only as far as `g^f(0)` does.
//!
//! See also: [`crate::polynomial::Points`] for the evaluation points of the shares, and the crate
//! `prefinal_pvss_dkg` for commitments to values instead of coefficients, with the proof of their degree.
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

/// A list of points cannot be a commitment, because of its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("commitment has {got} coefficients, expected 1 to {max}")]
pub struct CommitmentError {
    /// Number of coefficients that were given.
    pub got: usize,
    /// The greatest supported number.
    pub max: u32,
}

impl CommitmentError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "wrong-count"
    }
}

/// Why a share does not fit a commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShareError {
    /// There is no share with this index. This is a mistake of the caller.
    #[error("{index} does not exist, there are {count}")]
    OutOfRange {
        /// The index of the share.
        index: ShareIndex,
        /// The number of all shares.
        count: u32,
    },
    /// The share is wrong. The dealer made it wrong, or somebody changed it on the way.
    #[error("{index} does not match the commitment")]
    Mismatch {
        /// The index of the share.
        index: ShareIndex,
    },
}

impl ShareError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::OutOfRange { .. } => "share-range",
            Self::Mismatch { .. } => "share-mismatch",
        }
    }
}

/// `g^c₀, …, g^c_(t−1)`: commits to a polynomial `f` and reveals nothing about it but the values
/// `g^f(x)`.
///
/// The sum of two commitments is the commitment to the sum of their polynomials.
///
/// ```compile_fail,E0451
/// use prefinal_crypto_core::commitment::Commitment;
/// use prefinal_crypto_core::curve::G1;
/// let empty: Commitment<G1> = Commitment { points: vec![] };
/// ```
///
/// ```
/// use prefinal_crypto_core::access::ShareIndex;
/// use prefinal_crypto_core::commitment::Commitment;
/// use prefinal_crypto_core::curve::{G2, Scalar};
/// use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
/// use prefinal_crypto_core::secret::Secret;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// let secret = Secret::new(Scalar::random(&mut rng));
/// let f = Polynomial::random(3.try_into()?, &secret, &mut rng); // three shares rebuild the secret
/// let commitment = Commitment::<G2>::commit(&f);
/// let points = Points::new(Placement::Consecutive, 5)?;
/// let second = ShareIndex::new(2).unwrap();
/// let share = f.evaluate(&points.point(second).unwrap());
/// assert!(commitment.verify_share(&points, second, &share).is_ok());
/// assert!(commitment.verify_share(&points, second, &secret).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commitment<G: Group> {
    /// The coefficients, lowest degree first. There are from one to [`Access::MAX`].
    points: Vec<Affine<G>>,
}

impl<G: Group> Commitment<G> {
    /// Commits to a polynomial in constant time: `t` multiplications of the generator.
    #[must_use]
    pub fn commit(f: &Polynomial) -> Self {
        Self::commit_with(&FixedBase::new(&Affine::generator()), f)
    }

    /// Like [`Commitment::commit`], with a precomputed table of the generator.
    #[must_use]
    pub fn commit_with(generator: &FixedBase<G>, f: &Polynomial) -> Self {
        Self { points: generator.multiply_all(f.coefficients().expose()) }
    }

    /// The commitment with these coefficients, lowest degree first. Each of them may be the identity.
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

    /// The constant coefficient `g^f(0)`, which is the group's public key.
    #[must_use]
    pub fn constant(&self) -> Affine<G> {
        self.points.first().copied().unwrap_or(Affine::identity())
    }

    /// The number of shares that determine the polynomial. Its degree is below this number.
    #[must_use]
    pub fn t(&self) -> NonZeroU32 {
        let count = u32::try_from(self.points.len()).unwrap_or(u32::MAX);
        NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN)
    }

    /// The value `g^f(x)` at any point. Costs a multi-scalar multiplication.
    #[must_use]
    pub fn evaluate(&self, x: &Scalar) -> Projective<G> {
        let powers = core::iter::successors(Some(Scalar::ONE), |power| Some(*power * *x));
        let powers: Vec<Scalar> = powers.take(self.points.len()).collect();
        vartime_msm(&self.points, &powers)
    }

    /// `g^f(j)` for one share. `None` if there is no such share. For consecutive points, an index of
    /// `b` bits costs `t·b` doublings and about half as many additions. For roots of unity it costs a
    /// multi-scalar multiplication.
    #[must_use]
    pub fn share_key(&self, points: &Points, index: ShareIndex) -> Option<Projective<G>> {
        let x = points.point(index)?;
        Some(match points.placement() {
            Placement::Consecutive => evaluate::at_number(&self.points, index.get()),
            Placement::RootsOfUnity => self.evaluate(&x),
        })
    }

    /// `g^f(j)` for all `n` shares, in the order of their indices. For consecutive points this costs
    /// `n·t` additions of affine points, plus `4·t²` additions to find the differences that are
    /// added; from `t = 128` on, about `500·t + 60·n·t/128` instead of `4·t²`. For `N ≥ n` roots of
    /// unity it costs `N·log₂(N)/2` multiplications. Share keys that come with a dealing cost none of
    /// this ([`from_share_keys`](crate::threshold::SigningCommittee::from_share_keys)).
    #[must_use]
    pub fn evaluate_all(&self, points: &Points) -> Vec<Affine<G>> {
        let count = usize::try_from(points.count()).unwrap_or(usize::MAX);
        match points.domain() {
            None => evaluate::at_numbers(&self.points, count),
            Some(domain) => evaluate::at_roots(&self.points, domain, count),
        }
    }

    /// Checks a share. The time does not depend on the value of the share.
    ///
    /// # Errors
    /// If there is no share with this index, or the share is not `f(j)`.
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
