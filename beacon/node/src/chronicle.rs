//! Values with everything that it takes to verify them, as a file.
//!
//! A weighted VUF has no short public proof, so a value travels with the partials that made it. The
//! file holds, per path, who may evaluate (weights, threshold, public shares `Aⱼ` and blinded keys)
//! and, per slot, value and partials. Points are hex of their canonical encodings, so that any
//! language can read the file.
//!
//! What the file cannot prove about itself is that its public shares are the committee's. Its key
//! digest says which they are: compare it with the one that the committee shows.
//!
//! Elsewhere: the verification (`crypto_core::wvuf::audit`), which shares no code with what computed
//! the values.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path as FilePath;

use ::beacon::{Path, Wvuf};
use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::access::Party;
use crypto_core::context::{ChainId, Context, EpochId, Slot};
use crypto_core::curve::G2Affine;
use crypto_core::wvuf::{BlindedKey, Committee, Partial, audit};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::keygen::{AdmittedKeys, PerPath};

/// A devnet writes a few megabytes; more is not one of its files.
const MAX_BYTES: u64 = 256 << 20;

/// The file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chronicle {
    chain: Hex<ChainId>,
    epoch: u64,
    evaluators: Evaluators,
    slots: Vec<Entry>,
}

/// Who may evaluate, on both paths.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluators {
    weights: Vec<u32>,
    slow: Keys,
    fast: Option<Keys>,
}

/// Who may evaluate on one path.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    threshold: u32,
    public_shares: Vec<Hex<G2Affine>>,
    blinded: BTreeMap<u32, Hex<BlindedKey>>,
}

/// One slot's value and how it came about.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    slot: u64,
    /// The value, 32 bytes.
    randomness: String,
    path: PathName,
    partials: BTreeMap<u32, Hex<Partial>>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PathName {
    Slow,
    Fast,
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
    /// Not JSON, or a field is missing or malformed; the message has line and column.
    #[error("{file}: {source}")]
    Malformed {
        /// The file.
        file: String,
        /// What and where.
        source: serde_json::Error,
    },
}

impl Chronicle {
    /// Collects a run.
    #[must_use]
    pub fn new(context: Context, evaluators: Evaluators, slots: Vec<Entry>) -> Self {
        Self { chain: Hex(context.chain), epoch: context.epoch.get(), evaluators, slots }
    }

    /// How many slots it has.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The digest of who may evaluate and of how many it takes: weights, thresholds and public shares
    /// of both paths. Without the thresholds in it, one partial and a threshold of one would make a
    /// value of the same key.
    #[must_use]
    pub fn key_digest(&self) -> String {
        let Evaluators { weights, slow, fast } = &self.evaluators;
        let mut hash = Sha256::new_with_prefix(b"PREFINAL-V1-NODE-CHRONICLE-KEY");
        let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX).to_be_bytes();
        hash.update(count(weights.len()));
        weights.iter().for_each(|weight| hash.update(weight.to_be_bytes()));
        for keys in [Some(slow), fast.as_ref()].into_iter().flatten() {
            hash.update(keys.threshold.to_be_bytes());
            hash.update(count(keys.public_shares.len()));
            keys.public_shares.iter().for_each(|share| hash.update(share.0.to_bytes()));
        }
        hex::encode(hash.finalize())
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
        serde_json::from_slice(&bytes).map_err(|source| ChronicleError::Malformed { file, source })
    }

    /// Writes a file.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, path: &FilePath) -> Result<(), ChronicleError> {
        let file = path.display().to_string();
        let text = serde_json::to_vec_pretty(self)
            .map_err(|source| ChronicleError::Malformed { file: file.clone(), source })?;
        fs::write(path, text).map_err(|source| ChronicleError::File { file, source })
    }

    /// Verifies every value: each key share by share, each partial alone, and the value from all
    /// partials that are there. Costs two pairings per share and three per partial.
    ///
    /// # Errors
    /// The first key, partial or value that does not hold.
    pub fn verify(&self) -> Result<(), Failure> {
        let context = Context { chain: self.chain.0, epoch: EpochId::new(self.epoch) };
        let slow = self.evaluators.audit(&self.evaluators.slow, "slow")?;
        let fast = self.evaluators.fast.as_ref();
        let fast = fast.map(|keys| self.evaluators.audit(keys, "fast")).transpose()?;
        for entry in &self.slots {
            let failed = |what: &dyn std::fmt::Display| {
                Failure::Disagreement(format!("slot {}: {what}", entry.slot))
            };
            let audit = match entry.path {
                PathName::Slow => &slow,
                PathName::Fast => {
                    fast.as_ref().ok_or_else(|| failed(&"came by a path that has no keys"))?
                }
            };
            let partials = by_party(&entry.partials);
            let output = audit
                .evaluate(&context, Slot::new(entry.slot), None, &partials)
                .map_err(|error| failed(&error))?;
            let computed = hex::encode(output.randomness());
            if computed != entry.randomness {
                let stated = &entry.randomness;
                return Err(failed(&format_args!("states {stated}, the partials give {computed}")));
            }
        }
        Ok(())
    }
}

impl Evaluators {
    /// Who may evaluate under these committees.
    #[must_use]
    pub fn new(committees: &PerPath<Committee>) -> Self {
        let keys = |committee: &Committee| Keys {
            threshold: committee.threshold().t().get(),
            public_shares: committee.public().iter().copied().map(Hex).collect(),
            blinded: by_number(committee.keys()),
        };
        Self {
            weights: committees.slow.access().weights(),
            slow: keys(&committees.slow),
            fast: committees.fast.as_ref().map(keys),
        }
    }

    /// Adds a party that was admitted later.
    pub fn admit(&mut self, keys: &AdmittedKeys) {
        let number = keys.party.get();
        self.slow.blinded.insert(number, Hex(keys.keys.slow.key().clone()));
        if let (Some(fast), Some(key)) = (&mut self.fast, &keys.keys.fast) {
            fast.blinded.insert(number, Hex(key.key().clone()));
        }
    }

    fn audit(&self, keys: &Keys, path: &str) -> Result<audit::Audit, Failure> {
        let public: Vec<G2Affine> = keys.public_shares.iter().map(|share| share.0).collect();
        audit::keys(&self.weights, keys.threshold, &public, &by_party(&keys.blinded))
            .map_err(|error| Failure::Disagreement(format!("keys of the {path} path: {error}")))
    }
}

impl Entry {
    /// A slot as one party revealed it.
    #[must_use]
    pub fn new(reveal: &::beacon::Reveal<Wvuf>) -> Self {
        Self {
            slot: reveal.slot.get(),
            randomness: hex::encode(reveal.randomness()),
            path: match reveal.path {
                Path::Slow | Path::Tight => PathName::Slow,
                Path::Fast => PathName::Fast,
            },
            partials: by_number(&reveal.proof),
        }
    }
}

fn by_number<T: Clone>(map: &BTreeMap<Party, T>) -> BTreeMap<u32, Hex<T>> {
    map.iter().map(|(party, one)| (party.get(), Hex(one.clone()))).collect()
}

fn by_party<T: Clone>(map: &BTreeMap<u32, Hex<T>>) -> BTreeMap<Party, T> {
    map.iter().map(|(number, one)| (Party::new(*number), one.0.clone())).collect()
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
