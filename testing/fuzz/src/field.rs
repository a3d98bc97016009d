//! Whatever is made of a dealing with field elements: only the honest bytes pass, alone and in company.
crate::dealings::fuzz_dealings!(prefinal_pvss_dkg::field);
