//! BLS in both variants: keys, possession, signatures, sums.
use std::collections::BTreeMap;

use prefinal_crypto_core::bls::{
    AggregateKey, Claim, Domain, MinPk, MinSig, ProofOfPossession, PublicKey, SecretKey, Signature,
    SignatureError, Variant, aggregate, verify_aggregate, verify_multi,
};
use prefinal_crypto_core::curve::{Affine, Projective};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::verified::Verified;
use serde::Deserialize;

use super::{array, bytes, load};

#[derive(Deserialize)]
struct Vector {
    keys: Vec<Key>,
    sums: Sums,
    rogue: [String; 1],
}

#[derive(Deserialize)]
struct Key {
    name: String,
    secret: String,
    key: String,
    possession: String,
    #[serde(rename = "standard possession")]
    standard_possession: String,
    signatures: Vec<Signed>,
    refused: Vec<Signed>,
}

#[derive(Deserialize)]
struct Signed {
    #[serde(default)]
    why: String,
    domain: String,
    message: String,
    signature: String,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct Sums {
    secrets: Vec<String>,
    domain: String,
    message: String,
    multi: String,
    key: String,
    messages: Vec<String>,
    aggregate: String,
}

/// Runs the same check in both variants.
macro_rules! both {
    ($check:ident) => {
        let vectors: BTreeMap<String, Vector> = load(include_str!("../../vectors/model/bls.json"));
        $check::<MinSig>(&vectors["min-sig"]);
        $check::<MinPk>(&vectors["min-pk"]);
    };
}

fn domain(name: &str) -> Domain {
    match name {
        "standard basic" => Domain::BASIC,
        "standard pop" => Domain::POP,
        "d" => Domain::new("d"),
        "domain model" => Domain::new("domain model"),
        other => unreachable!("{other} is not in the model"),
    }
}

fn secret(text: &str) -> SecretKey {
    SecretKey::from_secret_bytes(&Secret::new(array(text))).unwrap()
}

fn key<V: Variant>(text: &str) -> PublicKey<V> {
    PublicKey::from_bytes(&bytes(text)).unwrap()
}

fn signature<V: Variant>(text: &str) -> Signature<V> {
    Signature::from_bytes(&bytes(text)).unwrap()
}

fn proof<V: Variant>(text: &str) -> ProofOfPossession<V> {
    ProofOfPossession::from_bytes(&bytes(text)).unwrap()
}

fn keys_and_signatures_of<V: Variant>(vector: &Vector) {
    for case in &vector.keys {
        let secret = secret(&case.secret);
        let public = secret.public_key::<V>();
        assert_eq!(hex::encode(public.to_bytes()), case.key, "{}", case.name);
        assert_eq!(key::<V>(&case.key), public);
        for signed in &case.signatures {
            let (domain, message) = (domain(&signed.domain), bytes(&signed.message));
            let made = secret.sign::<V>(domain, &message);
            assert_eq!(hex::encode(made.to_bytes()), signed.signature, "{}", signed.domain);
            assert_eq!(made.verify(&public, domain, &message), Ok(()));
        }
        for wrong in &case.refused {
            let verdict = signature::<V>(&wrong.signature).verify(
                &public,
                domain(&wrong.domain),
                &bytes(&wrong.message),
            );
            assert_eq!(wrong.reason, "mismatch");
            assert_eq!(verdict, Err(SignatureError::Mismatch), "{}", wrong.why);
        }
    }
}

#[test]
fn keys_and_signatures() {
    both!(keys_and_signatures_of);
}

fn possession_of<V: Variant>(vector: &Vector) {
    for case in &vector.keys {
        let secret = secret(&case.secret);
        let public = secret.public_key::<V>();
        let (own, standard) =
            (secret.prove_possession::<V>(), secret.prove_standard_possession::<V>());
        assert_eq!(hex::encode(own.to_bytes()), case.possession);
        assert_eq!(hex::encode(standard.to_bytes()), case.standard_possession);
        assert!(public.verify_possession(&proof(&case.possession)).is_ok());
        assert!(public.verify_standard_possession(&proof(&case.standard_possession)).is_ok());
        let mismatch = Some(SignatureError::Mismatch);
        assert_eq!(public.verify_possession(&standard).err(), mismatch);
        assert_eq!(public.verify_standard_possession(&own).err(), mismatch);
    }
}

#[test]
fn possession() {
    both!(possession_of);
}

fn proven<V: Variant>(secret: &SecretKey) -> Verified<PublicKey<V>> {
    secret.public_key().verify_possession(&secret.prove_possession()).unwrap()
}

fn sums_of<V: Variant>(vector: &Vector) {
    let sums = &vector.sums;
    let secrets: Vec<SecretKey> = sums.secrets.iter().map(|text| secret(text)).collect();
    let keys: Vec<Verified<PublicKey<V>>> = secrets.iter().map(proven).collect();
    let (domain, message) = (domain(&sums.domain), bytes(&sums.message));
    let multi: Vec<Signature<V>> =
        secrets.iter().map(|secret| secret.sign(domain, &message)).collect();
    let multi = aggregate(&multi).unwrap();
    assert_eq!(hex::encode(multi.to_bytes()), sums.multi);
    assert_eq!(verify_multi(&keys, domain, &message, &multi), Ok(()));
    // The sum is an ordinary signature of the sum of the keys.
    assert_eq!(multi.verify(&key(&sums.key), domain, &message), Ok(()));
    let messages: Vec<Vec<u8>> = sums.messages.iter().map(|text| bytes(text)).collect();
    let signed = secrets.iter().zip(&messages);
    let each: Vec<Signature<V>> = signed.map(|(secret, m)| secret.sign(domain, m)).collect();
    let all = aggregate(&each).unwrap();
    assert_eq!(hex::encode(all.to_bytes()), sums.aggregate);
    let claims: Vec<Claim<'_, V>> = keys
        .iter()
        .zip(&messages)
        .map(|(key, message)| Claim { signers: AggregateKey::sum([key]).unwrap(), message })
        .collect();
    assert_eq!(verify_aggregate(&claims, domain, &all), Ok(()));
    let mismatch = Err(SignatureError::Mismatch);
    assert_eq!(verify_aggregate(&claims[1..], domain, &all), mismatch);
    assert_eq!(verify_multi(&keys[1..], domain, &message, &multi), mismatch);
}

#[test]
fn sums() {
    both!(sums_of);
}

/// The key of the model is what all but one subtract from it: without proof of possession, one
/// signature would be everybody's.
fn a_rogue_key_of<V: Variant>(vector: &Vector) {
    let [victim, attacker] = [0, 1].map(|i| secret(&vector.sums.secrets[i]));
    let rogue = key::<V>(&vector.rogue[0]);
    let point = |key: &PublicKey<V>| Affine::from_bytes(key.to_bytes().as_ref()).unwrap();
    let sum: Projective<V::KeyGroup> = [victim.public_key(), rogue].iter().map(point).sum();
    assert!(sum.to_affine() == point(&attacker.public_key()));
    for proof in [attacker.prove_possession(), victim.prove_possession()] {
        assert_eq!(rogue.verify_possession(&proof).err(), Some(SignatureError::Mismatch));
    }
}

#[test]
fn a_rogue_key() {
    both!(a_rogue_key_of);
}
