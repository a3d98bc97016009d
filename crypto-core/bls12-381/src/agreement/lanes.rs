//! Compares Miller loops in eight lanes with those of both backends. On processors without lanes
//! nothing is tested.
use alloc::vec::Vec;
use core::array;

use ark_ff::{AdditiveGroup, Field, PrimeField};
use proptest::prelude::*;

use super::{Both, config, scalar};
use crate::backend::{ark, blst};
use crate::field::BaseField;
use crate::group::Group;
use crate::lanes::{LANES, Wide};
use crate::points::Affine;

type Fq = ark_bls12_381::Fq;
type Fq2 = ark_bls12_381::Fq2;
type Fq12 = ark_bls12_381::Fq12;

/// Every term again in the other order of points, once with `−P`: those cancel out.
fn with_opposites<B: Group, A: Group>(terms: &mut Vec<(Affine<B>, Affine<A>)>) {
    let opposites: Vec<_> = terms.iter().rev().map(|(p, q)| (-*p, *q)).collect();
    terms.extend(opposites);
}

macro_rules! product_in_lanes {
    ($backend:ident, $terms:expr) => {{
        let terms: Vec<_> = $terms.iter().map(|(p, q)| (p.0, q.0)).collect();
        let wide = Wide::detect().unwrap();
        let loops = wide.miller_loops::<$backend::G1, $backend::G2>(&terms);
        let product = loops
            .iter()
            .map($backend::fp12_from_words)
            .fold($backend::fp12_one(), |a, b| $backend::fp12_mul(&a, &b));
        let expected = $backend::final_exponentiation(&$backend::miller_loop(&terms));
        let product = $backend::final_exponentiation(&product);
        prop_assert!($backend::fp12_equal(&product, &expected), "{} terms", terms.len());
        product
    }};
}

proptest! {
    #![proptest_config(config(16))]

    #[test]
    fn loops_in_lanes_agree(
        scalars in prop::collection::vec((scalar(), scalar()), 1..20),
        repeated in any::<prop::sample::Index>(),
        length in 1..41_usize,
    ) {
        if Wide::detect().is_none() {
            return Ok(());
        }
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for (p, q) in &scalars {
            let (p, q) = (Both::<blst::G1, ark::G1>::new(p), Both::<blst::G2, ark::G2>::new(q));
            if !p.blst.is_identity() && !q.blst.is_identity() {
                left.push((p.blst.to_affine(), q.blst.to_affine()));
                right.push((p.ark.to_affine(), q.ark.to_affine()));
            }
        }
        prop_assume!(!left.is_empty());
        // The same pair in the next lane, and in the same lane of the next eight.
        let at = repeated.index(left.len());
        left.extend([left[at]; 9]);
        right.extend([right[at]; 9]);
        with_opposites(&mut left);
        with_opposites(&mut right);
        let one = product_in_lanes!(blst, left);
        prop_assert!(blst::fp12_equal(&one, &blst::fp12_one()));
        left.truncate(length);
        right.truncate(length);
        let (left, right) = (product_in_lanes!(blst, left), product_in_lanes!(ark, right));
        prop_assert_eq!(blst::fp12_to_bytes(&left), ark::fp12_to_bytes(&right));
    }
}

/// With the numbers where a subtraction or a carry turns.
fn number() -> impl Strategy<Value = Fq> {
    prop_oneof![
        4 => prop::array::uniform(any::<u8>()).prop_map(|bytes: [u8; 48]| {
            Fq::from_le_bytes_mod_order(&bytes)
        }),
        1 => Just(Fq::ZERO),
        1 => Just(Fq::ONE),
        1 => Just(-Fq::ONE),
        // As words, the greatest and the least.
        1 => Just(Fq::new_unchecked(Fq::MODULUS) - Fq::new_unchecked(1_u64.into())),
        1 => Just(Fq::new_unchecked(1_u64.into())),
    ]
}

fn pair() -> impl Strategy<Value = Fq2> {
    (number(), number()).prop_map(|(c0, c1)| Fq2::new(c0, c1))
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn the_tower_agrees(
        elements in prop::collection::vec(prop::array::uniform6(pair()), LANES),
        lines in prop::collection::vec(prop::array::uniform3(pair()), LANES),
    ) {
        let Some(wide) = Wide::detect() else { return Ok(()) };
        let found = wide.square_times_line::<Fq2>(
            &array::from_fn(|lane| elements[lane]),
            &array::from_fn(|lane| lines[lane]),
        );
        for ((element, [a, b, c]), found) in elements.iter().zip(&lines).zip(found) {
            let words = element.map(|it| [*it.words(0), *it.words(1)]);
            let mut expected: Fq12 = ark::fp12_from_words(&words);
            prop_assert_eq!(element[3], expected.c1.c1);
            expected.square_in_place();
            expected.mul_by_014(a, b, c);
            prop_assert_eq!(ark::fp12_from_words(&found), expected);
        }
    }
}
