//! What the key and the shares are for: signing together, or decrypting together.
//!
//! | what                    | public side                | a party's own side          |
//! |-------------------------|----------------------------|-----------------------------|
//! | threshold BLS (min-sig) | [`Key::signing`]           | [`Shares::signing`]         |
//! | threshold ElGamal       | [`Key::decryption`]        | [`Shares::decryption`]      |
//!
//! An [`EpochKey`] has the public side as well, for those who have no dealings. Each gives both paths
//! ([`Paths`]); they have one group key, so a signature or plaintext is the same whichever path it came
//! by. What a party signs or decrypts with is made from its shares and leaves them whole, for a handover
//! deals the same shares on ([`Handover::holder`](super::Handover::holder)). Both are secrets of the
//! epoch and are dropped, which wipes them, when the handover has its key.
//!
//! One key has one [`Purpose`](crate::Purpose), which its session names: a decryption share of a point
//! that somebody else chose is a signature share on it. What the key is not for, it refuses.
use crypto_core::access::Party;
use crypto_core::bls::MinSig;
use crypto_core::curve::Scalar;
use crypto_core::secret::Secret;
use crypto_core::{elgamal, threshold};

use super::decrypt::Shares;
use super::key::Key;
use crate::config::Config;
use crate::protocol::{EpochKey, Field};
use crate::purpose::PurposeError;
use crate::shape::Paths;

impl Key {
    /// The committee as signers. Costs a sum of products over all share keys for each path.
    ///
    /// # Errors
    /// If the key was made under another configuration, or for something else.
    pub fn signing(
        &self,
        config: &Config,
        purpose: threshold::Purpose,
    ) -> Result<Paths<threshold::SigningCommittee<MinSig>>, PurposeError> {
        self.epoch(config)?.signing(purpose)
    }

    /// The committee as those who decrypt. Costs as much, and two pairings.
    ///
    /// # Errors
    /// If the key was made under another configuration, or for something else.
    pub fn decryption(
        &self,
        config: &Config,
    ) -> Result<Paths<elgamal::DecryptionCommittee>, PurposeError> {
        self.epoch(config)?.decryption()
    }

    /// What everybody knows of the key: of what a chain stores it makes no difference who added it up.
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
    /// The party as a signer on both paths. Costs a multiplication in `𝔾₂` for each share. Without a
    /// handover to come, nothing needs the shares again: drop them.
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

    /// The party as one that decrypts on both paths. Costs the same.
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
