//! The two variants: signatures in one group, keys in the other.
//!
//! The pairing takes 𝔾₁ on the left and 𝔾₂ on the right. [`Variant::pair`] is the only place where
//! that order matters. All other code writes every equation with signatures left and keys right.
use core::fmt::Debug;

use crate::curve::hazmat::{hash_to_g1, hash_to_g2};
use crate::curve::{Affine, G1, G1Affine, G2, G2Affine, Group, Tag};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::MinSig {}
    impl Sealed for super::MinPk {}
}

/// The choice of the groups for signatures and keys. The trait is sealed: [`MinSig`] and [`MinPk`]
/// are the only variants.
pub trait Variant: sealed::Sealed + Copy + Eq + Debug + 'static {
    /// The group of signatures and of hashed messages.
    type SignatureGroup: Group;
    /// The group of public keys.
    type KeyGroup: Group;

    /// The name of the hash to the curve, as it stands in every tag.
    #[doc(hidden)]
    const HASH: &'static str;
    #[doc(hidden)]
    fn hash(message: &[u8], tag: Tag<'_>) -> SignaturePoint<Self>;
    /// The two points in the order that the pairing takes, 𝔾₁ first.
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
