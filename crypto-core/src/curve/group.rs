//! What the two groups have in common, and what a backend gives.
//!
//! A backend is a module with the same names as the others: `Fr` and the functions `fr_…` for the
//! scalars, `Fp12` and the functions `fp12_…`, `miller_loop` and `final_exponentiation` for the
//! pairing, and two types `G1` and `G2` that implement [`Group`]. `curve/mod.rs` picks one; the
//! files beside this one name no other. Scalars cross this trait as bytes, so that two backends
//! can be compared in one build.
use alloc::vec::Vec;
use core::fmt::Debug;

use super::DecodeError;
use super::batch::BaseField;

pub(super) mod sealed {
    pub trait Sealed {}
}

/// What the two groups have in common. Sealed: only a backend implements it.
pub trait Group: sealed::Sealed + Copy + Eq + Debug + Send + Sync + 'static {
    /// The backend's affine point.
    #[doc(hidden)]
    type RawAffine: Copy + Debug + Send + Sync;
    /// The backend's projective point.
    #[doc(hidden)]
    type RawProjective: Copy + Debug + Send + Sync;
    #[doc(hidden)]
    type Coordinate: BaseField;
    /// A compressed encoding.
    type Bytes: AsRef<[u8]> + AsMut<[u8]> + Copy + Eq + Debug + Send + Sync;

    #[doc(hidden)]
    const EMPTY: Self::Bytes;
    #[doc(hidden)]
    const AFFINE_IDENTITY: Self::RawAffine;
    #[doc(hidden)]
    const IDENTITY: Self::RawProjective;
    #[doc(hidden)]
    fn generator() -> Self::RawAffine;
    #[doc(hidden)]
    fn add(a: &Self::RawProjective, b: &Self::RawProjective) -> Self::RawProjective;
    #[doc(hidden)]
    fn add_affine(a: &Self::RawProjective, b: &Self::RawAffine) -> Self::RawProjective;
    #[doc(hidden)]
    fn double(a: &Self::RawProjective) -> Self::RawProjective;
    #[doc(hidden)]
    fn negate(a: &mut Self::RawProjective);
    #[doc(hidden)]
    fn negate_affine(a: &mut Self::RawAffine);
    #[doc(hidden)]
    fn wipe(a: &mut Self::RawProjective);
    #[doc(hidden)]
    fn wipe_affine(a: &mut Self::RawAffine);
    #[doc(hidden)]
    fn equal(a: &Self::RawProjective, b: &Self::RawProjective) -> bool;
    #[doc(hidden)]
    fn equal_affine(a: &Self::RawAffine, b: &Self::RawAffine) -> bool;
    /// `(x, y)`; means nothing for the identity.
    #[doc(hidden)]
    fn coordinates(a: &Self::RawAffine) -> (Self::Coordinate, Self::Coordinate);
    /// The point with these coordinates, which are those of a point.
    #[doc(hidden)]
    fn from_coordinates(x: Self::Coordinate, y: Self::Coordinate) -> Self::RawAffine;
    #[doc(hidden)]
    fn is_identity(a: &Self::RawProjective) -> bool;
    #[doc(hidden)]
    fn is_identity_affine(a: &Self::RawAffine) -> bool;
    #[doc(hidden)]
    fn to_affine(a: &Self::RawProjective) -> Self::RawAffine;
    #[doc(hidden)]
    fn to_projective(a: &Self::RawAffine) -> Self::RawProjective;
    /// One inversion for all; points at infinity are allowed.
    #[doc(hidden)]
    fn batch_to_affine(points: &[&Self::RawProjective]) -> Vec<Self::RawAffine>;
    /// By a little-endian scalar below the group order; constant time in point and scalar.
    #[doc(hidden)]
    fn multiply(point: &Self::RawProjective, scalar: &[u8; 32]) -> Self::RawProjective;
    /// `Σ scalarᵢ·pointᵢ` over `LEN`-byte little-endian scalars of at most `bits` bits. The shorter
    /// slice decides; points at infinity are allowed.
    #[doc(hidden)]
    fn vartime_msm<const LEN: usize>(
        points: &[&Self::RawAffine],
        scalars: &[[u8; LEN]],
        bits: usize,
    ) -> Self::RawProjective;
    /// Takes `b` if `condition` is all ones, keeps `a` if it is zero. Constant time.
    #[doc(hidden)]
    fn select(a: &mut Self::RawAffine, b: &Self::RawAffine, condition: u64);
    #[doc(hidden)]
    fn compress(a: &Self::RawAffine) -> Self::Bytes;
    /// On the curve, canonical, and in the subgroup.
    #[doc(hidden)]
    fn decompress(bytes: &Self::Bytes) -> Result<Self::RawAffine, DecodeError>;
    /// RFC 9380, `hash_to_curve`.
    #[doc(hidden)]
    fn hash(message: &[u8], tag: &[u8]) -> Self::RawProjective;
    /// RFC 9380, `encode_to_curve`.
    #[doc(hidden)]
    fn encode(message: &[u8], tag: &[u8]) -> Self::RawProjective;
}

/// Takes `b` if `condition` is all ones, keeps `a` if it is zero, without a branch.
pub(super) fn limb_select(a: &mut u64, b: u64, condition: u64) {
    *a ^= condition & (*a ^ b);
}
