//! Keys and signatures as plain hexadecimal text: the compressed encoding in lower case, two digits
//! for each byte, without version and kind.
//!
//! | interface         | writes           | reads                                       | for              |
//! |-------------------|------------------|---------------------------------------------|------------------|
//! | `Display`         | digits           |                                             | logs, files      |
//! | `FromStr`         |                  | digits of either case, with or without `0x` | arguments, files |
//! | `hex`             | digits           | digits of either case, without `0x`         | drand's JSON; `deposit_data` files of Ethereum's depositors |
//! | `hex_prefixed`    | `0x` and digits  | digits of either case, with `0x`            | the JSON of Ethereum's beacon API |
//! | `serde` by itself | the wire format  | the wire format, lower case                 | Prefinal         |
//!
//! Reading checks as much as `from_bytes`: length, encoding, curve, subgroup, and that the point is not
//! the identity. [`HexError`] says which check failed. Secret keys have no text.
#[cfg(feature = "serde")]
mod json;

use core::fmt;
use core::str::FromStr;

#[cfg(feature = "serde")]
pub use self::json::{hex, hex_prefixed};
use super::keys::{ProofOfPossession, PublicKey};
use super::signature::Signature;
use super::variant::Variant;
use crate::curve::{DecodeError, Group};

/// Why a text is not a key or a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HexError {
    /// The text lacks the `0x` at its start, where one is required.
    #[error("text does not start with 0x")]
    NoPrefix,
    /// The text starts with `0x`, where only digits are allowed.
    #[error("text starts with 0x, expected digits alone")]
    Prefix,
    /// The number of digits is wrong. A prefix does not count.
    #[error("{got} hexadecimal digits, expected {expected}")]
    Length {
        /// Number of digits of a text of this type.
        expected: usize,
        /// Number of bytes of the given text.
        got: usize,
    },
    /// A byte of the text is not a hexadecimal digit.
    #[error("byte {got:#04x} at digit {at}, expected 0 to 9 or a to f")]
    Digit {
        /// Position of the byte, counted from zero after the prefix.
        at: usize,
        /// The byte that is not a digit.
        got: u8,
    },
    /// The digits are not the encoding of a point that is allowed here.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

impl HexError {
    /// A name of the reason that stays the same from release to release.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoPrefix => "no-hex-prefix",
            Self::Prefix => "hex-prefix",
            Self::Length { .. } => "wrong-length",
            Self::Digit { .. } => "not-hexadecimal",
            Self::Decode(error) => error.code(),
        }
    }
}

/// A key, signature or proof that has a plain text. The trait is sealed.
pub trait HexText: Sized + sealed::Sealed {
    #[doc(hidden)]
    type Bytes: AsRef<[u8]> + AsMut<[u8]>;
    #[doc(hidden)]
    const EMPTY: Self::Bytes;
    #[doc(hidden)]
    fn encoding(&self) -> Self::Bytes;
    #[doc(hidden)]
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError>;
}

mod sealed {
    pub trait Sealed {}
}

/// Digits of either case, without a prefix.
fn read<T: HexText>(text: &str) -> Result<T, HexError> {
    let (mut bytes, digits) = (T::EMPTY, text.as_bytes());
    let expected = 2 * bytes.as_ref().len();
    if digits.len() != expected {
        return Err(HexError::Length { expected, got: digits.len() });
    }
    let mut nibbles = digits.iter().enumerate().map(|(at, got)| match got {
        b'0'..=b'9' => Ok(got - b'0'),
        b'a'..=b'f' => Ok(got - b'a' + 10),
        b'A'..=b'F' => Ok(got - b'A' + 10),
        _ => Err(HexError::Digit { at, got: *got }),
    });
    for byte in bytes.as_mut() {
        for nibble in nibbles.by_ref().take(2) {
            *byte = *byte << 4 | nibble?;
        }
    }
    Ok(T::decode(bytes.as_ref())?)
}

/// Writes the digits, in lower case.
struct Digits<'a, T>(&'a T);

impl<T: HexText> fmt::Display for Digits<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.encoding();
        bytes.as_ref().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

macro_rules! texts {
    ($($type:ident, $group:ident;)*) => {$(
        impl<V: Variant> sealed::Sealed for $type<V> {}

        impl<V: Variant> HexText for $type<V> {
            type Bytes = <V::$group as Group>::Bytes;
            const EMPTY: Self::Bytes = <V::$group as Group>::EMPTY;

            fn encoding(&self) -> Self::Bytes {
                self.to_bytes()
            }

            fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
                Self::from_bytes(bytes)
            }
        }

        /// The compressed encoding in lower-case hexadecimal, without a prefix.
        impl<V: Variant> fmt::Display for $type<V> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Digits(self).fmt(f)
            }
        }

        /// Reads hexadecimal digits of either case, with or without `0x` before them.
        impl<V: Variant> FromStr for $type<V> {
            type Err = HexError;

            fn from_str(text: &str) -> Result<Self, HexError> {
                read(text.strip_prefix("0x").unwrap_or(text))
            }
        }
    )*};
}

texts! {
    PublicKey, KeyGroup;
    Signature, SignatureGroup;
    ProofOfPossession, SignatureGroup;
}
