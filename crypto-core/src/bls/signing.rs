//! A secret key that signs in one variant, so that no call has to say which.
use core::marker::PhantomData;

use rand_core::CryptoRng;
use zeroize::Zeroize;

use super::derive::{KeyPath, SeedError};
use super::domain::Domain;
use super::keys::{ProofOfPossession, PublicKey, SecretKey};
use super::signature::Signature;
use super::variant::Variant;
use crate::curve::{DecodeError, Scalar};
use crate::secret::Secret;

/// A [`SecretKey`] of one variant: `min_sig::SecretKey` or `min_pk::SecretKey`. It fixes the type of the
/// public key and of the signatures.
///
/// ```
/// use prefinal_crypto_core::bls::min_sig::{Domain, SecretKey};
/// # use rand_core::SeedableRng;
/// # let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
/// let signer = SecretKey::random(&mut rng);
/// assert_eq!(signer.public_key().to_bytes().len(), 96);
/// let signature = signer.sign(Domain::new("example"), b"message");
/// assert_eq!(signature.to_string().len(), 2 * 48);
/// ```
#[derive(Debug)]
pub struct SigningKey<V: Variant> {
    key: SecretKey,
    variant: PhantomData<V>,
}

impl<V: Variant> SigningKey<V> {
    /// Smallest length of a seed in bytes.
    pub const MIN_SEED: usize = SecretKey::MIN_SEED;

    /// Draws a fresh key.
    ///
    /// # Panics
    /// If the generator is broken: see [`Scalar::random_nonzero`].
    pub fn random(rng: &mut impl CryptoRng) -> Self {
        SecretKey::random(rng).into()
    }

    /// Reads what [`SigningKey::to_secret_bytes`] wrote.
    ///
    /// # Errors
    /// If the bytes are not a canonical scalar, or zero.
    pub fn from_secret_bytes(bytes: &Secret<[u8; 32]>) -> Result<Self, DecodeError> {
        SecretKey::from_secret_bytes(bytes).map(Self::from)
    }

    /// The key for storage, 32 bytes big-endian.
    #[must_use]
    pub fn to_secret_bytes(&self) -> Secret<[u8; 32]> {
        self.key.to_secret_bytes()
    }

    /// Like [`SecretKey::from_scalar`].
    ///
    /// # Errors
    /// If the scalar is zero.
    pub fn from_scalar(key: Secret<Scalar>) -> Result<Self, DecodeError> {
        SecretKey::from_scalar(key).map(Self::from)
    }

    /// Access to the secret scalar.
    #[must_use]
    pub const fn expose(&self) -> &Scalar {
        self.key.expose()
    }

    /// The same key without a variant.
    #[must_use]
    pub const fn of_any_variant(&self) -> &SecretKey {
        &self.key
    }

    /// Like [`SecretKey::derive_master`].
    ///
    /// # Errors
    /// If the seed is shorter than [`SigningKey::MIN_SEED`].
    pub fn derive_master<S: AsRef<[u8]> + Zeroize>(seed: &Secret<S>) -> Result<Self, SeedError> {
        SecretKey::derive_master(seed).map(Self::from)
    }

    /// The child key of this index by EIP-2333, as [`SecretKey::derive_child`] derives it.
    #[must_use]
    pub fn derive_child(&self, index: u32) -> Self {
        self.key.derive_child(index).into()
    }

    /// The key at this path below this key, as [`SecretKey::derive_path`] derives it.
    #[must_use]
    pub fn derive_path(&self, path: &KeyPath) -> Self {
        self.key.derive_path(path).into()
    }

    /// The public key `g^sk`.
    #[must_use]
    pub fn public_key(&self) -> PublicKey<V> {
        self.key.public_key()
    }

    /// Signs a message: `H(m)^sk`. Nothing is added to the message, so chain and epoch must be part
    /// of it.
    #[must_use]
    pub fn sign(&self, domain: Domain, message: &[u8]) -> Signature<V> {
        self.key.sign(domain, message)
    }

    /// Proves that the owner of the public key knows the secret key. Only a key with this proof may
    /// enter a sum of keys.
    #[must_use]
    pub fn prove_possession(&self) -> ProofOfPossession<V> {
        self.key.prove_possession()
    }

    /// Like [`SigningKey::prove_possession`], but under the tag of the draft's `PopProve`.
    #[must_use]
    pub fn prove_standard_possession(&self) -> ProofOfPossession<V> {
        self.key.prove_standard_possession()
    }
}

impl<V: Variant> From<SecretKey> for SigningKey<V> {
    fn from(key: SecretKey) -> Self {
        Self { key, variant: PhantomData }
    }
}

impl SecretKey {
    /// The same key in one variant, for functions that ask for that. A second copy in memory, wiped like
    /// the first.
    #[must_use]
    pub fn of_one_variant<V: Variant>(&self) -> SigningKey<V> {
        Self::from_nonzero(Secret::new(*self.expose())).into()
    }
}
