//! Seeds of generators, from randomness that is not taken on trust.
//!
//! A source that is broken seldom says so: it fills every request with zeros, with one byte, or with the
//! same block again. What is drawn from it then looks like a key and is known to everybody. So a
//! generator of secrets is seeded here, from two blocks of the system's or the browser's randomness,
//! and what no working source gives is refused:
//!
//! | refused                                          | a working source gives it once in |
//! |--------------------------------------------------|-----------------------------------|
//! | a block whose halves are equal, as of one byte   | `2¹²⁷`                            |
//! | a second block that is the first                 | `2²⁵⁶`                            |
//! | two blocks that are those of the seed before     | `2⁵¹²`                            |
//!
//! **Which generator to use:** `entropy::system()`, with the feature `system`. Where the operating system's
//! randomness is not at hand, seed one with [`Seeds`]. The traits are those of [`rand_core`](crate::rand_core), which this crate
//! re-exports in the version that its functions take.
//!
//! These are tests for a source that has failed altogether, as the repetition count test in NIST's
//! [SP 800-90B](https://doi.org/10.6028/NIST.SP.800-90B), section 4.4.1. They say nothing of one whose
//! output can be predicted and does not repeat itself.
#[cfg(feature = "system")]
mod system;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::curve::hazmat::{is_periodic, reveal};
use crate::secret::Secret;

#[cfg(feature = "system")]
pub use self::system::{SystemError, system, system_seed};

const SEED: &[u8] = b"PREFINAL-V1-ENTROPY-SEED";
const MARK: &[u8] = b"PREFINAL-V1-ENTROPY-MARK";

/// The source of randomness is broken: it gave what a working one never does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImplausibleRandomness {
    /// As where all bytes are zero, or all are one byte.
    #[error("randomness is implausible: both halves of a block of 32 bytes are the same")]
    Periodic,
    /// The same block again.
    #[error("randomness is implausible: the same block of 32 bytes came twice")]
    Repeated,
    /// A draw is repeated until it is in a range, and never is.
    #[error("randomness is implausible: none of {draws} draws is in the range")]
    OutOfRange {
        /// How often was drawn.
        draws: usize,
    },
}

/// What makes seeds of blocks, and remembers a hash of the last: a program has one for each source.
///
/// ```
/// use crypto_core::bls::SecretKey;
/// use crypto_core::entropy::{ImplausibleRandomness, Seeds};
/// use crypto_core::secret::Secret;
/// use rand_chacha::ChaCha20Rng;
/// use rand_core::SeedableRng;
///
/// let mut seeds = Seeds::new();
/// # let fill = |block: &mut [u8; 32], first: u8| (first..).zip(block).for_each(|(n, byte)| *byte = n);
/// let mut blocks = [[0; 32]; 2];
/// fill(&mut blocks[0], 7); // in earnest by the system
/// fill(&mut blocks[1], 77);
/// let seed = seeds.next(&Secret::new(blocks))?;
/// let key = SecretKey::random(&mut ChaCha20Rng::from_seed(*seed.expose()));
///
/// let broken = seeds.next(&Secret::new([[0; 32]; 2]));
/// assert_eq!(broken.err(), Some(ImplausibleRandomness::Periodic));
/// # Ok::<(), ImplausibleRandomness>(())
/// ```
#[derive(Debug, Default)]
pub struct Seeds {
    mark: Option<[u8; 32]>,
}

impl Seeds {
    /// Before the first seed.
    #[must_use]
    pub const fn new() -> Self {
        Self { mark: None }
    }

    /// A seed: the hash of two blocks that were drawn one after the other.
    ///
    /// # Errors
    /// If no working source gives these blocks.
    pub fn next(
        &mut self,
        blocks: &Secret<[[u8; 32]; 2]>,
    ) -> Result<Secret<[u8; 32]>, ImplausibleRandomness> {
        let [first, second] = blocks.expose();
        if [first, second].into_iter().any(|block| is_periodic(block)) {
            return Err(ImplausibleRandomness::Periodic);
        }
        let mark = hash(MARK, blocks);
        if reveal(first.ct_eq(second)) || self.mark == Some(mark) {
            return Err(ImplausibleRandomness::Repeated);
        }
        self.mark = Some(mark);
        Ok(Secret::new(hash(SEED, blocks)))
    }
}

fn hash(tag: &[u8], blocks: &Secret<[[u8; 32]; 2]>) -> [u8; 32] {
    let hash = Sha256::new().chain_update(tag);
    blocks.expose().iter().fold(hash, |hash, block| hash.chain_update(block)).finalize().into()
}
