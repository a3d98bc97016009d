//! The purpose of a signature, expressed as the tag of its hash.
//!
//! | domain                | tag, with `‹H›` the hash to the variant's group               |
//! |-----------------------|---------------------------------------------------------------|
//! | [`Domain::new`]       | `PREFINAL-V1-BLS-SIGNATURE_‹H›name`                           |
//! | [`Domain::tag`]       | the tag that the caller gives                                 |
//! | [`Domain::BASIC`]     | `BLS_SIG_‹H›NUL_`                                             |
//! | [`Domain::POP`]       | `BLS_SIG_‹H›POP_`                                             |
//! | possession, Prefinal  | `PREFINAL-V1-BLS-POSSESSION_‹H›`                              |
//! | possession, standard  | `BLS_POP_‹H›POP_`                                             |
//!
//! `‹H›` is `BLS12381G1_XMD:SHA-256_SSWU_RO_` or the same with `G2`. No tag is a prefix of a tag of
//! another line, and the tags of the two variants differ, so one secret key may serve both variants.
//! The exception are tags that the caller gives: they are used unchanged, as some standard prescribes
//! them.
//!
//! A name is not a tag: `Domain::new("BLS_SIG_…")` would sign under a different tag than the text
//! suggests. So names that look like tags are refused.
use alloc::string::String;

use super::variant::{SignaturePoint, Variant};
use crate::curve::Tag;

const OWN: &str = "PREFINAL-V1-BLS-SIGNATURE_";
const OWN_POSSESSION: &str = "PREFINAL-V1-BLS-POSSESSION_";
/// Length in bytes of `Variant::HASH`, the same for every variant.
const HASH_BYTES: usize = 31;

/// Why a text cannot be the name or the tag of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DomainError {
    /// The text is empty, or longer than a name or tag may be.
    #[error("name or tag has {got} bytes, expected 1 to {max}")]
    Length {
        /// Length of the text in bytes.
        got: usize,
        /// Greatest allowed length in bytes.
        max: usize,
    },
    /// The name looks like a ciphersuite's tag. As a name it would only be the end of the tag, after
    /// this library's own prefix.
    #[error("name looks like the tag of a ciphersuite: pass it as a tag, or choose another name")]
    LooksLikeTag,
    /// The tag begins like this library's own tags or like those of proofs of possession. With such a
    /// tag, a signature made for one purpose could pass as one for another.
    #[error("tag is reserved for what this library signs itself")]
    Reserved,
}

impl DomainError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Length { .. } => "invalid-argument",
            Self::LooksLikeTag => "name-is-a-tag",
            Self::Reserved => "reserved-tag",
        }
    }
}

/// The purpose of a signature. A signature under one domain is never valid under another.
///
/// ```
/// use prefinal_crypto_core::bls::Domain;
/// const VOTE: Domain = Domain::new("example vote");
/// ```
/// ```compile_fail,E0080
/// use prefinal_crypto_core::bls::Domain;
/// const NOTHING: Domain = Domain::new("");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Domain(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Own(&'static str),
    Tag(&'static str),
    Basic,
    Pop,
    BasicNamingG2,
}

impl Domain {
    /// Length of the longest name in bytes. RFC 9380 limits a whole tag to 255 bytes.
    pub const MAX_NAME: usize = 255 - OWN.len() - HASH_BYTES;

    /// The draft's basic scheme, which drand uses. Use it only with keys that sign nothing else,
    /// because this domain does not separate purposes.
    pub const BASIC: Self = Self(Kind::Basic);

    /// The draft's scheme with proofs of possession, which Ethereum uses. As with [`Domain::BASIC`],
    /// the domain does not separate purposes; the message must do it.
    pub const POP: Self = Self(Kind::Pop);

    /// The basic scheme's tag for 𝔾₂, used whatever the group is. drand's `bls-unchained-on-g1` uses
    /// this tag in 𝔾₁ by mistake, and keeps it for compatibility.
    pub const BASIC_NAMING_G2: Self = Self(Kind::BasicNamingG2);

    /// Length in bytes of the longest tag that a caller may give, by RFC 9380.
    pub const MAX_TAG: usize = 255;

    /// A domain with a name that is a constant of the program, like `"jolteon vote"`.
    ///
    /// # Panics
    /// If [`Domain::named`] would refuse the name. In a `const` this is a compile error.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        let fits = Self::check_name(name).is_ok();
        assert!(fits, "a name has 1 to 198 bytes and does not look like a tag");
        Self(Kind::Own(name))
    }

    /// A domain with a name, for names that may be invalid. See also [`Domain::new`].
    ///
    /// # Errors
    /// If the name is empty, longer than [`Domain::MAX_NAME`], or looks like a tag.
    pub const fn named(name: &'static str) -> Result<Self, DomainError> {
        match Self::check_name(name) {
            Ok(()) => Ok(Self(Kind::Own(name))),
            Err(error) => Err(error),
        }
    }

    /// Checks whether [`Domain::named`] would accept this name. The name need not be `'static`.
    ///
    /// # Errors
    /// As there.
    pub const fn check_name(name: &str) -> Result<(), DomainError> {
        if name.is_empty() || name.len() > Self::MAX_NAME {
            return Err(DomainError::Length { got: name.len(), max: Self::MAX_NAME });
        }
        let text = name.as_bytes();
        let suite = finds(text, b"_XMD:") || finds(text, b"_XOF:");
        let begins = begins(text, b"BLS_SIG_") || begins(text, b"BLS_POP_");
        if suite || begins || begins_own(text) {
            return Err(DomainError::LooksLikeTag);
        }
        Ok(())
    }

    /// A domain with its whole tag, the same in both variants, for ciphersuites that are defined
    /// elsewhere. The caller must make sure that the tag names the group that is hashed to; this is
    /// not checked.
    ///
    /// ```
    /// use prefinal_crypto_core::bls::Domain;
    /// const SUITE: &str = "BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_AUG_";
    /// assert!(Domain::named(SUITE).is_err());
    /// let domain = Domain::tag(SUITE)?;
    /// # Ok::<(), prefinal_crypto_core::bls::DomainError>(())
    /// ```
    ///
    /// # Errors
    /// If the tag is empty, longer than [`Domain::MAX_TAG`], or reserved: `PREFINAL-` is for what this
    /// library signs, `BLS_POP_` for proofs of possession.
    pub const fn tag(tag: &'static str) -> Result<Self, DomainError> {
        match Self::check_tag(tag) {
            Ok(()) => Ok(Self(Kind::Tag(tag))),
            Err(error) => Err(error),
        }
    }

    /// Checks whether [`Domain::tag`] would accept this tag. The tag need not be `'static`.
    ///
    /// # Errors
    /// As there.
    pub const fn check_tag(tag: &str) -> Result<(), DomainError> {
        if tag.is_empty() || tag.len() > Self::MAX_TAG {
            return Err(DomainError::Length { got: tag.len(), max: Self::MAX_TAG });
        }
        if begins_own(tag.as_bytes()) || begins(tag.as_bytes(), b"BLS_POP_") {
            return Err(DomainError::Reserved);
        }
        Ok(())
    }

    /// `H`
    pub(crate) fn hash<V: Variant>(self, message: &[u8]) -> SignaturePoint<V> {
        hash_under::<V>(message, &self.tag_of::<V>())
    }

    pub(crate) fn tag_of<V: Variant>(self) -> String {
        match self.0 {
            Kind::Own(name) => [OWN, V::HASH, name].concat(),
            Kind::Tag(tag) => String::from(tag),
            Kind::Basic => ["BLS_SIG_", V::HASH, "NUL_"].concat(),
            Kind::Pop => ["BLS_SIG_", V::HASH, "POP_"].concat(),
            Kind::BasicNamingG2 => String::from("BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_"),
        }
    }
}

/// The tag under which a key signs itself in a proof of possession.
#[derive(Clone, Copy, Debug)]
pub(super) enum Possession {
    Own,
    Standard,
}

impl Possession {
    /// `H'`
    pub(super) fn hash<V: Variant>(self, key: &[u8]) -> SignaturePoint<V> {
        let tag = match self {
            Self::Own => [OWN_POSSESSION, V::HASH].concat(),
            Self::Standard => ["BLS_POP_", V::HASH, "POP_"].concat(),
        };
        hash_under::<V>(key, &tag)
    }
}

/// No tag that is made here is empty or too long, so the fallback `EMPTY` is never used.
fn hash_under<V: Variant>(message: &[u8], tag: &str) -> SignaturePoint<V> {
    const EMPTY: Tag<'_> = Tag::new(b"PREFINAL-V1-BLS-SIGNATURE_");
    V::hash(message, Tag::try_from(tag.as_bytes()).unwrap_or(EMPTY))
}

/// Whether the text begins like a tag of this library or of the crates above it.
const fn begins_own(text: &[u8]) -> bool {
    begins(text, b"PREFINAL-")
}

/// `text.starts_with(with)`, until the standard method is `const`.
const fn begins(text: &[u8], with: &[u8]) -> bool {
    match text.split_at_checked(with.len()) {
        Some((head, _)) => same(head, with),
        None => false,
    }
}

const fn same(mut one: &[u8], mut other: &[u8]) -> bool {
    while let ([a, rest_one @ ..], [b, rest_other @ ..]) = (one, other) {
        if *a != *b {
            return false;
        }
        (one, other) = (rest_one, rest_other);
    }
    one.is_empty() && other.is_empty()
}

/// Whether `part` is anywhere in the text.
const fn finds(mut text: &[u8], part: &[u8]) -> bool {
    while let [_, rest @ ..] = text {
        if begins(text, part) {
            return true;
        }
        text = rest;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::{MinPk, MinSig};
    use super::*;

    #[test]
    fn the_longest_name_fits_a_tag_of_either_variant() {
        assert_eq!(Domain::MAX_NAME, 198);
        assert_eq!((MinSig::HASH.len(), MinPk::HASH.len()), (HASH_BYTES, HASH_BYTES));
    }

    #[test]
    fn tags_are_those_of_the_table() {
        let vote = Domain::new("vote");
        assert_eq!(
            vote.tag_of::<MinSig>(),
            "PREFINAL-V1-BLS-SIGNATURE_BLS12381G1_XMD:SHA-256_SSWU_RO_vote"
        );
        assert_eq!(
            vote.tag_of::<MinPk>(),
            "PREFINAL-V1-BLS-SIGNATURE_BLS12381G2_XMD:SHA-256_SSWU_RO_vote"
        );
        assert_eq!(Domain::BASIC.tag_of::<MinSig>(), "BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_");
        assert_eq!(Domain::POP.tag_of::<MinPk>(), "BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_");
        assert_eq!(Domain::BASIC_NAMING_G2.tag_of::<MinSig>(), Domain::BASIC.tag_of::<MinPk>());
    }

    #[test]
    fn a_name_that_looks_like_a_tag_is_none() {
        for name in [
            "BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_",
            "BLS_SIG_",
            "BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_",
            "PREFINAL-V1-BLS-SIGNATURE_BLS12381G1_XMD:SHA-256_SSWU_RO_vote",
            "QUUX-V01-CS02-with-BLS12381G1_XMD:SHA-256_SSWU_RO_",
            "QUUX-V01-CS02-with-curve448_XOF:SHAKE256_ELL2_RO_",
        ] {
            assert_eq!(Domain::named(name), Err(DomainError::LooksLikeTag), "{name}");
        }
        for name in ["vote", "BLS_SIG", "bls signature", "my BLS_SIG_", "PREFINAL"] {
            assert_eq!(Domain::named(name), Ok(Domain::new(name)), "{name}");
        }
        let max = Domain::MAX_NAME;
        assert_eq!(Domain::named(""), Err(DomainError::Length { got: 0, max }));
    }

    #[test]
    fn a_tag_is_taken_as_it_is() {
        const DRAND: &str = "BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_";
        let domain = Domain::tag(DRAND).unwrap();
        assert_eq!(
            (domain.tag_of::<MinSig>(), domain.tag_of::<MinPk>()),
            (DRAND.into(), DRAND.into())
        );
        assert_eq!(domain.hash::<MinSig>(b"message"), Domain::BASIC.hash::<MinSig>(b"message"));
        assert_eq!(Domain::tag(""), Err(DomainError::Length { got: 0, max: 255 }));
        for tag in ["PREFINAL-V1-BLS-POSSESSION_", "BLS_POP_BLS12381G1_XMD:SHA-256_SSWU_RO_POP_"] {
            assert_eq!(Domain::tag(tag), Err(DomainError::Reserved), "{tag}");
        }
    }
}
