//! Integers modulo the group order `r`.
//!
//! ```text
//! r = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001
//! ```
//!
//! Scalars are stored in Montgomery form. Arithmetic, comparison and inversion are constant time. A
//! scalar may be a secret, so it is never printed. Keep a secret scalar in a container that wipes it,
//! because a plain `Scalar` is `Copy` and copies are not wiped.
use alloc::vec::Vec;
use core::fmt;
use core::iter::{Product, Sum};
use core::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use rand_core::CryptoRng;
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroize;

use crate::backend::{self, Fr};
use crate::error::DecodeError;
use crate::reveal::{is_periodic, reveal};

/// An integer modulo the group order.
///
/// Numbers are not converted to scalars implicitly:
/// ```compile_fail,E0277
/// use prefinal_bls12_381::Scalar;
/// let scalar: Scalar = 7_u64.into();
/// ```
#[derive(Clone, Copy, Eq)]
pub struct Scalar(Fr);

impl Scalar {
    /// Length of an encoding in bytes.
    pub const BYTES: usize = 32;
    /// Number of bits of the group order.
    pub const BITS: u32 = 255;
    /// The neutral element of addition.
    pub const ZERO: Self = Self(backend::fr_from_limbs([0; 4]));
    /// The neutral element of multiplication. In Montgomery form it is `2^256 mod r`.
    pub const ONE: Self = Self(backend::fr_from_limbs([
        0x0000_0001_ffff_fffe,
        0x5884_b7fa_0003_4802,
        0x998c_4fef_ecbc_4ff5,
        0x1824_b159_acc5_056f,
    ]));

    /// The scalar with this small value.
    #[must_use]
    #[inline]
    pub fn from_u64(value: u64) -> Self {
        Self(backend::fr_from_u64(value))
    }

    /// Draws a uniform scalar from 64 random bytes.
    pub fn random(rng: &mut impl CryptoRng) -> Self {
        let mut bytes = [0; 64];
        rng.fill_bytes(&mut bytes);
        let scalar = Self::from_wide(&bytes);
        bytes.zeroize();
        scalar
    }

    /// Draws a uniform non-zero scalar from 64 random bytes. It draws only once, because a working
    /// generator gives zero once in 2²⁵⁵ draws.
    ///
    /// # Panics
    /// If the bytes are zero modulo `r`, or if both halves of them are equal. Then the generator is
    /// broken, and a key that everybody can guess is worse than no key.
    pub fn random_nonzero(rng: &mut impl CryptoRng) -> Self {
        let mut bytes = [0; 64];
        rng.fill_bytes(&mut bytes);
        let scalar = Self::from_wide(&bytes);
        let broken = is_periodic(&bytes) || scalar == Self::ZERO;
        bytes.zeroize();
        assert!(!broken, "the generator is broken: 64 bytes of it repeat themselves, or are zero");
        scalar
    }

    /// 64 big-endian bytes reduced modulo `r`. The result is uniform if the bytes are.
    #[must_use]
    pub fn from_wide(bytes: &[u8; 64]) -> Self {
        Self(backend::fr_from_wide(bytes))
    }

    /// Reads the canonical encoding: 32 bytes, big-endian, below `r`.
    ///
    /// # Errors
    /// If the length is not 32 or the number is not below `r`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let array = <&[u8; 32]>::try_from(bytes)
            .map_err(|_| DecodeError::Length { expected: Self::BYTES, got: bytes.len() })?;
        backend::fr_from_bytes(array).map(Self).ok_or(DecodeError::NotCanonical)
    }

    /// The canonical encoding: 32 bytes, big-endian.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 32] {
        let mut bytes = backend::fr_to_bytes(&self.0);
        bytes.reverse();
        bytes
    }

    /// The multiplicative inverse. `None` for zero.
    #[must_use]
    pub fn invert(&self) -> Option<Self> {
        if *self == Self::ZERO { None } else { Some(Self(backend::fr_invert(&self.0))) }
    }

    /// The power `self^exponent`. The time depends on the exponent.
    #[must_use]
    pub fn vartime_pow(&self, exponent: u64) -> Self {
        let mut power = Self::ONE;
        for bit in (0..u64::BITS - exponent.leading_zeros()).rev() {
            power *= power;
            if exponent >> bit & 1 == 1 {
                power *= *self;
            }
        }
        power
    }

    /// The number as little-endian bytes, for multiplications.
    #[inline]
    pub(crate) fn to_le_bytes(self) -> [u8; 32] {
        backend::fr_to_bytes(&self.0)
    }

    /// The words in Montgomery form, lowest first.
    #[cfg(any(feature = "interop-ark", feature = "interop-blst", feature = "interop-blstrs"))]
    pub(crate) fn words(&self) -> &[u64; 4] {
        backend::fr_limbs(&self.0)
    }

    /// The scalar with these words in Montgomery form. They must be below the order.
    #[cfg(any(feature = "interop-ark", feature = "interop-blst", feature = "interop-blstrs"))]
    pub(crate) const fn from_words(words: [u64; 4]) -> Self {
        Self(backend::fr_from_limbs(words))
    }
}

/// A generator of the subgroup of order 2³², the largest power of two that divides `r − 1`. It is
/// `7^((r − 1)/2³²)`, where 7 generates the multiplicative group.
pub const ROOT_OF_UNITY: Scalar = Scalar(backend::fr_from_limbs([
    0xb9b5_8d8c_5f0e_466a,
    0x5b1b_4c80_1819_d7ec,
    0x0af5_3ae3_52a3_1e64,
    0x5bf3_adda_19e9_b27b,
]));
/// The order of [`ROOT_OF_UNITY`] is two to the power of this number.
pub const TWO_ADICITY: u32 = 32;

/// `(a, b) ← (a + b·twiddle, a − b·twiddle)`, the step of a Fourier transform.
#[inline]
pub fn butterfly(a: &mut Scalar, b: &mut Scalar, twiddle: &Scalar) {
    backend::fr_butterfly(&mut a.0, &mut b.0, &twiddle.0);
}

/// Inverts all scalars in place at the cost of one inversion and some multiplications. Zeros stay
/// zero. The time depends on which scalars are zero.
pub fn batch_invert(scalars: &mut [Scalar]) {
    let mut product = Scalar::ONE;
    let mut prefixes = Vec::with_capacity(scalars.len());
    for scalar in scalars.iter().filter(|scalar| **scalar != Scalar::ZERO) {
        prefixes.push(product);
        product *= *scalar;
    }
    let mut inverse = Scalar(backend::fr_invert(&product.0));
    let nonzero = scalars.iter_mut().rev().filter(|scalar| **scalar != Scalar::ZERO);
    for (scalar, prefix) in nonzero.zip(prefixes.into_iter().rev()) {
        let own = inverse * prefix;
        inverse *= *scalar;
        *scalar = own;
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scalar(..)")
    }
}

impl Default for Scalar {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Zeroize for Scalar {
    fn zeroize(&mut self) {
        backend::fr_wipe(&mut self.0);
    }
}

impl ConstantTimeEq for Scalar {
    #[inline]
    fn ct_eq(&self, other: &Self) -> Choice {
        backend::fr_limbs(&self.0).ct_eq(backend::fr_limbs(&other.0))
    }
}

impl PartialEq for Scalar {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        reveal(self.ct_eq(other))
    }
}

macro_rules! binary {
    ($($trait:ident, $method:ident, $assign:ident, $assign_method:ident, $raw:ident;)*) => {$(
        impl $trait for Scalar {
            type Output = Self;

            #[inline]
            fn $method(self, other: Self) -> Self {
                Self(backend::$raw(&self.0, &other.0))
            }
        }

        impl $trait<&Self> for Scalar {
            type Output = Self;

            #[inline]
            fn $method(self, other: &Self) -> Self {
                Self(backend::$raw(&self.0, &other.0))
            }
        }

        impl $trait<&Scalar> for &Scalar {
            type Output = Scalar;

            #[inline]
            fn $method(self, other: &Scalar) -> Scalar {
                Scalar(backend::$raw(&self.0, &other.0))
            }
        }

        impl $assign for Scalar {
            #[inline]
            fn $assign_method(&mut self, other: Self) {
                *self = $trait::$method(*self, other);
            }
        }
    )*};
}

binary! {
    Add, add, AddAssign, add_assign, fr_add;
    Sub, sub, SubAssign, sub_assign, fr_sub;
    Mul, mul, MulAssign, mul_assign, fr_mul;
}

impl Neg for Scalar {
    type Output = Self;

    #[inline]
    fn neg(self) -> Self {
        Self(backend::fr_neg(&self.0))
    }
}

impl Sum for Scalar {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::ZERO, Add::add)
    }
}

impl Product for Scalar {
    fn product<I: Iterator<Item = Self>>(factors: I) -> Self {
        factors.fold(Self::ONE, Mul::mul)
    }
}
