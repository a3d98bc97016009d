//! The pipeline, on its own and in the simulator.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

mod bench;
mod certificates;
mod committee;
mod crashes;
mod divergence;
mod failures;
mod forks;
mod latency;
mod ledger;
mod network;
mod randomness;
