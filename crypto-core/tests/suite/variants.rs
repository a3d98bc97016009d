//! Tests that are written once and hold in both variants.

/// Each test once with small signatures and once with small keys.
macro_rules! suite {
    ($($test:ident)*) => {
        mod min_sig {
            $(#[test] fn $test() { super::$test::<prefinal_crypto_core::bls::MinSig>(); })*
        }
        mod min_pk {
            $(#[test] fn $test() { super::$test::<prefinal_crypto_core::bls::MinPk>(); })*
        }
    };
}
