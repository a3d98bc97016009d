//! What the checker finds, and what it must find.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod bugs;
mod conformance;
mod proofs;
mod rules;
mod schedules;
