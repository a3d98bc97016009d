//! Values of the weighted VUF. They have no short proof: what shows one is its partials, checked with
//! the keys that the parties published for the epoch.
use std::collections::BTreeMap;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::wire::Object;
use prefinal_crypto_core::wvuf::BlindedKey;
use prefinal_crypto_core::wvuf::audit::{Audit, Proof, keys};
use prefinal_pvss_dkg::protocol::{EpochKey, Group};
use prefinal_pvss_dkg::{Purpose, SharePath};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::{raise, raise_code};
use crate::fields::Fields;

/// A committee whose keys of an epoch were all checked.
#[wasm_bindgen]
pub struct RawEvaluations {
    audit: Audit,
    digest: [u8; 32],
}

#[wasm_bindgen]
impl RawEvaluations {
    /// The epoch's key, which path, and of each party its number and its blinded key with its length.
    ///
    /// # Errors
    /// Says which share of whom does not fit.
    #[wasm_bindgen(constructor)]
    pub fn new(epoch: &[u8], fast: bool, parties: &[u8]) -> Result<Self, JsValue> {
        let epoch = EpochKey::<Group>::from_bytes(epoch).map_err(raise)?;
        epoch.purpose().check(Purpose::Randomness).map_err(raise)?;
        let path = if fast { SharePath::Fast } else { SharePath::Slow };
        let unused = || raise_code("unused-path", "the key has no shares on this path");
        let threshold = epoch.shape().threshold(path).ok_or_else(unused)?;
        let public = epoch.public_shares(path).ok_or_else(unused)?;
        let (mut rest, mut blinded) = (Fields::new(parties), BTreeMap::new());
        while !rest.is_empty() {
            let party = Party::new(rest.u32()?);
            let key = BlindedKey::from_wire(rest.sized()?).map_err(raise)?;
            if blinded.insert(party, key).is_some() {
                return Err(raise_code("duplicate-key", "a party has two keys"));
            }
        }
        let weights = epoch.shape().access().weights();
        let audit = keys(&weights, threshold.t().get(), public, &blinded).map_err(raise)?;
        Ok(Self { audit, digest: epoch.digest() })
    }

    /// What names the epoch's key.
    pub fn digest(&self) -> Vec<u8> {
        self.digest.to_vec()
    }

    /// The value that a proof shows, and what it is of: chain, epoch, slot.
    ///
    /// # Errors
    /// Says whose partial does not fit, or how much is missing.
    pub fn open(&self, proof: &[u8]) -> Result<Vec<u8>, JsValue> {
        let proof = Proof::from_wire(proof).map_err(raise)?;
        let output = self.audit.open(&proof).map_err(raise)?;
        let mut value = output.randomness().to_vec();
        value.extend_from_slice(&proof.context.chain.as_bytes()[..]);
        value.extend_from_slice(&proof.context.epoch.get().to_le_bytes());
        value.extend_from_slice(&proof.slot.get().to_le_bytes());
        Ok(value)
    }
}
