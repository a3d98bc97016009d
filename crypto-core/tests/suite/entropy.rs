//! Generators that are broken: nothing waits for them for ever, and no secret comes of them.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crypto_core::bls::{Domain, MinPk, MinSig, SecretKey, Variant};
use crypto_core::curve::{G1Affine, G2Affine, Scalar};
use crypto_core::elgamal;
use crypto_core::entropy::{ImplausibleRandomness, Seeds};
use crypto_core::secret::Secret;
use crypto_core::timelock::{Identity, encrypt};
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

#[test]
fn what_needs_an_ephemeral_key_ends_too() {
    let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(3);
    let base = G1Affine::generator();
    let secret = Scalar::random(&mut rng);
    let (y, y_hat): (G1Affine, _) =
        ((base * secret).into(), (G2Affine::generator() * secret).into());
    let key = elgamal::EncryptionKey::new(y, y_hat).unwrap();
    let label = elgamal::Label::new(b"label").unwrap();
    assert!(refused(|| key.encrypt(&label, b"message", &mut zeros())));
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
