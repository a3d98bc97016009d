//! Whatever is made of a dealing: only the honest bytes pass, alone and in company.
//!
//! `cargo +nightly fuzz run dealing`
#![no_main]

prefinal_fuzz::fuzz_dealings!(prefinal_pvss_dkg);
