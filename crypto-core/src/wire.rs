//! Canonical bytes for what is stored or sent by itself: one version, one kind, one body.
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
//! parties `u32`, little-endian. The body is what Borsh writes of the same value, so without the first
//! two bytes these objects stand inside other Borsh messages.
//!
//! An object has exactly one encoding and decoding is strict about it: nothing may follow, no shorter
//! or longer form is read, and what is read writes the same bytes again. A count is compared with what
//! the bytes in hand can hold before anything is allocated, so no input costs more memory than a small
//! multiple of its own length.
//!
//! With the feature `serde` every object is also `Serialize` and `Deserialize`: as lower-case
//! hexadecimal of these bytes where the format is for people to read, as these bytes elsewhere. That
//! a value decodes says that its points are in their groups, and nothing about who made it.
mod kind;
mod objects;
mod reader;
#[cfg(feature = "serde")]
mod serde;

use alloc::vec::Vec;

use borsh::BorshSerialize;

pub use self::kind::Kind;
pub use self::reader::{Reader, Trailing, Truncated};
use crate::curve::DecodeError;

/// The only version there is.
pub const VERSION: u8 = 1;

/// Why bytes are not the object that was expected. Places count from the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Written by another version of this format.
    #[error("version {got}, expected {VERSION}")]
    Version {
        /// What the first byte says.
        got: u8,
    },
    /// No object at all.
    #[error("kind {got:#04x} is not known")]
    UnknownKind {
        /// What the second byte says.
        got: u8,
    },
    /// Another object than was asked for.
    #[error("kind {got:#04x}, expected {:#04x}, a {expected}", expected.byte())]
    Kind {
        /// What was asked for.
        expected: Kind,
        /// What the second byte says.
        got: u8,
    },
    /// Ends too soon.
    #[error("{got} bytes left at byte {at}, expected {need}")]
    Truncated {
        /// Where the next field starts.
        at: usize,
        /// Its bytes.
        need: usize,
        /// The bytes there are.
        got: usize,
    },
    /// Goes on after its end.
    #[error("{got} bytes after the end at byte {at}")]
    Trailing {
        /// Where the object ends.
        at: usize,
        /// How many bytes follow.
        got: usize,
    },
    /// Announces more items than may or can follow.
    #[error("{got} items announced at byte {at}, at most {most} are possible")]
    Count {
        /// Where the count stands.
        at: usize,
        /// What it says.
        got: u32,
        /// What the bytes that follow, or the object, can hold.
        most: usize,
    },
    /// Has a value that no such field has.
    #[error("{got} at byte {at}, expected {expected}")]
    Value {
        /// Where the field stands.
        at: usize,
        /// Its value.
        got: u64,
        /// What it may be.
        expected: &'static str,
    },
    /// Has two points, one in each group, of different logarithms.
    #[error("at byte {at}: the halves of the key have different secrets")]
    Halves {
        /// Where the first one starts.
        at: usize,
    },
    /// Has a point or scalar that is none.
    #[error("at byte {at}: {error}")]
    Decode {
        /// Where its encoding starts.
        at: usize,
        /// What is wrong with it.
        error: DecodeError,
    },
}

impl From<Truncated> for WireError {
    fn from(Truncated { at, need, got }: Truncated) -> Self {
        Self::Truncated { at, need, got }
    }
}

impl From<Trailing> for WireError {
    fn from(Trailing { at, got }: Trailing) -> Self {
        Self::Trailing { at, got }
    }
}

/// What has bytes of its own. Implemented here for all of the table above and for nothing else.
///
/// ```
/// use crypto_core::bls::min_sig::{Domain, SecretKey, Signature};
/// use crypto_core::wire::Object;
/// # use rand_core::SeedableRng;
/// # let key = SecretKey::random(&mut rand_chacha::ChaCha20Rng::seed_from_u64(1));
/// const EXAMPLE: Domain = Domain::new("example");
/// let signature: Signature = key.sign(EXAMPLE, b"message");
/// let bytes = signature.to_wire();
/// assert_eq!(Signature::from_wire(&bytes), Ok(signature));
/// ```
pub trait Object: BorshSerialize + sealed::Body {
    /// What the second byte says.
    const KIND: Kind;

    /// The bytes.
    #[must_use]
    fn to_wire(&self) -> Vec<u8> {
        let mut out = alloc::vec![VERSION, Self::KIND.byte()];
        // Fails for a list that `u32` cannot count only, and no object holds one.
        let _ = self.serialize(&mut out);
        out
    }

    /// Reads the bytes, all of them. Costs a check of the subgroup for each point.
    ///
    /// # Errors
    /// Says what is wrong and where.
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

/// What the bytes claim to be: for who takes objects of several kinds. Reads no further.
///
/// # Errors
/// If the version or the kind is not known, or not there.
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
