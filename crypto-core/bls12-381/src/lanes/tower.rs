//! `𝔽p¹² = 𝔽p²[w]/(w⁶ − ξ)` with `ξ = 1 + u`, eight elements at a time: the operations of a Miller
//! loop.
//!
//! An element is six coefficients, `f = Σ fₖ·wᵏ`, without intermediate fields. A sum of products is
//! reduced only once, and each coefficient of a product is one sum: of the products whose powers of
//! `w` add up to its power, plus `ξ` times those whose powers are six higher.
//!
//! Lines are sparse ([`Line`]), with three terms for each coefficient. A square takes 21 products for
//! all six coefficients, because most products occur twice.
use super::quadratic::{Quadratic, dot};
use super::width::LANES;
use crate::field::Twelve;

/// Eight elements.
#[derive(Clone, Copy)]
pub(super) struct Accumulator([Quadratic; 6]);

/// Eight lines, each at its point: `a + b·w² + c·w³`.
pub(super) struct Line {
    pub(super) a: Quadratic,
    pub(super) b: Quadratic,
    pub(super) c: Quadratic,
}

impl Accumulator {
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn one() -> Self {
        let zero = Quadratic::zero();
        Self([Quadratic::one(), zero, zero, zero, zero, zero])
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn square(&self) -> Self {
        let [f0, f1, f2, f3, f4, f5] = &self.0;
        let [d0, d1, d2, d3, d4] = [f0.sum(f0), f1.sum(f1), f2.sum(f2), f3.sum(f3), f4.sum(f4)];
        let [t3, t4, t5] = [f3.twisted(), f4.twisted(), f5.twisted()];
        Self([
            dot(&[(f0, f0), (&d1, &t5), (&d2, &t4), (f3, &t3)]),
            dot(&[(&d0, f1), (&d2, &t5), (&d3, &t4)]),
            dot(&[(&d0, f2), (f1, f1), (&d3, &t5), (f4, &t4)]),
            dot(&[(&d0, f3), (&d1, f2), (&d4, &t5)]),
            dot(&[(&d0, f4), (&d1, f3), (f2, f2), (f5, &t5)]),
            dot(&[(&d0, f5), (&d1, f4), (&d2, f3)]),
        ])
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn times(&self, Line { a, b, c }: &Line) -> Self {
        let [f0, f1, f2, f3, f4, f5] = &self.0;
        let [tb, tc] = [b.twisted(), c.twisted()];
        Self([
            dot(&[(f0, a), (f4, &tb), (f3, &tc)]),
            dot(&[(f1, a), (f5, &tb), (f4, &tc)]),
            dot(&[(f2, a), (f0, b), (f5, &tc)]),
            dot(&[(f3, a), (f1, b), (f0, c)]),
            dot(&[(f4, a), (f2, b), (f1, c)]),
            dot(&[(f5, a), (f3, b), (f2, c)]),
        ])
    }

    /// The conjugate, with `−w` in place of `w`.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn conjugate(&self) -> Self {
        let [f0, f1, f2, f3, f4, f5] = self.0;
        Self([f0, f1.negative(), f2, f3.negative(), f4, f5.negative()])
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn store(&self) -> [Twelve; LANES] {
        let mut lanes = [Twelve::default(); LANES];
        for (at, coefficient) in self.0.iter().enumerate() {
            for (lane, stored) in lanes.iter_mut().zip(coefficient.store()) {
                if let Some(place) = lane.get_mut(at) {
                    *place = stored;
                }
            }
        }
        lanes
    }
}

#[cfg(test)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn square_times_line<F: crate::field::BaseField>(
    elements: &[[F; 6]; LANES],
    lines: &[[F; 3]; LANES],
) -> [Twelve; LANES] {
    let element = core::array::from_fn(|at| elements.each_ref().map(|lane| &lane[at]));
    let line = core::array::from_fn(|at| lines.each_ref().map(|lane| &lane[at]));
    let [f0, f1, f2, f3, f4, f5]: [[&F; LANES]; 6] = element;
    let [a, b, c]: [[&F; LANES]; 3] = line;
    let element = Accumulator([
        Quadratic::load(f0),
        Quadratic::load(f1),
        Quadratic::load(f2),
        Quadratic::load(f3),
        Quadratic::load(f4),
        Quadratic::load(f5),
    ]);
    let line = Line { a: Quadratic::load(a), b: Quadratic::load(b), c: Quadratic::load(c) };
    element.square().times(&line).store()
}
