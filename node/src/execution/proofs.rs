//! What a node says of its states, with proofs that nobody needs to believe it.
use prefinal_execution::{Header, Height, Store};
use prefinal_light::{CertifiedBlock, Claim, LightObject, StakeProof};
use prefinal_protocol::{ChainId, Value};
use prefinal_state::{ProvenRow, StateError, StoredBlock};
use prefinal_validator::execution::StateCertificate;
use serde_json::{Value as Json, json};

use super::executor::NamedExecutor;
use super::store::AttestedStates;

/// A committed block as light clients verify it; the genesis has no certificate.
pub(super) fn certified<X: NamedExecutor>(
    states: &AttestedStates<X>,
    height: Height,
) -> Result<Option<CertifiedBlock<StateCertificate>>, StateError> {
    let StoredBlock { header: Header { id, slot, .. }, roots } = states.block(height)?;
    let value = Value::new(id.to_bytes());
    let attested = states.certificate(height)?;
    Ok(attested.map(|attested| {
        let (epoch, certificate) = (attested.epoch, attested.certificate);
        CertifiedBlock { epoch, slot, value, roots, certificate }
    }))
}

/// The proof of one claim. The committee is that of the first epoch, so no ending lies between.
pub(super) fn proof(
    chain: ChainId,
    block: CertifiedBlock<StateCertificate>,
    claim: Claim,
) -> String {
    hex::encode(StakeProof { chain, endings: Vec::new(), block, claims: vec![claim] }.to_wire())
}

/// An account in the last committed state; `None` if no account can have this name.
///
/// # Errors
/// If the state cannot be read.
pub fn account<X: NamedExecutor>(
    states: &AttestedStates<X>,
    chain: ChainId,
    name: &[u8],
) -> Result<Option<Json>, StateError> {
    let Some(key) = X::account(name) else { return Ok(None) };
    let height = states.committed()?.height;
    let Some(certified) = certified(states, height)? else { return Ok(None) };
    let ProvenRow { value, proof: path } = states.prove(&key)?;
    let about = X::about(value.as_deref())?;
    let claim = Claim::Row { key, value: value.map(|row| row.to_vec()), proof: path };
    let proof = proof(chain, certified, claim);
    Ok(Some(json!({ "account": about, "height": height.get(), "proof": proof })))
}
