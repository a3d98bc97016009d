//! Points of `𝔾₁` and `𝔾₂`, with one generic implementation.
//!
//! [`Affine`] points are stored, sent and paired; arithmetic gives [`Projective`] points. The
//! conversion to affine form costs an inversion, so convert many points at once with
//! [`Projective::batch_to_affine`].
use alloc::vec::Vec;
use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

use zeroize::Zeroize;

use crate::backend::{self, G1, G2};
use crate::error::DecodeError;
use crate::group::Group;
use crate::scalar::Scalar;

/// A point of `G` in affine form. It is always in the subgroup of prime order.
#[derive(Clone, Copy)]
pub struct Affine<G: Group>(pub(crate) G::RawAffine);

/// A point of `G` in Jacobian form. It is always in the subgroup of prime order.
#[derive(Clone, Copy)]
pub struct Projective<G: Group>(pub(crate) G::RawProjective);

/// A point of `𝔾₁` in affine form. Its encoding has 48 bytes.
pub type G1Affine = Affine<G1>;
/// A point of `𝔾₁` in Jacobian form.
pub type G1Projective = Projective<G1>;
/// A point of `𝔾₂` in affine form. Its encoding has 96 bytes.
pub type G2Affine = Affine<G2>;
/// A point of `𝔾₂` in Jacobian form.
pub type G2Projective = Projective<G2>;

impl<G: Group> Affine<G> {
    /// The standard generator of the group.
    #[must_use]
    pub fn generator() -> Self {
        Self(G::generator())
    }

    /// The identity, the neutral element of addition.
    #[must_use]
    pub const fn identity() -> Self {
        Self(G::AFFINE_IDENTITY)
    }

    /// Whether this point is the identity.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        G::is_identity_affine(&self.0)
    }

    /// The compressed encoding, 48 bytes in `𝔾₁` and 96 in `𝔾₂`.
    #[must_use]
    pub fn to_bytes(&self) -> G::Bytes {
        G::compress(&self.0)
    }

    /// Reads a compressed encoding. The identity is accepted; schemes that do not allow it must
    /// refuse it.
    ///
    /// # Errors
    /// If the length, the flags or the coordinate are not canonical, or if there is no such point in
    /// the subgroup.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let point = Self::from_bytes_unchecked(bytes)?;
        if G::in_subgroup(&point.0) { Ok(point) } else { Err(DecodeError::NotInSubgroup) }
    }

    /// Reads a point of the curve that may have any order. It must not leave this crate unchecked.
    pub(crate) fn from_bytes_unchecked(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut array = G::EMPTY;
        let expected = array.as_ref().len();
        if bytes.len() != expected {
            return Err(DecodeError::Length { expected, got: bytes.len() });
        }
        array.as_mut().copy_from_slice(bytes);
        G::decompress_unchecked(&array).map(Self)
    }
}

/// A known point with these coordinates in Montgomery form. It does not check that the point is on
/// the curve, nor that it is in the subgroup.
#[must_use]
pub const fn g1_from_limbs(x: [u64; 6], y: [u64; 6]) -> G1Affine {
    Affine(backend::g1_from_limbs(x, y))
}

/// Like [`g1_from_limbs`], but in `𝔾₂`. Each coordinate is given as the constant and the coefficient
/// of `u`.
#[must_use]
pub const fn g2_from_limbs(x: [[u64; 6]; 2], y: [[u64; 6]; 2]) -> G2Affine {
    Affine(backend::g2_from_limbs(x, y))
}

impl<G: Group> Projective<G> {
    /// The standard generator of the group.
    #[must_use]
    pub fn generator() -> Self {
        Affine::generator().into()
    }

    /// The identity, the neutral element of addition.
    #[must_use]
    pub const fn identity() -> Self {
        Self(G::IDENTITY)
    }

    /// Whether this point is the identity.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        G::is_identity(&self.0)
    }

    /// The double of this point.
    #[must_use]
    pub fn double(&self) -> Self {
        Self(G::double(&self.0))
    }

    /// The same point in affine form. Costs an inversion.
    #[must_use]
    pub fn to_affine(&self) -> Affine<G> {
        Affine(G::to_affine(&self.0))
    }

    /// Converts all points to affine form with one inversion. Points at infinity are allowed.
    #[must_use]
    pub fn batch_to_affine(points: &[Self]) -> Vec<Affine<G>> {
        let raw: Vec<&G::RawProjective> = points.iter().map(|point| &point.0).collect();
        G::batch_to_affine(&raw).into_iter().map(Affine).collect()
    }
}

impl<G: Group> From<Affine<G>> for Projective<G> {
    fn from(point: Affine<G>) -> Self {
        Self(G::to_projective(&point.0))
    }
}

impl<G: Group> From<&Affine<G>> for Projective<G> {
    fn from(point: &Affine<G>) -> Self {
        Self(G::to_projective(&point.0))
    }
}

impl<G: Group> From<Projective<G>> for Affine<G> {
    fn from(point: Projective<G>) -> Self {
        point.to_affine()
    }
}

impl<G: Group> PartialEq for Affine<G> {
    fn eq(&self, other: &Self) -> bool {
        G::equal_affine(&self.0, &other.0)
    }
}

impl<G: Group> Eq for Affine<G> {}

impl<G: Group> PartialEq for Projective<G> {
    fn eq(&self, other: &Self) -> bool {
        G::equal(&self.0, &other.0)
    }
}

impl<G: Group> Eq for Projective<G> {}

/// Hides the coordinates, because a point may be a secret (as `h^f(j)` is).
impl<G: Group> fmt::Debug for Affine<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Affine(..)")
    }
}

/// Hides the coordinates, as for [`Affine`].
impl<G: Group> fmt::Debug for Projective<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Projective(..)")
    }
}

impl<G: Group> Zeroize for Affine<G> {
    fn zeroize(&mut self) {
        G::wipe_affine(&mut self.0);
    }
}

impl<G: Group> Zeroize for Projective<G> {
    fn zeroize(&mut self) {
        G::wipe(&mut self.0);
    }
}

impl<G: Group> Add for Projective<G> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(G::add(&self.0, &other.0))
    }
}

impl<G: Group> Add<&Self> for Projective<G> {
    type Output = Self;

    fn add(self, other: &Self) -> Self {
        Self(G::add(&self.0, &other.0))
    }
}

impl<G: Group> Add<Affine<G>> for Projective<G> {
    type Output = Self;

    fn add(self, other: Affine<G>) -> Self {
        Self(G::add_affine(&self.0, &other.0))
    }
}

impl<G: Group> Add for Affine<G> {
    type Output = Projective<G>;

    fn add(self, other: Self) -> Projective<G> {
        Projective::from(self) + other
    }
}

impl<G: Group> AddAssign for Projective<G> {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<G: Group> AddAssign<Affine<G>> for Projective<G> {
    fn add_assign(&mut self, other: Affine<G>) {
        *self = *self + other;
    }
}

impl<G: Group> Sub for Projective<G> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl<G: Group> Sub<Affine<G>> for Projective<G> {
    type Output = Self;

    fn sub(self, other: Affine<G>) -> Self {
        self + -Self::from(other)
    }
}

impl<G: Group> Sub for Affine<G> {
    type Output = Projective<G>;

    fn sub(self, other: Self) -> Projective<G> {
        Projective::from(self) - other
    }
}

impl<G: Group> SubAssign for Projective<G> {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl<G: Group> Neg for Projective<G> {
    type Output = Self;

    fn neg(mut self) -> Self {
        G::negate(&mut self.0);
        self
    }
}

impl<G: Group> Neg for Affine<G> {
    type Output = Self;

    fn neg(self) -> Self {
        let mut negative = self;
        G::negate_affine(&mut negative.0);
        negative
    }
}

macro_rules! multiplication {
    ($($left:ty, $right:ty;)*) => {$(
        /// Constant time in point and scalar.
        impl<G: Group> Mul<$right> for $left {
            type Output = Projective<G>;

            fn mul(self, scalar: $right) -> Projective<G> {
                let mut scalar = scalar.to_le_bytes();
                let product = G::multiply(&Projective::from(self).0, &scalar);
                scalar.zeroize();
                Projective(product)
            }
        }
    )*};
}

multiplication! {
    Affine<G>, &Scalar;
    Affine<G>, Scalar;
    &Affine<G>, &Scalar;
    Projective<G>, &Scalar;
    Projective<G>, Scalar;
    &Projective<G>, &Scalar;
}

impl<G: Group> From<&Self> for Projective<G> {
    fn from(point: &Self) -> Self {
        *point
    }
}

impl<G: Group> Sum for Projective<G> {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::identity(), Add::add)
    }
}

impl<G: Group> Sum<Affine<G>> for Projective<G> {
    fn sum<I: Iterator<Item = Affine<G>>>(terms: I) -> Self {
        terms.fold(Self::identity(), Add::add)
    }
}
