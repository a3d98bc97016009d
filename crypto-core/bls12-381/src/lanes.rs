//! Computes eight values at a time, on processors that can.
//!
//! Intel's and AMD's server processors have had instructions since 2019 and 2022 that multiply eight
//! numbers of 52 bits by eight others, twice in a cycle (AVX-512 IFMA). A field multiplication takes
//! 256 of these instructions for eight products, which is a fifth of the time of eight products in
//! blst. Work that is the same for many values runs here: additions of points in batches ([`add`]),
//! and with them sums of products and finite differences; products of points with secrets
//! ([`products`]); square roots and subgroup checks of points that are decoded ([`root`], [`order`]);
//! and products of pairings ([`miller`]).
//!
//! | file        | contents                                               |
//! |-------------|--------------------------------------------------------|
//! | `switch`    | whether they are used                                  |
//! | `width`     | how many are computed at once                          |
//! | `digits`    | turns secrets into digits                              |
//! | `field`     | `𝔽p`: eight elements in limbs of 52 bits               |
//! | `numbers`   | its constants                                          |
//! | `element`   | eight elements of `𝔽p` or of its quadratic extension   |
//! | `add`       | additions of affine points                             |
//! | `root`      | the points of compressed encodings                     |
//! | `order`     | whether points are in the subgroup                     |
//! | `products`  | products of points with secrets                        |
//! | `quadratic` | `𝔽p²` with room above, for long formulas               |
//! | `tower`     | `𝔽p¹²`: squares, products with lines                   |
//! | `miller`    | Miller loops                                           |
//!
//! Results are bit for bit the same (those of pairings, after the final exponentiation). Other
//! processors compute the values one by one, which is slower. The program queries at run time whether
//! the processor has the instructions ([`Wide::detect`]) and whether lanes are switched on
//! (`switch`). Without the feature `lanes` none of this is compiled. Arithmetic and `products` are
//! constant time; everything else is for public values only.
#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
mod add;
#[cfg(test)]
mod agreement;
mod digits;
#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
mod element;
#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
mod field;
#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
mod miller;
#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
mod numbers;
#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
mod order;
#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
mod products;
#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
mod quadratic;
#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
mod root;
pub(crate) mod switch;
#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
mod tower;
mod width;

use alloc::vec::Vec;

pub(crate) use self::digits::{Digits, digits};
pub(crate) use self::width::LANES;
#[cfg(all(test, feature = "lanes", target_arch = "x86_64"))]
use crate::field::BaseField;
use crate::field::Twelve;
use crate::group::Group;
use crate::points::Affine;

/// Proof that this processor has the instructions, and that they are not switched off.
#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wide(());

#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
impl Wide {
    /// `None` if the processor lacks the instructions or the lanes are switched off.
    #[inline]
    pub(crate) fn detect() -> Option<Self> {
        switch::available().then_some(Self(()))
    }

    /// Decodes up to eight encodings that follow each other. The points are on the curve but may have
    /// any order. `None` for an encoding without a point, and for the identity.
    #[expect(unsafe_code, reason = "as for `add_pairs`")]
    pub(crate) fn decompress<G: Group>(self, bytes: &[u8]) -> [Option<Affine<G>>; LANES] {
        // SAFETY: as for `add_pairs`.
        unsafe {
            match G::DIGITS {
                2 => root::decompressed::<G, 1>(bytes),
                _ => root::decompressed::<G, 2>(bytes),
            }
        }
    }

    /// For up to eight points of the curve: a bit that is set for each point in the subgroup.
    #[expect(unsafe_code, reason = "as for `add_pairs`")]
    pub(crate) fn inside<G: Group>(self, points: &[Affine<G>]) -> u8 {
        // SAFETY: as for `add_pairs`.
        unsafe {
            match G::DIGITS {
                2 => order::inside::<G, 1>(points),
                _ => order::inside::<G, 2>(points),
            }
        }
    }

    /// `pointsᵢ ← pointsᵢ + othersᵢ` at `places`. Neither point nor their sum may be the identity
    /// there.
    #[expect(unsafe_code, reason = "for the processor of the build it might not exist")]
    pub(crate) fn add_pairs<G: Group>(
        self,
        points: &mut [Affine<G>],
        others: &[Affine<G>],
        places: &[usize],
    ) {
        // SAFETY: these need instructions that the processor has: `self` proves it.
        unsafe {
            match G::DIGITS {
                2 => add::pairs::<G, 1>(points, others, places),
                _ => add::pairs::<G, 2>(points, others, places),
            }
        }
    }

    /// Products of one point with secrets: see `products::fixed`.
    #[expect(unsafe_code, reason = "as for `add_pairs`")]
    pub(crate) fn multiply_fixed<G: Group, const WIDTH: usize>(
        self,
        table: &[Affine<G>],
        start: &Affine<G>,
        digits: &Digits<WIDTH>,
    ) -> Vec<Affine<G>> {
        // SAFETY: as for `add_pairs`.
        unsafe {
            match G::DIGITS {
                2 => products::fixed::<G, 1, WIDTH>(table, start, digits),
                _ => products::fixed::<G, 2, WIDTH>(table, start, digits),
            }
        }
    }

    /// Products of points, each with its own secret: see `products::each`.
    #[expect(unsafe_code, reason = "as for `add_pairs`")]
    pub(crate) fn multiply_each<G: Group, const WIDTH: usize>(
        self,
        points: &[Affine<G>],
        digits: &Digits<WIDTH>,
    ) -> Vec<Affine<G>> {
        // SAFETY: as for `add_pairs`.
        unsafe {
            match G::DIGITS {
                2 => products::each::<G, 1, WIDTH>(points, digits),
                _ => products::each::<G, 2, WIDTH>(points, digits),
            }
        }
    }

    /// Miller loops whose product is that of these terms, up to factors that the final exponentiation
    /// removes. No point may be the identity.
    #[expect(unsafe_code, reason = "for the processor of the build it might not exist")]
    pub(crate) fn miller_loops<A: Group, B: Group>(
        self,
        terms: &[(A::RawAffine, B::RawAffine)],
    ) -> [Twelve; LANES] {
        // SAFETY: as for `add_pairs`.
        unsafe { miller::loops::<A, B>(terms) }
    }

    /// `f²·(a + b·w² + c·w³)`, used to test the tower.
    #[cfg(test)]
    #[expect(unsafe_code, reason = "for the processor of the build it might not exist")]
    pub(crate) fn square_times_line<F: BaseField>(
        self,
        elements: &[[F; 6]; LANES],
        lines: &[[F; 3]; LANES],
    ) -> [Twelve; LANES] {
        // SAFETY: as for `add_pairs`.
        unsafe { tower::square_times_line(elements, lines) }
    }
}

/// On this kind of processor the instructions do not exist, so there is no value of this type.
#[cfg(not(all(feature = "lanes", target_arch = "x86_64")))]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wide {}

#[cfg(not(all(feature = "lanes", target_arch = "x86_64")))]
impl Wide {
    #[inline]
    pub(crate) fn detect() -> Option<Self> {
        None
    }

    pub(crate) fn decompress<G: Group>(self, _: &[u8]) -> [Option<Affine<G>>; LANES] {
        match self {}
    }

    pub(crate) fn inside<G: Group>(self, _: &[Affine<G>]) -> u8 {
        match self {}
    }

    pub(crate) fn add_pairs<G: Group>(self, _: &mut [Affine<G>], _: &[Affine<G>], _: &[usize]) {
        match self {}
    }

    pub(crate) fn multiply_fixed<G: Group, const WIDTH: usize>(
        self,
        _: &[Affine<G>],
        _: &Affine<G>,
        _: &Digits<WIDTH>,
    ) -> Vec<Affine<G>> {
        match self {}
    }

    pub(crate) fn multiply_each<G: Group, const WIDTH: usize>(
        self,
        _: &[Affine<G>],
        _: &Digits<WIDTH>,
    ) -> Vec<Affine<G>> {
        match self {}
    }

    pub(crate) fn miller_loops<A: Group, B: Group>(
        self,
        _: &[(A::RawAffine, B::RawAffine)],
    ) -> [Twelve; LANES] {
        match self {}
    }
}

#[cfg(test)]
#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::element::Element;
    use super::*;
    use crate::backend::{G1, G2};
    use crate::points::Projective;
    use crate::scalar::Scalar;

    fn points<G: Group>(count: usize) -> Vec<Affine<G>> {
        let mut rng = ChaCha20Rng::seed_from_u64(43);
        let points = (0..count).map(|_| Affine::generator() * Scalar::random(&mut rng));
        Projective::batch_to_affine(&points.collect::<Vec<_>>())
    }

    /// Zero, one, their neighbours, and numbers in between.
    fn values<G: Group>() -> Vec<G::Coordinate> {
        let one = G::Coordinate::UNIT;
        let zero = one.difference(&one);
        let mut values = alloc::vec![zero, one, zero.difference(&one), one.sum(&one)];
        for point in points::<G>(10) {
            let (x, y) = G::coordinates(&point.0);
            values.extend([*x, *y, zero.difference(x), x.sum(&one)]);
        }
        // Words that are full, and one that has changed.
        let mut greatest = zero.difference(&one);
        let [low, rest @ ..] = *greatest.words(0);
        for words in [rest_with(low, rest), [u64::MAX, u64::MAX, u64::MAX, u64::MAX, u64::MAX, 1]] {
            greatest.set_words(0, words);
            values.push(greatest);
        }
        values
    }

    const fn rest_with(low: u64, [b, c, d, e, f]: [u64; 5]) -> [u64; 6] {
        [low ^ 1, b, c, d, e, f]
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn operations_agree<G: Group, const N: usize>() {
        let values = values::<G>();
        let of = |start: usize| -> [G::Coordinate; LANES] {
            core::array::from_fn(|lane| values[(start + lane) % values.len()])
        };
        for (start, by) in
            (0..values.len()).flat_map(|at| (0..values.len()).map(move |by| (at, by)))
        {
            let (a, b) = (of(start), of(start * by + by));
            let [x, y] = [&a, &b].map(|lanes| Element::<N>::load(lanes.each_ref()));
            let [sum, difference] = [x.sum(&y), x.difference(&y)];
            // Not below the modulus, most of them.
            let wide = sum.sum(&x.product(&y.factor()));
            let results: [[G::Coordinate; LANES]; 6] = [
                sum.store(),
                difference.store(),
                x.product(&y.factor()).store(),
                x.square().store(),
                wide.product(&wide.factor()).store(),
                x.select(&y, 0b0110_1001).store(),
            ];
            let [zeros, of_sum] = [difference.zeros(), sum.zeros()];
            for lane in 0..LANES {
                let (a, b) = (&a[lane], &b[lane]);
                let wide = a.sum(b).sum(&a.product(b));
                let selected = if 0b0110_1001_u8 >> lane & 1 == 1 { b } else { a };
                let expected = [
                    a.sum(b),
                    a.difference(b),
                    a.product(b),
                    a.squared(),
                    wide.squared(),
                    *selected,
                ];
                for (place, expected) in expected.into_iter().enumerate() {
                    assert!(results[place][lane] == expected, "{place} of {start}, {by}, {lane}");
                }
                assert_eq!(zeros >> lane & 1 == 1, a == b, "{start}, {by}, {lane}");
                let is_zero = a.sum(b) == values[0];
                assert_eq!(of_sum >> lane & 1 == 1, is_zero, "{start}, {by}, {lane}");
            }
        }
    }

    #[test]
    #[expect(unsafe_code, reason = "as where it is used")]
    fn operations_are_those_of_the_backend() {
        // Where there are no such instructions, nothing of this runs.
        if Wide::detect().is_some() {
            // SAFETY: the processor has the instructions.
            unsafe { operations_agree::<G1, 1>() };
            // SAFETY: the processor has the instructions.
            unsafe { operations_agree::<G2, 2>() };
        }
    }

    fn sums_agree<G: Group>(wide: Wide) {
        let points = points::<G>(60);
        for count in (1..=17).chain([40]) {
            let mut sums = points[..count].to_vec();
            let mut others = points[points.len() - count..].to_vec();
            // Tangents in some lanes, alone in the last.
            (0..count).step_by(3).chain([count - 1]).for_each(|at| others[at] = sums[at]);
            let places: Vec<usize> = (0..count).filter(|at| at % 5 != 4).collect();
            wide.add_pairs(&mut sums, &others, &places);
            for (at, sum) in sums.into_iter().enumerate() {
                let expected = Projective::from(points[at]) + others[at];
                let expected = if at % 5 == 4 { points[at] } else { expected.to_affine() };
                assert_eq!(sum, expected, "{at} of {count}");
            }
        }
    }

    #[test]
    fn points_are_added_at_their_places_and_nowhere_else() {
        if let Some(wide) = Wide::detect() {
            sums_agree::<G1>(wide);
            sums_agree::<G2>(wide);
        }
    }
}
