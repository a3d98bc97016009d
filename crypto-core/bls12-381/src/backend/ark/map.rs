//! Maps field elements to points, after RFC 9380: arkworks' simplified SWU map to an isogenous curve,
//! then the isogeny to this curve with arkworks' coefficients.
//!
//! The isogeny is `(x, y) ↦ (n(x)/d(x), y·m(x)/e(x))` with polynomials `n, d, m, e`; if a denominator
//! is zero, the image is the identity.
use ark_ec::hashing::curve_maps::swu::SWUMap;
use ark_ec::hashing::curve_maps::wb::WBConfig;
use ark_ec::hashing::map_to_curve_hasher::MapToCurve;
use ark_ff::AdditiveGroup;

use super::field::Coordinate;
use super::formulas::{Affine, Curve};

type Isogenous<C> = <<C as Curve>::Config as WBConfig>::IsogenousCurve;

/// A point of the curve. It is almost never in the subgroup.
pub(super) fn map_to_curve<C: Curve>(element: C::Field) -> Affine<C> {
    let map = &<C::Config as WBConfig>::ISOGENY_MAP;
    // The signature of arkworks' function has an error, but its code never returns one.
    let Ok(point) = SWUMap::<Isogenous<C>>::map_to_curve(element) else {
        return Affine::<C>::identity();
    };
    let at_x = |coefficients: &[C::Field]| {
        coefficients.iter().rev().fold(C::Field::ZERO, |sum, next| sum * point.x + next)
    };
    let (below_x, below_y) = (at_x(map.x_map_denominator), at_x(map.y_map_denominator));
    // With an inverse of zero, both coordinates become zero: the identity.
    let inverse = (below_x * below_y).invert();
    let x = at_x(map.x_map_numerator) * below_y * inverse;
    let y = point.y * at_x(map.y_map_numerator) * below_x * inverse;
    Affine::<C>::new_unchecked(x, y)
}
