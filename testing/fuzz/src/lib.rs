//! The fuzz targets of all libraries: functions of bytes that panic when they find a bug.
//!
//! | module       | what                                                    | targets                                                |
//! |--------------|---------------------------------------------------------|--------------------------------------------------------|
//! | `partials`   | what parties send of a signature, a decryption, a value | `certificate`, `encryption`, `threshold`, `wvuf`        |
//! | `dealings`   | a committee, and what may be done to its honest bytes   | `aggregate`, `dealing`, `field`, `protocol`             |
//!
//! The other targets stand alone: `decode` (types of `crypto-core`), `solve` (weights), `timelock` (what
//! a relay or a sender gives), `bytes` (messages between parties, files of the command), `state` (transactions
//! and proofs), `light` (what a client is sent), `sync` (what a follower and its peers send), `engine` (what a peer of Malachite's network sends), `home` (files that operators pass on).
//!
//! `tests/fuzz.rs` is the program that libFuzzer drives, `tests/seeds.rs` runs what is in `seeds/` once.
//!
//! This is a member of the workspace, and `xtask/sancov.sh` instruments what is ours and nothing else: so
//! fuzzing shares hundreds of dependencies with the tests, and needs neither a nightly compiler nor a
//! lockfile. What is lost is the address sanitizer, which no stable compiler has: `unsafe` is in the curve's
//! crate alone, whose two backends are compared byte by byte.
#![allow(
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a bug is found by panicking"
)]

mod aggregate;
mod bytes;
mod certificate;
mod dealing;
mod dealings;
mod decode;
mod encryption;
mod engine;
mod field;
mod home;
mod light;
mod partials;
mod protocol;
mod solve;
mod state;
mod sync;
mod threshold;
mod timelock;
mod wvuf;

use arbitrary::{Arbitrary, Unstructured};
use borsh::{BorshDeserialize, BorshSerialize};

/// A function to be fuzzed.
#[derive(Debug)]
pub struct Target {
    /// The target's name, and that of the folder with its seeds.
    pub name: &'static str,
    /// Panics if the input shows a bug.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: [Target; 17] = [
    Target { name: "aggregate", run: aggregate::run },
    Target { name: "bytes", run: bytes::run },
    Target { name: "certificate", run: |bytes| made(bytes, certificate::run) },
    Target { name: "dealing", run: dealing::run },
    Target { name: "decode", run: decode::run },
    Target { name: "encryption", run: |bytes| made(bytes, encryption::run) },
    Target { name: "engine", run: engine::run },
    Target { name: "field", run: field::run },
    Target { name: "home", run: home::run },
    Target { name: "light", run: light::run },
    Target { name: "protocol", run: protocol::run },
    Target { name: "solve", run: |bytes| made(bytes, solve::run) },
    Target { name: "state", run: state::run },
    Target { name: "sync", run: sync::run },
    Target { name: "threshold", run: |bytes| made(bytes, threshold::run) },
    Target { name: "timelock", run: timelock::run },
    Target { name: "wvuf", run: |bytes| made(bytes, wvuf::run) },
];

/// Runs a target with the input that these bytes make.
fn made<'a, T: Arbitrary<'a>>(bytes: &'a [u8], run: fn(T)) {
    if let Ok(input) = T::arbitrary_take_rest(Unstructured::new(bytes)) {
        run(input);
    }
}

/// One value, one encoding.
fn canonical<T: BorshDeserialize + BorshSerialize>(bytes: &[u8]) {
    if let Ok(value) = borsh::from_slice::<T>(bytes) {
        assert_eq!(borsh::to_vec(&value).expect("memory"), bytes);
    }
}
