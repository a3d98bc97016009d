//! A file of values with everything that is needed to verify them.
//!
//! | scheme                  | a value travels with                  | the key that it belongs to          |
//! |-------------------------|---------------------------------------|-------------------------------------|
//! | threshold BLS (`bls`)   | its signature, as drand's clients read | the group's public key              |
//! | weighted VUF (`wvuf`)   | the partials that made it              | a digest of keys and thresholds |
//!
//! Points are hex of their canonical encodings, so that any language can read the file. A file cannot
//! prove that its key is the committee's: compare its key with the one that the committee shows.
//! `prefinal verify` checks such a file.
mod bls;
mod wvuf;

use std::fs;
use std::path::Path as FilePath;

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

pub use self::bls::Rounds;
pub use self::wvuf::Evaluations;

/// Largest file in bytes. A devnet writes a few megabytes.
const MAX_BYTES: u64 = 256 << 20;

/// The content of a file.
#[derive(Clone, Debug)]
pub enum Chronicle {
    /// Values of threshold BLS.
    Bls(Rounds),
    /// Values of the weighted VUF.
    Wvuf(Evaluations),
}

/// The scheme of a file, as the file names it.
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

/// A value with a canonical encoding, written as hex.
#[derive(Clone, Debug)]
struct Hex<T>(T);

/// Why a file is not a chronicle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChronicleError {
    /// The file is missing, not readable or not writable.
    #[error("{file}: {source}")]
    File {
        /// The name of the file.
        file: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file has more bytes than any devnet writes.
    #[error("{file}: {got} bytes, at most {MAX_BYTES} are read")]
    TooLarge {
        /// The name of the file.
        file: String,
        /// Its size in bytes.
        got: u64,
    },
    /// The file holds nothing that could be verified.
    #[error("{file}: no {what}, there is nothing to verify")]
    Empty {
        /// The name of the file.
        file: String,
        /// The kind of entry that is missing.
        what: &'static str,
    },
    /// A slot occurs twice, or slots are out of order.
    #[error("{file}: slot {slot} behind slot {before}, expected each once and in order")]
    Order {
        /// The name of the file.
        file: String,
        /// The slot that the line is for.
        slot: u64,
        /// The slot before it in the file.
        before: u64,
    },
    /// Not JSON, or a field is missing or malformed; the message has line and column.
    #[error("{file}: {source}")]
    Malformed {
        /// The name of the file.
        file: String,
        /// What is wrong, and where.
        source: serde_json::Error,
    },
}

impl ChronicleError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "input-output",
            Self::TooLarge { .. } => "too-long",
            Self::Empty { .. } => "nothing-to-verify",
            Self::Order { .. } => "slot-order",
            Self::Malformed { .. } => "not-json",
        }
    }
}

/// The first key, partial, round or slot of a chronicle that is invalid, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unverified(String);

impl Unverified {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "unverified"
    }
}

impl Chronicle {
    /// Reads the content of a file.
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

    /// Refuses an empty file and one that counts a slot twice: both would verify.
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

    /// The content of the file, as JSON.
    ///
    /// # Errors
    /// None in practice: everything in it can be written as JSON.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        match self {
            Self::Bls(rounds) => serde_json::to_vec_pretty(rounds),
            Self::Wvuf(evaluations) => serde_json::to_vec_pretty(evaluations),
        }
    }

    /// Number of slots in the file.
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

    /// Verifies every value under its key.
    ///
    /// # Errors
    /// The first thing that is invalid.
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
