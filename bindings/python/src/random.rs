//! The system's randomness, or a seed of the caller's, for what must come out the same again.
use prefinal_crypto_core::entropy;
use prefinal_crypto_core::secret::Secret;
use pyo3::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::error::refused;
use crate::input::array;

/// A generator from the system's randomness, or from 32 bytes of the caller.
pub(crate) fn generator(seed: Option<&Bound<'_, PyAny>>) -> PyResult<ChaCha20Rng> {
    let seed = match seed {
        Some(seed) => Secret::new(array(seed, "seed")?),
        None => entropy::system_seed().map_err(|error| refused(&error))?,
    };
    Ok(ChaCha20Rng::from_seed(*seed.expose()))
}
