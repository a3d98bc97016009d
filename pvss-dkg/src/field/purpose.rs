//! The use of the key and the shares: to sign together, or to decrypt together.
//!
//! | what                    | public side                | a party's own side          |
//! |-------------------------|----------------------------|-----------------------------|
//! | threshold BLS (min-sig) | [`Key::signing`]           | [`Shares::signing`]         |
//! | threshold ElGamal       | [`Key::decryption`]        | [`Shares::decryption`]      |
//!
//! An [`EpochKey`] has the public side too, for code that has no dealings. Each method gives both paths
//! ([`Paths`]). They have one group key, so a signature or plaintext is the same on either path. The
//! objects that a party signs or decrypts with are made from its shares and leave the shares whole,
//! because a handover deals the same shares on ([`Handover::holder`](super::Handover::holder)). Both
//! are secrets of the epoch. Drop them, which wipes them, when the handover has its key.
//!
//! One key has one [`Purpose`](crate::Purpose), which its session names. The reason: a decryption share
//! of a point that somebody else chose is a signature share on that point. The key refuses every other
//! purpose.
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::curve::Scalar;
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::{elgamal, threshold};

use super::decrypt::Shares;
use super::key::Key;
use crate::config::Config;
use crate::protocol::{EpochKey, Field};
use crate::purpose::PurposeError;
use crate::shape::Paths;

impl Key {
    /// The signing committees, one for each path. Costs a sum of products over all share keys for each path.
    ///
    /// # Errors
    /// If the key was made under another configuration, or for another purpose.
    pub fn signing(
        &self,
        config: &Config,
        purpose: threshold::Purpose,
    ) -> Result<Paths<threshold::SigningCommittee<MinSig>>, PurposeError> {
        self.epoch(config)?.signing(purpose)
    }

    /// The decryption committees, one for each path. Costs the same, and two pairings more.
    ///
    /// # Errors
    /// If the key was made under another configuration, or for another purpose.
    pub fn decryption(
        &self,
        config: &Config,
    ) -> Result<Paths<elgamal::DecryptionCommittee>, PurposeError> {
        self.epoch(config)?.decryption()
    }

    /// The public part of the key, as a chain stores it. It is the same for everybody who added up the
    /// dealings.
    ///
    /// # Errors
    /// If the key was made under another configuration.
    pub fn epoch(&self, config: &Config) -> Result<EpochKey<Field>, PurposeError> {
        if self.config_digest() != config.digest() {
            return Err(PurposeError::Foreign);
        }
        Ok(EpochKey::of_key(config, self))
    }
}

impl Shares {
    /// The party as a signer on both paths. Costs a multiplication in `𝔾₂` for each share. If no
    /// handover follows, nothing needs the shares again: drop them.
    ///
    /// # Errors
    /// If these are not the party's shares in these committees, or it holds none.
    pub fn signing(
        &self,
        party: Party,
        committees: &Paths<threshold::SigningCommittee<MinSig>>,
    ) -> Result<Paths<threshold::Signer<MinSig>>, threshold::KeyShareError> {
        self.on_paths(committees, |committee, own| {
            threshold::KeyShares::new(party, own).check(committee)
        })
    }

    /// The party as a decryptor on both paths. Costs the same.
    ///
    /// # Errors
    /// If these are not the party's shares in these committees, or it holds none.
    pub fn decryption(
        &self,
        party: Party,
        committees: &Paths<elgamal::DecryptionCommittee>,
    ) -> Result<Paths<elgamal::DecryptionKey>, elgamal::KeySharesError> {
        self.on_paths(committees, |committee, own| {
            elgamal::DecryptionKey::new(committee, party, own)
        })
    }

    fn on_paths<C, T, E>(
        &self,
        committees: &Paths<C>,
        one: impl Fn(&C, Secret<Vec<Scalar>>) -> Result<T, E>,
    ) -> Result<Paths<T>, E> {
        let copy = |own: &Secret<Vec<Scalar>>| Secret::new(own.expose().clone());
        let fast = committees.fast.as_ref().zip(self.fast.as_ref());
        Ok(Paths {
            slow: one(&committees.slow, copy(&self.slow))?,
            fast: fast.map(|(committee, own)| one(committee, copy(own))).transpose()?,
        })
    }
}
