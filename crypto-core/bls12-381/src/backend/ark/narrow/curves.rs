//! The tower of fields and both curves over the narrow field, with arkworks' constants.
//!
//! Names are those of `ark_bls12_381`, so that the files above can use either of them. Every constant
//! is taken from there word by word, because numbers are stored in the same way.
#![allow(unreachable_pub, reason = "a public trait has some of these as associated types")]

use ark_bls12_381 as wide;
use ark_ec::bls12::{Bls12, Bls12Config, TwistType};
use ark_ec::hashing::curve_maps::swu::SWUConfig;
use ark_ec::hashing::curve_maps::wb::{IsogenyMap, WBConfig};
use ark_ec::models::CurveConfig;
use ark_ec::short_weierstrass::{Affine, SWCurveConfig};
use ark_ff::{AdditiveGroup, Field, Fp2, Fp2Config, Fp6, Fp6Config, Fp12, Fp12Config};

pub use super::Fq;
use super::from_wide as fq;

pub type Fq2 = Fp2<Fq2Config>;
pub type Fq12 = Fp12<Fq12Config>;
pub type Bls12_381 = Bls12<Config>;

#[derive(Debug)]
pub struct Fq2Config;

#[derive(Clone, Copy, Debug)]
pub struct Fq6Config;

#[derive(Clone, Copy, Debug)]
pub struct Fq12Config;

#[derive(Debug)]
pub struct Config;

const fn fq2(a: wide::Fq2) -> Fq2 {
    Fq2::new(fq(a.c0), fq(a.c1))
}

/// A list of `N`.
const fn fqs<const N: usize>(list: &[wide::Fq]) -> [Fq; N] {
    let mut out = [Fq::ZERO; N];
    let mut at = 0;
    while at < N {
        #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
        {
            out[at] = fq(list[at]);
        }
        at += 1;
    }
    out
}

/// A list of `N`.
const fn fq2s<const N: usize>(list: &[wide::Fq2]) -> [Fq2; N] {
    let mut out = [Fq2::ZERO; N];
    let mut at = 0;
    while at < N {
        #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
        {
            out[at] = fq2(list[at]);
        }
        at += 1;
    }
    out
}

impl Fp2Config for Fq2Config {
    type Fp = Fq;
    const NONRESIDUE: Fq = fq(wide::Fq2Config::NONRESIDUE);
    const FROBENIUS_COEFF_FP2_C1: &'static [Fq] =
        &fqs::<2>(wide::Fq2Config::FROBENIUS_COEFF_FP2_C1);

    // By −1, which is what the four differ from arkworks' defaults in.
    fn mul_fp_by_nonresidue_in_place(a: &mut Fq) -> &mut Fq {
        a.neg_in_place()
    }

    fn mul_fp_by_nonresidue_and_add(y: &mut Fq, x: &Fq) {
        *y = *x - *y;
    }

    fn mul_fp_by_nonresidue_plus_one_and_add(y: &mut Fq, x: &Fq) {
        *y = *x;
    }

    fn sub_and_mul_fp_by_nonresidue(y: &mut Fq, x: &Fq) {
        *y += x;
    }
}

impl Fp6Config for Fq6Config {
    type Fp2Config = Fq2Config;
    const NONRESIDUE: Fq2 = fq2(wide::Fq6Config::NONRESIDUE);
    const FROBENIUS_COEFF_FP6_C1: &'static [Fq2] =
        &fq2s::<6>(wide::Fq6Config::FROBENIUS_COEFF_FP6_C1);
    const FROBENIUS_COEFF_FP6_C2: &'static [Fq2] =
        &fq2s::<6>(wide::Fq6Config::FROBENIUS_COEFF_FP6_C2);

    /// By `u + 1`.
    fn mul_fp2_by_nonresidue_in_place(a: &mut Fq2) -> &mut Fq2 {
        let c0 = a.c0;
        a.c0 -= a.c1;
        a.c1 += c0;
        a
    }
}

impl Fp12Config for Fq12Config {
    type Fp6Config = Fq6Config;
    const NONRESIDUE: Fp6<Fq6Config> = Fp6::new(Fq2::ZERO, Fq2::ONE, Fq2::ZERO);
    const FROBENIUS_COEFF_FP12_C1: &'static [Fq2] =
        &fq2s::<12>(wide::Fq12Config::FROBENIUS_COEFF_FP12_C1);
}

impl Bls12Config for Config {
    const X: &'static [u64] = wide::Config::X;
    const X_IS_NEGATIVE: bool = wide::Config::X_IS_NEGATIVE;
    const TWIST_TYPE: TwistType = wide::Config::TWIST_TYPE;
    type Fp = Fq;
    type Fp2Config = Fq2Config;
    type Fp6Config = Fq6Config;
    type Fp12Config = Fq12Config;
    type G1Config = g1::Config;
    type G2Config = g2::Config;
}

/// One curve and the one that maps to it, by the group's name, its field, and how elements and lists of
/// them are converted.
macro_rules! curve {
    ($group:ident, $field:ident, $one:ident, $many:ident) => {
        pub mod $group {
            use super::*;

            type Wide = wide::$group::Config;
            type WideIsogenous = <Wide as WBConfig>::IsogenousCurve;
            const MAP: IsogenyMap<'static, WideIsogenous, Wide> = Wide::ISOGENY_MAP;

            #[derive(Clone, Debug, Default, PartialEq, Eq)]
            pub struct Config;

            #[derive(Clone, Debug, Default, PartialEq, Eq)]
            pub struct Isogenous;

            impl CurveConfig for Config {
                type BaseField = $field;
                type ScalarField = wide::Fr;
                const COFACTOR: &'static [u64] = Wide::COFACTOR;
                const COFACTOR_INV: wide::Fr = Wide::COFACTOR_INV;
            }

            impl SWCurveConfig for Config {
                const COEFF_A: $field = $field::ZERO;
                const COEFF_B: $field = $one(Wide::COEFF_B);
                const GENERATOR: Affine<Self> =
                    Affine::new_unchecked($one(Wide::GENERATOR.x), $one(Wide::GENERATOR.y));
                type ZeroFlag = ();
            }

            impl WBConfig for Config {
                type IsogenousCurve = Isogenous;
                const ISOGENY_MAP: IsogenyMap<'static, Isogenous, Self> = IsogenyMap {
                    x_map_numerator: &$many::<{ MAP.x_map_numerator.len() }>(MAP.x_map_numerator),
                    x_map_denominator: &$many::<{ MAP.x_map_denominator.len() }>(
                        MAP.x_map_denominator,
                    ),
                    y_map_numerator: &$many::<{ MAP.y_map_numerator.len() }>(MAP.y_map_numerator),
                    y_map_denominator: &$many::<{ MAP.y_map_denominator.len() }>(
                        MAP.y_map_denominator,
                    ),
                };
            }

            impl CurveConfig for Isogenous {
                type BaseField = $field;
                type ScalarField = wide::Fr;
                const COFACTOR: &'static [u64] = WideIsogenous::COFACTOR;
                const COFACTOR_INV: wide::Fr = WideIsogenous::COFACTOR_INV;
            }

            impl SWCurveConfig for Isogenous {
                const COEFF_A: $field = $one(WideIsogenous::COEFF_A);
                const COEFF_B: $field = $one(WideIsogenous::COEFF_B);
                const GENERATOR: Affine<Self> = Affine::new_unchecked(
                    $one(WideIsogenous::GENERATOR.x),
                    $one(WideIsogenous::GENERATOR.y),
                );
                type ZeroFlag = ();
            }

            impl SWUConfig for Isogenous {
                const ZETA: $field = $one(WideIsogenous::ZETA);
            }
        }
    };
}

curve!(g1, Fq, fq, fqs);
curve!(g2, Fq2, fq2, fq2s);
