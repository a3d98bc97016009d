//! `𝔽p`, eight elements at a time, by multiplications of 52 bits.
//!
//! A lane holds a number in eight limbs, `a = Σ aᵢ·2^(52i)`; limb `i` of all eight lanes is one register.
//! The instructions add the low or the high 52 bits of a product of limbs to a word of 64:
//!
//! ```text
//! t ← Σᵢⱼ aᵢ·bⱼ·2^(52(i+j))                                rows
//! for i = 0, …, 7:  t ← t + q·p·2^(52i),  q = −tᵢ/p mod 2⁵²     reduce
//! ```
//!
//! after which the lower half of `t` is zero and the upper half is `a·b/2⁴¹⁶ mod p`. All other code
//! stores elements as `x·2³⁸⁴` in six words of 64 bits, and this module keeps that form: before a
//! product, one factor is [`Raised`] by 32 bits, which is a shift.
//!
//! **Bounds.** Every [`Lanes`] is below `2p`, except for the negative of zero, which is `2p`; its
//! limbs are below 2⁵². After raising, it is below `2³³·p < 2⁴¹⁴` and fits. A product of two is below
//! `2p·2³³p/2⁴¹⁶ + p < 1.41p`, and a sum of two products is below `1.82p`, so no further subtraction
//! is needed. A word takes at most 48 parts of 52 bits, so it is below 2⁵⁸; with the six terms of
//! `quadratic`, and their differences, it is within ±2⁶⁰.
//!
//! **Zero** may be represented as `0` or `p` until it is stored.
use core::arch::x86_64::{
    __m512i, _mm256_extract_epi64, _mm512_add_epi64, _mm512_and_si512, _mm512_castsi512_si256,
    _mm512_cmpeq_epi64_mask, _mm512_cmplt_epi64_mask, _mm512_extracti64x4_epi64,
    _mm512_madd52hi_epu64, _mm512_madd52lo_epu64, _mm512_mask_add_epi64, _mm512_mask_blend_epi64,
    _mm512_or_si512, _mm512_set_epi64, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_shuffle_i64x2, _mm512_slli_epi64, _mm512_srai_epi64, _mm512_srli_epi64,
    _mm512_sub_epi64, _mm512_unpackhi_epi64, _mm512_unpacklo_epi64, _mm512_xor_si512,
};

use super::numbers::{P, doubled, halved, power_of_two};
use super::width::LANES;
use crate::field::Words;

pub(super) const LIMBS: usize = 8;
/// Eight numbers: limb `i` of all of them is register `i`.
pub(super) type Limbs = [__m512i; LIMBS];
/// The words in which products are added up, before carrying.
pub(super) type Total = [__m512i; 2 * LIMBS];
const BITS: u32 = 52;
const MASK: u64 = (1 << BITS) - 1;
pub(super) const MODULUS: [u64; LIMBS] = limbs(P);
/// `(p − 1)/2`
const HALF: [u64; LIMBS] = limbs(halved(P));
const TWICE: [u64; LIMBS] = limbs(doubled(P));
/// `−1/p mod 2⁵²`
const INVERSE: u64 = {
    let [p, ..] = P;
    let mut inverse: u64 = 1;
    let mut correct = 1;
    while correct < u64::BITS {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(p.wrapping_mul(inverse)));
        correct *= 2;
    }
    inverse.wrapping_neg() & MASK
};

/// Eight elements, each below `2p`.
#[derive(Clone, Copy)]
pub(super) struct Lanes(pub(super) Limbs);

/// Eight elements times `2³²`, to multiply by.
#[derive(Clone, Copy)]
pub(super) struct Raised(pub(super) Limbs);

impl Lanes {
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn zero() -> Self {
        Self([_mm512_setzero_si512(); LIMBS])
    }

    /// `2^exponent mod p` in each lane.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn power_of_two<const EXPONENT: u32>() -> Self {
        Self(constant(const { &limbs(power_of_two(EXPONENT)) }))
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn load(lanes: [&Words; LANES]) -> Self {
        let mut rows = [_mm512_setzero_si512(); LANES];
        for (row, [a, b, c, d, e, f]) in rows.iter_mut().zip(lanes) {
            *row = from_array([*a, *b, *c, *d, *e, *f, 0, 0]);
        }
        let [a, b, c, d, e, f, _, _] = transposed(rows);
        let mask = all(MASK);
        Self([
            _mm512_and_si512(a, mask),
            _mm512_and_si512(join::<52, 12>(a, b), mask),
            _mm512_and_si512(join::<40, 24>(b, c), mask),
            _mm512_and_si512(join::<28, 36>(c, d), mask),
            _mm512_and_si512(join::<16, 48>(d, e), mask),
            _mm512_and_si512(_mm512_srli_epi64::<4>(e), mask),
            _mm512_and_si512(join::<56, 8>(e, f), mask),
            _mm512_srli_epi64::<44>(f),
        ])
    }

    /// The elements, each below `p`.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn store(&self) -> [Words; LANES] {
        let modulus = constant(&MODULUS);
        let [a, b, c, d, e, f, g, h] = settled(minus(&self.0, &modulus), &modulus).0;
        let rows = transposed([
            _mm512_or_si512(a, _mm512_slli_epi64::<52>(b)),
            join::<12, 40>(b, c),
            join::<24, 28>(c, d),
            join::<36, 16>(d, e),
            _mm512_or_si512(join::<48, 4>(e, f), _mm512_slli_epi64::<56>(g)),
            join::<8, 44>(g, h),
            _mm512_setzero_si512(),
            _mm512_setzero_si512(),
        ]);
        let mut lanes = [Words::default(); LANES];
        for (lane, row) in lanes.iter_mut().zip(rows) {
            let [a, b, c, d, e, f, _, _] = to_array(row);
            *lane = [a, b, c, d, e, f];
        }
        lanes
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn sum(&self, other: &Self) -> Self {
        let twice = constant(&TWICE);
        let mut limbs = minus(&self.0, &twice);
        for (limb, other) in limbs.iter_mut().zip(other.0) {
            *limb = _mm512_add_epi64(*limb, other);
        }
        settled(limbs, &twice)
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn difference(&self, other: &Self) -> Self {
        settled(minus(&self.0, &other.0), &constant(&TWICE))
    }

    /// The negative, at most `2p`. It may be multiplied, but not compared or stored.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn negative(&self) -> Self {
        Self(carried(minus(&constant(&TWICE), &self.0)))
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn raised(&self) -> Raised {
        let mask = all(MASK);
        let mut limbs = self.0;
        let mut below = _mm512_setzero_si512();
        for limb in &mut limbs {
            let own = *limb;
            *limb = _mm512_and_si512(join::<20, 32>(below, own), mask);
            below = own;
        }
        Raised(limbs)
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn product(&self, other: &Raised) -> Self {
        Self(multiplied(&self.0, &other.0))
    }

    /// `self·other + third·fourth`. Costs little more than half of two products.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn products(&self, other: &Raised, third: &Self, fourth: &Raised) -> Self {
        let mut words = empty();
        add_rows(&mut words, &self.0, &other.0);
        add_rows(&mut words, &third.0, &fourth.0);
        Self(reduced(words))
    }

    /// A bit that is set for each lane that is zero.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn zeros(&self) -> u8 {
        let zero = _mm512_setzero_si512();
        let (mut of_zero, mut of_modulus) = (zero, zero);
        for (limb, modulus) in self.0.into_iter().zip(constant(&MODULUS)) {
            of_zero = _mm512_or_si512(of_zero, limb);
            of_modulus = _mm512_or_si512(of_modulus, _mm512_xor_si512(limb, modulus));
        }
        _mm512_cmpeq_epi64_mask(of_zero, zero) | _mm512_cmpeq_epi64_mask(of_modulus, zero)
    }

    /// A bit for each lane where `x > (p − 1)/2`, of numbers that are `x` itself and at most `p`.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn greater_halves(&self) -> u8 {
        let [.., highest] = carried(minus(&constant(&HALF), &self.0));
        _mm512_cmplt_epi64_mask(highest, _mm512_setzero_si512())
    }

    /// Takes the lanes from `other` whose bit is set.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn select(&self, other: &Self, lanes: u8) -> Self {
        let mut limbs = self.0;
        for (limb, other) in limbs.iter_mut().zip(other.0) {
            *limb = _mm512_mask_blend_epi64(lanes, *limb, other);
        }
        Self(limbs)
    }
}

impl Raised {
    /// `2^exponent mod p` in each lane: what multiplying by it does is shift by `exponent − 416` bits.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn power_of_two<const EXPONENT: u32>() -> Self {
        Self(Lanes::power_of_two::<EXPONENT>().0)
    }

    /// The product, for factors stored as `x·2⁴¹⁶`; the result has the same form. It is below
    /// `2³¹·p`, and below `2p` if the factors are.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    pub(super) fn product(&self, other: &Self) -> Self {
        Self(multiplied(&self.0, &other.0))
    }

    /// The square. Each product of two different limbs is computed once and doubled: 72 products
    /// instead of 128.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "places are below 16; so all is unrolled")]
    pub(super) fn square(&self) -> Self {
        let a = &self.0;
        let mut words = empty();
        for i in 0..LIMBS {
            for j in i + 1..LIMBS {
                words[i + j] = _mm512_madd52lo_epu64(words[i + j], a[i], a[j]);
            }
            for j in i + 1..LIMBS {
                words[i + j + 1] = _mm512_madd52hi_epu64(words[i + j + 1], a[i], a[j]);
            }
        }
        for word in &mut words {
            *word = _mm512_add_epi64(*word, *word);
        }
        for i in 0..LIMBS {
            words[2 * i] = _mm512_madd52lo_epu64(words[2 * i], a[i], a[i]);
            words[2 * i + 1] = _mm512_madd52hi_epu64(words[2 * i + 1], a[i], a[i]);
        }
        Self(reduced(words))
    }
}

/// An empty total.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
pub(super) fn empty() -> Total {
    [_mm512_setzero_si512(); 2 * LIMBS]
}

/// The product divided by `2⁴¹⁶`.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
pub(super) fn multiplied(a: &Limbs, b: &Limbs) -> Limbs {
    let mut words = empty();
    add_rows(&mut words, a, b);
    reduced(words)
}

/// Adds the words of the product, without carrying.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
#[expect(clippy::indexing_slicing, reason = "places are below 16; so all is unrolled")]
pub(super) fn add_rows(words: &mut Total, a: &Limbs, b: &Limbs) {
    for i in 0..LIMBS {
        for j in 0..LIMBS {
            words[i + j] = _mm512_madd52lo_epu64(words[i + j], a[i], b[j]);
        }
        for j in 0..LIMBS {
            words[i + j + 1] = _mm512_madd52hi_epu64(words[i + j + 1], a[i], b[j]);
        }
    }
}

/// The total divided by `2⁴¹⁶` modulo `p`. Words may be negative, but their sum must not be.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
pub(super) fn reduced(mut words: Total) -> Limbs {
    for i in 0..LIMBS {
        reduce_word(&mut words, i);
    }
    upper(words)
}

/// Both totals divided by `2⁴¹⁶`. Each word depends on the one before it, so working on both totals
/// in turn hides the waiting time.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
pub(super) fn reduced_both(mut first: Total, mut second: Total) -> [Limbs; 2] {
    for i in 0..LIMBS {
        reduce_word(&mut first, i);
        reduce_word(&mut second, i);
    }
    [upper(first), upper(second)]
}

/// Adds a multiple of `p` that makes word `i` zero, and carries.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
#[expect(clippy::indexing_slicing, reason = "places are below 16; so all is unrolled")]
fn reduce_word(words: &mut Total, i: usize) {
    let (modulus, inverse, mask) = (constant(&MODULUS), all(INVERSE), all(MASK));
    let q = _mm512_madd52lo_epu64(_mm512_setzero_si512(), words[i], inverse);
    // Adding the lowest limb of `q·p` makes the word a multiple of 2⁵². This limb need not be
    // computed, because only the carry is needed: it is one more than before, unless the word was
    // already a multiple.
    let carry = _mm512_srai_epi64::<BITS>(_mm512_add_epi64(words[i], mask));
    words[i + 1] = _mm512_add_epi64(words[i + 1], carry);
    for j in 1..LIMBS {
        words[i + j] = _mm512_madd52lo_epu64(words[i + j], q, modulus[j]);
    }
    for j in 0..LIMBS {
        words[i + j + 1] = _mm512_madd52hi_epu64(words[i + j + 1], q, modulus[j]);
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn upper([.., a, b, c, d, e, f, g, h]: Total) -> Limbs {
    carried([a, b, c, d, e, f, g, h])
}

/// Adds `number` in the lanes that are negative.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn settled(limbs: Limbs, number: &Limbs) -> Lanes {
    let mut limbs = carried(limbs);
    let [.., highest] = limbs;
    let negative = _mm512_cmplt_epi64_mask(highest, _mm512_setzero_si512());
    for (limb, number) in limbs.iter_mut().zip(number) {
        *limb = _mm512_mask_add_epi64(*limb, negative, *limb, *number);
    }
    Lanes(carried(limbs))
}

/// Carries, so that every limb is between 0 and 2⁵², except the highest one, which keeps the sign.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
pub(super) fn carried(mut limbs: Limbs) -> Limbs {
    let mask = all(MASK);
    let [lower @ .., highest] = &mut limbs;
    let mut carry = _mm512_setzero_si512();
    for limb in lower {
        let sum = _mm512_add_epi64(*limb, carry);
        carry = _mm512_srai_epi64::<BITS>(sum);
        *limb = _mm512_and_si512(sum, mask);
    }
    *highest = _mm512_add_epi64(*highest, carry);
    limbs
}

/// The transposed matrix: rows become columns.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn transposed([a, b, c, d, e, f, g, h]: [__m512i; LANES]) -> [__m512i; LANES] {
    // Pairs of neighbours, two of every second column; then the columns 0 and 4, or 2 and 6, of four
    // rows; then of eight.
    let [c0, c2, c4, c6] = columns([
        _mm512_unpacklo_epi64(a, b),
        _mm512_unpacklo_epi64(c, d),
        _mm512_unpacklo_epi64(e, f),
        _mm512_unpacklo_epi64(g, h),
    ]);
    let [c1, c3, c5, c7] = columns([
        _mm512_unpackhi_epi64(a, b),
        _mm512_unpackhi_epi64(c, d),
        _mm512_unpackhi_epi64(e, f),
        _mm512_unpackhi_epi64(g, h),
    ]);
    [c0, c1, c2, c3, c4, c5, c6, c7]
}

#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn columns([ab, cd, ef, gh]: [__m512i; 4]) -> [__m512i; 4] {
    const EVEN: i32 = 0b10_00_10_00;
    const ODD: i32 = 0b11_01_11_01;
    let (low, high) = (_mm512_shuffle_i64x2::<EVEN>(ab, cd), _mm512_shuffle_i64x2::<EVEN>(ef, gh));
    let (c0, c4) =
        (_mm512_shuffle_i64x2::<EVEN>(low, high), _mm512_shuffle_i64x2::<ODD>(low, high));
    let (low, high) = (_mm512_shuffle_i64x2::<ODD>(ab, cd), _mm512_shuffle_i64x2::<ODD>(ef, gh));
    let (c2, c6) =
        (_mm512_shuffle_i64x2::<EVEN>(low, high), _mm512_shuffle_i64x2::<ODD>(low, high));
    [c0, c2, c4, c6]
}

#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn minus(a: &Limbs, b: &Limbs) -> Limbs {
    let mut limbs = *a;
    for (limb, other) in limbs.iter_mut().zip(b) {
        *limb = _mm512_sub_epi64(*limb, *other);
    }
    limbs
}

/// The bits of `low` from `RIGHT` on, and above them those of `high`.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn join<const RIGHT: u32, const LEFT: u32>(low: __m512i, high: __m512i) -> __m512i {
    _mm512_or_si512(_mm512_srli_epi64::<RIGHT>(low), _mm512_slli_epi64::<LEFT>(high))
}

#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
pub(super) fn all(limb: u64) -> __m512i {
    _mm512_set1_epi64(limb.cast_signed())
}

#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
pub(super) fn constant(limbs: &[u64; LIMBS]) -> Limbs {
    let mut lanes = [_mm512_setzero_si512(); LIMBS];
    for (lane, limb) in lanes.iter_mut().zip(limbs) {
        *lane = all(*limb);
    }
    lanes
}

#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
pub(super) fn from_array([a, b, c, d, e, f, g, h]: [u64; LANES]) -> __m512i {
    _mm512_set_epi64(
        h.cast_signed(),
        g.cast_signed(),
        f.cast_signed(),
        e.cast_signed(),
        d.cast_signed(),
        c.cast_signed(),
        b.cast_signed(),
        a.cast_signed(),
    )
}

#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn to_array(register: __m512i) -> [u64; LANES] {
    let low = _mm512_castsi512_si256(register);
    let high = _mm512_extracti64x4_epi64::<1>(register);
    [
        _mm256_extract_epi64::<0>(low).cast_unsigned(),
        _mm256_extract_epi64::<1>(low).cast_unsigned(),
        _mm256_extract_epi64::<2>(low).cast_unsigned(),
        _mm256_extract_epi64::<3>(low).cast_unsigned(),
        _mm256_extract_epi64::<0>(high).cast_unsigned(),
        _mm256_extract_epi64::<1>(high).cast_unsigned(),
        _mm256_extract_epi64::<2>(high).cast_unsigned(),
        _mm256_extract_epi64::<3>(high).cast_unsigned(),
    ]
}

/// Six words as eight limbs.
pub(super) const fn limbs([a, b, c, d, e, f]: Words) -> [u64; LIMBS] {
    [
        a & MASK,
        (a >> 52 | b << 12) & MASK,
        (b >> 40 | c << 24) & MASK,
        (c >> 28 | d << 36) & MASK,
        (d >> 16 | e << 48) & MASK,
        e >> 4 & MASK,
        (e >> 56 | f << 8) & MASK,
        f >> 44,
    ]
}
