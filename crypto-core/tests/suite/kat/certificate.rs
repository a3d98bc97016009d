//! Certificates: bitmaps, exact stake, sums.
use std::collections::BTreeMap;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{
    Domain, MinPk, MinSig, SecretKey, Signature, SignatureError, Variant,
};
use prefinal_crypto_core::certificate::{Certificate, CertificateError, Elector, Electorate};
use prefinal_crypto_core::secret::Secret;
use serde::Deserialize;

use super::{array, bytes, load};

const DOMAIN: Domain = Domain::new("certificate model");

#[derive(Deserialize)]
struct Vector {
    stakes: Vec<String>,
    quorum: String,
    domain: String,
    message: String,
    secrets: Vec<String>,
    cases: Vec<Case>,
    refused: Vec<Refused>,
}

#[derive(Deserialize)]
struct Case {
    signers: Vec<u32>,
    bitmap: String,
    signature: String,
}

#[derive(Deserialize)]
struct Refused {
    why: String,
    bitmap: String,
    signature: String,
    reason: String,
}

fn encode(bitmap: &str, signature: &str) -> Vec<u8> {
    [borsh::to_vec(&bytes(bitmap)).unwrap(), bytes(signature)].concat()
}

fn reason(error: CertificateError) -> &'static str {
    match error {
        CertificateError::Bitmap { .. } => "bitmap",
        CertificateError::BelowQuorum { .. } => "below quorum",
        CertificateError::Signature(SignatureError::NoSigners) => "no signers",
        CertificateError::Signature(SignatureError::Mismatch) => "mismatch",
        other => unreachable!("{other}"),
    }
}

fn check<V: Variant>(vector: &Vector) {
    assert_eq!(vector.domain, "certificate model");
    let message = bytes(&vector.message);
    let secret = |text: &String| SecretKey::from_secret_bytes(&Secret::new(array(text))).unwrap();
    let secrets: Vec<SecretKey> = vector.secrets.iter().map(secret).collect();
    let elector = |(secret, stake): (&SecretKey, &String)| Elector::<V> {
        key: secret.public_key().verify_possession(&secret.prove_possession()).unwrap(),
        stake: stake.parse().unwrap(),
    };
    let electors = secrets.iter().zip(&vector.stakes).map(elector).collect();
    let electorate = Electorate::more_than_two_thirds(electors).unwrap();
    assert_eq!(electorate.quorum().to_string(), vector.quorum);
    for case in &vector.cases {
        let votes: BTreeMap<Party, Signature<V>> = case
            .signers
            .iter()
            .map(|&i| (Party::new(i), secrets[Party::new(i).index()].sign(DOMAIN, &message)))
            .collect();
        let made = Certificate::assemble(&electorate, DOMAIN, &message, &votes).unwrap();
        assert_eq!(borsh::to_vec(made.get()).unwrap(), encode(&case.bitmap, &case.signature));
        assert!(made.get().verify(&electorate, DOMAIN, &message).is_ok());
    }
    for case in &vector.refused {
        let wrong: Certificate<V> =
            borsh::from_slice(&encode(&case.bitmap, &case.signature)).unwrap();
        let error = wrong.verify(&electorate, DOMAIN, &message).unwrap_err();
        assert_eq!(reason(error), case.reason, "{}", case.why);
    }
}

#[test]
fn quorums_and_what_is_none() {
    let vectors: BTreeMap<String, Vector> =
        load(include_str!("../../vectors/model/certificate.json"));
    check::<MinSig>(&vectors["min-sig"]);
    check::<MinPk>(&vectors["min-pk"]);
}
