//! Keys from seeds, rounds of drand's schemes.
use std::collections::BTreeMap;
use std::num::NonZeroU32;

use prefinal_crypto_core::bls::{KeyPath, MinPk, MinSig, SecretKey, Variant};
use prefinal_crypto_core::drand::{ChainInfo, Round, RoundNumber, Schedule, Scheme};
use prefinal_crypto_core::secret::Secret;
use serde::Deserialize;

use super::{array, bytes, load};

#[derive(Deserialize)]
struct Derivations {
    cases: Vec<Derivation>,
    refused: Vec<ShortSeed>,
}

#[derive(Deserialize)]
struct Derivation {
    seed: String,
    keys: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct ShortSeed {
    seed: String,
    reason: String,
}

#[test]
fn keys_from_seeds() {
    let vector: Derivations = load(include_str!("../../vectors/model/derivation.json"));
    for case in &vector.cases {
        let master = SecretKey::derive_master(&Secret::new(bytes(&case.seed))).unwrap();
        for (path, expected) in &case.keys {
            let path: KeyPath = path.parse().unwrap();
            let key = master.derive_path(&path);
            assert_eq!(hex::encode(key.to_secret_bytes().expose()), *expected, "{path}");
        }
    }
    for case in &vector.refused {
        assert_eq!(case.reason, "length");
        let seed = bytes(&case.seed);
        let got = seed.len();
        let error = SecretKey::derive_master(&Secret::new(seed)).unwrap_err();
        assert_eq!(error.got, got);
    }
}

#[derive(Deserialize)]
struct Chain {
    secret: String,
    key: String,
    rounds: Vec<Signed>,
}

#[derive(Deserialize)]
struct Signed {
    round: String,
    previous: Option<String>,
    message: String,
    signature: String,
    randomness: String,
}

fn sign<V: Variant>(key: &SecretKey, scheme: Scheme, message: &[u8]) -> String {
    hex::encode(key.sign::<V>(scheme.domain(), message).to_bytes())
}

#[test]
fn rounds_of_every_scheme() {
    let chains: BTreeMap<String, Chain> = load(include_str!("../../vectors/model/drand.json"));
    assert_eq!(chains.len(), Scheme::ALL.len());
    for (id, chain) in &chains {
        let scheme: Scheme = id.parse().unwrap();
        let secret = SecretKey::from_secret_bytes(&Secret::new(array(&chain.secret))).unwrap();
        let seed = chain.rounds[0].previous.as_deref().map_or([7; 32], array);
        let schedule = Schedule { genesis_time: 0, period: NonZeroU32::MIN };
        let info = ChainInfo::new(scheme, &bytes(&chain.key), schedule, seed, "model").unwrap();
        let sign = if info.key().to_bytes().len() == 96 { sign::<MinSig> } else { sign::<MinPk> };
        for case in &chain.rounds {
            let number = RoundNumber::new(case.round.parse().unwrap()).unwrap();
            let previous = case.previous.as_deref().map(bytes);
            let message = number.chained_message(previous.as_deref().unwrap_or_default());
            assert_eq!(hex::encode(message), case.message, "{id} {number}");
            assert_eq!(sign(&secret, scheme, &message), case.signature, "{id} {number}");
            let round =
                Round { number, signature: bytes(&case.signature), previous, randomness: None };
            let randomness = info.verify(&round).unwrap();
            assert_eq!(hex::encode(randomness.as_bytes()), case.randomness);
        }
    }
}
