//! The pipeline, on its own and in the simulator.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod bench;
mod certificates;
mod crashes;
mod divergence;
mod forks;
mod latency;
mod ledger;
mod network;
mod randomness;
