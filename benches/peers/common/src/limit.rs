//! blst alone: what an operation costs at least.
//!
//! | operation            | primitives                                                        |
//! |----------------------|-------------------------------------------------------------------|
//! | partial              | one hash, one multiplication: a signature of blst                  |
//! | verify, of whatever  | one hash, a product of two pairings                               |
//! | batch                | the same, sums over `n` terms by 128 bits in both groups           |
//! | combine              | a sum over `t` terms by as many bits as the coefficients have      |
//! | share keys           | `n·t` additions with shared inversions, of consecutive points only |
use std::hint::black_box;
use std::time::Duration;

use blst::{MultiPoint, blst_fp12, min_pk, min_sig};
use prefinal_crypto_core::bls::{MinPk, MinSig, Variant};
use prefinal_fixture::raw::{points_g1, points_g2, scalars, seed};

use crate::contest::Contest;

const TAG: &[u8] = b"PREFINAL-PEERS-LIMIT_XMD:SHA-256_SSWU_RO_";

/// A variant in blst's words.
pub trait Limit: Variant {
    /// Points of the signatures' group and of the keys'.
    type Points: Points;
    /// How the table marks it.
    const MARK: &'static str;

    /// One hash, one multiplication.
    fn partial(contest: &Contest, message: &[u8]) -> Duration;
    /// One hash, a product of two pairings.
    fn verify(contest: &Contest, message: &[u8]) -> Duration;
}

/// Sums in both groups.
pub trait Points {
    /// A sum of products in the signatures' group.
    fn sum_of_signatures(contest: &Contest, terms: usize, bits: usize) -> Duration;
    /// A sum of products in the keys' group.
    fn sum_of_keys(contest: &Contest, terms: usize, bits: usize) -> Duration;
    /// Additions in the keys' group.
    fn add_keys(contest: &Contest, terms: u32) -> Duration;
}

/// The limits where signatures are in 𝔾₁ and keys in 𝔾₂.
#[derive(Debug)]
pub struct SignaturesLeft;
/// The limits where signatures are in 𝔾₂ and keys in 𝔾₁.
#[derive(Debug)]
pub struct SignaturesRight;

macro_rules! variant {
    ($variant:ty, $module:ident, $other:ident, $points:ty, $mark:literal) => {
        impl Limit for $variant {
            type Points = $points;
            const MARK: &'static str = $mark;

            fn partial(contest: &Contest, message: &[u8]) -> Duration {
                let key = $module::SecretKey::key_gen(&seed(1), &[]).unwrap();
                contest.time(|| key.sign(black_box(message), TAG, &[]))
            }

            // blst offers no hash alone in safe Rust: it is a signature less a multiplication.
            fn verify(contest: &Contest, message: &[u8]) -> Duration {
                let key = $other::SecretKey::key_gen(&seed(1), &[]).unwrap();
                let multiply = contest.time(|| black_box(&key).sk_to_pk());
                let hash = Self::partial(contest, message).saturating_sub(multiply);
                hash + product(contest)
            }
        }
    };
}
variant!(MinSig, min_sig, min_pk, SignaturesLeft, "");
variant!(MinPk, min_pk, min_sig, SignaturesRight, ", min-pk");

impl Points for SignaturesLeft {
    fn sum_of_signatures(contest: &Contest, terms: usize, bits: usize) -> Duration {
        sum(contest, &points_g1(terms), bits)
    }
    fn sum_of_keys(contest: &Contest, terms: usize, bits: usize) -> Duration {
        sum(contest, &points_g2(terms), bits)
    }
    fn add_keys(contest: &Contest, terms: u32) -> Duration {
        let points = points_g2(1000);
        contest.time(|| black_box(points.as_slice()).add()) * terms / 1000
    }
}

impl Points for SignaturesRight {
    fn sum_of_signatures(contest: &Contest, terms: usize, bits: usize) -> Duration {
        sum(contest, &points_g2(terms), bits)
    }
    fn sum_of_keys(contest: &Contest, terms: usize, bits: usize) -> Duration {
        sum(contest, &points_g1(terms), bits)
    }
    fn add_keys(contest: &Contest, terms: u32) -> Duration {
        let points = points_g1(1000);
        contest.time(|| black_box(points.as_slice()).add()) * terms / 1000
    }
}

fn product(contest: &Contest) -> Duration {
    let (points, keys) = (points_g1(2), points_g2(2));
    contest.time(|| blst_fp12::miller_loop_n(black_box(&keys), black_box(&points)).final_exp())
}

fn sum<P>(contest: &Contest, points: &[P], bits: usize) -> Duration
where
    [P]: MultiPoint,
{
    let scalars = scalars(points.len(), bits);
    contest.time(|| black_box(points).mult(black_box(&scalars), bits))
}
