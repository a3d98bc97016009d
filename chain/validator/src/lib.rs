//! A validator: engine, key generation and beacon as one machine.
//!
//! ```text
//!              ┌──────── ordered transactions ────────► keygen ── epoch ──┐
//!   message ─► engine ─── prefinalized · finalized · abandoned ───────────► beacon ─► value
//!              └──────── vote ─┐            ┌─ fast partial ──────────────┘
//!                              └────────────┴─► one envelope
//! ```
//! The engine says that it prefinalizes before it sends its vote, and the beacon is asked in between.
//! So vote and partial leave in one step, behind the records of both, and the fast path costs no
//! message of its own. An engine whose votes have room carries the partial inside ([`Engine::carry`](engine::Engine::carry));
//! then the engine's record of the vote is the record of the release as well, so that no crash can come
//! between the two.
//!
//! [`Validator`] brings its own engine, a new one in each epoch. A chain that has an engine already takes
//! [`Participant`]: the same without the engine, behind the callbacks of [`driver::Driver`] if the chain
//! runs on threads or tasks.
//!
//! | module          | what                                                            |
//! |-----------------|-----------------------------------------------------------------|
//! | [`setup`]       | what a committee agrees on, and what each party keeps to itself |
//! | [`beside`]      | channels whose keys are known with the set-up                   |
//! | [`keygen`]      | from ordered transactions to the epoch's keys                   |
//! | [`handovers`]   | key generation after key generation, and where epochs begin     |
//! | [`participant`] | everything around an engine, for chains that have their own     |
//! | [`rota`]        | committees that follow one another as it was decided at the start |
//! | [`scheme`]      | what threshold BLS and the weighted VUF need for that           |
//! | [`term`]        | the engine of one epoch, on the chain's line of slots           |
//! | [`transaction`] | what the key generation puts into blocks                        |
//! | [`vouch`]       | what peers say is final, for a party behind a boundary          |
//!
//! Committee follows committee while the chain runs ([`setup::Succession`]): each epoch has a key generation,
//! an engine and a beacon, and every message, record and job names its epoch. The slots go on counting.
//!
//! It names no engine: a caller says how the engine of an epoch starts ([`Begin`]).
#![forbid(unsafe_code)]

mod beacons;
pub mod beside;
mod driven;
mod early;
mod engines;
mod event;
pub mod handovers;
pub mod keygen;
pub mod participant;
pub mod rota;
pub mod scheme;
pub mod setup;
pub mod term;
pub mod transaction;
mod validator;
pub mod vouch;
mod words;

pub use crate::event::{Event, HaltError, StartError};
pub use crate::participant::Participant;
pub use crate::validator::Validator;
pub use crate::words::{Begin, Effect, Input, Job, Message, Output, Record, Verdict};
