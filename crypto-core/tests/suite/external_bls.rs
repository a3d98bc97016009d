//! BLS beside an external library: what `external/bls.py` had py_ecc compute.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use prefinal_crypto_core::bls::{
    AggregateKey, Claim, Domain, MinPk, MinSig, PublicKey, SecretKey, Signature, Variant,
    aggregate, verify_aggregate, verify_multi,
};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::verified::Verified;
use serde::Deserialize;

const OWN: Domain = Domain::new("external test");

#[derive(Deserialize)]
struct File {
    domain: String,
    single: Vec<Single>,
    sums: Sums,
}

#[derive(Deserialize)]
struct Single {
    seed: String,
    secret: String,
    suite: String,
    message: String,
    min_pk: Signed,
    min_sig: Signed,
    possession: String,
}

#[derive(Deserialize)]
struct Signed {
    key: String,
    signature: String,
    valid: bool,
    on_another: bool,
}

#[derive(Deserialize)]
struct Sums {
    common: String,
    on_common: String,
    valid: bool,
    without_the_last: bool,
    on_own: String,
    each_valid: bool,
    rotated: bool,
    min_sig_on_common: String,
    min_sig_negated: String,
}

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

fn domain(suite: &str) -> Domain {
    match suite {
        "basic" => Domain::BASIC,
        "pop" => Domain::POP,
        own => {
            assert_eq!(own, "own");
            OWN
        }
    }
}

fn secret(single: &Single) -> SecretKey {
    SecretKey::derive_master(&Secret::new(bytes(&single.seed))).unwrap()
}

fn check<V: Variant>(single: &Single, theirs: &Signed) {
    let (secret, domain, message) = (secret(single), domain(&single.suite), bytes(&single.message));
    let key = PublicKey::<V>::from_bytes(&bytes(&theirs.key)).unwrap();
    let signature = Signature::<V>::from_bytes(&bytes(&theirs.signature)).unwrap();
    assert_eq!(secret.public_key::<V>(), key);
    assert_eq!(secret.sign::<V>(domain, &message), signature);
    assert_eq!(signature.verify(&key, domain, &message).is_ok(), theirs.valid);
    let another = [&message[..], b"!"].concat();
    assert_eq!(signature.verify(&key, domain, &another).is_ok(), theirs.on_another);
}

fn verified<V: Variant>(secret: &SecretKey) -> Verified<PublicKey<V>> {
    let proof = secret.prove_standard_possession();
    secret.public_key::<V>().verify_standard_possession(&proof).unwrap()
}

fn check_sums(singles: &[Single], theirs: &Sums) {
    let secrets: Vec<SecretKey> = singles.iter().map(secret).collect();
    let messages: Vec<Vec<u8>> = singles.iter().map(|single| bytes(&single.message)).collect();
    let keys: Vec<_> = secrets.iter().map(verified::<MinPk>).collect();
    let common = bytes(&theirs.common);

    let sum = Signature::<MinPk>::from_bytes(&bytes(&theirs.on_common)).unwrap();
    let signed = secrets.iter().map(|secret| secret.sign::<MinPk>(Domain::POP, &common));
    assert_eq!(aggregate(&signed.collect::<Vec<_>>()), Ok(sum));
    assert_eq!(verify_multi(&keys, Domain::POP, &common, &sum).is_ok(), theirs.valid);
    let fewer = verify_multi(keys.split_last().unwrap().1, Domain::POP, &common, &sum);
    assert_eq!(fewer.is_ok(), theirs.without_the_last);

    let sum = Signature::<MinPk>::from_bytes(&bytes(&theirs.on_own)).unwrap();
    let verdict = |messages: &[Vec<u8>]| {
        let claims = keys
            .iter()
            .zip(messages)
            .map(|(key, message)| Claim { signers: AggregateKey::sum([key]).unwrap(), message });
        verify_aggregate(&claims.collect::<Vec<_>>(), Domain::POP, &sum).is_ok()
    };
    assert_eq!(verdict(&messages), theirs.each_valid);
    let mut rotated = messages;
    rotated.rotate_left(1);
    assert_eq!(verdict(&rotated), theirs.rotated);

    let keys: Vec<_> = secrets.iter().map(verified::<MinSig>).collect();
    for (sum, valid) in [(&theirs.min_sig_on_common, true), (&theirs.min_sig_negated, false)] {
        let sum = Signature::<MinSig>::from_bytes(&bytes(sum)).unwrap();
        assert_eq!(verify_multi(&keys, Domain::POP, &common, &sum).is_ok(), valid);
    }
}

#[test]
#[ignore = "needs what tests/external/bls.py writes, with py_ecc"]
fn py_ecc_comes_to_the_same() {
    let path = std::env::var("PREFINAL_EXTERNAL_BLS").expect("names the file");
    let file: File = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(file.domain, "external test");
    assert!(file.single.len() > 1);
    for single in &file.single {
        assert_eq!(hex::encode(secret(single).to_secret_bytes().expose()), single.secret);
        let possession = secret(single).prove_standard_possession::<MinPk>().to_bytes();
        assert_eq!(hex::encode(possession), single.possession);
        assert!(single.min_pk.valid && !single.min_pk.on_another);
        assert!(single.min_sig.valid && !single.min_sig.on_another);
        check::<MinPk>(single, &single.min_pk);
        check::<MinSig>(single, &single.min_sig);
    }
    assert!(file.sums.valid && file.sums.each_valid);
    assert!(!file.sums.without_the_last && !file.sums.rotated);
    check_sums(&file.single, &file.sums);
}
