//! Threshold BLS, in both variants and at both kinds of points.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

mod attacks;
mod fixture;
mod setup;
mod signing;

/// Each test once for every variant and placement.
macro_rules! placed_suite {
    ($($test:ident),* $(,)?) => {
        mod min_sig_consecutive {
            $(#[test] fn $test() {
                super::$test::<prefinal_crypto_core::bls::MinSig>(prefinal_crypto_core::polynomial::Placement::Consecutive);
            })*
        }
        mod min_sig_roots {
            $(#[test] fn $test() {
                super::$test::<prefinal_crypto_core::bls::MinSig>(prefinal_crypto_core::polynomial::Placement::RootsOfUnity);
            })*
        }
        mod min_pk_consecutive {
            $(#[test] fn $test() {
                super::$test::<prefinal_crypto_core::bls::MinPk>(prefinal_crypto_core::polynomial::Placement::Consecutive);
            })*
        }
        mod min_pk_roots {
            $(#[test] fn $test() {
                super::$test::<prefinal_crypto_core::bls::MinPk>(prefinal_crypto_core::polynomial::Placement::RootsOfUnity);
            })*
        }
    };
}
use placed_suite;
