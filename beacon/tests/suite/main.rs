//! The beacon against the contract, known bad schedules, faulty peers and crashes, with real
//! cryptography in small committees.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod algorithms;
mod contract;
mod crashes;
mod faults;
mod fixture;
mod network;
mod properties;
mod requests;
mod schedules;
mod wire;
