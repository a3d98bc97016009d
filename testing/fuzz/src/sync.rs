//! What followers and their peers send each other: a typed error, or a message with this one encoding, whose lists
//! have no more items than are allowed.
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::Certificate;
use prefinal_sync::wire::{MAX_ITEMS, Payload, Request, Summary};

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
        _ => assert!(Request::from_wire(data).is_err() && Summary::from_wire(data).is_err()),
    }
}
