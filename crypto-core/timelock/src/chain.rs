//! The beacon that a file is encrypted to, given by a relay's `info` or by its key.

use std::num::NonZeroU32;

use prefinal_crypto_core::drand::{ChainInfo, GroupKey, RoundNumber, Schedule, Scheme};
use serde::Deserialize;

/// The `info` that drand's relays serve for quicknet, its default chain.
const QUICKNET: &str = include_str!("quicknet.json");

/// Why a file cannot be encrypted to a chain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// The text is not the JSON that a relay serves as `info`.
    #[error("not a beacon's info: {0}")]
    Json(#[from] serde_json::Error),
    /// A field has a wrong value.
    #[error("{field} `{got}`: {why}")]
    Field {
        /// The name of the field.
        field: &'static str,
        /// The value of the field.
        got: String,
        /// The reason why it is wrong.
        why: String,
    },
    /// The hash of key, period, seed and names is not the stated hash of the chain.
    #[error("info is of chain {computed}, but says {said}")]
    Hash {
        /// The hash of the fields, in hex.
        computed: String,
        /// The hash that the info states, in hex.
        said: String,
    },
    /// The scheme is chained: the message of a round is known only after the round before, so nothing
    /// can be encrypted to a future round.
    #[error("rounds of {scheme} cannot be encrypted to: what they sign is not known in advance")]
    Chained {
        /// The chain's scheme.
        scheme: Scheme,
    },
}

impl ChainError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Json(_) => "not-json",
            Self::Field { .. } => "invalid-field",
            Self::Hash { .. } => "wrong-chain-hash",
            Self::Chained { .. } => "chained-rounds",
        }
    }
}

/// A beacon whose rounds can be encrypted to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    scheme: Scheme,
    key: GroupKey,
    hash: [u8; 32],
    /// `None` for a chain that is given by its key alone.
    schedule: Option<Schedule>,
}

/// The fields of `/{chain}/info` and of `/v2/chains/{chain}/info`.
#[derive(Deserialize)]
struct Info {
    public_key: String,
    period: u32,
    genesis_time: u64,
    #[serde(alias = "chain_hash")]
    hash: String,
    #[serde(rename = "groupHash", alias = "genesis_seed")]
    seed: String,
    #[serde(rename = "schemeID", alias = "scheme")]
    scheme: String,
    #[serde(default)]
    metadata: Metadata,
    beacon_id: Option<String>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(rename = "beaconID", default)]
    beacon_id: String,
}

impl Chain {
    /// drand's default chain, quicknet.
    ///
    /// # Errors
    /// Never. The result type is that of [`Chain::from_info`], which reads the embedded info.
    pub fn quicknet() -> Result<Self, ChainError> {
        Self::from_info(QUICKNET)
    }

    /// A chain from the `info` that a relay serves. The hash is computed from the fields. A caller
    /// that knows the hash from another source and compares it need not trust the relay.
    ///
    /// # Errors
    /// If a field is missing or wrong, or if the fields do not have the stated hash.
    pub fn from_info(json: &str) -> Result<Self, ChainError> {
        let info: Info = serde_json::from_str(json)?;
        let scheme = self::scheme(&info.scheme)?;
        let period =
            NonZeroU32::new(info.period).ok_or_else(|| field("period", "0", "rounds take time"))?;
        let schedule = Schedule { genesis_time: info.genesis_time, period };
        let key = bytes("public_key", &info.public_key)?;
        let seed = array("groupHash", &info.seed)?;
        let name = info.beacon_id.unwrap_or(info.metadata.beacon_id);
        let chain = ChainInfo::new(scheme, &key, schedule, seed, &name)
            .map_err(|why| field("public_key", &info.public_key, why))?;
        let hash = chain.hash();
        if hash != array("hash", &info.hash)? {
            return Err(ChainError::Hash { computed: hex::encode(hash), said: info.hash });
        }
        Self::new(scheme, *chain.key(), hash, Some(schedule))
    }

    /// A chain by its key, the name of its scheme and its hash, the first and the last in hex.
    ///
    /// # Errors
    /// If the key, the scheme or the hash is not valid.
    pub fn from_key(key: &str, scheme: &str, hash: &str) -> Result<Self, ChainError> {
        let scheme = self::scheme(scheme)?;
        let point = GroupKey::from_bytes(scheme, &bytes("key", key)?)
            .map_err(|why| field("key", key, why))?;
        Self::new(scheme, point, array("chain", hash)?, None)
    }

    fn new(
        scheme: Scheme,
        key: GroupKey,
        hash: [u8; 32],
        schedule: Option<Schedule>,
    ) -> Result<Self, ChainError> {
        if scheme.is_chained() {
            return Err(ChainError::Chained { scheme });
        }
        Ok(Self { scheme, key, hash, schedule })
    }

    /// The signature scheme of the beacon.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The group key under which the beacon signs.
    #[must_use]
    pub const fn key(&self) -> &GroupKey {
        &self.key
    }

    /// The first round that is due at this Unix time, in seconds, or later; `None` if the chain was
    /// given by its key alone, which has no schedule, or if there is no such round.
    #[must_use]
    pub fn round_from(&self, time: u64) -> Option<RoundNumber> {
        let schedule = self.schedule?;
        let Some(newest) = schedule.round_at(time) else { return Some(RoundNumber::FIRST) };
        if schedule.time_of(newest)? < time {
            newest.get().checked_add(1)
        } else {
            Some(newest.get())
        }
        .and_then(RoundNumber::new)
    }

    /// The hash that names the chain, in hex.
    #[must_use]
    pub fn hash(&self) -> String {
        hex::encode(self.hash)
    }
}

fn scheme(id: &str) -> Result<Scheme, ChainError> {
    id.parse().map_err(|why| field("scheme", id, why))
}

fn array(name: &'static str, text: &str) -> Result<[u8; 32], ChainError> {
    let bytes = bytes(name, text)?;
    let why = format!("{} bytes, expected 32", bytes.len());
    bytes.try_into().map_err(|_| field(name, text, why))
}

fn bytes(name: &'static str, text: &str) -> Result<Vec<u8>, ChainError> {
    hex::decode(text).map_err(|why| field(name, text, why))
}

fn field(field: &'static str, got: &str, why: impl ToString) -> ChainError {
    ChainError::Field { field, got: got.to_owned(), why: why.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quicknet_is_the_chain_of_its_hash() {
        let chain = Chain::quicknet().unwrap();
        let hash = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971";
        assert_eq!((chain.hash().as_str(), chain.scheme()), (hash, Scheme::default()));
        let key = hex::encode(chain.key().to_bytes());
        let named = Chain::from_key(&key, "bls-unchained-g1-rfc9380", hash).unwrap();
        assert_eq!(
            (named.hash(), named.key(), named.scheme()),
            (chain.hash(), chain.key(), chain.scheme())
        );
    }

    #[test]
    fn the_newer_interface_says_the_same_in_other_words() {
        let json = QUICKNET
            .replace("\"hash\"", "\"chain_hash\"")
            .replace("groupHash", "genesis_seed")
            .replace("schemeID", "scheme")
            .replace("\"metadata\":{\"beaconID\":\"quicknet\"}", "\"beacon_id\":\"quicknet\"");
        assert_eq!(Chain::from_info(&json).unwrap(), Chain::quicknet().unwrap());
    }

    #[test]
    fn a_time_has_the_first_round_that_is_not_before_it() {
        let chain = Chain::quicknet().unwrap();
        let genesis = 1_692_803_367;
        for (time, round) in
            [(0, 1), (genesis, 1), (genesis + 1, 2), (genesis + 3, 2), (genesis + 4, 3)]
        {
            assert_eq!(chain.round_from(time), RoundNumber::new(round), "{time}");
        }
        let key = hex::encode(chain.key().to_bytes());
        let timeless = Chain::from_key(&key, "bls-unchained-g1-rfc9380", &chain.hash()).unwrap();
        assert_eq!(timeless.round_from(genesis), None);
    }

    #[test]
    fn every_field_is_in_the_hash() {
        for (from, to) in [
            ("\"period\":3", "\"period\":30"),
            ("1692803367", "1692803368"),
            ("f477d5c8", "f477d5c9"),
            ("quicknet", "quicknet-t"),
            ("83cf0f28", "a3cf0f28"),
        ] {
            let error = Chain::from_info(&QUICKNET.replace(from, to)).unwrap_err();
            assert!(matches!(error, ChainError::Hash { .. }), "{from}: {error}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_field_is_said() {
        for (from, to, said) in [
            ("\"period\":3", "\"period\":0", "period `0`: rounds take time"),
            ("\"period\":3,", "", "missing field `period`"),
            ("83cf0f28", "93cf0f28", "public_key `93cf"),
            ("83cf0f28", "83cf0f2", "Odd number of digits"),
            ("f477d5c8", "", "28 bytes, expected 32"),
            ("52db9ba7", "52db9bzz", "hash `52db9bzz"),
            ("-g1-rfc9380", "-g3", "unknown scheme \"bls-unchained-g3\""),
            ("bls-unchained-g1-rfc9380", "pedersen-bls-unchained", "public_key `83cf"),
        ] {
            let error = Chain::from_info(&QUICKNET.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(said), "{said} is not in {error}");
        }
        let key = "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb";
        let error = Chain::from_key(key, "pedersen-bls-chained", &"00".repeat(32)).unwrap_err();
        assert!(matches!(error, ChainError::Chained { .. }), "{error}");
    }
}
