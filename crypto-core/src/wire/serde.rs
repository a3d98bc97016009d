//! Objects in serde formats: lower-case hexadecimal in human-readable formats, bytes in others.
//!
//! Each object has exactly one text, so upper case is refused.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use serde_core::de::{Error, Visitor};
use serde_core::{Deserialize, Deserializer, Serialize, Serializer};

use super::Object;
use crate::bls::{MinPk, MinSig, min_pk, min_sig};
use crate::certificate::Certificate;
use crate::commitment::Commitment;
use crate::curve::{G1, G2};
use crate::elgamal::{Ciphertext, DecryptionShare, EncryptionKey};
use crate::wvuf::audit::Proof;
use crate::wvuf::{BlindedKey, Partial};
use crate::{threshold, timelock};

const DIGITS: &[u8; 16] = b"0123456789abcdef";

fn serialize<S: Serializer>(object: &impl Object, serializer: S) -> Result<S::Ok, S::Error> {
    let bytes = object.to_wire();
    if serializer.is_human_readable() {
        serializer.serialize_str(&to_hex(&bytes))
    } else {
        serializer.serialize_bytes(&bytes)
    }
}

fn deserialize<'de, T: Object, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    if deserializer.is_human_readable() {
        deserializer.deserialize_str(Hex(PhantomData))
    } else {
        deserializer.deserialize_bytes(Bytes(PhantomData))
    }
}

struct Hex<T>(PhantomData<T>);

impl<T: Object> Visitor<'_> for Hex<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} in lower-case hexadecimal", T::KIND)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let bytes = from_hex(text).map_err(E::custom)?;
        T::from_wire(&bytes).map_err(E::custom)
    }
}

struct Bytes<T>(PhantomData<T>);

impl<T: Object> Visitor<'_> for Bytes<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the bytes of a {}", T::KIND)
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<T, E> {
        T::from_wire(bytes).map_err(E::custom)
    }
}

/// Why a text is not hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum HexError {
    #[error("{got} hexadecimal digits, expected an even number")]
    Odd { got: usize },
    #[error("byte {got:#04x} at digit {at}, expected 0 to 9 or a to f")]
    Digit { at: usize, got: u8 },
}

fn to_hex(bytes: &[u8]) -> String {
    let nibbles = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = nibbles.filter_map(|nibble| DIGITS.get(usize::from(nibble)));
    digits.copied().map(char::from).collect()
}

fn from_hex(text: &str) -> Result<Vec<u8>, HexError> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return Err(HexError::Odd { got: digits.len() });
    }
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    let mut high = 0;
    for (at, &got) in digits.iter().enumerate() {
        let nibble = match got {
            b'0'..=b'9' => got - b'0',
            b'a'..=b'f' => got - b'a' + 10,
            _ => return Err(HexError::Digit { at, got }),
        };
        if at % 2 == 0 {
            high = nibble << 4;
        } else {
            bytes.push(high | nibble);
        }
    }
    Ok(bytes)
}

macro_rules! through_wire {
    ($($type:ty $(where [$($generics:tt)*])?),* $(,)?) => {$(
        impl $(<$($generics)*>)? Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serialize(self, serializer)
            }
        }

        impl<'de $(, $($generics)*)?> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserialize(deserializer)
            }
        }
    )*};
}

through_wire! {
    min_sig::PublicKey, min_sig::Signature, min_sig::ProofOfPossession,
    min_pk::PublicKey, min_pk::Signature, min_pk::ProofOfPossession,
    Commitment<G1>, Commitment<G2>,
    threshold::Partial<MinSig>, threshold::Partial<MinPk>,
    BlindedKey, Partial, Proof,
    Certificate<MinSig>, Certificate<MinPk>,
    timelock::Ciphertext<MinSig, N> where [const N: usize],
    timelock::Ciphertext<MinPk, N> where [const N: usize],
    Ciphertext, DecryptionShare, EncryptionKey,
}
