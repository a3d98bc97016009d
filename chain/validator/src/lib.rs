//! A validator: engine, key generation and beacon as one machine.
//!
//! A party of a chain that has its own engine, from the stakes to its first transaction:
//! ```
//! # use std::sync::Arc;
//! # use prefinal_beacon::Life;
//! # use prefinal_crypto_core::{access::Party, context::ChainId, secret::Secret};
//! # use prefinal_weighted_rounding::{Ratio, Stake};
//! use prefinal_driver::{Driver, Options, Task};
//! use prefinal_engine::Quorum;
//! use prefinal_validator::participant::{Effect, Host, Participant};
//! use prefinal_validator::scheme::Bls;
//! use prefinal_validator::setup::{Algorithm, Identity, Plan, Setup};
//!
//! # let seed = |party: u8| Secret::new([party + 1; 32]);
//! # let new = |party: u8| Arc::new(Identity::from_seed(Party::new(party.into()), seed(party)));
//! # let identities: Vec<_> = (0..4).map(new).collect();
//! # let registrations: Vec<_> = identities.iter().map(|one| one.registration()).collect();
//! # let me = &identities[0];
//! let stakes = [30, 30, 20, 20].map(Stake::new).to_vec();
//! let plan = Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS)?;
//! let setup = Arc::new(Setup::new(ChainId::new([7; 32]), &plan, &registrations)?);
//! let host = Host::new(Quorum::BYZANTINE, Some(0));
//! let make = |records| Participant::<Bls>::new(&setup, me, Life::First, records, host);
//! let pool = |task: Task| task(); // `rayon::spawn`, or whatever pool there is
//! let journal = prefinal_journal::Memory::new(); // a file: `prefinal_journal::Redb`
//! let (driver, effects) = Driver::start(make, journal, pool, Options::default())?;
//!
//! let next = effects.try_recv()?; // its dealing, for the key generation
//! assert!(matches!(next, Effect::Submit { .. }));
//! # drop(driver);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! The engine then calls the driver: [`participant`] has the loop.
//!
//! ```text
//!              ┌──────── ordered transactions ────────► keygen ── epoch ──┐
//!   message ─► engine ─── prefinalized · finalized · abandoned ───────────► beacon ─► value
//!              └──────── vote ─┐            ┌─ fast partial ──────────────┘
//!                              └────────────┴─► one envelope
//! ```
//! The engine announces a prefinalization before it sends its vote, and the beacon is asked in between.
//! So vote and partial leave in one step, after the records of both are durable, and the fast path
//! costs no extra message. An engine whose votes have room carries the partial inside the vote
//! ([`Engine::carry`](prefinal_engine::Engine::carry)). Then the engine's record of the vote is also the record
//! of the release, so no crash can come between the two.
//!
//! [`Validator`] has its own engine, a new one in each epoch. A chain that already has an engine takes
//! [`Participant`]: the same without the engine. If the chain runs on threads or tasks, the participant
//! sits behind the callbacks of [`prefinal_driver::Driver`].
//!
//! | module          | what                                                            |
//! |-----------------|-----------------------------------------------------------------|
//! | [`setup`]       | what a committee agrees on, and what each party keeps to itself |
//! | [`extra`]       | channels whose keys are known with the set-up                   |
//! | [`adopt`]       | going on behind a block that the store has from peers           |
//! | [`application`] | what a validator does with its blocks beside keys and values    |
//! | [`execution`]   | executing blocks, certifying and storing the states they leave  |
//! | [`change`]      | transactions that change the committee, and what members sign  |
//! | [`keygen`]      | from ordered transactions to the epoch's keys                   |
//! | [`handovers`]   | successive key generations, and where epochs begin              |
//! | [`participant`] | everything around an engine, for chains that have their own     |
//! | [`fixed`]       | a sequence of committees that is fixed at the start             |
//! | [`scheme`]      | how threshold BLS and the weighted VUF get keys and show values |
//! | [`term`]        | the engine of one epoch, in the chain's numbering of slots      |
//! | [`transaction`] | the transactions of the key generation                          |
//! | [`vouch`]       | catching up by peers' answers, for a party behind a boundary    |
//!
//! Committees follow one another while the chain runs ([`setup::Succession`]). Each epoch has a key
//! generation, an engine and a beacon, and every message, record and job names its epoch. The numbering
//! of slots continues over all epochs.
//!
//! This crate depends on no particular engine: the caller says how the engine of an epoch starts ([`Begin`]).
#![forbid(unsafe_code)]

pub mod adopt;
pub mod application;
mod beacons;
pub mod change;
mod driven;
mod early;
mod engines;
mod event;
pub mod execution;
pub mod extra;
pub mod fixed;
pub mod handovers;
pub mod keygen;
pub mod participant;
pub mod scheme;
pub mod setup;
pub mod term;
pub mod transaction;
mod validator;
pub mod vouch;
mod words;

pub use crate::application::ChainApplication;
pub use crate::event::{Event, HaltError, StartError};
pub use crate::participant::Participant;
pub use crate::validator::Validator;
pub use crate::words::{
    Begin, Effect, Input, Job, Message, Output, PastLife, Record, RecordOf, Verdict,
};
