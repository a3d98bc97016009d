//! What cryptography costs in virtual time.
//!
//! The primitives that no result can avoid are measured once, at the start; every operation is
//! charged for the primitives that it takes. So one run charges the same price for the same work
//! whatever else the machine is doing, and all parties are charged although each result is computed
//! once. With `--costs` from an earlier run the same seed gives the same run.
//!
//! | operation                        | primitives                                                         |
//! |----------------------------------|--------------------------------------------------------------------|
//! | sign a vote                      | hash to 𝔾₁, multiplication in 𝔾₁                                    |
//! | check a multi-signature          | hash to 𝔾₁, 2 Miller loops, final exponentiation                    |
//! | decode a vote, a partial         | decoding in 𝔾₁, in 𝔾₂                                               |
//! | evaluate                         | hash to 𝔾₂ once a slot and path, multiplication in 𝔾₂                |
//! | check and combine `k` partials of `w` shares | per partial: a short multiplication in 𝔾₁ and 2 Miller loops; per share a term of an MSM; 2 final exponentiations |
//! | deal, judge, open, admit         | counted in group operations, see the functions                     |
//!
//! What is independent per partial or per share is spread over the party's cores. Elsewhere: what is
//! really computed ([`super::host`]).

use std::hint::black_box;
use std::time::{Duration, Instant};

use crypto_core::curve::{
    G1Affine, G2Affine, MillerLoop, Scalar, hash_to_g1, hash_to_g2, vartime_msm, vartime_msm_128,
};
use serde::{Deserialize, Serialize};

/// Primitive costs in nanoseconds on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Costs {
    /// Multiplication in 𝔾₁ by a secret.
    pub(super) g1_multiplication: u64,
    /// Multiplication in 𝔾₂ by a secret.
    pub(super) g2_multiplication: u64,
    /// Hash to 𝔾₁.
    pub(super) g1_hash: u64,
    /// Hash to 𝔾₂.
    pub(super) g2_hash: u64,
    /// Decoding with subgroup check in 𝔾₁.
    pub(super) g1_decode: u64,
    /// Decoding with subgroup check in 𝔾₂.
    pub(super) g2_decode: u64,
    /// One Miller loop of a product.
    pub(super) miller_loop: u64,
    /// One final exponentiation.
    pub(super) final_exponentiation: u64,
    /// One term of a multi-scalar multiplication in 𝔾₁, 255-bit scalars.
    pub(super) g1_term: u64,
    /// One term of a multi-scalar multiplication in 𝔾₂, 255-bit scalars.
    pub(super) g2_term: u64,
    /// Multiplication in 𝔾₁ by 128 public bits.
    pub(super) g1_short: u64,
}

impl Costs {
    /// Measures them; takes about a second. Each is the least of several rounds, as what disturbs a
    /// measurement only ever adds to it.
    #[must_use]
    pub(super) fn measure() -> Self {
        const TERMS: usize = 64;
        let scalars: Vec<Scalar> = (1..=64).map(secret).collect();
        let g1: Vec<G1Affine> =
            scalars.iter().map(|s| (G1Affine::generator() * s).to_affine()).collect();
        let g2: Vec<G2Affine> =
            scalars.iter().map(|s| (G2Affine::generator() * s).to_affine()).collect();
        let (one, two) = (G1Affine::generator(), G2Affine::generator());
        let (encoded1, encoded2) = (one.to_bytes(), two.to_bytes());
        let scalar = secret(7);
        let short = [u128::MAX - 7];
        let terms = || g1.iter().copied().zip(g2.iter().copied());
        let product = MillerLoop::from_terms(terms());
        Self {
            g1_multiplication: time(1, || one * scalar),
            g2_multiplication: time(1, || two * scalar),
            g1_hash: time(1, || hash_to_g1(b"calibration", b"PREFINAL-CALIBRATION")),
            g2_hash: time(1, || hash_to_g2(b"calibration", b"PREFINAL-CALIBRATION")),
            g1_decode: time(1, || G1Affine::from_bytes(&encoded1)),
            g2_decode: time(1, || G2Affine::from_bytes(&encoded2)),
            miller_loop: time(TERMS, || MillerLoop::from_terms(terms())),
            final_exponentiation: time(1, || product.final_exponentiation()),
            g1_term: time(TERMS, || vartime_msm(&g1, &scalars)),
            g2_term: time(TERMS, || vartime_msm(&g2, &scalars)),
            g1_short: time(1, || vartime_msm_128(&[one], &short)),
        }
    }

    /// Signing a vote, an order vote or a timeout.
    #[must_use]
    pub(super) fn sign(&self) -> Duration {
        nanos(self.g1_hash + self.g1_multiplication)
    }

    /// Checking one multi-signature.
    #[must_use]
    pub(super) fn check_signature(&self) -> Duration {
        nanos(self.g1_hash + 2 * self.miller_loop + self.final_exponentiation)
    }

    /// One partial: the slot's input is hashed for it.
    #[must_use]
    pub(super) fn evaluate(&self) -> Duration {
        nanos(self.g2_hash + self.g2_multiplication)
    }

    /// Checking and combining partials of `parties` parties that hold `shares` shares.
    #[must_use]
    pub(super) fn combine(&self, parties: u64, shares: u64, cores: u64) -> Duration {
        let spread = parties * (self.g1_short + 2 * self.miller_loop) + shares * self.g1_term;
        let serial = self.g2_hash + self.miller_loop + 2 * self.final_exponentiation;
        nanos(serial + spread / cores.min(parties).max(1))
    }

    /// Making a dealing of `shares` shares for `paths` paths: `V̂`, `R` and the two factors of `C` each.
    #[must_use]
    pub(super) fn deal(&self, shares: u64, paths: u64, cores: u64) -> Duration {
        let per_share = 3 * self.g1_multiplication + self.g2_multiplication;
        nanos(shares * paths * per_share / cores.max(1))
    }

    /// Decoding and checking a dealing for `parties` holders of `shares` shares.
    #[must_use]
    pub(super) fn judge(&self, parties: u64, shares: u64, paths: u64, cores: u64) -> Duration {
        // Two terms in 𝔾₂, one of them of half the length: the product, and the proof of all shares.
        let g2_terms = self.g2_term + self.g2_term / 2;
        let per_share = 2 * (self.g1_decode + self.g1_term) + self.g2_decode + g2_terms;
        let spread = shares * paths * per_share + parties * self.miller_loop;
        nanos(spread / cores.max(1) + self.final_exponentiation + self.check_signature_nanos())
    }

    /// Adding `dealings` dealings up. An addition is about a 380th of a multiplication: 255 doublings
    /// and half as many additions make one.
    #[must_use]
    pub(super) fn sum(&self, dealings: u64, shares: u64, paths: u64) -> Duration {
        let multiplications = 2 * self.g1_multiplication + self.g2_multiplication;
        nanos(dealings * shares * paths * multiplications / 380)
    }

    /// Decrypting and blinding `shares` own shares.
    #[must_use]
    pub(super) fn open(&self, shares: u64, paths: u64) -> Duration {
        nanos(paths * (2 * shares + 1) * self.g1_multiplication + self.g1_hash)
    }

    /// Decoding and admitting the keys of `parties` parties that hold `shares` shares.
    #[must_use]
    pub(super) fn admit(&self, parties: u64, shares: u64, paths: u64, cores: u64) -> Duration {
        let per_share = self.g1_decode + self.g1_term + self.g2_term;
        let spread = paths * (shares * per_share + parties * self.miller_loop)
            + parties * self.check_signature_nanos();
        nanos(spread / cores.max(1) + paths * self.final_exponentiation)
    }

    fn check_signature_nanos(&self) -> u64 {
        self.g1_hash + 2 * self.miller_loop + self.final_exponentiation
    }
}

fn nanos(count: u64) -> Duration {
    Duration::from_nanos(count)
}

/// A scalar of full length.
fn secret(number: u64) -> Scalar {
    let wide: [u8; 64] = std::array::from_fn(|_| number.to_be_bytes()[7] ^ 0xa5);
    Scalar::from_wide(&wide)
}

/// Nanoseconds per unit, the least of several rounds.
fn time<T>(units: usize, mut work: impl FnMut() -> T) -> u64 {
    const ROUNDS: u32 = 12;
    const REPEATS: u32 = 8;
    let mut least = Duration::MAX;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        for _ in 0..REPEATS {
            black_box(work());
        }
        least = least.min(started.elapsed() / REPEATS);
    }
    u64::try_from(least.as_nanos()).unwrap_or(u64::MAX) / u64::try_from(units.max(1)).unwrap_or(1)
}
