//! Timelock encryption: identity-based encryption that a beacon's signature opens.
//!
//! Anyone with a beacon's public key `P = g^x` can encrypt to a message `m` that the beacon will sign
//! later, for example a round or a slot. The signature `s = H(m)^x` opens the ciphertext once it is
//! published. `g` generates the keys' group, `⊕` is bitwise, and all strings have the length of
//! `msg`:
//!
//! | step    | equation                                                                          |
//! |---------|-----------------------------------------------------------------------------------|
//! | encrypt | `σ` as below, `r = H₃(σ, msg)`, `U = g^r`, `V = σ ⊕ H₂(e(H(m)^r, P))`, `W = msg ⊕ H₄(σ)` |
//! | decrypt | `σ = V ⊕ H₂(e(s, U))`, `msg = W ⊕ H₄(σ)`, refused unless `U = g^H₃(σ, msg)`        |
//!
//! | hash          | definition                                                                  |
//! |---------------|-----------------------------------------------------------------------------|
//! | `H`           | the beacon's own hash to the curve, under the tag of its [`Domain`]         |
//! | `H₂(y)`       | `SHA-256("IBE-H2" ‖ y)`, cut to size                                        |
//! | `H₃(σ, msg)`  | `b = SHA-256("IBE-H3" ‖ σ ‖ msg)`; of `SHA-256(i ‖ b)`, `i = 1, 2, …` as little-endian `u16`, shifted right by one in its first byte, the first that is below the group order |
//! | `H₄(σ)`       | `SHA-256("IBE-H4" ‖ σ)`, cut to size                                        |
//!
//! `y ∈ 𝔾_T` is encoded along its tower `𝔽p¹² ⊃ 𝔽p⁶ ⊃ 𝔽p²`, with the highest coefficient first at
//! every level.
//!
//! After Boneh and Franklin, "Identity-based encryption from the Weil pairing" (2001), the variant
//! secure against chosen ciphertexts by Fujisaki and Okamoto's transformation; The encoding is byte
//! for byte that of drand's tlock (`EncryptCCAonG1` and `EncryptCCAonG2` of its kyber).
//! `e(H(m), P)^r` is computed as `e(H(m)^r, P)`, because multiplication in `𝔾₁` and `𝔾₂` is constant
//! time here.
//!
//! Difference from the paper and from tlock: `σ` is derived from 32 fresh random bytes *and* the
//! beacon's key, `H(m)` and the message, by
//! `SHA-256("PREFINAL-V1-TIMELOCK-SIGMA" ‖ random ‖ P ‖ H(m) ‖ msg)`, cut to size; in tlock it is
//! only random. So if the generator fails, an attacker still has to guess the message, and two
//! messages never share a `σ`. Decryption is the same.
//!
//! Messages have 16 to 32 bytes. `σ` is as long as the message, and a shorter `σ` could be guessed.
//! To encrypt more, encrypt the data under a random key, and encrypt that key to the round.
//!
//! **Messages must not be signed early.** Anyone who can make the beacon sign `m` now can open the
//! ciphertext now. So the beacon's key must sign nothing but rounds.
//!
//! See also: [`crate::drand`] for drand's rounds and schemes. The age file format is in the crate
//! `timelock`.
use alloc::vec::Vec;
use core::fmt;

use borsh::io::{Read, Result as IoResult};
use borsh::{BorshDeserialize, BorshSerialize};
use rand_core::CryptoRng;
use sha2::{Digest, Sha256};
use zeroize::Zeroize;

use crate::bls::{Domain, KeyPoint, PublicKey, Signature, SignaturePoint, Variant};
use crate::curve::hazmat::{Gt, MillerLoop};
use crate::curve::{Affine, DecodeError, Scalar};
use crate::secret::Secret;

/// The tag of the hash from which `σ` is derived.
const SIGMA: &[u8] = b"PREFINAL-V1-TIMELOCK-SIGMA";
/// Length of the shortest message in bytes. A shorter `σ` could be guessed.
const MIN: usize = 16;
/// Length of the longest message in bytes, because a hash has no more bytes.
const MAX: usize = 32;

/// The identity that a ciphertext is encrypted to: `H(m)` of a message that the beacon will sign.
///
/// ```
/// use prefinal_crypto_core::bls::{Domain, MinSig, SecretKey};
/// use prefinal_crypto_core::timelock::{Identity, encrypt};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
///
/// const ROUND: Domain = Domain::new("example round");
/// let beacon = SecretKey::random(&mut rng);
/// let tomorrow = Identity::<MinSig>::new(ROUND, b"round 8");
/// let ciphertext = encrypt(&beacon.public_key(), &tomorrow, &[7; 16], &mut rng);
///
/// let signature = beacon.sign::<MinSig>(ROUND, b"round 8");
/// assert_eq!(ciphertext.decrypt(&signature).unwrap().expose(), &[7; 16]);
/// let another = beacon.sign::<MinSig>(ROUND, b"round 7");
/// assert!(ciphertext.decrypt(&another).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<V: Variant>(SignaturePoint<V>);

impl<V: Variant> Identity<V> {
    /// The identity for the message that the beacon will sign, and the domain under which it signs.
    #[must_use]
    pub fn new(domain: Domain, message: &[u8]) -> Self {
        Self(domain.hash::<V>(message))
    }
}

/// The ciphertext does not open with this signature: it is for another round or chain, the signature
/// is wrong, or the ciphertext was altered. The error does not say which of these is the case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ciphertext does not open with this signature")]
pub struct DecryptError;

impl DecryptError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "cannot-decrypt"
    }
}

/// A ciphertext `U ‖ V ‖ W` of a message of `N` bytes. `U` is never the identity.
///
/// `N` must be from 16 to 32:
/// ```compile_fail,E0080
/// use prefinal_crypto_core::bls::{MinSig, PublicKey};
/// use prefinal_crypto_core::timelock::{Identity, encrypt};
/// fn short(key: &PublicKey<MinSig>, round: &Identity<MinSig>, rng: &mut rand_chacha::ChaCha20Rng) {
///     encrypt(key, round, &[7; 8], rng);
/// }
/// # fn main() {
/// #     let key = PublicKey::from_bytes(&[]).unwrap();
/// #     let round = Identity::new(prefinal_crypto_core::bls::Domain::BASIC, b"");
/// #     short(&key, &round, &mut rand_core::SeedableRng::seed_from_u64(1));
/// # }
/// ```
///
/// A file or a message carries the bytes; [`Identity`] shows how to open them:
/// ```
/// use prefinal_crypto_core::bls::{Domain, MinSig, SecretKey};
/// use prefinal_crypto_core::timelock::{Ciphertext, Identity, encrypt};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// let beacon = SecretKey::random(&mut rng).public_key();
/// let round = Identity::<MinSig>::new(Domain::new("example round"), b"round 8");
/// let ciphertext = encrypt(&beacon, &round, &[7; 16], &mut rng);
/// let bytes = ciphertext.to_bytes();
/// assert_eq!(bytes.len(), 96 + 16 + 16);
/// assert!(Ciphertext::<MinSig, 16>::from_bytes(&bytes)? == ciphertext);
/// assert!(Ciphertext::<MinSig, 32>::from_bytes(&bytes).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ciphertext<V: Variant, const N: usize> {
    u: KeyPoint<V>,
    v: [u8; N],
    w: [u8; N],
}

/// Encrypts `N` bytes, 16 to 32, to the signature that `key` will give on `identity`. Costs one
/// multiplication in each group and a pairing. With blst it is constant time, except for the number
/// of tries of `H₃`, which depends only on chance. With arkworks the pairing is not constant time.
///
/// See the example at [`Identity`].
pub fn encrypt<V: Variant, const N: usize>(
    key: &PublicKey<V>,
    identity: &Identity<V>,
    message: &[u8; N],
    rng: &mut impl CryptoRng,
) -> Ciphertext<V, N> {
    const { assert!(MIN <= N && N <= MAX, "16 to 32 bytes") };
    let mut fresh = [0; 32];
    rng.fill_bytes(&mut fresh);
    let Ciphertext { u, v, w } = seal(key, identity, message, &Secret::new(fresh));
    Ciphertext { u, v: cut(&v), w: cut(&w) }
}

impl<V: Variant, const N: usize> Ciphertext<V, N> {
    /// Opens the ciphertext with the signature of its round. Costs a pairing, and a multiplication in
    /// the keys' group. The signature need not be verified before.
    ///
    /// # Errors
    /// If the ciphertext does not open with this signature.
    pub fn decrypt(&self, signature: &Signature<V>) -> Result<Secret<[u8; N]>, DecryptError> {
        const { assert!(MIN <= N && N <= MAX, "16 to 32 bytes") };
        let opened = open(&self.u, &self.v, &self.w, signature)?;
        Ok(Secret::new(cut(opened.expose())))
    }

    /// The encoding `U ‖ V ‖ W`. If `N` is 16, it is the body of drand's age stanza.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        [self.u.to_bytes().as_ref(), &self.v, &self.w].concat()
    }

    /// Reads what [`Ciphertext::to_bytes`] wrote.
    ///
    /// # Errors
    /// If the length is wrong, if `U` is not the canonical encoding of a point in the keys' group, or
    /// if it is the identity.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let wrong = || {
            let expected = Affine::<V::KeyGroup>::identity().to_bytes().as_ref().len() + 2 * N;
            DecodeError::Length { expected, got: bytes.len() }
        };
        let (rest, w) = bytes.split_last_chunk().ok_or_else(wrong)?;
        let (u, v) = rest.split_last_chunk().ok_or_else(wrong)?;
        let u = match Affine::from_bytes(u) {
            Err(DecodeError::Length { .. }) => return Err(wrong()),
            point => point?,
        };
        if u.is_identity() { Err(DecodeError::Identity) } else { Ok(Self { u, v: *v, w: *w }) }
    }
}

/// Encrypts up to [`MAX`] bytes. Bytes after the message's length have no meaning. All lengths share
/// this one function, to keep the code small that a browser loads.
fn seal<V: Variant>(
    key: &PublicKey<V>,
    identity: &Identity<V>,
    message: &[u8],
    fresh: &Secret<[u8; 32]>,
) -> Ciphertext<V, MAX> {
    let (to, round) = (key.to_bytes(), identity.0.to_bytes());
    let digest = hash(SIGMA, &[fresh.expose(), to.as_ref(), round.as_ref(), message]);
    let sigma = first(digest.expose(), message.len());
    let r = certain(exponent(sigma, message));
    let power = Secret::new((identity.0 * r.expose()).to_affine());
    Ciphertext {
        u: (Affine::generator() * r.expose()).to_affine(),
        v: xor(sigma, pad::<V>(power.expose(), &key.point()).expose()),
        w: xor(message, hash(b"IBE-H4", &[sigma]).expose()),
    }
}

/// Opens the result of [`seal`], cut to the message's length.
fn open<V: Variant>(
    u: &KeyPoint<V>,
    v: &[u8],
    w: &[u8],
    signature: &Signature<V>,
) -> Result<Secret<[u8; MAX]>, DecryptError> {
    let pads = Secret::new(xor(v, pad::<V>(&signature.point(), u).expose()));
    let sigma = first(pads.expose(), v.len());
    let message = Secret::new(xor(w, hash(b"IBE-H4", &[sigma]).expose()));
    let r = exponent(sigma, first(message.expose(), w.len())).ok_or(DecryptError)?;
    if (Affine::generator() * r.expose()).to_affine() == *u {
        Ok(message)
    } else {
        Err(DecryptError)
    }
}

fn first(bytes: &[u8; MAX], length: usize) -> &[u8] {
    bytes.get(..length).unwrap_or(bytes)
}

fn cut<const N: usize>(bytes: &[u8; MAX]) -> [u8; N] {
    let mut cut = [0; N];
    cut.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    cut
}

/// `H₃`. `None` if no try is below the group order, which happens once in `2^(65534·3.4)`.
fn exponent(sigma: &[u8], message: &[u8]) -> Option<Secret<Scalar>> {
    let seed = hash(b"IBE-H3", &[sigma, message]);
    (1..u16::MAX).find_map(|count| {
        let digest = Sha256::new().chain_update(count.to_le_bytes()).chain_update(seed.expose());
        let mut digest: [u8; 32] = digest.finalize().into();
        digest[0] >>= 1;
        let exponent = Scalar::from_bytes(&digest).ok().map(Secret::new);
        digest.zeroize();
        exponent
    })
}

/// The exponent always exists in practice: `σ` is a hash, so nobody can choose it so that all tries
/// fail.
fn certain(exponent: Option<Secret<Scalar>>) -> Secret<Scalar> {
    exponent.unwrap_or_else(|| unreachable!("65 534 tries are enough"))
}

/// `H₂(e(·, ·))` with the points in the order that the pairing takes.
fn pad<V: Variant>(signature: &SignaturePoint<V>, key: &KeyPoint<V>) -> Secret<[u8; 32]> {
    let product = Secret::new(MillerLoop::from_terms([V::pair(*signature, *key)]));
    let value = Secret::new(product.expose().final_exponentiation());
    let bytes = Secret::new(tower(value.expose()));
    hash(b"IBE-H2", &[bytes.expose()])
}

/// The encoding of `y = Σₖ yₖ·wᵏ`: the `yₖ ∈ 𝔽p²` in the order `k = 5, 3, 1, 4, 2, 0`, each with the
/// coefficient of `u` first. With `v = w²`, these are the coefficients over `𝔽p⁶ = 𝔽p²[v]` and
/// `𝔽p⁶[w]` from the highest to the lowest.
fn tower(value: &Gt) -> Vec<u8> {
    let flat = Secret::new(value.to_bytes());
    let mut bytes = Vec::with_capacity(Gt::BYTES);
    for k in [5, 3, 1, 4, 2, 0] {
        let halves = flat.expose().chunks_exact(Gt::BYTES / 12).skip(2 * k).take(2);
        halves.rev().for_each(|half| bytes.extend_from_slice(half));
    }
    bytes
}

fn hash(tag: &[u8], parts: &[&[u8]]) -> Secret<[u8; 32]> {
    let hash = Sha256::new().chain_update(tag);
    Secret::new(parts.iter().fold(hash, |hash, part| hash.chain_update(part)).finalize().into())
}

/// The bitwise sum over as many bytes as the left side has. The rest is zero.
fn xor(left: &[u8], right: &[u8; MAX]) -> [u8; MAX] {
    let mut sum = [0; MAX];
    for (byte, (one, other)) in sum.iter_mut().zip(left.iter().zip(right)) {
        *byte = one ^ other;
    }
    sum
}

impl<V: Variant, const N: usize> fmt::Debug for Ciphertext<V, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ciphertext").finish_non_exhaustive()
    }
}

impl<V: Variant, const N: usize> BorshSerialize for Ciphertext<V, N> {
    fn serialize<W: borsh::io::Write>(&self, writer: &mut W) -> IoResult<()> {
        writer.write_all(&self.to_bytes())
    }
}

impl<V: Variant, const N: usize> BorshDeserialize for Ciphertext<V, N> {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        let u = Affine::deserialize_reader(reader)?;
        if u.is_identity() {
            return Err(DecodeError::Identity.into());
        }
        let (v, w) = BorshDeserialize::deserialize_reader(reader)?;
        Ok(Self { u, v, w })
    }
}
