//! Validators as processes: four, seven and sixteen of them on this machine, killed, cut off, slowed down, attacked.
//!
//! Every run ends with the same check: no round has two values, none is missing, and everybody has the one key.
//! Delays come from a relay in the test's own process. What is ignored takes minutes or needs more than Rust:
//!
//! | `-- --ignored`                  | what it does                                                          |
//! |---------------------------------|-----------------------------------------------------------------------|
//! | `many_that_are_killed_at_random`| for ten minutes, or as many as `PREFINAL_MINUTES` says, with four     |
//! |                                 | validators, or as many as `PREFINAL_VALIDATORS` says                  |
//! | `sixteen_over_the_world_go_on` | one of sixteen is killed, and comes back                              |
//! | `costs_and_waits_over_the_world`| prints bytes, processor time and waits, beside the simulator's        |
//! | `drands_go_client`              | drand's client in Go verifies a validator's chain                     |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    reason = "a test fails by panicking"
)]

mod change;
mod clients;
mod execution;
mod faults;
mod figures;
mod hostile;
mod impostor;
mod lives;
mod net;
mod relay;
mod sidecar;
