//! blst alone: what an operation costs at least.
//!
//! Each function measures one primitive and returns the name it is measured under, `limit::…`. blst
//! offers no hash to the curve alone in safe Rust, so a hash is a signature less a
//! multiplication.
use std::hint::black_box;

use blst::{MultiPoint, blst_fp12, min_pk, min_sig};

use crate::fixture::raw::{points_g1, points_g2, scalars, seed};
use crate::suite::Suite;

const TAG: &[u8] = b"PREFINAL-BENCH-LIMIT_XMD:SHA-256_SSWU_RO_";

/// `H(m)^k` in 𝔾₁: one hash, one multiplication.
pub fn sign_g1(suite: &mut Suite) -> String {
    let key = min_sig::SecretKey::key_gen(&seed(1), &[]).unwrap();
    suite.measure("limit::sign_g1", || key.sign(black_box(b"message"), TAG, &[]))
}

/// `H(m)^k` in 𝔾₂: one hash, one multiplication.
pub fn sign_g2(suite: &mut Suite) -> String {
    let key = min_pk::SecretKey::key_gen(&seed(1), &[]).unwrap();
    suite.measure("limit::sign_g2", || key.sign(black_box(b"message"), TAG, &[]))
}

/// `g₁^k`, constant time.
pub fn multiply_g1(suite: &mut Suite) -> String {
    let key = min_pk::SecretKey::key_gen(&seed(1), &[]).unwrap();
    suite.measure("limit::multiply_g1", || black_box(&key).sk_to_pk())
}

/// `g₂^k`, constant time.
pub fn multiply_g2(suite: &mut Suite) -> String {
    let key = min_sig::SecretKey::key_gen(&seed(1), &[]).unwrap();
    suite.measure("limit::multiply_g2", || black_box(&key).sk_to_pk())
}

/// 48 bytes to a point of 𝔾₁, with the subgroup check.
pub fn decode_g1(suite: &mut Suite) -> String {
    let bytes = min_pk::PublicKey::from(points_g1(1)[0]).compress();
    suite.measure("limit::decode_g1", || min_pk::PublicKey::key_validate(black_box(&bytes)).is_ok())
}

/// 96 bytes to a point of 𝔾₂, with the subgroup check.
pub fn decode_g2(suite: &mut Suite) -> String {
    let bytes = min_sig::PublicKey::from(points_g2(1)[0]).compress();
    suite
        .measure("limit::decode_g2", || min_sig::PublicKey::key_validate(black_box(&bytes)).is_ok())
}

/// Miller loop over this many pairs.
pub fn miller_loop(suite: &mut Suite, pairs: usize) -> String {
    let (ps, qs) = (points_g1(pairs), points_g2(pairs));
    suite.measure(&format!("limit::miller_loop/{pairs}"), || {
        blst_fp12::miller_loop_n(black_box(&qs), black_box(&ps))
    })
}

/// Final exponentiation.
pub fn final_exponentiation(suite: &mut Suite) -> String {
    let loops = blst_fp12::miller_loop_n(&points_g2(1), &points_g1(1));
    suite.measure("limit::final_exponentiation", || black_box(&loops).final_exp())
}

/// Product of this many pairings.
pub fn product(suite: &mut Suite, pairs: usize) -> String {
    let (ps, qs) = (points_g1(pairs), points_g2(pairs));
    suite.measure(&format!("limit::product/{pairs}"), || {
        blst_fp12::miller_loop_n(black_box(&qs), black_box(&ps)).final_exp()
    })
}

/// Sum of products in 𝔾₁ with scalars of this many bits.
pub fn msm_g1(suite: &mut Suite, terms: usize, bits: usize) -> String {
    let (points, scalars) = (points_g1(terms), scalars(terms, bits));
    suite.measure(&format!("limit::msm_g1/{terms}x{bits}"), || {
        black_box(points.as_slice()).mult(black_box(&scalars), bits)
    })
}

/// Sum of products in 𝔾₂ with scalars of this many bits.
pub fn msm_g2(suite: &mut Suite, terms: usize, bits: usize) -> String {
    let (points, scalars) = (points_g2(terms), scalars(terms, bits));
    suite.measure(&format!("limit::msm_g2/{terms}x{bits}"), || {
        black_box(points.as_slice()).mult(black_box(&scalars), bits)
    })
}

/// Sums of products in 𝔾₁, one for each party of these weights.
pub fn sums_g1(suite: &mut Suite, weights: &[usize], bits: usize) -> String {
    let total = weights.iter().sum();
    let (points, scalars) = (points_g1(total), scalars(total, bits));
    let name = format!("limit::sums_g1/{} of {total}x{bits}", weights.len());
    suite.measure(&name, || {
        let (mut points, mut scalars) = (points.as_slice(), scalars.as_slice());
        for &weight in weights {
            let (own, rest) = points.split_at(weight);
            let (by, others) = scalars.split_at(weight * bits.div_ceil(8));
            black_box(own.mult(by, bits));
            (points, scalars) = (rest, others);
        }
    })
}

/// Plain sum of this many points of 𝔾₁, with shared inversions.
pub fn add_g1(suite: &mut Suite, terms: usize) -> String {
    let points = points_g1(terms);
    suite.measure(&format!("limit::add_g1/{terms}"), || black_box(points.as_slice()).add())
}

/// Plain sum of this many points of 𝔾₂, with shared inversions.
pub fn add_g2(suite: &mut Suite, terms: usize) -> String {
    let points = points_g2(terms);
    suite.measure(&format!("limit::add_g2/{terms}"), || black_box(points.as_slice()).add())
}
