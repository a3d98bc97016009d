//! Points and scalars of the crate `blstrs`, whose `from_raw_unchecked` and
//! `from_compressed_unchecked` make points that nobody checked.
use blst::{blst_fp, blst_fp2, blst_fr};

use super::{Coordinates, convert_points, convert_scalars, scalar};
use crate::error::DecodeError;
use crate::points::{G1Affine, G2Affine};
use crate::scalar::Scalar;

convert_points! {
    G1Affine, blstrs::G1Affine, "blstrs", read_g1, write_g1, g1_from_blstrs_unchecked;
    G2Affine, blstrs::G2Affine, "blstrs", read_g2, write_g2, g2_from_blstrs_unchecked;
}

convert_scalars! {
    blstrs::Scalar, read_scalar, write_scalar;
}

fn read_g1(point: &blstrs::G1Affine) -> Coordinates<1> {
    Coordinates { x: [blst_fp::from(point.x()).l], y: [blst_fp::from(point.y()).l] }
}

/// As in blst, `(0, 0)` is the identity: blstrs does not look at the last parameter.
fn write_g1(point: Coordinates<1>) -> blstrs::G1Affine {
    let infinity = point == Coordinates::IDENTITY;
    let [x, y] = [point.x, point.y].map(|[l]| blst_fp { l });
    blstrs::G1Affine::from_raw_unchecked(x.into(), y.into(), infinity)
}

fn read_g2(point: &blstrs::G2Affine) -> Coordinates<2> {
    let [x, y] = [point.x(), point.y()].map(|number| blst_fp2::from(number).fp.map(|part| part.l));
    Coordinates { x, y }
}

fn write_g2(point: Coordinates<2>) -> blstrs::G2Affine {
    let infinity = point == Coordinates::IDENTITY;
    let [x, y] = [point.x, point.y].map(|parts| blst_fp2 { fp: parts.map(|l| blst_fp { l }) });
    blstrs::G2Affine::from_raw_unchecked(x.into(), y.into(), infinity)
}

fn read_scalar(number: &blstrs::Scalar) -> Result<Scalar, DecodeError> {
    scalar(&blst_fr::from(*number).l)
}

fn write_scalar(scalar: &Scalar) -> blstrs::Scalar {
    blst_fr { l: *scalar.words() }.into()
}
