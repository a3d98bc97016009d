//! Implements the interface of both groups with `formulas`.
//!
//! Affine points are those of arkworks. As in blst, `(0, 0)` represents the identity.
use alloc::vec::Vec;

use ark_ec::short_weierstrass::SWCurveConfig;
use ark_ff::{AdditiveGroup, BigInt, Field};
use zeroize::Zeroize;

use super::curves::Fq;
use super::encoding;
use super::field::Coordinate;
use super::formulas::{Affine, Curve, G1, G2, Point, all_ones_if, fq2, is_zero};
use super::map::map_to_curve;
use crate::error::DecodeError;
use crate::group::{Group, limb_select, sealed};
use crate::reveal::reveal;

impl<C: Curve> sealed::Sealed for C {}

impl<C: Curve> Group for C {
    type RawAffine = Affine<C>;
    type RawProjective = Point<C::Field>;
    type Coordinate = C::Field;
    type Bytes = C::Encoding;

    const EMPTY: Self::Bytes = C::ZERO_BYTES;
    const AFFINE_IDENTITY: Self::RawAffine = Affine::<C>::identity();
    const IDENTITY: Self::RawProjective = Point::IDENTITY;

    const DIGITS: usize = <C as Curve>::DIGITS;

    fn endomorphism(a: &Self::RawAffine) -> Self::RawAffine {
        let image = C::image(&Point { x: a.x, y: a.y, z: C::Field::ONE });
        Affine::<C>::new_unchecked(image.x, image.y)
    }

    fn generator() -> Self::RawAffine {
        C::Config::GENERATOR
    }

    fn add(a: &Self::RawProjective, b: &Self::RawProjective) -> Self::RawProjective {
        a.add(b)
    }

    fn add_affine(a: &Self::RawProjective, b: &Self::RawAffine) -> Self::RawProjective {
        let mut sum = a.add_finite(&b.x, &b.y);
        sum.select(*a, all_ones_if(is_zero(b.x) & is_zero(b.y)));
        sum
    }

    fn double(a: &Self::RawProjective) -> Self::RawProjective {
        a.double()
    }

    fn negate(a: &mut Self::RawProjective) {
        a.y = -a.y;
    }

    fn negate_affine(a: &mut Self::RawAffine) {
        a.y = -a.y;
    }

    fn wipe(a: &mut Self::RawProjective) {
        a.limbs().for_each(Zeroize::zeroize);
        // (0 : 0 : 0) is not a point, and would compare equal to every point.
        a.y = C::Field::ONE;
    }

    fn wipe_affine(a: &mut Self::RawAffine) {
        a.x.limbs().chain(a.y.limbs()).for_each(Zeroize::zeroize);
    }

    fn equal(a: &Self::RawProjective, b: &Self::RawProjective) -> bool {
        let (x, y) = (a.x * b.z - b.x * a.z, a.y * b.z - b.y * a.z);
        reveal(is_zero(x) & is_zero(y))
    }

    fn equal_affine(a: &Self::RawAffine, b: &Self::RawAffine) -> bool {
        reveal(is_zero(a.x - b.x) & is_zero(a.y - b.y))
    }

    fn coordinates(a: &Self::RawAffine) -> (&C::Field, &C::Field) {
        (&a.x, &a.y)
    }

    fn from_coordinates(x: C::Field, y: C::Field) -> Self::RawAffine {
        Affine::<C>::new_unchecked(x, y)
    }

    fn is_identity(a: &Self::RawProjective) -> bool {
        reveal(is_zero(a.z))
    }

    fn is_identity_affine(a: &Self::RawAffine) -> bool {
        reveal(is_zero(a.x) & is_zero(a.y))
    }

    fn to_affine(a: &Self::RawProjective) -> Self::RawAffine {
        let inverse = a.z.invert();
        Affine::<C>::new_unchecked(a.x * inverse, a.y * inverse)
    }

    fn to_projective(a: &Self::RawAffine) -> Self::RawProjective {
        let mut point = Point { x: a.x, y: a.y, z: C::Field::ONE };
        point.select(Point::IDENTITY, all_ones_if(is_zero(a.x) & is_zero(a.y)));
        point
    }

    fn batch_to_affine(points: &[&Self::RawProjective]) -> Vec<Self::RawAffine> {
        let finite = |point: &Self::RawProjective| !Self::is_identity(point);
        let mut product = C::Field::ONE;
        let mut out: Vec<Self::RawAffine> = Vec::with_capacity(points.len());
        for point in points {
            out.push(Affine::<C>::new_unchecked(product, C::Field::ZERO));
            if finite(point) {
                product *= point.z;
            }
        }
        let mut inverse = product.invert();
        for (affine, point) in out.iter_mut().zip(points).rev() {
            let own = inverse * affine.x;
            *affine = Self::AFFINE_IDENTITY;
            if finite(point) {
                inverse *= point.z;
                *affine = Affine::<C>::new_unchecked(point.x * own, point.y * own);
            }
        }
        out
    }

    fn multiply(point: &Self::RawProjective, scalar: &[u8; 32]) -> Self::RawProjective {
        point.multiply(scalar)
    }

    fn select(a: &mut Self::RawAffine, b: &Self::RawAffine, condition: u64) {
        let mut b = *b;
        let (ours, theirs) = (a.x.limbs().chain(a.y.limbs()), b.x.limbs().chain(b.y.limbs()));
        ours.zip(theirs).for_each(|(a, b)| limb_select(a, *b, condition));
    }

    fn compress(a: &Self::RawAffine) -> Self::Bytes {
        encoding::compress::<C>(a)
    }

    fn decompress_unchecked(bytes: &Self::Bytes) -> Result<Self::RawAffine, DecodeError> {
        encoding::decompress::<C>(bytes)
    }

    fn in_subgroup(a: &Self::RawAffine) -> bool {
        C::is_inside(&Self::to_projective(a))
    }

    fn hash(message: &[u8], tag: &[u8]) -> Self::RawProjective {
        let [a, b] = C::Field::hash_two(message, tag).map(map_to_curve::<C>);
        C::clear_cofactor(&Self::add_affine(&Self::to_projective(&a), &b))
    }

    fn encode(message: &[u8], tag: &[u8]) -> Self::RawProjective {
        let point = map_to_curve::<C>(C::Field::hash(message, tag));
        C::clear_cofactor(&Self::to_projective(&point))
    }
}

/// A known point of `𝔾₁` by its coordinates in Montgomery form, the same as blst's.
pub(crate) const fn g1_from_limbs(x: [u64; 6], y: [u64; 6]) -> Affine<G1> {
    Affine::<G1>::new_unchecked(Fq::new_unchecked(BigInt(x)), Fq::new_unchecked(BigInt(y)))
}

/// A known point of `𝔾₂` by its coordinates in Montgomery form, the same as blst's.
pub(crate) const fn g2_from_limbs(x: [[u64; 6]; 2], y: [[u64; 6]; 2]) -> Affine<G2> {
    Affine::<G2>::new_unchecked(fq2(x), fq2(y))
}
