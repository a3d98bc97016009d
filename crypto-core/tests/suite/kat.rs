//! Every scheme against the independent Python model, see `tests/vectors/README.md`.
//!
//! Where the crate draws randomness, the model's is replayed, so that secrets, blindings and
//! ciphertexts are the same bytes and not merely consistent with each other.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

mod bls;
mod certificate;
mod curve;
mod draw;
mod elgamal;
mod keys;
mod sharing;
mod statements;
mod threshold;
mod timelock;
mod wvuf;

use std::convert::Infallible;

use prefinal_crypto_core::curve::{Affine, DecodeError, Group, Scalar};
use rand_core::{TryCryptoRng, TryRng};
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
struct File<T> {
    content: T,
}

fn load<T: DeserializeOwned>(json: &str) -> T {
    serde_json::from_str::<File<T>>(json).unwrap().content
}

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

fn array<const N: usize>(text: &str) -> [u8; N] {
    bytes(text).try_into().unwrap()
}

fn scalar(text: &str) -> Scalar {
    Scalar::from_bytes(&bytes(text)).unwrap()
}

fn point<G: Group>(text: &str) -> Affine<G> {
    Affine::from_bytes(&bytes(text)).unwrap()
}

fn points<G: Group>(texts: &[String]) -> Vec<Affine<G>> {
    texts.iter().map(|text| point(text)).collect()
}

/// The model's one or two words for why something is refused.
fn reason(error: DecodeError) -> &'static str {
    match error {
        DecodeError::Length { .. } => "length",
        DecodeError::NotCanonical => "not canonical",
        DecodeError::NotOnCurve => "not on curve",
        DecodeError::NotInSubgroup => "not in subgroup",
        DecodeError::Identity => "identity",
        DecodeError::Zero => "zero",
        _ => "unknown",
    }
}

/// Gives out what the model drew, and fails if asked for more.
struct Replay {
    draws: Vec<u8>,
    given: usize,
}

impl Replay {
    fn new(draws: &str) -> Self {
        Self { draws: bytes(draws), given: 0 }
    }

    /// That nothing is left: the crate drew as often as the model.
    fn finish(self) {
        assert_eq!(self.given, self.draws.len(), "bytes drawn");
    }
}

impl TryRng for Replay {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut word = [0; 4];
        self.try_fill_bytes(&mut word)?;
        Ok(u32::from_le_bytes(word))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut word = [0; 8];
        self.try_fill_bytes(&mut word)?;
        Ok(u64::from_le_bytes(word))
    }

    fn try_fill_bytes(&mut self, target: &mut [u8]) -> Result<(), Infallible> {
        let end = self.given + target.len();
        target.copy_from_slice(&self.draws[self.given..end]);
        self.given = end;
        Ok(())
    }
}

impl TryCryptoRng for Replay {}
