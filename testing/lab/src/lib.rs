//! Committees in virtual time: what the command and the Python package measure on.
//!
//! | module         | what                                                                      |
//! |----------------|---------------------------------------------------------------------------|
//! | [`legible`]    | what experiments ask of an engine beside its protocol                     |
//! | [`latency`]    | the paper's experiment: slow path against fast path                       |
//! | [`campaign`]   | thousands of executions under attack, on every engine                     |
//! | [`check`], `view` | what must hold of whole validators; `finality`: what is final          |
//! | [`thresholds`] | Theorem 6.1: tight thresholds against ramps, and what total weight buys   |
//! | [`observe`]    | a run event by event, for those who analyse it elsewhere                  |
//! | [`committee`]  | the host: real machines in the simulator, each thing computed once        |
//! | `known`        | what was checked for one party need not be for the next                   |
//! | `ground`       | keys, and what the key generation has computed                            |
//! | [`machine`]    | the validator's types, on Jolteon                                         |
//! | [`once`]       | what all parties of a process would compute alike                         |
//! | `seating`      | whose seat each seat is                                                   |
//! | `seen`         | what is noted of a run                                                    |
//! | [`waits`]      | how long values were awaited                                              |
//! | `prices`       | what work is charged; [`costs`]: primitives, measured                     |
//! | [`stakes`]     | stake tables from files                                                   |
//!
//! Engine, key generation, beacon and cryptography are the real ones; the network is that of
//! [`sim`], and cryptography costs what it was measured to cost at the start. Nothing here prints
//! or writes.
#![forbid(unsafe_code)]

pub mod campaign;
pub mod check;
pub mod committee;
pub mod costs;
mod failure;
mod finality;
mod ground;
mod known;
pub mod latency;
pub mod legible;
pub mod lives;
pub mod machine;
mod memo;
pub mod observe;
pub mod once;
mod place;
mod prices;
mod seating;
mod seen;
pub mod stakes;
pub mod thresholds;
mod view;
pub mod waits;

pub use crate::costs::Costs;
pub use crate::failure::Failure;
pub use crate::place::place;
