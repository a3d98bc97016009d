//! Whatever is made of a dealing with field elements: only the honest bytes pass, alone and in company.
//!
//! `cargo +nightly fuzz run field`
#![no_main]

prefinal_fuzz::fuzz_dealings!(prefinal_pvss_dkg::field);
