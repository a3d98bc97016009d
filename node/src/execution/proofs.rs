//! What a node says of its states, with proofs that nobody needs to believe it.
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::Certificate;
use prefinal_execution::{Header, Height, Store};
use prefinal_light::{CertifiedBlock, Claim, LightObject, StakeProof};
use prefinal_protocol::{ChainId, Slot, Value};
use prefinal_state::{ProvenRow, StateError, StoredBlock};
use serde_json::{Value as Json, json};

use super::endings::{Endings, last_before};
use super::executor::NamedExecutor;
use super::store::{Attested, AttestedStates};

/// Whose claims are proven, and what leads to the committees of later epochs.
#[derive(Clone, Debug)]
pub struct Prover {
    /// The chain of the claims.
    pub chain: ChainId,
    /// The endings of its epochs.
    pub endings: Endings,
}

/// A committed block as light clients verify it; the genesis has no certificate.
pub(super) fn certified<X: NamedExecutor>(
    states: &AttestedStates<X>,
    height: Height,
) -> Result<Option<CertifiedBlock<Certificate<MinSig>>>, StateError> {
    let StoredBlock { header: Header { id, slot, .. }, roots } = states.block(height)?;
    let value = Value::new(id.to_bytes());
    let attested = states.certificate(height)?;
    Ok(attested.map(|attested| {
        let (epoch, certificate) = (attested.epoch, attested.certificate);
        CertifiedBlock { epoch, slot, value, roots, certificate }
    }))
}

/// The root of the state that the block of a slot has left, with what certifies it; `None` if no committed block is in
/// this slot.
///
/// # Errors
/// If the state cannot be read.
pub fn certificate_of<X: NamedExecutor>(
    states: &AttestedStates<X>,
    slot: Slot,
) -> Result<Option<([u8; 32], Attested)>, StateError> {
    let Some(height) = last_before(states, slot.next())? else { return Ok(None) };
    let StoredBlock { header, roots } = states.block(height)?;
    let attested = states.certificate(height)?.filter(|_| header.slot == slot);
    Ok(attested.map(|attested| (roots.digest(), attested)))
}

impl Prover {
    /// The proof of one claim, from the chain's first committee on; `None` as long as it is not known here what leads
    /// to the committee of the block.
    pub(super) fn prove(
        &self,
        block: CertifiedBlock<Certificate<MinSig>>,
        claim: Claim,
    ) -> Option<String> {
        let (chain, endings) = (self.chain, self.endings.to(block.epoch)?);
        Some(hex::encode(StakeProof { chain, endings, block, claims: vec![claim] }.to_wire()))
    }

    /// An account in the last committed state; `None` if no account can have this name.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn account<X: NamedExecutor>(
        &self,
        states: &AttestedStates<X>,
        name: &[u8],
    ) -> Result<Option<Json>, StateError> {
        let Some(key) = X::account(name) else { return Ok(None) };
        let height = states.committed()?.height;
        let Some(certified) = certified(states, height)? else { return Ok(None) };
        let ProvenRow { value, proof: path } = states.prove(&key)?;
        let about = X::about(value.as_deref())?;
        let claim = Claim::Row { key, value: value.map(|row| row.to_vec()), proof: path };
        let proof = self.prove(certified, claim);
        Ok(proof.map(|proof| json!({ "account": about, "height": height.get(), "proof": proof })))
    }
}
