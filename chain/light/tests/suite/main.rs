//! What a client believes, and what it does not.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a test fails by panicking"
)]

mod attacks;
mod beacon;
mod chain;
mod follow;
mod keys;
mod vectors;
mod vuf;
mod wire;
