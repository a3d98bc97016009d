//! arkworks behind the same functions as blst. It is pure Rust, so everything runs in a browser and
//! on bare metal. In tests it serves as a second opinion on blst.
//!
//! arkworks provides the fields, line functions, the final exponentiation and the simplified SWU map.
//! The following parts are implemented here:
//!
//! | part                       | reason not to use arkworks' version                              |
//! |----------------------------|------------------------------------------------------------------|
//! | decoding (`encoding`)      | accepts flags and bytes after the infinity flag that blst refuses |
//! | multiplication (`formulas`) | its time depends on the scalar; in `𝔾₁` for the subgroup only      |
//! | inversion                  | its time depends on the value; here a power, `a^(p−2)`           |
//! | `expand_message_xmd`       | would bring a second release of SHA-256                          |
//! | subgroup checks, cofactors (`formulas`) | uses arkworks' slower formulas                          |
//! | `𝔽p` in browsers (`narrow`) | there it takes twice the time, and twice the bytes         |
//! | Miller loop, isogeny (`pairing`, `map`) | start rayon's global pool if anybody's features turn on `ark-ec/parallel` |
//!
//! **Constant time, as far as it goes.** Operations on points do not branch on coordinates or scalar
//! bits: the formulas are complete, all table entries are read and masked (`formulas`), and
//! inversions are powers with a public exponent. But arkworks' field arithmetic ends in
//! `if value ≥ modulus`, and its subtraction and negation compare first. Whether these become
//! branches is up to the compiler. A party that holds long-lived secrets on a machine where others
//! can measure time should use blst. The map to the curve, decoding, encoding and pairings are not
//! constant time. Their inputs are public in every scheme here except one: encryption to a round
//! pairs and encodes points that must stay secret.
#![cfg_attr(feature = "blst", expect(unreachable_pub, reason = "beside blst, for tests only"))]

mod curves;
mod encoding;
mod field;
mod formulas;
mod group;
mod map;
#[cfg(any(test, target_family = "wasm"))]
mod narrow;
mod numbers;
mod pairing;

use ark_ff::{BigInt, PrimeField};
use zeroize::Zeroize;

pub use self::formulas::{G1, G2};
pub(crate) use self::group::{g1_from_limbs, g2_from_limbs};
use self::numbers::{big_endian, invert, reduce};
#[cfg(not(feature = "blst"))]
pub(crate) use self::pairing::Fp12;
pub(crate) use self::pairing::{
    final_exponentiation, fp12_conjugate, fp12_cyclotomic_square, fp12_equal, fp12_from_words,
    fp12_mul, fp12_one, fp12_to_bytes, fp12_wipe, miller_loop,
};

/// A scalar in Montgomery form, with the same limbs as blst's.
pub(crate) type Fr = ark_bls12_381::Fr;

pub(crate) const fn fr_from_limbs(limbs: [u64; 4]) -> Fr {
    Fr::new_unchecked(BigInt(limbs))
}

pub(crate) fn fr_limbs(a: &Fr) -> &[u64; 4] {
    &a.0.0
}

pub(crate) fn fr_wipe(a: &mut Fr) {
    a.0.0.zeroize();
}

pub(crate) fn fr_add(a: &Fr, b: &Fr) -> Fr {
    *a + b
}

pub(crate) fn fr_sub(a: &Fr, b: &Fr) -> Fr {
    *a - b
}

pub(crate) fn fr_mul(a: &Fr, b: &Fr) -> Fr {
    *a * b
}

pub(crate) fn fr_neg(a: &Fr) -> Fr {
    -*a
}

/// `(a, b) ← (a + b·twiddle, a − b·twiddle)`, the step of a Fourier transform.
pub(crate) fn fr_butterfly(a: &mut Fr, b: &mut Fr, twiddle: &Fr) {
    let product = *b * twiddle;
    *b = *a - product;
    *a += product;
}

/// The inverse, or zero for zero.
pub(crate) fn fr_invert(a: &Fr) -> Fr {
    invert(a)
}

pub(crate) fn fr_from_u64(value: u64) -> Fr {
    Fr::from(value)
}

/// `None` if the bytes, big-endian, are not below the group order.
pub(crate) fn fr_from_bytes(bytes: &[u8; 32]) -> Option<Fr> {
    Fr::from_bigint(big_endian(bytes))
}

/// Big-endian bytes of any length modulo the group order.
pub(crate) fn fr_from_wide(bytes: &[u8]) -> Fr {
    reduce(bytes)
}

/// The number as little-endian bytes, as multiplications need it.
pub(crate) fn fr_to_bytes(a: &Fr) -> [u8; 32] {
    let mut bytes = [0; 32];
    let mut number = a.into_bigint();
    for (part, limb) in bytes.chunks_exact_mut(8).zip(number.0) {
        part.copy_from_slice(&limb.to_le_bytes());
    }
    number.0.zeroize();
    bytes
}
