//! BLS as others have it: Ethereum's cases and EIP-2333's.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;

use prefinal_crypto_core::bls::min_pk::{
    AggregateKey, Claim, Domain, PublicKey, SecretKey, Signature, SignatureError, SignedMessage,
    aggregate, verify_aggregate, verify_batch, verify_multi,
};
use prefinal_crypto_core::bls::{KeyPath, KeyPathError, MinPk, MinSig, SeedError};
use prefinal_crypto_core::curve::hazmat::hash_to_g2;
use prefinal_crypto_core::curve::{DecodeError, Tag};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::verified::Verified;
use serde::Deserialize;

const HASH_TAG: &[u8] = b"QUUX-V01-CS02-with-BLS12381G2_XMD:SHA-256_SSWU_RO_";

#[derive(Deserialize)]
struct Ethereum {
    sign: Vec<Sign>,
    verify: Vec<Verify>,
    aggregate: Vec<Aggregate>,
    fast_aggregate_verify: Vec<FastAggregate>,
    aggregate_verify: Vec<AggregateVerify>,
    batch_verify: Vec<Batch>,
    hash_to_g2: Vec<Hash>,
}

#[derive(Deserialize)]
struct Sign {
    name: String,
    secret: String,
    message: String,
    signature: Option<String>,
}

#[derive(Deserialize)]
struct Verify {
    name: String,
    key: String,
    message: String,
    signature: String,
    valid: bool,
}

#[derive(Deserialize)]
struct Aggregate {
    name: String,
    signatures: Vec<String>,
    sum: Option<String>,
}

#[derive(Deserialize)]
struct FastAggregate {
    name: String,
    keys: Vec<String>,
    message: String,
    signature: String,
    valid: bool,
}

#[derive(Deserialize)]
struct AggregateVerify {
    name: String,
    keys: Vec<String>,
    messages: Vec<String>,
    signature: String,
    valid: bool,
}

#[derive(Deserialize)]
struct Batch {
    name: String,
    keys: Vec<String>,
    messages: Vec<String>,
    signatures: Vec<String>,
    valid: bool,
}

#[derive(Deserialize)]
struct Hash {
    name: String,
    message: String,
    point: String,
}

fn ethereum() -> Ethereum {
    serde_json::from_str(include_str!("../vectors/ethereum-bls.json")).unwrap()
}

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

fn secret_key(text: &str) -> Result<SecretKey, DecodeError> {
    SecretKey::from_secret_bytes(&Secret::new(bytes(text).try_into().unwrap()))
}

fn public_key(text: &str) -> Result<PublicKey, Failure> {
    Ok(PublicKey::from_bytes(&bytes(text))?)
}

fn signature(text: &str) -> Result<Signature, Failure> {
    Ok(Signature::from_bytes(&bytes(text))?)
}

/// The cases' keys with their proofs of possession, which only their owners can make.
fn owners(cases: &Ethereum) -> BTreeMap<String, Verified<PublicKey>> {
    let secrets = cases.sign.iter().filter_map(|case| secret_key(&case.secret).ok());
    let verified = secrets.map(|secret| {
        let proof = secret.prove_standard_possession();
        let key: PublicKey = secret.public_key();
        (hex::encode(key.to_bytes()), key.verify_standard_possession(&proof).unwrap())
    });
    verified.collect()
}

#[derive(Debug)]
enum Failure {
    Decode,
    Signature,
    Batch,
}

impl From<DecodeError> for Failure {
    fn from(_: DecodeError) -> Self {
        Self::Decode
    }
}

impl From<SignatureError> for Failure {
    fn from(_: SignatureError) -> Self {
        Self::Signature
    }
}

#[test]
fn ethereum_signs_alike() {
    let cases = ethereum().sign;
    assert_eq!(cases.len(), 10);
    for case in cases {
        let signed = secret_key(&case.secret)
            .map(|secret| hex::encode(secret.sign(Domain::POP, &bytes(&case.message)).to_bytes()));
        assert_eq!(signed.ok(), case.signature, "{}", case.name);
    }
}

#[test]
fn ethereum_verifies_alike() {
    let cases = ethereum().verify;
    assert_eq!(cases.len(), 29);
    for case in cases {
        let verdict = || -> Result<(), Failure> {
            let (key, signature) = (public_key(&case.key)?, signature(&case.signature)?);
            Ok(signature.verify(&key, Domain::POP, &bytes(&case.message))?)
        };
        assert_eq!(verdict().is_ok(), case.valid, "{}: {:?}", case.name, verdict());
    }
}

#[test]
fn ethereum_aggregates_alike_but_for_the_identity() {
    let cases = ethereum().aggregate;
    assert_eq!(cases.len(), 6);
    for case in cases {
        let sum = || -> Result<String, Failure> {
            let signatures: Vec<_> =
                case.signatures.iter().map(|one| signature(one)).collect::<Result<_, _>>()?;
            Ok(hex::encode(aggregate(&signatures)?.to_bytes()))
        };
        // The draft sums the identity up; here it is no signature.
        let expected = case.sum.filter(|_| case.name != "aggregate_infinity_signature");
        assert_eq!(sum().ok(), expected, "{}", case.name);
    }
}

#[test]
fn ethereum_verifies_sums_on_one_message_alike() {
    let cases = ethereum();
    let owners = owners(&cases);
    assert_eq!(cases.fast_aggregate_verify.len(), 12);
    for case in cases.fast_aggregate_verify {
        let verdict = || -> Result<(), Failure> {
            let keys: Vec<_> = case
                .keys
                .iter()
                .map(|key| owners.get(key).ok_or(Failure::Decode))
                .collect::<Result<_, _>>()?;
            let signature = signature(&case.signature)?;
            Ok(verify_multi(keys, Domain::POP, &bytes(&case.message), &signature)?)
        };
        assert_eq!(verdict().is_ok(), case.valid, "{}: {:?}", case.name, verdict());
    }
}

#[test]
fn ethereum_verifies_sums_on_several_messages_alike() {
    let cases = ethereum();
    let owners = owners(&cases);
    assert_eq!(cases.aggregate_verify.len(), 5);
    for case in cases.aggregate_verify {
        let messages: Vec<_> = case.messages.iter().map(|message| bytes(message)).collect();
        let verdict = || -> Result<(), Failure> {
            let mut claims = Vec::new();
            for (key, message) in case.keys.iter().zip(&messages) {
                let signers = AggregateKey::sum(owners.get(key))?;
                claims.push(Claim { signers, message });
            }
            Ok(verify_aggregate(&claims, Domain::POP, &signature(&case.signature)?)?)
        };
        assert_eq!(verdict().is_ok(), case.valid, "{}: {:?}", case.name, verdict());
    }
}

#[test]
fn ethereum_verifies_batches_alike() {
    let cases = ethereum().batch_verify;
    assert_eq!(cases.len(), 4);
    for case in cases {
        let messages: Vec<_> = case.messages.iter().map(|message| bytes(message)).collect();
        let verdict = || -> Result<(), Failure> {
            let mut batch = Vec::new();
            for ((key, one), message) in case.keys.iter().zip(&case.signatures).zip(&messages) {
                batch.push(SignedMessage {
                    key: public_key(key)?,
                    message,
                    signature: signature(one)?,
                });
            }
            verify_batch(Domain::POP, &batch).map_err(|_| Failure::Batch)
        };
        assert_eq!(verdict().is_ok(), case.valid, "{}: {:?}", case.name, verdict());
    }
}

#[test]
fn ethereum_hashes_alike() {
    let cases = ethereum().hash_to_g2;
    assert_eq!(cases.len(), 4);
    for case in cases {
        let point = hash_to_g2(&bytes(&case.message), Tag::new(HASH_TAG));
        assert_eq!(hex::encode(point.to_bytes()), case.point, "{}", case.name);
    }
}

#[test]
fn a_key_or_signature_of_a_case_decodes_iff_it_is_valid_and_not_the_identity() {
    #[derive(Deserialize)]
    struct File {
        cases: Vec<Case>,
    }
    #[derive(Deserialize)]
    struct Case {
        group: String,
        name: String,
        bytes: String,
        valid: bool,
    }
    let file: File =
        serde_json::from_str(include_str!("../../bls12-381/tests/vectors/compressed-points.json"))
            .unwrap();
    assert_eq!(file.cases.len(), 34);
    for case in file.cases {
        let bytes = bytes(&case.bytes);
        let decoded = match case.group.as_str() {
            "G1" => PublicKey::from_bytes(&bytes).map(|_| ()),
            _ => Signature::from_bytes(&bytes).map(|_| ()),
        };
        if case.name.starts_with("succeeds_infinity") {
            assert_eq!(decoded, Err(DecodeError::Identity), "{}", case.name);
        } else {
            assert_eq!(decoded.is_ok(), case.valid, "{}", case.name);
        }
    }
}

#[derive(Deserialize)]
struct Keys {
    cases: Vec<KeyCase>,
}

#[derive(Deserialize)]
struct KeyCase {
    seed: String,
    master: String,
    index: u32,
    child: String,
}

fn key_cases() -> Vec<KeyCase> {
    let file: Keys = serde_json::from_str(include_str!("../vectors/eip2333.json")).unwrap();
    assert_eq!(file.cases.len(), 4);
    file.cases
}

fn master(seed: &[u8]) -> Result<SecretKey, SeedError> {
    SecretKey::derive_master(&Secret::new(seed.to_vec()))
}

fn shown(key: &SecretKey) -> String {
    hex::encode(key.to_secret_bytes().expose())
}

#[test]
fn keys_derive_as_in_eip_2333() {
    for case in key_cases() {
        let master = master(&bytes(&case.seed)).unwrap();
        assert_eq!(shown(&master), case.master);
        assert_eq!(shown(&master.derive_child(case.index)), case.child);
    }
}

#[test]
fn a_path_is_its_steps() {
    let master = master(&bytes(&key_cases()[0].seed)).unwrap();
    let path: KeyPath = "m/12381/3600/0/0".parse().unwrap();
    let steps = master.derive_child(12381).derive_child(3600).derive_child(0).derive_child(0);
    assert_eq!(shown(&master.derive_path(&path)), shown(&steps));
    assert_eq!(shown(&master.derive_path(&KeyPath::default())), shown(&master));
    assert_ne!(shown(&master.derive_child(0)), shown(&master.derive_child(1)));
}

#[test]
fn short_seeds_are_refused() {
    assert_eq!(master(&[7; 31]).unwrap_err(), SeedError { got: 31 });
    assert_eq!(master(&[]).unwrap_err(), SeedError { got: 0 });
    assert!(master(&[7; 32]).is_ok());
    // Not padded: a longer seed is another.
    assert_ne!(shown(&master(&[7; 32]).unwrap()), shown(&master(&[7; 33]).unwrap()));
}

#[test]
fn a_path_has_one_text() {
    for text in ["m", "m/0", "m/12381/3600/0/0", "m/4294967295"] {
        assert_eq!(text.parse::<KeyPath>().unwrap().to_string(), text);
    }
    for text in ["", "/0", "0/1", "M/0", " m/0"] {
        assert_eq!(text.parse::<KeyPath>(), Err(KeyPathError::Root), "{text}");
    }
    for index in ["", "0'", "+1", "-1", "01", "00", " 1", "4294967296", "x", "1h"] {
        let text = format!("m/0/{index}");
        assert_eq!(text.parse::<KeyPath>(), Err(KeyPathError::Index { at: 1 }), "{text}");
    }
}

#[test]
fn one_secret_key_serves_both_variants() {
    let seed = Secret::new([7; 32]);
    let secret = prefinal_crypto_core::bls::SecretKey::derive_master(&seed).unwrap();
    let small = secret.sign::<MinSig>(Domain::POP, b"m");
    let large = secret.sign::<MinPk>(Domain::POP, b"m");
    assert_eq!((small.to_bytes().len(), large.to_bytes().len()), (48, 96));
    assert_eq!(small.verify(&secret.public_key(), Domain::POP, b"m"), Ok(()));
    assert_eq!(large.verify(&secret.public_key(), Domain::POP, b"m"), Ok(()));
}
