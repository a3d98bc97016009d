//! What parties do across epochs, one machine or driver each, without the simulator.
//!
//! | module      | who                                                                        |
//! |-------------|----------------------------------------------------------------------------|
//! | `adopt`     | parties that go on behind a block that their store has from peers          |
//! | `handover`  | key generations alone: a key is handed over to other stakes                |
//! | `handovers` | the order of three epochs                                                  |
//! | `driver`    | participants behind drivers: two handovers, crashes anywhere               |
//! | `change`    | participants whose chain changes its committee by transactions             |
//! | `execution` | the host of the pipeline alone, without an engine                          |
//! | `early`     | the same, told of slots before their blocks                                |
//! | `committees` | the same, while the committee changes                                     |
//! | `sum`       | an executor and a store for the host                                       |
//! | `joins`     | validators with an engine in each epoch: one joins without an engine       |
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod adopt;
mod change;
mod committees;
mod driver;
mod early;
mod execution;
mod handover;
mod handovers;
mod joins;
mod sum;
