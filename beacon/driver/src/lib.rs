//! Beacons behind callbacks, for engines that run on threads or tasks.
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
//! use prefinal_beacon::{Beacon, Effect, Slot, Value, View};
//! use prefinal_driver::{Driver, Options, Task};
//! use prefinal_journal::Memory;
//!
//! # let config = config(1, 1);
//! let make = |records: Vec<_>| Beacon::new(config, &records); // here of a committee of one party
//! let pool = |task: Task| task(); // `rayon::spawn`, or whatever pool there is
//! let (driver, effects) = Driver::start(make, Memory::new(), pool, Options::default())?;
//!
//! let (slot, value) = (Slot::new(1), Value::new([7; 32]));
//! let partial = driver.on_prefinalize(slot, View::new(slot, 0), value)?; // before the vote is sent
//! assert!(partial.is_some()); // send it along
//! driver.on_finalize(slot, Some(value))?;
//! let mut revealed = Vec::new();
//! while let Ok(effect) = effects.try_recv() {
//!     if let Effect::Reveal(reveal) = effect {
//!         revealed.push(reveal.slot);
//!     }
//! }
//! assert_eq!(revealed, [slot]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An engine that embeds a beacon calls four functions and reads one stream. [`Driver`] keeps the
//! machine behind a lock and writes its records to a journal. Work that takes time runs on a thread pool
//! that the caller owns. The driver starts no thread and needs no runtime.
//!
//! ```text
//!  engine   on_prefinalize ─► partial for the vote's envelope ─┐
//!           on_finalize, on_view_abandoned ────────────────────┼─► Journaled<machine> ─► effects
//!  network  on_message ──► inbox, bounded for each peer ───────┤        │      ▲
//!  timer    tick ──────────────────────────────────────────────┘        └ jobs ┘ pool
//! ```
//! The machine can be any type that implements [`DrivenMachine`]:
//!
//! | machine | what it runs | how the committee changes |
//! |---|---|---|
//! | [`Beacon`](prefinal_beacon::Beacon) | one scheme, one committee | it does not change |
//! | [`Stack`](prefinal_beacon::stack::Stack) | a list of schemes, epoch after epoch | [`Driver::change`], with keys that the host makes |
//! | `Participant`, of `prefinal-validator` | a list of schemes, and it generates the keys of one | by what the chain orders |
//!
//! | call                | returns when                                             | never                        |
//! |---------------------|----------------------------------------------------------|------------------------------|
//! | `on_prefinalize`    | the record is durable; it gives the partial, if one may leave | is dropped              |
//! | `on_finalize`       | the final slot is durable and the slow partial is an effect | is dropped                |
//! | `on_view_abandoned` | the abandoned view is durable: sign the timeout after it | is dropped                   |
//! | `on_message`        | the message is in the inbox; often it is handled by then | waits for a disk or a pairing |
//!
//! The first three calls wait for the journal, as the vote itself must. In asynchronous code this is a
//! blocking write to a disk, so call them where a blocking write is allowed.
//!
//! Messages wait in an inbox. It is bounded for each peer, in messages and in bytes ([`Options`]). The
//! thread that holds the machine empties the inbox: calls of the engine first, then a limited number of
//! messages (a *turn*). It takes messages only while there are few enough jobs on the pool and few enough
//! unread effects. The pool continues with the rest. If a peer's places are taken, its next message is
//! dropped and the caller gets an error. The protocol asks again for what it needs.
//!
//! Parties are numbered within an epoch. So the inbox has room for each (epoch, party), and a new epoch
//! adds room for its own parties.
//!
//! | module   | contents                                                        |
//! |----------|-----------------------------------------------------------------|
//! | `driver` | the callbacks                                                    |
//! | `shared` | the machine under its lock: inputs in, effects and jobs out       |
//! | `inbox`  | what waits for the machine                                       |
//! | `jobs`   | what is on the pool, and what the pool lost                      |
//! | `options` | the driver's limits, and figures for monitoring                 |
//! | `pool`   | the caller's threads, on which jobs run                          |
//! | `driven` | the trait of machines that a driver can run                      |
//! | `error`  | why calls are refused                                            |
//! | [`guide`] | how to embed the driver in your engine, with a complete example |
//!
//! See also: the rules for when a partial may leave (`beacon`), what survives a crash (`journal`), and
//! engines that are machines themselves and need no driver (`node`).
#![forbid(unsafe_code)]

mod driven;
mod driver;
mod error;
mod inbox;
mod jobs;
mod options;
mod pool;
mod shared;

#[doc = include_str!("guide.md")]
pub mod guide {}

pub use crate::driven::{DrivenMachine, Records, Summary};
pub use crate::driver::{Driver, StartError};
pub use crate::error::{MessageError, StopReason};
pub use crate::options::{Figures, Options};
pub use crate::pool::{Pool, Task};
pub use async_channel::Receiver;
