//! Hashing of messages to points, after RFC 9380.
use crate::backend::{G1, G2};
use crate::expand::Tag;
use crate::group::Group;
use crate::points::{G1Affine, G2Affine, Projective};

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

/// RFC 9380 encoding to `𝔾₁`, suite `BLS12381G1_XMD:SHA-256_SSWU_NU_`: half the cost of
/// [`hash_to_g1`], but not uniform. Use it only for schemes whose proof allows it.
#[must_use]
pub fn encode_to_g1(message: &[u8], tag: Tag<'_>) -> G1Affine {
    Projective::<G1>(G1::encode(message, tag.as_bytes())).to_affine()
}

/// RFC 9380 encoding to `𝔾₂`, suite `BLS12381G2_XMD:SHA-256_SSWU_NU_`; see [`encode_to_g1`].
#[must_use]
pub fn encode_to_g2(message: &[u8], tag: Tag<'_>) -> G2Affine {
    Projective::<G2>(G2::encode(message, tag.as_bytes())).to_affine()
}
