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

/// Which secrets a case is run with.
#[derive(Clone, Copy)]
pub struct Secrets {
    seed: u64,
    /// What is kept of each byte but the last.
    mask: u8,
}

impl Secrets {
    /// As good as random, and almost nothing but zeros. Not zero: what is zero may take another way, for no
    /// secret ever is (`public.supp`). With these two, no hash to a scalar of timelock encryption is drawn
    /// again: how often it is says nothing of the result, and is no jump to look at.
    pub const ALL: [Self; 2] = [Self { seed: 1, mask: 0xff }, Self { seed: 4, mask: 0 }];
}

/// Draws secrets, marked, and always in the same way. All secrets of all cases come from here.
pub struct SecretRng(ChaCha20Rng, u8);

impl SecretRng {
    /// The same secrets in each run.
    pub fn new(secrets: Secrets) -> Self {
        Self(ChaCha20Rng::seed_from_u64(secrets.seed), secrets.mask)
    }

    fn draw(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
        if let Some((last, others)) = bytes.split_last_mut() {
            others.iter_mut().for_each(|byte| *byte &= self.1);
            *last |= 1 & !self.1;
        }
        mark(bytes, MemState::Undefined);
    }

    /// The same source without marks, for secrets from which something public is made first.
    pub fn known(&mut self) -> &mut ChaCha20Rng {
        &mut self.0
    }

    /// A secret word.
    pub fn word(&mut self) -> u64 {
        self.next_u64()
    }
}

impl TryRng for SecretRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.draw(&mut bytes);
        Ok(u32::from_be_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.draw(&mut bytes);
        Ok(u64::from_be_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.draw(bytes);
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
