//! What a signature is for, as the tag of its hash.
//!
//! | domain                | tag, with `‹H›` the hash to the variant's group               |
//! |-----------------------|---------------------------------------------------------------|
//! | [`Domain::new`]       | `PREFINAL-V1-BLS-SIGNATURE_‹H›name`                           |
//! | [`Domain::BASIC`]     | `BLS_SIG_‹H›NUL_`                                             |
//! | [`Domain::POP`]       | `BLS_SIG_‹H›POP_`                                             |
//! | possession, ours      | `PREFINAL-V1-BLS-POSSESSION_‹H›`                              |
//! | possession, standard  | `BLS_POP_‹H›POP_`                                             |
//!
//! `‹H›` is `BLS12381G1_XMD:SHA-256_SSWU_RO_` or the same with `G2`. No tag is a prefix of a tag of
//! another line, and the tags of two variants differ, so one secret key may serve both.
use alloc::string::String;

use super::variant::{SignaturePoint, Variant};

const OWN: &str = "PREFINAL-V1-BLS-SIGNATURE_";
const OWN_POSSESSION: &str = "PREFINAL-V1-BLS-POSSESSION_";
/// Bytes of every variant's name of its hash.
const HASH_BYTES: usize = 31;

/// What a signature is for. A signature under one domain is never valid under another.
///
/// ```
/// use crypto_core::bls::Domain;
/// const VOTE: Domain = Domain::new("example vote");
/// ```
/// ```compile_fail,E0080
/// use crypto_core::bls::Domain;
/// const NOTHING: Domain = Domain::new("");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Domain(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Own(&'static str),
    Basic,
    Pop,
    BasicNamingG2,
}

impl Domain {
    /// Longest name: RFC 9380 bounds a tag by 255 bytes.
    pub const MAX_NAME: usize = 255 - OWN.len() - HASH_BYTES;

    /// The draft's basic scheme, as drand signs. For keys that sign nothing else: this domain tells
    /// no purposes apart.
    pub const BASIC: Self = Self(Kind::Basic);

    /// The draft's scheme with proofs of possession, as Ethereum signs. As for [`Domain::BASIC`],
    /// telling purposes apart is left to the message.
    pub const POP: Self = Self(Kind::Pop);

    /// The basic scheme's tag for 𝔾₂ whatever the group: what drand's `bls-unchained-on-g1` got wrong
    /// and keeps.
    pub const BASIC_NAMING_G2: Self = Self(Kind::BasicNamingG2);

    /// A domain by its name, like `"jolteon vote"`.
    ///
    /// # Panics
    /// If the name is empty or longer than [`Domain::MAX_NAME`]; in a `const` that is a compile error.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        assert!(!name.is_empty() && name.len() <= Self::MAX_NAME, "1 to 198 bytes");
        Self(Kind::Own(name))
    }

    /// `H`
    pub(crate) fn hash<V: Variant>(self, message: &[u8]) -> SignaturePoint<V> {
        V::hash(message, self.tag::<V>().as_bytes())
    }

    pub(crate) fn tag<V: Variant>(self) -> String {
        match self.0 {
            Kind::Own(name) => [OWN, V::HASH, name].concat(),
            Kind::Basic => ["BLS_SIG_", V::HASH, "NUL_"].concat(),
            Kind::Pop => ["BLS_SIG_", V::HASH, "POP_"].concat(),
            Kind::BasicNamingG2 => String::from("BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_"),
        }
    }
}

/// Under which tag a key signs itself.
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
        V::hash(key, tag.as_bytes())
    }
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
            vote.tag::<MinSig>(),
            "PREFINAL-V1-BLS-SIGNATURE_BLS12381G1_XMD:SHA-256_SSWU_RO_vote"
        );
        assert_eq!(
            vote.tag::<MinPk>(),
            "PREFINAL-V1-BLS-SIGNATURE_BLS12381G2_XMD:SHA-256_SSWU_RO_vote"
        );
        assert_eq!(Domain::BASIC.tag::<MinSig>(), "BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_");
        assert_eq!(Domain::POP.tag::<MinPk>(), "BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_");
        assert_eq!(Domain::BASIC_NAMING_G2.tag::<MinSig>(), Domain::BASIC.tag::<MinPk>());
    }
}
