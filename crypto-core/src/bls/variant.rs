//! Which group the signatures are in; the keys are in the other.
//!
//! The pairing takes 𝔾₁ on the left and 𝔾₂ on the right, and [`Variant::pair`] is the one place
//! where that matters: above it every equation is written with signatures left and keys right.
use core::fmt::Debug;

use crate::curve::hazmat::{hash_to_g1, hash_to_g2};
use crate::curve::{Affine, G1, G1Affine, G2, G2Affine, Group, Tag};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::MinSig {}
    impl Sealed for super::MinPk {}
}

/// A choice of groups. Sealed: there are two.
pub trait Variant: sealed::Sealed + Copy + Eq + Debug + 'static {
    /// Where signatures and hashes are.
    type SignatureGroup: Group;
    /// Where keys are.
    type KeyGroup: Group;

    /// The hash to the curve as every tag names it.
    #[doc(hidden)]
    const HASH: &'static str;
    #[doc(hidden)]
    fn hash(message: &[u8], tag: Tag<'_>) -> SignaturePoint<Self>;
    /// The two in the order that the pairing wants.
    #[doc(hidden)]
    fn pair(signature: SignaturePoint<Self>, key: KeyPoint<Self>) -> (G1Affine, G2Affine);
}

/// A point of the signatures' group.
pub(crate) type SignaturePoint<V> = Affine<<V as Variant>::SignatureGroup>;
/// A point of the keys' group.
pub(crate) type KeyPoint<V> = Affine<<V as Variant>::KeyGroup>;

/// Small signatures: 48 bytes, in 𝔾₁; keys of 96 bytes in 𝔾₂.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinSig {}

/// Small keys: 48 bytes, in 𝔾₁; signatures of 96 bytes in 𝔾₂.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinPk {}

impl Variant for MinSig {
    type SignatureGroup = G1;
    type KeyGroup = G2;

    const HASH: &'static str = "BLS12381G1_XMD:SHA-256_SSWU_RO_";

    fn hash(message: &[u8], tag: Tag<'_>) -> G1Affine {
        hash_to_g1(message, tag)
    }

    fn pair(signature: G1Affine, key: G2Affine) -> (G1Affine, G2Affine) {
        (signature, key)
    }
}

impl Variant for MinPk {
    type SignatureGroup = G2;
    type KeyGroup = G1;

    const HASH: &'static str = "BLS12381G2_XMD:SHA-256_SSWU_RO_";

    fn hash(message: &[u8], tag: Tag<'_>) -> G2Affine {
        hash_to_g2(message, tag)
    }

    fn pair(signature: G2Affine, key: G1Affine) -> (G1Affine, G2Affine) {
        (key, signature)
    }
}
