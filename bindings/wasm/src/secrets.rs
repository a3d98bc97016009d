//! Keys, signing, dealing, the search for weights: the second entry.
//!
//! Secrets stay in WebAssembly's memory and are wiped when they are freed; what JavaScript asks for as
//! bytes is a copy that nobody wipes.
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{MinPk, MinSig, SecretKey};
use prefinal_crypto_core::secret::Secret;
use prefinal_pvss_dkg::{Aggregate, Dealing, DecryptionKey, deal, verify};
use prefinal_weighted_rounding::{Objective, Profile, Rounding, Weight};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::dealing::RawConfig;
use crate::error::{raise, raise_code};
use crate::fields::{Fields, hash};
use crate::random::Random;
use crate::rounding::{pair, stakes};
use crate::signature::domain;

/// A signing key.
#[wasm_bindgen]
pub struct RawSigningKey(SecretKey);

#[wasm_bindgen]
impl RawSigningKey {
    /// A fresh key.
    ///
    /// # Errors
    /// If there is no randomness.
    pub fn random() -> Result<Self, JsValue> {
        Ok(Self(SecretKey::random(&mut Random::new()?)))
    }

    /// A key that was stored.
    ///
    /// # Errors
    /// If the bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, JsValue> {
        let bytes = Secret::new(hash(bytes)?);
        SecretKey::from_secret_bytes(&bytes).map(Self).map_err(raise)
    }

    /// The secret bytes, for storage.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.to_secret_bytes().expose().to_vec()
    }

    /// The public key.
    pub fn public_key(&self, min_sig: bool) -> Vec<u8> {
        if min_sig {
            self.0.public_key::<MinSig>().to_bytes().to_vec()
        } else {
            self.0.public_key::<MinPk>().to_bytes().to_vec()
        }
    }

    /// Shows that the owner of the public key knows its secret.
    pub fn possession(&self, min_sig: bool) -> Vec<u8> {
        if min_sig {
            self.0.prove_possession::<MinSig>().to_bytes().to_vec()
        } else {
            self.0.prove_possession::<MinPk>().to_bytes().to_vec()
        }
    }

    /// Signs a message under a domain.
    ///
    /// # Errors
    /// If the domain has no name, or one that is too long.
    pub fn sign(&self, min_sig: bool, name: &str, message: &[u8]) -> Result<Vec<u8>, JsValue> {
        let domain = domain(name)?;
        Ok(if min_sig {
            self.0.sign::<MinSig>(domain, message).to_bytes().to_vec()
        } else {
            self.0.sign::<MinPk>(domain, message).to_bytes().to_vec()
        })
    }
}

/// What opens the shares that are dealt to one party.
#[wasm_bindgen]
pub struct RawDecryptionKey(DecryptionKey);

#[wasm_bindgen]
impl RawDecryptionKey {
    /// A fresh key.
    ///
    /// # Errors
    /// If there is no randomness.
    pub fn random() -> Result<Self, JsValue> {
        Ok(Self(DecryptionKey::random(&mut Random::new()?)))
    }

    /// A key that was stored.
    ///
    /// # Errors
    /// If the bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, JsValue> {
        let bytes = Secret::new(hash(bytes)?);
        DecryptionKey::from_secret_bytes(&bytes).map(Self).map_err(raise)
    }

    /// The secret bytes, for storage.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.to_secret_bytes().expose().to_vec()
    }

    /// The public halves and their proof, for the party that signs with this key.
    ///
    /// # Errors
    /// If there is no randomness.
    pub fn register(&self, signer: &RawSigningKey) -> Result<Vec<u8>, JsValue> {
        let registration = self.0.register(&signer.0.of_one_variant(), &mut Random::new()?);
        borsh::to_vec(&registration).map_err(|_| raise_code("internal", "memory cannot be written"))
    }
}

#[wasm_bindgen]
impl RawConfig {
    /// Deals a random secret to the committee.
    ///
    /// # Errors
    /// If the dealer is not of the committee, the key is not its own, or there is no randomness.
    pub fn deal(&self, dealer: u32, signer: &RawSigningKey) -> Result<Vec<u8>, JsValue> {
        let dealt =
            deal(&self.0, Party::new(dealer), &signer.0.of_one_variant(), &mut Random::new()?);
        dealt.map(|dealing| dealing.to_bytes()).map_err(raise)
    }

    /// Checks dealings and adds them up. Of each comes its length first.
    ///
    /// # Errors
    /// If one is not valid, a dealer occurs twice, or their stake is not enough.
    pub fn add_up(&self, dealings: &[u8]) -> Result<Vec<u8>, JsValue> {
        let (mut rest, mut verified) = (Fields::new(dealings), Vec::new());
        while !rest.is_empty() {
            let dealing = Dealing::from_bytes(&self.0, rest.sized()?).map_err(raise)?;
            verified.push(Arc::new(verify(&self.0, dealing).map_err(raise)?));
        }
        Aggregate::sum(&self.0, &verified).map(|sum| sum.to_bytes()).map_err(raise)
    }
}

/// Searches weights for stakes: of each pair of ratios comes what `verify_rounding` takes, without a
/// threshold. Gives the weights, then of each pair its threshold.
///
/// # Errors
/// If there are none, or the stakes make no sense.
#[wasm_bindgen]
pub fn solve_rounding(amounts: &[u8], pairs: &[u8], budget: u32) -> Result<Vec<u32>, JsValue> {
    let (mut rest, mut list) = (Fields::new(pairs), Vec::new());
    while !rest.is_empty() {
        list.push(pair(&mut rest, &list.len().to_string())?);
    }
    let profile = Profile::new(list).map_err(raise)?;
    let objective = match budget {
        0 => Objective::least_total(),
        most => Objective::least_reconstruction(Weight::new(most)),
    };
    let solved = Rounding::solve(&stakes(amounts)?, &profile, objective).map_err(raise)?;
    let weights = solved.weights().iter().map(|weight| weight.get());
    let thresholds = solved.guarantees().iter().map(|one| one.threshold().get());
    Ok(weights.chain(thresholds).collect())
}
