//! The proof of chunking: every chunk is small enough to be taken out of the exponent.
//!
//! Exact range proofs are large. This one is approximate: it adds chunks up with small random
//! coefficients and publishes the sums, each hidden by a mask that is a little larger than the sum.
//!
//! | step    | equation                                                                       |
//! |---------|--------------------------------------------------------------------------------|
//! | mask    | `Bₐ = g^βₐ`, `Cₐ = y₀^βₐ·g^σₐ`, `σₐ ∈ [−S, Z)`, for `ℓ = 32` repetitions `a`     |
//! | ask     | `e_kla ∈ [0, E)`, `E = 16`                                                      |
//! | add     | `z_sa = ∑ e_kla·s_kl + σₐ`; start again unless all are in `[0, Z)` |
//! | nonces  | `D₀ = g^δ₀`, `Dᵢ = g^δᵢ`, `Y = y₀^δ₀·∏ᵢ ekᵢ^δᵢ`                                  |
//! | ask     | `yₐ`, 128 bits                                                                  |
//! | answer  | `u_kl = ∑ₐ yₐ·e_kla`, `zᵢ = ∑_(k∈i,l) u_kl·r_jl + δᵢ`, `z_β = ∑ₐ yₐ·βₐ + δ₀`     |
//! | check   | `∏_(k∈i,l) R_jl^u_kl · Dᵢ = g^zᵢ` for every `i`, `∏ₐ Bₐ^yₐ · D₀ = g^z_β`,       |
//! |         | `∏_(k,l) C_kl^u_kl · ∏ₐ Cₐ^yₐ · Y = ∏ᵢ ekᵢ^zᵢ · y₀^z_β · g^(∑ₐ yₐ·z_sa)`        |
//!
//! With `N` chunks in all, `S = N·(2¹⁶ − 1)·(E − 1)` bounds an honest sum and `Z = 2ℓ·S`. A mask then
//! fails to hide with probability below `1/2ℓ`, so 1.65 attempts are expected. A prover that can answer
//! two values of `e_kla` in one repetition, all others equal, shows `Δ·s_kl ∈ (−Z, Z)` for their
//! difference `0 < Δ < E`. A prover that cannot do so for some chunk passes with probability
//! `E^−ℓ = 2⁻¹²⁸` per attempt.
//!
//! A dealer makes at most 128 attempts. With a working generator all of them fail once in `2¹⁶⁰`
//! dealings. A generator that returns the same values again and again is refused.
//!
//! So an honest chunk is below 2¹⁶. A cheater's chunk is a fraction with a denominator below 16 and a
//! numerator below `Z`, and a recipient finds both (`logarithm`). After Groth 2021/339, section 6.5.
//! Differences from the paper: `ℓ` and `E` are for 128 bits instead of 256, which makes the worst case
//! of the search 2⁴ times shorter in `Δ` and again in `Z`; a recipient's levels share one `Dᵢ`; `y₀` is
//! hashed to the curve.
use std::sync::LazyLock;

use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::hazmat::{FixedBase, hash_to_g1};
use prefinal_crypto_core::curve::{G1, G1Affine, Scalar, Tag};
use prefinal_crypto_core::entropy::ImplausibleRandomness;
use prefinal_crypto_core::secret::Secret;
use rand_core::CryptoRng;
use zeroize::Zeroize;

use super::chunk::{BITS, CHUNKS};
use super::proof::{Masks, Statement};
use crate::deal::{TABLE_G, add_each};

/// `ℓ`
pub(crate) const REPETITIONS: usize = 32;
/// Bits of an `e_kla`. `REPETITIONS` of these values are one coefficient of 128 bits.
const CHALLENGE_BITS: u32 = 4;
/// `E`
pub(crate) const CHALLENGES: u64 = 1 << CHALLENGE_BITS;
/// How often masks are drawn at most. They fail to hide with a probability below 0.4.
const ATTEMPTS: usize = 128;
/// How often a number is drawn at most until it is below a bound. At least half of the numbers are.
const DRAWS: usize = 256;

const MASK_KEY_TAG: Tag<'_> =
    Tag::new(b"PREFINAL-V1-PVSS-MASK-KEY_BLS12381G1_XMD:SHA-256_SSWU_RO_");

/// `y₀`
pub(crate) static MASK_KEY: LazyLock<G1Affine> =
    LazyLock::new(|| hash_to_g1(b"mask key", MASK_KEY_TAG));
static TABLE_MASK_KEY: LazyLock<FixedBase<G1>> = LazyLock::new(|| FixedBase::new(&MASK_KEY));

/// `S` and `Z` for a number of chunks.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// `S`
    pub(crate) honest: u64,
    /// `Z`
    pub(crate) sum: u64,
}

impl Bounds {
    /// The bounds for this number of shares. A committee has at most 2²⁰ shares a path, so `Z < 2⁵²`.
    pub(crate) fn new(items: usize) -> Self {
        let chunks = u64::try_from(items * CHUNKS).unwrap_or(u64::MAX);
        let honest = chunks.saturating_mul(((1 << BITS) - 1) * (CHALLENGES - 1));
        Self { honest, sum: honest.saturating_mul(2 * 32) }
    }
}

/// `e_kla` for every repetition `a`.
pub(crate) fn digits(coefficient: u128) -> [u64; REPETITIONS] {
    let mut rest = coefficient;
    [(); REPETITIONS].map(|()| {
        let digit = u64::from(rest.to_le_bytes()[0]) & (CHALLENGES - 1);
        rest >>= CHALLENGE_BITS;
        digit
    })
}

/// Computes `u_kl = ∑ₐ yₐ·e_kla`. All multiples of the `yₐ` are computed once.
pub(crate) struct Combiner {
    multiples: Vec<[Scalar; 16]>,
}

impl Combiner {
    pub(crate) fn new(repetitions: &[u128]) -> Self {
        let multiples = repetitions.iter().map(|y| {
            let y = crate::proof::widen(*y);
            let mut sum = -y;
            [(); 16].map(|()| {
                sum += y;
                sum
            })
        });
        Self { multiples: multiples.collect() }
    }

    pub(crate) fn combine(&self, coefficient: u128) -> Scalar {
        let digits = digits(coefficient);
        let multiple = |(row, digit): (&[Scalar; 16], u64)| {
            usize::try_from(digit)
                .ok()
                .and_then(|digit| row.get(digit))
                .copied()
                .unwrap_or_default()
        };
        self.multiples.iter().zip(digits).map(multiple).sum()
    }
}

/// Sums with the masks that hide them, and what opens the masks.
pub(crate) struct Masked {
    pub(crate) masks: Masks,
    /// `βₐ`
    pub(crate) betas: Secret<Vec<Scalar>>,
    /// `z_sa`
    pub(crate) sums: Vec<u64>,
    /// `e_kla`
    pub(crate) challenges: Vec<u128>,
    /// The transcript after the masks.
    pub(crate) transcript: Transcript,
}

/// Draws masks until all sums are hidden. `chunks` are all `s_kl`, share by share.
///
/// # Errors
/// If the generator never gives masks that hide.
pub(crate) fn mask(
    statement: &Statement<'_>,
    begun: &Transcript,
    chunks: &Secret<Vec<u64>>,
    rng: &mut impl CryptoRng,
) -> Result<Masked, ImplausibleRandomness> {
    let bounds = Bounds::new(statement.layout.items);
    for _ in 0..ATTEMPTS {
        let betas: Vec<Scalar> = (0..REPETITIONS).map(|_| Scalar::random(rng)).collect();
        let betas = Secret::new(betas);
        // `σ + S`, so that no number is negative.
        let mut shifted = Vec::with_capacity(REPETITIONS);
        for _ in 0..REPETITIONS {
            shifted.push(below(bounds.honest + bounds.sum, rng)?);
        }
        let shifted = Secret::new(shifted);
        let masks = commit(&betas, &shifted, &bounds);
        let mut transcript = begun.clone();
        let challenges = statement.chunks(&mut transcript, &masks);
        if let Some(sums) = sums(&challenges, chunks, &shifted, &bounds) {
            return Ok(Masked { masks, betas, sums, challenges, transcript });
        }
    }
    Err(ImplausibleRandomness::OutOfRange { draws: ATTEMPTS })
}

pub(crate) fn commit(
    betas: &Secret<Vec<Scalar>>,
    shifted: &Secret<Vec<u64>>,
    bounds: &Bounds,
) -> Masks {
    let shift = Scalar::from_u64(bounds.honest);
    let sigmas = shifted.expose().iter().map(|sigma| Scalar::from_u64(*sigma) - shift);
    let sigmas = Secret::new(sigmas.collect::<Vec<_>>());
    let hidden = Secret::new(TABLE_G.multiply_all(sigmas.expose()));
    let hiding = Secret::new(TABLE_MASK_KEY.multiply_all(betas.expose()));
    Masks {
        ephemerals: TABLE_G.multiply_all(betas.expose()),
        ciphertexts: add_each(&hidden, &hiding),
    }
}

/// All `z_sa`, if every one is in `[0, Z)`. If one is not, that fact says something about the chunks,
/// so none is published.
fn sums(
    challenges: &[u128],
    chunks: &Secret<Vec<u64>>,
    shifted: &Secret<Vec<u64>>,
    bounds: &Bounds,
) -> Option<Vec<u64>> {
    let mut sums = shifted.expose().clone();
    for (coefficient, chunk) in challenges.iter().zip(chunks.expose()) {
        for (sum, digit) in sums.iter_mut().zip(digits(*coefficient)) {
            *sum += digit * chunk;
        }
    }
    let hidden = sums.iter().all(|sum| (bounds.honest..bounds.honest + bounds.sum).contains(sum));
    if !hidden {
        sums.zeroize();
        return None;
    }
    Some(sums.iter().map(|sum| sum - bounds.honest).collect())
}

/// A uniform number below `bound`.
fn below(bound: u64, rng: &mut impl CryptoRng) -> Result<u64, ImplausibleRandomness> {
    let mask = u64::MAX.checked_shr(bound.leading_zeros()).unwrap_or(u64::MAX);
    for _ in 0..DRAWS {
        let mut bytes = [0; 8];
        rng.fill_bytes(&mut bytes);
        let drawn = u64::from_be_bytes(bytes) & mask;
        bytes.zeroize();
        if drawn < bound {
            return Ok(drawn);
        }
    }
    Err(ImplausibleRandomness::OutOfRange { draws: DRAWS })
}
