//! Whatever bytes a peer, a block or a file holds: a typed error, or something that encodes back to
//! the same bytes. The first byte says which decoder gets the rest.
//!
//! `cargo +nightly fuzz run bytes`
#![no_main]

use std::sync::OnceLock;

use borsh::{BorshDeserialize, BorshSerialize};
use libfuzzer_sys::fuzz_target;
use prefinal_beacon::stack::Envelope;
use prefinal_beacon::{Decryption, MultiSig};
use prefinal_lab::machine::MessageOf;
use prefinal_lab::stakes::StakeTable;
use prefinal_pvss_dkg::{Aggregate, Config, Dealing, KeyRegistration, field};
use prefinal_registry::Trantor;
use prefinal_registry::chronicle::Chronicle;
use prefinal_registry::scheme::{Bls, Wvuf};
use prefinal_validator::setup::{Algorithm, Plan, found};
use prefinal_validator::transaction::SignedKeys;
use prefinal_weighted_rounding::{Ratio, Stake};

fuzz_target!(|data: &[u8]| {
    let Some((decoder, bytes)) = data.split_first() else { return };
    match decoder % 12 {
        0 => canonical::<Vec<MessageOf<Wvuf>>>(bytes),
        1 => canonical::<SignedKeys>(bytes),
        2 => canonical::<KeyRegistration>(bytes),
        3 => {
            if let Ok(dealing) = Dealing::from_bytes(config(), bytes) {
                assert_eq!(dealing.to_bytes(), bytes);
            }
        }
        4 => {
            if let Ok(aggregate) = Aggregate::from_bytes(config(), bytes) {
                assert_eq!(aggregate.to_bytes(), bytes);
            }
        }
        5 => drop(Chronicle::parse(bytes)),
        6 => canonical::<Vec<MessageOf<Bls>>>(bytes),
        7 => {
            if let Ok(dealing) = field::Dealing::from_bytes(config(), bytes) {
                assert_eq!(dealing.to_bytes(), bytes);
            }
        }
        8 => canonical::<Envelope<(Bls, (MultiSig, (Decryption, ())))>>(bytes),
        9 => canonical::<Envelope<(Wvuf, (MultiSig, (Decryption, ())))>>(bytes),
        10 => canonical::<Vec<MessageOf<Wvuf, Trantor>>>(bytes),
        _ => {
            if let Ok(text) = std::str::from_utf8(bytes) {
                drop(StakeTable::parse("fuzz", text));
            }
        }
    }
});

/// One value, one encoding.
fn canonical<T: BorshDeserialize + BorshSerialize>(bytes: &[u8]) {
    if let Ok(value) = borsh::from_slice::<T>(bytes) {
        assert_eq!(borsh::to_vec(&value).expect("memory"), bytes);
    }
}

/// The smallest committee, so that a dealing is short.
fn config() -> &'static Config {
    static CONFIG: OnceLock<std::sync::Arc<Config>> = OnceLock::new();
    CONFIG.get_or_init(|| {
        let stakes = vec![Stake::new(1); 4];
        let plan = Plan::new(stakes, Algorithm::Tight, Ratio::ONE).expect("four parties");
        found(&plan, 1).expect("a plan has a set-up").0.keygen
    })
}
