//! Ed25519 keys of validators, as TLS wants to see them.
//!
//! Keys travel as raw public keys ([RFC 7250](https://www.rfc-editor.org/rfc/rfc7250)): an Ed25519 key has one
//! encoding of 44 bytes ([RFC 8410](https://www.rfc-editor.org/rfc/rfc8410)), which is compared as a whole. There
//! is no certificate, so nothing that a stranger sends is parsed.
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rustls::crypto::ring::sign::any_eddsa_type;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use zeroize::Zeroizing;

/// `SubjectPublicKeyInfo` of an Ed25519 key, up to the key.
const PUBLIC_PREFIX: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// PKCS #8 of an Ed25519 key, up to the seed.
const SECRET_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// A validator's Ed25519 public key: 32 bytes, as hex in text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerKey([u8; 32]);

/// The text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key is 64 hexadecimal digits")]
pub struct PeerKeyError;

impl PeerKeyError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "malformed"
    }
}

/// A validator's Ed25519 secret key, for TLS.
pub struct LinkKey {
    pub(crate) certified: Arc<CertifiedKey>,
    public: PeerKey,
}

/// The seed and the public key are not of one key pair, or the public key is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the public key does not belong to the secret key")]
pub struct LinkKeyError;

impl LinkKeyError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "other-key"
    }
}

impl PeerKey {
    /// The key with these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key's bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    /// The key as TLS transports it.
    pub(crate) fn spki(self) -> [u8; 44] {
        let mut spki = [0; 44];
        let (prefix, key) = spki.split_at_mut(PUBLIC_PREFIX.len());
        prefix.copy_from_slice(&PUBLIC_PREFIX);
        key.copy_from_slice(&self.0);
        spki
    }

    /// The key in what TLS transports; `None` if it is something else.
    pub(crate) fn from_spki(spki: &[u8]) -> Option<Self> {
        spki.strip_prefix(&PUBLIC_PREFIX)?.try_into().ok().map(Self)
    }
}

impl LinkKey {
    /// The key pair of a 32-byte seed. Costs one multiplication on the curve.
    ///
    /// # Errors
    /// If `public` is not the seed's public key.
    pub fn new(seed: &[u8; 32], public: PeerKey) -> Result<Self, LinkKeyError> {
        let mut secret = Zeroizing::new([0; 48]);
        let (prefix, rest) = secret.split_at_mut(SECRET_PREFIX.len());
        prefix.copy_from_slice(&SECRET_PREFIX);
        rest.copy_from_slice(seed);
        let key = PrivatePkcs8KeyDer::from(secret.as_slice());
        let signer = any_eddsa_type(&key).map_err(|_| LinkKeyError)?;
        let own = signer.public_key().ok_or(LinkKeyError)?;
        if own.as_ref() != public.spki().as_slice() {
            return Err(LinkKeyError);
        }
        let shown = CertificateDer::from(public.spki().to_vec());
        Ok(Self { certified: Arc::new(CertifiedKey::new(vec![shown], signer)), public })
    }

    /// The public key.
    #[must_use]
    pub const fn public(&self) -> PeerKey {
        self.public
    }
}

impl fmt::Debug for LinkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkKey").field("public", &self.public).finish_non_exhaustive()
    }
}

impl fmt::Display for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerKey({self})")
    }
}

impl FromStr for PeerKey {
    type Err = PeerKeyError;

    fn from_str(text: &str) -> Result<Self, PeerKeyError> {
        let mut key = [0; 32];
        hex::decode_to_slice(text, &mut key).map_err(|_| PeerKeyError)?;
        Ok(Self(key))
    }
}
