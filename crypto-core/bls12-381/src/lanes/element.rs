//! Eight coordinates: of `𝔽p` (`N = 1`), or of `𝔽p[u]/(u² + 1)` (`N = 2`) as `a₀ + a₁u`.
//!
//! ```text
//! (a₀ + a₁u)(b₀ + b₁u) = (a₀b₀ − a₁b₁) + (a₀b₁ + a₁b₀)u
//! ```
//!
//! These are four products in two sums, which cost as much as three products and no further
//! additions.
use zeroize::Zeroize;

use super::field::{LIMBS, Lanes, Raised, constant};
use super::width::LANES;
use crate::field::BaseField;

/// Eight elements.
#[derive(Clone, Copy)]
pub(super) struct Element<const N: usize>([Lanes; N]);

/// Eight elements to multiply by.
#[derive(Clone, Copy)]
pub(super) struct Factor<const N: usize>([Raised; N]);

impl<const N: usize> Element<N> {
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn load<F: BaseField>([a, b, c, d, e, f, g, h]: [&F; LANES]) -> Self {
        let mut parts = [Lanes::zero(); N];
        for (at, part) in parts.iter_mut().enumerate() {
            *part = Lanes::load([
                a.words(at),
                b.words(at),
                c.words(at),
                d.words(at),
                e.words(at),
                f.words(at),
                g.words(at),
                h.words(at),
            ]);
        }
        Self(parts)
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn store<F: BaseField>(&self) -> [F; LANES] {
        let mut values = [F::UNIT; LANES];
        for (at, part) in self.0.iter().enumerate() {
            for (value, words) in values.iter_mut().zip(part.store()) {
                value.set_words(at, words);
            }
        }
        values
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn of(parts: [Lanes; N]) -> Self {
        Self(parts)
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn parts(&self) -> &[Lanes; N] {
        &self.0
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn zero() -> Self {
        Self([Lanes::zero(); N])
    }

    /// The same element in all lanes.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn everywhere(element: &[[u64; LIMBS]; N]) -> Self {
        let mut parts = [Lanes::zero(); N];
        for (part, limbs) in parts.iter_mut().zip(element) {
            *part = Lanes(constant(limbs));
        }
        Self(parts)
    }

    /// The elements in the form that others are multiplied by.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn factor(&self) -> Factor<N> {
        let mut factor = [Lanes::zero().raised(); N];
        for (raised, part) in factor.iter_mut().zip(&self.0) {
            *raised = part.raised();
        }
        Factor(factor)
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn sum(&self, other: &Self) -> Self {
        let mut sum = *self;
        for (part, other) in sum.0.iter_mut().zip(&other.0) {
            *part = part.sum(other);
        }
        sum
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn difference(&self, other: &Self) -> Self {
        let mut difference = *self;
        for (part, other) in difference.0.iter_mut().zip(&other.0) {
            *part = part.difference(other);
        }
        difference
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn product(&self, other: &Factor<N>) -> Self {
        let mut product = *self;
        match (self.0.as_slice(), other.0.as_slice(), product.0.as_mut_slice()) {
            ([a], [b], [c]) => *c = a.product(b),
            ([a0, a1], [b0, b1], [c0, c1]) => {
                *c0 = a0.products(b0, &a1.negative(), b1);
                *c1 = a0.products(b1, a1, b0);
            }
            _ => {}
        }
        product
    }

    /// `(a₀ + a₁)(a₀ − a₁) + 2a₀a₁u` in the extension.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn square(&self) -> Self {
        let mut square = *self;
        match (self.0.as_slice(), square.0.as_mut_slice()) {
            ([a], [c]) => *c = a.product(&a.raised()),
            ([a0, a1], [c0, c1]) => {
                *c0 = a0.sum(a1).product(&a0.difference(a1).raised());
                *c1 = a0.sum(a0).product(&a1.raised());
            }
            _ => {}
        }
        square
    }

    /// A bit that is set for each lane that is zero.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn zeros(&self) -> u8 {
        let mut zeros = u8::MAX;
        for part in &self.0 {
            zeros &= part.zeros();
        }
        zeros
    }

    /// Takes the lanes from `other` whose bit is set.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn select(&self, other: &Self, lanes: u8) -> Self {
        let mut selected = *self;
        for (part, other) in selected.0.iter_mut().zip(&other.0) {
            *part = part.select(other, lanes);
        }
        selected
    }
}

impl<const N: usize> Zeroize for Element<N> {
    fn zeroize(&mut self) {
        self.0.iter_mut().for_each(|part| part.0.zeroize());
    }
}

impl<const N: usize> Zeroize for Factor<N> {
    fn zeroize(&mut self) {
        self.0.iter_mut().for_each(|part| part.0.zeroize());
    }
}
