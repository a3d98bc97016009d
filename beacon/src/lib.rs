//! One threshold output per slot, ready when the slot is final.
//!
//! An engine finalizes one value per slot. A [`Beacon`] follows the engine. It releases this party's partials
//! under the release contract, collects the partials of the others, and reveals one output per slot, in the
//! order of the slots. It is a [`prefinal_protocol::Machine`]: it has no clocks, threads, sockets or
//! randomness.
//!
//! | [`Paths`]     | partials leave on                       | output after finality              |
//! |---------------|-----------------------------------------|------------------------------------|
//! | `Slow`        | finalize                                | one message delay (Algorithm 1)    |
//! | `Tight`       | prefinalize, or finalize if not yet     | none (Algorithm 2)                 |
//! | `FastAndSlow` | fast on prefinalize, slow on finalize   | none in synchrony (Algorithm 3)    |
//!
//! | module      | contents                                                          |
//! |-------------|-------------------------------------------------------------------|
//! | [`contract`] | when a partial may leave: the contract, rule by rule              |
//! | [`guide`]   | chapters for engineers who build on a beacon                      |
//! | `beacon`    | the machine                                                       |
//! | `collector` | takes the partials of one slot, gives jobs                        |
//! | `history`   | finished slots that can still be answered                         |
//! | `job`       | pairings, as plain data that a driver runs where it likes         |
//! | `schemes`   | the functions: threshold BLS, the weighted VUF, multi-signatures, slot decryption |
//! | `laws`      | what every scheme must satisfy, as a test suite for other crates (feature `laws`) |
//! | [`epochs`]  | committee after committee, without a gap                          |
//! | [`stack`]   | several schemes side by side, under one stream of events          |
//! | `switch`    | turns a scheme, or its fast path alone, off and on at a slot      |
//! | `config`    | what a committee agreed on, and limits                            |
//! | `config_error` | why a configuration is refused                                 |
//! | `finality`  | which stake makes a value final, and which thresholds fit it      |
//! | `event`     | inputs and outputs, faults and refusals                           |
//! | `wire`      | the messages that are sent and the records that are stored        |
//!
//! A driver carries the outputs out, in order:
//!
//! ```
//! use prefinal_beacon::{Beacon, Bls, Effect, Input, Output, Record};
//! use prefinal_protocol::{Instant, Machine};
//!
//! fn drive(beacon: &mut Beacon<Bls>, now: Instant, input: Input<Bls>, log: &mut Vec<Record>) {
//!     beacon.handle(now, input);
//!     while let Some(output) = beacon.poll() {
//!         match output {
//!             // Durable before the next output is looked at.
//!             Output::Keep(record) => log.push(record),
//!             // Durable some time.
//!             Output::Note(record) => log.push(record),
//!             Output::Do(Effect::Send { to, message }) => println!("to {to:?}: {message:?}"),
//!             // Here at once; a driver with a pool hands the verdict back later.
//!             Output::Do(Effect::Check(job)) => beacon.handle(now, Input::Checked(job.run())),
//!             Output::Do(Effect::Reveal(reveal)) => println!("{}: {:?}", reveal.slot, reveal.output),
//!             Output::Do(other) => println!("{other:?}"),
//!         }
//!     }
//! }
//! ```
//!
//! See also: the functions themselves (`prefinal_crypto_core::threshold`, `prefinal_crypto_core::wvuf`),
//! where the shares come from (`prefinal_pvss_dkg`), an engine (`jolteon`), and programs that carry outputs
//! out (`sim` in virtual time, `node` in real time).
#![forbid(unsafe_code)]

mod beacon;
mod collector;
mod config;
mod config_error;
pub mod epochs;
mod event;
pub mod guide;
mod history;
mod job;
#[cfg(feature = "laws")]
pub mod laws;
mod schemes;
pub mod stack;
mod switch;
mod wire;

pub use crate::beacon::{Beacon, Footprint, Foresights};
pub use crate::config::{Config, Keys, Limits, Paths};
pub use crate::config_error::ConfigError;
pub use crate::event::{Effect, Fault, Input, Output, Refusal, Reveal};
pub use crate::job::{Finding, Held, Job, Verdict, Work};
pub use crate::schemes::{
    Ahead, Batch, Bls, Bounds, Combined, Contained, Content, ContentError, Contents, Decrypting,
    Decryption, DecryptionShares, Foreseen, Foresight, Function, KeyError, LateKey, LateKeys,
    MultiSig, NoContents, NoForesight, NoLateKeys, OtherGroupKey, PartialsError, Plaintexts,
    Random, Scheme, ShapeError, Sharing, ShownError, Statement, Unopened, Unusable, Wvuf,
    check_weight,
};
pub use crate::switch::{Mode, Switch, SwitchError};
pub use crate::wire::{Message, Record};
pub use prefinal_contract as contract;
pub use prefinal_contract::lost::{Life, LifeId, Lost};
pub use prefinal_contract::{
    Amount, Binding, Finality, FinalityError, Path, Quorum, ThresholdError, Withheld,
};
pub use prefinal_protocol::{Slot, Value, View};
