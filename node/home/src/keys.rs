//! A validator's public keys, and the file with which it asks to become a member.
use std::fmt;

use borsh::from_slice;
use ed25519_consensus::SigningKey;
use prefinal_crypto_core::bls::min_sig;
use prefinal_validator::setup::{Identity, Registration};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::names::{Address, Name};
use crate::parse::{self, ParseError};

const FINGERPRINT: &[u8] = b"PREFINAL-V1-NODE-FINGERPRINT";

/// The public keys of one validator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKeys {
    /// Verifies votes of engines with BLS keys, dealings and registered keys.
    pub signer: min_sig::PublicKey,
    /// The public key of its votes in certificates.
    pub certifier: min_sig::PublicKey,
    /// Verifies votes of engines with Ed25519 keys, and names the validator on links.
    pub ed25519: [u8; 32],
}

impl PublicKeys {
    /// The public keys of an identity.
    #[must_use]
    pub fn of(identity: &Identity) -> Self {
        let ed25519 = SigningKey::from(*identity.ed25519().expose()).verification_key().to_bytes();
        let (signer, certifier) = (identity.signer.public_key(), identity.certifier().public_key());
        Self { signer, certifier, ed25519 }
    }

    /// A short text that people compare over another channel, to be sure that they mean the same keys.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let hash = Sha256::new()
            .chain_update(FINGERPRINT)
            .chain_update(self.signer.to_bytes())
            .chain_update(self.certifier.to_bytes())
            .chain_update(self.ed25519);
        Fingerprint(hash.finalize().into())
    }
}

/// A hash over a validator's public keys. Its text shows the first 128 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = self.0.chunks(2).take(8).map(hex::encode);
        f.write_str(&groups.collect::<Vec<_>>().join("-"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// What an operator sends to those who write the genesis: `registration.json`. Everything in it is public.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The validator's name.
    pub name: Name,
    /// Where the others reach its links, over UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Address>,
    /// Where the others reach its engine, over TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Address>,
    /// Its public keys with proofs that it has the secret ones.
    pub registration: RegistrationHex,
}

impl Candidate {
    /// The longest file that is read, in bytes.
    pub const MAX_BYTES: usize = 16 << 10;

    /// Reads a `registration.json`. The proofs are checked when the genesis is.
    ///
    /// # Errors
    /// With line and key, if the text is anything else.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        parse::json(bytes)
    }

    /// The text of a `registration.json`.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Strings only, which cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// A registration as text: its Borsh encoding in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationHex(pub Registration);

impl RegistrationHex {
    /// More digits than any registration has.
    const MAX: usize = 4096;

    /// The registration's encoding.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        // A vector takes everything.
        borsh::to_vec(&self.0).unwrap_or_default()
    }
}

impl Serialize for RegistrationHex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(self.to_bytes()))
    }
}

impl<'de> Deserialize<'de> for RegistrationHex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let refused = |what: &str| {
            let text =
                format!("expected the hex digits that `prefinal keys new` wrote, got {what}");
            serde::de::Error::custom(text)
        };
        let text = String::deserialize(deserializer)?;
        if text.len() > Self::MAX {
            return Err(refused(&format!("{} letters", text.len())));
        }
        let bytes = hex::decode(&text).map_err(|_| refused("other letters"))?;
        let read = from_slice::<Registration>(&bytes);
        read.map(Self).map_err(|error| refused(&format!("{} bytes: {error}", bytes.len())))
    }
}
