//! Drivers called from threads and tasks, on pools that are slow, lose things or run them on the spot.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

/// One suite, every scheme.
macro_rules! suite {
    ($($test:ident)*) => {
        mod wvuf {
            $(#[test] fn $test() { super::$test::<prefinal_beacon::Wvuf>(); })*
        }
        mod bls {
            $(#[test] fn $test() { super::$test::<prefinal_beacon::Bls>(); })*
        }
    };
}

#[path = "../../../tests/suite/fixture.rs"]
#[allow(dead_code, reason = "what the beacon's own tests need is more")]
mod fixture;
#[path = "../../../tests/suite/instances.rs"]
#[allow(dead_code, reason = "what the beacon's own tests need is more")]
mod instances;

mod bounds;
mod callbacks;
mod ends;
mod pools;
mod stack;
mod threads;
mod tools;
