//! The `prefinal` command: devnet, follow, simulate, round, verify, timelock.
//!
//! | module        | what                                                                |
//! |---------------|---------------------------------------------------------------------|
//! | [`cli`]       | what can be asked                                                   |
//! | [`output`]    | what it prints, and the files it leaves                             |
//! | [`committee`] | the committee that a command runs: stakes, rounding, places; [`weighing`]: other ones |
//! | [`party`]     | one validator as a task: its links, its journal, its jobs; `memory`: what it may use more |
//! | [`devnet`]    | real time: a committee of such tasks in one process                 |
//! | [`execution`] | its blocks executed: states, transactions, a load                   |
//! | [`follow`]    | a full node of such a devnet, which verifies everything             |
//! | [`http`]      | its values over HTTP                                                |
//! | [`journal`], [`archive`] | what a devnet leaves on disk                             |
//! | [`simulate`]  | virtual time: what is asked of `lab`, and how it is shown           |
//! | [`waits`]     | how long values were awaited: table and plot                        |
//! | [`round`], [`verify`] | the commands of these names                                 |
//! | `timelock`    | the command of this name, with the feature of this name             |
//!
//! Here are files, sockets, HTTP and the command line, and only `devnet`, `party` and `follow` know a clock. What
//! runs is a [`prefinal_validator`], with a scheme and an engine that [`prefinal_registry`] knows by name.
#![forbid(unsafe_code)]

#[macro_use]
pub mod output;

pub mod archive;
pub mod changes;
mod choice;
pub mod cli;
pub mod committee;
pub mod devnet;
pub mod execution;
pub mod follow;
pub mod http;
mod interrupt;
pub mod journal;
mod memory;
pub mod party;
pub mod round;
pub mod simulate;
mod table;
#[cfg(feature = "timelock")]
pub mod timelock;
#[cfg(all(unix, feature = "validator"))]
pub mod validator;
pub mod verify;
pub mod waits;
pub mod weighing;
