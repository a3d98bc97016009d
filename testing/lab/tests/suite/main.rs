//! Whole committees in the simulator, engine by engine and fault by fault.
//!
//! | module                          | committees                                             |
//! |---------------------------------|--------------------------------------------------------|
//! | `faults`, `attacks`, `bites`    | on Jolteon: crashes, lies, false dealings; the checkers find what is broken |
//! | `epochs`                        | that follow one another, on Jolteon and Malachite      |
//! | `malachite`                     | on Malachite                                           |
//! | `trantor`, `dispel`             | on Trantor, and on DISPEL                              |
//! | `load`, `goodput`, `execution`, `observe`, `deployment`, `transactions`, `transcripts` | of the experiments that `prefinal simulate` shows |
//!
//! One program, for each would compile every scheme on every engine again.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod attacks;
mod bites;
mod committee;
mod deployment;
mod dispel;
mod epochs;
mod execution;
mod faults;
mod global;
mod goodput;
mod load;
mod malachite;
mod observe;
mod transactions;
mod transcripts;
mod trantor;
