//! Whatever a client, a full node or a file of the state holds: a typed error, or something with this one
//! encoding. The first byte says which decoder gets the rest.
use prefinal_execution::{Header, Record};
use prefinal_state::SystemTransaction;
use prefinal_state::evm::{EvmReceipt, SignedEnvelope};
use prefinal_state::proof::{ListProof, ListRoot, ProofError, StateKey, StateProof, StateRoot};
use prefinal_state::transfers::{Receipt, SignedTransfer};

use crate::canonical;

pub(crate) fn run(data: &[u8]) {
    let Some((decoder, bytes)) = data.split_first() else { return };
    match decoder % 8 {
        0 => {
            if let Ok(transfer) = SignedTransfer::decode(bytes) {
                assert_eq!(transfer.bytes().as_slice(), bytes);
            }
            if let Some(system) = SystemTransaction::from_bytes(bytes) {
                assert_eq!(system.to_bytes(), bytes);
                assert!(SignedTransfer::decode(bytes).is_err());
            }
        }
        1 => {
            if let Ok(envelope) = SignedEnvelope::decode(bytes) {
                assert_eq!(envelope.bytes(), bytes);
            }
        }
        2 => rows(bytes),
        3 => positions(bytes),
        4 => canonical::<Header>(bytes),
        5 => canonical::<Record<Vec<u8>>>(bytes),
        6 => canonical::<Receipt>(bytes),
        _ => canonical::<EvmReceipt>(bytes),
    }
}

/// Nobody finds hashes that lead to a root of zeros.
fn rows(bytes: &[u8]) {
    canonical::<StateProof>(bytes);
    let Ok(proof) = borsh::from_slice::<StateProof>(bytes) else { return };
    let root = borsh::from_slice::<StateRoot>(&[0; 32]).expect("32 bytes");
    let key = StateKey::new(0, b"name");
    let present = proof.verify(root, key, Some(b"value"));
    let absent = proof.verify(root, key, None);
    assert!(present.is_err());
    assert!(absent.is_err());
    // A proof is one of presence or one of absence.
    assert!(present != Err(ProofError::Root) || absent != Err(ProofError::Root));
}

fn positions(bytes: &[u8]) {
    canonical::<ListProof>(bytes);
    let Ok(proof) = borsh::from_slice::<ListProof>(bytes) else { return };
    let root = borsh::from_slice::<ListRoot>(&[0; 32]).expect("32 bytes");
    assert!(proof.verify(root, &[1; 32]).is_err());
}
