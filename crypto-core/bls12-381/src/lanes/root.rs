//! Decodes compressed points, eight at a time. Each needs a square root, which is computed as a
//! power.
//!
//! With `p ≡ 3 mod 4` the power `w = a^((p−3)/4)` is almost the root: `r = a·w` has `r² = a·χ(a)`, where
//! `χ(a) = ±1` says whether `a` is a square, and `1/r = χ(a)·w`.
//!
//! ```text
//! 𝔾₁:  y = r                                          with a = x³ + 4
//! 𝔾₂:  n = a² + b²,  s = √n,  t = (a + s)/2           with a + bu = x³ + 4(1 + u)
//!      y = r + (b·w/2)·u     if χ(t) = 1              r = √(χ(t)·t),  w = t^((p−3)/4)
//!      y = (b·w/2) − r·u     otherwise
//! ```
//!
//! The reason: `(c + du)² = a + bu` means `c² − d² = a` and `2cd = b`, so `c² + d² = ±s`. Then `c²`
//! is `t` or `t − s = −(b/2)²/t`, whichever is a square; in the second case `d² = −t`. The other one
//! of `c` and `d` is `b/2` divided by the first, so no inversion is left. If `t = 0`, then `b = 0`,
//! and the same holds with `a` in place of `t`. These tricks are from Scott, [eprint
//! 2020/1497](https://eprint.iacr.org/2020/1497).
//!
//! | products in 𝔽p, of eight each | power                             | the rest | all |
//! |-------------------------------|-----------------------------------|----------|-----|
//! | 𝔾₁                             | 376 squarings + 85                | 6        | 467 |
//! | 𝔾₂                             | twice as many                     | 19       | 941 |
//!
//! The power reads its exponent in windows of four bits that begin and end with a one, which takes 78
//! products, and 7 for the table of odd powers.
//!
//! **A returned point is right, however it was computed:** `x` was read as a number below `p`, `y²`
//! is compared with `x³ + b`, and the flag decides between `y` and `−y`. In all other cases the
//! result is `None`, and the caller asks the backend for the error. So only the backend contains the
//! error logic.
use super::element::Element;
use super::field::{Lanes, Raised};
use super::numbers::{P, halved};
use super::width::LANES;
use crate::field::Words;
use crate::group::Group;
use crate::points::Affine;

/// Length of a number in bytes.
const BYTES: usize = 48;
const FLAG_BITS: u32 = 3;
/// The flags of a point that is not the identity: compressed, and whether `y` is the greater.
const SMALLER: u64 = 0b100;
const GREATER: u64 = 0b101;

/// `(p − 3)/4`: `p` halved twice, rounded down, since `p ≡ 3 mod 4`.
const EXPONENT: Words = halved(halved(P));
const EXPONENT_BITS: usize = 379;
/// Number of bits of a window.
const WINDOW: usize = 4;

/// Eight encodings that were read. Those that could not be read are zeros.
struct Encodings<const N: usize> {
    x: [[Words; LANES]; N],
    /// A bit that is set for each encoding that was read.
    read: u8,
    /// A bit that is set for each encoding whose `y` is the greater one.
    greater: u8,
}

/// Decodes up to eight encodings that follow each other. The points are on the curve but may have any
/// order. `None` for an encoding without a point, and for the identity. `N` is the degree of the
/// coordinate field.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn decompressed<G: Group, const N: usize>(bytes: &[u8]) -> [Option<Affine<G>>; LANES] {
    let Encodings { x, read, greater } = Encodings::<N>::read(bytes);
    let mut parts = [Lanes::zero(); N];
    for (part, numbers) in parts.iter_mut().zip(&x) {
        // From x to x·2³⁸⁴.
        *part = Lanes::load(numbers.each_ref()).product(&Raised::power_of_two::<800>());
    }
    let x = Element::of(parts);
    let four = Element::of([Lanes::power_of_two::<386>(); N]);
    let square = x.square().product(&x.factor()).sum(&four);
    let y = root(&square);
    let right = read & y.square().difference(&square).zeros();
    let negative = Element::of([Lanes::zero(); N]).difference(&y);
    let y = y.select(&negative, greater ^ greater_halves(&y));
    let (xs, ys): ([G::Coordinate; LANES], [G::Coordinate; LANES]) = (x.store(), y.store());
    let mut points = [None; LANES];
    for (lane, (point, (x, y))) in points.iter_mut().zip(xs.into_iter().zip(ys)).enumerate() {
        if right >> lane & 1 == 1 {
            *point = Some(Affine(G::from_coordinates(x, y)));
        }
    }
    points
}

impl<const N: usize> Encodings<N> {
    fn read(bytes: &[u8]) -> Self {
        let mut all = Self { x: [[Words::default(); LANES]; N], read: 0, greater: 0 };
        for (lane, encoding) in bytes.chunks_exact(N * BYTES).take(LANES).enumerate() {
            let Some((x, flags)) = numbers::<N>(encoding) else { continue };
            if !matches!(flags, SMALLER | GREATER) {
                continue;
            }
            all.read |= 1 << lane;
            all.greater |= u8::from(flags == GREATER) << lane;
            for (lanes, number) in all.x.iter_mut().zip(x) {
                lanes.get_mut(lane).into_iter().for_each(|place| *place = number);
            }
        }
        all
    }
}

/// The coefficients of `x`, of which the highest comes first in the bytes, and the flag bits above
/// them. `None` if a coefficient is not below `p`.
fn numbers<const N: usize>(encoding: &[u8]) -> Option<([Words; N], u64)> {
    let mut numbers = [Words::default(); N];
    for (number, bytes) in numbers.iter_mut().rev().zip(encoding.chunks_exact(BYTES)) {
        for (word, bytes) in number.iter_mut().rev().zip(bytes.as_chunks().0) {
            *word = u64::from_be_bytes(*bytes);
        }
    }
    let [.., first] = numbers.last_mut()?;
    let flags = *first >> (u64::BITS - FLAG_BITS);
    *first &= u64::MAX >> FLAG_BITS;
    let canonical = numbers.iter().all(|number| number.iter().rev().lt(P.iter().rev()));
    canonical.then_some((numbers, flags))
}

/// A square root in the lanes where there is one.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn root<const N: usize>(square: &Element<N>) -> Element<N> {
    let mut root = *square.parts();
    match (square.parts().as_slice(), root.as_mut_slice()) {
        ([a], [r]) => *r = a.product(&power(&a.raised())),
        ([a, b], [c, d]) => [*c, *d] = root_of_two(a, b),
        _ => {}
    }
    Element::of(root)
}

/// A square root of `a + bu`.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn root_of_two(a: &Lanes, b: &Lanes) -> [Lanes; 2] {
    let half = Raised::power_of_two::<415>();
    let norm = a.products(&a.raised(), b, &b.raised());
    let root_of_norm = norm.product(&power(&norm.raised()));
    let t = a.sum(&root_of_norm).product(&half);
    let t = t.select(a, t.zeros());
    let w = power(&t.raised());
    let (first, second) = (t.product(&w), b.product(&half).product(&w));
    let is_square = first.product(&first.raised()).difference(&t).zeros();
    [second.select(&first, is_square), first.negative().select(&second, is_square)]
}

/// A bit for each lane whose highest coefficient, of those that are not zero, is above `(p − 1)/2`.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn greater_halves<const N: usize>(y: &Element<N>) -> u8 {
    let mut greater = 0;
    for part in y.parts() {
        // From y·2³⁸⁴ to y.
        let number = part.product(&Raised::power_of_two::<32>());
        let zeros = part.zeros();
        greater = greater & zeros | number.greater_halves() & !zeros;
    }
    greater
}

/// `a^((p − 3)/4)`
#[target_feature(enable = "avx512f,avx512ifma")]
fn power(a: &Raised) -> Raised {
    let square = a.square();
    let mut odd = [*a; 1 << (WINDOW - 1)];
    let mut last = *a;
    for power in odd.iter_mut().skip(1) {
        last = last.product(&square);
        *power = last;
    }
    // The exponent begins with 1101.
    let [.., mut power, _] = odd;
    let mut left = EXPONENT_BITS - WINDOW;
    while left > 0 {
        let mut width = WINDOW.min(left);
        while width > 1 && (bit(left - 1) == 0 || bit(left - width) == 0) {
            width -= 1;
        }
        let mut digit = 0;
        for _ in 0..width {
            left -= 1;
            digit = 2 * digit + bit(left);
            power = power.square();
        }
        if let (1, Some(factor)) = (digit % 2, odd.get(digit / 2)) {
            power = power.product(factor);
        }
    }
    power
}

/// Of the exponent.
fn bit(at: usize) -> usize {
    usize::from(EXPONENT.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1))
}
