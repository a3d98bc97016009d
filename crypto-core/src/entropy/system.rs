//! The operating system as the source.
use std::sync::{Mutex, PoisonError};

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::{ImplausibleRandomness, Seeds};
use crate::secret::Secret;
use zeroize::Zeroize;

/// Why the operating system gave no seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SystemError {
    /// The system call failed.
    #[error("the system gives no randomness: {0}")]
    Unavailable(#[from] getrandom::Error),
    /// The system gave what no working source gives.
    #[error(transparent)]
    Implausible(#[from] ImplausibleRandomness),
}

impl SystemError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "no-randomness",
            Self::Implausible(error) => error.code(),
        }
    }
}

/// One for the process: a seed is compared with the one before it, whichever caller asked for that.
static SEEDS: Mutex<Seeds> = Mutex::new(Seeds::new());

/// 32 bytes for a generator of secrets, from two blocks of the operating system's randomness.
///
/// # Errors
/// If the system has no randomness, or gives what no working source gives.
pub fn system_seed() -> Result<Secret<[u8; 32]>, SystemError> {
    let mut blocks = [[0; 32]; 2];
    let filled = blocks.iter_mut().try_for_each(|block| getrandom::fill(block));
    let drawn = Secret::new(blocks);
    blocks.zeroize();
    filled?;
    let mut seeds = SEEDS.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(seeds.next(&drawn)?)
}

/// The generator to use for every secret, key and dealing: ChaCha20, seeded by [`system_seed`].
///
/// ```
/// use prefinal_crypto_core::bls::SecretKey;
/// use prefinal_crypto_core::entropy;
///
/// let mut rng = entropy::system()?;
/// let key = SecretKey::random(&mut rng);
/// # Ok::<(), entropy::SystemError>(())
/// ```
/// Make one where secrets are made and drop it afterwards; it is wiped then. A process that forks while it has
/// a generator has two with the same output.
///
/// # Errors
/// If the system has no randomness, or gives what no working source gives.
pub fn system() -> Result<ChaCha20Rng, SystemError> {
    Ok(ChaCha20Rng::from_seed(*system_seed()?.expose()))
}
