//! A reader of a weighted VUF: it trusts one epoch by its pin, and verifies the values of that epoch and of those that
//! follow.
use prefinal_light::{
    LightObject, MemberList, VufEpoch, VufFollower, VufHandover, VufKeys, VufProof, VufVerifier,
};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::{raise, raise_code};
use crate::fields::hash;

/// Trusts one epoch, and each that its committee hands over to.
#[wasm_bindgen]
pub struct RawLightVuf {
    follower: VufFollower,
    verifier: Option<VufVerifier>,
}

#[wasm_bindgen]
impl RawLightVuf {
    /// Trusts the epoch with this pin.
    ///
    /// # Errors
    /// If the epoch is another one, or the members are not its committee.
    #[wasm_bindgen(constructor)]
    pub fn new(pin: &[u8], epoch: &[u8], members: &[u8]) -> Result<Self, JsValue> {
        let epoch = VufEpoch::from_wire(epoch).map_err(raise)?;
        let members = MemberList::from_wire(members).map_err(raise)?;
        let follower = VufFollower::new(&hash(pin)?, &epoch, &members).map_err(raise)?;
        Ok(Self { follower, verifier: None })
    }

    /// The number of its epoch.
    pub fn epoch(&self) -> u64 {
        self.follower.epoch().waypoint.epoch.epoch.get()
    }

    /// The pin of its epoch.
    pub fn pin(&self) -> Vec<u8> {
        self.follower.epoch().id().to_vec()
    }

    /// Goes on to the next epoch, whose keys are others.
    ///
    /// # Errors
    /// Says what is wrong with the handover. Nothing changes then.
    pub fn advance(&mut self, handover: &[u8]) -> Result<(), JsValue> {
        let handover = VufHandover::from_wire(handover).map_err(raise)?;
        self.follower.advance(&handover).map_err(raise)?;
        self.verifier = None;
        Ok(())
    }

    /// Takes the keys of its epoch.
    ///
    /// # Errors
    /// Says what is wrong with the keys. Nothing changes then.
    pub fn admit(&mut self, keys: &[u8]) -> Result<(), JsValue> {
        let keys = VufKeys::from_wire(keys).map_err(raise)?;
        let verifier = VufVerifier::new(&self.follower.epoch(), &keys).map_err(raise)?;
        self.verifier = Some(verifier);
        Ok(())
    }

    /// The slot of a proof, in 8 bytes, the lowest first, and the value, in 32.
    ///
    /// # Errors
    /// If there are no keys yet. Otherwise it says what is wrong with the proof.
    pub fn verify(&self, proof: &[u8]) -> Result<Vec<u8>, JsValue> {
        let proof = VufProof::from_wire(proof).map_err(raise)?;
        let none = || raise_code("invalid-argument", "no keys of this epoch: call admit first");
        let output = self.verifier.as_ref().ok_or_else(none)?.verify(&proof).map_err(raise)?;
        Ok([&proof.slot.get().to_le_bytes()[..], &output.randomness()].concat())
    }
}
