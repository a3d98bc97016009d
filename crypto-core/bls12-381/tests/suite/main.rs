//! The curve against published vectors, against its own naive forms, against arkworks, and under
//! attack. Everything here runs on both backends.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests fail as tests do"
)]

mod algebra;
mod encodings;
mod hash;
#[cfg(any(feature = "interop-ark", feature = "interop-blst", feature = "interop-blstrs"))]
mod interop;
mod second_opinion;

use prefinal_bls12_381::{Affine, Group, Scalar};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

const SEED: u64 = 381;
/// `r`, big-endian.
const ORDER: &str = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(SEED)
}

fn random_point<G: Group>(rng: &mut ChaCha20Rng) -> Affine<G> {
    (Affine::generator() * Scalar::random(rng)).to_affine()
}

fn random_points<G: Group>(count: usize, rng: &mut ChaCha20Rng) -> Vec<Affine<G>> {
    (0..count).map(|_| random_point(rng)).collect()
}
