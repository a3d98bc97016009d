//! Miller loops, eight pairs at a time.
//!
//! A point `(x, y)` of the twist `y² = x³ + 4ξ` stands for `(x/w², y/w³)` on the curve. At
//! `P = (xP, yP)` the line through `T = (x, y)` with slope `λ` is given below, times `w³`. The final
//! exponentiation removes `w³`, as it removes every factor that lies in a smaller field.
//!
//! ```text
//! (λx − y) − λ·xP·w² + yP·w³
//! ```
//!
//! Projectively, `x = X/Z` and `y = Y/Z`, and again up to such factors, the tangent and the double are
//! (Costello, Lange and Naehrig, [eprint 2009/615], as in [eprint 2010/526], times four)
//!
//! ```text
//! E = 12ξZ²    (Y² − E) − 3X²·xP·w² + 2YZ·yP·w³
//! X′ = 2XY·(Y² − 3E)    Y′ = (Y² + 3E)² − 12E²    Z′ = 8Y²·YZ
//! ```
//!
//! and the line through `T` and `Q = (xQ, yQ)` and the sum
//!
//! ```text
//! θ = Y − yQ·Z    μ = X − xQ·Z    (θ·xQ − μ·yQ) − θ·xP·w² + μ·yP·w³
//! X′ = μ·(μ³ + θ²Z − 2μ²X)    Y′ = θ·(3μ²X − μ³ − θ²Z) − μ³·Y    Z′ = μ³·Z
//! ```
//!
//! **Why not affine.** The last term of an affine tangent is just `w³`, which saves one product of
//! `𝔽p²` for each coefficient of `f`; but its slope needs an inverse. Counted in rows of products
//! (`field`), one bit of eight pairs costs 137 rows in this way and 113 with affine formulas, which
//! saves about 0.5 µs; one inversion for all pairs takes 3 µs. With a hundred pairs a tenth would be
//! saved, below fifty nothing, and less on many threads. The price would be branches on values. The
//! code here has no branch that depends on a value.
//!
//! Each lane has a separate `f`, which is squared once for all pairs of the lane. Missing pairs are
//! filled with the generator at `(0, 0)`: the remaining terms of their lines lie in `𝔽p²`.
//!
//! [eprint 2009/615]: https://eprint.iacr.org/2009/615
//! [eprint 2010/526]: https://eprint.iacr.org/2010/526
use alloc::vec::Vec;

use super::quadratic::{Base, Quadratic, dot};
use super::tower::{Accumulator, Line};
use super::width::LANES;
use crate::field::BaseField;
use crate::field::Twelve;
use crate::group::Group;
use crate::group::Z;

/// Eight points `T` of the twist.
struct Point {
    x: Quadratic,
    y: Quadratic,
    z: Quadratic,
}

/// Eight pairs `P`, `Q`, and the current multiple of `Q`.
struct Pairs {
    point: Point,
    x: Quadratic,
    minus_y: Quadratic,
    /// `−xP`, `−3xP`
    at_x: [Base; 2],
    /// `yP`, `2yP`
    at_y: [Base; 2],
}

/// Miller loops whose product is that of these terms, up to factors that the final exponentiation
/// removes. No point may be the identity.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn loops<A: Group, B: Group>(terms: &[(A::RawAffine, B::RawAffine)]) -> [Twelve; LANES] {
    let mut groups = Vec::with_capacity(terms.len().div_ceil(LANES));
    for terms in terms.chunks(LANES) {
        groups.push(Pairs::load::<A, B>(terms));
    }
    let mut product = Accumulator::one();
    for place in (0..Z.ilog2()).rev() {
        product = product.square();
        for pairs in &mut groups {
            product = product.times(&pairs.double());
            if Z >> place & 1 == 1 {
                product = product.times(&pairs.add());
            }
        }
    }
    // The curve's parameters are polynomials in −Z, so the result is conjugated.
    product.conjugate().store()
}

impl Pairs {
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn load<A: Group, B: Group>(terms: &[(A::RawAffine, B::RawAffine)]) -> Self {
        let unit = A::Coordinate::UNIT;
        let (zero, generator) = (unit.difference(&unit), B::generator());
        let (mut px, mut py) = ([zero.words(0); LANES], [zero.words(0); LANES]);
        let (x, y) = B::coordinates(&generator);
        let (mut qx, mut qy) = ([x; LANES], [y; LANES]);
        for (lane, (p, q)) in terms.iter().enumerate() {
            let ((xp, yp), (xq, yq)) = (A::coordinates(p), B::coordinates(q));
            px.get_mut(lane).into_iter().for_each(|px| *px = xp.words(0));
            py.get_mut(lane).into_iter().for_each(|py| *py = yp.words(0));
            qx.get_mut(lane).into_iter().for_each(|qx| *qx = xq);
            qy.get_mut(lane).into_iter().for_each(|qy| *qy = yq);
        }
        let (minus_x, at_y) = (Base::load(px).negative(), Base::load(py));
        let (x, y) = (Quadratic::load(qx), Quadratic::load(qy));
        Self {
            point: Point { x, y, z: Quadratic::one() },
            x,
            minus_y: y.negative(),
            at_x: [minus_x, minus_x.sum(&minus_x).sum(&minus_x)],
            at_y: [at_y, at_y.sum(&at_y)],
        }
    }

    /// The tangent at the point. The point becomes its double.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline(never)]
    fn double(&mut self) -> Line {
        let Self { point: Point { x, y, z }, at_x: [_, at_x], at_y: [_, at_y], .. } = self;
        let (xx, yy, zz) = (x.square(), y.square(), z.square());
        let (xy, yz) = (x.product(y), y.product(z));
        // Differences of large numbers would need more room, so multiples of `−ξZ²` are added instead
        // of subtracting.
        let (plus, minus) = (zz.twisted(), zz.minus_twisted());
        let line = Line { a: yy.plus::<3, 2>(&minus), b: xx.scale(at_x), c: yz.scale(at_y) };
        let rise = yy.plus::<5, 2>(&plus);
        self.point = Point {
            x: xy.sum(&xy).product(&yy.plus::<5, 2>(&minus)),
            y: dot(&[(&rise, &rise), (&minus.times::<7, 4>(), &plus.times::<3, 2>())]),
            z: yy.times::<2, 2>().product(&yz),
        };
        line
    }

    /// The line through the point and `Q`. The point becomes their sum.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline(never)]
    fn add(&mut self) -> Line {
        let Self { point: Point { x, y, z }, at_x: [at_x, _], at_y: [at_y, _], .. } = self;
        let theta = y.sum(&self.minus_y.product(z));
        let mu = x.difference(&self.x.product(z));
        let line = Line {
            a: dot(&[(&theta, &self.x), (&mu, &self.minus_y)]),
            b: theta.scale(at_x),
            c: mu.scale(at_y),
        };
        let square = mu.square();
        let (cube, along) = (square.product(&mu), square.product(x));
        let both = theta.square().product(z).sum(&cube);
        let (run, rise) =
            (both.difference(&along).difference(&along), along.times::<1, 0>().difference(&both));
        self.point = Point {
            x: mu.product(&run),
            y: dot(&[(&theta, &rise), (&cube.negative(), y)]),
            z: cube.product(z),
        };
        line
    }
}
