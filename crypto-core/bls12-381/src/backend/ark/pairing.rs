//! The pairing on arkworks' tower of fields and line functions.
//!
//! The Miller loop is implemented here because arkworks' own loop asks rayon for its threads, and
//! thereby starts them, whenever the features of some crate turn on `ark-ec/parallel`.
use alloc::vec::Vec;

use ark_ec::bls12::g2::EllCoeff;
use ark_ec::bls12::{Bls12Config, G2Prepared};
use ark_ec::pairing::{MillerLoopOutput, Pairing};
use ark_ff::{AdditiveGroup, BitIteratorBE, CyclotomicMultSubgroup, Field};
use zeroize::Zeroize;

use super::curves::{Bls12_381, Config, Fq12};
use super::field::Coordinate;
use super::formulas::{Affine, G1, G2};
use crate::field::BaseField;
use crate::field::Twelve;
use crate::group::Group;

/// An element of the field that `𝔾_T` lies in.
pub(crate) type Fp12 = Fq12;

/// Number of terms that are processed at once. Each takes 20 KB during that time.
const TERMS: usize = 4;

pub(crate) fn fp12_one() -> Fp12 {
    Fp12::ONE
}

pub(crate) fn fp12_mul(a: &Fp12, b: &Fp12) -> Fp12 {
    *a * b
}

/// Squares an element of the order-`r` subgroup.
pub(crate) fn fp12_cyclotomic_square(a: &Fp12) -> Fp12 {
    a.cyclotomic_square()
}

/// The inverse of an element of the order-`r` subgroup; in general the power `p⁶`.
pub(crate) fn fp12_conjugate(a: &Fp12) -> Fp12 {
    let mut out = *a;
    out.conjugate_in_place();
    out
}

pub(crate) fn fp12_wipe(a: &mut Fp12) {
    for half in [&mut a.c0, &mut a.c1] {
        for part in [&mut half.c0, &mut half.c1, &mut half.c2] {
            part.limbs().for_each(Zeroize::zeroize);
        }
    }
}

pub(crate) fn fp12_equal(a: &Fp12, b: &Fp12) -> bool {
    a == b
}

/// The coefficients of `w⁰, w¹, …, w⁵`. Those of even powers lie in the first half, since
/// arkworks' tower has `v = w²`.
pub(crate) fn fp12_to_bytes(a: &Fp12) -> [u8; 576] {
    let (even, odd) = (a.c0, a.c1);
    let coefficients = [even.c0, odd.c0, even.c1, odd.c1, even.c2, odd.c2];
    let mut out = [0; 576];
    let numbers = coefficients.into_iter().flat_map(|part| [part.c0, part.c1]);
    for (bytes, number) in out.chunks_exact_mut(48).zip(numbers) {
        number.write(bytes);
    }
    out
}

/// From the coefficients of `w⁰, …, w⁵`.
pub(crate) fn fp12_from_words(words: &Twelve) -> Fp12 {
    let mut out = Fp12::ONE;
    let (even, odd) = (&mut out.c0, &mut out.c1);
    let parts = [&mut even.c0, &mut odd.c0, &mut even.c1, &mut odd.c1, &mut even.c2, &mut odd.c2];
    for (part, [c0, c1]) in parts.into_iter().zip(words) {
        part.set_words(0, *c0);
        part.set_words(1, *c1);
    }
    out
}

/// Product of Miller loops; terms with a point at infinity contribute one.
pub(crate) fn miller_loop(terms: &[(Affine<G1>, Affine<G2>)]) -> Fp12 {
    let finite: Vec<_> = terms
        .iter()
        .filter(|(p, q)| !G1::is_identity_affine(p) && !G2::is_identity_affine(q))
        .collect();
    finite.chunks(TERMS).fold(Fp12::ONE, |product, part| product * one_loop(part))
}

/// The loop of section 4 of eprint 2013/722 over `|x|`, from its second bit down. The terms share its
/// squarings.
fn one_loop(terms: &[&(Affine<G1>, Affine<G2>)]) -> Fp12 {
    let mut lines: Vec<_> = terms
        .iter()
        .map(|(p, q)| (p, G2Prepared::<Config>::from(q).ell_coeffs.into_iter()))
        .collect();
    let mut product = Fp12::ONE;
    for bit in BitIteratorBE::without_leading_zeros(Config::X).skip(1) {
        product.square_in_place();
        // A doubling, and an addition where the bit is set.
        for _ in 0..=u8::from(bit) {
            for (p, lines) in &mut lines {
                if let Some(line) = lines.next() {
                    multiply_by_line(&mut product, line, p);
                }
            }
        }
    }
    // x is negative.
    fp12_conjugate(&product)
}

/// Multiplies by the line at `p`. The twist is of type M.
fn multiply_by_line(product: &mut Fp12, line: EllCoeff<Config>, p: &Affine<G1>) {
    let (constant, mut at_x, mut at_y) = line;
    at_x.mul_assign_by_fp(&p.x);
    at_y.mul_assign_by_fp(&p.y);
    product.mul_by_014(&constant, &at_x, &at_y);
}

/// The final exponentiation. It is zero for zero, but no Miller loop gives zero.
pub(crate) fn final_exponentiation(a: &Fp12) -> Fp12 {
    Bls12_381::final_exponentiation(MillerLoopOutput(*a)).map_or(Fp12::ZERO, |output| output.0)
}
