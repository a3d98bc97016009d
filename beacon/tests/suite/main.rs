//! The beacon against the contract, known bad schedules, faulty peers and crashes, with real
//! cryptography in small committees.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

/// One suite, every scheme; the second list also runs where outputs cannot but depend on the value.
macro_rules! suite {
    ($($test:ident)* $(; with values: $($valued:ident)*)?) => {
        mod wvuf {
            $(#[test] fn $test() { super::$test::<prefinal_beacon::Wvuf>(); })*
            $($(#[test] fn $valued() { super::$valued::<prefinal_beacon::Wvuf>(); })*)?
        }
        mod bls {
            $(#[test] fn $test() { super::$test::<prefinal_beacon::Bls>(); })*
            $($(#[test] fn $valued() { super::$valued::<prefinal_beacon::Bls>(); })*)?
        }
        $(mod multisig {
            $(#[test] fn $valued() { super::$valued::<prefinal_beacon::MultiSig>(); })*
        })?
    };
}

mod algorithms;
mod bounds;
mod certificates;
mod contract;
mod crashes;
mod decryption;
mod epochs;
mod faults;
mod fixture;
mod foresight;
mod games;
mod instances;
mod laws;
mod missed;
mod network;
mod properties;
mod ramp;
mod reports;
mod requests;
mod reshared;
mod retired;
mod rollback;
mod schedules;
mod schemes;
mod stack;
mod switches;
mod thresholds;
mod toy;
mod wire;
