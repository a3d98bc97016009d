//! A committee of four whose engine talks to sidecars only, what it may not do, and what others may not do to
//! it.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod clients;
mod committee;
mod durable;
mod engine;
mod requests;
mod socket;
mod streams;

use prefinal_sidecar::{CODE, FIRST_SLOT};
use tonic::{Code, Status};

/// The code and the stable code of a refusal.
fn codes(status: &Status) -> (Code, &str) {
    let code = status.metadata().get(CODE).map(|code| code.to_str().unwrap());
    (status.code(), code.unwrap_or(""))
}

fn first_slot(status: &Status) -> u64 {
    status.metadata().get(FIRST_SLOT).unwrap().to_str().unwrap().parse().unwrap()
}
