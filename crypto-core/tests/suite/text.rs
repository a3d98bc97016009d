//! Keys and signatures as text and as JSON: what is read back, and what is refused and why.
//!
//! The chain information is that of `timelock/src/quicknet.json`. The round's fields are those of round 2
//! in `vectors/drand.json`, put here into JSON in the shape of drand's interface.
//!
//! The deposits of Ethereum's validators are real ones, signed by others: the file that
//! `staking-deposit-cli` 2.7.0 makes is published as the expected output of
//! <https://github.com/ChorusOne/eth-staking-smith> (`src/validators.rs`), with its secret key. In the beacon
//! API the same fields have a prefix, and the amount is a text: `DepositData` in `types/deposit.yaml` of
//! <https://github.com/ethereum/beacon-APIs>, patterns in `types/primitive.yaml`. Lighthouse's book has such
//! an answer (`/lighthouse/eth1/deposit_cache` in `book/src/api-lighthouse.md` of
//! <https://github.com/sigp/lighthouse>); it was signed for fork version 0. The message that is signed:
//! `DepositMessage` and `SigningData` of <https://github.com/ethereum/consensus-specs>.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]
use std::fmt::{Debug, Display};
use std::str::FromStr;

use prefinal_crypto_core::bls::{
    Domain, HexError, MinPk, MinSig, ProofOfPossession, PublicKey, SecretKey, Signature,
    SignatureError, Variant, min_pk, min_sig,
};
use prefinal_crypto_core::curve::{Affine, DecodeError, Scalar};
use prefinal_crypto_core::drand::{RoundNumber, Scheme};
use prefinal_crypto_core::secret::Secret;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const KEY: &str = "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a";
const INFO: &str = r#"{"public_key":"83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a","period":3,"genesis_time":1692803367,"hash":"52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971","groupHash":"f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e","schemeID":"bls-unchained-g1-rfc9380","metadata":{"beaconID":"quicknet"}}"#;
const ROUND: &str = r#"{"round":2,"randomness":"5782d6987841c654515a0e72b2d1ebb4e741234042c37cb19608ae50d93fb60c","signature":"b6b6a585449b66eb12e875b64fcbab3799861a00e4dbf092d99e969a5eac57dd3f798acf61e705fe4f093db926626807"}"#;

const DEPOSIT_SECRET: &str = "3f3e0a69a6a66aeaec606a2ccb47c703afb2e8ae64f70a1650c03343b06e8f0c";
const DEPOSIT_FILE: &str = r#"{"pubkey":"8666389c3fe6ff0bca9adba81504f380b9e2c719419760d561836472fafe295cb50696524e19cba084e1d788d66c80d6","withdrawal_credentials":"0100000000000000000000000000000000000000000000000000000000000001","amount":32000000000,"signature":"a1f3ece1cb871e1af29fdaf94cab58d48d128d0ed2342a1f042f49344943c25ec6eab4f2219301e421a88453c6aa29e90b78373a8341c17738bc0ff4d0a724494535b494cd21fd2633a7a12353a5232c9806e1576f1e2447631ec3310db4008b","deposit_message_root":"dc224ac1c94d70906d643644f20398bdea5dabea123116a9d6135b8f5f4906bd","deposit_data_root":"f5c6b52d2ba608f0df4123e5ed051b5765a636e09d1372668e1ec074430f2279","fork_version":"00000000","network_name":"mainnet","deposit_cli_version":"2.7.0"}"#;
const API_DEPOSIT: &str = r#"{"pubkey":"0xae9e6a550ac71490cdf134533b1688fcbdb16f113d7190eacf4f2e9ca6e013d5bd08c37cb2bde9bbdec8ffb8edbd495b","withdrawal_credentials":"0x0062a90ebe71c4c01c4e057d7d13b944d9705f524ebfa24290c22477ab0517e4","amount":"32000000000","signature":"0xa87a4874d276982c471e981a113f8af74a31ffa7d18898a02df2419de2a7f02084065784aa2f743d9ddf80952986ea0b012190cd866f1f2d9c633a7a33c2725d0b181906d413c82e2c18323154a2f7c7ae6f72686782ed9e423070daa00db05b"}"#;

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

/// As the beacon API has it.
#[derive(Deserialize, Serialize)]
struct DepositData {
    #[serde(with = "prefinal_crypto_core::bls::hex_prefixed")]
    pubkey: min_pk::PublicKey,
    withdrawal_credentials: String,
    amount: String,
    #[serde(with = "prefinal_crypto_core::bls::hex_prefixed")]
    signature: min_pk::Signature,
}

/// As the file for depositors has it.
#[derive(Deserialize, Serialize)]
struct DepositFile {
    #[serde(with = "prefinal_crypto_core::bls::hex")]
    pubkey: min_pk::PublicKey,
    withdrawal_credentials: String,
    amount: u64,
    #[serde(with = "prefinal_crypto_core::bls::hex")]
    signature: min_pk::Signature,
    deposit_message_root: String,
    deposit_data_root: String,
    fork_version: String,
    network_name: String,
    deposit_cli_version: String,
}

fn sha256(left: &[u8], right: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(left).chain_update(right).finalize().into()
}

/// A chunk of Ethereum's hash tree: the bytes, and zeros behind them.
fn chunk(bytes: &[u8]) -> [u8; 32] {
    let mut chunk = [0; 32];
    chunk[..bytes.len()].copy_from_slice(bytes);
    chunk
}

/// The roots of `DepositMessage` and `DepositData`.
fn deposit_roots(
    pubkey: &[u8; 48],
    credentials: &[u8],
    amount: u64,
    signature: &[u8; 96],
) -> [[u8; 32]; 2] {
    let pubkey = sha256(&pubkey[..32], &chunk(&pubkey[32..]));
    let left = sha256(&pubkey, credentials);
    let amount = chunk(&amount.to_le_bytes());
    let last = sha256(&signature[64..], &[0; 32]);
    let signature = sha256(&sha256(&signature[..32], &signature[32..64]), &last);
    [sha256(&left, &sha256(&amount, &[0; 32])), sha256(&left, &sha256(&amount, &signature))]
}

/// What a depositor signs: the message's root and the domain `DOMAIN_DEPOSIT` of a fork.
fn signing_root(message: &[u8; 32], fork_version: &[u8]) -> [u8; 32] {
    let fork = sha256(&chunk(fork_version), &[0; 32]);
    sha256(message, &[&[3, 0, 0, 0], &fork[..28]].concat())
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
fn a_depositors_file_verifies_and_is_written_again() {
    let file: DepositFile = serde_json::from_str(DEPOSIT_FILE).unwrap();
    assert_eq!(serde_json::to_string(&file).unwrap(), DEPOSIT_FILE);
    let credentials = hex::decode(&file.withdrawal_credentials).unwrap();
    let (pubkey, signature) = (file.pubkey.to_bytes(), file.signature.to_bytes());
    let [message, data] = deposit_roots(&pubkey, &credentials, file.amount, &signature);
    assert_eq!(hex::encode(message), file.deposit_message_root);
    assert_eq!(hex::encode(data), file.deposit_data_root);
    let signed = signing_root(&message, &hex::decode(&file.fork_version).unwrap());
    assert_eq!(file.signature.verify(&file.pubkey, Domain::POP, &signed), Ok(()));
    let secret = hex::decode(DEPOSIT_SECRET).unwrap().try_into().unwrap();
    let secret = min_pk::SecretKey::from_secret_bytes(&Secret::new(secret)).unwrap();
    assert_eq!(secret.public_key().to_string(), hex::encode(pubkey));
    assert_eq!(secret.sign(Domain::POP, &signed), file.signature);
}

#[test]
fn the_beacon_apis_json_has_a_prefix_and_either_case() {
    let deposit: DepositData = serde_json::from_str(API_DEPOSIT).unwrap();
    assert_eq!(serde_json::to_string(&deposit).unwrap(), API_DEPOSIT);
    let credentials = hex::decode(&deposit.withdrawal_credentials[2..]).unwrap();
    let (pubkey, signature) = (deposit.pubkey.to_bytes(), deposit.signature.to_bytes());
    let amount = deposit.amount.parse().unwrap();
    let [message, _] = deposit_roots(&pubkey, &credentials, amount, &signature);
    let check = |fork| {
        let signed = signing_root(&message, fork);
        deposit.signature.verify(&deposit.pubkey, Domain::POP, &signed)
    };
    assert_eq!(check(&[0; 4]), Ok(()));
    assert_eq!(check(&[0, 0, 0, 1]), Err(SignatureError::Mismatch));
    let digits = deposit.signature.to_string();
    let upper = API_DEPOSIT.replace(&digits, &digits.to_uppercase());
    let read = serde_json::from_str::<DepositData>(&upper).unwrap();
    assert_eq!((read.pubkey, read.signature), (deposit.pubkey, deposit.signature));
    let bare = API_DEPOSIT.replace("0x", "");
    let error = serde_json::from_str::<DepositData>(&bare).err().unwrap().to_string();
    assert!(error.starts_with("text does not start with 0x"), "{error}");
}

/// For `PublicKey` the specification's own example is a point; its example of a signature is none.
#[test]
fn the_beacon_apis_examples_are_read_or_refused() {
    let pubkey = "0x93247f2209abcacf57b75a51dafae777f9dd38bc7053d1af526f220a7489a6d3a2753e5f3e8b1cfe39b56f43611df74a";
    assert_eq!(format!("0x{}", pubkey.parse::<min_pk::PublicKey>().unwrap()), pubkey);
    let signature = "0x1b66ac1fb663c9bc59509846d6ec05345bd908eda73e670af888da41af171505cc411d61252fb6cb3fa0017b679f8bb2305b26a285fa2737f175668d0dff91cc1b66ac1fb663c9bc59509846d6ec05345bd908eda73e670af888da41af171505";
    let refusal = signature.parse::<min_pk::Signature>().unwrap_err();
    assert_eq!(refusal, HexError::Decode(DecodeError::NotCanonical));
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
