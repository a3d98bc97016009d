//! `𝔽p²` with spare bits, eight elements at a time, for long formulas.
//!
//! `field` keeps numbers below `2p`, because their raised factors already fill the eight limbs. Here
//! numbers are stored as `x·2⁴¹⁶`, so no factor has to be raised, and a number may grow to `2¹²·p`
//! before it is multiplied. So sums are carried but not reduced, and a difference adds `16p`.
//!
//! An element `a₀ + a₁u` is kept by its values at zero, infinity and one, `a₀`, `a₁`, `a₀ + a₁`, and
//! multiplied as Karatsuba does:
//!
//! ```text
//! l = a₀b₀    h = a₁b₁    s = (a₀ + a₁)(b₀ + b₁)      ab = (l − h) + (s − l − h)u
//! ```
//!
//! Whole sums of these products are added up before they are reduced ([`dot`]). A term costs three
//! times the rows of a product, and a sum costs two reductions.
//!
//! **Bounds.** The results of `dot`, `square` and `scale` are below `2.1p`, and the sum `a₀ + a₁` is
//! below `4.2p`. A subtrahend must be below `16p`, or exceed the minuend by less than that. A factor
//! must be below `2¹²·p`. Six terms are then below `6·2²⁴·p² < 2⁻⁸·p·2⁴¹⁶`, and so are the absolute
//! values of totals; adding `p` makes totals positive.
//!
//! No branch depends on a value.
use core::arch::x86_64::{
    _mm512_add_epi64, _mm512_setzero_si512, _mm512_slli_epi64, _mm512_sub_epi64,
};

use super::element::Element;
use super::field::{
    LIMBS, Lanes, Limbs, MODULUS, Total, add_rows, carried, constant, empty, multiplied,
    reduced_both,
};
use super::width::LANES;
use crate::field::{BaseField, Words};

/// `16p`
const SPARE: [u64; LIMBS] = {
    let [a, b, c, d, e, f, g, h] = MODULUS;
    [a << 4, b << 4, c << 4, d << 4, e << 4, f << 4, g << 4, h << 4]
};

/// Eight elements of `𝔽p`.
#[derive(Clone, Copy)]
pub(super) struct Base(Limbs);

/// Eight elements of `𝔽p²`.
#[derive(Clone, Copy)]
pub(super) struct Quadratic([Limbs; 3]);

impl Base {
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn load(lanes: [&Words; LANES]) -> Self {
        Self::from_lanes(&Lanes::load(lanes))
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    fn from_lanes(lanes: &Lanes) -> Self {
        Self(multiplied(&lanes.raised().0, &Lanes::power_of_two::<416>().0))
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn store(limbs: &Limbs) -> [Words; LANES] {
        Lanes(multiplied(limbs, &Lanes::power_of_two::<384>().0)).store()
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn sum(&self, other: &Self) -> Self {
        Self(added(&self.0, &other.0))
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn negative(&self) -> Self {
        Self(subtracted(&[_mm512_setzero_si512(); LIMBS], &self.0))
    }
}

impl Quadratic {
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn zero() -> Self {
        Self([[_mm512_setzero_si512(); LIMBS]; 3])
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn one() -> Self {
        Self::new(Lanes::power_of_two::<416>().0, [_mm512_setzero_si512(); LIMBS])
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn load<F: BaseField>(values: [&F; LANES]) -> Self {
        let values = Element::load(values);
        let [a, b] = values.parts();
        Self::new(Base::from_lanes(a).0, Base::from_lanes(b).0)
    }

    /// The eight elements as pairs of coefficients.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn store(&self) -> [[Words; 2]; LANES] {
        let Self([a, b, _]) = self;
        let mut lanes = [[Words::default(); 2]; LANES];
        for ((lane, a), b) in lanes.iter_mut().zip(Base::store(a)).zip(Base::store(b)) {
            *lane = [a, b];
        }
        lanes
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    fn new(a: Limbs, b: Limbs) -> Self {
        Self([a, b, added(&a, &b)])
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    fn reduced(a: Total, b: Total) -> Self {
        let [a, b] = reduced_both(a, b);
        Self::new(checked(a), checked(b))
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn sum(&self, other: &Self) -> Self {
        let mut sum = *self;
        for (part, other) in sum.0.iter_mut().zip(&other.0) {
            *part = added(part, other);
        }
        sum
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn difference(&self, other: &Self) -> Self {
        let mut difference = *self;
        for (part, other) in difference.0.iter_mut().zip(&other.0) {
            *part = subtracted(part, other);
        }
        difference
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn negative(&self) -> Self {
        Self::zero().difference(self)
    }

    /// `self + (2ᴬ + 2ᴮ)·other`
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn plus<const A: u32, const B: u32>(&self, other: &Self) -> Self {
        let mut sum = *self;
        for (part, other) in sum.0.iter_mut().zip(&other.0) {
            for (limb, other) in part.iter_mut().zip(other) {
                let (a, b) = (_mm512_slli_epi64::<A>(*other), _mm512_slli_epi64::<B>(*other));
                *limb = _mm512_add_epi64(*limb, _mm512_add_epi64(a, b));
            }
            *part = checked(carried(*part));
        }
        sum
    }

    /// `(2ᴬ + 2ᴮ)·self`
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn times<const A: u32, const B: u32>(&self) -> Self {
        Self::zero().plus::<A, B>(self)
    }

    /// The product with `ξ = 1 + u`: `(a₀ − a₁) + (a₀ + a₁)u`. Its two coefficients add up to `2a₀`.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn twisted(&self) -> Self {
        let Self([a, b, both]) = self;
        Self([subtracted(a, b), *both, added(a, a)])
    }

    /// The product with `−ξ`.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn minus_twisted(&self) -> Self {
        let (Self([a, b, both]), zero) = (self, [_mm512_setzero_si512(); LIMBS]);
        Self([subtracted(b, a), subtracted(&zero, both), subtracted(&zero, &added(a, a))])
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn product(&self, other: &Self) -> Self {
        dot(&[(self, other)])
    }

    /// `(a₀ + a₁)(a₀ − a₁) + 2a₀a₁u`
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline(never)]
    pub(super) fn square(&self) -> Self {
        let Self([a, b, both]) = self;
        let (mut real, mut imaginary) = (empty(), empty());
        add_rows(&mut real, both, &subtracted(a, b));
        add_rows(&mut imaginary, &added(a, a), b);
        Self::reduced(real, imaginary)
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline(never)]
    pub(super) fn scale(&self, by: &Base) -> Self {
        let Self([a, b, _]) = self;
        let (mut real, mut imaginary) = (empty(), empty());
        add_rows(&mut real, a, &by.0);
        add_rows(&mut imaginary, b, &by.0);
        Self::reduced(real, imaginary)
    }
}

/// `Σ aᵢbᵢ` of up to six terms.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline(never)]
pub(super) fn dot(terms: &[(&Quadratic, &Quadratic)]) -> Quadratic {
    let (mut low, mut high, mut both) = (empty(), empty(), empty());
    for (Quadratic([a, ..]), Quadratic([b, ..])) in terms {
        add_rows(&mut low, a, b);
    }
    for (Quadratic([_, a, _]), Quadratic([_, b, _])) in terms {
        add_rows(&mut high, a, b);
    }
    for (Quadratic([.., a]), Quadratic([.., b])) in terms {
        add_rows(&mut both, a, b);
    }
    for ((low, high), both) in low.iter_mut().zip(high).zip(&mut both) {
        *both = _mm512_sub_epi64(*both, _mm512_add_epi64(*low, high));
        *low = _mm512_sub_epi64(*low, high);
    }
    Quadratic::reduced(positive(low), positive(both))
}

/// Adds `p·2⁴¹⁶`, which makes the total positive.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn positive(mut total: Total) -> Total {
    let (_, upper) = total.split_at_mut(LIMBS);
    for (word, modulus) in upper.iter_mut().zip(constant(&MODULUS)) {
        *word = _mm512_add_epi64(*word, modulus);
    }
    total
}

#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn added(a: &Limbs, b: &Limbs) -> Limbs {
    let mut sum = *a;
    for (limb, other) in sum.iter_mut().zip(b) {
        *limb = _mm512_add_epi64(*limb, *other);
    }
    checked(carried(sum))
}

/// The difference plus `16p`.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn subtracted(a: &Limbs, b: &Limbs) -> Limbs {
    let mut difference = constant(&SPARE);
    for ((limb, own), other) in difference.iter_mut().zip(a).zip(b) {
        *limb = _mm512_add_epi64(*limb, _mm512_sub_epi64(*own, *other));
    }
    checked(carried(difference))
}

#[cfg(not(test))]
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn checked(limbs: Limbs) -> Limbs {
    limbs
}

/// Checks that the number is neither negative nor above `2¹³·p`.
#[cfg(test)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn checked(limbs: Limbs) -> Limbs {
    let ([.., highest], [.., most]) = (limbs, MODULUS);
    let most = core::arch::x86_64::_mm512_set1_epi64((most << 13).cast_signed());
    assert_eq!(core::arch::x86_64::_mm512_cmpge_epu64_mask(highest, most), 0);
    limbs
}
