//! Objects within formats that know nothing of them.
use std::collections::BTreeMap;

use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_crypto_core::bls::{MinPk, MinSig, min_pk, min_sig};
use prefinal_crypto_core::certificate::Certificate;
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::curve::{G1, G2};
use prefinal_crypto_core::elgamal::{Ciphertext, DecryptionShare, EncryptionKey};
use prefinal_crypto_core::wire::Object;
use prefinal_crypto_core::wvuf::audit::Proof;
use prefinal_crypto_core::wvuf::{BlindedKey, Partial};
use prefinal_crypto_core::{threshold, timelock};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::codecs::vector;

/// Through text and through bytes, and back.
fn both_ways<T: Object + Serialize + DeserializeOwned>(bytes: &[u8]) {
    let object = T::from_wire(bytes).unwrap();
    let text = serde_json::to_string(&object).unwrap();
    assert_eq!(text, format!("\"{}\"", hex::encode(bytes)));
    assert_eq!(serde_json::from_str::<T>(&text).unwrap().to_wire(), bytes);
    let binary = postcard::to_allocvec(&object).unwrap();
    assert!(binary.ends_with(bytes) && binary.len() <= bytes.len() + 2);
    assert_eq!(postcard::from_bytes::<T>(&binary).unwrap().to_wire(), bytes);
}

#[test]
fn every_object_goes_both_ways() {
    for case in vector().cases {
        match case.kind {
            0x01 => both_ways::<min_sig::PublicKey>(&case.bytes),
            0x02 => both_ways::<min_sig::Signature>(&case.bytes),
            0x03 => both_ways::<min_sig::ProofOfPossession>(&case.bytes),
            0x04 => both_ways::<min_pk::PublicKey>(&case.bytes),
            0x05 => both_ways::<min_pk::Signature>(&case.bytes),
            0x06 => both_ways::<min_pk::ProofOfPossession>(&case.bytes),
            0x08 => both_ways::<Commitment<G1>>(&case.bytes),
            0x09 => both_ways::<Commitment<G2>>(&case.bytes),
            0x10 => both_ways::<threshold::Partial<MinSig>>(&case.bytes),
            0x11 => both_ways::<threshold::Partial<MinPk>>(&case.bytes),
            0x20 => both_ways::<BlindedKey>(&case.bytes),
            0x21 => both_ways::<Partial>(&case.bytes),
            0x22 => both_ways::<Proof>(&case.bytes),
            0x30 => both_ways::<Certificate<MinSig>>(&case.bytes),
            0x31 => both_ways::<Certificate<MinPk>>(&case.bytes),
            0x40 => both_ways::<timelock::Ciphertext<MinSig, 16>>(&case.bytes),
            0x41 => both_ways::<Ciphertext>(&case.bytes),
            0x42 => both_ways::<DecryptionShare>(&case.bytes),
            0x43 => both_ways::<EncryptionKey>(&case.bytes),
            0x44 => both_ways::<timelock::Ciphertext<MinPk, 16>>(&case.bytes),
            other => unreachable!("{other:#04x} has no type"),
        }
    }
}

fn first(kind: u8) -> Vec<u8> {
    vector().cases.into_iter().find(|case| case.kind == kind).unwrap().bytes
}

/// As a user's own type would hold them.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Envelope {
    from: u32,
    signature: Signature,
    partial: Option<Partial>,
    keys: BTreeMap<u32, BlindedKey>,
    proof: Proof,
}

fn envelope() -> Envelope {
    Envelope {
        from: 3,
        signature: Signature::from_wire(&first(0x02)).unwrap(),
        partial: Some(Partial::from_wire(&first(0x21)).unwrap()),
        keys: BTreeMap::from([(7, BlindedKey::from_wire(&first(0x20)).unwrap())]),
        proof: Proof::from_wire(&first(0x22)).unwrap(),
    }
}

#[test]
fn people_read_lower_case_hexadecimal() {
    let json = serde_json::to_value(envelope()).unwrap();
    assert_eq!(json["signature"], hex::encode(first(0x02)));
    assert_eq!(json["partial"], hex::encode(first(0x21)));
    assert_eq!(json["keys"]["7"], hex::encode(first(0x20)));
    assert_eq!(json["proof"], hex::encode(first(0x22)));
    assert_eq!(serde_json::from_value::<Envelope>(json).unwrap(), envelope());
    let text = serde_json::to_string(&envelope()).unwrap();
    assert_eq!(serde_json::from_str::<Envelope>(&text).unwrap(), envelope());
    assert_eq!(serde_json::from_reader::<_, Envelope>(text.as_bytes()).unwrap(), envelope());
}

#[test]
fn machines_read_bytes() {
    let signature = envelope().signature;
    let bytes = postcard::to_allocvec(&signature).unwrap();
    // A length of one byte, then the object.
    assert_eq!(bytes, [&[50][..], &first(0x02)].concat());
    assert_eq!(postcard::from_bytes::<Signature>(&bytes).unwrap(), signature);
    let all = postcard::to_allocvec(&envelope()).unwrap();
    assert_eq!(postcard::from_bytes::<Envelope>(&all).unwrap(), envelope());
    for length in 0..all.len() {
        assert!(postcard::from_bytes::<Envelope>(&all[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn other_texts_are_refused_and_say_why() {
    let good = hex::encode(first(0x02));
    let error = |text: &str| {
        let json = serde_json::Value::from(text);
        serde_json::from_value::<Signature>(json).unwrap_err().to_string()
    };
    assert!(error(&good.to_uppercase()).contains("at digit"), "{}", error(&good.to_uppercase()));
    assert_eq!(error(&good[1..]), "99 hexadecimal digits, expected an even number");
    assert_eq!(error("0x"), "byte 0x78 at digit 1, expected 0 to 9 or a to f");
    assert_eq!(error(""), "0 bytes left at byte 0, expected 1");
    assert!(error(&hex::encode(first(0x21))).contains("kind 0x21, expected 0x02"));
    assert!(error(&format!("{good}00")).contains("1 bytes after the end"));
    let number = serde_json::from_str::<Signature>("7").unwrap_err().to_string();
    assert!(number.contains("a min-sig signature in lower-case hexadecimal"), "{number}");
    let mut identity = first(0x02);
    identity[2..].fill(0);
    identity[2] = 0xc0;
    assert_eq!(error(&hex::encode(&identity)), "at byte 2: point is the identity");
    let wrong = postcard::to_allocvec(&first(0x21)).unwrap();
    assert!(postcard::from_bytes::<Signature>(&wrong).is_err());
}
