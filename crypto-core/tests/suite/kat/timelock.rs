//! Encryption to a round.
use std::collections::BTreeMap;

use prefinal_crypto_core::bls::{MinPk, MinSig, PublicKey, Signature, Variant};
use prefinal_crypto_core::drand::{RoundNumber, Scheme};
use prefinal_crypto_core::timelock::{Ciphertext, DecryptError, Identity, encrypt};
use serde::Deserialize;

use super::{Replay, array, bytes, load};

#[derive(Deserialize)]
struct Chain {
    key: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    round: String,
    message: String,
    draws: String,
    u: String,
    v: String,
    w: String,
    signature: String,
    #[serde(rename = "other round")]
    other_round: String,
    refused: BTreeMap<String, String>,
}

fn signature<V: Variant>(text: &str) -> Signature<V> {
    Signature::from_bytes(&bytes(text)).unwrap()
}

fn check<V: Variant, const N: usize>(scheme: Scheme, key: &str, case: &Case) {
    let key = PublicKey::<V>::from_bytes(&bytes(key)).unwrap();
    let round = RoundNumber::new(case.round.parse().unwrap()).unwrap();
    let identity = Identity::new(scheme.domain(), &round.message());
    let message: [u8; N] = array(&case.message);
    let mut rng = Replay::new(&case.draws);
    let ciphertext = encrypt(&key, &identity, &message, &mut rng);
    rng.finish();
    let expected = [case.u.as_str(), &case.v, &case.w].concat();
    assert_eq!(hex::encode(ciphertext.to_bytes()), expected);
    let opening = signature::<V>(&case.signature);
    assert_eq!(ciphertext.decrypt(&opening).unwrap().expose(), &message);

    let early = ciphertext.decrypt(&signature(&case.other_round)).err();
    assert_eq!(early, Some(DecryptError));
    let size = bytes(&case.u).len();
    // The sign of `U` is in its first byte, the last bit of `V` and `W` in their last ones.
    for (why, at, bit) in
        [("u negated", 0, 0x20), ("v changed", size + N - 1, 1), ("w changed", size + 2 * N - 1, 1)]
    {
        let mut altered = bytes(&expected);
        altered[at] ^= bit;
        let altered = Ciphertext::<V, N>::from_bytes(&altered).unwrap();
        assert_eq!(case.refused[why], "mismatch");
        assert_eq!(altered.decrypt(&opening).err(), Some(DecryptError), "{why}");
    }
}

fn check_any<V: Variant>(scheme: Scheme, key: &str, case: &Case) {
    match case.message.len() / 2 {
        16 => check::<V, 16>(scheme, key, case),
        24 => check::<V, 24>(scheme, key, case),
        32 => check::<V, 32>(scheme, key, case),
        other => unreachable!("the model has no message of {other} bytes"),
    }
}

#[test]
fn encryption_to_a_round() {
    let chains: BTreeMap<String, Chain> = load(include_str!("../../vectors/model/timelock.json"));
    assert_eq!(chains.len(), 3);
    for (id, chain) in &chains {
        let scheme: Scheme = id.parse().unwrap();
        for case in &chain.cases {
            match scheme {
                Scheme::PedersenUnchained => check_any::<MinPk>(scheme, &chain.key, case),
                _ => check_any::<MinSig>(scheme, &chain.key, case),
            }
        }
    }
}
