//! RFC 9380: hash to curve, encode to curve, and the bytes below them.
use prefinal_bls12_381::hazmat::{
    encode_to_g1, encode_to_g2, expand_message_xmd, hash_to_g1, hash_to_g2,
};
use prefinal_bls12_381::{EmptyTag, Tag};
use serde::Deserialize;

/// `(p − 1)/2`, big-endian: what is above counts as negative.
const HALF: &str = "0d0088f51cbff34d258dd3db21a5d66bb23ba5c279c2895fb39869507b587b120f55ffff58a9ffffdcff7fffffffd555";

#[derive(Deserialize)]
struct HashCases {
    cases: Vec<HashCase>,
}

#[derive(Deserialize)]
struct HashCase {
    suite: String,
    tag: String,
    message: String,
    x: Vec<String>,
    y: Vec<String>,
}

/// The compressed encoding of a point by its coordinates in hexadecimal.
fn compressed(x: &[String], y: &[String]) -> String {
    let mut bytes = hex::decode(x.iter().rev().map(String::as_str).collect::<String>()).unwrap();
    let zero = "0".repeat(96);
    let negative = y.iter().rev().find(|part| **part != zero).unwrap().as_str() > HALF;
    bytes[0] |= 0x80 | u8::from(negative) << 5;
    hex::encode(bytes)
}

#[test]
fn hashes_to_the_curve_match_rfc_9380() {
    let file: HashCases =
        serde_json::from_str(include_str!("../vectors/hash-to-curve.json")).unwrap();
    assert_eq!(file.cases.len(), 20);
    for case in file.cases {
        let (message, tag) = (case.message.as_bytes(), Tag::new(case.tag.as_bytes()));
        let got = match case.suite.as_str() {
            "BLS12381G1_XMD:SHA-256_SSWU_RO_" => hex::encode(hash_to_g1(message, tag).to_bytes()),
            "BLS12381G1_XMD:SHA-256_SSWU_NU_" => hex::encode(encode_to_g1(message, tag).to_bytes()),
            "BLS12381G2_XMD:SHA-256_SSWU_RO_" => hex::encode(hash_to_g2(message, tag).to_bytes()),
            "BLS12381G2_XMD:SHA-256_SSWU_NU_" => hex::encode(encode_to_g2(message, tag).to_bytes()),
            suite => panic!("{suite} is no suite of RFC 9380 for this curve"),
        };
        assert_eq!(got, compressed(&case.x, &case.y), "{} {:?}", case.suite, case.message);
    }
}

#[derive(Deserialize)]
struct ExpandCases {
    cases: Vec<ExpandCase>,
}

#[derive(Deserialize)]
struct ExpandCase {
    tag: String,
    message: String,
    length: usize,
    bytes: String,
}

#[test]
fn expanded_messages_match_rfc_9380() {
    let file: ExpandCases =
        serde_json::from_str(include_str!("../vectors/expand-message.json")).unwrap();
    assert_eq!(file.cases.len(), 20);
    assert!(file.cases.iter().any(|case| case.tag.len() > 255));
    for case in file.cases {
        let (message, tag) = (case.message.as_bytes(), Tag::new(case.tag.as_bytes()));
        let got = match case.length {
            0x20 => hex::encode(expand_message_xmd::<0x20>(message, tag)),
            0x80 => hex::encode(expand_message_xmd::<0x80>(message, tag)),
            length => panic!("the RFC has no case of {length} bytes"),
        };
        assert_eq!(got, case.bytes, "{:?} to {} bytes", case.message, case.length);
    }
}

#[test]
fn expansion_works_at_the_edges() {
    assert!(expand_message_xmd::<0>(b"message", Tag::new(b"tag")).is_empty());
    // The length is hashed, so a shorter result is not the start of a longer one.
    let longest = expand_message_xmd::<8160>(b"message", Tag::new(b"tag"));
    assert_ne!(longest[..33], expand_message_xmd::<33>(b"message", Tag::new(b"tag")));
    assert_ne!(longest[..32], longest[8128..]);
    let (fits, too_long) = (["t"; 255].concat(), ["t"; 256].concat());
    let of = |tag: &str| expand_message_xmd::<32>(b"message", Tag::new(tag.as_bytes()));
    assert_ne!(of(&fits), of(&too_long));
}

#[test]
fn hashes_differ_by_tag_message_and_suite() {
    let base = hash_to_g1(b"message", Tag::new(b"tag"));
    assert_ne!(base, hash_to_g1(b"message", Tag::new(b"tah")));
    assert_ne!(base, hash_to_g1(b"messagf", Tag::new(b"tag")));
    assert_ne!(base, encode_to_g1(b"message", Tag::new(b"tag")));
    // The tag's length is hashed too, so bytes do not move between message and tag.
    assert_ne!(hash_to_g2(b"messaget", Tag::new(b"ag")), hash_to_g2(b"message", Tag::new(b"tag")));
    // An empty message is one, an empty tag is none.
    assert!(!hash_to_g2(b"", Tag::new(b"t")).is_identity());
    assert_eq!(Tag::try_from(&b""[..]), Err(EmptyTag));
    assert_eq!(Tag::try_from(&b"t"[..]), Ok(Tag::new(b"t")));
}
