//! blst behind safe functions. Besides the calls in `lanes.rs`, this is the only file with `unsafe`.
//!
//! blst is C and assembly. Its functions read and write fixed-size structs through pointers and
//! keep none of them, so a call is sound when every pointer is valid for its struct and every count
//! matches its array; each block below says why that holds. Nothing here allocates inside blst, and
//! nothing uses blst's thread pool.
//!
//! This module also does what blst leaves to its caller: points at infinity never reach a Miller
//! loop, where they would give a wrong result.
//!
//! The types that callers see are in `scalar`, `points` and `pairing`.
#![expect(unsafe_code, reason = "blst is C and assembly; this file is its safe face")]

mod words;

use alloc::vec;
use alloc::vec::Vec;
use core::ptr;

use blst::{
    BLST_ERROR, blst_fp12, blst_fr, blst_p1, blst_p1_affine, blst_p2, blst_p2_affine, blst_scalar,
};
use zeroize::Zeroize;

use self::words::{
    FP_ONE, FP_ZERO, FP2_ONE, FP2_ZERO, fp_limbs, fp_words, fp2_limbs, fp2_words, set_fp_words,
    set_fp2_words,
};
pub(crate) use self::words::{g1_from_limbs, g2_from_limbs};
use crate::error::DecodeError;
use crate::field::BaseField;
use crate::field::Twelve;
use crate::group::{BETA, Group, UNTWIST_X, UNTWIST_Y, limb_select, sealed};
use crate::reveal::reveal;

/// A scalar in Montgomery form.
pub(crate) type Fr = blst_fr;
/// An element of the field that `𝔾_T` lies in.
pub(crate) type Fp12 = blst_fp12;

/// Number of bits of the group order.
const ORDER_BITS: usize = 255;

pub(crate) const fn fr_from_limbs(l: [u64; 4]) -> Fr {
    blst_fr { l }
}

#[inline]
pub(crate) fn fr_limbs(a: &Fr) -> &[u64; 4] {
    &a.l
}

pub(crate) fn fr_wipe(a: &mut Fr) {
    a.l.zeroize();
}

macro_rules! fr_binary {
    ($($name:ident => $raw:ident),*) => {$(
        #[inline]
        pub(crate) fn $name(a: &blst_fr, b: &blst_fr) -> blst_fr {
            let mut out = blst_fr::default();
            // SAFETY: three valid `blst_fr`; blst allows the inputs to alias each other.
            unsafe { blst::$raw(&raw mut out, a, b) };
            out
        }
    )*};
}

fr_binary!(fr_add => blst_fr_add, fr_sub => blst_fr_sub, fr_mul => blst_fr_mul);

#[inline]
pub(crate) fn fr_neg(a: &blst_fr) -> blst_fr {
    let mut out = blst_fr::default();
    // SAFETY: two valid `blst_fr`.
    unsafe { blst::blst_fr_cneg(&raw mut out, a, true) };
    out
}

/// `(a, b) ← (a + b·twiddle, a − b·twiddle)`, the step of a Fourier transform.
#[inline]
pub(crate) fn fr_butterfly(a: &mut blst_fr, b: &mut blst_fr, twiddle: &blst_fr) {
    // SAFETY: three valid `blst_fr`, two of them changed in place; Rust keeps them apart.
    unsafe { blst::blst_fr_ct_bfly(a, b, twiddle) };
}

/// The inverse, or zero for zero. Constant time.
pub(crate) fn fr_invert(a: &blst_fr) -> blst_fr {
    let mut out = blst_fr::default();
    // SAFETY: two valid `blst_fr`.
    unsafe { blst::blst_fr_inverse(&raw mut out, a) };
    out
}

#[inline]
pub(crate) fn fr_from_u64(value: u64) -> blst_fr {
    let limbs = [value, 0, 0, 0];
    let mut out = blst_fr::default();
    // SAFETY: blst reads four limbs, and four there are.
    unsafe { blst::blst_fr_from_uint64(&raw mut out, limbs.as_ptr()) };
    out
}

/// `None` if the bytes, big-endian, are not below the group order.
pub(crate) fn fr_from_bytes(bytes: &[u8; 32]) -> Option<blst_fr> {
    let mut scalar = blst_scalar::default();
    let mut out = blst_fr::default();
    // SAFETY: blst reads 32 bytes and writes one `blst_scalar`.
    unsafe { blst::blst_scalar_from_bendian(&raw mut scalar, bytes.as_ptr()) };
    // SAFETY: a valid `blst_scalar`.
    let is_reduced = unsafe { blst::blst_scalar_fr_check(&raw const scalar) };
    if !known(is_reduced) {
        return None;
    }
    // SAFETY: one valid struct each; the value was checked to be reduced.
    unsafe { blst::blst_fr_from_scalar(&raw mut out, &raw const scalar) };
    Some(out)
}

/// Big-endian bytes of any length modulo the group order.
pub(crate) fn fr_from_wide(bytes: &[u8]) -> blst_fr {
    let mut scalar = blst_scalar::default();
    let mut out = blst_fr::default();
    // SAFETY: blst reads exactly `len` bytes. Its result only says whether the value is zero.
    unsafe { blst::blst_scalar_from_be_bytes(&raw mut scalar, bytes.as_ptr(), bytes.len()) };
    // SAFETY: one valid struct each; the value is reduced.
    unsafe { blst::blst_fr_from_scalar(&raw mut out, &raw const scalar) };
    out
}

/// The number as little-endian bytes, as multiplications need it.
pub(crate) fn fr_to_bytes(a: &blst_fr) -> [u8; 32] {
    let mut out = blst_scalar::default();
    // SAFETY: one valid struct each. This one is wiped on drop.
    unsafe { blst::blst_scalar_from_fr(&raw mut out, a) };
    out.b
}

/// Makes a test result of blst public. It may be known to everybody, because no secret is zero and no
/// secret is guessed.
fn known(verdict: bool) -> bool {
    reveal(u8::from(verdict).into())
}

fn decoded(status: BLST_ERROR) -> Result<(), DecodeError> {
    match status {
        BLST_ERROR::BLST_SUCCESS => Ok(()),
        BLST_ERROR::BLST_POINT_NOT_ON_CURVE => Err(DecodeError::NotOnCurve),
        BLST_ERROR::BLST_POINT_NOT_IN_GROUP => Err(DecodeError::NotInSubgroup),
        _ => Err(DecodeError::NotCanonical),
    }
}

/// The first group: points over the base field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct G1;

/// The second group: points over the quadratic extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct G2;

macro_rules! base_field {
    (
        $field:ident, $zero:expr, $unit:expr, $add:ident, $sub:ident, $mul:ident, $sqr:ident,
        $inverse:ident, $words:ident, $set_words:ident
    ) => {
        impl BaseField for blst::$field {
            const UNIT: Self = $unit;

            #[inline]
            fn sum(&self, other: &Self) -> Self {
                let mut out = $zero;
                // SAFETY: three valid field elements; blst allows the inputs to alias each other.
                unsafe { blst::$add(&raw mut out, self, other) };
                out
            }

            #[inline]
            fn difference(&self, other: &Self) -> Self {
                let mut out = $zero;
                // SAFETY: as for `sum`.
                unsafe { blst::$sub(&raw mut out, self, other) };
                out
            }

            #[inline]
            fn product(&self, other: &Self) -> Self {
                let mut out = $zero;
                // SAFETY: as for `sum`.
                unsafe { blst::$mul(&raw mut out, self, other) };
                out
            }

            #[inline]
            fn squared(&self) -> Self {
                let mut out = $zero;
                // SAFETY: two valid field elements.
                unsafe { blst::$sqr(&raw mut out, self) };
                out
            }

            #[inline]
            fn inverse(&self) -> Self {
                let mut out = $zero;
                // SAFETY: two valid field elements.
                unsafe { blst::$inverse(&raw mut out, self) };
                out
            }

            #[inline]
            fn words(&self, at: usize) -> &[u64; 6] {
                $words(self, at)
            }

            #[inline]
            fn set_words(&mut self, at: usize, words: [u64; 6]) {
                $set_words(self, at, words);
            }
        }
    };
}

macro_rules! backend {
    (
        $group:ident, $raw:ident, $affine:ident, $coordinate:ident, $zero:expr, $bytes:literal, $limbs:ident,
        $generator:ident, $add:ident, $add_affine:ident, $double:ident, $cneg:ident,
        $coordinate_cneg:ident,
        $equal:ident, $affine_equal:ident, $is_inf:ident, $affine_is_inf:ident, $to_affine:ident,
        $from_affine:ident, $batch:ident, $mult:ident,
        $compress:ident, $uncompress:ident, $in_group:ident, $hash:ident,
        $encode:ident, $digits:literal, $endomorphism:ident
    ) => {
        impl sealed::Sealed for $group {}

        impl Group for $group {
            type RawAffine = $affine;
            type RawProjective = $raw;
            type Coordinate = blst::$coordinate;
            type Bytes = [u8; $bytes];

            const EMPTY: Self::Bytes = [0; $bytes];
            const AFFINE_IDENTITY: $affine = $affine { x: $zero, y: $zero };
            const IDENTITY: $raw = $raw { x: $zero, y: $zero, z: $zero };

            const DIGITS: usize = $digits;

            #[inline]
            fn endomorphism(a: &$affine) -> $affine {
                let mut image = $endomorphism(a);
                Self::negate_affine(&mut image);
                image
            }

            #[inline]
            fn generator() -> $affine {
                // SAFETY: blst returns the address of a constant that is never written.
                unsafe { *blst::$generator() }
            }

            #[inline]
            fn add(a: &$raw, b: &$raw) -> $raw {
                let mut out = Self::IDENTITY;
                // SAFETY: three valid points; any may be infinite, the two may be equal.
                unsafe { blst::$add(&raw mut out, a, b) };
                out
            }

            #[inline]
            fn add_affine(a: &$raw, b: &$affine) -> $raw {
                let mut out = Self::IDENTITY;
                // SAFETY: three valid points; any may be infinite, the two may be equal.
                unsafe { blst::$add_affine(&raw mut out, a, b) };
                out
            }

            #[inline]
            fn double(a: &$raw) -> $raw {
                let mut out = Self::IDENTITY;
                // SAFETY: two valid points.
                unsafe { blst::$double(&raw mut out, a) };
                out
            }

            #[inline]
            fn negate(a: &mut $raw) {
                // SAFETY: one valid point, changed in place.
                unsafe { blst::$cneg(a, true) };
            }

            #[inline]
            fn negate_affine(a: &mut $affine) {
                let y = a.y;
                // SAFETY: two valid coordinates; zero, as at infinity, stays zero.
                unsafe { blst::$coordinate_cneg(&raw mut a.y, &raw const y, true) };
            }

            #[inline]
            fn wipe(a: &mut $raw) {
                $limbs(&mut a.x).for_each(Zeroize::zeroize);
                $limbs(&mut a.y).for_each(Zeroize::zeroize);
                $limbs(&mut a.z).for_each(Zeroize::zeroize);
            }

            #[inline]
            fn wipe_affine(a: &mut $affine) {
                $limbs(&mut a.x).for_each(Zeroize::zeroize);
                $limbs(&mut a.y).for_each(Zeroize::zeroize);
            }

            #[inline]
            fn equal(a: &$raw, b: &$raw) -> bool {
                // SAFETY: two valid points.
                known(unsafe { blst::$equal(a, b) })
            }

            #[inline]
            fn equal_affine(a: &$affine, b: &$affine) -> bool {
                // SAFETY: two valid points.
                known(unsafe { blst::$affine_equal(a, b) })
            }

            #[inline]
            fn coordinates(a: &$affine) -> (&Self::Coordinate, &Self::Coordinate) {
                (&a.x, &a.y)
            }

            #[inline]
            fn from_coordinates(x: Self::Coordinate, y: Self::Coordinate) -> $affine {
                $affine { x, y }
            }

            #[inline]
            fn is_identity(a: &$raw) -> bool {
                // SAFETY: one valid point.
                known(unsafe { blst::$is_inf(a) })
            }

            #[inline]
            fn is_identity_affine(a: &$affine) -> bool {
                // SAFETY: one valid point.
                known(unsafe { blst::$affine_is_inf(a) })
            }

            #[inline]
            fn to_affine(a: &$raw) -> $affine {
                let mut out = Self::AFFINE_IDENTITY;
                // SAFETY: one valid point each.
                unsafe { blst::$to_affine(&raw mut out, a) };
                out
            }

            #[inline]
            fn to_projective(a: &$affine) -> $raw {
                let mut out = Self::IDENTITY;
                // SAFETY: one valid point each.
                unsafe { blst::$from_affine(&raw mut out, a) };
                out
            }

            #[inline]
            fn batch_to_affine(points: &[&$raw]) -> Vec<$affine> {
                let mut out = vec![Self::AFFINE_IDENTITY; points.len()];
                let pointers: Vec<*const $raw> = points.iter().map(|&p| ptr::from_ref(p)).collect();
                if !pointers.is_empty() {
                    // SAFETY: `out` and `pointers` have `len` entries each, none of them null.
                    unsafe {
                        blst::$batch(out.as_mut_ptr(), pointers.as_ptr(), pointers.len());
                    }
                }
                out
            }

            #[inline]
            fn multiply(point: &$raw, scalar: &[u8; 32]) -> $raw {
                let mut out = Self::IDENTITY;
                // SAFETY: blst reads 255 bits, and there are 256.
                unsafe { blst::$mult(&raw mut out, point, scalar.as_ptr(), ORDER_BITS) };
                out
            }

            #[inline]
            fn select(a: &mut $affine, b: &$affine, condition: u64) {
                for (x, y) in $limbs(&mut a.x).zip($limbs(&mut { b.x })) {
                    limb_select(x, *y, condition);
                }
                for (x, y) in $limbs(&mut a.y).zip($limbs(&mut { b.y })) {
                    limb_select(x, *y, condition);
                }
            }

            #[inline]
            fn compress(a: &$affine) -> Self::Bytes {
                let mut out = Self::EMPTY;
                // SAFETY: blst writes exactly the compressed length.
                unsafe { blst::$compress(out.as_mut_ptr(), a) };
                out
            }

            #[inline]
            fn decompress_unchecked(bytes: &Self::Bytes) -> Result<$affine, DecodeError> {
                let mut out = Self::AFFINE_IDENTITY;
                // SAFETY: blst reads exactly the compressed length.
                decoded(unsafe { blst::$uncompress(&raw mut out, bytes.as_ptr()) })?;
                Ok(out)
            }

            #[inline]
            fn in_subgroup(a: &$affine) -> bool {
                // SAFETY: one valid point on the curve.
                unsafe { blst::$in_group(a) }
            }

            #[inline]
            fn hash(message: &[u8], tag: &[u8]) -> $raw {
                let (m, t) = (message, tag);
                let mut out = Self::IDENTITY;
                // SAFETY: two slices with their lengths, and no augmentation.
                unsafe {
                    let (m, m_len, t, t_len) = (m.as_ptr(), m.len(), t.as_ptr(), t.len());
                    blst::$hash(&raw mut out, m, m_len, t, t_len, ptr::null(), 0);
                }
                out
            }

            #[inline]
            fn encode(message: &[u8], tag: &[u8]) -> $raw {
                let (m, t) = (message, tag);
                let mut out = Self::IDENTITY;
                // SAFETY: as for `hash`.
                unsafe {
                    let (m, m_len, t, t_len) = (m.as_ptr(), m.len(), t.as_ptr(), t.len());
                    blst::$encode(&raw mut out, m, m_len, t, t_len, ptr::null(), 0);
                }
                out
            }
        }
    };
}

base_field!(
    blst_fp,
    FP_ZERO,
    FP_ONE,
    blst_fp_add,
    blst_fp_sub,
    blst_fp_mul,
    blst_fp_sqr,
    blst_fp_eucl_inverse,
    fp_words,
    set_fp_words
);

base_field!(
    blst_fp2,
    FP2_ZERO,
    FP2_ONE,
    blst_fp2_add,
    blst_fp2_sub,
    blst_fp2_mul,
    blst_fp2_sqr,
    blst_fp2_eucl_inverse,
    fp2_words,
    set_fp2_words
);

backend!(
    G1,
    blst_p1,
    blst_p1_affine,
    blst_fp,
    FP_ZERO,
    48,
    fp_limbs,
    blst_p1_affine_generator,
    blst_p1_add_or_double,
    blst_p1_add_or_double_affine,
    blst_p1_double,
    blst_p1_cneg,
    blst_fp_cneg,
    blst_p1_is_equal,
    blst_p1_affine_is_equal,
    blst_p1_is_inf,
    blst_p1_affine_is_inf,
    blst_p1_to_affine,
    blst_p1_from_affine,
    blst_p1s_to_affine,
    blst_p1_mult,
    blst_p1_affine_compress,
    blst_p1_uncompress,
    blst_p1_affine_in_g1,
    blst_hash_to_g1,
    blst_encode_to_g1,
    2,
    g1_endomorphism
);

backend!(
    G2,
    blst_p2,
    blst_p2_affine,
    blst_fp2,
    FP2_ZERO,
    96,
    fp2_limbs,
    blst_p2_affine_generator,
    blst_p2_add_or_double,
    blst_p2_add_or_double_affine,
    blst_p2_double,
    blst_p2_cneg,
    blst_fp2_cneg,
    blst_p2_is_equal,
    blst_p2_affine_is_equal,
    blst_p2_is_inf,
    blst_p2_affine_is_inf,
    blst_p2_to_affine,
    blst_p2_from_affine,
    blst_p2s_to_affine,
    blst_p2_mult,
    blst_p2_affine_compress,
    blst_p2_uncompress,
    blst_p2_affine_in_g2,
    blst_hash_to_g2,
    blst_encode_to_g2,
    4,
    g2_endomorphism
);

/// `(β·x, y)`
#[inline]
fn g1_endomorphism(a: &blst_p1_affine) -> blst_p1_affine {
    let (beta, mut image) = (blst::blst_fp { l: BETA }, *a);
    // SAFETY: three valid field elements.
    unsafe { blst::blst_fp_mul(&raw mut image.x, &raw const a.x, &raw const beta) };
    image
}

/// `(c·x̄, d·ȳ)`
#[inline]
fn g2_endomorphism(a: &blst_p2_affine) -> blst_p2_affine {
    let times_conjugate = |coordinate: &blst::blst_fp2, [c0, c1]: [[u64; 6]; 2]| {
        let factor = blst::blst_fp2 { fp: [blst::blst_fp { l: c0 }, blst::blst_fp { l: c1 }] };
        let (mut conjugate, mut product) = (*coordinate, FP2_ZERO);
        let [_, imaginary] = &mut conjugate.fp;
        let positive = *imaginary;
        // SAFETY: two valid field elements.
        unsafe { blst::blst_fp_cneg(imaginary, &raw const positive, true) };
        // SAFETY: three valid field elements.
        unsafe { blst::blst_fp2_mul(&raw mut product, &raw const conjugate, &raw const factor) };
        product
    };
    blst_p2_affine { x: times_conjugate(&a.x, UNTWIST_X), y: times_conjugate(&a.y, UNTWIST_Y) }
}

#[inline]
pub(crate) fn fp12_one() -> blst_fp12 {
    // SAFETY: blst returns the address of a constant that is never written.
    unsafe { *blst::blst_fp12_one() }
}

#[inline]
pub(crate) fn fp12_mul(a: &blst_fp12, b: &blst_fp12) -> blst_fp12 {
    let mut out = blst_fp12::default();
    // SAFETY: three valid field elements.
    unsafe { blst::blst_fp12_mul(&raw mut out, a, b) };
    out
}

/// Squares an element of the order-`r` subgroup.
#[inline]
pub(crate) fn fp12_cyclotomic_square(a: &blst_fp12) -> blst_fp12 {
    let mut out = blst_fp12::default();
    // SAFETY: two valid field elements.
    unsafe { blst::blst_fp12_cyclotomic_sqr(&raw mut out, a) };
    out
}

/// The inverse of an element of the order-`r` subgroup.
#[inline]
pub(crate) fn fp12_conjugate(a: &blst_fp12) -> blst_fp12 {
    let mut out = *a;
    // SAFETY: one valid field element, changed in place.
    unsafe { blst::blst_fp12_conjugate(&raw mut out) };
    out
}

pub(crate) fn fp12_wipe(a: &mut blst_fp12) {
    let halves = a.fp6.iter_mut().flat_map(|half| half.fp2.iter_mut());
    halves.flat_map(fp2_limbs).for_each(Zeroize::zeroize);
}

#[inline]
pub(crate) fn fp12_equal(a: &blst_fp12, b: &blst_fp12) -> bool {
    // SAFETY: two valid field elements.
    unsafe { blst::blst_fp12_is_equal(a, b) }
}

pub(crate) fn fp12_to_bytes(a: &blst_fp12) -> [u8; 576] {
    let mut out = [0; 576];
    // SAFETY: blst writes twelve field elements of 48 bytes each.
    unsafe { blst::blst_bendian_from_fp12(out.as_mut_ptr(), a) };
    out
}

/// From the coefficients of `w⁰, …, w⁵`.
pub(crate) fn fp12_from_words(words: &Twelve) -> blst_fp12 {
    let mut out = blst_fp12::default();
    let [even, odd] = &mut out.fp6;
    for ((even, odd), pair) in even.fp2.iter_mut().zip(&mut odd.fp2).zip(words.chunks_exact(2)) {
        for (part, coefficient) in [even, odd].into_iter().zip(pair) {
            for (number, words) in part.fp.iter_mut().zip(coefficient) {
                number.l = *words;
            }
        }
    }
    out
}

/// Product of Miller loops; terms with a point at infinity contribute one.
pub(crate) fn miller_loop(terms: &[(blst_p1_affine, blst_p2_affine)]) -> blst_fp12 {
    let (ps, qs): (Vec<*const blst_p1_affine>, Vec<*const blst_p2_affine>) = terms
        .iter()
        .filter(|(p, q)| !G1::is_identity_affine(p) && !G2::is_identity_affine(q))
        .map(|(p, q)| (ptr::from_ref(p), ptr::from_ref(q)))
        .unzip();
    if ps.is_empty() {
        return fp12_one();
    }
    let mut out = blst_fp12::default();
    // SAFETY: as many points of one group as of the other, no pointer null, none infinite.
    unsafe { blst::blst_miller_loop_n(&raw mut out, qs.as_ptr(), ps.as_ptr(), ps.len()) };
    out
}

pub(crate) fn final_exponentiation(a: &blst_fp12) -> blst_fp12 {
    let mut out = blst_fp12::default();
    // SAFETY: two valid field elements.
    unsafe { blst::blst_final_exp(&raw mut out, a) };
    out
}
