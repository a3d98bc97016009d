//! Canonical encodings for objects that are stored or sent on their own: version, kind and body.
//!
//! ```text
//! object = 0x01 ‖ kind ‖ body
//! ```
//!
//! | kind   | object                      | body                                                    |
//! |--------|-----------------------------|---------------------------------------------------------|
//! | `0x01` | min-sig public key          | 𝔾₂, not the identity                                    |
//! | `0x02` | min-sig signature           | 𝔾₁, not the identity                                    |
//! | `0x03` | min-sig possession          | 𝔾₁, not the identity                                    |
//! | `0x04` | min-pk public key           | 𝔾₁, not the identity                                    |
//! | `0x05` | min-pk signature            | 𝔾₂, not the identity                                    |
//! | `0x06` | min-pk possession           | 𝔾₂, not the identity                                    |
//! | `0x08` | commitment in 𝔾₁            | count, at least one ‖ 𝔾₁ …                              |
//! | `0x09` | commitment in 𝔾₂            | count, at least one ‖ 𝔾₂ …                              |
//! | `0x10` | threshold partial, min-sig  | count, at least one ‖ 𝔾₁, not the identity …            |
//! | `0x11` | threshold partial, min-pk   | count, at least one ‖ 𝔾₂, not the identity …            |
//! | `0x20` | weighted VUF: blinded key   | `π`: 𝔾₁, not the identity; `ρ`: count ‖ 𝔾₁ …            |
//! | `0x21` | weighted VUF: partial       | 𝔾₂, not the identity                                    |
//! | `0x22` | weighted VUF: proof         | chain (32) ‖ epoch ‖ slot ‖ (`0`, or `1` ‖ value (32))  |
//! |        |                             | ‖ count ‖ (party ‖ partial) …, parties ascending        |
//! | `0x30` | certificate, min-sig        | bitmap: count ‖ bytes; 𝔾₁, not the identity             |
//! | `0x31` | certificate, min-pk         | bitmap: count ‖ bytes; 𝔾₂, not the identity             |
//! | `0x40` | timelock to min-sig         | `U`: 𝔾₂, not the identity; `V`, `W`: the message's bytes |
//! | `0x41` | ElGamal ciphertext          | `U`, `Ū`: 𝔾₁, not the identity; `c`, `z`: scalars; count ‖ bytes |
//! | `0x42` | ElGamal decryption share    | count, at least one ‖ 𝔾₁, not the identity …            |
//! | `0x43` | ElGamal public key          | `Y`: 𝔾₁, not the identity; `Ŷ`: 𝔾₂, of the same secret   |
//! | `0x44` | timelock to min-pk          | `U`: 𝔾₁, not the identity; `V`, `W`: the message's bytes |
//!
//! Points and scalars are as in [`crate::curve`], big-endian; epoch and slot are `u64`, counts and
//! parties `u32`, little-endian. The body is the Borsh encoding of the same value, so these objects
//! can be part of other Borsh messages, without the first two bytes.
//!
//! An object has exactly one encoding and decoding is strict about it: no bytes may follow, no
//! shorter or longer form is accepted, and a decoded object encodes to the same bytes again. Before
//! anything is allocated, a count is compared with the number of items that the remaining bytes can
//! hold. So no input costs more memory than a small multiple of its own length.
//!
//! With the feature `serde` every object is also `Serialize` and `Deserialize`: as lower-case
//! hexadecimal of these bytes in human-readable formats, and as these bytes in other formats.
//! Successful decoding shows that the points are in their groups. It shows nothing about who made the
//! object.
mod kind;
mod objects;
mod reader;
#[cfg(feature = "serde")]
mod serde;

use alloc::vec::Vec;

use borsh::BorshSerialize;

pub use self::kind::Kind;
pub use self::reader::{Reader, TrailingBytes, Truncated};
use crate::curve::DecodeError;

/// The version of the format. There is only this one.
pub const VERSION: u8 = 1;

/// Why bytes are not the expected object. Positions count from the first byte, from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes were written in another version of this format.
    #[error("version {got}, expected {VERSION}")]
    Version {
        /// The version in the first byte.
        got: u8,
    },
    /// The kind is not that of any object.
    #[error("kind {got:#04x} is not known")]
    UnknownKind {
        /// The kind in the second byte.
        got: u8,
    },
    /// The bytes are an object of another kind than expected.
    #[error("kind {got:#04x}, expected {:#04x}, a {expected}", expected.byte())]
    Kind {
        /// The kind that the caller asked for.
        expected: Kind,
        /// The kind in the second byte.
        got: u8,
    },
    /// The bytes end too early.
    #[error("{got} bytes left at byte {at}, expected {need}")]
    Truncated {
        /// Position at which the next field starts.
        at: usize,
        /// Length of that field in bytes.
        need: usize,
        /// Number of bytes that are left.
        got: usize,
    },
    /// Bytes follow after the end of the object.
    #[error("{got} bytes after the end at byte {at}")]
    Trailing {
        /// Position at which the object ends.
        at: usize,
        /// How many bytes follow.
        got: usize,
    },
    /// A count announces more items than are allowed or can follow.
    #[error("{got} items announced at byte {at}, at most {most} are possible")]
    Count {
        /// Position of the count.
        at: usize,
        /// The number of items that the bytes announce.
        got: u32,
        /// The greatest number that the remaining bytes, or the object, can hold.
        most: usize,
    },
    /// A field has a value that is not allowed.
    #[error("{got} at byte {at}, expected {expected}")]
    Value {
        /// Position of the field.
        at: usize,
        /// The value of the field.
        got: u64,
        /// Description of the allowed values.
        expected: &'static str,
    },
    /// The two halves of a key, one point in each group, have different logarithms.
    #[error("at byte {at}: the halves of the key have different secrets")]
    Halves {
        /// Position at which the first point starts.
        at: usize,
    },
    /// A point or scalar has no valid encoding.
    #[error("at byte {at}: {error}")]
    Decode {
        /// Position at which its encoding starts.
        at: usize,
        /// The reason why it is not valid.
        error: DecodeError,
    },
}

impl WireError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Version { .. } => "wrong-version",
            Self::UnknownKind { .. } => "unknown-kind",
            Self::Kind { .. } => "wrong-kind",
            Self::Truncated { .. } => "truncated",
            Self::Trailing { .. } => "trailing-bytes",
            Self::Count { .. } => "count-too-large",
            Self::Value { .. } => "invalid-value",
            Self::Halves { .. } => "key-halves",
            Self::Decode { error, .. } => error.code(),
        }
    }
}

impl From<Truncated> for WireError {
    fn from(Truncated { at, need, got }: Truncated) -> Self {
        Self::Truncated { at, need, got }
    }
}

impl From<TrailingBytes> for WireError {
    fn from(TrailingBytes { at, got }: TrailingBytes) -> Self {
        Self::Trailing { at, got }
    }
}

/// An object that has its own encoding. The trait is implemented for all types of the table above and
/// for no others.
///
/// ```
/// use prefinal_crypto_core::bls::min_sig::{Domain, SecretKey, Signature};
/// use prefinal_crypto_core::wire::Object;
/// # use rand_core::SeedableRng;
/// # let key = SecretKey::random(&mut rand_chacha::ChaCha20Rng::seed_from_u64(1));
/// const EXAMPLE: Domain = Domain::new("example");
/// let signature: Signature = key.sign(EXAMPLE, b"message");
/// let bytes = signature.to_wire();
/// assert_eq!(Signature::from_wire(&bytes), Ok(signature));
/// ```
pub trait Object: BorshSerialize + sealed::Body {
    /// The kind in the second byte.
    const KIND: Kind;

    /// The encoding: version, kind and body.
    #[must_use]
    fn to_wire(&self) -> Vec<u8> {
        let mut out = alloc::vec![VERSION, Self::KIND.byte()];
        // This fails only for a list whose length does not fit `u32`, and no object holds such a
        // list.
        let _ = self.serialize(&mut out);
        out
    }

    /// Decodes an object, which must use all of the bytes. Costs a subgroup check for each point.
    ///
    /// # Errors
    /// [`WireError`] says what is wrong and at which position.
    fn from_wire(bytes: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(bytes);
        reader.version()?;
        let got = reader.u8()?;
        if got != Self::KIND.byte() {
            return Err(WireError::Kind { expected: Self::KIND, got });
        }
        let object = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(object)
    }
}

/// The kind that the first two bytes state. Use it where objects of several kinds are accepted. The
/// body is not read.
///
/// ```
/// use prefinal_crypto_core::bls::min_sig::{Domain, SecretKey};
/// use prefinal_crypto_core::wire::{Kind, Object, kind};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// let signature = SecretKey::random(&mut rng).sign(Domain::new("example"), b"message");
/// assert_eq!(kind(&signature.to_wire()), Ok(Kind::MinSigSignature));
/// assert!(kind(b"something else").is_err());
/// ```
///
/// # Errors
/// If the version or the kind is unknown or missing.
pub fn kind(bytes: &[u8]) -> Result<Kind, WireError> {
    let mut reader = Reader::new(bytes);
    reader.version()?;
    let got = reader.u8()?;
    Kind::from_byte(got).ok_or(WireError::UnknownKind { got })
}

mod sealed {
    use super::{Reader, WireError};

    /// An object without version and kind.
    pub trait Body: Sized {
        fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError>;
    }
}
