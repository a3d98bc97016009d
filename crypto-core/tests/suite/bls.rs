//! BLS in both variants, under attack.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests fail as tests do"
)]

use std::collections::BTreeSet;

use borsh::BorshDeserialize;
use prefinal_crypto_core::bls::{
    AggregateKey, Claim, Culprits, Domain, MinPk, MinSig, ProofOfPossession, PublicKey, SecretKey,
    Signature, SignatureError, SignedMessage, Variant, aggregate, verify_aggregate, verify_batch,
    verify_many, verify_multi,
};
use prefinal_crypto_core::curve::{Affine, DecodeError, Group, Projective, Scalar};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::verified::Verified;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

const SEED: u64 = 2018;
const VOTE: Domain = Domain::new("test vote");
const TIMEOUT: Domain = Domain::new("test timeout");
const DOMAINS: [Domain; 4] = [VOTE, TIMEOUT, Domain::BASIC, Domain::POP];
const MISMATCH: Result<(), SignatureError> = Err(SignatureError::Mismatch);

type SignaturePoint<V> = Affine<<V as Variant>::SignatureGroup>;
type KeyPoint<V> = Affine<<V as Variant>::KeyGroup>;
type Pairs<V> = Vec<(PublicKey<V>, Signature<V>)>;

struct Signer<V: Variant> {
    secret: SecretKey,
    key: Verified<PublicKey<V>>,
}

impl<V: Variant> Signer<V> {
    fn new(secret: SecretKey) -> Self {
        let key = secret.public_key().verify_possession(&secret.prove_possession()).unwrap();
        Self { secret, key }
    }

    fn sign(&self, domain: Domain, message: &[u8]) -> Signature<V> {
        self.secret.sign(domain, message)
    }
}

fn signers<V: Variant>(count: usize) -> Vec<Signer<V>> {
    println!("seed {SEED}");
    let mut rng = ChaCha20Rng::seed_from_u64(SEED);
    (0..count).map(|_| Signer::new(SecretKey::random(&mut rng))).collect()
}

fn signed<V: Variant>(signers: &[Signer<V>], message: &[u8]) -> Pairs<V> {
    signers.iter().map(|one| (*one.key.get(), one.sign(VOTE, message))).collect()
}

fn secret_of(secret: Scalar) -> SecretKey {
    SecretKey::from_secret_bytes(&Secret::new(secret.to_bytes())).unwrap()
}

fn key_point<V: Variant>(key: &PublicKey<V>) -> KeyPoint<V> {
    Affine::from_bytes(key.to_bytes().as_ref()).unwrap()
}

/// `a + b`, through the encoding.
fn add<V: Variant>(a: &Signature<V>, b: SignaturePoint<V>) -> Signature<V> {
    let a = SignaturePoint::<V>::from_bytes(a.to_bytes().as_ref()).unwrap();
    Signature::from_bytes((a + b).to_affine().to_bytes().as_ref()).unwrap()
}

fn culprits(positions: &[usize], of: usize) -> Result<(), Culprits> {
    Err(Culprits { positions: positions.iter().copied().collect(), of })
}

suite! {
    a_signature_holds_for_its_key_domain_and_message_only
    a_proof_of_possession_is_no_signature_and_the_reverse
    a_proof_of_possession_is_of_one_key_under_one_tag
    a_rogue_key_signs_for_all_but_has_no_proof_of_possession
    a_rogue_signature_passes_for_a_sum_of_keys_that_nobody_proved
    a_multi_signature_needs_exactly_its_signers
    nobody_signs_nothing
    keys_that_cancel_are_refused_for_the_identity_would_be_their_signature
    an_aggregate_is_bound_to_who_said_what
    a_batch_names_exactly_the_culprits
    errors_that_cancel_in_the_sum_do_not_cancel_in_the_batch
    swapped_signatures_are_both_culprits
    a_batch_takes_any_mix_of_keys_and_messages
    a_batch_is_bound_to_its_domain
    encodings_are_exact_and_never_the_identity
    points_outside_the_subgroup_are_no_keys_and_no_signatures
    a_stored_key_signs_the_same_and_zero_is_no_key
}

fn a_signature_holds_for_its_key_domain_and_message_only<V: Variant>() {
    let [a, b] = <[Signer<V>; 2]>::try_from(signers(2)).ok().unwrap();
    for domain in DOMAINS {
        let signature = a.sign(domain, b"block 1");
        assert_eq!(signature.verify(&a.key, domain, b"block 1"), Ok(()));
        assert_eq!(signature.verify(&b.key, domain, b"block 1"), MISMATCH);
        assert_eq!(signature.verify(&a.key, domain, b"block 2"), MISMATCH);
        assert_eq!(signature.verify(&a.key, domain, b""), MISMATCH);
        for other in DOMAINS.into_iter().filter(|other| *other != domain) {
            assert_eq!(signature.verify(&a.key, other, b"block 1"), MISMATCH);
        }
        let moved = add(&signature, Affine::generator());
        assert_eq!(moved.verify(&a.key, domain, b"block 1"), MISMATCH);
        let opposite = Signature::<V>::from_bytes(
            (-SignaturePoint::<V>::from_bytes(signature.to_bytes().as_ref()).unwrap())
                .to_bytes()
                .as_ref(),
        );
        assert_eq!(opposite.unwrap().verify(&a.key, domain, b"block 1"), MISMATCH);
    }
}

fn a_proof_of_possession_is_no_signature_and_the_reverse<V: Variant>() {
    let signer = &signers::<V>(1)[0];
    let key = *signer.key.get();
    let message = key.to_bytes();
    for proof in
        [signer.secret.prove_possession::<V>(), signer.secret.prove_standard_possession::<V>()]
    {
        let replayed = Signature::<V>::from_bytes(&borsh::to_vec(&proof).unwrap()).unwrap();
        for domain in DOMAINS {
            assert_eq!(replayed.verify(&key, domain, message.as_ref()), MISMATCH);
        }
    }
    for domain in DOMAINS {
        let signature = signer.sign(domain, message.as_ref());
        let replayed: ProofOfPossession<V> =
            ProofOfPossession::try_from_slice(&borsh::to_vec(&signature).unwrap()).unwrap();
        assert_eq!(key.verify_possession(&replayed), Err(SignatureError::Mismatch));
        assert_eq!(key.verify_standard_possession(&replayed), Err(SignatureError::Mismatch));
    }
}

fn a_proof_of_possession_is_of_one_key_under_one_tag<V: Variant>() {
    let [a, b] = <[Signer<V>; 2]>::try_from(signers(2)).ok().unwrap();
    let (own, standard) = (a.secret.prove_possession(), a.secret.prove_standard_possession());
    assert_eq!(a.key.get().verify_possession(&own), Ok(a.key));
    assert_eq!(a.key.get().verify_standard_possession(&standard), Ok(a.key));
    let mismatch = Err(SignatureError::Mismatch);
    assert_eq!(a.key.get().verify_possession(&standard), mismatch);
    assert_eq!(a.key.get().verify_standard_possession(&own), mismatch);
    assert_eq!(b.key.get().verify_possession(&own), mismatch);
    assert_eq!(b.key.get().verify_standard_possession(&standard), mismatch);
}

/// `g^x / ∏ pkᵢ`
fn rogue<V: Variant>(x: Scalar, honest: &[Signer<V>]) -> PublicKey<V> {
    let others: Projective<V::KeyGroup> = honest.iter().map(|one| key_point(&one.key)).sum();
    let rogue = (KeyPoint::<V>::generator() * x) - others;
    PublicKey::from_bytes(rogue.to_affine().to_bytes().as_ref()).unwrap()
}

fn a_rogue_key_signs_for_all_but_has_no_proof_of_possession<V: Variant>() {
    let honest = signers::<V>(3);
    let x = Scalar::from_u64(0xbad);
    let rogue = rogue(x, &honest);
    // What stops it: neither the attacker's x nor any proof of another key is a proof of this one.
    for proof in [secret_of(x).prove_possession(), honest[0].secret.prove_possession()] {
        assert_eq!(rogue.verify_possession(&proof), Err(SignatureError::Mismatch));
    }
}

/// The forgery is real: this is what passes if sums took any key.
fn a_rogue_signature_passes_for_a_sum_of_keys_that_nobody_proved<V: Variant>() {
    let honest = signers::<V>(3);
    let x = Scalar::from_u64(0xbad);
    let others: Projective<V::KeyGroup> = honest.iter().map(|one| key_point(&one.key)).sum();
    let sum = (others + key_point(&rogue(x, &honest))).to_affine();
    let sum = PublicKey::<V>::from_bytes(sum.to_bytes().as_ref()).unwrap();
    let forged: Signature<V> = secret_of(x).sign(VOTE, b"never said");
    assert_eq!(forged.verify(&sum, VOTE, b"never said"), Ok(()));
}

fn a_multi_signature_needs_exactly_its_signers<V: Variant>() {
    let signers = signers::<V>(5);
    let votes: Vec<_> = signers.iter().map(|one| one.sign(VOTE, b"m")).collect();
    let signature = aggregate(&votes).unwrap();
    let keys = || signers.iter().map(|signer| &signer.key);
    assert_eq!(verify_multi(keys(), VOTE, b"m", &signature), Ok(()));
    assert_eq!(verify_multi(keys().rev(), VOTE, b"m", &signature), Ok(()));
    assert_eq!(verify_multi(keys().skip(1), VOTE, b"m", &signature), MISMATCH);
    assert_eq!(verify_multi(keys().chain(keys().take(1)), VOTE, b"m", &signature), MISMATCH);
    assert_eq!(verify_multi(keys(), VOTE, b"n", &signature), MISMATCH);
    assert_eq!(verify_multi(keys(), TIMEOUT, b"m", &signature), MISMATCH);
}

fn nobody_signs_nothing<V: Variant>() {
    let no_signers = SignatureError::NoSigners;
    assert_eq!(aggregate::<V>([]), Err(no_signers));
    let signature = signers::<V>(1)[0].sign(VOTE, b"m");
    assert_eq!(verify_multi([], VOTE, b"m", &signature), Err(no_signers));
    assert_eq!(verify_aggregate(&[], VOTE, &signature), Err(no_signers));
    assert_eq!(verify_many::<V>(VOTE, b"m", &[]), Ok(()));
    assert_eq!(verify_batch::<V>(VOTE, &[]), Ok(()));
}

fn keys_that_cancel_are_refused_for_the_identity_would_be_their_signature<V: Variant>() {
    let x = Scalar::from_u64(7);
    let pair = [x, -x].map(|x| Signer::<V>::new(secret_of(x)));
    let keys = || pair.iter().map(|signer| &signer.key);
    let signatures = pair.each_ref().map(|signer| signer.sign(VOTE, b"any"));
    assert_eq!(aggregate(&signatures), Err(SignatureError::SignaturesCancel));
    let any = &signatures[0];
    assert_eq!(verify_multi(keys(), VOTE, b"any", any), Err(SignatureError::KeysCancel));
    assert_eq!(AggregateKey::sum(keys()), Err(SignatureError::KeysCancel));
}

fn an_aggregate_is_bound_to_who_said_what<V: Variant>() {
    let signers = signers::<V>(4);
    let messages: [&[u8]; 2] = [b"round 3, qc 1", b"round 3, qc 2"];
    let signatures: Vec<_> = (0..4).map(|i| signers[i].sign(TIMEOUT, messages[i / 2])).collect();
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
    assert_eq!(verify_aggregate(&swapped, TIMEOUT, &signature), MISMATCH);
    assert_eq!(verify_aggregate(&claims[..1], TIMEOUT, &signature), MISMATCH);
    assert_eq!(verify_aggregate(&claims, VOTE, &signature), MISMATCH);
}

fn a_batch_names_exactly_the_culprits<V: Variant>() {
    let signers = signers::<V>(9);
    let sound = signed(&signers, b"m");
    assert_eq!(verify_many(VOTE, b"m", &sound), Ok(()));
    for faults in [&[0][..], &[8], &[3, 4], &[0, 4, 8], &[0, 1, 2, 3, 4, 5, 6, 7, 8]] {
        let mut batch = sound.clone();
        for &at in faults {
            batch[at].1 = signers[at].sign(VOTE, b"other");
        }
        assert_eq!(verify_many(VOTE, b"m", &batch), culprits(faults, 9));
    }
}

fn errors_that_cancel_in_the_sum_do_not_cancel_in_the_batch<V: Variant>() {
    let signers = signers::<V>(4);
    let mut batch = signed(&signers, b"m");
    batch[1].1 = add(&batch[1].1, Affine::generator());
    batch[2].1 = add(&batch[2].1, -SignaturePoint::<V>::generator());
    let sum = aggregate(batch.iter().map(|(_, signature)| signature)).unwrap();
    assert_eq!(verify_multi(signers.iter().map(|s| &s.key), VOTE, b"m", &sum), Ok(()));
    assert_eq!(verify_many(VOTE, b"m", &batch), culprits(&[1, 2], 4));
}

fn swapped_signatures_are_both_culprits<V: Variant>() {
    let signers = signers::<V>(3);
    let mut batch = signed(&signers, b"m");
    (batch[0].1, batch[2].1) = (batch[2].1, batch[0].1);
    assert_eq!(verify_many(VOTE, b"m", &batch), culprits(&[0, 2], 3));
    // The same for messages of one signer, where keys and not messages are merged.
    let messages: [&[u8]; 3] = [b"1", b"2", b"3"];
    let own = |[a, b, c]: [usize; 3]| {
        let key = *signers[0].key.get();
        let from = |(at, of): (usize, usize)| SignedMessage {
            key,
            message: messages[at],
            signature: signers[0].sign(VOTE, messages[of]),
        };
        [(0, a), (1, b), (2, c)].map(from)
    };
    assert_eq!(verify_batch(VOTE, &own([0, 1, 2])), Ok(()));
    assert_eq!(verify_batch(VOTE, &own([1, 0, 2])), culprits(&[0, 1], 3));
}

/// Whatever is merged, exactly the false ones are named.
fn a_batch_takes_any_mix_of_keys_and_messages<V: Variant>() {
    let signers = signers::<V>(4);
    let messages: [&[u8]; 4] = [b"", b"1", b"2", b"3"];
    let config = ProptestConfig {
        cases: 12,
        rng_seed: RngSeed::Fixed(SEED),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let entry = (0..4_usize, 0..4_usize, proptest::bool::weighted(0.8));
    proptest!(config, |(entries in proptest::collection::vec(entry, 1..12))| {
        let signed = |&(who, what, sound): &(usize, usize, bool)| {
            let on = if sound { messages[what] } else { b"false" };
            let (key, signature) = (*signers[who].key.get(), signers[who].sign(VOTE, on));
            SignedMessage { key, message: messages[what], signature }
        };
        let batch: Vec<_> = entries.iter().map(signed).collect();
        let single = |one: &SignedMessage<'_, V>| one.signature.verify(&one.key, VOTE, one.message);
        let failing = batch.iter().enumerate().filter(|(_, one)| single(one).is_err());
        let positions: BTreeSet<usize> = failing.map(|(at, _)| at).collect();
        let lies = entries.iter().filter(|(_, _, sound)| !sound).count();
        prop_assert_eq!(positions.len(), lies);
        let expected = if positions.is_empty() {
            Ok(())
        } else {
            Err(Culprits { positions, of: batch.len() })
        };
        prop_assert_eq!(verify_batch(VOTE, &batch), expected);
    });
}

fn a_batch_is_bound_to_its_domain<V: Variant>() {
    let signers = signers::<V>(3);
    assert_eq!(verify_many(TIMEOUT, b"m", &signed(&signers, b"m")), culprits(&[0, 1, 2], 3));
}

fn encodings_are_exact_and_never_the_identity<V: Variant>() {
    let signer = &signers::<V>(1)[0];
    let signature = signer.sign(VOTE, b"m");
    let proof = signer.secret.prove_possession::<V>();
    fn exact<T: borsh::BorshSerialize + BorshDeserialize + PartialEq + std::fmt::Debug>(
        value: &T,
        encoding: &[u8],
        identity: &[u8],
        read: impl Fn(&[u8]) -> Result<T, DecodeError>,
    ) {
        let bytes = borsh::to_vec(value).unwrap();
        assert_eq!(bytes, encoding);
        assert_eq!(borsh::from_slice::<T>(&bytes).unwrap(), *value);
        assert_eq!(read(&bytes).unwrap(), *value);
        let longer = [bytes.as_slice(), &[0]].concat();
        let (expected, got) = (bytes.len(), longer.len());
        assert!(borsh::from_slice::<T>(&longer).is_err());
        assert_eq!(read(&longer), Err(DecodeError::Length { expected, got }));
        for cut in 0..bytes.len() {
            assert!(borsh::from_slice::<T>(&bytes[..cut]).is_err());
            assert_eq!(read(&bytes[..cut]), Err(DecodeError::Length { expected, got: cut }));
        }
        assert!(borsh::from_slice::<T>(identity).is_err());
        assert_eq!(read(identity), Err(DecodeError::Identity));
        // The other variant's bytes have another length.
        let got = 144 - expected;
        let foreign = [&[0xa0][..], &vec![7; got - 1]].concat();
        assert_eq!(read(&foreign), Err(DecodeError::Length { expected, got }));
    }
    let identity = SignaturePoint::<V>::identity().to_bytes();
    let bytes = signature.to_bytes();
    exact(&signature, bytes.as_ref(), identity.as_ref(), Signature::from_bytes);
    let bytes = proof.to_bytes();
    exact(&proof, bytes.as_ref(), identity.as_ref(), ProofOfPossession::from_bytes);
    let (key, bytes) = (*signer.key.get(), signer.key.to_bytes());
    let identity = KeyPoint::<V>::identity().to_bytes();
    exact(&key, bytes.as_ref(), identity.as_ref(), PublicKey::from_bytes);
}

/// The first points on the curve by their `x` are not in the subgroup: its share is below 2⁻¹²⁵.
fn points_outside_the_subgroup_are_no_keys_and_no_signatures<V: Variant>() {
    fn outside<G: Group, T: PartialEq + std::fmt::Debug>(
        read: impl Fn(&[u8]) -> Result<T, DecodeError>,
    ) {
        let size = Affine::<G>::generator().to_bytes().as_ref().len();
        let found = (0..64_u8).map(|x| {
            let mut bytes = vec![0; size];
            (bytes[0], bytes[size - 1]) = (0x80, x);
            read(&bytes).unwrap_err()
        });
        let found: Vec<DecodeError> = found.collect();
        assert!(found.contains(&DecodeError::NotInSubgroup));
        assert!(found.contains(&DecodeError::NotOnCurve));
    }
    outside::<V::KeyGroup, _>(PublicKey::<V>::from_bytes);
    outside::<V::SignatureGroup, _>(Signature::<V>::from_bytes);
    outside::<V::SignatureGroup, _>(ProofOfPossession::<V>::from_bytes);
}

fn a_stored_key_signs_the_same_and_zero_is_no_key<V: Variant>() {
    let signer = &signers::<V>(1)[0];
    let restored = SecretKey::from_secret_bytes(&signer.secret.to_secret_bytes()).unwrap();
    assert_eq!(restored.sign::<V>(VOTE, b"m"), signer.sign(VOTE, b"m"));
    assert_eq!(restored.public_key::<V>(), *signer.key.get());
    let read = |bytes| SecretKey::from_secret_bytes(&Secret::new(bytes)).map(|_| ());
    assert_eq!(read([0; 32]), Err(DecodeError::Zero));
    assert_eq!(read([0xff; 32]), Err(DecodeError::NotCanonical));
    // The order, which is zero in disguise.
    let mut order = (-Scalar::ONE).to_bytes();
    order[31] += 1;
    assert_eq!(read(order), Err(DecodeError::NotCanonical));
    let generator = PublicKey::<V>::from_bytes(KeyPoint::<V>::generator().to_bytes().as_ref());
    assert_eq!(generator.unwrap(), secret_of(Scalar::ONE).public_key());
    assert_eq!(format!("{:?}", signer.secret), "SecretKey(Secret(..))");
}

#[test]
fn one_key_has_other_signatures_in_each_variant() {
    let secret = secret_of(Scalar::from_u64(0x5eed));
    let small = secret.sign::<MinSig>(VOTE, b"m").to_bytes();
    let large = secret.sign::<MinPk>(VOTE, b"m").to_bytes();
    let wrong = |expected, got| DecodeError::Length { expected, got };
    assert_eq!(Signature::<MinPk>::from_bytes(&small), Err(wrong(96, 48)));
    assert_eq!(Signature::<MinSig>::from_bytes(&large), Err(wrong(48, 96)));
    // A key of the one variant is a point of the other's signatures, but no signature on anything.
    let as_signature = |key: [u8; 48]| Signature::<MinSig>::from_bytes(&key).unwrap();
    let key = as_signature(secret.public_key::<MinPk>().to_bytes());
    assert_eq!(key.verify(&secret.public_key(), VOTE, b"m"), MISMATCH);
}
