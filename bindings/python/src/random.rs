//! The system's randomness, or a seed of the caller's, for what must come out the same again.
use std::sync::{Mutex, PoisonError};

use crypto_core::entropy::Seeds;
use crypto_core::secret::Secret;
use pyo3::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::error::{no_randomness, refused};
use crate::input::array;

static SEEDS: Mutex<Seeds> = Mutex::new(Seeds::new());

/// A generator from the system's randomness, or from 32 bytes of the caller.
pub(crate) fn generator(seed: Option<&Bound<'_, PyAny>>) -> PyResult<ChaCha20Rng> {
    let seed = match seed {
        Some(seed) => Secret::new(array(seed, "seed")?),
        None => system()?,
    };
    Ok(ChaCha20Rng::from_seed(*seed.expose()))
}

fn system() -> PyResult<Secret<[u8; 32]>> {
    let mut blocks = [[0; 32]; 2];
    let filled = blocks.iter_mut().try_for_each(|block| getrandom::fill(block));
    let blocks = Secret::new(blocks);
    filled.map_err(|error| no_randomness(&error.to_string()))?;
    let mut seeds = SEEDS.lock().unwrap_or_else(PoisonError::into_inner);
    seeds.next(&blocks).map_err(|error| refused(&error))
}
