//! What followers and their peers send each other: a typed error, or a message with this one encoding, whose lists
//! have no more items than are allowed.
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::PublicKey;
use prefinal_crypto_core::certificate::Certificate;
use prefinal_light::EpochEnding;
use prefinal_state::SnapshotBlock;
use prefinal_state::proof::StateRow;
use prefinal_sync::Attestation;
use prefinal_sync::wire::{MAX_ITEMS, Payload, Request, Summary, payload_of};

/// Bytes of an answer that a follower takes here.
const MOST: u32 = 1 << 16;

type Attested = Attestation<Certificate<MinSig>>;

fn decodes<T: BorshDeserialize + BorshSerialize>(data: &[u8]) {
    if let Ok(value) = borsh::from_slice::<T>(data) {
        assert_eq!(borsh::to_vec(&value).unwrap(), data);
    }
}

pub(crate) fn run(data: &[u8]) {
    match data.split_first() {
        Some((0, data)) => {
            let Ok(payload) = Payload::<Certificate<MinSig>>::decode(data) else { return };
            assert!(payload.items() <= MAX_ITEMS);
            assert_eq!(borsh::to_vec(&payload).unwrap(), data);
        }
        Some((1, _)) => {
            if let Ok(request) = Request::from_wire(data) {
                assert_eq!(request.to_wire(), data);
            }
            if let Ok(summary) = Summary::from_wire(data) {
                assert_eq!(summary.to_wire(), data);
            }
        }
        Some((2, data)) => {
            if let Ok(payload) = payload_of(data, MOST) {
                assert!(payload.len() <= MOST as usize);
                let _ = Payload::<Certificate<MinSig>>::decode(&payload);
            }
        }
        Some((3, data)) => {
            // How a chain begins, as a node tells it; and what a node keeps of endings.
            decodes::<(String, Vec<StateRow>, SnapshotBlock<Attested>, PublicKey, u64)>(data);
            decodes::<Vec<EpochEnding>>(data);
        }
        _ => assert!(Request::from_wire(data).is_err() && Summary::from_wire(data).is_err()),
    }
}
