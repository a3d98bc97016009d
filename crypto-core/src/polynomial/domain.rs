//! Roots of unity as evaluation points.
//!
//! A domain is `{ω⁰, …, ω^(N−1)}` with `ω^N = 1`, `N` a power of two. All values of a polynomial on
//! it come from one Fourier transform (radix 2, decimation in time).
//!
//! Interpolation from a subset `S` at zero needs `λᵢ = ∏_(j≠i) xⱼ/(xⱼ − xᵢ)`, which takes quadratic
//! time if computed directly. Let `A` vanish on `S` and `B` on the rest, so that `A·B = X^N − 1`.
//! Then
//!
//! ```text
//! λᵢ = −A(0) / (xᵢ·A'(xᵢ))            from the definition
//! xᵢ·A'(xᵢ)·B(xᵢ) = N                 the derivative of A·B at xᵢ, times xᵢ
//! A(0)·B(0) = −1                      A·B at zero
//! λᵢ = B(xᵢ) / (N·B(0))
//! ```
//!
//! so one transform of `A'`, or of `B` if that is smaller, gives all `λᵢ`. `A` or `B` is multiplied
//! out in a tree, and products of large factors use transforms as well. The points are public here,
//! so the time of everything but the plain transform may depend on them.
use alloc::vec;
use alloc::vec::Vec;
use core::iter;

use crate::access::ShareIndex;
use crate::curve::Scalar;
use crate::curve::hazmat::{ROOT_OF_UNITY, TWO_ADICITY, batch_invert, butterfly};

/// Up to this many points, a product is multiplied out directly.
const DIRECT: usize = 64;

/// The powers of a root of unity of power-of-two order.
///
/// ```
/// use prefinal_crypto_core::access::ShareIndex;
/// use prefinal_crypto_core::curve::Scalar;
/// use prefinal_crypto_core::polynomial::Domain;
/// let domain = Domain::new(5);
/// assert_eq!(domain.size(), 8);
/// let eighth_power = |point: &Scalar| (0..3).fold(*point, |power, _| power * power);
/// assert!(domain.points().iter().all(|point| eighth_power(point) == Scalar::ONE));
/// assert!(domain.point(ShareIndex::new(9).unwrap()).is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// `ω⁰, …, ω^(N−1)`.
    powers: Vec<Scalar>,
}

impl Domain {
    /// The smallest domain with at least `points` points. It takes 32 bytes of memory for each of its
    /// points.
    #[must_use]
    pub fn new(points: u32) -> Self {
        let size = usize::try_from(size(points)).unwrap_or(usize::MAX);
        let step = Self::root(points);
        let powers = iter::successors(Some(Scalar::ONE), |power| Some(*power * step));
        Self { powers: powers.take(size).collect() }
    }

    /// The `ω` of the smallest domain with at least `points` points.
    #[must_use]
    pub(crate) fn root(points: u32) -> Scalar {
        let squarings = size(points).trailing_zeros()..TWO_ADICITY;
        squarings.fold(ROOT_OF_UNITY, |root, _| root * root)
    }

    /// The number of points, a power of two.
    #[must_use]
    pub fn size(&self) -> usize {
        self.powers.len()
    }

    /// The points `ω⁰, ω¹, …` in order.
    #[must_use]
    pub fn points(&self) -> &[Scalar] {
        &self.powers
    }

    /// The point of a share, `ω^(index−1)`. `None` if the domain is too small.
    #[must_use]
    pub fn point(&self, index: ShareIndex) -> Option<Scalar> {
        self.powers.get(index.position()).copied()
    }

    /// The coefficients `λᵢ`, in the order of `indices`, with `f(0) = Σᵢ λᵢ·f(xᵢ)` for every `f` of
    /// degree below the number of indices.
    ///
    /// The indices must be distinct and in the domain; then the coefficients exist. If they are not,
    /// the result is empty.
    #[must_use]
    pub fn lagrange_at_zero(&self, indices: &[ShareIndex]) -> Vec<Scalar> {
        let mut chosen = vec![false; self.size()];
        for index in indices {
            match chosen.get_mut(index.position()) {
                Some(seen) if !*seen => *seen = true,
                _ => return Vec::new(),
            }
        }
        let inside = 2 * indices.len() <= self.size();
        let roots: Vec<Scalar> = self
            .powers
            .iter()
            .zip(&chosen)
            .filter(|(_, chosen)| **chosen == inside)
            .map(|(power, _)| *power)
            .collect();
        let vanishing = self.vanishing(&roots);
        let constant = vanishing.first().copied().unwrap_or(Scalar::ONE);
        if inside {
            self.through_chosen(vanishing, constant, indices)
        } else {
            self.through_rest(vanishing, constant, indices)
        }
    }

    /// `λᵢ = −A(0) / (xᵢ·A'(xᵢ))`
    fn through_chosen(
        &self,
        a: Vec<Scalar>,
        constant: Scalar,
        indices: &[ShareIndex],
    ) -> Vec<Scalar> {
        // The coefficients of `X·A'`.
        let mut values: Vec<Scalar> =
            a.into_iter().zip(0..).map(|(c, degree)| c * Scalar::from_u64(degree)).collect();
        values.resize(self.size(), Scalar::ZERO);
        self.transform(&mut values);
        let mut lambda = pick(&values, indices);
        batch_invert(&mut lambda);
        lambda.iter_mut().for_each(|inverse| *inverse *= -constant);
        lambda
    }

    /// `λᵢ = B(xᵢ) / (N·B(0))`
    fn through_rest(
        &self,
        b: Vec<Scalar>,
        constant: Scalar,
        indices: &[ShareIndex],
    ) -> Vec<Scalar> {
        let mut values = b;
        values.resize(self.size(), Scalar::ZERO);
        self.transform(&mut values);
        let scale = (constant * self.size_as_scalar()).invert().unwrap_or(Scalar::ZERO);
        let mut lambda = pick(&values, indices);
        lambda.iter_mut().for_each(|value| *value *= scale);
        lambda
    }

    /// Coefficients to values in place: `vₖ = Σᵢ cᵢ·ω^(ik)`, where `ω` has the order `values.len()`,
    /// a power of two that divides the domain's size. Constant time in the values.
    pub(super) fn transform(&self, values: &mut [Scalar]) {
        self.transform_with(values, butterfly);
    }

    /// The same transform for any type that has a step `(a, b) ← (a + b·twiddle, a − b·twiddle)`.
    pub(crate) fn transform_with<T>(
        &self,
        values: &mut [T],
        butterfly: impl Fn(&mut T, &mut T, &Scalar),
    ) {
        debug_assert!(values.len().is_power_of_two() && values.len() <= self.size());
        reverse_bits(values);
        let mut half = 1;
        while half < values.len() {
            let stride = self.size() / (2 * half);
            for block in values.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                let twiddles = self.powers.iter().step_by(stride);
                for ((a, b), twiddle) in low.iter_mut().zip(high).zip(twiddles) {
                    butterfly(a, b, twiddle);
                }
            }
            half *= 2;
        }
    }

    /// Values to coefficients: the transform, with all results but the first in reverse order,
    /// divided by the length.
    pub(super) fn inverse_transform(&self, values: &mut [Scalar]) {
        self.transform(values);
        if let Some((_, others)) = values.split_first_mut() {
            others.reverse();
        }
        let length = Scalar::from_u64(u64::try_from(values.len()).unwrap_or(u64::MAX));
        let scale = length.invert().unwrap_or(Scalar::ZERO);
        values.iter_mut().for_each(|value| *value *= scale);
    }

    /// The coefficients of `∏ (X − x)`, lowest first.
    fn vanishing(&self, roots: &[Scalar]) -> Vec<Scalar> {
        if roots.len() <= DIRECT {
            return multiply_out(roots);
        }
        let (left, right) = roots.split_at(roots.len() / 2);
        self.product(self.vanishing(left), self.vanishing(right))
    }

    /// The product of two polynomials whose leading coefficients are one.
    fn product(&self, mut a: Vec<Scalar>, mut b: Vec<Scalar>) -> Vec<Scalar> {
        let degree = a.len() + b.len() - 2;
        let length = degree.next_power_of_two();
        a = fold(a, length);
        b = fold(b, length);
        self.transform(&mut a);
        self.transform(&mut b);
        a.iter_mut().zip(&b).for_each(|(x, y)| *x *= *y);
        self.inverse_transform(&mut a);
        if length == degree {
            // The transform works modulo `X^length − 1`, so the leading coefficient one was added to
            // the constant.
            if let Some(constant) = a.first_mut() {
                *constant -= Scalar::ONE;
            }
            a.push(Scalar::ONE);
        } else {
            a.truncate(degree + 1);
        }
        a
    }

    fn size_as_scalar(&self) -> Scalar {
        Scalar::from_u64(u64::try_from(self.size()).unwrap_or(u64::MAX))
    }
}

/// The smallest power of two that is at least `points`, at most 2³¹.
const fn size(points: u32) -> u32 {
    match points.checked_next_power_of_two() {
        Some(size) => size,
        None => 1 << 31,
    }
}

fn pick(values: &[Scalar], indices: &[ShareIndex]) -> Vec<Scalar> {
    indices.iter().filter_map(|index| values.get(index.position()).copied()).collect()
}

/// Reduces a polynomial modulo `X^length − 1`.
fn fold(coefficients: Vec<Scalar>, length: usize) -> Vec<Scalar> {
    let mut folded = vec![Scalar::ZERO; length];
    for part in coefficients.chunks(length) {
        folded.iter_mut().zip(part).for_each(|(sum, coefficient)| *sum += *coefficient);
    }
    folded
}

/// `∏ (X − x)`, one factor after the other.
fn multiply_out(roots: &[Scalar]) -> Vec<Scalar> {
    let mut product = Vec::with_capacity(roots.len() + 1);
    product.push(Scalar::ONE);
    for root in roots {
        // Shifting the coefficients up gives `X·product`. Then `root` times the old coefficients is
        // subtracted.
        let mut above = Scalar::ZERO;
        for coefficient in &mut product {
            let own = *coefficient;
            *coefficient = above - own * *root;
            above = own;
        }
        product.push(above);
    }
    product
}

fn reverse_bits<T>(values: &mut [T]) {
    let unused = usize::BITS - values.len().trailing_zeros();
    for place in 0..values.len() {
        // With only one value there is nothing to swap, and the shift would be too large.
        let other = place.reverse_bits().checked_shr(unused).unwrap_or(0);
        if place < other {
            values.swap(place, other);
        }
    }
}
