//! Threshold cryptography for BFT blockchains: a committee weighted by stake evaluates a function of a
//! shared secret for every block, and the result is there when the block is final.
//!
//! A chain that has an engine starts a party with `create`. It reports by `on_prefinalize`, `on_finalize`,
//! `on_view_abandoned`, `on_message` and `tick`, and carries out the effects. An excerpt:
//!
//! ```no_run
//! # #[cfg(feature = "chain")] mod example {
//! use prefinal::{Algorithm, Bls, ChainId, Effect, Event, Host, Plan, Quorum, Ratio, Setup};
//! # use prefinal::{Block, Failure, Identity, Registration, Slot, Stake, View};
//!
//! # fn run(stakes: Vec<Stake>, registrations: &[Registration], me: Identity, block: Block) -> Result<(), Failure> {
//! // Stakes become small weights; with both paths, five sixths of the stake are enough for the fast one.
//! let plan = Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS)?;
//! let setup = Setup::new(ChainId::new(*b"an identifier of 32 bytes, so so"), &plan, registrations)?;
//! // Two thirds of the stake make a value final; the votes of a slot's first view release partials.
//! let host = Host::new(Quorum::BYZANTINE, Some(0));
//! let (driver, effects) = prefinal::create::<Bls>("journal.redb", setup, me, host)?;
//!
//! # let (slot, view) = (Slot::new(1), View::new(Slot::new(1), 0));
//! let partial = driver.on_prefinalize(slot, view, block.value)?; // before the vote; send it along
//! driver.on_finalize(slot, Some(block))?;
//! while let Ok(effect) = effects.recv_blocking() {
//!     if let Effect::Tell(Event::Revealed(value)) = effect {
//!         println!("{}: {:?}", value.slot, value.output);
//!     }
//! }
//! # drop(partial);
//! # Ok(())
//! # }
//! # }
//! ```
//! `examples/chain` in the repository is a whole chain of seven processes in this way, with key generation,
//! a crash, a change of the committee and a party that cheats.
//!
//! | module | crate | what it is for | feature |
//! |---|---|---|---|
//! | [`crypto`] | `prefinal-crypto-core` | threshold BLS, the weighted VUF, certificates, encryption, drand's rounds | |
//! | [`rounding`] | `prefinal-weighted-rounding` | stake becomes small weights, with proof that the thresholds hold | |
//! | [`dkg`] | `prefinal-pvss-dkg` | keys without a dealer, and their handover | |
//! | [`beacon`] | `prefinal-beacon` | what a party releases, and when | |
//! | [`protocol`] | `prefinal-protocol` | slots, views, parties, epochs: the words that all share | |
#![cfg_attr(
    feature = "driver",
    doc = "| [`driver`] | `prefinal-driver` | a beacon behind callbacks | `driver` |\n\
           | [`journal`] | `prefinal-journal` | durable before sent | `driver` |"
)]
#![cfg_attr(
    feature = "chain",
    doc = "| [`engine`] | `prefinal-engine` | the words of an engine | `chain` |\n\
           | [`chain`] | `prefinal-validator` | everything that a party does around an engine | `chain` |"
)]
#![cfg_attr(
    feature = "timelock",
    doc = "| [`timelock`] | `prefinal-timelock` | files that open at a round | `timelock` |"
)]
//!
//! With `default-features = false` and one of `blst` (C and assembly) and `arkworks` (pure Rust, for browsers
//! too), the first five modules are there.
#![forbid(unsafe_code)]

#[cfg(feature = "chain")]
mod start;

#[doc(inline)]
pub use prefinal_beacon as beacon;
#[doc(inline)]
pub use prefinal_crypto_core as crypto;
#[doc(inline)]
pub use prefinal_protocol as protocol;
#[doc(inline)]
pub use prefinal_pvss_dkg as dkg;
#[doc(inline)]
pub use prefinal_weighted_rounding as rounding;

#[cfg(feature = "driver")]
#[doc(inline)]
pub use prefinal_driver as driver;
#[cfg(feature = "driver")]
#[doc(inline)]
pub use prefinal_journal as journal;

#[cfg(feature = "chain")]
#[doc(inline)]
pub use prefinal_engine as engine;
#[cfg(feature = "chain")]
#[doc(inline)]
pub use prefinal_validator as chain;

#[cfg(feature = "timelock")]
#[doc(inline)]
pub use prefinal_timelock as timelock;

pub use prefinal_beacon::{Bls, Path, Slot, Value, View, Wvuf};
pub use prefinal_crypto_core::access::Party;
pub use prefinal_crypto_core::context::{ChainId, EpochId};
pub use prefinal_crypto_core::secret::Secret;
pub use prefinal_protocol::Recipient;
pub use prefinal_weighted_rounding::{Ratio, Stake};

#[cfg(feature = "chain")]
pub use {
    self::start::{Failure, Message, RunningParty, StartError, create, open},
    prefinal_engine::{Block, Quorum},
    prefinal_validator::Event,
    prefinal_validator::participant::{Effect, Host, Participant},
    prefinal_validator::setup::{Algorithm, Identity, Plan, Registration, Setup},
};
