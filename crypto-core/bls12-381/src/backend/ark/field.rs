//! Operations of the two coordinate fields, `𝔽p` of `𝔾₁` and `𝔽p²` of `𝔾₂`, that arkworks does not
//! have.
use ark_ff::{AdditiveGroup, Field, PrimeField};

use super::curves::{Fq, Fq2};
use super::numbers::{big_endian, invert, reduce};
use crate::expand::expand;
use crate::field::BaseField;

/// Length of a number modulo `p` in bytes.
const FQ_BYTES: usize = 48;
/// Number of bytes for a uniform element by RFC 9380, section 5.1: at least 128 bits more than `p`
/// has.
const UNIFORM_BYTES: usize = 64;

/// An element of a coordinate field.
pub trait Coordinate: Field + BaseField {
    /// The product of this and `3b`, with the `b` of `y² = x³ + b`.
    fn times_3b(&self) -> Self;
    /// The inverse, with `0⁻¹ = 0`. The sequence of operations is always the same.
    fn invert(&self) -> Self;
    fn limbs(&mut self) -> impl Iterator<Item = &mut u64>;
    /// RFC 9380, `hash_to_field` for one element.
    fn hash(message: &[u8], tag: &[u8]) -> Self;
    /// RFC 9380, `hash_to_field` for two elements.
    fn hash_two(message: &[u8], tag: &[u8]) -> [Self; 2];
    /// Reads big-endian bytes. `None` if a number is not below `p`.
    fn read(bytes: &[u8]) -> Option<Self>;
    fn write(&self, bytes: &mut [u8]);
}

macro_rules! base_field {
    ($($field:ty: $words:ident, $words_mut:ident);*) => {$(
        impl BaseField for $field {
            const UNIT: Self = Self::ONE;

            #[inline]
            fn sum(&self, other: &Self) -> Self {
                *self + other
            }

            #[inline]
            fn difference(&self, other: &Self) -> Self {
                *self - other
            }

            #[inline]
            fn product(&self, other: &Self) -> Self {
                *self * other
            }

            #[inline]
            fn squared(&self) -> Self {
                self.square()
            }

            #[inline]
            fn inverse(&self) -> Self {
                self.invert()
            }

            #[inline]
            fn words(&self, at: usize) -> &[u64; 6] {
                $words(self, at)
            }

            #[inline]
            fn set_words(&mut self, at: usize, words: [u64; 6]) {
                *$words_mut(self, at) = words;
            }
        }
    )*};
}

base_field!(Fq: words, words_mut; Fq2: words_2, words_2_mut);

#[inline]
fn words(x: &Fq, _at: usize) -> &[u64; 6] {
    &x.0.0
}

#[inline]
fn words_mut(x: &mut Fq, _at: usize) -> &mut [u64; 6] {
    &mut x.0.0
}

#[inline]
fn words_2(x: &Fq2, at: usize) -> &[u64; 6] {
    if at == 0 { &x.c0.0.0 } else { &x.c1.0.0 }
}

#[inline]
fn words_2_mut(x: &mut Fq2, at: usize) -> &mut [u64; 6] {
    if at == 0 { &mut x.c0.0.0 } else { &mut x.c1.0.0 }
}

impl Coordinate for Fq {
    fn times_3b(&self) -> Self {
        let four = self.double().double();
        four.double() + four
    }

    fn invert(&self) -> Self {
        invert(self)
    }

    fn limbs(&mut self) -> impl Iterator<Item = &mut u64> {
        self.0.0.iter_mut()
    }

    fn hash(message: &[u8], tag: &[u8]) -> Self {
        reduce(&expand::<UNIFORM_BYTES>(message, tag))
    }

    fn hash_two(message: &[u8], tag: &[u8]) -> [Self; 2] {
        uniform(&expand::<{ 2 * UNIFORM_BYTES }>(message, tag))
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        Self::from_bigint(big_endian(bytes))
    }

    fn write(&self, bytes: &mut [u8]) {
        for (part, limb) in bytes.rchunks_mut(8).zip(self.into_bigint().0) {
            part.copy_from_slice(&limb.to_be_bytes());
        }
    }
}

impl Coordinate for Fq2 {
    /// `12(1 + u)`.
    fn times_3b(&self) -> Self {
        Self::new((self.c0 - self.c1).times_3b(), (self.c0 + self.c1).times_3b())
    }

    fn invert(&self) -> Self {
        let norm = invert(&(self.c0.square() + self.c1.square()));
        Self::new(self.c0 * norm, -self.c1 * norm)
    }

    fn limbs(&mut self) -> impl Iterator<Item = &mut u64> {
        self.c0.limbs().chain(self.c1.limbs())
    }

    fn hash(message: &[u8], tag: &[u8]) -> Self {
        let [c0, c1] = Fq::hash_two(message, tag);
        Self::new(c0, c1)
    }

    fn hash_two(message: &[u8], tag: &[u8]) -> [Self; 2] {
        let [a0, a1, b0, b1] = uniform(&expand::<{ 4 * UNIFORM_BYTES }>(message, tag));
        [Self::new(a0, a1), Self::new(b0, b1)]
    }

    /// The coefficient of `u` stands first.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (c1, c0) = bytes.split_at_checked(FQ_BYTES)?;
        Some(Self::new(Fq::read(c0)?, Fq::read(c1)?))
    }

    fn write(&self, bytes: &mut [u8]) {
        for (part, number) in bytes.chunks_mut(FQ_BYTES).zip([&self.c1, &self.c0]) {
            number.write(part);
        }
    }
}

/// `COUNT` uniform elements, each from `UNIFORM_BYTES` bytes.
fn uniform<const COUNT: usize>(bytes: &[u8]) -> [Fq; COUNT] {
    let mut elements = [Fq::ZERO; COUNT];
    for (element, part) in elements.iter_mut().zip(bytes.chunks(UNIFORM_BYTES)) {
        *element = reduce(part);
    }
    elements
}
