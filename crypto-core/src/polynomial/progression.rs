//! Values of a polynomial at `0, 1, 2, …`, used in place of its coefficients.
//!
//! The values at `0, …, d` of a polynomial of degree at most `d` determine its values at larger
//! numbers, by Lagrange's formula. For `x > d`
//!
//! ```text
//! P(x) = x!/(x − d − 1)! · Σ_(j≤d) wⱼ/(x − j)      with wⱼ = (−1)^(d−j)·P(j)/(j!·(d − j)!)
//! ```
//!
//! The sum is a convolution with `1/1, 1/2, …`, which takes two Fourier transforms. So a product of
//! many factors is computed from the bottom up: two neighbours of degree `d` are extended to
//! `0, …, 2d` and multiplied value by value. This takes `O(n log² n)` and, unlike a remainder tree,
//! needs no second pass downwards.
//!
//! After [Bostan, Gaudry, Schost](https://specfun.inria.fr/bostan/publications/BoGaSc07.pdf) (2007),
//! who extend values in this way for other purposes. All values here are public.
use alloc::vec;
use alloc::vec::Vec;

use super::Domain;
use crate::curve::Scalar;

/// Up to this many factors are multiplied out at each point. It is a power of two.
const DIRECT: usize = 64;

/// Tables of `k!` and `1/k!`.
pub(super) struct Factorials {
    plain: Vec<Scalar>,
    inverse: Vec<Scalar>,
}

impl Factorials {
    /// The tables for `k` up to `most`, computed with one inversion.
    pub(super) fn up_to(most: usize) -> Self {
        let mut plain = Vec::with_capacity(most + 1);
        let mut factorial = Scalar::ONE;
        plain.push(factorial);
        for k in 1..=most {
            factorial *= number(k);
            plain.push(factorial);
        }
        // No factor is zero: `most` is far below the order.
        let mut inverse_factorial = factorial.invert().unwrap_or(Scalar::ZERO);
        let mut inverse = vec![Scalar::ONE; most + 1];
        for (k, slot) in inverse.iter_mut().enumerate().rev() {
            *slot = inverse_factorial;
            inverse_factorial *= number(k);
        }
        Self { plain, inverse }
    }

    pub(super) fn inverse(&self, k: usize) -> Scalar {
        self.inverse.get(k).copied().unwrap_or(Scalar::ZERO)
    }

    fn plain(&self, k: usize) -> Scalar {
        self.plain.get(k).copied().unwrap_or(Scalar::ZERO)
    }
}

/// Values of `∏ (X − g)` over all `roots` at `0, …, count − 1`, with factorials up to [`reach`].
pub(super) fn vanishing_values(
    roots: &[usize],
    count: usize,
    factorials: &Factorials,
) -> Vec<Scalar> {
    if roots.len() <= DIRECT {
        return product_values(roots, count);
    }
    let mut degree = DIRECT;
    let mut level: Vec<Vec<Scalar>> =
        roots.chunks(degree).map(|block| product_values(block, degree + 1)).collect();
    let domain = Domain::new(u32::try_from(reach(roots.len(), count)).unwrap_or(u32::MAX));
    while level.len() > 1 {
        let extension = Extension::new(&domain, degree, 2 * degree, factorials);
        level.iter_mut().for_each(|values| extension.extend(values));
        level = level.chunks(2).map(multiply).collect();
        degree *= 2;
    }
    let mut values = level.pop().unwrap_or_default();
    if count > values.len() {
        Extension::new(&domain, degree, count - 1, factorials).extend(&mut values);
    }
    values.truncate(count);
    values
}

/// `∏ (x − g)` over all `roots`.
pub(super) fn vanishing_value(roots: &[usize], x: usize) -> Scalar {
    signed_product(roots.iter().map(|root| difference(x, *root)))
}

/// How far factorials must reach for [`vanishing_values`].
pub(super) fn reach(roots: usize, count: usize) -> usize {
    count.max(roots.next_power_of_two())
}

/// The product of the factors, value by value.
fn multiply(factors: &[Vec<Scalar>]) -> Vec<Scalar> {
    let mut factors = factors.iter();
    let mut product = factors.next().cloned().unwrap_or_default();
    for factor in factors {
        product.iter_mut().zip(factor).for_each(|(value, other)| *value *= *other);
    }
    product
}

fn product_values(roots: &[usize], count: usize) -> Vec<Scalar> {
    (0..count).map(|x| vanishing_value(roots, x)).collect()
}

/// Extends the values at `0, …, degree` to those at `0, …, last`.
struct Extension<'a> {
    domain: &'a Domain,
    factorials: &'a Factorials,
    degree: usize,
    last: usize,
    /// The transform of `0, 1/1, …, 1/last`, where the last may wrap to the first place.
    kernel: Vec<Scalar>,
}

impl<'a> Extension<'a> {
    fn new(domain: &'a Domain, degree: usize, last: usize, factorials: &'a Factorials) -> Self {
        // Sums for `x > degree` take `1/1` to `1/last`. What wraps around falls on `x ≤ degree`.
        let mut kernel = vec![Scalar::ZERO; last.next_power_of_two()];
        for k in 1..=last {
            let place = k % kernel.len();
            if let Some(slot) = kernel.get_mut(place) {
                *slot = factorials.plain(k - 1) * factorials.inverse(k);
            }
        }
        domain.transform(&mut kernel);
        Self { domain, factorials, degree, last, kernel }
    }

    fn extend(&self, values: &mut Vec<Scalar>) {
        let degree = self.degree;
        let mut sums = vec![Scalar::ZERO; self.kernel.len()];
        for ((j, slot), value) in sums.iter_mut().enumerate().zip(values.iter()) {
            let weight = *value * self.factorials.inverse(j) * self.factorials.inverse(degree - j);
            *slot = if (degree - j).is_multiple_of(2) { weight } else { -weight };
        }
        self.domain.transform(&mut sums);
        sums.iter_mut().zip(&self.kernel).for_each(|(sum, kernel)| *sum *= *kernel);
        self.domain.inverse_transform(&mut sums);
        for x in degree + 1..=self.last {
            let sum = sums.get(x % self.kernel.len()).copied().unwrap_or(Scalar::ZERO);
            let falling = self.factorials.plain(x) * self.factorials.inverse(x - degree - 1);
            values.push(falling * sum);
        }
    }
}

/// The product of small numbers, multiplied as machine words while they fit.
pub(super) fn signed_product(numbers: impl Iterator<Item = i64>) -> Scalar {
    let mut product = Scalar::ONE;
    let mut word = 1_u64;
    let mut negative = false;
    for number in numbers {
        negative ^= number < 0;
        let magnitude = number.unsigned_abs();
        match word.checked_mul(magnitude) {
            Some(longer) => word = longer,
            None => {
                product *= Scalar::from_u64(word);
                word = magnitude;
            }
        }
    }
    product *= Scalar::from_u64(word);
    if negative { -product } else { product }
}

/// `x − root`
fn difference(x: usize, root: usize) -> i64 {
    let signed = |place| i64::try_from(place).unwrap_or(i64::MAX);
    signed(x) - signed(root)
}

fn number(k: usize) -> Scalar {
    Scalar::from_u64(u64::try_from(k).unwrap_or(u64::MAX))
}
