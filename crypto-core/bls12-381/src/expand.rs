//! Expands a message to uniform bytes: `expand_message_xmd` of RFC 9380, section 5.3.1, with SHA-256.
//!
//! ```text
//! T  = tag ‖ len(tag)
//! b₀ = H(64 zero bytes ‖ message ‖ LEN as two bytes ‖ 0 ‖ T)
//! b₁ = H(b₀ ‖ 1 ‖ T),  bᵢ = H((b₀ ⊕ bᵢ₋₁) ‖ i ‖ T)
//! ```
//!
//! The first `LEN` bytes of `b₁ ‖ b₂ ‖ …` are the result. A tag of more than 255 bytes is replaced
//! by its hash (section 5.3.3).
//!
//! Each backend maps these bytes to the curve.
use sha2::{Digest, Sha256};

/// A domain separation tag, which names the purpose of a hash. RFC 9380 (section 3.1) does not allow
/// an empty tag, because without a tag, hashes for two purposes are the same.
///
/// ```
/// use prefinal_bls12_381::{Tag, hazmat::hash_to_g1};
/// const VOTE: Tag<'_> = Tag::new(b"EXAMPLE-V1-VOTE_BLS12381G1_XMD:SHA-256_SSWU_RO_");
/// let point = hash_to_g1(b"message", VOTE);
/// assert!(Tag::try_from(&b""[..]).is_err());
/// ```
/// ```compile_fail,E0080
/// const NONE: prefinal_bls12_381::Tag<'_> = prefinal_bls12_381::Tag::new(b"");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag<'t>(&'t [u8]);

/// The bytes are empty, so they are not a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tag has 0 bytes, expected 1 at least")]
pub struct EmptyTag;

impl EmptyTag {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "invalid-argument"
    }
}

impl<'t> Tag<'t> {
    /// A tag that is a constant of the program. A tag of more than 255 bytes is hashed first, as the
    /// RFC says.
    ///
    /// # Panics
    /// If the tag is empty. In a `const` this is a compile error.
    #[must_use]
    pub const fn new(tag: &'t [u8]) -> Self {
        assert!(!tag.is_empty(), "a tag has a byte at least");
        Self(tag)
    }

    /// The bytes of the tag.
    #[must_use]
    pub const fn as_bytes(self) -> &'t [u8] {
        self.0
    }
}

impl<'t> TryFrom<&'t [u8]> for Tag<'t> {
    type Error = EmptyTag;

    fn try_from(tag: &'t [u8]) -> Result<Self, EmptyTag> {
        if tag.is_empty() { Err(EmptyTag) } else { Ok(Self(tag)) }
    }
}

/// Length of one hash in bytes.
const BLOCK: usize = 32;
/// One input block of the hash, all zero.
const INPUT_BLOCK: [u8; 64] = [0; 64];
const LONGEST_TAG: usize = 255;
const LONG_TAG: &[u8] = b"H2C-OVERSIZE-DST-";

/// Expands a message under a tag to `LEN` bytes. `LEN` is at most 255 hashes; otherwise it does not
/// compile.
///
/// ```compile_fail,E0080
/// use prefinal_bls12_381::{Tag, hazmat::expand_message_xmd};
/// let bytes: [u8; 8161] = expand_message_xmd(b"message", Tag::new(b"tag"));
/// ```
#[must_use]
pub fn expand_message_xmd<const LEN: usize>(message: &[u8], tag: Tag<'_>) -> [u8; LEN] {
    expand(message, tag.0)
}

/// Like [`expand_message_xmd`], for bytes that are known to be a tag.
pub(crate) fn expand<const LEN: usize>(message: &[u8], tag: &[u8]) -> [u8; LEN] {
    const { assert!(LEN <= 255 * BLOCK, "longer than RFC 9380 allows") };
    let long: [u8; BLOCK];
    let tag = if tag.len() > LONGEST_TAG {
        long = Sha256::new().chain_update(LONG_TAG).chain_update(tag).finalize().into();
        &long
    } else {
        tag
    };
    // Neither conversion fails: a tag has 255 bytes at most, and `LEN` is below 2¹⁶.
    let tag_len = [u8::try_from(tag.len()).unwrap_or(u8::MAX)];
    let out_len = u16::try_from(LEN).unwrap_or(u16::MAX).to_be_bytes();
    let suffixed = |hasher: Sha256| -> [u8; BLOCK] {
        hasher.chain_update(tag).chain_update(tag_len).finalize().into()
    };
    let first = Sha256::new().chain_update(INPUT_BLOCK).chain_update(message);
    let first = suffixed(first.chain_update(out_len).chain_update([0]));
    let mut out = [0; LEN];
    // Starting with `b₀ ⊕ 0` makes the first round like all others.
    let mut block = [0; BLOCK];
    for (part, index) in out.chunks_mut(BLOCK).zip(1_u8..=255) {
        block.iter_mut().zip(first).for_each(|(byte, other)| *byte ^= other);
        block = suffixed(Sha256::new().chain_update(block).chain_update([index]));
        part.iter_mut().zip(block).for_each(|(byte, from)| *byte = from);
    }
    out
}
