//! Secret keys, public keys, and the proof that the owner of a public key knows its secret key.
//!
//! See also: `derive` for keys from a seed, and `signature` for the signatures.
use borsh::io::{Read, Result as IoResult, Write};
use borsh::{BorshDeserialize, BorshSerialize};
use rand_core::CryptoRng;

use super::domain::{Domain, Possession};
use super::signature::{Signature, SignatureError, check};
use super::variant::{KeyPoint, SignaturePoint, Variant};
use crate::curve::{Affine, DecodeError, Group, Scalar};
use crate::secret::Secret;
use crate::verified::Verified;

/// A signing key: a scalar that is not zero. It serves both variants. The variant follows from the
/// type of the public key or signature that the caller asks for, or is named in the call, as in
/// `key.public_key::<MinPk>()`. A key of one variant is a [`SigningKey`](super::SigningKey).
///
/// ```
/// use prefinal_crypto_core::bls::{Domain, MinPk, MinSig, SecretKey};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// const VOTE: Domain = Domain::new("example vote");
/// let key = SecretKey::random(&mut rng);
/// let signature = key.sign::<MinSig>(VOTE, b"yes");
/// assert!(signature.verify(&key.public_key(), VOTE, b"yes").is_ok());
/// assert!(signature.verify(&key.public_key(), VOTE, b"no").is_err());
///
/// let stored = key.to_secret_bytes();
/// let again = SecretKey::from_secret_bytes(&stored)?;
/// assert_eq!(again.public_key::<MinPk>(), key.public_key());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SecretKey(Secret<Scalar>);

impl SecretKey {
    /// Draws a fresh key.
    ///
    /// # Panics
    /// If the generator is broken: see [`Scalar::random_nonzero`].
    pub fn random(rng: &mut impl CryptoRng) -> Self {
        Self(Secret::new(Scalar::random_nonzero(rng)))
    }

    /// Reads what [`SecretKey::to_secret_bytes`] wrote.
    ///
    /// # Errors
    /// If the bytes are not a canonical scalar, or zero.
    pub fn from_secret_bytes(bytes: &Secret<[u8; 32]>) -> Result<Self, DecodeError> {
        Self::from_scalar(Secret::new(Scalar::from_bytes(bytes.expose())?))
    }

    /// The key with this scalar.
    ///
    /// # Errors
    /// If the scalar is zero.
    pub fn from_scalar(key: Secret<Scalar>) -> Result<Self, DecodeError> {
        if *key.expose() == Scalar::ZERO { Err(DecodeError::Zero) } else { Ok(Self(key)) }
    }

    /// Wraps a scalar that is already known not to be zero.
    pub(super) const fn from_nonzero(key: Secret<Scalar>) -> Self {
        Self(key)
    }

    /// Access to the secret scalar, as [`Secret::expose`] gives it. The caller must wipe its copies.
    #[must_use]
    pub const fn expose(&self) -> &Scalar {
        self.0.expose()
    }

    /// The key for storage, 32 bytes big-endian.
    #[must_use]
    pub fn to_secret_bytes(&self) -> Secret<[u8; 32]> {
        Secret::new(self.0.expose().to_bytes())
    }

    /// The public key `g^sk` in this variant.
    #[must_use]
    pub fn public_key<V: Variant>(&self) -> PublicKey<V> {
        PublicKey((Affine::generator() * self.0.expose()).into())
    }

    /// Signs a message: `H(m)^sk`. Nothing is added to the message, so chain and epoch must be part
    /// of it.
    #[must_use]
    pub fn sign<V: Variant>(&self, domain: Domain, message: &[u8]) -> Signature<V> {
        self.sign_point(domain.hash::<V>(message))
    }

    /// Proves that the owner of the public key knows the secret key. Only a key with this proof may
    /// enter a sum of keys.
    #[must_use]
    pub fn prove_possession<V: Variant>(&self) -> ProofOfPossession<V> {
        self.prove(Possession::Own)
    }

    /// Like [`SecretKey::prove_possession`], but under the tag of the draft's `PopProve`.
    #[must_use]
    pub fn prove_standard_possession<V: Variant>(&self) -> ProofOfPossession<V> {
        self.prove(Possession::Standard)
    }

    fn prove<V: Variant>(&self, possession: Possession) -> ProofOfPossession<V> {
        let key = self.public_key::<V>().to_bytes();
        ProofOfPossession(self.sign_point(possession.hash::<V>(key.as_ref())))
    }

    fn sign_point<V: Variant>(&self, point: SignaturePoint<V>) -> Signature<V> {
        Signature((point * self.0.expose()).into())
    }
}

/// A public key. It is never the identity.
///
/// A key of one variant cannot be used as a key of the other:
/// ```compile_fail,E0308
/// use prefinal_crypto_core::bls::{min_pk, min_sig};
/// fn mixed(key: min_pk::PublicKey) -> min_sig::PublicKey {
///     key
/// }
/// ```
///
/// ```
/// use prefinal_crypto_core::bls::min_sig::{PublicKey, SecretKey};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// let (alice, bob) = (SecretKey::random(&mut rng), SecretKey::random(&mut rng));
/// let received = PublicKey::from_bytes(&alice.public_key().to_bytes())?;
/// let checked = received.verify_possession(&alice.prove_possession())?;
/// assert_eq!(*checked, alice.public_key());
/// // The proof of one key is no proof for another.
/// assert!(bob.public_key().verify_possession(&alice.prove_possession()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey<V: Variant>(KeyPoint<V>);

impl<V: Variant> PublicKey<V> {
    /// Reads the encoding that [`PublicKey::to_bytes`] writes.
    ///
    /// # Errors
    /// If the bytes are not the canonical encoding of a point in the keys' group, or if the point is
    /// the identity.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::from_point(Affine::from_bytes(bytes)?)
    }

    /// The key at this point.
    ///
    /// # Errors
    /// If the point is the identity.
    pub fn from_point(point: Affine<V::KeyGroup>) -> Result<Self, DecodeError> {
        if point.is_identity() { Err(DecodeError::Identity) } else { Ok(Self(point)) }
    }

    /// The point in the keys' group.
    #[must_use]
    pub const fn point(&self) -> Affine<V::KeyGroup> {
        self.0
    }

    /// The compressed encoding: 96 bytes for `MinSig`, 48 for `MinPk`.
    #[must_use]
    pub fn to_bytes(&self) -> <V::KeyGroup as Group>::Bytes {
        self.0.to_bytes()
    }

    /// Checks the key's proof of possession. The result may be summed with other keys.
    ///
    /// # Errors
    /// If `proof` is not a proof for this key.
    pub fn verify_possession(
        self,
        proof: &ProofOfPossession<V>,
    ) -> Result<Verified<Self>, SignatureError> {
        self.verify(Possession::Own, proof)
    }

    /// Like [`PublicKey::verify_possession`], but under the tag of the draft's `PopVerify`.
    ///
    /// # Errors
    /// If `proof` is not a proof for this key.
    pub fn verify_standard_possession(
        self,
        proof: &ProofOfPossession<V>,
    ) -> Result<Verified<Self>, SignatureError> {
        self.verify(Possession::Standard, proof)
    }

    fn verify(
        self,
        possession: Possession,
        proof: &ProofOfPossession<V>,
    ) -> Result<Verified<Self>, SignatureError> {
        let hash = possession.hash::<V>(self.to_bytes().as_ref());
        check(&proof.0, &[(hash, self.0)])?;
        Ok(Verified::new(self))
    }
}

/// A signature by a key on itself, under a tag that no [`Domain`] can have. It proves that the owner
/// knows the secret key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProofOfPossession<V: Variant>(Signature<V>);

impl<V: Variant> ProofOfPossession<V> {
    /// Reads the encoding that [`ProofOfPossession::to_bytes`] writes.
    ///
    /// # Errors
    /// As for [`Signature::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Signature::from_bytes(bytes).map(Self)
    }

    /// The proof at this point.
    ///
    /// # Errors
    /// If the point is the identity.
    pub fn from_point(point: Affine<V::SignatureGroup>) -> Result<Self, DecodeError> {
        Signature::from_point(point).map(Self)
    }

    /// The point in the signatures' group.
    #[must_use]
    pub const fn point(&self) -> Affine<V::SignatureGroup> {
        self.0.point()
    }

    /// The compressed encoding, in the same form as a signature's.
    #[must_use]
    pub fn to_bytes(&self) -> <V::SignatureGroup as Group>::Bytes {
        self.0.to_bytes()
    }
}

impl<V: Variant> BorshSerialize for ProofOfPossession<V> {
    fn serialize<W: Write>(&self, writer: &mut W) -> IoResult<()> {
        self.0.serialize(writer)
    }
}

impl<V: Variant> BorshDeserialize for ProofOfPossession<V> {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        Signature::deserialize_reader(reader).map(Self)
    }
}

impl<V: Variant> BorshSerialize for PublicKey<V> {
    fn serialize<W: Write>(&self, writer: &mut W) -> IoResult<()> {
        self.0.serialize(writer)
    }
}

impl<V: Variant> BorshDeserialize for PublicKey<V> {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        Ok(Self::from_point(Affine::deserialize_reader(reader)?)?)
    }
}
