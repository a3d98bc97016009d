//! The state, its store, and executors on it, by what they promise.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a test fails by panicking"
)]

mod chain;
mod crash;
#[cfg(feature = "evm")]
mod evm;
#[cfg(feature = "evm")]
mod evm_check;
mod proofs;
mod ranges;
mod restore;
mod store;
mod system;
mod transfers;
mod tree;
