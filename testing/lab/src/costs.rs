//! The costs of cryptography in virtual time.
//!
//! The primitives that every result needs are measured once, at the start. Every operation is charged
//! for the primitives that it takes. So one run charges the same price for the same work whatever else
//! the machine is doing, and all parties are charged although each result is computed once. With
//! `--costs` from an earlier run, the same seed gives the same run.
//!
//! | operation                     | primitives                                                         |
//! |-------------------------------|--------------------------------------------------------------------|
//! | sign a vote                   | hash to 𝔾₁, multiplication in 𝔾₁                                    |
//! | check a multi-signature       | hash to 𝔾₁, 2 Miller loops, final exponentiation                    |
//! | weighted VUF: evaluate        | hash to 𝔾₂ once a slot and path, multiplication in 𝔾₂                |
//! | check and combine `k` partials of `w` shares | per partial: a short multiplication in 𝔾₁ and 2 Miller loops; per share a term of an MSM; 2 final exponentiations; the Miller loops alone are spread |
//! | threshold BLS: evaluate       | hash to 𝔾₁ once a slot and path, multiplication in 𝔾₁ for each share |
//! | combine `w` shares, check the result | a sum of `w` products in 𝔾₁; hash to 𝔾₁, 2 Miller loops, final exponentiation |
//! | deal, judge, sum, open, admit | counted in group operations, see the functions                     |
//!
//! A term of a sum costs less the more terms there are: half as much among thousands as among dozens.
//! So it is measured in sums of several lengths. Miller loops are measured by two and by many, because
//! some processors compute eight at a time. Work that is independent per partial or per share is spread
//! over the party's cores, as feature `parallel` does it.
//!
//! See also `prices` (what is charged when), and `committee` and `ground` (what is really computed).

use std::hint::black_box;
use std::iter::successors;
use std::time::{Duration, Instant};

use ed25519_consensus::SigningKey;
use prefinal_crypto_core::curve::hazmat::{
    MillerLoop, hash_to_g1, hash_to_g2, vartime_msm, vartime_msm_128,
};
use prefinal_crypto_core::curve::{
    Affine, G1, G1Affine, G2, G2Affine, Group, Projective, Scalar, Tag,
};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Terms of the sums whose costs are measured.
const LENGTHS: [u16; 3] = [64, 512, LONGEST];
const LONGEST: u16 = 2048;
/// Fewer terms of a sum are not worth a core.
const LEAST_SUM: u64 = 32;

/// The amount of one piece of work.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Parties that hold shares: those that the work is for, or whose partials it is on.
    pub parties: u64,
    /// Their shares on one path.
    pub shares: u64,
    /// The number of paths.
    pub paths: u64,
    /// The most shares of one party of the committee on one path.
    pub heaviest: u64,
    /// The cores to spread the work over.
    pub cores: u64,
}

/// Nanoseconds of one term of a sum of products, by the length of the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Term([u64; LENGTHS.len()]);

impl Term {
    /// The least of several rounds for each length.
    fn measure<G: Group>() -> Self {
        let next = |sum: &Projective<G>| Some(sum.double() + Affine::generator());
        let points = successors(Some(Projective::identity()), next).take(LONGEST.into());
        let points = Projective::batch_to_affine(&points.collect::<Vec<_>>());
        let scalars: Vec<Scalar> = (1..=LONGEST).map(|at| secret(at.into())).collect();
        Self(LENGTHS.map(|length| {
            let terms = usize::from(length);
            time(terms, || vartime_msm(points.get(..terms).unwrap_or(&points), &scalars))
        }))
    }

    /// Of a sum of so many terms: on the line between the lengths beside it.
    #[must_use]
    pub fn among(self, terms: u64) -> u64 {
        let Self(costs) = self;
        let known = LENGTHS.map(u64::from).into_iter().zip(costs);
        let mut before = None;
        for (length, cost) in known {
            if terms <= length {
                let Some((from, at_from)) = before else { return cost };
                let rise = i128::from(cost) - i128::from(at_from);
                let part = rise * i128::from(terms - from) / i128::from(length - from);
                return u64::try_from(i128::from(at_from) + part).unwrap_or(u64::MAX);
            }
            before = Some((length, cost));
        }
        before.map_or(0, |(_, cost)| cost)
    }

    /// Nanoseconds of a sum of so many terms on so many cores, as the curves' feature `parallel` cuts it.
    #[must_use]
    pub fn sum(self, terms: u64, cores: u64) -> u64 {
        let longest = match terms / LEAST_SUM {
            0 | 1 => terms,
            _ => terms.div_ceil(cores.max(1)).max(LEAST_SUM),
        };
        longest * self.among(longest)
    }
}

/// Costs of the primitives, in nanoseconds on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Signing with Ed25519; nothing in files from before it was measured.
    #[serde(default)]
    pub ed25519_sign: u64,
    /// Checking an Ed25519 signature; the same.
    #[serde(default)]
    pub ed25519_verify: u64,
    /// Multiplication in 𝔾₁ by a secret.
    pub g1_multiplication: u64,
    /// Multiplication in 𝔾₂ by a secret.
    pub g2_multiplication: u64,
    /// Hash to 𝔾₁.
    pub g1_hash: u64,
    /// Hash to 𝔾₂.
    pub g2_hash: u64,
    /// Decoding with subgroup check in 𝔾₁.
    pub g1_decode: u64,
    /// Decoding with subgroup check in 𝔾₂.
    pub g2_decode: u64,
    /// One Miller loop of a product of two.
    pub miller_loop: u64,
    /// One Miller loop of a product of 64.
    pub miller_loop_of_many: u64,
    /// One final exponentiation.
    pub final_exponentiation: u64,
    /// One term of a multi-scalar multiplication in 𝔾₁, 255-bit scalars, among 64, 512 and 2048.
    pub g1_term: Term,
    /// The same in 𝔾₂.
    pub g2_term: Term,
    /// Multiplication in 𝔾₁ by 128 public bits.
    pub g1_short: u64,
    /// Decoding and hashing a KiB of a batch of transactions; nothing in files from before it was measured.
    #[serde(default)]
    pub batch_kib: u64,
    /// Ordering a client's transaction, from its submission on; the same.
    #[serde(default)]
    pub transaction: u64,
    /// Decoding a KiB of a DISPEL batch with transactions of 400 bytes, and naming it and them; nothing in files from
    /// before it was measured.
    #[serde(default)]
    pub dispel_kib: u64,
    /// Taking a transaction into DISPEL's pool; the same.
    #[serde(default)]
    pub dispel_submission: u64,
    /// Taking a transaction of a decided batch into DISPEL's order; the same.
    #[serde(default)]
    pub dispel_transaction: u64,
    /// Decoding and counting a DISPEL vote on one proposer; the same.
    #[serde(default)]
    pub dispel_vote: u64,
    /// Taking in a DISPEL message with one vote, in a committee of 128 with twelve stages open; the same.
    #[serde(default)]
    pub dispel_step: u64,
}

impl Work {
    /// Levels of a dealing with field elements: as many as the shares of the heaviest party.
    #[must_use]
    pub const fn levels(self) -> u64 {
        self.heaviest * self.paths
    }
}

impl Costs {
    /// Measures the costs, which takes about two seconds. Each is the least of several rounds, because
    /// disturbances can only make a measurement larger.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn measure() -> Result<Self, Failure> {
        on_one_thread(Self::measured)
    }

    fn measured() -> Self {
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
        let signer = SigningKey::from([7; 32]);
        let (ordering, staged) = (crate::load::ordering(), crate::load::staging());
        let (signed, checker) = (signer.sign(b"calibration"), signer.verification_key());
        Self {
            ed25519_sign: time(1, || signer.sign(b"calibration")),
            ed25519_verify: time(1, || checker.verify(&signed, b"calibration")),
            g1_multiplication: time(1, || one * scalar),
            g2_multiplication: time(1, || two * scalar),
            g1_hash: time(1, || hash_to_g1(b"calibration", Tag::new(b"PREFINAL-CALIBRATION"))),
            g2_hash: time(1, || hash_to_g2(b"calibration", Tag::new(b"PREFINAL-CALIBRATION"))),
            g1_decode: time(1, || G1Affine::from_bytes(&encoded1)),
            g2_decode: time(1, || G2Affine::from_bytes(&encoded2)),
            miller_loop: time(2, || MillerLoop::from_terms(terms().take(2))),
            miller_loop_of_many: time(TERMS, || MillerLoop::from_terms(terms())),
            final_exponentiation: time(1, || product.final_exponentiation()),
            g1_term: Term::measure::<G1>(),
            g2_term: Term::measure::<G2>(),
            g1_short: time(1, || vartime_msm_128(&[one], &short)),
            batch_kib: ordering.as_ref().map_or(0, |it| time(it.kib(), || it.decode())),
            transaction: ordering.as_ref().map_or(0, |it| time(it.count(), || it.order())),
            dispel_kib: staged.as_ref().map_or(0, |it| time(it.kib(), || it.decode())),
            dispel_submission: staged.as_ref().map_or(0, |it| time(it.count(), || it.submit())),
            dispel_transaction: staged.as_ref().map_or(0, |it| {
                let heard = time(it.count(), || it.hear());
                time(it.count(), || it.order()).saturating_sub(heard)
            }),
            dispel_vote: staged.as_ref().map_or(0, |it| time(it.votes(), || it.vote())),
            dispel_step: staged.as_ref().map_or(0, |it| time(it.steps(), || it.step())),
        }
    }

    /// Signing a vote, an order vote or a timeout.
    #[must_use]
    pub(crate) fn sign(&self) -> Duration {
        nanos(self.g1_hash + self.g1_multiplication)
    }

    /// Decoding and hashing transactions of so many bytes.
    pub(crate) fn batch(&self, bytes: usize) -> Duration {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        nanos(self.batch_kib.saturating_mul(bytes) >> 10)
    }

    /// Ordering so many transactions.
    pub(crate) fn order(&self, transactions: u64) -> Duration {
        nanos(self.transaction.saturating_mul(transactions))
    }

    /// Decoding so many bytes of a DISPEL batch, and naming it and its transactions.
    pub(crate) fn payload(&self, bytes: u64) -> Duration {
        nanos(self.dispel_kib.saturating_mul(bytes) >> 10)
    }

    /// Taking so many transactions into DISPEL's pool.
    pub(crate) fn submit(&self, transactions: u64) -> Duration {
        nanos(self.dispel_submission.saturating_mul(transactions))
    }

    /// Taking so many transactions into DISPEL's order.
    pub(crate) fn take(&self, transactions: u64) -> Duration {
        nanos(self.dispel_transaction.saturating_mul(transactions))
    }

    /// Taking in a DISPEL message with so many votes.
    pub(crate) fn dispel_message(&self, votes: usize) -> Duration {
        let votes = u64::try_from(votes).unwrap_or(u64::MAX);
        nanos(self.dispel_vote.saturating_mul(votes).saturating_add(self.dispel_step))
    }

    /// Checking the signatures of so many transactions.
    pub(crate) fn check_transactions(&self, transactions: u64) -> Duration {
        nanos(self.ed25519_verify.saturating_mul(transactions))
    }

    /// One signature with Ed25519.
    pub(crate) fn ed25519_sign(&self) -> Duration {
        nanos(self.ed25519_sign)
    }

    /// Checking one of these.
    pub(crate) fn ed25519_verify(&self) -> Duration {
        nanos(self.ed25519_verify)
    }

    /// Checking one multi-signature.
    #[must_use]
    pub(crate) fn check_signature(&self) -> Duration {
        nanos(self.check_signature_nanos())
    }

    /// Checking one multi-signature, in nanoseconds.
    #[must_use]
    pub const fn check_signature_nanos(&self) -> u64 {
        self.g1_hash + 2 * self.miller_loop + self.final_exponentiation
    }
}

/// Where there are more, the curves would take them, and prices are spread over cores afterwards.
#[cfg(feature = "parallel")]
pub(crate) fn on_one_thread<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    Ok(pool.map_err(Failure::bad_input)?.install(work))
}

#[cfg(not(feature = "parallel"))]
pub(crate) fn on_one_thread<T>(work: impl FnOnce() -> T) -> Result<T, Failure> {
    Ok(work())
}

fn nanos(count: u64) -> Duration {
    Duration::from_nanos(count)
}

/// A scalar of full length.
fn secret(number: u64) -> Scalar {
    let [.., high, low] = number.to_be_bytes();
    let wide: [u8; 64] = std::array::from_fn(|at| if at % 2 == 0 { high } else { low ^ 0xa5 });
    Scalar::from_wide(&wide)
}

/// Nanoseconds per unit, the least of several rounds; what takes milliseconds is not repeated in one.
fn time<T>(units: usize, mut work: impl FnMut() -> T) -> u64 {
    const ROUNDS: u32 = 12;
    let repeats = if units > 64 { 1 } else { 8 };
    let mut least = Duration::MAX;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        for _ in 0..repeats {
            black_box(work());
        }
        least = least.min(started.elapsed() / repeats);
    }
    u64::try_from(least.as_nanos()).unwrap_or(u64::MAX) / u64::try_from(units.max(1)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERM: Term = Term([400, 200, 100]);

    #[test]
    fn a_term_costs_as_measured_and_between_what_was_measured() {
        for (terms, cost) in
            [(0, 400), (64, 400), (288, 300), (512, 200), (1280, 150), (2048, 100), (9000, 100)]
        {
            assert_eq!(TERM.among(terms), cost, "among {terms}");
        }
        assert_eq!(Term([100, 200, 400]).among(288), 150, "where more costs more");
    }

    #[test]
    fn sums_are_cut_for_cores_while_the_parts_are_worth_it() {
        assert_eq!(TERM.sum(512, 1), 512 * 200);
        assert_eq!(TERM.sum(512, 4), 128 * TERM.among(128));
        for terms in [64, 95, 124, 512] {
            assert_eq!(TERM.sum(terms, 1000), 32 * 400, "{terms}: only the last part has fewer");
        }
        assert_eq!(TERM.sum(63, 32), 63 * 400);
        assert_eq!(TERM.sum(0, 32), 0);
    }
}
