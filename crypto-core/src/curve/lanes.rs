//! Eight at a time, on processors that can.
//!
//! Intel's and AMD's server processors have had instructions since 2019 and 2022 that multiply eight
//! numbers of 52 bits by eight others, twice in a cycle (AVX-512 IFMA). A field multiplication is 120 of
//! them for eight products and so takes a fifth of what blst's does for each of eight. What is done alike
//! to many public values runs here: additions of points in batches ([`add`]), and on these sums of
//! products, finite differences and subgroup checks.
//!
//! | file        | what                                                   |
//! |-------------|--------------------------------------------------------|
//! | `field`     | `𝔽p`: eight elements in limbs of 52 bits               |
//! | `element`   | eight of `𝔽p` or of its quadratic extension            |
//! | `add`       | additions of affine points                             |
//!
//! Results are the same to the bit: whoever has no such processor computes them one by one, slower. What
//! the processor has is asked when the program runs ([`Wide::detect`]). Not constant time, and for public
//! values only.
#[cfg(target_arch = "x86_64")]
mod add;
#[cfg(target_arch = "x86_64")]
mod element;
#[cfg(target_arch = "x86_64")]
mod field;

use super::{Affine, Group};

/// Values that are computed at once.
#[cfg(target_arch = "x86_64")]
const LANES: usize = 8;

#[cfg(target_arch = "x86_64")]
cpufeatures::new!(ifma, "avx512f", "avx512ifma");

/// Proof that this processor has the instructions.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide(());

#[cfg(target_arch = "x86_64")]
impl Wide {
    /// `None` if it has not.
    pub(super) fn detect() -> Option<Self> {
        ifma::get().then_some(Self(()))
    }

    /// `pointsᵢ ← pointsᵢ + othersᵢ` at `places`, where neither is the identity nor their sum.
    #[expect(unsafe_code, reason = "for the processor of the build it might not exist")]
    pub(super) fn add_pairs<G: Group>(
        self,
        points: &mut [Affine<G>],
        others: &[Affine<G>],
        places: &[usize],
    ) {
        // SAFETY: these need instructions that the processor has: `self` proves it.
        unsafe {
            match G::DIGITS {
                2 => add::pairs::<G, 1>(points, others, places),
                _ => add::pairs::<G, 2>(points, others, places),
            }
        }
    }
}

/// No processor of this kind has them.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug)]
pub(super) enum Wide {}

#[cfg(not(target_arch = "x86_64"))]
impl Wide {
    pub(super) fn detect() -> Option<Self> {
        None
    }

    pub(super) fn add_pairs<G: Group>(self, _: &mut [Affine<G>], _: &[Affine<G>], _: &[usize]) {
        match self {}
    }
}
