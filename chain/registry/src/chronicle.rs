//! Values with everything that it takes to verify them, as a file.
//!
//! | scheme                  | a value travels with                  | the key that it belongs to          |
//! |-------------------------|---------------------------------------|-------------------------------------|
//! | threshold BLS (`bls`)   | its signature, as drand's clients read | the group's public key              |
//! | weighted VUF (`wvuf`)   | the partials that made it              | a digest of who may evaluate and how |
//!
//! Points are hex of their canonical encodings, so that any language can read the file. What a file
//! cannot prove about itself is that its key is the committee's: compare it with the one that the
//! committee shows. `prefinal verify` checks such a file.
mod bls;
mod wvuf;

use std::fs;
use std::path::Path as FilePath;

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

pub use self::bls::Rounds;
pub use self::wvuf::Evaluations;

/// A devnet writes a few megabytes; more is not one of its files.
const MAX_BYTES: u64 = 256 << 20;

/// The file.
#[derive(Clone, Debug)]
pub enum Chronicle {
    /// Of threshold BLS.
    Bls(Rounds),
    /// Of the weighted VUF.
    Wvuf(Evaluations),
}

/// How a file says of which scheme it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    #[serde(rename = "bls-unchained-g1-rfc9380")]
    Bls,
    #[serde(rename = "prefinal-wvuf")]
    Wvuf,
}

/// Read first, to know how to read the rest.
#[derive(Deserialize)]
struct Header {
    scheme: Kind,
}

/// Something with a canonical encoding, as hex of it.
#[derive(Clone, Debug)]
struct Hex<T>(T);

/// Why a file is not a chronicle.
#[derive(Debug, thiserror::Error)]
pub enum ChronicleError {
    /// It is not there, not readable or not writable.
    #[error("{file}: {source}")]
    File {
        /// The file.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// More bytes than any devnet writes.
    #[error("{file}: {got} bytes, at most {MAX_BYTES} are read")]
    TooLarge {
        /// The file.
        file: String,
        /// Its size.
        got: u64,
    },
    /// There is nothing that could be verified.
    #[error("{file}: no {what}, there is nothing to verify")]
    Empty {
        /// The file.
        file: String,
        /// What is missing.
        what: &'static str,
    },
    /// Two values for one slot, or slots in no order.
    #[error("{file}: slot {slot} behind slot {before}, expected each once and in order")]
    Order {
        /// The file.
        file: String,
        /// The slot.
        slot: u64,
        /// The one that stands before it.
        before: u64,
    },
    /// Not JSON, or a field is missing or malformed; the message has line and column.
    #[error("{file}: {source}")]
    Malformed {
        /// The file.
        file: String,
        /// What and where.
        source: serde_json::Error,
    },
}

/// The first thing in a chronicle that does not hold: which key, partial, round or slot, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unverified(String);

impl Chronicle {
    /// Reads a file's content.
    ///
    /// # Errors
    /// What is malformed, and where.
    pub fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        match serde_json::from_slice::<Header>(bytes)?.scheme {
            Kind::Bls => serde_json::from_slice(bytes).map(Self::Bls),
            Kind::Wvuf => serde_json::from_slice(bytes).map(Self::Wvuf),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Every variant of [`ChronicleError`].
    pub fn read(path: &FilePath) -> Result<Self, ChronicleError> {
        let file = path.display().to_string();
        let failed = |source| ChronicleError::File { file: file.clone(), source };
        let got = fs::metadata(path).map_err(failed)?.len();
        if got > MAX_BYTES {
            return Err(ChronicleError::TooLarge { file, got });
        }
        let bytes = fs::read(path).map_err(failed)?;
        let parsed = Self::parse(&bytes);
        let parsed =
            parsed.map_err(|source| ChronicleError::Malformed { file: file.clone(), source });
        parsed.and_then(|chronicle| chronicle.checked(file))
    }

    /// A file of nothing would verify, and so would one that counts a slot twice.
    fn checked(self, file: String) -> Result<Self, ChronicleError> {
        let (parties, slots) = match &self {
            Self::Bls(rounds) => (None, rounds.numbers()),
            Self::Wvuf(evaluations) => (Some(evaluations.parties()), evaluations.numbers()),
        };
        if parties == Some(0) {
            return Err(ChronicleError::Empty { file, what: "parties" });
        }
        if slots.is_empty() {
            return Err(ChronicleError::Empty { file, what: "slots" });
        }
        let unordered = slots.iter().zip(slots.iter().skip(1)).find(|(one, next)| one >= next);
        match unordered {
            Some((&before, &slot)) => Err(ChronicleError::Order { file, slot, before }),
            None => Ok(self),
        }
    }

    /// The file's content.
    ///
    /// # Errors
    /// None in practice: nothing in it cannot be written as JSON.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        match self {
            Self::Bls(rounds) => serde_json::to_vec_pretty(rounds),
            Self::Wvuf(evaluations) => serde_json::to_vec_pretty(evaluations),
        }
    }

    /// How many slots it has.
    #[must_use]
    pub fn slots(&self) -> usize {
        match self {
            Self::Bls(rounds) => rounds.slots(),
            Self::Wvuf(evaluations) => evaluations.slots(),
        }
    }

    /// The key that the values belong to, as hex.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Bls(rounds) => rounds.key(),
            Self::Wvuf(evaluations) => evaluations.key_digest(),
        }
    }

    /// Verifies every value under that key.
    ///
    /// # Errors
    /// The first thing that does not hold.
    pub fn verify(&self) -> Result<(), Unverified> {
        match self {
            Self::Bls(rounds) => rounds.verify(),
            Self::Wvuf(evaluations) => evaluations.verify(),
        }
    }
}

/// Compares a stated value with the computed one.
fn mismatch(stated: &str, computed: &[u8; 32], how: &str) -> Result<(), String> {
    let computed = hex::encode(computed);
    if computed == stated { Ok(()) } else { Err(format!("states {stated}, {how} {computed}")) }
}

impl<T: BorshSerialize> Serialize for Hex<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = borsh::to_vec(&self.0).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&hex::encode(bytes))
    }
}

impl<'de, T: BorshDeserialize> Deserialize<'de> for Hex<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <String as Deserialize>::deserialize(deserializer)?;
        let bytes = hex::decode(&text).map_err(serde::de::Error::custom)?;
        borsh::from_slice(&bytes).map(Hex).map_err(serde::de::Error::custom)
    }
}
