//! Whatever bytes come: a typed error, or an object that encodes back to the same bytes.
//!
//! `cargo +nightly fuzz run decode` in `crypto-core/`.
#![no_main]

use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::bls::{ProofOfPossession, PublicKey, Signature};
use crypto_core::curve::{G1Affine, G2Affine, Scalar};
use crypto_core::wvuf::{BlindedKey, Partial};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((decoder, bytes)) = data.split_first() else { return };
    match decoder % 8 {
        0 => canonical::<Scalar>(bytes),
        1 => canonical::<G1Affine>(bytes),
        2 => canonical::<G2Affine>(bytes),
        3 => canonical::<PublicKey>(bytes),
        4 => canonical::<Signature>(bytes),
        5 => canonical::<ProofOfPossession>(bytes),
        6 => canonical::<BlindedKey>(bytes),
        _ => canonical::<Partial>(bytes),
    }
});

fn canonical<T: BorshDeserialize + BorshSerialize>(bytes: &[u8]) {
    if let Ok(value) = borsh::from_slice::<T>(bytes) {
        assert_eq!(borsh::to_vec(&value).expect("memory"), bytes);
    }
}
