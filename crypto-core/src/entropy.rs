//! Seeds for random generators, from a randomness source that is tested first.
//!
//! A broken source of randomness seldom reports an error. It fills every request with zeros, with one
//! repeated byte, or with the same block again. A key that is drawn from it looks normal but is known
//! to everybody. So generators of secrets are seeded here, from two blocks of the system's or the
//! browser's randomness. Blocks that no working source gives are refused:
//!
//! | refused                                          | a working source gives it once in |
//! |--------------------------------------------------|-----------------------------------|
//! | a block with equal halves, e.g. all bytes equal  | `2¹²⁷`                            |
//! | a second block that is equal to the first        | `2²⁵⁶`                            |
//! | the same two blocks as for the seed before       | `2⁵¹²`                            |
//!
//! **Which generator to use:** `entropy::system()`, with the feature `system`. Where the operating system's
//! randomness is not at hand, seed one with [`Seeds`]. The traits are those of
//! [`rand_core`], which this crate re-exports in the version that its functions take.
//!
//! These tests detect a source that has failed completely, like the repetition count test in NIST's
//! [SP 800-90B](https://doi.org/10.6028/NIST.SP.800-90B), section 4.4.1. They do not detect a source
//! whose output can be predicted but does not repeat itself.
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

/// The source of randomness is broken: it gave bytes that a working source practically never gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImplausibleRandomness {
    /// Both halves of a block are equal, for example because all bytes are zero.
    #[error("randomness is implausible: both halves of a block of 32 bytes are the same")]
    Periodic,
    /// The source gave the same block, or the same two blocks, again.
    #[error("randomness is implausible: the same block of 32 bytes came twice")]
    Repeated,
    /// A value was drawn again and again and was never in the required range.
    #[error("randomness is implausible: none of {draws} draws is in the range")]
    OutOfRange {
        /// The number of draws.
        draws: usize,
    },
}

impl ImplausibleRandomness {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "implausible-randomness"
    }
}

/// Makes seeds from blocks of randomness and remembers a hash of the last two blocks. A program has
/// one `Seeds` for each source.
///
/// ```
/// use prefinal_crypto_core::bls::SecretKey;
/// use prefinal_crypto_core::entropy::{ImplausibleRandomness, Seeds};
/// use prefinal_crypto_core::secret::Secret;
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
    /// The state before the first seed.
    #[must_use]
    pub const fn new() -> Self {
        Self { mark: None }
    }

    /// The next seed: the hash of two blocks that were drawn one after the other.
    ///
    /// # Errors
    /// If the blocks fail one of the tests above, so that the source is broken.
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
