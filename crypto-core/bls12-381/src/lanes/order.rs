//! Checks whether points are in the subgroup of order `r`, eight at a time. It is the check of the
//! backends, in lanes.
//!
//! An endomorphism of the curve, which takes a product or two, multiplies points of the subgroup, and
//! no others, by a power of `z`: by `z²` in 𝔾₁ and by `z` in 𝔾₂ (Scott, [eprint
//! 2021/1130](https://eprint.iacr.org/2021/1130), sections 4 and 6). So the multiplication by `z` is
//! done twice in 𝔾₁ and once in 𝔾₂. It takes 63 doublings and five additions in Jacobian coordinates.
//! The second coordinate is stored doubled, because no formula needs it alone:
//!
//! ```text
//! (X : W : Z)          x = X/Z²                y = W/(2Z³)
//! 2(X : W : Z):        E = 3X²                 S = X·W²
//!   X₃ = E² − 2S       W₃ = 2E(S − X₃) − W⁴    Z₃ = W·Z
//! sum of two:          H = X₂Z₁² − X₁Z₂²       R = W₂Z₁³ − W₁Z₂³
//!                      J = 4H³                 V = 4H²X₁Z₂²
//!   X₃ = R² − J − 2V   W₃ = 2(R(V − X₃) − W₁Z₂³·J)     Z₃ = 2Z₁Z₂H
//! ```
//!
//! **The formulas do not hold for all points, but the check is still right.** If the two points are
//! equal or opposite, or one is the identity, then `Z₃ = 0`, and once `Z` is zero it stays zero. In
//! the subgroup this happens only to the identity, because all multiples here are smaller than `z²`,
//! which is far below `r`. So `Z = 0` means that the point is outside.
//!
//! A doubling takes seven products and an addition 16. So a check in 𝔾₁ takes 1042 products of eight
//! each. In 𝔾₂ it takes half as many over the extension, where one product costs about 2.5 times as
//! much.
use super::add;
use super::element::Element;
use super::width::LANES;
use crate::field::BaseField;
use crate::group::Group;
use crate::group::Z;
use crate::points::Affine;

/// Eight points.
#[derive(Clone, Copy)]
struct Points<const N: usize> {
    x: Element<N>,
    w: Element<N>,
    z: Element<N>,
}

/// For up to eight points of the curve: a bit that is set for each point in the subgroup. `N` is the
/// degree of the coordinate field.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn inside<G: Group, const N: usize>(points: &[Affine<G>]) -> u8 {
    let mut given = [Affine::<G>::generator(); LANES];
    let mut images = given;
    let mut identities = 0;
    for (lane, (point, (given, image))) in
        points.iter().zip(given.iter_mut().zip(&mut images)).enumerate()
    {
        (*given, *image) = (*point, Affine(G::endomorphism(&point.0)));
        identities |= u8::from(point.is_identity()) << lane;
    }
    let mut multiple = Points::<N>::load(&given).times_z();
    if N == 1 {
        multiple = multiple.times_z();
    }
    let image = Points::<N>::load(&images);
    identities | !multiple.z.zeros() & multiple.equals(&image)
}

impl<const N: usize> Points<N> {
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    fn load<G: Group>(points: &[Affine<G>; LANES]) -> Self {
        let add::Points { x, y } = add::Points::load(points.each_ref());
        Self { x, w: y.sum(&y), z: Element::load([&G::Coordinate::UNIT; LANES]) }
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn times_z(&self) -> Self {
        let mut product = *self;
        for bit in (0..u64::BITS - 1).rev() {
            product = product.twice();
            if Z >> bit & 1 == 1 {
                product = product.sum(self);
            }
        }
        product
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn twice(&self) -> Self {
        let square = self.w.square();
        let s = self.x.product(&square.factor());
        let third = self.x.square();
        let e = third.sum(&third).sum(&third);
        let x = e.square().difference(&s).difference(&s);
        let half = e.product(&s.difference(&x).factor());
        let w = half.sum(&half).difference(&square.square());
        Self { x, w, z: self.w.product(&self.z.factor()) }
    }

    /// The sum. The points must not be equal or opposite, and neither may be the identity.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn sum(&self, other: &Self) -> Self {
        let (z1, z2) = (self.z.factor(), other.z.factor());
        let (z1_squared, z2_squared) = (self.z.square().factor(), other.z.square().factor());
        let (x1, x2) = (self.x.product(&z2_squared), other.x.product(&z1_squared));
        let w1 = self.w.product(&z2_squared).product(&z2);
        let w2 = other.w.product(&z1_squared).product(&z1);
        let (h, r) = (x2.difference(&x1), w2.difference(&w1));
        let twice_h = h.sum(&h);
        let i = twice_h.square().factor();
        let (j, v) = (h.product(&i), x1.product(&i));
        let x = r.square().difference(&j).difference(&v).difference(&v);
        let half = r.product(&v.difference(&x).factor()).difference(&w1.product(&j.factor()));
        let z = self.z.product(&z2).product(&twice_h.factor());
        Self { x, w: half.sum(&half), z }
    }

    /// A bit that is set for each lane where the points are equal. The others must have `Z = 1`.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn equals(&self, others: &Self) -> u8 {
        let square = self.z.square().factor();
        let cube = self.z.product(&square).factor();
        let (x, w) = (others.x.product(&square), others.w.product(&cube));
        self.x.difference(&x).zeros() & self.w.difference(&w).zeros()
    }
}
