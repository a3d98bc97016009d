//! Keys and signatures as text and as JSON: what is read back, and what is refused and why.
//!
//! The chain information is that of `timelock/src/quicknet.json`. The round's fields are those of round 2
//! in `vectors/drand.json`, put here into JSON in the shape of drand's interface. The message of the
//! beacon API has its shape from Ethereum's specification
//! (<https://ethereum.github.io/beacon-APIs>); its key and signature are made here.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
use std::fmt::{Debug, Display};
use std::str::FromStr;

use prefinal_crypto_core::bls::{
    Domain, HexError, MinPk, MinSig, ProofOfPossession, PublicKey, SecretKey, Signature, Variant,
    min_pk, min_sig,
};
use prefinal_crypto_core::curve::{Affine, DecodeError, Scalar};
use prefinal_crypto_core::drand::{RoundNumber, Scheme};
use prefinal_crypto_core::secret::Secret;
use serde::{Deserialize, Serialize};

const KEY: &str = "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a";
const INFO: &str = r#"{"public_key":"83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a","period":3,"genesis_time":1692803367,"hash":"52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971","groupHash":"f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e","schemeID":"bls-unchained-g1-rfc9380","metadata":{"beaconID":"quicknet"}}"#;
const ROUND: &str = r#"{"round":2,"randomness":"5782d6987841c654515a0e72b2d1ebb4e741234042c37cb19608ae50d93fb60c","signature":"b6b6a585449b66eb12e875b64fcbab3799861a00e4dbf092d99e969a5eac57dd3f798acf61e705fe4f093db926626807"}"#;

#[derive(Deserialize)]
struct Info {
    #[serde(with = "prefinal_crypto_core::bls::hex")]
    public_key: min_sig::PublicKey,
}

#[derive(Deserialize, Serialize)]
struct Round {
    round: u64,
    randomness: String,
    #[serde(with = "prefinal_crypto_core::bls::hex")]
    signature: min_sig::Signature,
}

#[derive(Deserialize, Serialize)]
struct Deposit {
    #[serde(with = "prefinal_crypto_core::bls::hex_prefixed")]
    pubkey: min_pk::PublicKey,
    amount: String,
    #[serde(with = "prefinal_crypto_core::bls::hex_prefixed")]
    signature: min_pk::Signature,
}

fn secret() -> SecretKey {
    SecretKey::from_scalar(Secret::new(Scalar::from_u64(381))).unwrap()
}

#[test]
fn a_round_of_quicknet_verifies_from_its_json() {
    let info: Info = serde_json::from_str(INFO).unwrap();
    let round: Round = serde_json::from_str(ROUND).unwrap();
    let message = RoundNumber::new(round.round).unwrap().message();
    let domain = Scheme::UnchainedG1Rfc9380.domain();
    assert_eq!(round.signature.verify(&info.public_key, domain, &message), Ok(()));
    assert_eq!(serde_json::to_string(&round).unwrap(), ROUND);
    assert_eq!(info.public_key.to_string(), KEY);
    let prefixed = ROUND.replace(r#""signature":""#, r#""signature":"0x"#);
    let error = serde_json::from_str::<Round>(&prefixed).err().unwrap().to_string();
    assert!(error.starts_with("text starts with 0x"), "{error}");
}

#[test]
fn ethereums_json_has_a_prefix_and_either_case() {
    let key = min_pk::SecretKey::from(secret());
    let signature = key.sign(Domain::POP, b"deposit");
    let (pubkey, text) = (key.public_key(), signature.to_string());
    let json =
        format!(r#"{{"pubkey":"0x{pubkey}","amount":"32000000000","signature":"0x{text}"}}"#);
    let deposit: Deposit = serde_json::from_str(&json).unwrap();
    assert_eq!((deposit.pubkey, deposit.signature), (pubkey, signature));
    assert_eq!(serde_json::to_string(&deposit).unwrap(), json);
    let upper = json.replace(&text, &text.to_uppercase());
    assert_eq!(serde_json::from_str::<Deposit>(&upper).unwrap().signature, signature);
    let error = serde_json::from_str::<Deposit>(&json.replace("0x", "")).err().unwrap().to_string();
    assert!(error.starts_with("text does not start with 0x"), "{error}");
}

/// The first text of 48 or 96 bytes, by the last byte of the coordinate, that is refused like this.
fn refused_as(expected: DecodeError, bytes: usize) -> String {
    let texts = (0_u8..=255).map(|x| format!("80{}{x:02x}", "00".repeat(bytes - 2)));
    let mut found = texts.filter(|text| {
        let encoding = hex::decode(text).unwrap();
        let error = match bytes {
            48 => min_pk::PublicKey::from_bytes(&encoding).err(),
            _ => min_sig::PublicKey::from_bytes(&encoding).err(),
        };
        error == Some(expected)
    });
    found.next().unwrap()
}

fn text_is_read_or_refused<T>(object: T)
where
    T: Copy + Debug + Display + PartialEq + FromStr<Err = HexError>,
{
    let text = object.to_string();
    let bytes = text.len() / 2;
    assert!(text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')));
    let upper = text.to_uppercase();
    for good in [text.clone(), format!("0x{text}"), upper.clone(), format!("0x{upper}")] {
        assert_eq!(good.parse(), Ok(object));
    }
    let refusal = |text: &str| text.parse::<T>().unwrap_err();
    let length = |got| HexError::Length { expected: 2 * bytes, got };
    assert_eq!(refusal(""), length(0));
    assert_eq!(refusal("0x"), length(0));
    assert_eq!(refusal(&text[1..]), length(2 * bytes - 1));
    assert_eq!(refusal(&text[2..]), length(2 * bytes - 2));
    assert_eq!(refusal(&format!("{text}00")), length(2 * bytes + 2));
    let twice = refusal(&format!("0x0x{}", &text[2..]));
    assert_eq!((twice, twice.code()), (HexError::Digit { at: 1, got: b'x' }, "not-hexadecimal"));
    assert_eq!(refusal("").code(), "wrong-length");
    assert_eq!(refusal(&format!("0X{}", &text[2..])), HexError::Digit { at: 1, got: b'X' });
    assert_eq!(refusal(&format!(" {}", &text[1..])), HexError::Digit { at: 0, got: b' ' });
    let last = 2 * bytes - 1;
    for (wrong, got) in [("g", b'g'), ("G", b'G'), ("/", b'/'), (":", b':'), ("`", b'`')] {
        assert_eq!(
            refusal(&format!("{}{wrong}", &text[..last])),
            HexError::Digit { at: last, got }
        );
    }
    let decode = |text: &str| match refusal(text) {
        HexError::Decode(error) => (error, refusal(text).code()),
        other => panic!("{other:?}"),
    };
    assert_eq!(decode(&"00".repeat(bytes)), (DecodeError::NotCanonical, "not-canonical"));
    assert_eq!(decode(&"ff".repeat(bytes)), (DecodeError::NotCanonical, "not-canonical"));
    let identity = format!("c0{}", "00".repeat(bytes - 1));
    assert_eq!(decode(&identity), (DecodeError::Identity, "identity"));
    assert_eq!(
        decode(&refused_as(DecodeError::NotInSubgroup, bytes)),
        (DecodeError::NotInSubgroup, "not-in-subgroup")
    );
    assert_eq!(
        decode(&refused_as(DecodeError::NotOnCurve, bytes)),
        (DecodeError::NotOnCurve, "not-on-curve")
    );
}

fn texts_of_a_variant<V: Variant>() {
    let secret = secret();
    text_is_read_or_refused(secret.public_key::<V>());
    text_is_read_or_refused(secret.sign::<V>(Domain::BASIC, b"m"));
    text_is_read_or_refused(secret.prove_possession::<V>());
}

#[test]
fn texts_are_read_in_either_case_and_refused_with_their_reason() {
    texts_of_a_variant::<MinSig>();
    texts_of_a_variant::<MinPk>();
}

fn points_pass_through<V: Variant>() {
    let key = secret().public_key::<V>();
    let proof = secret().prove_possession::<V>();
    assert_eq!(PublicKey::<V>::from_point(key.point()), Ok(key));
    assert_eq!(ProofOfPossession::<V>::from_point(proof.point()), Ok(proof));
    let identity = Err(DecodeError::Identity);
    assert_eq!(PublicKey::<V>::from_point(Affine::identity()).map(drop), identity);
    assert_eq!(Signature::<V>::from_point(Affine::identity()).map(drop), identity);
    assert_eq!(ProofOfPossession::<V>::from_point(Affine::identity()).map(drop), identity);
}

#[test]
fn keys_and_signatures_are_never_the_identity() {
    points_pass_through::<MinSig>();
    points_pass_through::<MinPk>();
    let zero = min_sig::SecretKey::from_scalar(Secret::new(Scalar::ZERO));
    assert_eq!(zero.map(drop), Err(DecodeError::Zero));
}

#[test]
fn a_key_of_one_variant_is_the_key_of_any() {
    let key = min_sig::SecretKey::from(secret());
    assert_eq!(key.public_key(), secret().public_key());
    assert_eq!(format!("{key:?}").matches("Secret(..)").count(), 1);
    assert_eq!(key.expose(), secret().expose());
    let child = key.derive_child(7).public_key();
    assert_eq!(child, secret().derive_child(7).public_key());
}
