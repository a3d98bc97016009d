//! Generators that have failed altogether: dealing ends all the same.

use std::convert::Infallible;

use prefinal_crypto_core::entropy::ImplausibleRandomness;
use rand_core::{TryCryptoRng, TryRng};

use super::Cheat;
use crate::field::chunking::mask;
use crate::field::proof::Statement;
use crate::field::{deal, verify};
use crate::fixture::party;

/// One byte for ever.
struct Constant(u8);

impl TryRng for Constant {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(u32::from_le_bytes([self.0; 4]))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from_le_bytes([self.0; 8]))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(self.0);
        Ok(())
    }
}

impl TryCryptoRng for Constant {}

/// Why no masks come of one byte for ever.
fn refusal(byte: u8) -> Option<ImplausibleRandomness> {
    let Cheat { layout, witness, .. } = Cheat::new();
    let body = witness.encrypt(&layout);
    let statement = Statement { layout: &layout, origin: [7; 32], body: &body };
    let (begun, _) = statement.begin();
    mask(&statement, &begun, &witness.chunks, &mut Constant(byte)).err()
}

#[test]
fn masks_that_never_hide_end_with_an_error() {
    assert_eq!(refusal(0), Some(ImplausibleRandomness::OutOfRange { draws: 128 }));
}

#[test]
fn a_number_that_is_never_below_its_bound_ends_with_an_error() {
    assert_eq!(refusal(0xff), Some(ImplausibleRandomness::OutOfRange { draws: 256 }));
}

/// What is drawn depends on the dealer's key as well.
#[test]
fn dealings_are_made_nevertheless() {
    let committee = Cheat::new().committee;
    for byte in [0, 0xff] {
        let signer = committee.signer(3);
        let dealing = deal(&committee.config, party(3), signer, &mut Constant(byte)).unwrap();
        assert!(verify(&committee.config, dealing).is_ok());
    }
}
