//! Validators as processes: four, seven and sixteen of them on this machine, killed, cut off, slowed down, attacked.
//!
//! Every run ends with the same check: no round has two values, none is missing, and everybody has the one key.
//! Delays come from a relay in the test's own process. `-- --ignored` runs the long one: processes that are
//! killed at random for ten minutes, or for as many as `PREFINAL_MINUTES` says.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    reason = "a test fails by panicking"
)]

mod faults;
mod hostile;
mod lives;
mod net;
mod relay;
