//! A light client: it trusts a committee or a key, and verifies what anybody sends.
use core::num::NonZeroU64;

use prefinal_crypto_core::bls::min_sig::{PublicKey, Signature};
use prefinal_light::{
    Account, AccountId, BeaconVerifier, Binding, Claim, EpochEnding, KeyProof, KeyVerifier,
    LightObject, MemberList, StakeProof, StakeVerifier, VerifiedBlock, Waypoint,
};
use prefinal_protocol::{ChainId, Slot};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::{raise, raise_code};
use crate::fields::hash;

/// Trusts the committee of one epoch, and each that follows it.
#[wasm_bindgen]
pub struct RawLightClient(StakeVerifier);

#[wasm_bindgen]
impl RawLightClient {
    /// Trusts the epoch that the waypoint names.
    ///
    /// # Errors
    /// If the members are not those of the waypoint, or make no committee.
    #[wasm_bindgen(constructor)]
    pub fn new(waypoint: &[u8], members: &[u8]) -> Result<Self, JsValue> {
        let waypoint = Waypoint::from_wire(waypoint).map_err(raise)?;
        let members = MemberList::from_wire(members).map_err(raise)?;
        StakeVerifier::new(&waypoint, &members).map(Self).map_err(raise)
    }

    /// The number of its epoch.
    pub fn epoch(&self) -> u64 {
        self.0.epoch().get()
    }

    /// Where it is now.
    pub fn waypoint(&self) -> Vec<u8> {
        self.0.waypoint().to_wire()
    }

    /// The committee of its epoch.
    pub fn members(&self) -> Vec<u8> {
        self.0.members().to_wire()
    }

    /// Goes on to the next epoch.
    ///
    /// # Errors
    /// Says what is wrong with the ending. Nothing changes then.
    pub fn advance(&mut self, ending: &[u8]) -> Result<(), JsValue> {
        let ending = EpochEnding::from_wire(ending).map_err(raise)?;
        self.0.advance(&ending).map_err(raise)
    }

    /// The block of a proof, with what is shown of it.
    ///
    /// # Errors
    /// Says what is wrong with the proof. Nothing changes then.
    pub fn verify(&mut self, proof: &[u8]) -> Result<RawVerifiedBlock, JsValue> {
        let proof = StakeProof::from_wire(proof).map_err(raise)?;
        let block = self.0.verify_proof(&proof).map_err(raise)?;
        Ok(RawVerifiedBlock { block, claims: proof.claims })
    }
}

/// Trusts the key of threshold certificates.
#[wasm_bindgen]
pub struct RawLightKey(KeyVerifier);

#[wasm_bindgen]
impl RawLightKey {
    /// Trusts this key on this chain.
    ///
    /// # Errors
    /// If the bytes are no key.
    #[wasm_bindgen(constructor)]
    pub fn new(chain: &[u8], key: &[u8]) -> Result<Self, JsValue> {
        let key = PublicKey::from_bytes(key).map_err(raise)?;
        Ok(Self(KeyVerifier::new(ChainId::new(hash(chain)?), key)))
    }

    /// The block of a proof, with what is shown of it.
    ///
    /// # Errors
    /// Says what is wrong with the proof.
    pub fn verify(&self, proof: &[u8]) -> Result<RawVerifiedBlock, JsValue> {
        let proof = KeyProof::from_wire(proof).map_err(raise)?;
        let block = self.0.verify_proof(&proof).map_err(raise)?;
        Ok(RawVerifiedBlock { block, claims: proof.claims })
    }
}

/// Trusts the key of a beacon.
#[wasm_bindgen]
pub struct RawBeacon(BeaconVerifier);

#[wasm_bindgen]
impl RawBeacon {
    /// Trusts this key; `first` is the slot that is round 1.
    ///
    /// # Errors
    /// If the bytes are no key, or no slot is round 1.
    #[wasm_bindgen(constructor)]
    pub fn new(key: &[u8], first: u64) -> Result<Self, JsValue> {
        let key = PublicKey::from_bytes(key).map_err(raise)?;
        let none = || raise_code("invalid-argument", "slots are counted from one");
        let first = Slot::new(NonZeroU64::new(first).ok_or_else(none)?.get());
        Ok(Self(BeaconVerifier { key, binding: Binding::Rounds { first } }))
    }

    /// The randomness of a slot.
    ///
    /// # Errors
    /// If the slot has no round, or the key has not signed it.
    pub fn verify(&self, slot: u64, signature: &[u8]) -> Result<Vec<u8>, JsValue> {
        let signature = Signature::from_bytes(signature).map_err(raise)?;
        let value = self.0.verify(Slot::new(slot), &signature).map_err(raise)?;
        Ok(value.as_bytes().to_vec())
    }
}

/// A block whose certificate was verified, with the claims that were.
#[wasm_bindgen]
pub struct RawVerifiedBlock {
    block: VerifiedBlock,
    claims: Vec<Claim>,
}

#[wasm_bindgen]
impl RawVerifiedBlock {
    /// The epoch and the slot of the block that the proof shows.
    pub fn numbers(&self) -> Vec<u64> {
        vec![self.block.context().epoch.get(), self.block.slot().get()]
    }

    /// Value, the state's root, the receipts' root: 32 bytes each.
    pub fn hashes(&self) -> Vec<u8> {
        let (state, receipts) = (self.block.state_root(), self.block.receipts_root());
        [self.block.value().to_bytes(), *state.as_bytes(), *receipts.as_bytes()].concat()
    }

    /// How many claims about the state the proof carries.
    pub fn claims(&self) -> usize {
        self.claims.len()
    }

    /// A claim: a kind, and its fields. `0` ‖ key (32): no such row; `1` ‖ key (32) ‖ value: a row; `2` ‖
    /// position (4) ‖ hash (32) ‖ receipt: a transaction.
    pub fn claim(&self, at: usize) -> Vec<u8> {
        let mut out = Vec::new();
        match self.claims.get(at) {
            Some(Claim::Row { key, value, .. }) => {
                out.push(u8::from(value.is_some()));
                out.extend(key.as_bytes());
                out.extend(value.iter().flatten());
            }
            Some(Claim::Transaction { result, proof }) => {
                out.push(2);
                out.extend(proof.index.to_le_bytes());
                out.extend(result.transaction);
                out.extend(&result.receipt);
            }
            None => {}
        }
        out
    }

    /// Balance and nonce of an account.
    ///
    /// # Errors
    /// If the claims have nothing about it, or its row is no account's.
    pub fn account(&self, key: &[u8]) -> Result<Vec<u64>, JsValue> {
        let wanted = AccountId::new(hash(key)?).key();
        let row = self.claims.iter().find_map(|claim| match claim {
            Claim::Row { key, value, .. } if *key == wanted => Some(value.as_deref()),
            _ => None,
        });
        let unknown = || raise_code("invalid-argument", "the proof shows nothing of this account");
        let row = row.ok_or_else(unknown)?;
        let Account { balance, nonce } = Account::from_row(row).map_err(raise)?;
        Ok(vec![balance.get(), nonce.get()])
    }
}
