//! Points and scalars of the crate `ark-bls12-381`, whose `new_unchecked` and
//! `deserialize_with_mode` make points that nobody checked.
use ark_bls12_381::{Fq, Fq2, Fr};
use ark_ec::AffineRepr;
use ark_ff::BigInt;

use super::{Coordinates, convert_points, convert_scalars, scalar};
use crate::error::DecodeError;
use crate::field::Words;
use crate::points::{G1Affine, G2Affine};
use crate::scalar::Scalar;

convert_points! {
    G1Affine, ark_bls12_381::G1Affine, "ark-bls12-381", read_g1, write_g1, g1_from_ark_unchecked;
    G2Affine, ark_bls12_381::G2Affine, "ark-bls12-381", read_g2, write_g2, g2_from_ark_unchecked;
}

convert_scalars! {
    Fr, read_scalar, write_scalar;
}

const fn write_fq(words: Words) -> Fq {
    Fq::new_unchecked(BigInt(words))
}

fn read_g1(point: &ark_bls12_381::G1Affine) -> Coordinates<1> {
    let read = |(x, y): (Fq, Fq)| Coordinates { x: [x.0.0], y: [y.0.0] };
    point.xy().map_or(Coordinates::IDENTITY, read)
}

/// As in blst, `(0, 0)` is the identity: ark's points of this curve have no flag for it.
const fn write_g1(Coordinates { x: [x], y: [y] }: Coordinates<1>) -> ark_bls12_381::G1Affine {
    ark_bls12_381::G1Affine::new_unchecked(write_fq(x), write_fq(y))
}

const fn write_fq2([c0, c1]: [Words; 2]) -> Fq2 {
    Fq2::new(write_fq(c0), write_fq(c1))
}

fn read_g2(point: &ark_bls12_381::G2Affine) -> Coordinates<2> {
    let read = |number: Fq2| [number.c0.0.0, number.c1.0.0];
    let both = |(x, y): (Fq2, Fq2)| Coordinates { x: read(x), y: read(y) };
    point.xy().map_or(Coordinates::IDENTITY, both)
}

const fn write_g2(point: Coordinates<2>) -> ark_bls12_381::G2Affine {
    ark_bls12_381::G2Affine::new_unchecked(write_fq2(point.x), write_fq2(point.y))
}

fn read_scalar(number: &Fr) -> Result<Scalar, DecodeError> {
    scalar(&number.0.0)
}

const fn write_fr(words: [u64; 4]) -> Fr {
    Fr::new_unchecked(BigInt(words))
}

fn write_scalar(scalar: &Scalar) -> Fr {
    write_fr(*scalar.words())
}
