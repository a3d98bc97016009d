//! Encryption keys of the recipients, each with a proof that its owner knows the secret half.
//!
//! | step     | equation                                                          | by whom         |
//! |----------|-------------------------------------------------------------------|-----------------|
//! | generate | `ek = g^dk`, `êk = ĝ^dk`                                          | recipient       |
//! | prove    | `T = g^κ`, `z = κ + c·dk` with `c = H(signer, ek, êk, T)`         | recipient, once |
//! | sign     | `sign(ek, êk)` with the key that signs dealings                   | recipient, once |
//! | check    | the signature, `ek ≠ 1`, `e(ek, ĝ) = e(g, êk)`, `g^z = T·ek^c`    | anyone, once    |
//!
//! The proof is Schnorr's. Its challenge names the party's signing key, so that nobody can register
//! another party's encryption key as its own. The signature protects the other direction: nobody else
//! can register a key for the party and read its shares. So a registration may arrive by any way. It
//! does not say when it was made. Code that stores registrations must know which one of a party is the
//! latest.
//!
//! The nonce `κ` depends on `dk` and on what is proved, and not only on the generator
//! ([`hedge`](prefinal_crypto_core::hedge)). So a generator that repeats itself does not give two registrations
//! the same `κ`, from whose responses `dk` could be computed.
//!
//! **One key, one opening.** Dealings are public for ever, so a decryption key that opens them today
//! still opens them in ten years. Therefore opening takes the key by value and wipes it, and the next
//! dealings are encrypted to a fresh key ([`Handover::new`](crate::field::Handover::new) refuses a key
//! of the committee before). The party must delete a copy on a disk once the shares are stored. A
//! backup of that disk would still hold the key.
//!
//! Differences from the paper: the second half `êk`, which makes dealings smaller by two vectors (see
//! `verify`). Possession of the signing key is proved in `prefinal_crypto_core::bls`.
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::hazmat::check_pairing_product;
use prefinal_crypto_core::curve::{self, G1Affine, G1Projective, G2Affine, Scalar};
use prefinal_crypto_core::generators::g_hat;
use prefinal_crypto_core::hedge::Hedge;
use prefinal_crypto_core::secret::Secret;
use rand_core::CryptoRng;
use thiserror::Error;

/// The secret key that opens what dealers encrypt to one party. It works once: opening takes it and
/// wipes it.
///
/// ```compile_fail,E0382
/// use prefinal_pvss_dkg::{Config, DecryptionKey, field::Key};
/// use prefinal_crypto_core::access::Party;
/// fn twice(key: &Key, config: &Config, me: Party, decryption: DecryptionKey) {
///     let _ = key.decrypt(config, me, decryption);
///     let _ = key.decrypt(config, me, decryption);
/// }
/// ```
///
/// ```
/// use prefinal_crypto_core::bls::min_sig;
/// use prefinal_pvss_dkg::DecryptionKey;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// let (signer, other) =
///     (min_sig::SecretKey::random(&mut rng), min_sig::SecretKey::random(&mut rng));
/// let key = DecryptionKey::random(&mut rng);
/// let registration = key.register(&signer, &mut rng); // published
/// assert!(registration.verify(&signer.public_key()).is_ok());
/// assert!(registration.verify(&other.public_key()).is_err()); // registered by somebody else
///
/// let stored = key.to_secret_bytes();
/// let again = DecryptionKey::from_secret_bytes(&stored)?;
/// let keys = [key, again].map(|key| key.register(&signer, &mut rng).verify(&signer.public_key()));
/// assert_eq!(keys[0], keys[1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
// In a box, because moving a key must leave no copy of it behind.
#[derive(Debug)]
pub struct DecryptionKey(Box<Secret<Scalar>>);

/// Opening failed. Nothing was opened, and the key can be used again.
#[derive(Debug, Error)]
#[error("{error}")]
pub struct NotOpened<E> {
    /// The key, which was not used up.
    pub key: DecryptionKey,
    /// Why nothing was opened.
    pub error: E,
}

macro_rules! codes {
    ($($error:ty),*) => {$(
        impl NotOpened<$error> {
            /// The error's code: stable, for programs; the text is for people and may change.
            #[must_use]
            pub const fn code(&self) -> &'static str {
                self.error.code()
            }
        }
    )*};
}

codes!(crate::DecryptError, crate::field::DecryptError);

/// The public halves of a [`DecryptionKey`]. Its owner has proved that it knows that key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncryptionKey {
    g1: G1Affine,
    g2: G2Affine,
}

const DOMAIN: min_sig::Domain = min_sig::Domain::new("pvss encryption key");

/// What a party publishes to become a recipient: key, proof and signature, 272 bytes.
///
/// See the example at [`DecryptionKey`].
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct KeyRegistration {
    g1: G1Affine,
    g2: G2Affine,
    nonce: G1Affine,
    response: Scalar,
    signature: min_sig::Signature,
}

/// Why a registration is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key is the identity: everybody could decrypt.
    #[error("encryption key is the identity")]
    Identity,
    /// The two halves differ: verification would use one key and decryption another one.
    #[error("the two halves of the encryption key have different logarithms")]
    Halves,
    /// The sender does not know the decryption key, or made the proof for another signing key.
    #[error("proof of knowledge of the decryption key fails")]
    Possession,
    /// The party has not signed it: somebody else registered it in the party's name.
    #[error("registration is not signed by the party")]
    Signature,
}

impl KeyError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Halves => "key-halves",
            Self::Possession => "possession-mismatch",
            Self::Signature => "signature-mismatch",
        }
    }
}

impl DecryptionKey {
    /// Draws a fresh key.
    #[must_use]
    pub fn random(rng: &mut impl CryptoRng) -> Self {
        Self(Box::new(Secret::new(Scalar::random(rng))))
    }

    /// The key for storage, 32 bytes big-endian. A party that registers a key must still have it when
    /// the dealings are complete, also after a crash.
    #[must_use]
    pub fn to_secret_bytes(&self) -> Secret<[u8; 32]> {
        Secret::new(self.0.expose().to_bytes())
    }

    /// Reads what [`DecryptionKey::to_secret_bytes`] wrote.
    ///
    /// # Errors
    /// If the bytes are not a canonical scalar, or zero.
    pub fn from_secret_bytes(bytes: &Secret<[u8; 32]>) -> Result<Self, curve::DecodeError> {
        let key = Secret::new(Scalar::from_bytes(bytes.expose())?);
        if *key.expose() == Scalar::ZERO {
            return Err(curve::DecodeError::Zero);
        }
        Ok(Self(Box::new(key)))
    }

    /// Makes the registration (public halves, proof, signature) for the party that signs with `signer`.
    #[must_use]
    pub fn register(
        &self,
        signer: &min_sig::SecretKey,
        rng: &mut impl CryptoRng,
    ) -> KeyRegistration {
        let key = self.encryption_key();
        let public: min_sig::PublicKey = signer.public_key();
        let hedge = Hedge::new(b"PREFINAL-V1-PVSS-ENCRYPTION-KEY-NONCE")
            .scalar(b"key", &self.0)
            .public(b"signer", public.to_bytes().as_ref());
        let kappa = Secret::new(Scalar::random(&mut hedge.rng(rng)));
        let nonce = G1Affine::from(G1Affine::generator() * kappa.expose());
        let challenge = challenge(&public, &key.g1, &key.g2, &nonce);
        let response = *kappa.expose() + challenge * *self.0.expose();
        let signature = signer.sign(DOMAIN, &key.to_bytes());
        KeyRegistration { g1: key.g1, g2: key.g2, nonce, response, signature }
    }

    /// The public halves.
    pub(crate) fn encryption_key(&self) -> EncryptionKey {
        EncryptionKey {
            g1: (G1Affine::generator() * self.0.expose()).into(),
            g2: (g_hat() * self.0.expose()).into(),
        }
    }

    /// `dk`, for test dealers that know it.
    #[cfg(test)]
    pub(crate) const fn scalar(&self) -> &Scalar {
        self.0.expose()
    }

    /// A copy of the secret key, for tests only.
    #[cfg(test)]
    pub(crate) fn copy(&self) -> Self {
        Self(Box::new(Secret::new(*self.0.expose())))
    }

    /// `C − dk·R`.
    pub(crate) fn open(&self, ciphertext: &G1Affine, ephemeral: &G1Affine) -> G1Projective {
        G1Projective::from(*ciphertext) - self.mask(ephemeral)
    }

    /// `dk·R`, which is `ek^r` for `R = g^r`.
    pub(crate) fn mask(&self, ephemeral: &G1Affine) -> G1Projective {
        *ephemeral * self.0.expose()
    }
}

impl EncryptionKey {
    /// `ek`, under which dealers encrypt.
    pub(crate) const fn g1(&self) -> &G1Affine {
        &self.g1
    }

    /// `êk`, with which anybody checks.
    pub(crate) const fn g2(&self) -> &G2Affine {
        &self.g2
    }

    /// A hash that names the key. It is what remains stored of a key that is used up.
    #[must_use]
    pub fn name(&self) -> [u8; 32] {
        let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-ENCRYPTION-KEY-NAME");
        transcript.append(b"key", &self.to_bytes());
        transcript.bytes(b"name")
    }

    /// The encoding: both halves, `ek` first.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 144] {
        let mut bytes = [0; 144];
        let (g1, g2) = bytes.split_at_mut(48);
        g1.copy_from_slice(&self.g1.to_bytes());
        g2.copy_from_slice(&self.g2.to_bytes());
        bytes
    }
}

impl KeyRegistration {
    /// Checks the registration for the party that signs with `signer`, and returns its key.
    ///
    /// # Errors
    /// If the key is the identity, its halves disagree, the proof fails, or the party has not signed.
    pub fn verify(&self, signer: &min_sig::PublicKey) -> Result<EncryptionKey, KeyError> {
        if self.g1.is_identity() || self.g2.is_identity() {
            return Err(KeyError::Identity);
        }
        check_pairing_product([(self.g1, g_hat()), (-G1Affine::generator(), self.g2)])
            .map_err(|_| KeyError::Halves)?;
        let challenge = challenge(signer, &self.g1, &self.g2, &self.nonce);
        let expected = self.g1 * challenge + self.nonce;
        if G1Affine::generator() * self.response != expected {
            return Err(KeyError::Possession);
        }
        let key = EncryptionKey { g1: self.g1, g2: self.g2 };
        let signed = self.signature.verify(signer, DOMAIN, &key.to_bytes());
        signed.map_err(|_| KeyError::Signature)?;
        Ok(key)
    }
}

fn challenge(
    signer: &min_sig::PublicKey,
    g1: &G1Affine,
    g2: &G2Affine,
    nonce: &G1Affine,
) -> Scalar {
    let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-ENCRYPTION-KEY");
    transcript.append(b"signer", &signer.to_bytes());
    transcript.append(b"ek", &g1.to_bytes());
    transcript.append(b"ek hat", &g2.to_bytes());
    transcript.append(b"nonce", &nonce.to_bytes());
    transcript.scalar(b"challenge")
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;

    struct Setup {
        secret: min_sig::SecretKey,
        signer: min_sig::PublicKey,
        key: DecryptionKey,
        registration: KeyRegistration,
        rng: ChaCha20Rng,
    }

    fn setup() -> Setup {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let secret = min_sig::SecretKey::random(&mut rng);
        let key = DecryptionKey::random(&mut rng);
        let registration = key.register(&secret, &mut rng);
        Setup { signer: secret.public_key(), secret, key, registration, rng }
    }

    #[test]
    fn an_honest_registration_passes_and_survives_the_wire() {
        let Setup { signer, key, registration, .. } = setup();
        assert_eq!(registration.verify(&signer), Ok(key.encryption_key()));
        let bytes = borsh::to_vec(&registration).unwrap();
        assert_eq!(bytes.len(), 48 + 96 + 48 + 32 + 48);
        assert_eq!(borsh::from_slice::<KeyRegistration>(&bytes).unwrap(), registration);
        for short in 0..bytes.len() {
            assert!(borsh::from_slice::<KeyRegistration>(&bytes[..short]).is_err());
        }
    }

    #[test]
    fn a_registration_belongs_to_one_signer() {
        let Setup { registration, mut rng, .. } = setup();
        let other = min_sig::SecretKey::random(&mut rng).public_key();
        assert_eq!(registration.verify(&other), Err(KeyError::Possession));
    }

    #[test]
    fn nobody_registers_a_key_in_the_name_of_another() {
        // Eve knows her decryption key and proves it for the victim's signing key: all is well but
        // the signature, which she can only make with a key of her own.
        let Setup { secret, signer, mut rng, .. } = setup();
        let eve = DecryptionKey::random(&mut rng);
        let mut forged = eve.register(&secret, &mut rng);
        assert!(forged.verify(&signer).is_ok());
        forged.signature = eve.register(&min_sig::SecretKey::random(&mut rng), &mut rng).signature;
        assert_eq!(forged.verify(&signer), Err(KeyError::Signature));
        // Nor does a signature of the victim's for another key serve.
        forged.signature = setup().registration.signature;
        assert_eq!(forged.verify(&signer), Err(KeyError::Signature));
    }

    #[test]
    fn halves_of_two_keys_do_not_pass() {
        let Setup { secret, signer, key, mut rng, .. } = setup();
        let g2 = DecryptionKey::random(&mut rng).encryption_key().g2;
        let g1 = key.encryption_key().g1;
        // The proof is remade for the mixed pair, so only the pairing tells.
        let kappa = Scalar::random(&mut rng);
        let nonce = (G1Affine::generator() * kappa).into();
        let response = kappa + challenge(&signer, &g1, &g2, &nonce) * *key.0.expose();
        let signature = secret.sign(DOMAIN, &EncryptionKey { g1, g2 }.to_bytes());
        let mixed = KeyRegistration { g1, g2, nonce, response, signature };
        assert_eq!(mixed.verify(&signer), Err(KeyError::Halves));
    }

    #[test]
    fn the_identity_is_no_key() {
        let Setup { secret, signer, mut rng, .. } = setup();
        let zero = DecryptionKey(Box::new(Secret::new(Scalar::ZERO)));
        let registration = zero.register(&secret, &mut rng);
        assert_eq!(registration.verify(&signer), Err(KeyError::Identity));
    }

    #[test]
    fn a_stored_key_is_the_same_key() {
        let Setup { key, .. } = setup();
        let restored = DecryptionKey::from_secret_bytes(&key.to_secret_bytes()).unwrap();
        assert_eq!(restored.encryption_key(), key.encryption_key());
        let read = |bytes| DecryptionKey::from_secret_bytes(&Secret::new(bytes)).map(drop);
        assert_eq!(read([0; 32]), Err(curve::DecodeError::Zero));
        assert_eq!(read([0xff; 32]), Err(curve::DecodeError::NotCanonical));
    }

    #[test]
    fn a_repeated_generator_does_not_give_the_key_away() {
        let Setup { secret, key, mut rng, .. } = setup();
        let other = min_sig::SecretKey::random(&mut rng);
        let proofs = [&secret, &other].map(|signer| {
            let proof = key.register(signer, &mut ChaCha20Rng::seed_from_u64(9));
            let c = challenge(&signer.public_key(), &proof.g1, &proof.g2, &proof.nonce);
            (proof, c)
        });
        let [(one, c), (two, d)] = &proofs;
        assert_ne!(one.nonce, two.nonce);
        // What anybody would compute if the nonces were one.
        let guess = (one.response - two.response) * (*c - *d).invert().unwrap();
        assert_ne!(guess, *key.scalar());
        // The same party says the same twice only if all is the same, the generator too.
        let again = key.register(&secret, &mut ChaCha20Rng::seed_from_u64(9));
        let fresh = key.register(&secret, &mut ChaCha20Rng::seed_from_u64(10));
        assert_eq!(again.nonce, one.nonce);
        assert_ne!(fresh.nonce, one.nonce);
    }

    #[test]
    fn a_key_is_never_printed() {
        assert_eq!(format!("{:?}", setup().key), "DecryptionKey(Secret(..))");
    }
}
