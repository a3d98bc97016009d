//! Followers and their peers in virtual time, on the real store, under real certificates.
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
mod hostile;
mod keep;
mod limits;
mod modes;
mod places;
mod serve;
mod wire;
mod world;
