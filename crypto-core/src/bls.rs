//! BLS signatures on BLS12-381: single, aggregate and in batches, in both variants.
//!
//! | variant     | signature     | key           | here for                                    |
//! |-------------|---------------|---------------|---------------------------------------------|
//! | [`MinSig`]  | 𝔾₁, 48 bytes  | 𝔾₂, 96 bytes  | the protocols of this workspace, quicknet   |
//! | [`MinPk`]   | 𝔾₂, 96 bytes  | 𝔾₁, 48 bytes  | Ethereum, drand's first chain               |
//!
//! Everything is generic over the [`Variant`]; the modules [`min_sig`] and [`min_pk`] name the types
//! of one variant. `g` generates the group of the keys. `H` hashes to the group of the signatures
//! under the tag of the message's [`Domain`]. `H'` does the same under a separate tag that no domain
//! can have.
//!
//! | step      | equation                                        | by whom        |
//! |-----------|-------------------------------------------------|----------------|
//! | sign      | `σ = H(m)^sk`, `pk = g^sk`                      | signer         |
//! | verify    | `e(σ, g) = e(H(m), pk)`                         | anyone         |
//! | possess   | `e(φ, g) = e(H'(pk), pk)`                       | anyone, once   |
//! | multi     | `e(∏ᵢ σᵢ, g) = e(H(m), ∏ᵢ pkᵢ)`                 | anyone         |
//! | aggregate | `e(∏ₖ σₖ, g) = ∏ₖ e(H(mₖ), pkₖ)`                | anyone         |
//! | batch     | `e(∏ᵢ σᵢ^τᵢ, g) = ∏ᵢ e(H(mᵢ)^τᵢ, pkᵢ)`          | collector      |
//!
//! After Boneh, Drijvers and Neven, "Compact multi-signatures for smaller blockchains" ([eprint
//! 2018/483](https://eprint.iacr.org/2018/483)), the variant with proofs of possession `φ`. Without
//! these proofs, the owner of a key `pk = g^x / ∏ pkᵢ` could sign for everybody, so `multi` and
//! `aggregate` take only keys that are [`Verified`](crate::verified::Verified). `batch` needs no
//! proof of possession, because it checks each signature on its own: `τᵢ` are 128-bit coefficients
//! from a transcript over everything in the equation, so errors that cancel in a plain sum do not
//! cancel here.
//!
//! The ciphersuites of [draft-irtf-cfrg-bls-signature] are domains too ([`Domain::BASIC`],
//! [`Domain::POP`]), so signatures from Ethereum or drand verify here.
//!
//! Differences from the draft: an empty set of signers, the identity as key or signature, and keys or
//! signatures that sum to the identity are refused; the draft allows the identity as a sum of
//! signatures. The draft's message augmentation is left out, because proofs of possession make it
//! unnecessary.
//!
//! Keys, signatures and proofs convert to and from these, and every way in checks them as `from_bytes`
//! does:
//!
//! | to and from                | by                                                              |
//! |----------------------------|-----------------------------------------------------------------|
//! | compressed bytes           | `to_bytes`, `from_bytes`                                        |
//! | a point of [`curve`](crate::curve) | `point`, `from_point`; a secret key: `expose`, `from_scalar` |
//! | types of `blst`, `blstrs`, `ark-bls12-381` | that point, with the features `interop-…`       |
//! | hexadecimal text           | `Display`, `FromStr`; no text for secret keys                   |
//! | drand's JSON               | `#[serde(with = "prefinal_crypto_core::bls::hex")]`             |
//! | JSON of Ethereum's beacon API | `#[serde(with = "prefinal_crypto_core::bls::hex_prefixed")]`    |
//! | Prefinal's wire format     | [`wire`](crate::wire), and `serde` without `with`               |
//!
//! See also: [`certificate`](crate::certificate) decides which signers suffice, counted in stake;
//! [`threshold`](crate::threshold) signs with a key that is shared by a committee.
//!
//! [draft-irtf-cfrg-bls-signature]: https://datatracker.ietf.org/doc/draft-irtf-cfrg-bls-signature/
mod batch;
mod derive;
mod domain;
mod keys;
mod signature;
mod signing;
mod text;
mod variant;

pub use self::batch::{Culprits, SignedMessage, verify_batch, verify_many};
pub use self::derive::{KeyPath, KeyPathError, SeedError};
pub use self::domain::{Domain, DomainError};
pub use self::keys::{ProofOfPossession, PublicKey, SecretKey};
pub use self::signature::{
    AggregateKey, Claim, Signature, SignatureError, aggregate, verify_aggregate, verify_multi,
};
pub use self::signing::SigningKey;
pub use self::text::{HexError, HexText};
#[cfg(feature = "serde")]
pub use self::text::{hex, hex_prefixed};
pub use self::variant::{MinPk, MinSig, Variant};

pub(crate) use self::signature::check;
pub(crate) use self::variant::{KeyPoint, SignaturePoint};

macro_rules! names {
    ($module:ident, $variant:ident, $signature:literal, $key:literal) => {
        #[doc = concat!("Signatures in ", $signature, ", keys in ", $key, ".")]
        pub mod $module {
            pub use super::{
                Culprits, Domain, SignatureError, aggregate, verify_aggregate, verify_batch,
                verify_many, verify_multi,
            };

            /// A key that signs in this variant alone.
            pub type SecretKey = super::SigningKey<super::$variant>;
            #[doc = concat!("A point of ", $key, ", never the identity.")]
            pub type PublicKey = super::PublicKey<super::$variant>;
            #[doc = concat!("A point of ", $signature, ", never the identity.")]
            pub type Signature = super::Signature<super::$variant>;
            #[doc = concat!("A point of ", $signature, ", never the identity.")]
            pub type ProofOfPossession = super::ProofOfPossession<super::$variant>;
            #[doc = concat!("A sum of keys in ", $key, ", never the identity.")]
            pub type AggregateKey = super::AggregateKey<super::$variant>;
            /// One message and the sum of its signers' keys.
            pub type Claim<'a> = super::Claim<'a, super::$variant>;
            /// A message, its signature, and the key that is said to have signed it.
            pub type SignedMessage<'a> = super::SignedMessage<'a, super::$variant>;
        }
    };
}

names!(min_sig, MinSig, "𝔾₁ (48 bytes)", "𝔾₂ (96 bytes)");
names!(min_pk, MinPk, "𝔾₂ (96 bytes)", "𝔾₁ (48 bytes)");
