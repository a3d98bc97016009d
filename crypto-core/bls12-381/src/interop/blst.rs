//! Points and scalars of the crate `blst`, whose structs have public fields and so guarantee nothing.
//!
//! The types of its modules `min_pk` and `min_sig` convert from and to these points.
use blst::{blst_fp, blst_fp2, blst_fr, blst_p1_affine, blst_p2_affine, blst_scalar};
use zeroize::Zeroize;

use super::{Coordinates, convert_points, convert_scalars, scalar};
use crate::error::DecodeError;
use crate::field::Words;
use crate::points::{G1Affine, G2Affine};
use crate::scalar::Scalar;

convert_points! {
    G1Affine, blst_p1_affine, "blst", read_g1, write_g1, g1_from_blst_unchecked;
    G2Affine, blst_p2_affine, "blst", read_g2, write_g2, g2_from_blst_unchecked;
}

convert_scalars! {
    blst_fr, read_fr, write_fr;
    blst_scalar, read_scalar, write_scalar;
}

const fn read_g1(point: &blst_p1_affine) -> Coordinates<1> {
    Coordinates { x: [point.x.l], y: [point.y.l] }
}

const fn write_g1(Coordinates { x: [x], y: [y] }: Coordinates<1>) -> blst_p1_affine {
    blst_p1_affine { x: blst_fp { l: x }, y: blst_fp { l: y } }
}

const fn read_fp2(number: &blst_fp2) -> [Words; 2] {
    let [c0, c1] = &number.fp;
    [c0.l, c1.l]
}

const fn write_fp2([c0, c1]: [Words; 2]) -> blst_fp2 {
    blst_fp2 { fp: [blst_fp { l: c0 }, blst_fp { l: c1 }] }
}

const fn read_g2(point: &blst_p2_affine) -> Coordinates<2> {
    Coordinates { x: read_fp2(&point.x), y: read_fp2(&point.y) }
}

const fn write_g2(Coordinates { x, y }: Coordinates<2>) -> blst_p2_affine {
    blst_p2_affine { x: write_fp2(x), y: write_fp2(y) }
}

fn read_fr(number: &blst_fr) -> Result<Scalar, DecodeError> {
    scalar(&number.l)
}

fn write_fr(scalar: &Scalar) -> blst_fr {
    blst_fr { l: *scalar.words() }
}

/// The bytes are little-endian.
fn read_scalar(number: &blst_scalar) -> Result<Scalar, DecodeError> {
    let mut bytes = number.b;
    bytes.reverse();
    let scalar = Scalar::from_bytes(&bytes);
    bytes.zeroize();
    scalar
}

fn write_scalar(scalar: &Scalar) -> blst_scalar {
    blst_scalar { b: scalar.to_le_bytes() }
}
