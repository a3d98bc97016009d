//! Conversions between this crate's points and scalars and those of other libraries, without a detour
//! over bytes. Each library has its own feature.
//!
//! | feature          | library         | 𝔾₁               | 𝔾₂               | scalars                  |
//! |------------------|-----------------|------------------|------------------|--------------------------|
//! | `interop-blst`   | `blst`          | `blst_p1_affine` | `blst_p2_affine` | `blst_scalar`, `blst_fr` |
//! | `interop-blstrs` | `blstrs`        | `G1Affine`       | `G2Affine`       | `Scalar`                 |
//! | `interop-ark`    | `ark-bls12-381` | `G1Affine`       | `G2Affine`       | `Fr`                     |
//!
//! **Into theirs** by `From`, which cannot fail. **From theirs** by `TryFrom`, which refuses with a
//! [`DecodeError`]: none of these types guarantees the subgroup, because each library has functions or
//! public fields that make a point unchecked. The checks are those of decoding, in the same order: each
//! coordinate is below `p`, the point is on the curve, it is in the subgroup. The identity passes, as
//! in decoding: it is `(0, 0)` in all of these types. A scalar must be below `r`. For points that were
//! checked before, [`hazmat`](crate::hazmat) has functions that check nothing.
//!
//! This works with both backends. All libraries here hold a coordinate in Montgomery form to the base
//! `2³⁸⁴` and a scalar to the base `2²⁵⁶`, lowest word first, so the words are copied. Only
//! `blst_scalar` holds a plain number and costs a multiplication. A square root, the greater part of
//! the cost of decoding, is never taken.
//!
//! A scalar that leaves this crate may be a secret. The type that it becomes decides whether it is
//! wiped and whether it is printed: `blst_scalar` wipes itself, the other types do neither.
#[cfg(feature = "interop-ark")]
pub(crate) mod ark;
#[cfg(feature = "interop-blst")]
pub(crate) mod blst;
#[cfg(feature = "interop-blstrs")]
pub(crate) mod blstrs;

use core::array;

use crate::error::DecodeError;
use crate::field::{BaseField, Words};
use crate::group::Group;
use crate::points::Affine;
use crate::reveal::reveal;
use crate::scalar::Scalar;

/// `p`, lowest word first.
const MODULUS: Words = [
    0xb9fe_ffff_ffff_aaab,
    0x1eab_fffe_b153_ffff,
    0x6730_d2a0_f6b0_f624,
    0x6477_4b84_f385_12bf,
    0x4b1b_a7b6_434b_acd7,
    0x1a01_11ea_397f_e69a,
];
/// `r`, lowest word first.
const ORDER: [u64; 4] =
    [0xffff_ffff_0000_0001, 0x53bd_a402_fffe_5bfe, 0x3339_d808_09a1_d805, 0x73ed_a753_299d_7d48];

/// The coordinates of a point in Montgomery form, `N` numbers each. The identity is all zeros.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Coordinates<const N: usize> {
    pub(crate) x: [Words; N],
    pub(crate) y: [Words; N],
}

impl<const N: usize> Coordinates<N> {
    pub(crate) const IDENTITY: Self = Self { x: [[0; 6]; N], y: [[0; 6]; N] };

    /// On both backends the identity is all zeros already, as in all other libraries here.
    pub(crate) fn of<G: Group>(point: &Affine<G>) -> Self {
        let (x, y) = G::coordinates(&point.0);
        Self { x: array::from_fn(|at| *x.words(at)), y: array::from_fn(|at| *y.words(at)) }
    }

    /// The point with these coordinates, if it is one of the group.
    pub(crate) fn point<G: Group>(&self) -> Result<Affine<G>, DecodeError> {
        if !self.x.iter().chain(&self.y).all(|number| is_below(number, &MODULUS)) {
            return Err(DecodeError::NotCanonical);
        }
        if *self != Self::IDENTITY && !self.is_on_curve::<G::Coordinate>() {
            return Err(DecodeError::NotOnCurve);
        }
        let point = self.point_unchecked();
        if G::in_subgroup(&point.0) { Ok(point) } else { Err(DecodeError::NotInSubgroup) }
    }

    pub(crate) fn point_unchecked<G: Group>(&self) -> Affine<G> {
        Affine(G::from_coordinates(element(&self.x), element(&self.y)))
    }

    /// `y² = x³ + b`, with `b = 4` in 𝔾₁ and `b = 4 + 4u` in 𝔾₂.
    fn is_on_curve<F: BaseField>(&self) -> bool {
        let (x, y): (F, F) = (element(&self.x), element(&self.y));
        let two = F::UNIT.sum(&F::UNIT);
        let four = *two.sum(&two).words(0);
        let b: F = element(&[four; N]);
        y.squared() == x.squared().product(&x).sum(&b)
    }
}

fn element<F: BaseField, const N: usize>(numbers: &[Words; N]) -> F {
    let mut element = F::UNIT;
    for (at, words) in numbers.iter().enumerate() {
        element.set_words(at, *words);
    }
    element
}

/// The scalar with these words in Montgomery form, if it is below the order. Constant time.
pub(crate) fn scalar(words: &[u64; 4]) -> Result<Scalar, DecodeError> {
    if reveal(u8::from(is_below(words, &ORDER)).into()) {
        Ok(Scalar::from_words(*words))
    } else {
        Err(DecodeError::NotCanonical)
    }
}

/// Whether a subtraction borrows. Constant time.
fn is_below<const N: usize>(number: &[u64; N], modulus: &[u64; N]) -> bool {
    number.iter().zip(modulus).fold(false, |borrow, (a, b)| {
        let (difference, first) = a.overflowing_sub(*b);
        let (_, second) = difference.overflowing_sub(u64::from(borrow));
        first | second
    })
}

/// Implements the conversions of a type of points, by functions from and to its coordinates.
macro_rules! convert_points {
    ($($ours:ident, $theirs:ty, $library:literal, $read:path, $write:path, $unchecked:ident;)*) => {$(
        impl From<&$ours> for $theirs {
            fn from(point: &$ours) -> Self {
                $write(Coordinates::of(point))
            }
        }

        impl From<$ours> for $theirs {
            fn from(point: $ours) -> Self {
                (&point).into()
            }
        }

        #[doc = concat!("Checks a point of ", $library, ": coordinates, curve and subgroup.")]
        impl TryFrom<&$theirs> for $ours {
            type Error = DecodeError;

            fn try_from(point: &$theirs) -> Result<Self, DecodeError> {
                $read(point).point()
            }
        }

        #[doc = concat!("Checks a point of ", $library, ": coordinates, curve and subgroup.")]
        impl TryFrom<$theirs> for $ours {
            type Error = DecodeError;

            fn try_from(point: $theirs) -> Result<Self, DecodeError> {
                (&point).try_into()
            }
        }

        #[doc = concat!("A point of ", $library, ", taken without a check.")]
        ///
        /// The caller promises that its coordinates are below `p`, that it is on the curve, and that
        /// it is in the subgroup of order `r`. Otherwise no equation over it means anything.
        #[must_use]
        pub fn $unchecked(point: &$theirs) -> $ours {
            $read(point).point_unchecked()
        }
    )*};
}

/// Implements the conversions of a type of scalars.
macro_rules! convert_scalars {
    ($($theirs:ty, $read:path, $write:path;)*) => {$(
        /// Copies a scalar, which may be a secret, into a type that may be printed.
        impl From<&Scalar> for $theirs {
            fn from(scalar: &Scalar) -> Self {
                $write(scalar)
            }
        }

        /// Refuses a number that is not below the group order.
        impl TryFrom<&$theirs> for Scalar {
            type Error = DecodeError;

            fn try_from(scalar: &$theirs) -> Result<Self, DecodeError> {
                $read(scalar)
            }
        }
    )*};
}

pub(crate) use {convert_points, convert_scalars};
