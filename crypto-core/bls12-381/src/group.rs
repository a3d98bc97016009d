//! The common interface of the two groups, which each backend implements.
//!
//! The trait takes scalars as bytes, so that two backends can be compared in one build.
use alloc::vec::Vec;
use core::fmt::Debug;

use crate::error::DecodeError;
use crate::field::BaseField;

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// The common interface of the two groups. The trait is sealed; only a backend implements it.
pub trait Group: sealed::Sealed + Copy + Eq + Debug + Send + Sync + 'static {
    /// The backend's affine point.
    #[doc(hidden)]
    type RawAffine: Copy + Debug + Send + Sync;
    /// The backend's projective point.
    #[doc(hidden)]
    type RawProjective: Copy + Debug + Send + Sync;
    #[doc(hidden)]
    type Coordinate: BaseField;
    /// The type of a compressed encoding.
    type Bytes: AsRef<[u8]> + AsMut<[u8]> + Copy + Eq + Debug + Send + Sync;

    #[doc(hidden)]
    const EMPTY: Self::Bytes;
    #[doc(hidden)]
    const AFFINE_IDENTITY: Self::RawAffine;
    #[doc(hidden)]
    const IDENTITY: Self::RawProjective;
    /// The number of digits into which the endomorphism cuts a scalar, see `factor`.
    #[doc(hidden)]
    const DIGITS: usize;
    #[doc(hidden)]
    fn generator() -> Self::RawAffine;
    /// `z²·a` in `𝔾₁`, `z·a` in `𝔾₂`: see `factor`.
    #[doc(hidden)]
    fn endomorphism(a: &Self::RawAffine) -> Self::RawAffine;
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
    /// The coordinates `(x, y)`. They have no meaning for the identity.
    #[doc(hidden)]
    fn coordinates(a: &Self::RawAffine) -> (&Self::Coordinate, &Self::Coordinate);
    /// The point with these coordinates. They must be those of a point.
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
    /// Converts all points with one inversion. Points at infinity are allowed.
    #[doc(hidden)]
    fn batch_to_affine(points: &[&Self::RawProjective]) -> Vec<Self::RawAffine>;
    /// Multiplies by a little-endian scalar below the group order, in constant time in point and
    /// scalar.
    #[doc(hidden)]
    fn multiply(point: &Self::RawProjective, scalar: &[u8; 32]) -> Self::RawProjective;
    /// Sets `a` to `b` if `condition` is all ones, and keeps `a` if it is zero. Constant time.
    #[doc(hidden)]
    fn select(a: &mut Self::RawAffine, b: &Self::RawAffine, condition: u64);
    #[doc(hidden)]
    fn compress(a: &Self::RawAffine) -> Self::Bytes;
    /// Reads a canonical encoding of a point on the curve. The point may have any order.
    #[doc(hidden)]
    fn decompress_unchecked(bytes: &Self::Bytes) -> Result<Self::RawAffine, DecodeError>;
    /// Whether a point of the curve is in the subgroup of order `r`.
    #[doc(hidden)]
    fn in_subgroup(a: &Self::RawAffine) -> bool;
    /// RFC 9380, `hash_to_curve`.
    #[doc(hidden)]
    fn hash(message: &[u8], tag: &[u8]) -> Self::RawProjective;
    /// RFC 9380, `encode_to_curve`.
    #[doc(hidden)]
    fn encode(message: &[u8], tag: &[u8]) -> Self::RawProjective;
}

/// Sets `a` to `b` if `condition` is all ones, and keeps `a` if it is zero, without a branch.
#[inline]
pub(crate) fn limb_select(a: &mut u64, b: u64, condition: u64) {
    *a ^= condition & (*a ^ b);
}

/// `z = |x|`. The curve's parameters are polynomials in `x`.
pub(crate) const Z: u64 = 0xd201_0000_0001_0000;

/// `β`, a cube root of unity, in Montgomery form.
pub(crate) const BETA: [u64; 6] = [
    0x30f1_361b_798a_64e8,
    0xf3b8_ddab_7ece_5a2a,
    0x16a8_ca3a_c615_77f7,
    0xc26a_2ff8_74fd_029b,
    0x3636_b766_6070_1c6e,
    0x051b_a4ab_241b_6160,
];

/// `c = (u + 1)^(−(p − 1)/3)` in Montgomery form.
pub(crate) const UNTWIST_X: [[u64; 6]; 2] = [
    [0; 6],
    [
        0x890d_c9e4_8675_45c3,
        0x2af3_2253_3285_a5d5,
        0x5088_0866_309b_7e2c,
        0xa20d_1b8c_7e88_1024,
        0x14e4_f04f_e2db_9068,
        0x14e5_6d3f_1564_853a,
    ],
];

/// `d = (u + 1)^(−(p − 1)/2)` in Montgomery form.
pub(crate) const UNTWIST_Y: [[u64; 6]; 2] = [
    [
        0x3e2f_585d_a55c_9ad1,
        0x4294_213d_86c1_8183,
        0x3828_44c8_8b62_3732,
        0x92ad_2afd_1910_3e18,
        0x1d79_4e4f_ac7c_f0b9,
        0x0bd5_92fc_7d82_5ec8,
    ],
    [
        0x7bcf_a7a2_5aa3_0fda,
        0xdc17_dec1_2a92_7e7c,
        0x2f08_8dd8_6b4e_bef1,
        0xd1ca_2087_da74_d4a7,
        0x2da2_5966_96ce_bc1d,
        0x0e2b_7eed_bbfd_87d2,
    ],
];
