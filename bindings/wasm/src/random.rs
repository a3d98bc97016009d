//! Randomness from the browser's `crypto.getRandomValues`.
//!
//! It may be missing, may fail, and may be replaced by something that gives zeros. So all that is asked of
//! it is a seed, before anything is made; what the seed is good for is judged by [`Seeds`]. Of the seed
//! come blocks `SHA-256(seed, blocks before)`, for the first entry hashes anyway, and no other generator
//! fits into its bytes.
use core::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::entropy::Seeds;
use prefinal_crypto_core::secret::Secret;
use rand_core::{TryCryptoRng, TryRng};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::{raise, raise_code};

#[wasm_bindgen(raw_module = "./errors.js")]
extern "C" {
    /// Whether there was any.
    fn randomness(bytes: &mut [u8]) -> bool;
}

static SEEDS: Mutex<Seeds> = Mutex::new(Seeds::new());
const BLOCK: usize = 32;

/// A generator for one call.
pub(crate) struct Random(Transcript);

impl Random {
    /// Seeded by the browser.
    ///
    /// # Errors
    /// If there is no randomness, or what no browser gives.
    pub(crate) fn new() -> Result<Self, JsValue> {
        let mut blocks = [[0; 32]; 2];
        let filled = blocks.iter_mut().all(|block| randomness(block));
        let blocks = Secret::new(blocks);
        if !filled {
            return Err(raise_code("no-randomness", "crypto.getRandomValues is missing or failed"));
        }
        let mut seeds = SEEDS.lock().unwrap_or_else(PoisonError::into_inner);
        let seed = seeds.next(&blocks).map_err(raise)?;
        let mut transcript = Transcript::new(b"PREFINAL-V1-WASM-RANDOM");
        transcript.append(b"seed", seed.expose());
        Ok(Self(transcript))
    }
}

impl TryRng for Random {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for part in bytes.chunks_mut(BLOCK) {
            let block = Secret::new(self.0.bytes(b"block"));
            part.iter_mut().zip(block.expose()).for_each(|(byte, drawn)| *byte = *drawn);
        }
        Ok(())
    }
}

impl TryCryptoRng for Random {}
