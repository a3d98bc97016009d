//! Encryption, and the check of a ciphertext that every party makes before it gives a decryption
//! share.
//!
//! Two bodies with the same `r` have the same key and nonce of the cipher, and two proofs for one `r`
//! with the same `s` reveal `r`. So `r` and `s` depend on the plaintext, the label and the
//! committee's key as well as on the generator ([`Hedge`]). With a generator that repeats itself, the
//! same plaintext gives the same bytes again, and any other plaintext gets another `r` and another
//! `s`. A generator that has failed completely is refused, because a plaintext may be easy to guess.
use alloc::vec::Vec;

use borsh::io::{Error, ErrorKind, Read, Result as IoResult};
use borsh::{BorshDeserialize, BorshSerialize};
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{ChaCha20Poly1305, KeyInit};
use rand_core::CryptoRng;
use sha2::{Digest, Sha256};
use zeroize::Zeroize;

use super::key::EncryptionKey;
use super::label::Label;
use crate::challenge::Transcript;
use crate::curve::hazmat::vartime_msm;
use crate::curve::{DecodeError, G1Affine, G1Projective, Scalar};
use crate::entropy::ImplausibleRandomness;
use crate::generators::g_bar;
use crate::hedge::{Hedge, HedgedRng};
use crate::secret::Secret;

const PROOF_TAG: &[u8] = b"PREFINAL-V1-ELGAMAL-PROOF";
const KEY_TAG: &[u8] = b"PREFINAL-V1-ELGAMAL-KEY";
const DRAWS_TAG: &[u8] = b"PREFINAL-V1-ELGAMAL-DRAWS";
/// Number of bytes by which the body is longer than the plaintext.
const AEAD_TAG: usize = 16;

/// Why a plaintext was not encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncryptError {
    /// The plaintext is too long.
    #[error(transparent)]
    Plaintext(#[from] PlaintextError),
    /// The generator is broken. The plaintext would be safe only if it is hard to guess.
    #[error(transparent)]
    Randomness(#[from] ImplausibleRandomness),
}

impl EncryptError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Plaintext(error) => error.code(),
            Self::Randomness(error) => error.code(),
        }
    }
}

/// The plaintext is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("plaintext has {got} bytes, at most {max} are allowed")]
pub struct PlaintextError {
    /// Length of the given plaintext in bytes.
    pub got: usize,
    /// Greatest allowed length in bytes.
    pub max: usize,
}

impl PlaintextError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "too-long"
    }
}

/// The ciphertext is not valid under this label, so no honest party gives a decryption share for it.
/// It was made for another key or label, or altered, or its maker does not know what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ciphertext is not valid for this key and label")]
pub struct InvalidCiphertext;

impl InvalidCiphertext {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "invalid-ciphertext"
    }
}

/// Every decryption share is right, but the body does not open. The sender made it so, and everybody
/// sees the same failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ciphertext does not open: its maker broke it")]
pub struct Unopenable;

impl Unopenable {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "cannot-decrypt"
    }
}

/// A ciphertext `(U, Ū, c, z, body)`. `U` and `Ū` are never the identity. It can be decrypted only
/// after it was [validated](Ciphertext::validate).
///
/// ```
/// # use prefinal_crypto_core::curve::{G1Affine, G2Affine, Scalar};
/// use prefinal_crypto_core::elgamal::{Ciphertext, EncryptionKey, Label};
/// use prefinal_crypto_core::wire::Object;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let x = Scalar::random(&mut rng);
/// # let (y, y_hat) = ((G1Affine::generator() * &x).to_affine(), (G2Affine::generator() * &x).to_affine());
///
/// let key = EncryptionKey::new(y, y_hat)?; // the committee's, both halves published
/// let (noon, dawn) = (Label::new(b"open at noon")?, Label::new(b"open at dawn")?);
/// let bytes = key.encrypt(&noon, b"sell", &mut rng)?.to_wire();
/// let received = Ciphertext::from_wire(&bytes)?;
/// // Nobody can copy it under an earlier label.
/// assert!(received.clone().validate(&key, &dawn).is_err());
/// assert!(received.validate(&key, &noon).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize)]
pub struct Ciphertext {
    u: G1Affine,
    u_bar: G1Affine,
    challenge: Scalar,
    response: Scalar,
    body: Vec<u8>,
}

impl Ciphertext {
    /// Greatest length of a plaintext in bytes.
    pub const MAX_PLAINTEXT: usize = 1 << 20;
    /// Number of bytes by which the encoding is longer than the plaintext.
    pub const OVERHEAD: usize = 2 * 48 + 2 * Scalar::BYTES + 4 + AEAD_TAG;

    /// Greatest length of a body in bytes.
    pub(crate) const MAX_BODY: u32 = (1 << 20) + 16;

    /// A ciphertext from decoded parts. `None` if the body is too short or too long. The points must
    /// not be the identity.
    pub(crate) fn from_parts(
        [u, u_bar]: [G1Affine; 2],
        [challenge, response]: [Scalar; 2],
        body: &[u8],
    ) -> Option<Self> {
        if !(AEAD_TAG..=AEAD_TAG + Self::MAX_PLAINTEXT).contains(&body.len()) {
            return None;
        }
        Some(Self { u, u_bar, challenge, response, body: body.to_vec() })
    }

    /// Checks the proof that the sender knew `r`, for this key and label. Costs two sums of two
    /// products in `𝔾₁`.
    ///
    /// # Errors
    /// If the ciphertext is for another key or label, or was altered.
    pub fn validate(
        self,
        key: &EncryptionKey,
        label: &Label,
    ) -> Result<ValidCiphertext, InvalidCiphertext> {
        let back = -self.challenge;
        let commitment =
            |base: G1Affine, power: G1Affine| vartime_msm(&[base, power], &[self.response, back]);
        let commitments =
            [commitment(G1Affine::generator(), self.u), commitment(g_bar(), self.u_bar)];
        if self.prove(key, label, commitments) != self.challenge {
            return Err(InvalidCiphertext);
        }
        Ok(ValidCiphertext { ciphertext: self, key: *key, label: label.clone() })
    }

    /// The challenge of the proof, over everything but the challenge itself and the response.
    fn prove(&self, key: &EncryptionKey, label: &Label, commitments: [G1Projective; 2]) -> Scalar {
        let mut transcript = Transcript::new(PROOF_TAG);
        transcript.append_point(b"key", &key.y());
        transcript.append(b"label", label.as_bytes());
        transcript.append_point(b"u", &self.u);
        transcript.append_point(b"u-bar", &self.u_bar);
        transcript.append(b"body", &self.body);
        let commitments = G1Projective::batch_to_affine(&commitments);
        for (name, commitment) in [b"a", b"b"].into_iter().zip(&commitments) {
            transcript.append_point(name, commitment);
        }
        transcript.scalar(b"challenge")
    }
}

impl EncryptionKey {
    /// Encrypts a plaintext for the committee, under a label that is not encrypted. Draws 32 bytes
    /// from `rng` and costs five multiplications in `𝔾₁`. Constant time, except for the plaintext's
    /// length.
    ///
    /// # Errors
    /// If the plaintext has more than [`Ciphertext::MAX_PLAINTEXT`] bytes, or `rng` gives bytes that
    /// no working generator gives.
    pub fn encrypt(
        &self,
        label: &Label,
        plaintext: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Result<Ciphertext, EncryptError> {
        let (got, max) = (plaintext.len(), Ciphertext::MAX_PLAINTEXT);
        if got > max {
            return Err(PlaintextError { got, max }.into());
        }
        let mut draws = self.draws(label, plaintext, rng)?;
        let secrets = Secret::new([Scalar::random_nonzero(&mut draws), Scalar::random(&mut draws)]);
        let [r, s] = secrets.expose();
        let (g, g_bar) = (G1Affine::generator(), g_bar());
        let mask = Secret::new((self.y() * r).to_affine());
        let (u, u_bar) = ((g * r).to_affine(), (g_bar * r).to_affine());
        // The cipher itself refuses only plaintexts of 256 GB.
        let body = cipher(&u, &mask)
            .encrypt(&Default::default(), payload(label, plaintext))
            .map_err(|_| PlaintextError { got, max })?;
        let unproven =
            Ciphertext { u, u_bar, challenge: Scalar::ZERO, response: Scalar::ZERO, body };
        let challenge = unproven.prove(self, label, [g * s, g_bar * s]);
        Ok(Ciphertext { challenge, response: *s + challenge * r, ..unproven })
    }

    /// The generator from which `r` and `s` are drawn.
    fn draws(
        &self,
        label: &Label,
        plaintext: &[u8],
        fresh: &mut impl CryptoRng,
    ) -> Result<HedgedRng, ImplausibleRandomness> {
        Hedge::new(DRAWS_TAG)
            .public(b"key", &self.y().to_bytes())
            .public(b"label", label.as_bytes())
            .secret(b"plaintext", &Secret::new(plaintext.to_vec()))
            .plausible_rng(fresh)
    }
}

/// A ciphertext whose proof holds, with the key and the label that it holds for. Only such a
/// ciphertext can be decrypted:
///
/// ```compile_fail,E0308
/// use prefinal_crypto_core::elgamal::{Ciphertext, DecryptionKey, DecryptionShare};
/// fn unchecked(key: &DecryptionKey, ciphertext: &Ciphertext) -> DecryptionShare {
///     key.decrypt_share(ciphertext).unwrap()
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidCiphertext {
    ciphertext: Ciphertext,
    key: EncryptionKey,
    label: Label,
}

impl ValidCiphertext {
    /// The ciphertext without key and label.
    #[must_use]
    pub const fn ciphertext(&self) -> &Ciphertext {
        &self.ciphertext
    }

    /// The key that the ciphertext is for.
    #[must_use]
    pub const fn key(&self) -> &EncryptionKey {
        &self.key
    }

    /// The label that the ciphertext is for.
    #[must_use]
    pub const fn label(&self) -> &Label {
        &self.label
    }

    /// `U`, the base of all decryption shares.
    pub(super) const fn u(&self) -> G1Affine {
        self.ciphertext.u
    }

    /// Opens the body with `U^x`.
    pub(super) fn open(&self, mask: &Secret<G1Affine>) -> Result<Secret<Vec<u8>>, Unopenable> {
        let payload = payload(&self.label, &self.ciphertext.body);
        let opened = cipher(&self.ciphertext.u, mask).decrypt(&Default::default(), payload);
        opened.map(Secret::new).map_err(|_| Unopenable)
    }
}

/// The cipher for one body. Each key encrypts only one body, so the nonce is always zero.
fn cipher(u: &G1Affine, mask: &Secret<G1Affine>) -> ChaCha20Poly1305 {
    let mut encoding = mask.expose().to_bytes();
    let hash = Sha256::new().chain_update(KEY_TAG).chain_update(u.to_bytes());
    let mut key = hash.chain_update(encoding).finalize();
    let cipher = ChaCha20Poly1305::new(&key);
    encoding.zeroize();
    key.zeroize();
    cipher
}

fn payload<'a>(label: &'a Label, message: &'a [u8]) -> Payload<'a, 'a> {
    Payload { msg: message, aad: label.as_bytes() }
}

impl BorshDeserialize for Ciphertext {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        let u = not_identity(reader)?;
        let u_bar = not_identity(reader)?;
        let challenge = Scalar::deserialize_reader(reader)?;
        let response = Scalar::deserialize_reader(reader)?;
        let body = body(reader)?;
        Ok(Self { u, u_bar, challenge, response, body })
    }
}

pub(super) fn not_identity<R: Read>(reader: &mut R) -> IoResult<G1Affine> {
    let point = G1Affine::deserialize_reader(reader)?;
    if point.is_identity() { Err(DecodeError::Identity.into()) } else { Ok(point) }
}

/// Reads the body. The length is checked before anything is allocated, and memory grows only with the
/// bytes that are read.
fn body<R: Read>(reader: &mut R) -> IoResult<Vec<u8>> {
    let mut missing = usize::try_from(u32::deserialize_reader(reader)?)
        .ok()
        .filter(|len| (AEAD_TAG..=AEAD_TAG + Ciphertext::MAX_PLAINTEXT).contains(len))
        .ok_or_else(|| {
            Error::new(ErrorKind::InvalidData, "no plaintext has a body of this length")
        })?;
    let (mut body, mut chunk) = (Vec::new(), [0; 1024]);
    while missing > 0 {
        let step = missing.min(chunk.len());
        let (part, _) = chunk.split_at_mut(step);
        reader.read_exact(part)?;
        body.extend_from_slice(part);
        missing -= step;
    }
    Ok(body)
}
