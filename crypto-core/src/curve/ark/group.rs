//! Both groups on arkworks' fields, by complete formulas.
//!
//! A point is `(X : Y : Z)` with `x = X/Z`, `y = Y/Z`; the identity is `(0 : 1 : 0)`. Addition,
//! mixed addition and doubling are algorithms 7, 8 and 9 of Renes, Costello and Batina, "Complete
//! addition formulas for prime order elliptic curves" (eprint 2015/1060), for `y² = x³ + b`. They hold
//! for every pair of points on a curve of odd order, as both are: nothing is special about the
//! identity, equal or opposite points, so there is nothing to branch on. Jacobian formulas would save
//! a multiplication or two for each doubling.
//!
//! Multiplication reads the scalar in windows of four bits from the top: four doublings and one
//! addition each, whatever the bits, with a table of sixteen multiples that is read whole.
//!
//! The endomorphism of each group multiplies by a power of `z = −x` (see `sums`), and by that in the
//! subgroup alone, so it tells who is inside: Scott, [eprint 2021/1130](https://eprint.iacr.org/2021/1130),
//! sections 4 and 6. Cofactors are cleared by `1 + z` in `𝔾₁` and after Budroni and Pintore,
//! [eprint 2017/419](https://eprint.iacr.org/2017/419), in `𝔾₂`, as RFC 9380 wants it.
//!
//! Affine points are arkworks', which stand for the identity by `(0, 0)`, as blst's do.
use alloc::vec::Vec;
use core::fmt::Debug;

use ark_ec::hashing::curve_maps::wb::WBConfig;
use ark_ec::short_weierstrass::{self, SWCurveConfig};
use ark_ff::{AdditiveGroup, BigInt, Field};
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::super::DecodeError;
use super::super::group::{BETA, Group, UNTWIST_X, UNTWIST_Y, Z, limb_select, sealed};
use super::curves::{Fq, Fq2, g1, g2};
use super::encoding;
use super::field::Coordinate;
use super::map::map_to_curve;
use crate::secret::reveal;

/// The first group: points over the base field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct G1;

/// The second group: points over the quadratic extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct G2;

/// What tells the two apart.
pub trait Curve: Copy + Eq + Debug + Send + Sync + 'static {
    type Field: Coordinate;
    type Config: WBConfig + SWCurveConfig<BaseField = Self::Field>;
    type Encoding: AsRef<[u8]> + AsMut<[u8]> + Copy + Eq + Debug + Send + Sync;
    const ZERO_BYTES: Self::Encoding;
    const DIGITS: usize;
    /// `(β·x : −y : z)` or `(c·x̄ : −d·ȳ : z̄)`.
    fn image(point: &Point<Self::Field>) -> Point<Self::Field>;
    /// Whether the endomorphism multiplies by what it does in the subgroup.
    fn is_inside(point: &Point<Self::Field>) -> bool;
    /// Brings every point of the curve into the subgroup.
    fn clear_cofactor(point: &Point<Self::Field>) -> Point<Self::Field>;
}

impl Curve for G1 {
    type Field = Fq;
    type Config = g1::Config;
    type Encoding = [u8; 48];
    const ZERO_BYTES: Self::Encoding = [0; 48];
    const DIGITS: usize = 2;

    fn image(point: &Point<Fq>) -> Point<Fq> {
        Point { x: point.x * Fq::new_unchecked(BigInt(BETA)), y: -point.y, z: point.z }
    }

    fn is_inside(point: &Point<Fq>) -> bool {
        Self::equal(&Self::image(point), &point.times_z().times_z())
    }

    fn clear_cofactor(point: &Point<Fq>) -> Point<Fq> {
        point.times_z().add(point)
    }
}

impl Curve for G2 {
    type Field = Fq2;
    type Config = g2::Config;
    type Encoding = [u8; 96];
    const ZERO_BYTES: Self::Encoding = [0; 96];
    const DIGITS: usize = 4;

    fn image(point: &Point<Fq2>) -> Point<Fq2> {
        let conjugate = |a: &Fq2| Fq2::new(a.c0, -a.c1);
        Point {
            x: conjugate(&point.x) * fq2(UNTWIST_X),
            y: -(conjugate(&point.y) * fq2(UNTWIST_Y)),
            z: conjugate(&point.z),
        }
    }

    fn is_inside(point: &Point<Fq2>) -> bool {
        Self::equal(&Self::image(point), &point.times_z())
    }

    /// With `e` for the endomorphism: `(z² + z − 1)·P + e((z + 1)·P) + e²(2·P)`.
    fn clear_cofactor(point: &Point<Fq2>) -> Point<Fq2> {
        let next = point.times_z().add(point);
        let twice = Self::image(&Self::image(&point.double()));
        let mut rest = *point;
        Self::negate(&mut rest);
        next.times_z().add(&rest).add(&Self::image(&next)).add(&twice)
    }
}

pub(super) type Affine<C> = short_weierstrass::Affine<<C as Curve>::Config>;

/// Homogeneous coordinates.
#[derive(Clone, Copy, Debug)]
pub struct Point<F> {
    x: F,
    y: F,
    z: F,
}

/// Bits of a window, and entries of its table.
const WINDOW: usize = 4;
const ENTRIES: usize = 1 << WINDOW;

impl<F: Coordinate> Point<F> {
    const IDENTITY: Self = Self { x: F::ZERO, y: F::ONE, z: F::ZERO };

    /// Algorithm 7.
    fn add(&self, other: &Self) -> Self {
        let xx = self.x * other.x;
        let yy = self.y * other.y;
        let zz = self.z * other.z;
        let xy = (self.x + self.y) * (other.x + other.y) - xx - yy;
        let yz = (self.y + self.z) * (other.y + other.z) - yy - zz;
        let xz = (self.x + self.z) * (other.x + other.z) - xx - zz;
        Self::sum_of(xx, yy, zz.times_3b(), [xy, yz, xz])
    }

    /// Algorithm 8: the other point has `Z = 1`, so it is not the identity.
    fn add_finite(&self, x: &F, y: &F) -> Self {
        let xx = self.x * x;
        let yy = self.y * y;
        let xy = (self.x + self.y) * (*x + y) - xx - yy;
        let yz = *y * self.z + self.y;
        let xz = *x * self.z + self.x;
        Self::sum_of(xx, yy, self.z.times_3b(), [xy, yz, xz])
    }

    /// How both additions end: from `X₁X₂`, `Y₁Y₂`, `3b·Z₁Z₂` and the mixed products `X₁Y₂ + X₂Y₁`,
    /// `Y₁Z₂ + Y₂Z₁`, `X₁Z₂ + X₂Z₁`.
    fn sum_of(xx: F, yy: F, zz: F, [xy, yz, xz]: [F; 3]) -> Self {
        let xx = xx.double() + xx;
        let (plus, minus) = (yy + zz, yy - zz);
        let xz = xz.times_3b();
        Self { x: xy * minus - yz * xz, y: plus * minus + xx * xz, z: yz * plus + xx * xy }
    }

    /// Algorithm 9.
    fn double(&self) -> Self {
        let yy = self.y.square();
        let zz = self.z.square().times_3b();
        let yz = self.y * self.z;
        let xy = self.x * self.y;
        let eight = yy.double().double().double();
        let rest = yy - (zz.double() + zz);
        Self { x: (rest * xy).double(), y: rest * (yy + zz) + zz * eight, z: yz * eight }
    }

    /// `z·P`
    fn times_z(&self) -> Self {
        let bits = (0..u64::BITS - 1).rev().map(|bit| Z >> bit & 1 == 1);
        bits.fold(*self, |product, bit| {
            let twice = product.double();
            if bit { twice.add(self) } else { twice }
        })
    }

    fn limbs(&mut self) -> impl Iterator<Item = &mut u64> {
        self.x.limbs().chain(self.y.limbs()).chain(self.z.limbs())
    }

    /// Takes `other` if `condition` is all ones, keeps `self` if it is zero.
    fn select(&mut self, mut other: Self, condition: u64) {
        self.limbs().zip(other.limbs()).for_each(|(a, b)| limb_select(a, *b, condition));
    }

    fn multiply(&self, scalar: &[u8; 32]) -> Self {
        let mut table = [Self::IDENTITY; ENTRIES];
        let mut multiple = Self::IDENTITY;
        for entry in &mut table {
            *entry = multiple;
            multiple = multiple.add(self);
        }
        let mut product = Self::IDENTITY;
        for digit in scalar.iter().rev().flat_map(|byte| [byte >> WINDOW, byte & 0x0f]) {
            for _ in 0..WINDOW {
                product = product.double();
            }
            let mut term = Self::IDENTITY;
            for (entry, index) in table.iter().zip(0_u8..) {
                term.select(*entry, all_ones_if(index.ct_eq(&digit)));
            }
            product = product.add(&term);
        }
        table.iter_mut().flat_map(Self::limbs).for_each(Zeroize::zeroize);
        product
    }
}

/// All ones or zero, without a branch.
fn all_ones_if(choice: subtle::Choice) -> u64 {
    u64::from(choice.unwrap_u8()).wrapping_neg()
}

/// Whether all limbs are zero, without a branch.
fn is_zero<F: Coordinate>(mut value: F) -> subtle::Choice {
    value.limbs().fold(0, |all, limb| all | *limb).ct_eq(&0)
}

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
        // (0 : 0 : 0) is no point, and would equal every point.
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
pub(in super::super) const fn g1_from_limbs(x: [u64; 6], y: [u64; 6]) -> Affine<G1> {
    Affine::<G1>::new_unchecked(Fq::new_unchecked(BigInt(x)), Fq::new_unchecked(BigInt(y)))
}

/// A known point of `𝔾₂` by its coordinates in Montgomery form, the same as blst's.
pub(in super::super) const fn g2_from_limbs(x: [[u64; 6]; 2], y: [[u64; 6]; 2]) -> Affine<G2> {
    Affine::<G2>::new_unchecked(fq2(x), fq2(y))
}

const fn fq2(limbs: [[u64; 6]; 2]) -> Fq2 {
    let [c0, c1] = limbs;
    Fq2::new(Fq::new_unchecked(BigInt(c0)), Fq::new_unchecked(BigInt(c1)))
}
