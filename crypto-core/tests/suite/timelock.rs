//! Encrypting to a round: against drand's own code, and what must not open.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

use prefinal_crypto_core::bls::{Domain, MinPk, MinSig, PublicKey, SecretKey, Signature, Variant};
use prefinal_crypto_core::curve::{Affine, DecodeError, Scalar};
use prefinal_crypto_core::timelock::{Ciphertext, DecryptError, Identity, encrypt};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use serde::Deserialize;

const ROUND: Domain = Domain::new("test round");
const MESSAGE: &[u8; 16] = b"sixteen bytes!!!";

fn rng(seed: u64) -> ChaCha20Rng {
    println!("seed {seed}");
    ChaCha20Rng::seed_from_u64(seed)
}

#[derive(Deserialize)]
struct Vector {
    scheme: String,
    public_key: String,
    identity: String,
    signature: String,
    message: String,
    ciphertext: String,
}

impl Vector {
    /// What drand's code encrypted opens here, and so does what is encrypted here.
    fn check<V: Variant, const N: usize>(&self, domain: Domain, rng: &mut ChaCha20Rng) {
        let decode = |text: &str| hex::decode(text).unwrap();
        let key = PublicKey::<V>::from_bytes(&decode(&self.public_key)).unwrap();
        let message = decode(&self.identity);
        let signature = Signature::<V>::from_bytes(&decode(&self.signature)).unwrap();
        assert_eq!(signature.verify(&key, domain, &message), Ok(()));

        let expected = <[u8; N]>::try_from(decode(&self.message)).unwrap();
        let bytes = decode(&self.ciphertext);
        let ciphertext = Ciphertext::<V, N>::from_bytes(&bytes).unwrap();
        assert_eq!(ciphertext.to_bytes(), bytes);
        assert_eq!(ciphertext.decrypt(&signature).unwrap().expose(), &expected);

        let again = encrypt(&key, &Identity::new(domain, &message), &expected, rng);
        assert_eq!(again.decrypt(&signature).unwrap().expose(), &expected);
        assert_ne!(again, ciphertext);
    }

    fn check_any_size<V: Variant>(&self, domain: Domain, rng: &mut ChaCha20Rng) {
        match self.message.len() / 2 {
            16 => self.check::<V, 16>(domain, rng),
            24 => self.check::<V, 24>(domain, rng),
            32 => self.check::<V, 32>(domain, rng),
            other => panic!("no vector has {other} bytes"),
        }
    }
}

#[test] // vectors come from drand's own modules, see tests/vectors/README.md
fn what_drand_encrypts_opens_here() {
    let vectors: Vec<Vector> =
        serde_json::from_str(include_str!("../vectors/timelock.json")).unwrap();
    let mut rng = rng(1);
    let mut schemes = std::collections::BTreeMap::new();
    for vector in &vectors {
        *schemes.entry(vector.scheme.as_str()).or_insert(0) += 1;
        match vector.scheme.as_str() {
            "bls-unchained-g1-rfc9380" => vector.check_any_size::<MinSig>(Domain::BASIC, &mut rng),
            "bls-unchained-on-g1" => {
                vector.check_any_size::<MinSig>(Domain::BASIC_NAMING_G2, &mut rng);
            }
            "pedersen-bls-unchained" => vector.check_any_size::<MinPk>(Domain::BASIC, &mut rng),
            other => panic!("{other} is not a scheme of drand's"),
        }
    }
    let counts: Vec<i32> = schemes.into_values().collect();
    assert_eq!(counts, [20, 12, 12]);
}

struct Beacon<V: Variant> {
    secret: SecretKey,
    key: PublicKey<V>,
}

impl<V: Variant> Beacon<V> {
    fn new(rng: &mut ChaCha20Rng) -> Self {
        let secret = SecretKey::random(rng);
        let key = secret.public_key();
        Self { secret, key }
    }

    fn encrypt(&self, rng: &mut ChaCha20Rng) -> Ciphertext<V, 16> {
        encrypt(&self.key, &Identity::new(ROUND, b"7"), MESSAGE, rng)
    }
}

fn only_the_rounds_signature_opens<V: Variant>() {
    let mut rng = rng(2);
    let (beacon, other) = (Beacon::<V>::new(&mut rng), Beacon::<V>::new(&mut rng));
    let ciphertext = beacon.encrypt(&mut rng);
    let right: Signature<V> = beacon.secret.sign(ROUND, b"7");
    assert_eq!(ciphertext.decrypt(&right).unwrap().expose(), MESSAGE);
    let wrong = [
        beacon.secret.sign(ROUND, b"8"),
        beacon.secret.sign(ROUND, b""),
        beacon.secret.sign(Domain::new("test round 2"), b"7"),
        beacon.secret.sign(Domain::BASIC, b"7"),
        other.secret.sign(ROUND, b"7"),
        prefinal_crypto_core::bls::aggregate([&right, &right]).unwrap(),
    ];
    for (at, signature) in wrong.iter().enumerate() {
        assert_eq!(ciphertext.decrypt(signature).unwrap_err(), DecryptError, "{at}");
    }
}

#[test]
fn only_the_rounds_signature_opens_with_small_signatures() {
    only_the_rounds_signature_opens::<MinSig>();
}

#[test]
fn only_the_rounds_signature_opens_with_small_keys() {
    only_the_rounds_signature_opens::<MinPk>();
}

/// Without the check of `U`, every change but that of a whole part would go unnoticed.
fn no_bit_may_change<V: Variant>() {
    let mut rng = rng(3);
    let beacon = Beacon::<V>::new(&mut rng);
    let signature: Signature<V> = beacon.secret.sign(ROUND, b"7");
    let (one, two) = (beacon.encrypt(&mut rng), beacon.encrypt(&mut rng));
    let bytes = one.to_bytes();
    let opens = |bytes: &[u8]| match Ciphertext::<V, 16>::from_bytes(bytes) {
        Ok(ciphertext) => ciphertext.decrypt(&signature).map(|_| ()),
        Err(_) => Err(DecryptError),
    };
    assert_eq!(opens(&bytes), Ok(()));
    let body = bytes.len() - 32;
    for bit in (8 * body..8 * bytes.len()).step_by(5) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(opens(&flipped), Err(DecryptError), "bit {bit}");
    }
    let (start, middle) = (body, body + 16);
    let other = two.to_bytes();
    for (at, part) in [0..start, start..middle, middle..bytes.len()].into_iter().enumerate() {
        let mut mixed = bytes.clone();
        mixed[part.clone()].copy_from_slice(&other[part]);
        assert_eq!(opens(&mixed), Err(DecryptError), "part {at}");
    }
    // U = U₁·g fits V and W but for the check.
    let point = Affine::<V::KeyGroup>::from_bytes(&bytes[..body]).unwrap();
    let moved = (point + Affine::generator()).to_affine();
    assert_eq!(opens(&[moved.to_bytes().as_ref(), &bytes[body..]].concat()), Err(DecryptError));
    let negative = (point * -Scalar::ONE).to_affine();
    assert_eq!(opens(&[negative.to_bytes().as_ref(), &bytes[body..]].concat()), Err(DecryptError));
}

#[test]
fn no_bit_may_change_with_small_signatures() {
    no_bit_may_change::<MinSig>();
}

#[test]
fn no_bit_may_change_with_small_keys() {
    no_bit_may_change::<MinPk>();
}

fn encodings_are_exact<V: Variant>() {
    let mut rng = rng(4);
    let ciphertext = Beacon::<V>::new(&mut rng).encrypt(&mut rng);
    let bytes = ciphertext.to_bytes();
    let expected = bytes.len();
    assert_eq!(Ciphertext::from_bytes(&bytes), Ok(ciphertext));
    assert_eq!(borsh::to_vec(&ciphertext).unwrap(), bytes);
    assert_eq!(borsh::from_slice::<Ciphertext<V, 16>>(&bytes).unwrap(), ciphertext);
    for got in [0, 15, 31, 32, 47, expected - 1] {
        let verdict = Ciphertext::<V, 16>::from_bytes(&bytes[..got]);
        assert_eq!(verdict, Err(DecodeError::Length { expected, got }));
        assert!(borsh::from_slice::<Ciphertext<V, 16>>(&bytes[..got]).is_err());
    }
    let long = [bytes.as_slice(), &[0]].concat();
    let verdict = Ciphertext::<V, 16>::from_bytes(&long);
    assert_eq!(verdict, Err(DecodeError::Length { expected, got: expected + 1 }));
    assert!(borsh::from_slice::<Ciphertext<V, 16>>(&long).is_err());
    let identity = Affine::<V::KeyGroup>::identity().to_bytes();
    let empty = [identity.as_ref(), &bytes[expected - 32..]].concat();
    assert_eq!(Ciphertext::<V, 16>::from_bytes(&empty), Err(DecodeError::Identity));
    assert!(borsh::from_slice::<Ciphertext<V, 16>>(&empty).is_err());
}

#[test]
fn encodings_are_exact_in_either_variant() {
    encodings_are_exact::<MinSig>();
    encodings_are_exact::<MinPk>();
}

#[test]
fn nothing_of_a_ciphertext_repeats_and_the_message_is_not_printed() {
    let mut rng = rng(5);
    let beacon = Beacon::<MinSig>::new(&mut rng);
    let (one, two) = (beacon.encrypt(&mut rng).to_bytes(), beacon.encrypt(&mut rng).to_bytes());
    for part in [0..96, 96..112, 112..128] {
        assert_ne!(one[part.clone()], two[part]);
    }
    let signature: Signature<MinSig> = beacon.secret.sign(ROUND, b"7");
    let opened = beacon.encrypt(&mut rng).decrypt(&signature).unwrap();
    assert_eq!(format!("{opened:?}"), "Secret(..)");
}
