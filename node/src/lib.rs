//! The `prefinal` command: devnet, simulate, round, verify, timelock.
//!
//! | module        | what                                                                |
//! |---------------|---------------------------------------------------------------------|
//! | [`cli`]       | what can be asked                                                   |
//! | [`failure`]   | how a command fails                                                 |
//! | [`output`]    | what it prints, and the files it leaves                             |
//! | [`stakes`]    | stake tables from files                                             |
//! | [`committee`] | the committee that a command runs: stakes, rounding, places         |
//! | [`setup`]     | what a committee agrees on, and what each party keeps to itself      |
//! | [`engine`]    | the engines by their names, and the keys that each signs with       |
//! | [`registry`]  | every scheme on every engine, decided in one place                  |
//! | [`validator`] | engine, key generation and beacon as one machine                    |
//! | [`keygen`]    | from ordered transactions to the epoch's keys                       |
//! | [`scheme`]    | what threshold BLS and the weighted VUF need for that               |
//! | [`transaction`] | what the key generation puts into blocks                          |
//! | [`devnet`]    | real time: tasks, bytes, one thread pool                            |
//! | [`simulate`]  | virtual time: the paper's latency experiment                        |
//! | [`chronicle`] | values with everything that it takes to verify them, as a file      |
//! | [`waits`]     | how long values were awaited: table, CSV, plot                      |
//! | [`round`], [`verify`] | the commands of these names                                 |
//! | `timelock`    | the command of this name, with the feature of this name             |
//!
//! The validator is a machine like its parts; only `devnet` knows a clock. Elsewhere: the parts
//! themselves (`jolteon`, `pvss_dkg`, `beacon`), virtual time (`sim`).
#![forbid(unsafe_code)]

#[macro_use]
pub mod output;

pub mod archive;
mod chart;
pub mod chronicle;
pub mod cli;
pub mod committee;
pub mod devnet;
pub mod engine;
pub mod failure;
pub mod http;
mod interrupt;
pub mod journal;
pub mod keygen;
pub mod registry;
pub mod round;
pub mod scheme;
pub mod setup;
pub mod simulate;
pub mod stakes;
mod table;
#[cfg(feature = "timelock")]
pub mod timelock;
pub mod transaction;
pub mod validator;
pub mod verify;
pub mod waits;
