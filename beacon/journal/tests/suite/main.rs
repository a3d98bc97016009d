//! Journaled beacons that crash anywhere, on journals that lose what they may lose.
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
#[path = "../../../tests/suite/reshared.rs"]
#[allow(dead_code, reason = "what the beacon's own tests need is more")]
mod reshared;

mod crashes;
#[cfg(feature = "redb")]
mod file;
mod keygen;
#[cfg(feature = "redb")]
mod killed;
mod lives;
mod machines;
mod order;
#[cfg(feature = "redb")]
mod torn;
