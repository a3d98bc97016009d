//! Multi-signatures under attack.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeSet;

use borsh::BorshDeserialize;
use crypto_core::bls::MinSig;
use crypto_core::bls::min_sig::{
    AggregateKey, Claim, Culprits, Domain, ProofOfPossession, PublicKey, SecretKey, Signature,
    SignatureError, aggregate, verify_aggregate, verify_many, verify_multi,
};
use crypto_core::curve::{G1Affine, G2Affine, G2Projective, Scalar};
use crypto_core::secret::Secret;
use crypto_core::verified::Verified;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

const SEED: u64 = 2018;
const VOTE: Domain = Domain::new("test vote");
const TIMEOUT: Domain = Domain::new("test timeout");

struct Signer {
    secret: SecretKey,
    key: Verified<PublicKey>,
}

fn signers(count: usize) -> Vec<Signer> {
    println!("seed {SEED}");
    let mut rng = ChaCha20Rng::seed_from_u64(SEED);
    let signer = |_| {
        let secret = SecretKey::random(&mut rng);
        let key = secret.public_key().verify_possession(&secret.prove_possession()).unwrap();
        Signer { secret, key }
    };
    (0..count).map(signer).collect()
}

fn key_of(secret: &Scalar) -> PublicKey {
    PublicKey::from_bytes(&(G2Affine::generator() * secret).to_affine().to_bytes()).unwrap()
}

fn secret_of(secret: &Scalar) -> SecretKey {
    SecretKey::from_secret_bytes(&Secret::new(secret.to_bytes())).unwrap()
}

/// `a + b`, through the encoding.
fn add(a: &Signature, b: G1Affine) -> Signature {
    let a = G1Affine::from_bytes(&a.to_bytes()).unwrap();
    Signature::from_bytes(&(a + b).to_affine().to_bytes()).unwrap()
}

#[test]
fn a_signature_holds_for_its_key_domain_and_message_only() {
    let [a, b] = <[Signer; 2]>::try_from(signers(2)).ok().unwrap();
    let signature: Signature = a.secret.sign(VOTE, b"block 1");
    assert_eq!(signature.verify(&a.key, VOTE, b"block 1"), Ok(()));
    for (key, domain, message) in
        [(&b.key, VOTE, b"block 1"), (&a.key, TIMEOUT, b"block 1"), (&a.key, VOTE, b"block 2")]
    {
        let verdict = signature.verify(key, domain, message);
        assert_eq!(verdict, Err(SignatureError::Mismatch));
    }
    let moved = add(&signature, G1Affine::generator());
    assert_eq!(moved.verify(&a.key, VOTE, b"block 1"), Err(SignatureError::Mismatch));
}

#[test]
fn a_proof_of_possession_is_no_signature_and_the_reverse() {
    let signer = &signers(1)[0];
    let key = *signer.key.get();
    let proof = borsh::to_vec(&signer.secret.prove_possession::<MinSig>()).unwrap();
    let as_signature = Signature::from_bytes(&proof).unwrap();
    let message = key.to_bytes();
    assert_eq!(as_signature.verify(&key, VOTE, &message), Err(SignatureError::Mismatch));

    let signature = borsh::to_vec(&signer.secret.sign::<MinSig>(VOTE, &message)).unwrap();
    let as_proof = ProofOfPossession::try_from_slice(&signature).unwrap();
    assert_eq!(key.verify_possession(&as_proof), Err(SignatureError::Mismatch));
}

#[test]
fn a_rogue_key_signs_for_all_but_has_no_proof_of_possession() {
    let honest = signers(3);
    let x = Scalar::from_u64(0xbad);
    let point = |key: &PublicKey| G2Affine::from_bytes(&key.to_bytes()).unwrap();
    let others: G2Projective = honest.iter().map(|signer| point(&signer.key)).sum();
    let rogue = (G2Affine::generator() * x) - others;
    let rogue = PublicKey::from_bytes(&rogue.to_affine().to_bytes()).unwrap();
    // The forgery is real: with the rogue key the sum of all keys is g₂^x.
    let sum: G2Projective = others + point(&rogue);
    assert_eq!(sum, G2Affine::generator() * x);
    // What stops it: neither the attacker's x nor any proof of another key is a proof of this one.
    for proof in [secret_of(&x).prove_possession(), honest[0].secret.prove_possession()] {
        assert_eq!(rogue.verify_possession(&proof), Err(SignatureError::Mismatch));
    }
}

#[test]
fn a_multi_signature_needs_exactly_its_signers() {
    let signers = signers(5);
    let signature =
        aggregate(signers.iter().map(|s| s.secret.sign(VOTE, b"m")).collect::<Vec<_>>().iter())
            .unwrap();
    let keys = || signers.iter().map(|signer| &signer.key);
    assert_eq!(verify_multi(keys(), VOTE, b"m", &signature), Ok(()));
    let mismatch = Err(SignatureError::Mismatch);
    assert_eq!(verify_multi(keys().skip(1), VOTE, b"m", &signature), mismatch);
    assert_eq!(verify_multi(keys().chain(keys().take(1)), VOTE, b"m", &signature), mismatch);
    assert_eq!(verify_multi(keys(), VOTE, b"n", &signature), mismatch);
    assert_eq!(verify_multi(keys(), TIMEOUT, b"m", &signature), mismatch);
}

#[test]
fn nobody_signs_nothing() {
    let no_signers = SignatureError::NoSigners;
    assert_eq!(aggregate::<MinSig>([]), Err(no_signers));
    let signature: Signature = signers(1)[0].secret.sign(VOTE, b"m");
    assert_eq!(verify_multi([], VOTE, b"m", &signature), Err(no_signers));
    assert_eq!(verify_aggregate(&[], VOTE, &signature), Err(no_signers));
    assert_eq!(verify_many::<MinSig>(VOTE, b"m", &[]), Ok(()));
}

#[test]
fn keys_that_cancel_are_refused_for_the_identity_would_be_their_signature() {
    let x = Scalar::from_u64(7);
    let keys = [x, -x].map(|x| {
        let secret = secret_of(&x);
        secret.public_key().verify_possession(&secret.prove_possession()).unwrap()
    });
    let signatures = [x, -x].map(|x| secret_of(&x).sign(VOTE, b"any"));
    assert_eq!(aggregate(&signatures), Err(SignatureError::SignaturesCancel));
    let any = &signatures[0];
    assert_eq!(verify_multi(&keys, VOTE, b"any", any), Err(SignatureError::KeysCancel));
    assert_eq!(AggregateKey::sum(&keys), Err(SignatureError::KeysCancel));
}

#[test]
fn an_aggregate_is_bound_to_who_said_what() {
    let signers = signers(4);
    let messages: [&[u8]; 2] = [b"round 3, qc 1", b"round 3, qc 2"];
    let signatures: Vec<Signature> =
        (0..4).map(|i| signers[i].secret.sign(TIMEOUT, messages[i / 2])).collect();
    let signature = aggregate(&signatures).unwrap();
    let key = |range: std::ops::Range<usize>| {
        AggregateKey::sum(signers[range].iter().map(|signer| &signer.key)).unwrap()
    };
    let claims = [
        Claim { signers: key(0..2), message: messages[0] },
        Claim { signers: key(2..4), message: messages[1] },
    ];
    assert_eq!(verify_aggregate(&claims, TIMEOUT, &signature), Ok(()));
    let swapped = [
        Claim { signers: key(0..2), message: messages[1] },
        Claim { signers: key(2..4), message: messages[0] },
    ];
    let mismatch = Err(SignatureError::Mismatch);
    assert_eq!(verify_aggregate(&swapped, TIMEOUT, &signature), mismatch);
    assert_eq!(verify_aggregate(&claims[..1], TIMEOUT, &signature), mismatch);
    assert_eq!(verify_aggregate(&claims, VOTE, &signature), mismatch);
}

#[test]
fn a_batch_names_exactly_the_culprits() {
    let signers = signers(9);
    let sound: Vec<(PublicKey, Signature)> =
        signers.iter().map(|s| (*s.key.get(), s.secret.sign(VOTE, b"m"))).collect();
    assert_eq!(verify_many(VOTE, b"m", &sound), Ok(()));
    for faults in [&[0][..], &[8], &[3, 4], &[0, 4, 8], &[0, 1, 2, 3, 4, 5, 6, 7, 8]] {
        let mut batch = sound.clone();
        for &at in faults {
            batch[at].1 = signers[at].secret.sign(VOTE, b"other");
        }
        let positions = faults.iter().copied().collect();
        assert_eq!(verify_many(VOTE, b"m", &batch), Err(Culprits { positions, of: 9 }));
    }
}

#[test]
fn errors_that_cancel_in_the_sum_do_not_cancel_in_the_batch() {
    let signers = signers(4);
    let mut batch: Vec<(PublicKey, Signature)> =
        signers.iter().map(|s| (*s.key.get(), s.secret.sign(VOTE, b"m"))).collect();
    batch[1].1 = add(&batch[1].1, G1Affine::generator());
    batch[2].1 = add(&batch[2].1, -G1Affine::generator());
    let sum = aggregate(batch.iter().map(|(_, signature)| signature)).unwrap();
    assert_eq!(verify_multi(signers.iter().map(|s| &s.key), VOTE, b"m", &sum), Ok(()));
    let positions = BTreeSet::from([1, 2]);
    assert_eq!(verify_many(VOTE, b"m", &batch), Err(Culprits { positions, of: 4 }));
}

#[test]
fn swapped_signatures_are_both_culprits() {
    let signers = signers(3);
    let mut batch: Vec<(PublicKey, Signature)> =
        signers.iter().map(|s| (*s.key.get(), s.secret.sign(VOTE, b"m"))).collect();
    (batch[0].1, batch[2].1) = (batch[2].1, batch[0].1);
    let positions = BTreeSet::from([0, 2]);
    assert_eq!(verify_many(VOTE, b"m", &batch), Err(Culprits { positions, of: 3 }));
}

#[test]
fn encodings_are_exact_and_never_the_identity() {
    let signer = &signers(1)[0];
    let signature: Signature = signer.secret.sign(VOTE, b"m");
    let bytes = borsh::to_vec(&signature).unwrap();
    assert_eq!(bytes.len(), 48);
    assert_eq!(borsh::from_slice::<Signature>(&bytes).unwrap(), signature);
    assert!(borsh::from_slice::<Signature>(&[bytes.as_slice(), &[0]].concat()).is_err());
    assert!(borsh::from_slice::<Signature>(&bytes[1..]).is_err());
    let key = borsh::to_vec(signer.key.get()).unwrap();
    assert_eq!(key.len(), 96);
    assert_eq!(borsh::from_slice::<PublicKey>(&key).unwrap(), *signer.key.get());
    assert!(borsh::from_slice::<PublicKey>(&G2Affine::identity().to_bytes()).is_err());
    assert!(borsh::from_slice::<Signature>(&G1Affine::identity().to_bytes()).is_err());
    assert!(borsh::from_slice::<ProofOfPossession>(&G1Affine::identity().to_bytes()).is_err());
}

#[test]
fn a_stored_key_signs_the_same_and_zero_is_no_key() {
    let signer = &signers(1)[0];
    let restored = SecretKey::from_secret_bytes(&signer.secret.to_secret_bytes()).unwrap();
    assert_eq!(restored.sign::<MinSig>(VOTE, b"m"), signer.secret.sign(VOTE, b"m"));
    assert_eq!(restored.public_key(), *signer.key.get());
    assert!(SecretKey::from_secret_bytes(&Secret::new([0; 32])).is_err());
    assert!(SecretKey::from_secret_bytes(&Secret::new([0xff; 32])).is_err());
    assert_eq!(key_of(&Scalar::ONE), secret_of(&Scalar::ONE).public_key());
    assert!(!format!("{:?}", signer.secret).contains("Scalar"));
}

#[test]
fn the_longest_domain_name_fits_a_tag() {
    assert_eq!(Domain::MAX_NAME, 198);
}
