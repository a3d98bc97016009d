//! Whatever is made of a dealing with field elements: only the honest bytes pass, alone and in company.
//!
//! `cargo +nightly fuzz run field` in `pvss-dkg/`.
#![no_main]

prefinal_pvss_dkg_fuzz::fuzz_dealings!(pvss_dkg::field);
