//! One threshold output per slot, ready when the slot is final.
//!
//! ```
//! # use prefinal_crypto_core::access::{Access, Party, Threshold};
//! # use prefinal_crypto_core::bls::MinSig;
//! # use prefinal_crypto_core::commitment::Commitment;
//! # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
//! # use prefinal_crypto_core::curve::Scalar;
//! # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
//! # use prefinal_crypto_core::secret::Secret;
//! # use prefinal_crypto_core::threshold::{KeyShares, Purpose, Setup, SigningCommittee};
//! # use prefinal_beacon::*;
//! # use prefinal_weighted_rounding::Stake;
//! # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
//! # let me = Party::new(0);
//! # let (access, threshold) = (Access::new(&[1])?, Threshold::new(1, 1)?);
//! # let f = Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
//! # let (placement, purpose) = (Placement::Consecutive, Purpose::Rounds);
//! # let setup = Setup { access, threshold, placement, purpose };
//! # let committee = SigningCommittee::<MinSig>::from_commitment(setup, &Commitment::commit(&f))?;
//! # let sharing = || Sharing {
//! #     committee: committee.clone(),
//! #     secret: Some(KeyShares::new(me, f.shares(committee.points())).check(&committee).unwrap()),
//! # };
//! # let config = |epoch, first| Config::<Bls> {
//! #     context: Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(epoch) },
//! #     me,
//! #     paths: Paths::Tight(sharing()),
//! #     binding: Binding::Slot,
//! #     fast_attempt: Some(0),
//! #     finality: Finality::exact(&[Stake::new(1)], Quorum::BYZANTINE).unwrap(),
//! #     first: Slot::new(first),
//! #     life: Life::First,
//! #     limits: Limits::default(),
//! # };
//! use prefinal_beacon::{Beacon, Effect, Input, Output, Slot, Value, View};
//! use prefinal_protocol::{Instant, Machine};
//!
//! # let (mut disk, mut random, now) = (Vec::new(), None, Instant::START);
//! let mut beacon = Beacon::new(config(1, 1), &[])?; // here of a committee of one party
//! let (slot, value) = (Slot::new(1), Value::new([7; 32]));
//! let vote = Input::Prefinalized { slot, view: View::new(slot, 0), value };
//! for input in [vote, Input::Finalized { slot, value: Some(value) }] {
//!     beacon.handle(now, input);
//!     while let Some(output) = beacon.poll() {
//!         match output {
//!             Output::Keep(record) | Output::Note(record) => disk.push(record), // before the next one
//!             Output::Do(Effect::Check(job)) => beacon.handle(now, Input::Checked(job.run())),
//!             Output::Do(Effect::Reveal(reveal)) => random = Some(reveal.randomness()),
//!             Output::Do(other) => println!("{other:?}"), // send it, report it
//!         }
//!     }
//! }
//! assert!(random.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! A [`Output::Keep`](prefinal_protocol::Output::Keep) is durable before the next output is looked at; an
//! [`Output::Note`](prefinal_protocol::Output::Note) may be durable later. `epochs`, `stack` and the crate
//! `prefinal_driver` have this loop for more than one committee, scheme and thread.
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
pub use crate::job::{Finding, Job, Opaque, Verdict, Work};
pub use crate::schemes::{
    Batch, BatchCommittee, Bls, Bounds, CertifiedRoot, Content, ContentError, ContentInput,
    Contents, Decryption, DecryptionShares, Foresight, Function, KeyError, LateKey, LateKeys,
    MultiSig, NoContents, NoForesight, NoLateKeys, OtherGroupKey, OutputError, PartialsError,
    Plaintexts, Preparation, ProvenOutput, Random, RunningCombination, Scheme, ShapeError, Sharing,
    StateRoot, StateSig, StateStatement, Statement, Unopened, Unusable, Wvuf, check_weight,
};
pub use crate::switch::{Mode, Switch, SwitchError};
pub use crate::wire::{Message, Record};
pub use prefinal_contract as contract;
pub use prefinal_contract::lost::{Life, LifeId, LostSlots};
pub use prefinal_contract::{
    Amount, Binding, Finality, FinalityError, Path, Quorum, ThresholdError, Withheld,
};
pub use prefinal_protocol::{Slot, Value, View};
