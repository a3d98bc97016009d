//! Points of both groups on arkworks' fields, by complete formulas.
//!
//! A point is `(X : Y : Z)` with `x = X/Z`, `y = Y/Z`; the identity is `(0 : 1 : 0)`. Addition, mixed
//! addition and doubling are algorithms 7, 8 and 9 of Renes, Costello and Batina, "Complete addition
//! formulas for prime order elliptic curves" (eprint 2015/1060), for `y² = x³ + b`. They hold for
//! every pair of points on a curve of odd order, as both curves are. The identity, equal points and
//! opposite points are no special cases, so there is no branch. Jacobian formulas would save a
//! multiplication or two for each doubling.
//!
//! Multiplication reads the scalar in windows of four bits from the top: four doublings and one
//! addition for each, whatever the bits are. The table has sixteen multiples, and all of it is read.
//!
//! The endomorphism of each group multiplies by a power of `z = −x` (see `factor`). This holds only
//! for points in the subgroup, so it shows which points are inside: Scott, [eprint
//! 2021/1130](https://eprint.iacr.org/2021/1130), sections 4 and 6. Cofactors are cleared by `1 + z`
//! in `𝔾₁` and after Budroni and Pintore, [eprint 2017/419](https://eprint.iacr.org/2017/419), in
//! `𝔾₂`, as RFC 9380 wants it.
use core::fmt::Debug;

use ark_ec::hashing::curve_maps::wb::WBConfig;
use ark_ec::short_weierstrass::{self, SWCurveConfig};
use ark_ff::BigInt;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::curves::{Fq, Fq2, g1, g2};
use super::field::Coordinate;
use crate::group::{BETA, Group, UNTWIST_X, UNTWIST_Y, Z, limb_select};

/// The first group: points over the base field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct G1;

/// The second group: points over the quadratic extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct G2;

/// The properties in which the two groups differ.
pub trait Curve: Copy + Eq + Debug + Send + Sync + 'static {
    type Field: Coordinate;
    type Config: WBConfig + SWCurveConfig<BaseField = Self::Field>;
    type Encoding: AsRef<[u8]> + AsMut<[u8]> + Copy + Eq + Debug + Send + Sync;
    const ZERO_BYTES: Self::Encoding;
    const DIGITS: usize;
    /// `(β·x : −y : z)` or `(c·x̄ : −d·ȳ : z̄)`.
    fn image(point: &Point<Self::Field>) -> Point<Self::Field>;
    /// Whether the endomorphism multiplies this point by the same number as points in the subgroup.
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

/// A point in homogeneous coordinates.
#[derive(Clone, Copy, Debug)]
pub struct Point<F> {
    pub(super) x: F,
    pub(super) y: F,
    pub(super) z: F,
}

/// Number of bits of a window; `ENTRIES` is the number of entries of its table.
const WINDOW: usize = 4;
const ENTRIES: usize = 1 << WINDOW;

impl<F: Coordinate> Point<F> {
    pub(super) const IDENTITY: Self = Self { x: F::ZERO, y: F::ONE, z: F::ZERO };

    /// Algorithm 7.
    pub(super) fn add(&self, other: &Self) -> Self {
        let xx = self.x * other.x;
        let yy = self.y * other.y;
        let zz = self.z * other.z;
        let xy = (self.x + self.y) * (other.x + other.y) - xx - yy;
        let yz = (self.y + self.z) * (other.y + other.z) - yy - zz;
        let xz = (self.x + self.z) * (other.x + other.z) - xx - zz;
        Self::sum_of(xx, yy, zz.times_3b(), [xy, yz, xz])
    }

    /// Algorithm 8: the other point has `Z = 1`, so it is not the identity.
    pub(super) fn add_finite(&self, x: &F, y: &F) -> Self {
        let xx = self.x * x;
        let yy = self.y * y;
        let xy = (self.x + self.y) * (*x + y) - xx - yy;
        let yz = *y * self.z + self.y;
        let xz = *x * self.z + self.x;
        Self::sum_of(xx, yy, self.z.times_3b(), [xy, yz, xz])
    }

    /// The common end of both additions: from `X₁X₂`, `Y₁Y₂`, `3b·Z₁Z₂` and the mixed products
    /// `X₁Y₂ + X₂Y₁`, `Y₁Z₂ + Y₂Z₁`, `X₁Z₂ + X₂Z₁`.
    fn sum_of(xx: F, yy: F, zz: F, [xy, yz, xz]: [F; 3]) -> Self {
        let xx = xx.double() + xx;
        let (plus, minus) = (yy + zz, yy - zz);
        let xz = xz.times_3b();
        Self { x: xy * minus - yz * xz, y: plus * minus + xx * xz, z: yz * plus + xx * xy }
    }

    /// Algorithm 9.
    pub(super) fn double(&self) -> Self {
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

    pub(super) fn limbs(&mut self) -> impl Iterator<Item = &mut u64> {
        self.x.limbs().chain(self.y.limbs()).chain(self.z.limbs())
    }

    /// Sets `self` to `other` if `condition` is all ones, and keeps it if `condition` is zero.
    pub(super) fn select(&mut self, mut other: Self, condition: u64) {
        self.limbs().zip(other.limbs()).for_each(|(a, b)| limb_select(a, *b, condition));
    }

    pub(super) fn multiply(&self, scalar: &[u8; 32]) -> Self {
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
pub(super) fn all_ones_if(choice: subtle::Choice) -> u64 {
    u64::from(choice.unwrap_u8()).wrapping_neg()
}

/// Whether all limbs are zero, without a branch.
pub(super) fn is_zero<F: Coordinate>(mut value: F) -> subtle::Choice {
    value.limbs().fold(0, |all, limb| all | *limb).ct_eq(&0)
}

pub(super) const fn fq2(limbs: [[u64; 6]; 2]) -> Fq2 {
    let [c0, c1] = limbs;
    Fq2::new(Fq::new_unchecked(BigInt(c0)), Fq::new_unchecked(BigInt(c1)))
}
