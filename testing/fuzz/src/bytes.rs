//! Whatever bytes a peer, a block or a file holds: a typed error, or something that encodes back to
//! the same bytes. The first byte says which decoder gets the rest.
use std::sync::OnceLock;

use prefinal_beacon::stack::Envelope;
use prefinal_beacon::{Decryption, MultiSig};
use prefinal_pvss_dkg::{Aggregate, Config, Dealing, KeyRegistration, field};
use prefinal_registry::chronicle::Chronicle;
use prefinal_registry::scheme::{Bls, Wvuf};
use prefinal_trantor::{HeightContents, ReplicaMessage};
use prefinal_validator::Message;
use prefinal_validator::setup::{Algorithm, Plan, found};
use prefinal_validator::transaction::SignedKeys;
use prefinal_weighted_rounding::{Ratio, Stake};

use crate::canonical;

pub(crate) fn run(data: &[u8]) {
    let Some((decoder, bytes)) = data.split_first() else { return };
    match decoder % 15 {
        0 => canonical::<Frame<Wvuf, prefinal_jolteon::Message>>(bytes),
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
        6 => canonical::<Frame<Bls, prefinal_malachite::Message>>(bytes),
        7 => {
            if let Ok(dealing) = field::Dealing::from_bytes(config(), bytes) {
                assert_eq!(dealing.to_bytes(), bytes);
            }
        }
        8 => canonical::<Envelope<(Bls, (MultiSig, (Decryption, ())))>>(bytes),
        9 => canonical::<Envelope<(Wvuf, (MultiSig, (Decryption, ())))>>(bytes),
        10 => canonical::<Frame<Wvuf, prefinal_trantor::Message>>(bytes),
        11 => canonical::<ReplicaMessage>(bytes),
        12 => canonical::<Frame<Wvuf, prefinal_dispel::Message>>(bytes),
        13 => canonical::<prefinal_dispel::Record>(bytes),
        _ => canonical::<HeightContents>(bytes),
    }
}

/// What a frame between validators holds.
type Frame<S, M> = Vec<Message<S, M>>;

/// The smallest committee, so that a dealing is short.
fn config() -> &'static Config {
    static CONFIG: OnceLock<std::sync::Arc<Config>> = OnceLock::new();
    CONFIG.get_or_init(|| {
        let stakes = vec![Stake::new(1); 4];
        let plan = Plan::new(stakes, Algorithm::Tight, Ratio::ONE).expect("four parties");
        found(&plan, 1).expect("a plan has a set-up").0.keygen
    })
}
