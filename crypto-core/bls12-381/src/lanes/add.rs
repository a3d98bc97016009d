//! Additions of affine points, eight at a time: the equations are those of `batch`.
//!
//! Eight running products of the runs are built, one in each lane; at the end these eight numbers are
//! inverted together. [`pairs`] is for public points. The parts that `products` uses for secret
//! points do not branch on any point.
use alloc::vec::Vec;

use zeroize::Zeroize;

use super::element::{Element, Factor};
use super::width::LANES;
use crate::field::BaseField;
use crate::group::Group;
use crate::points::Affine;

/// Coordinates of eight points.
#[derive(Clone, Copy)]
pub(super) struct Points<const N: usize> {
    pub(super) x: Element<N>,
    pub(super) y: Element<N>,
}

/// Rise and run: of a chord, or of a tangent.
pub(super) struct Slope<const N: usize> {
    pub(super) rise: Element<N>,
    pub(super) run: Element<N>,
}

/// Eight pairs to be added: `λ = rise/run`, and the product of the runs before them.
pub(super) struct Pairs<const N: usize> {
    pub(super) point: Points<N>,
    pub(super) other_x: Element<N>,
    pub(super) rise: Element<N>,
    pub(super) run: Factor<N>,
    pub(super) before: Element<N>,
}

/// `pointsᵢ ← pointsᵢ + othersᵢ` at `places`. Neither point nor their sum may be the identity there.
/// `N` is the degree of the coordinate field.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn pairs<G: Group, const N: usize>(
    points: &mut [Affine<G>],
    others: &[Affine<G>],
    places: &[usize],
) {
    let mut pairs = Vec::with_capacity(places.len().div_ceil(LANES));
    let mut runs = Element::load([&G::Coordinate::UNIT; LANES]);
    for places in places.chunks(LANES) {
        let (point, other) = (gather(points, places), gather(others, places));
        let Slope { rise, run } = chord_or_tangent(&point, &other);
        let run = run.factor();
        pairs.push(Pairs { point, other_x: other.x, rise, run, before: runs });
        runs = runs.product(&run);
    }
    let mut inverse = inverted::<G, N>(&runs);
    for (places, pairs) in places.chunks(LANES).zip(&pairs).rev() {
        scatter(points, places, &pairs.sums(&mut inverse));
    }
}

impl<const N: usize> Points<N> {
    /// Coordinates that are all zero, which are not those of a point.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn zero() -> Self {
        Self { x: Element::zero(), y: Element::zero() }
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn load<G: Group>(points: [&Affine<G>; LANES]) -> Self {
        let [a, b, c, d, e, f, g, h] = points.map(|point| G::coordinates(&point.0));
        Self {
            x: Element::load([a.0, b.0, c.0, d.0, e.0, f.0, g.0, h.0]),
            y: Element::load([a.1, b.1, c.1, d.1, e.1, f.1, g.1, h.1]),
        }
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn store<G: Group>(&self) -> [Affine<G>; LANES] {
        let (xs, ys) = (self.x.store(), self.y.store());
        let mut points = [Affine::identity(); LANES];
        for (point, (x, y)) in points.iter_mut().zip(xs.into_iter().zip(ys)) {
            *point = Affine(G::from_coordinates(x, y));
        }
        points
    }

    /// Takes the lanes from `other` whose bit is set.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn select(&self, other: &Self, lanes: u8) -> Self {
        Self { x: self.x.select(&other.x, lanes), y: self.y.select(&other.y, lanes) }
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn chord(&self, other: &Self) -> Slope<N> {
        Slope { rise: other.y.difference(&self.y), run: other.x.difference(&self.x) }
    }

    /// A point of odd order is not its own opposite, so the run is not zero.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn tangent(&self) -> Slope<N> {
        let square = self.x.square();
        Slope { rise: square.sum(&square).sum(&square), run: self.y.sum(&self.y) }
    }
}

impl<const N: usize> Slope<N> {
    /// Takes the lanes from `other` whose bit is set.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn select(&self, other: &Self, lanes: u8) -> Self {
        Self { rise: self.rise.select(&other.rise, lanes), run: self.run.select(&other.run, lanes) }
    }
}

impl<const N: usize> Pairs<N> {
    /// The sums of the pairs. On entry, `inverse` is the inverse of the product of all runs up to
    /// these; on return, of all runs before these.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn sums(&self, inverse: &mut Element<N>) -> Points<N> {
        let slope = inverse.product(&self.before.factor());
        let slope = self.rise.product(&slope.factor());
        *inverse = inverse.product(&self.run);
        let Points { x, y } = &self.point;
        let sum_x = slope.square().difference(x).difference(&self.other_x);
        let sum_y = slope.product(&x.difference(&sum_x).factor()).difference(y);
        Points { x: sum_x, y: sum_y }
    }
}

impl<const N: usize> Zeroize for Points<N> {
    fn zeroize(&mut self) {
        let Self { x, y } = self;
        [x, y].into_iter().for_each(Zeroize::zeroize);
    }
}

impl<const N: usize> Zeroize for Pairs<N> {
    fn zeroize(&mut self) {
        let Self { point, other_x, rise, run, before } = self;
        point.zeroize();
        [other_x, rise, before].into_iter().for_each(Zeroize::zeroize);
        run.zeroize();
    }
}

/// The chord, or the tangent where the points are equal.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn chord_or_tangent<const N: usize>(point: &Points<N>, other: &Points<N>) -> Slope<N> {
    let chord = point.chord(other);
    let equal = chord.run.zeros();
    if equal == 0 {
        return chord;
    }
    chord.select(&point.tangent(), equal)
}

/// The inverse of each lane, with a single inversion, in constant time. No lane may be zero.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn inverted<G: Group, const N: usize>(element: &Element<N>) -> Element<N> {
    let values: [G::Coordinate; LANES] = element.store();
    let mut product = G::Coordinate::UNIT;
    let mut inverses = values.map(|value| {
        let before = product;
        product = before.product(&value);
        before
    });
    let mut inverse = product.inverse();
    for (before, value) in inverses.iter_mut().zip(&values).rev() {
        *before = inverse.product(before);
        inverse = inverse.product(value);
    }
    Element::load(inverses.each_ref())
}

/// The points at up to eight places. Missing places are filled with the first point.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn gather<G: Group, const N: usize>(points: &[Affine<G>], places: &[usize]) -> Points<N> {
    let unit = G::Coordinate::UNIT;
    let mut xs = [&unit; LANES];
    let mut ys = xs;
    let first = places.first().copied().unwrap_or(0);
    for (lane, (x, y)) in xs.iter_mut().zip(&mut ys).enumerate() {
        let place = places.get(lane).copied().unwrap_or(first);
        if let Some(point) = points.get(place) {
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
