//! Points of `𝔾₁` and `𝔾₂`, written once for both.
//!
//! [`Affine`] is what is stored, sent and paired; [`Projective`] is what arithmetic gives. Turning
//! one into the other costs an inversion, so many at once go through [`Projective::batch_to_affine`]. Sums of
//! products go through [`vartime_msm`] where scalars and points are public, or, where the scalars are
//! 128-bit challenges, through [`vartime_msm_128`] at half the price.
use alloc::vec::Vec;
use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

use zeroize::Zeroize;

use super::backend::{self, G1, G2};
use super::expand::Tag;
use super::lanes::{LANES, Wide};
use super::many::in_parts;
use super::msm;
use super::subgroup::vartime_first_outside;
use super::sums::Factor;
use super::{DecodeError, Group, Scalar};

/// The fewest terms of a sum that are worth a thread of their own: some hundred microseconds.
const LEAST_SUM: usize = 32;
/// The fewest points to decode that are.
const LEAST_DECODED: usize = 8;
/// The fewest points to decode that eight lanes are faster with than one.
const LEAST_WIDE: usize = 3;

/// A point of `G` in affine form; always in the subgroup of prime order.
#[derive(Clone, Copy)]
pub struct Affine<G: Group>(pub(super) G::RawAffine);

/// A point of `G` in Jacobian form; always in the subgroup of prime order.
#[derive(Clone, Copy)]
pub struct Projective<G: Group>(pub(super) G::RawProjective);

/// A point of `𝔾₁`, affine: 48 bytes.
pub type G1Affine = Affine<G1>;
/// A point of `𝔾₁`, Jacobian.
pub type G1Projective = Projective<G1>;
/// A point of `𝔾₂`, affine: 96 bytes.
pub type G2Affine = Affine<G2>;
/// A point of `𝔾₂`, Jacobian.
pub type G2Projective = Projective<G2>;

impl<G: Group> Affine<G> {
    /// The standard generator.
    #[must_use]
    pub fn generator() -> Self {
        Self(G::generator())
    }

    /// The neutral element.
    #[must_use]
    pub const fn identity() -> Self {
        Self(G::AFFINE_IDENTITY)
    }

    /// Whether this is the neutral element.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        G::is_identity_affine(&self.0)
    }

    /// The compressed encoding.
    #[must_use]
    pub fn to_bytes(&self) -> G::Bytes {
        G::compress(&self.0)
    }

    /// Reads a compressed encoding. The identity is a point; schemes that must not have it refuse it.
    ///
    /// # Errors
    /// If the length, the flags or the coordinate are not canonical, or if there is no such point in
    /// the subgroup.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let point = Self::from_bytes_unchecked(bytes)?;
        if G::in_subgroup(&point.0) { Ok(point) } else { Err(DecodeError::NotInSubgroup) }
    }

    /// Reads encodings that follow each other, on many threads with the feature `parallel`.
    ///
    /// On processors with AVX-512 IFMA a point takes a quarter of [`Affine::from_bytes`]. Whether they are
    /// in the subgroup is checked for each, or, from some hundreds or thousands on, for all at once, which
    /// misses one with a chance of 2⁻¹³⁴ for each attempt of whoever chose the bytes.
    ///
    /// # Errors
    /// As [`Affine::from_bytes`] for the first that is refused; the last may be too short.
    pub fn many_from_bytes(bytes: &[u8]) -> Result<Vec<Self>, PointError> {
        let size = G::EMPTY.as_ref().len();
        let parts = in_parts(bytes.len().div_ceil(size), LEAST_DECODED, |range| {
            let (from, to) = (range.start * size, bytes.len().min(range.end * size));
            let part = Self::part_from_bytes(bytes.get(from..to).unwrap_or_default());
            part.map_err(|PointError { index, error }| PointError {
                index: index + range.start,
                error,
            })
        });
        let mut points = Vec::with_capacity(bytes.len() / size);
        for part in parts {
            points.extend(part?);
        }
        Ok(points)
    }

    /// On one thread.
    fn part_from_bytes(bytes: &[u8]) -> Result<Vec<Self>, PointError> {
        let size = G::EMPTY.as_ref().len();
        let mut points = Vec::with_capacity(bytes.len() / size);
        let mut verdict = Ok(());
        for encodings in bytes.chunks(LANES * size) {
            verdict = Self::append_unchecked(&mut points, encodings);
            if verdict.is_err() {
                break;
            }
        }
        match vartime_first_outside(&points, bytes) {
            Some(index) => Err(PointError { index, error: DecodeError::NotInSubgroup }),
            None => verdict.map(|()| points),
        }
    }

    /// Points of the curve, of any order, of up to [`LANES`] encodings. What is not decoded with others is
    /// decoded by itself: that says what is wrong with it, if anything.
    fn append_unchecked(points: &mut Vec<Self>, bytes: &[u8]) -> Result<(), PointError> {
        let size = G::EMPTY.as_ref().len();
        let wide = Wide::detect().filter(|_| bytes.len() >= LEAST_WIDE * size);
        let together = wide.map_or([None; LANES], |wide| wide.decompress(bytes));
        for (encoding, point) in bytes.chunks(size).zip(together) {
            let point = point.map_or_else(|| Self::from_bytes_unchecked(encoding), Ok);
            points.push(point.map_err(|error| PointError { index: points.len(), error })?);
        }
        Ok(())
    }

    /// A point of the curve, of any order: not for anybody else to see.
    fn from_bytes_unchecked(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut array = G::EMPTY;
        let expected = array.as_ref().len();
        if bytes.len() != expected {
            return Err(DecodeError::Length { expected, got: bytes.len() });
        }
        array.as_mut().copy_from_slice(bytes);
        G::decompress_unchecked(&array).map(Self)
    }
}

/// Which of many points could not be read, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("point {index}: {error}")]
pub struct PointError {
    /// Its place, from zero.
    pub index: usize,
    /// What is wrong with it.
    pub error: DecodeError,
}

impl G1Affine {
    /// A known point by its coordinates in Montgomery form. Checks nothing.
    pub(crate) const fn from_limbs(x: [u64; 6], y: [u64; 6]) -> Self {
        Self(backend::g1_from_limbs(x, y))
    }
}

impl G2Affine {
    /// A known point by its coordinates in Montgomery form. Checks nothing.
    pub(crate) const fn from_limbs(x: [[u64; 6]; 2], y: [[u64; 6]; 2]) -> Self {
        Self(backend::g2_from_limbs(x, y))
    }
}

impl<G: Group> Projective<G> {
    /// The standard generator.
    #[must_use]
    pub fn generator() -> Self {
        Affine::generator().into()
    }

    /// The neutral element.
    #[must_use]
    pub const fn identity() -> Self {
        Self(G::IDENTITY)
    }

    /// Whether this is the neutral element.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        G::is_identity(&self.0)
    }

    /// Twice this point.
    #[must_use]
    pub fn double(&self) -> Self {
        Self(G::double(&self.0))
    }

    /// In affine form.
    #[must_use]
    pub fn to_affine(&self) -> Affine<G> {
        Affine(G::to_affine(&self.0))
    }

    /// All in affine form, with one inversion. Points at infinity are allowed.
    #[must_use]
    pub fn batch_to_affine(points: &[Self]) -> Vec<Affine<G>> {
        let raw: Vec<&G::RawProjective> = points.iter().map(|point| &point.0).collect();
        G::batch_to_affine(&raw).into_iter().map(Affine).collect()
    }
}

/// `Σ scalarᵢ·pointᵢ` over as many terms as the shorter slice has; the identity for none. The time depends
/// on scalars and points: all must be public.
#[must_use]
pub fn vartime_msm<G: Group>(points: &[Affine<G>], scalars: &[Scalar]) -> Projective<G> {
    sum_of_products(points, scalars.iter().map(Factor::new))
}

/// [`vartime_msm`] with 128-bit scalars.
#[must_use]
pub fn vartime_msm_128<G: Group>(points: &[Affine<G>], scalars: &[u128]) -> Projective<G> {
    sum_of_products(
        points,
        scalars.iter().map(|scalar| Factor::from_le_bytes(&scalar.to_le_bytes())),
    )
}

/// [`vartime_msm`] with little-endian scalars of at most 32 bytes each, which may be above the order. Small
/// ones cost less.
#[must_use]
pub fn vartime_msm_bytes<G: Group, const LEN: usize>(
    points: &[Affine<G>],
    scalars: &[[u8; LEN]],
) -> Projective<G> {
    const { assert!(LEN <= 32, "a factor has at most 32 bytes") };
    sum_of_products(points, scalars.iter().map(|scalar| Factor::from_le_bytes(scalar)))
}

/// `Σ challenge(bitsᵢ)·pointᵢ` over as many terms as the shorter slice has.
pub(crate) fn vartime_msm_challenges<G: Group>(
    points: &[Affine<G>],
    bits: &[u128],
) -> Projective<G> {
    sum_of_products(points, bits.iter().map(|bits| Factor::challenge(*bits)))
}

/// In parts, if they run at the same time.
fn sum_of_products<G: Group>(
    points: &[Affine<G>],
    factors: impl Iterator<Item = Factor<G>>,
) -> Projective<G> {
    let terms: Vec<_> = points.iter().copied().zip(factors).collect();
    let sums =
        in_parts(terms.len(), LEAST_SUM, |range| msm::sum(terms.get(range).unwrap_or_default()));
    sums.into_iter().sum()
}

/// RFC 9380 hash to `𝔾₁`, suite `BLS12381G1_XMD:SHA-256_SSWU_RO_`; tags over 255 bytes are hashed as
/// the RFC says.
#[must_use]
pub fn hash_to_g1(message: &[u8], tag: Tag<'_>) -> G1Affine {
    Projective::<G1>(G1::hash(message, tag.as_bytes())).to_affine()
}

/// RFC 9380 hash to `𝔾₂`, suite `BLS12381G2_XMD:SHA-256_SSWU_RO_`; tags over 255 bytes are hashed as
/// the RFC says.
#[must_use]
pub fn hash_to_g2(message: &[u8], tag: Tag<'_>) -> G2Affine {
    Projective::<G2>(G2::hash(message, tag.as_bytes())).to_affine()
}

/// RFC 9380 encoding to `𝔾₁`, suite `BLS12381G1_XMD:SHA-256_SSWU_NU_`: half the price of
/// [`hash_to_g1`], but not uniform, so only for schemes that are proven with it.
#[must_use]
pub fn encode_to_g1(message: &[u8], tag: Tag<'_>) -> G1Affine {
    Projective::<G1>(G1::encode(message, tag.as_bytes())).to_affine()
}

/// RFC 9380 encoding to `𝔾₂`, suite `BLS12381G2_XMD:SHA-256_SSWU_NU_`; see [`encode_to_g1`].
#[must_use]
pub fn encode_to_g2(message: &[u8], tag: Tag<'_>) -> G2Affine {
    Projective::<G2>(G2::encode(message, tag.as_bytes())).to_affine()
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

/// Hides the coordinates: a point may be a secret (`h^f(j)` is).
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
