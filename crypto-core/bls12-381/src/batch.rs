//! Many additions of affine points at once.
//!
//! An affine addition is one inversion, two multiplications and a squaring:
//!
//! ```text
//! λ = (y₂ − y₁)/(x₂ − x₁)   or, for equal points, 3x²/2y
//! x₃ = λ² − x₁ − x₂         y₃ = λ·(x₁ − x₃) − y₁
//! ```
//!
//! With one inversion for all of them (Montgomery's trick), each addition costs three more
//! multiplications and is twice as fast as in projective coordinates. The time depends on the points,
//! so they must be public.
//!
//! Long sums are added up in rounds. Each round adds the remaining points of all sums in pairs.
use alloc::vec;
use alloc::vec::Vec;

use crate::field::BaseField;
use crate::group::Group;
use crate::lanes::Wide;
use crate::points::Affine;

/// With fewer additions than this, the lanes are not used: eight lanes share an inversion, but need
/// enough additions to fill them.
const LEAST_WIDE: usize = 24;

/// `λ = rise/run` for the pair at position `at`, and the product of all runs before it.
struct Slope<F> {
    at: usize,
    rise: F,
    run: F,
    before: F,
}

/// `pointsᵢ ← pointsᵢ + othersᵢ`, over as many as the shorter slice has, with one inversion for all.
/// Not constant time.
pub fn vartime_add_pairs<G: Group>(points: &mut [Affine<G>], others: &[Affine<G>]) {
    let mut sloped = Vec::with_capacity(points.len().min(others.len()));
    for (at, (point, other)) in points.iter_mut().zip(others).enumerate() {
        if !is_settled(point, other) {
            sloped.push(at);
        }
    }
    match Wide::detect() {
        Some(wide) if sloped.len() >= LEAST_WIDE => wide.add_pairs(points, others, &sloped),
        _ => add_pairs(points, others, &sloped),
    }
}

/// Handles pairs that need no slope: if one point is the identity or the points are opposite, sets
/// `point` to the sum and returns `true`.
fn is_settled<G: Group>(point: &mut Affine<G>, other: &Affine<G>) -> bool {
    // For nearly all pairs, these words of x differ and are not zero. Then the points are neither
    // equal nor opposite, and neither is the identity.
    let [low, other_low] = [*point, *other].map(|point| {
        let [low, ..] = *G::coordinates(&point.0).0.words(0);
        low
    });
    if low != 0 && other_low != 0 && low != other_low {
        return false;
    }
    if other.is_identity() {
        return true;
    }
    if point.is_identity() {
        *point = *other;
        return true;
    }
    let ((x1, y1), (x2, y2)) = (G::coordinates(&point.0), G::coordinates(&other.0));
    let is_zero = x1 == x2 && y1 != y2;
    if is_zero {
        *point = Affine::identity();
    }
    is_zero
}

/// `pointsᵢ ← pointsᵢ + othersᵢ` at `places`. Neither point nor their sum may be the identity there.
fn add_pairs<G: Group>(points: &mut [Affine<G>], others: &[Affine<G>], places: &[usize]) {
    let mut before = G::Coordinate::UNIT;
    let mut slopes = Vec::with_capacity(places.len());
    for at in places.iter().copied() {
        let (Some(point), Some(other)) = (points.get(at), others.get(at)) else { continue };
        let (rise, run) = slope(point, other);
        slopes.push(Slope { at, rise, run, before });
        before = before.product(&run);
    }
    if slopes.is_empty() {
        return;
    }
    let mut inverse = before.inverse();
    for Slope { at, rise, run, before } in slopes.into_iter().rev() {
        let slope = rise.product(&inverse.product(&before));
        inverse = inverse.product(&run);
        let (Some(point), Some(other)) = (points.get_mut(at), others.get(at)) else { continue };
        let ((x1, y1), (x2, _)) = (G::coordinates(&point.0), G::coordinates(&other.0));
        let x = slope.squared().difference(x1).difference(x2);
        let y = slope.product(&x1.difference(&x)).difference(y1);
        *point = Affine(G::from_coordinates(x, y));
    }
}

/// Rise and run of the line through the two points, or of the tangent if they are equal.
fn slope<G: Group>(point: &Affine<G>, other: &Affine<G>) -> (G::Coordinate, G::Coordinate) {
    let ((x1, y1), (x2, y2)) = (G::coordinates(&point.0), G::coordinates(&other.0));
    if x1 != x2 {
        return (y2.difference(y1), x2.difference(x1));
    }
    // A point of odd order is not its own opposite, so 2y is not zero.
    let square = x1.squared();
    (square.sum(&square).sum(&square), y1.sum(y1))
}

/// For each of `count` cells, the sum of its terms, which are given as `(cell, point)` in any order.
/// A cell without terms gives the identity. Terms of other cells are ignored. Not constant time.
#[must_use]
pub fn vartime_add_cells<G: Group>(count: usize, terms: &[(usize, Affine<G>)]) -> Vec<Affine<G>> {
    let mut sizes = vec![0_usize; count];
    for (cell, _) in terms {
        sizes.get_mut(*cell).into_iter().for_each(|size| *size += 1);
    }
    let mut points = sorted(terms, &sizes);
    while sizes.iter().any(|size| *size > 1) {
        let most = points.len() / 2 + count;
        let (mut left, mut right) = (Vec::with_capacity(most), Vec::with_capacity(most));
        let mut rest = points.iter().copied();
        for size in &mut sizes {
            for _ in 0..*size / 2 {
                left.extend(rest.next());
                right.extend(rest.next());
            }
            if *size % 2 == 1 {
                left.extend(rest.next());
                right.push(Affine::identity());
            }
            *size = size.div_ceil(2);
        }
        vartime_add_pairs(&mut left, &right);
        points = left;
    }
    let mut sums = points.into_iter();
    sizes
        .iter()
        .map(|size| sums.by_ref().take(*size).next().unwrap_or(Affine::identity()))
        .collect()
}

/// The points sorted by their cells, which have these sizes.
fn sorted<G: Group>(terms: &[(usize, Affine<G>)], sizes: &[usize]) -> Vec<Affine<G>> {
    let mut total = 0;
    let mut next: Vec<usize> = sizes
        .iter()
        .map(|size| {
            let start = total;
            total += size;
            start
        })
        .collect();
    let mut points = vec![Affine::identity(); total];
    for (cell, point) in terms {
        let Some(at) = next.get_mut(*cell) else { continue };
        points.get_mut(*at).into_iter().for_each(|place| *place = *point);
        *at += 1;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::G1;
    use crate::points::Projective;
    use crate::scalar::Scalar;

    /// `(0, 2)` on `y² = x³ + 4`, of order 3: some points are added before their order is known.
    fn of_order_three() -> Affine<G1> {
        let one = <G1 as Group>::Coordinate::UNIT;
        Affine(G1::from_coordinates(one.difference(&one), one.sum(&one)))
    }

    #[test]
    fn points_of_order_three_and_the_identity_add_up() {
        let three = of_order_three();
        let other = (Affine::<G1>::generator() * Scalar::from_u64(5)).to_affine();
        let points = [three, -three, other, -other, Affine::identity()];
        let all = || points.iter().flat_map(|a| points.iter().map(move |b| (*a, *b)));
        // Alone, and so many that they are done at once where that is possible.
        for repeated in [1, LEAST_WIDE] {
            let (mut sums, others): (Vec<_>, Vec<_>) =
                core::iter::repeat_with(all).take(repeated).flatten().unzip();
            vartime_add_pairs(&mut sums, &others);
            for (sum, (a, b)) in sums.into_iter().zip(core::iter::repeat_with(all).flatten()) {
                assert_eq!(Projective::from(sum), Projective::from(a) + b);
            }
        }
        let mut twice = vec![three; LEAST_WIDE];
        let others = twice.clone();
        vartime_add_pairs(&mut twice, &others);
        assert_eq!(twice, vec![-three; LEAST_WIDE]);
    }
}
