//! Many additions of affine points at once.
//!
//! An affine addition is one inversion, two multiplications and a squaring:
//!
//! ```text
//! λ = (y₂ − y₁)/(x₂ − x₁)   or, for equal points, 3x²/2y
//! x₃ = λ² − x₁ − x₂         y₃ = λ·(x₁ − x₃) − y₁
//! ```
//!
//! With one inversion for all of them (Montgomery's trick) each costs three multiplications more, and
//! is twice as fast as in projective coordinates. The time depends on the points: for public ones.
use alloc::vec::Vec;

use super::{Affine, Group};

/// The field that coordinates lie in.
pub trait BaseField: Copy + PartialEq {
    const UNIT: Self;
    fn sum(&self, other: &Self) -> Self;
    fn difference(&self, other: &Self) -> Self;
    fn product(&self, other: &Self) -> Self;
    fn squared(&self) -> Self;
    /// Not of zero. The time may depend on the value.
    fn vartime_inverse(&self) -> Self;
}

/// How two points add up.
enum Case<F> {
    /// The first remains.
    First,
    /// The second remains: the first is the identity.
    Second,
    /// The points are opposite.
    Identity,
    /// `λ = rise/run`.
    Slope { rise: F, run: F },
}

/// `pointsᵢ ← pointsᵢ + othersᵢ`, over as many as the shorter slice has, with one inversion for all.
/// Not constant time.
pub fn vartime_add_pairs<G: Group>(points: &mut [Affine<G>], others: &[Affine<G>]) {
    let mut product = G::Coordinate::UNIT;
    let mut before = Vec::with_capacity(points.len().min(others.len()));
    for (point, other) in points.iter().zip(others) {
        before.push(product);
        if let Case::Slope { run, .. } = case(point, other) {
            product = product.product(&run);
        }
    }
    let mut inverse = product.vartime_inverse();
    let pairs = points.iter_mut().zip(others).zip(before);
    for ((point, other), before) in pairs.rev() {
        match case(point, other) {
            Case::First => {}
            Case::Second => *point = *other,
            Case::Identity => *point = Affine::identity(),
            Case::Slope { rise, run } => {
                let slope = rise.product(&inverse.product(&before));
                inverse = inverse.product(&run);
                let ((x1, y1), (x2, _)) = (G::coordinates(&point.0), G::coordinates(&other.0));
                let x = slope.squared().difference(&x1).difference(&x2);
                let y = slope.product(&x1.difference(&x)).difference(&y1);
                *point = Affine(G::from_coordinates(x, y));
            }
        }
    }
}

fn case<G: Group>(point: &Affine<G>, other: &Affine<G>) -> Case<G::Coordinate> {
    if other.is_identity() {
        return Case::First;
    }
    if point.is_identity() {
        return Case::Second;
    }
    let ((x1, y1), (x2, y2)) = (G::coordinates(&point.0), G::coordinates(&other.0));
    if x1 != x2 {
        return Case::Slope { rise: y2.difference(&y1), run: x2.difference(&x1) };
    }
    // A point of odd order is not its own opposite, so 2y is not zero.
    if y1 == y2 {
        let square = x1.squared();
        Case::Slope { rise: square.sum(&square).sum(&square), run: y1.sum(&y1) }
    } else {
        Case::Identity
    }
}
