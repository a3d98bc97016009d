//! Committees in virtual time: the measurements of the command and of the Python package.
//!
//! | module         | what it holds                                                             |
//! |----------------|---------------------------------------------------------------------------|
//! | [`legible`]    | what experiments need from an engine in addition to its protocol          |
//! | [`latency`]    | the paper's experiment: slow path against fast path                       |
//! | [`dealt`]      | the same for large committees: keys dealt before, ideal cryptography at real prices |
//! | [`load`]       | latency over throughput: clients in a closed loop on Trantor; `load::goodput`: an open load on DISPEL, beside a leader |
//! | [`execution`]  | from a transaction to its certified, durable state: throughput against latency |
//! | [`sync`]       | followers of a chain: naive against pipelined, and among hostile peers     |
//! | [`campaign`]   | thousands of executions under attack, on every engine                     |
//! | [`check`], `view` | what must hold of whole validators; `finality`: what is final          |
//! | [`global`]     | when anybody could know that a slot is final, and when anybody could compute its value |
//! | [`local`]      | whether a party has a value as soon as it knows that the slot is final, and why not |
//! | [`transcripts`] | key generation by transcripts: one aggregate on the chain, beside every dealing on it |
//! | [`thresholds`] | Theorem 6.1: tight thresholds against ramps, and what total weight buys   |
//! | [`observe`]    | a run event by event, for analysis in other programs; [`faults`]: what goes wrong in it |
//! | [`committee`]  | the host: real machines in the simulator, each thing computed once        |
//! | `known`        | results of checks, shared by all parties                                  |
//! | `ground`       | keys, and what the key generation has computed                            |
//! | [`machine`]    | the validator's types, on Jolteon                                         |
//! | [`cache`]      | results that are the same for all parties of a process                    |
//! | `seating`      | which party sits in which seat                                            |
//! | `seen`         | the notes of a run                                                        |
//! | [`waits`]      | how long parties waited for values; [`timeline`]: what happened to each slot |
//! | `prices`       | the price of each piece of work; [`costs`]: primitives, measured          |
//! | [`stakes`]     | stake tables from files; [`weighing`]: committees with other weights than usual; [`methods`]: rounding as other chains have it |
//!
//! Engine, key generation, beacon and cryptography are the real ones. The network is that of [`prefinal_sim`],
//! and cryptography costs what was measured at the start. Nothing here prints or writes.
#![forbid(unsafe_code)]

pub mod cache;
pub mod campaign;
pub mod check;
pub mod committee;
pub mod costs;
pub mod dealt;
pub mod execution;
mod failure;
pub mod faults;
mod finality;
pub mod global;
mod ground;
mod known;
pub mod latency;
pub mod legible;
pub mod lives;
pub mod load;
pub mod local;
pub mod machine;
mod memo;
pub mod methods;
pub mod observe;
mod place;
pub mod priced;
mod prices;
mod seating;
mod seen;
pub mod stakes;
pub mod sync;
pub mod thresholds;
pub mod timeline;
pub mod transcripts;
mod view;
pub mod waits;
pub mod weighing;

pub use crate::costs::Costs;
pub use crate::failure::Failure;
pub use crate::place::{place, place_in, place_on};
