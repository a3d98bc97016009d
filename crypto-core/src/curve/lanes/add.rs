//! Additions of affine points, eight at a time: the equations are those of `batch`.
//!
//! Eight products of runs grow side by side, one in each lane; at their ends eight numbers are inverted
//! together.
use alloc::vec::Vec;

use super::super::batch::{BaseField, vartime_invert_all};
use super::super::{Affine, Group};
use super::LANES;
use super::element::{Element, Factor};

/// Coordinates of eight points.
struct Points<const N: usize> {
    x: Element<N>,
    y: Element<N>,
}

/// Eight pairs: `λ = rise/run`, and the product of the runs before them.
struct Pairs<const N: usize> {
    point: Points<N>,
    other_x: Element<N>,
    rise: Element<N>,
    run: Factor<N>,
    before: Element<N>,
}

/// `pointsᵢ ← pointsᵢ + othersᵢ` at `places`, where neither is the identity nor their sum. `N` is the
/// degree of the field of coordinates.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn pairs<G: Group, const N: usize>(
    points: &mut [Affine<G>],
    others: &[Affine<G>],
    places: &[usize],
) {
    let mut pairs = Vec::with_capacity(places.len().div_ceil(LANES));
    let mut before = Element::load([&G::Coordinate::UNIT; LANES]);
    for places in places.chunks(LANES) {
        let (point, other) = (gather(points, places), gather(others, places));
        let (rise, run) = slope(&point, &other);
        let run = run.factor();
        pairs.push(Pairs { point, other_x: other.x, rise, run, before });
        before = before.product(&run);
    }
    let mut inverse = inverted::<G, N>(&before);
    for (places, pairs) in places.chunks(LANES).zip(&pairs).rev() {
        let slope = inverse.product(&pairs.before.factor());
        let slope = pairs.rise.product(&slope.factor());
        inverse = inverse.product(&pairs.run);
        let Points { x, y } = &pairs.point;
        let sum_x = slope.square().difference(x).difference(&pairs.other_x);
        let sum_y = slope.product(&x.difference(&sum_x).factor()).difference(y);
        scatter(points, places, &Points { x: sum_x, y: sum_y });
    }
}

/// Rise and run: of the chord, or of the tangent where the points are equal.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn slope<const N: usize>(point: &Points<N>, other: &Points<N>) -> (Element<N>, Element<N>) {
    let (rise, run) = (other.y.difference(&point.y), other.x.difference(&point.x));
    let equal = run.zeros();
    if equal == 0 {
        return (rise, run);
    }
    let square = point.x.square();
    let tangent = square.sum(&square).sum(&square);
    (rise.select(&tangent, equal), run.select(&point.y.sum(&point.y), equal))
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn inverted<G: Group, const N: usize>(element: &Element<N>) -> Element<N> {
    let mut values: [G::Coordinate; LANES] = element.store();
    vartime_invert_all(&mut values);
    Element::load(values.each_ref())
}

/// The points at up to eight places; for those that are missing `(1, 1)`, whose tangent is not upright.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn gather<G: Group, const N: usize>(points: &[Affine<G>], places: &[usize]) -> Points<N> {
    let unit = G::Coordinate::UNIT;
    let mut xs = [&unit; LANES];
    let mut ys = xs;
    for (place, (x, y)) in places.iter().zip(xs.iter_mut().zip(&mut ys)) {
        if let Some(point) = points.get(*place) {
            (*x, *y) = G::coordinates(&point.0);
        }
    }
    Points { x: Element::load(xs), y: Element::load(ys) }
}

#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn scatter<G: Group, const N: usize>(points: &mut [Affine<G>], places: &[usize], sums: &Points<N>) {
    let coordinates = sums.x.store().into_iter().zip(sums.y.store());
    for (place, (x, y)) in places.iter().zip(coordinates) {
        if let Some(point) = points.get_mut(*place) {
            *point = Affine(G::from_coordinates(x, y));
        }
    }
}
