//! Signatures, sums of signatures, and the one equation that checks both.
use alloc::vec::Vec;

use borsh::io::{Read, Result as IoResult, Write};
use borsh::{BorshDeserialize, BorshSerialize};

use super::domain::Domain;
use super::keys::PublicKey;
use super::variant::{KeyPoint, SignaturePoint, Variant};
use crate::curve::hazmat::check_pairing_product;
use crate::curve::{Affine, DecodeError, Group, Projective};
use crate::verified::Verified;

/// Why a signature is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// There are no signers, keys or claims.
    #[error("no signers")]
    NoSigners,
    /// The keys sum to the identity. Under that key, the identity would be a valid signature on
    /// everything.
    #[error("the signers' keys cancel each other")]
    KeysCancel,
    /// The signatures sum to the identity, which is not accepted as a signature.
    #[error("the signatures cancel each other")]
    SignaturesCancel,
    /// The pairing equation does not hold.
    #[error("signature does not match keys and message")]
    Mismatch,
}

impl SignatureError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoSigners => "no-signers",
            Self::KeysCancel => "keys-cancel",
            Self::SignaturesCancel => "signatures-cancel",
            Self::Mismatch => "signature-mismatch",
        }
    }
}

/// A signature, or the sum of several signatures. It is never the identity.
///
/// ```
/// use prefinal_crypto_core::bls::min_sig::{Domain, SecretKey, Signature};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// const VOTE: Domain = Domain::new("example vote");
/// let key = SecretKey::random(&mut rng);
/// let signature = key.sign(VOTE, b"yes");
/// let from_bytes = Signature::from_bytes(&signature.to_bytes())?;
/// let from_text: Signature = signature.to_string().parse()?;
/// assert_eq!(from_bytes, from_text);
/// assert!(from_bytes.verify(&key.public_key(), VOTE, b"yes").is_ok());
/// assert!(from_bytes.verify(&key.public_key(), Domain::new("another purpose"), b"yes").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature<V: Variant>(pub(super) SignaturePoint<V>);

impl<V: Variant> Signature<V> {
    /// Reads the encoding that [`Signature::to_bytes`] writes.
    ///
    /// # Errors
    /// If the bytes are not the canonical encoding of a point in the signatures' group, or if the
    /// point is the identity.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::from_point(Affine::from_bytes(bytes)?)
    }

    /// The signature at this point.
    ///
    /// # Errors
    /// If the point is the identity.
    pub fn from_point(point: Affine<V::SignatureGroup>) -> Result<Self, DecodeError> {
        if point.is_identity() { Err(DecodeError::Identity) } else { Ok(Self(point)) }
    }

    /// Wraps a sum that the caller knows not to be the identity.
    pub(crate) const fn from_sum(point: SignaturePoint<V>) -> Self {
        Self(point)
    }

    /// The point in the signatures' group.
    #[must_use]
    pub const fn point(&self) -> Affine<V::SignatureGroup> {
        self.0
    }

    /// The compressed encoding: 48 bytes for `MinSig`, 96 for `MinPk`.
    #[must_use]
    pub fn to_bytes(&self) -> <V::SignatureGroup as Group>::Bytes {
        self.0.to_bytes()
    }

    /// Checks the signature of one party. Costs two pairings.
    ///
    /// # Errors
    /// If it is not `key`'s signature on `message` under `domain`.
    pub fn verify(
        &self,
        key: &PublicKey<V>,
        domain: Domain,
        message: &[u8],
    ) -> Result<(), SignatureError> {
        check(self, &[(domain.hash::<V>(message), key.point())])
    }
}

/// The sum of keys whose owners all signed one message. A key without a verified proof of possession
/// is not accepted:
///
/// ```compile_fail,E0271
/// use prefinal_crypto_core::bls::min_sig::{AggregateKey, PublicKey};
/// fn rogue(keys: &[PublicKey]) {
///     let _ = AggregateKey::sum(keys);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregateKey<V: Variant>(KeyPoint<V>);

impl<V: Variant> AggregateKey<V> {
    /// Adds keys up. A key that is given twice counts twice.
    ///
    /// # Errors
    /// If there are no keys, or if they sum to the identity.
    pub fn sum<'a>(
        keys: impl IntoIterator<Item = &'a Verified<PublicKey<V>>>,
    ) -> Result<Self, SignatureError> {
        let mut keys = keys.into_iter().map(|key| key.get().point()).peekable();
        if keys.peek().is_none() {
            return Err(SignatureError::NoSigners);
        }
        Self::from_point(keys.sum::<Projective<V::KeyGroup>>().to_affine())
    }

    /// Wraps a sum of verified keys.
    pub(crate) fn from_point(sum: KeyPoint<V>) -> Result<Self, SignatureError> {
        if sum.is_identity() { Err(SignatureError::KeysCancel) } else { Ok(Self(sum)) }
    }
}

/// One message and the sum of its signers' keys, as part of an aggregate signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim<'a, V: Variant> {
    /// Sum of the signers' keys.
    pub signers: AggregateKey<V>,
    /// The message that all of them signed.
    pub message: &'a [u8],
}

/// Adds signatures up. The signatures are not checked; verify the sum.
///
/// See [`verify_multi`] for signatures on one message and [`verify_aggregate`] for several messages.
///
/// # Errors
/// If there are no signatures, or if they sum to the identity.
pub fn aggregate<'a, V: Variant>(
    signatures: impl IntoIterator<Item = &'a Signature<V>>,
) -> Result<Signature<V>, SignatureError> {
    let mut points = signatures.into_iter().map(Signature::point).peekable();
    if points.peek().is_none() {
        return Err(SignatureError::NoSigners);
    }
    let sum = points.sum::<Projective<V::SignatureGroup>>().to_affine();
    Signature::from_point(sum).map_err(|_| SignatureError::SignaturesCancel)
}

/// Checks the sum of the signatures of all `keys` on one message: the draft's `FastAggregateVerify`.
/// Costs two pairings, and one addition for each key.
///
/// ```
/// use prefinal_crypto_core::bls::min_sig::{Domain, SecretKey, aggregate, verify_multi};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// const VOTE: Domain = Domain::new("example vote");
/// let signers = [SecretKey::random(&mut rng), SecretKey::random(&mut rng)];
/// let mut keys = Vec::new();
/// for signer in &signers {
///     keys.push(signer.public_key().verify_possession(&signer.prove_possession())?);
/// }
/// let sum = aggregate(&signers.each_ref().map(|signer| signer.sign(VOTE, b"block 7")))?;
/// assert!(verify_multi(&keys, VOTE, b"block 7", &sum).is_ok());
/// assert!(verify_multi(&keys[..1], VOTE, b"block 7", &sum).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If there are no keys, if they sum to the identity, or if the signature does not match them.
pub fn verify_multi<'a, V: Variant>(
    keys: impl IntoIterator<Item = &'a Verified<PublicKey<V>>>,
    domain: Domain,
    message: &[u8],
    signature: &Signature<V>,
) -> Result<(), SignatureError> {
    let signers = AggregateKey::sum(keys)?;
    verify_aggregate(&[Claim { signers, message }], domain, signature)
}

/// Checks a sum of signatures on several messages: the draft's `AggregateVerify`. Messages may
/// repeat. Costs one pairing for each claim, plus one.
///
/// ```
/// use prefinal_crypto_core::bls::min_sig::{AggregateKey, Claim, Domain, SecretKey};
/// use prefinal_crypto_core::bls::min_sig::{aggregate, verify_aggregate};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// const VOTE: Domain = Domain::new("example vote");
/// let messages: [&[u8]; 2] = [b"timeout, highest block 6", b"timeout, highest block 7"];
/// let (mut claims, mut signatures) = (Vec::new(), Vec::new());
/// for message in messages {
///     let signer = SecretKey::random(&mut rng);
///     let key = signer.public_key().verify_possession(&signer.prove_possession())?;
///     claims.push(Claim { signers: AggregateKey::sum([&key])?, message });
///     signatures.push(signer.sign(VOTE, message));
/// }
/// let sum = aggregate(&signatures)?;
/// assert!(verify_aggregate(&claims, VOTE, &sum).is_ok());
/// assert!(verify_aggregate(&claims[..1], VOTE, &sum).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If there are no claims, or if the signature does not match them.
pub fn verify_aggregate<V: Variant>(
    claims: &[Claim<'_, V>],
    domain: Domain,
    signature: &Signature<V>,
) -> Result<(), SignatureError> {
    let terms: Vec<_> =
        claims.iter().map(|claim| (domain.hash::<V>(claim.message), claim.signers.0)).collect();
    check(signature, &terms)
}

/// `e(σ, g) = ∏ e(Hₖ, pkₖ)`
pub(crate) fn check<V: Variant>(
    signature: &Signature<V>,
    terms: &[(SignaturePoint<V>, KeyPoint<V>)],
) -> Result<(), SignatureError> {
    if terms.is_empty() {
        return Err(SignatureError::NoSigners);
    }
    let own = (signature.0, -Affine::generator());
    let pairs = terms.iter().copied().chain([own]).map(|(hash, key)| V::pair(hash, key));
    check_pairing_product(pairs).map_err(|_| SignatureError::Mismatch)
}

impl<V: Variant> BorshSerialize for Signature<V> {
    fn serialize<W: Write>(&self, writer: &mut W) -> IoResult<()> {
        self.0.serialize(writer)
    }
}

impl<V: Variant> BorshDeserialize for Signature<V> {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        Ok(Self::from_point(Affine::deserialize_reader(reader)?)?)
    }
}
