//! The system's randomness, or a seed of the caller's, for what must come out the same again.
use pyo3::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::error::no_randomness;
use crate::input::array;

/// A generator from 32 bytes of the system or of the caller.
pub(crate) fn generator(seed: Option<&Bound<'_, PyAny>>) -> PyResult<ChaCha20Rng> {
    let mut own = [0; 32];
    match seed {
        Some(seed) => own = array(seed, "seed")?,
        None => getrandom::fill(&mut own).map_err(|error| no_randomness(&error.to_string()))?,
    }
    Ok(ChaCha20Rng::from_seed(own))
}
