//! The engine as a program uses it: several in one process, over the loopback.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod attacks;
mod crashes;
mod files;
mod host;
mod runs;
