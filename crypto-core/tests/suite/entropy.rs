//! Generators that are broken: nothing waits for them for ever, and no secret comes of them.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

use std::array;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};

use prefinal_crypto_core::bls::{Domain, MinPk, MinSig, SecretKey, Variant};
use prefinal_crypto_core::curve::{G1Affine, G2Affine, Scalar};
use prefinal_crypto_core::elgamal::{self, EncryptError};
use prefinal_crypto_core::entropy::{ImplausibleRandomness, Seeds};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::timelock::{Identity, encrypt};
use rand_core::{TryCryptoRng, TryRng};
use sha2::{Digest, Sha256};

/// Fills every request from the beginning of the same 64 bytes.
#[derive(Clone, Copy)]
struct Broken([u8; 64]);

impl TryRng for Broken {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.iter_mut().zip(self.0.iter().cycle()).for_each(|(byte, own)| *byte = *own);
        Ok(())
    }
}

impl TryCryptoRng for Broken {}

fn zeros() -> Broken {
    Broken([0; 64])
}

/// `r` itself, behind zeros: no two halves are the same, and the scalar is zero.
fn order() -> Broken {
    let mut bytes = [0; 64];
    bytes[32..].copy_from_slice(&(-Scalar::ONE).to_bytes());
    bytes[63] += 1;
    Broken(bytes)
}

fn counting(first: u8) -> [u8; 32] {
    core::array::from_fn(|at| first + u8::try_from(at).unwrap())
}

fn refused<T>(work: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_err()
}

#[test]
fn no_key_comes_of_a_generator_that_repeats_itself() {
    for rng in [zeros(), Broken([7; 64]), Broken([255; 64]), order()] {
        assert!(refused(|| SecretKey::random(&mut { rng })), "{:?}", rng.0);
        assert!(refused(|| Scalar::random_nonzero(&mut { rng })), "{:?}", rng.0);
    }
    let mut twice = [0; 64];
    twice[..32].copy_from_slice(&counting(1));
    twice[32..].copy_from_slice(&counting(1));
    assert!(refused(|| SecretKey::random(&mut Broken(twice))));
}

fn elgamal_key(secret: u64) -> elgamal::EncryptionKey {
    let secret = Scalar::from_u64(secret);
    let (y, y_hat) = (G1Affine::generator() * secret, G2Affine::generator() * secret);
    elgamal::EncryptionKey::new(y.into(), y_hat.into()).unwrap()
}

fn elgamal_label(text: &str) -> elgamal::Label {
    elgamal::Label::new(text.as_bytes()).unwrap()
}

#[test]
fn nothing_is_encrypted_to_a_committee_with_a_generator_that_has_failed() {
    let (key, label) = (elgamal_key(5), elgamal_label("label"));
    for rng in [zeros(), Broken([7; 64]), Broken([255; 64]), order()] {
        let verdict = key.encrypt(&label, b"message", &mut { rng });
        let broken = EncryptError::Randomness(ImplausibleRandomness::Periodic);
        assert_eq!(verdict, Err(broken), "{:?}", rng.0);
    }
}

/// `U`, `Ū`, challenge, response and the body of a ciphertext, whose cipher has one nonce for all.
fn values(ciphertext: &elgamal::Ciphertext) -> [Vec<u8>; 5] {
    let bytes = borsh::to_vec(ciphertext).unwrap();
    [0..48, 48..96, 96..128, 128..160, 164..bytes.len()].map(|range| bytes[range].to_vec())
}

/// What the cipher adds to the plaintext.
fn key_stream(ciphertext: &elgamal::Ciphertext, plaintext: &[u8]) -> Vec<u8> {
    let [.., body] = values(ciphertext);
    body.iter().zip(plaintext).map(|(byte, plain)| byte ^ plain).collect()
}

/// With one `r` for two plaintexts, the sum of the bodies is the sum of the plaintexts; with one `s` for
/// two challenges, `z − z' = (c − c')·r` gives `r`.
#[test]
fn one_state_of_the_generator_encrypts_to_a_committee_with_other_secrets_each_time() {
    let state = Broken(array::from_fn(|at| 3 * u8::try_from(at).unwrap()));
    let encrypt = |key: u64, label: &str, plaintext: &[u8]| {
        let made = elgamal_key(key).encrypt(&elgamal_label(label), plaintext, &mut { state });
        let made = made.unwrap();
        assert!(made.clone().validate(&elgamal_key(key), &elgamal_label(label)).is_ok());
        made
    };
    let own = encrypt(5, "slot 7", b"pay Alice 100");
    assert_eq!(encrypt(5, "slot 7", b"pay Alice 100"), own, "the state is one");
    let others: [(u64, &str, &[u8]); 5] = [
        (5, "slot 7", b"pay Carol 100"),
        (5, "slot 7", b"pay Alice 1000"),
        (5, "slot 8", b"pay Alice 100"),
        (5, "slot 7p", b"ay Alice 100"),
        (6, "slot 7", b"pay Alice 100"),
    ];
    let mut made = vec![(own, b"pay Alice 100".as_slice())];
    made.extend(others.map(|(key, label, plaintext)| (encrypt(key, label, plaintext), plaintext)));
    for (at, (one, plaintext)) in made.iter().enumerate() {
        for (other, their_plaintext) in &made[..at] {
            for (mine, theirs) in values(one).iter().zip(&values(other)) {
                assert_ne!(mine, theirs, "{plaintext:?} {their_plaintext:?}");
            }
            let streams = [key_stream(one, plaintext), key_stream(other, their_plaintext)];
            assert_ne!(streams[0][..12], streams[1][..12], "{plaintext:?} {their_plaintext:?}");
            assert_ne!(commitments(one), commitments(other), "{plaintext:?} {their_plaintext:?}");
        }
    }
}

/// `g₁^s`, as everybody computes it: equal for equal `s`.
fn commitments(ciphertext: &elgamal::Ciphertext) -> G1Affine {
    let [u, _, challenge, response, _] = values(ciphertext);
    let scalar = |bytes: &[u8]| Scalar::from_bytes(bytes).unwrap();
    let u = G1Affine::from_bytes(&u).unwrap();
    (G1Affine::generator() * scalar(&response) - u * scalar(&challenge)).to_affine()
}

fn hash(tag: &str, data: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(tag).chain_update(data).finalize().into()
}

/// With σ known, `W ⊕ H₄(σ)` is the message to everybody.
fn opens_to_everybody<V: Variant>(rng: Broken) {
    const ROUND: Domain = Domain::new("test round");
    let key = SecretKey::from_secret_bytes(&Secret::new(counting(1))).unwrap();
    let identity = Identity::<V>::new(ROUND, b"round 8");
    let [one, other] = [[1; 16], [2; 16]].map(|message| {
        let sealed = encrypt(&key.public_key::<V>(), &identity, &message, &mut { rng });
        let opened = sealed.decrypt(&key.sign::<V>(ROUND, b"round 8")).unwrap();
        assert_eq!(opened.expose(), &message);
        let bytes = sealed.to_bytes();
        let guess = hash("IBE-H4", &rng.0[..16]);
        let w = &bytes[bytes.len() - 16..];
        let plain: Vec<u8> = w.iter().zip(guess).map(|(byte, pad)| byte ^ pad).collect();
        assert_ne!(plain, message, "σ is what the generator gave");
        bytes
    });
    let body = |bytes: &[u8]| bytes[bytes.len() - 32..].to_vec();
    let pads = |bytes: &[u8], message: u8| -> Vec<u8> {
        body(bytes)[16..].iter().map(|byte| byte ^ message).collect()
    };
    assert_ne!(pads(&one, 1), pads(&other, 2), "two messages share one σ");
    let elsewhere = Identity::<V>::new(ROUND, b"round 9");
    let moved = encrypt(&key.public_key::<V>(), &elsewhere, &[1; 16], &mut { rng }).to_bytes();
    assert_ne!(body(&one)[16..], body(&moved)[16..], "two rounds share one σ");
}

#[test]
fn a_broken_generator_does_not_open_what_is_encrypted_to_a_round() {
    for rng in [zeros(), Broken([7; 64]), order()] {
        opens_to_everybody::<MinSig>(rng);
        opens_to_everybody::<MinPk>(rng);
    }
}

#[test]
fn seeds_of_implausible_blocks_are_refused() {
    let (one, other, third) = (counting(0), counting(64), counting(128));
    let with =
        |seeds: &mut Seeds, blocks| seeds.next(&Secret::new(blocks)).map(|seed| *seed.expose());
    let mut half = one;
    half.copy_within(..16, 16);
    for block in [[0; 32], [7; 32], [255; 32], half] {
        for blocks in [[block, other], [other, block], [block, block]] {
            let refused = with(&mut Seeds::new(), blocks);
            assert_eq!(refused, Err(ImplausibleRandomness::Periodic), "{block:?}");
        }
    }
    assert_eq!(with(&mut Seeds::new(), [one, one]), Err(ImplausibleRandomness::Repeated));

    // A source that begins again from where it began.
    let mut seeds = Seeds::new();
    let first = with(&mut seeds, [one, other]).unwrap();
    assert_eq!(with(&mut seeds, [one, other]), Err(ImplausibleRandomness::Repeated));
    let second = with(&mut seeds, [other, third]).unwrap();
    assert_ne!(first, second);
    assert!(![one, other, third].contains(&first), "a seed is a hash of both blocks");
}

/// Threads draw from one source at once: no two get the same, and none is told that the source is broken.
#[cfg(feature = "system")]
#[test]
fn generators_of_the_system_differ_whoever_asks() {
    use prefinal_crypto_core::entropy::system;
    use prefinal_crypto_core::rand_core::Rng;

    let first = || std::array::from_fn::<_, 32, _>(|_| system().unwrap().next_u64());
    let threads: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..4).map(|_| scope.spawn(first)).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut all: Vec<u64> = threads.into_iter().flatten().collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 4 * 32);
}
