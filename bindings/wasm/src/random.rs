//! The browser's randomness: `crypto.getRandomValues`, for every byte.
//!
//! It may be missing, and may fail, where those who draw expect that it does not. So what was made with
//! it is given out only if it never failed.
use core::convert::Infallible;

use rand_core::{TryCryptoRng, TryRng};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::raise_code;

#[wasm_bindgen(raw_module = "./errors.js")]
extern "C" {
    /// Whether there was any.
    fn randomness(bytes: &mut [u8]) -> bool;
}

/// Draws from the browser, and remembers whether it could.
pub(crate) struct Random {
    failed: bool,
}

impl Random {
    /// What `make` makes, if there was randomness for all of it.
    pub(crate) fn with<T>(make: impl FnOnce(&mut Self) -> T) -> Result<T, JsValue> {
        let missing = || raise_code("no-randomness", "crypto.getRandomValues is missing or failed");
        let mut random = Self { failed: false };
        // Without any, what draws until it likes what it gets would not end.
        if !randomness(&mut [0; 32]) {
            return Err(missing());
        }
        let made = make(&mut random);
        if random.failed { Err(missing()) } else { Ok(made) }
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
        self.failed |= !randomness(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Random {}
