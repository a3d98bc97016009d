//! Whatever is made of a dealing: only the honest bytes pass, alone and in company.
//!
//! `cargo +nightly fuzz run dealing` in `pvss-dkg/`.
#![no_main]

prefinal_pvss_dkg_fuzz::fuzz_dealings!(pvss_dkg);
