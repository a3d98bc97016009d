//! What memcheck is told: these bytes are secret, those are public after all.
//!
//! Memcheck follows each bit that nobody initialised through every instruction and complains when a
//! jump or an address depends on one. Marked "undefined", a secret is such a bit, and a complaint is
//! a leak through time ([ctgrind](https://github.com/agl/ctgrind), Langley 2010).
use std::convert::Infallible;
use std::ptr;

use crabgrind::memcheck::{MemState, mark_mem};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};

/// Draws secrets: numbers of a fixed seed, marked. All secrets of all cases come from here.
pub struct SecretRng(ChaCha20Rng);

impl SecretRng {
    /// The same secrets in each run.
    pub fn new() -> Self {
        Self(ChaCha20Rng::seed_from_u64(1))
    }

    /// A secret word.
    pub fn word(&mut self) -> u64 {
        self.next_u64()
    }
}

impl TryRng for SecretRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(secret(self.0.next_u32()))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(secret(self.0.next_u64()))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(bytes);
        mark(bytes, MemState::Undefined);
        Ok(())
    }
}

impl TryCryptoRng for SecretRng {}

/// Marks a value as secret.
pub fn secret<T: Copy>(mut value: T) -> T {
    mark(&mut value, MemState::Undefined);
    value
}

/// Marks a value as public: what is sent out tells nothing by the time it takes.
pub fn public<T: Copy>(mut value: T) -> T {
    mark(&mut value, MemState::Defined);
    value
}

fn mark<T: ?Sized>(value: &mut T, state: MemState) {
    let size = size_of_val(value);
    // This release reports success as failure; the control cases show that marking works.
    let _ = mark_mem(ptr::from_mut(value).cast(), size, state);
}
