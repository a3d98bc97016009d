//! What the checker finds, and what it must find.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod bugs;
mod proofs;
mod rules;
mod schedules;
