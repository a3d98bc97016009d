//! BLS multi-signatures on BLS12-381, signatures in 𝔾₁ (48 bytes), keys in 𝔾₂ (96 bytes).
//!
//! Signatures of many parties add up to one of the same size. `H` hashes to 𝔾₁ under the tag of the
//! message's [`Domain`], `H'` under a tag of its own that no domain can reach.
//!
//! | step      | equation                                        | by whom        |
//! |-----------|-------------------------------------------------|----------------|
//! | sign      | `σ = H(m)^sk`, `pk = g₂^sk`                     | signer         |
//! | verify    | `e(σ, g₂) = e(H(m), pk)`                        | anyone         |
//! | possess   | `e(φ, g₂) = e(H'(pk), pk)`                      | anyone, once   |
//! | multi     | `e(∏ᵢ σᵢ, g₂) = e(H(m), ∏ᵢ pkᵢ)`                | anyone         |
//! | aggregate | `e(∏ₖ σₖ, g₂) = ∏ₖ e(H(mₖ), pkₖ)`               | anyone         |
//! | many      | `e(∏ᵢ σᵢ^τᵢ, g₂) = e(H(m), ∏ᵢ pkᵢ^τᵢ)`          | collector      |
//!
//! After Boneh, Drijvers and Neven, "Compact multi-signatures for smaller blockchains"
//! ([eprint 2018/483](https://eprint.iacr.org/2018/483)), the variant with proofs of possession `φ`:
//! without them a key `pk = g₂^x / ∏ pkᵢ` would sign for everybody, so `multi` and `aggregate` take
//! only keys that are [`Verified`]. `many` needs no such proof, for there each signature stands for
//! itself: `τᵢ` are 128-bit coefficients from a transcript over everything in the equation, so errors
//! that cancel in a plain sum do not cancel here.
//!
//! Ours: an empty set of signers, the identity as key or signature, and keys that sum to the identity
//! are refused. Elsewhere: who must sign, counted in stake (the engines).
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use borsh::io::{Read, Result as IoResult, Write};
use borsh::{BorshDeserialize, BorshSerialize};
use rand_core::CryptoRng;

use crate::bisect;
use crate::challenge::Transcript;
use crate::curve::{
    DecodeError, G1Affine, G1Projective, G2Affine, G2Projective, Scalar, check_pairing_product,
    hash_to_g1, vartime_msm_128,
};
use crate::secret::Secret;
use crate::verified::Verified;

/// Everything before a domain's own name in the tag of its hash.
const SIGNATURE_TAG: &[u8] = b"PREFINAL-V1-BLS-SIGNATURE_BLS12381G1_XMD:SHA-256_SSWU_RO_";
const POSSESSION_TAG: &[u8] = b"PREFINAL-V1-BLS-POSSESSION_BLS12381G1_XMD:SHA-256_SSWU_RO_";
const BATCH_TAG: &[u8] = b"PREFINAL-V1-BLS-BATCH";

/// What a signature is for. A signature under one domain is never valid under another.
///
/// ```
/// use crypto_core::bls::Domain;
/// const VOTE: Domain = Domain::new("example vote");
/// ```
/// ```compile_fail
/// use crypto_core::bls::Domain;
/// const NOTHING: Domain = Domain::new("");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Domain(&'static str);

impl Domain {
    /// Longest name: RFC 9380 bounds a tag by 255 bytes.
    pub const MAX_NAME: usize = 255 - SIGNATURE_TAG.len();

    /// A domain by its name, like `"jolteon vote"`.
    ///
    /// # Panics
    /// If the name is empty or longer than [`Domain::MAX_NAME`]; in a `const` that is a compile error.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        assert!(!name.is_empty() && name.len() <= Self::MAX_NAME, "1 to 198 bytes");
        Self(name)
    }

    fn hash(self, message: &[u8]) -> G1Affine {
        hash_to_g1(message, &[SIGNATURE_TAG, self.0.as_bytes()].concat())
    }
}

/// Why a signature is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The empty set signs nothing.
    #[error("no signers")]
    NoSigners,
    /// The keys sum to the identity, under which the identity signs everything.
    #[error("the signers' keys cancel each other")]
    KeysCancel,
    /// The pairing equation does not hold.
    #[error("signature does not match keys and message")]
    Mismatch,
}

/// Which signatures of a batch are not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} of {of} signatures are not valid", positions.len())]
pub struct Culprits {
    /// Positions in the slice that was checked.
    pub positions: BTreeSet<usize>,
    /// How many signatures were checked.
    pub of: usize,
}

/// A signing key: a scalar that is not zero.
#[derive(Debug)]
pub struct SecretKey(Secret<Scalar>);

impl SecretKey {
    /// A fresh key.
    pub fn random(rng: &mut impl CryptoRng) -> Self {
        loop {
            let key = Secret::new(Scalar::random(rng));
            if *key.expose() != Scalar::ZERO {
                return Self(key);
            }
        }
    }

    /// Reads what [`SecretKey::to_secret_bytes`] wrote.
    ///
    /// # Errors
    /// If the bytes are not a canonical scalar, or zero.
    pub fn from_secret_bytes(bytes: &Secret<[u8; 32]>) -> Result<Self, DecodeError> {
        let key = Secret::new(Scalar::from_bytes(bytes.expose())?);
        if *key.expose() == Scalar::ZERO { Err(DecodeError::Zero) } else { Ok(Self(key)) }
    }

    /// The key for storage, 32 bytes big-endian.
    #[must_use]
    pub fn to_secret_bytes(&self) -> Secret<[u8; 32]> {
        Secret::new(self.0.expose().to_bytes())
    }

    /// `g₂^sk`.
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        PublicKey((G2Affine::generator() * self.0.expose()).into())
    }

    /// `H(m)^sk`. What binds a message to chain and epoch belongs in the message.
    #[must_use]
    pub fn sign(&self, domain: Domain, message: &[u8]) -> Signature {
        self.sign_point(domain.hash(message))
    }

    /// Shows that the owner of the public key knows its secret, so that it may enter a sum of keys.
    #[must_use]
    pub fn prove_possession(&self) -> ProofOfPossession {
        ProofOfPossession(self.sign_point(self.public_key().possession_point()))
    }

    fn sign_point(&self, point: G1Affine) -> Signature {
        Signature((point * self.0.expose()).into())
    }
}

/// A public key; never the identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey(G2Affine);

impl PublicKey {
    /// Reads a key.
    ///
    /// # Errors
    /// If the bytes are not the canonical encoding of a point of 𝔾₂ other than the identity.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let point = G2Affine::from_bytes(bytes)?;
        if point.is_identity() { Err(DecodeError::Identity) } else { Ok(Self(point)) }
    }

    /// 96 bytes, compressed.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 96] {
        self.0.to_bytes()
    }

    /// Makes the key one that may be summed with others.
    ///
    /// # Errors
    /// If `proof` is not this key's.
    pub fn verify_possession(
        self,
        proof: &ProofOfPossession,
    ) -> Result<Verified<Self>, SignatureError> {
        check(&proof.0, &[(self.possession_point(), self.0)])?;
        Ok(Verified::new(self))
    }

    fn possession_point(&self) -> G1Affine {
        hash_to_g1(&self.to_bytes(), POSSESSION_TAG)
    }
}

/// A signature, or the sum of several; never the identity when decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature(G1Affine);

impl Signature {
    /// Reads a signature.
    ///
    /// # Errors
    /// If the bytes are not the canonical encoding of a point of 𝔾₁ other than the identity.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let point = G1Affine::from_bytes(bytes)?;
        if point.is_identity() { Err(DecodeError::Identity) } else { Ok(Self(point)) }
    }

    /// 48 bytes, compressed.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 48] {
        self.0.to_bytes()
    }

    /// Checks the signature of one party.
    ///
    /// # Errors
    /// If it is not `key`'s signature on `message` under `domain`.
    pub fn verify(
        &self,
        key: &PublicKey,
        domain: Domain,
        message: &[u8],
    ) -> Result<(), SignatureError> {
        check(self, &[(domain.hash(message), key.0)])
    }
}

/// A signature by a key on itself, under a tag that no [`Domain`] can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ProofOfPossession(Signature);

/// The sum of keys whose owners all signed one message. Takes no key without proof of possession:
///
/// ```compile_fail
/// use crypto_core::bls::{AggregateKey, PublicKey};
/// fn rogue(keys: &[PublicKey]) {
///     let _ = AggregateKey::sum(keys);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregateKey(G2Affine);

impl AggregateKey {
    /// Adds keys up; a key counts as often as it is given.
    ///
    /// # Errors
    /// If there are none, or if they cancel.
    pub fn sum<'a>(
        keys: impl IntoIterator<Item = &'a Verified<PublicKey>>,
    ) -> Result<Self, SignatureError> {
        let points: Vec<G2Projective> = keys.into_iter().map(|key| key.get().0.into()).collect();
        if points.is_empty() {
            return Err(SignatureError::NoSigners);
        }
        let sum = G2Affine::from(points.into_iter().sum::<G2Projective>());
        if sum.is_identity() { Err(SignatureError::KeysCancel) } else { Ok(Self(sum)) }
    }
}

/// One message and those who signed it, within an aggregate signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim<'a> {
    /// Sum of the signers' keys.
    pub signers: AggregateKey,
    /// What they signed.
    pub message: &'a [u8],
}

/// Adds signatures up. Checks nothing: the sum is valid only if it verifies.
#[must_use]
pub fn aggregate<'a>(signatures: impl IntoIterator<Item = &'a Signature>) -> Signature {
    let sum: G1Projective = signatures.into_iter().map(|one| one.0).sum();
    Signature(sum.into())
}

/// Checks a sum of signatures of all `keys` on one message.
///
/// # Errors
/// If there are no keys, if they cancel, or if the signature is not theirs.
pub fn verify_multi<'a>(
    keys: impl IntoIterator<Item = &'a Verified<PublicKey>>,
    domain: Domain,
    message: &[u8],
    signature: &Signature,
) -> Result<(), SignatureError> {
    let signers = AggregateKey::sum(keys)?;
    verify_aggregate(&[Claim { signers, message }], domain, signature)
}

/// Checks a sum of signatures on several messages. Messages may repeat.
///
/// # Errors
/// If there are no claims, or if the signature is not theirs.
pub fn verify_aggregate(
    claims: &[Claim<'_>],
    domain: Domain,
    signature: &Signature,
) -> Result<(), SignatureError> {
    let terms: Vec<_> =
        claims.iter().map(|claim| (domain.hash(claim.message), claim.signers.0)).collect();
    check(signature, &terms)
}

/// Checks many signatures on one message, each on its own, at the price of about one.
///
/// # Errors
/// Names the positions of those that are not valid.
pub fn verify_many(
    domain: Domain,
    message: &[u8],
    signatures: &[(PublicKey, Signature)],
) -> Result<(), Culprits> {
    let hash = domain.hash(message);
    let coefficients = batch_coefficients(domain, message, signatures);
    let keys: Vec<G2Affine> = signatures.iter().map(|(key, _)| key.0).collect();
    let sums: Vec<G1Affine> = signatures.iter().map(|(_, signature)| signature.0).collect();
    let holds = |range: core::ops::Range<usize>| {
        let (Some(keys), Some(sums), Some(coefficients)) =
            (keys.get(range.clone()), sums.get(range.clone()), coefficients.get(range))
        else {
            return false;
        };
        let signature = Signature(vartime_msm_128(sums, coefficients).into());
        let key = vartime_msm_128(keys, coefficients).into();
        check(&signature, &[(hash, key)]).is_ok()
    };
    let positions = bisect::culprits(signatures.len(), holds);
    if positions.is_empty() { Ok(()) } else { Err(Culprits { positions, of: signatures.len() }) }
}

fn batch_coefficients(
    domain: Domain,
    message: &[u8],
    signatures: &[(PublicKey, Signature)],
) -> Vec<u128> {
    let mut transcript = Transcript::new(BATCH_TAG);
    transcript.append(b"domain", domain.0.as_bytes());
    transcript.append(b"message", message);
    for (key, signature) in signatures {
        transcript.append(b"key", &key.to_bytes());
        transcript.append(b"signature", &signature.to_bytes());
    }
    transcript.coefficients_128(b"coefficients", signatures.len())
}

/// `e(σ, g₂) = ∏ e(Hₖ, pkₖ)`
fn check(signature: &Signature, terms: &[(G1Affine, G2Affine)]) -> Result<(), SignatureError> {
    if terms.is_empty() {
        return Err(SignatureError::NoSigners);
    }
    let own = (signature.0, -G2Affine::generator());
    check_pairing_product(terms.iter().copied().chain([own])).map_err(|_| SignatureError::Mismatch)
}

macro_rules! wire {
    ($type:ident, $bytes:literal) => {
        impl BorshSerialize for $type {
            fn serialize<W: Write>(&self, writer: &mut W) -> IoResult<()> {
                writer.write_all(&self.to_bytes())
            }
        }

        impl BorshDeserialize for $type {
            fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
                let bytes = <[u8; $bytes]>::deserialize_reader(reader)?;
                Ok(Self::from_bytes(&bytes)?)
            }
        }
    };
}

wire!(PublicKey, 96);
wire!(Signature, 48);
