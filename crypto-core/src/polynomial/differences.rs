//! All values of a secret polynomial at `1, 2, …, n` by finite differences.
//!
//! `Δf(x) = f(x + 1) − f(x)`. The differences `Dₖ = Δᵏf(0)` determine a polynomial, as its
//! coefficients do. Horner's rule on differences finds them, and one addition for each of them moves
//! from `x` to `x + 1`:
//!
//! ```text
//! p ← X·p + c      D₀ ← c,  Dₖ ← k·(Dₖ + Dₖ₋₁)        since Δᵏ(X·p)(0) = k·Δᵏ⁻¹p(1)
//! x ← x + 1        Dₖ ← Dₖ + Dₖ₊₁
//! ```
//!
//! That is `t²/2` multiplications and fewer than `n·t` additions, where Horner's rule at each point
//! takes `n·t` of both. The sequence of operations depends on `t` and `n` alone.
//!
//! `commitment` does the same in the exponent.
use alloc::vec;
use alloc::vec::Vec;
use core::mem;

use zeroize::Zeroizing;

use crate::curve::Scalar;

/// `f(1), …, f(count)`, in constant time; `coefficients` with the lowest degree first.
pub(super) fn values(coefficients: &[Scalar], count: usize) -> Vec<Scalar> {
    // A difference of higher order than there are steps never reaches a value.
    let orders = coefficients.len().min(count + 1);
    let numbers: Vec<Scalar> = (0..).map(Scalar::from_u64).take(orders).collect();
    let mut differences = Zeroizing::new(vec![Scalar::ZERO; orders]);
    for (coefficient, degree) in coefficients.iter().rev().zip(0..) {
        let places = differences.iter_mut().zip(&numbers).take(degree + 1);
        horner(places, coefficient);
    }
    let mut values = Vec::with_capacity(count);
    for left in (0..count).rev() {
        step(&mut differences, left);
        values.extend(differences.first());
    }
    values
}

/// Replaces the differences of `p` by those of `X·p + coefficient`, in the orders given by `places`.
fn horner<'a>(
    mut places: impl Iterator<Item = (&'a mut Scalar, &'a Scalar)>,
    coefficient: &Scalar,
) {
    let Some((constant, _)) = places.next() else { return };
    let mut below = mem::replace(constant, *coefficient);
    for (difference, order) in places {
        let own = *difference;
        *difference = (own + below) * *order;
        below = own;
    }
}

/// Moves the differences from `x` to `x + 1`. Only those that the `left` remaining steps need are
/// updated.
fn step(differences: &mut [Scalar], left: usize) {
    let mut rest = differences;
    for _ in 0..=left {
        let [difference, above @ ..] = rest else { break };
        let [next, ..] = above else { break };
        *difference += *next;
        rest = above;
    }
}
