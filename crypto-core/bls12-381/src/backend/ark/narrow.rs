//! `𝔽p` for WebAssembly, whose multiplication of 64 bits by 64 bits gives only the low 64 bits.
//!
//! arkworks multiplies words of 64 bits to 128 bits, which is a function call in WebAssembly, and
//! inlines every multiplication. So verifying a round takes 9.4 ms and 160 KB with arkworks, and 5.2
//! ms and 83 KB with this module. Here a number is cut into thirteen digits of 30 bits,
//! `a = Σ aᵢ·2^(30i)`, whose products can be summed without carries:
//!
//! ```text
//! for i = 0, …, 12:  t ← t + aᵢ·b                              row
//!                    t ← (t + q·p)/2³⁰,  q = −t₀/p mod 2³⁰     reduce
//! ```
//!
//! At the end `t` is `a·b/2³⁸⁴ mod p`, if the last division is only by `2²⁴`: `12·30 + 24 = 384`. So
//! numbers are stored as in arkworks, six words in Montgomery form to the base `2³⁸⁴`, and every
//! constant of arkworks can be used here (`curves`).
//!
//! **No overflow.** Products are below `2⁶⁰`, so a digit can take fifteen products and a carry before
//! it must pass its carry on. In one step, a product adds two of them, and a sum of two products adds
//! three. **One subtraction:** with `a, b < p` and `p < 2³⁸⁴/9`, `a·b + c·d + q·p < 2p² + 2³⁸⁴·p`
//! gives less than `2p`.
//!
//! Nothing here branches on a value, except that zero has no inverse. Towers, curves and pairing are
//! arkworks' code, used over this field.
#![allow(unreachable_pub, reason = "a public trait has some of these as associated types")]

#[cfg(target_family = "wasm")]
pub(super) mod curves;

use ark_bls12_381::FqConfig as Wide;
use ark_ff::{BigInt, Field, Fp384, MontBackend, MontConfig, Zero};

/// `𝔽p`
pub type Fq = Fp384<MontBackend<FqConfig, 6>>;

/// Arithmetic of `𝔽p` in digits of 30 bits.
#[derive(Debug)]
pub struct FqConfig;

type Words = [u64; 6];
type Digits = [u64; 13];

const BITS: u32 = 30;
const MASK: u64 = (1 << BITS) - 1;
/// Number of bits that the last step divides by, so that all steps together divide by 384 bits.
const LAST: u32 = 24;
const P: Words = Wide::MODULUS.0;
const P_DIGITS: Digits = digits(P);
/// `p − 2`
const INVERSION: Words = {
    let mut exponent = P;
    exponent[0] -= 2;
    exponent
};

impl MontConfig<6> for FqConfig {
    const MODULUS: BigInt<6> = Wide::MODULUS;
    const GENERATOR: Fq = from_wide(Wide::GENERATOR);
    const TWO_ADIC_ROOT_OF_UNITY: Fq = from_wide(Wide::TWO_ADIC_ROOT_OF_UNITY);

    fn add_assign(a: &mut Fq, b: &Fq) {
        a.0.0 = add(&a.0.0, &b.0.0);
    }

    fn sub_assign(a: &mut Fq, b: &Fq) {
        a.0.0 = subtract(&a.0.0, &b.0.0);
    }

    fn double_in_place(a: &mut Fq) {
        a.0.0 = add(&a.0.0, &a.0.0);
    }

    fn neg_in_place(a: &mut Fq) {
        a.0.0 = subtract(&[0; 6], &a.0.0);
    }

    fn mul_assign(a: &mut Fq, b: &Fq) {
        a.0.0 = multiply(&a.0.0, &b.0.0);
    }

    fn square_in_place(a: &mut Fq) {
        a.0.0 = multiply(&a.0.0, &a.0.0);
    }

    fn sum_of_products<const M: usize>(a: &[Fq; M], b: &[Fq; M]) -> Fq {
        let mut sum = Fq::zero();
        for (a, b) in a.chunks(2).zip(b.chunks(2)) {
            sum += match (a, b) {
                ([a, c], [b, d]) => {
                    Fq::new_unchecked(BigInt(multiply_add([&a.0.0, &c.0.0], [&b.0.0, &d.0.0])))
                }
                _ => a.iter().zip(b).map(|(a, b)| *a * b).sum(),
            };
        }
        sum
    }

    /// `a^(p − 2)`; the sequence of operations is always the same.
    fn inverse(a: &Fq) -> Option<Fq> {
        if a.is_zero() { None } else { Some(a.pow(INVERSION)) }
    }

    fn into_bigint(a: Fq) -> BigInt<6> {
        BigInt(multiply(&a.0.0, &[1, 0, 0, 0, 0, 0]))
    }
}

/// The same number of arkworks' field.
const fn from_wide(a: ark_bls12_381::Fq) -> Fq {
    Fq::new_unchecked(a.0)
}

/// `a·b/2³⁸⁴ mod p`
#[inline(never)]
fn multiply(a: &Words, b: &Words) -> Words {
    let (a, b) = (digits(*a), digits(*b));
    let sum = reduce(row([0; 13], a[0], &b));
    let sum = reduce(row(sum, a[1], &b));
    let sum = reduce(row(sum, a[2], &b));
    let sum = reduce(row(sum, a[3], &b));
    let sum = reduce(row(sum, a[4], &b));
    let sum = reduce(row(sum, a[5], &b));
    let sum = carried(reduce(row(sum, a[6], &b)));
    let sum = reduce(row(sum, a[7], &b));
    let sum = reduce(row(sum, a[8], &b));
    let sum = reduce(row(sum, a[9], &b));
    let sum = reduce(row(sum, a[10], &b));
    let sum = reduce(row(sum, a[11], &b));
    finish(row(sum, a[12], &b))
}

/// `(a·b + c·d)/2³⁸⁴ mod p`
#[inline(never)]
fn multiply_add([a, c]: [&Words; 2], [b, d]: [&Words; 2]) -> Words {
    let (a, b, c, d) = (digits(*a), digits(*b), digits(*c), digits(*d));
    let sum = reduce(row(row([0; 13], a[0], &b), c[0], &d));
    let sum = reduce(row(row(sum, a[1], &b), c[1], &d));
    let sum = reduce(row(row(sum, a[2], &b), c[2], &d));
    let sum = reduce(row(row(sum, a[3], &b), c[3], &d));
    let sum = carried(reduce(row(row(sum, a[4], &b), c[4], &d)));
    let sum = reduce(row(row(sum, a[5], &b), c[5], &d));
    let sum = reduce(row(row(sum, a[6], &b), c[6], &d));
    let sum = reduce(row(row(sum, a[7], &b), c[7], &d));
    let sum = reduce(row(row(sum, a[8], &b), c[8], &d));
    let sum = carried(reduce(row(row(sum, a[9], &b), c[9], &d)));
    let sum = reduce(row(row(sum, a[10], &b), c[10], &d));
    let sum = reduce(row(row(sum, a[11], &b), c[11], &d));
    finish(row(row(sum, a[12], &b), c[12], &d))
}

#[inline(never)]
fn add(a: &Words, b: &Words) -> Words {
    let (sum, carry) = with_carry(a[0], b[0], 0);
    let mut out = [sum, 0, 0, 0, 0, 0];
    let carry = put(&mut out[1], with_carry(a[1], b[1], carry));
    let carry = put(&mut out[2], with_carry(a[2], b[2], carry));
    let carry = put(&mut out[3], with_carry(a[3], b[3], carry));
    let carry = put(&mut out[4], with_carry(a[4], b[4], carry));
    // Both are below p, so nothing is carried out of the top.
    put(&mut out[5], with_carry(a[5], b[5], carry));
    once(out)
}

#[inline(never)]
fn subtract(a: &Words, b: &Words) -> Words {
    let (out, borrow) = difference(a, b);
    let back = borrow.wrapping_neg();
    let (word, carry) = with_carry(out[0], P[0] & back, 0);
    let mut sum = [word, 0, 0, 0, 0, 0];
    let carry = put(&mut sum[1], with_carry(out[1], P[1] & back, carry));
    let carry = put(&mut sum[2], with_carry(out[2], P[2] & back, carry));
    let carry = put(&mut sum[3], with_carry(out[3], P[3] & back, carry));
    let carry = put(&mut sum[4], with_carry(out[4], P[4] & back, carry));
    put(&mut sum[5], with_carry(out[5], P[5] & back, carry));
    sum
}

/// Subtracts `p` once, unless the result would be negative.
#[inline(always)]
fn once(a: Words) -> Words {
    let (out, borrow) = difference(&a, &P);
    let keep = borrow.wrapping_neg();
    let choose = |new: u64, old: u64| new ^ (keep & (new ^ old));
    [
        choose(out[0], a[0]),
        choose(out[1], a[1]),
        choose(out[2], a[2]),
        choose(out[3], a[3]),
        choose(out[4], a[4]),
        choose(out[5], a[5]),
    ]
}

/// `a − b` modulo `2³⁸⁴`, and 1 if the difference is negative.
#[inline(always)]
fn difference(a: &Words, b: &Words) -> (Words, u64) {
    let mut out = [0; 6];
    let borrow = put(&mut out[0], with_borrow(a[0], b[0], 0));
    let borrow = put(&mut out[1], with_borrow(a[1], b[1], borrow));
    let borrow = put(&mut out[2], with_borrow(a[2], b[2], borrow));
    let borrow = put(&mut out[3], with_borrow(a[3], b[3], borrow));
    let borrow = put(&mut out[4], with_borrow(a[4], b[4], borrow));
    let borrow = put(&mut out[5], with_borrow(a[5], b[5], borrow));
    (out, borrow)
}

#[inline(always)]
fn put(place: &mut u64, (word, carry): (u64, u64)) -> u64 {
    *place = word;
    carry
}

#[inline(always)]
fn with_carry(a: u64, b: u64, carry: u64) -> (u64, u64) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(carry);
    (sum, u64::from(first | second))
}

#[inline(always)]
fn with_borrow(a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let (rest, first) = a.overflowing_sub(b);
    let (rest, second) = rest.overflowing_sub(borrow);
    (rest, u64::from(first | second))
}

/// Six words as thirteen digits.
#[inline(always)]
const fn digits(a: Words) -> Digits {
    [
        a[0] & MASK,
        a[0] >> 30 & MASK,
        (a[0] >> 60 | a[1] << 4) & MASK,
        a[1] >> 26 & MASK,
        (a[1] >> 56 | a[2] << 8) & MASK,
        a[2] >> 22 & MASK,
        (a[2] >> 52 | a[3] << 12) & MASK,
        a[3] >> 18 & MASK,
        (a[3] >> 48 | a[4] << 16) & MASK,
        a[4] >> 14 & MASK,
        (a[4] >> 44 | a[5] << 20) & MASK,
        a[5] >> 10 & MASK,
        a[5] >> 40,
    ]
}

/// `t + x·y`
#[inline(always)]
fn row(t: Digits, x: u64, y: &Digits) -> Digits {
    [
        t[0] + x * y[0],
        t[1] + x * y[1],
        t[2] + x * y[2],
        t[3] + x * y[3],
        t[4] + x * y[4],
        t[5] + x * y[5],
        t[6] + x * y[6],
        t[7] + x * y[7],
        t[8] + x * y[8],
        t[9] + x * y[9],
        t[10] + x * y[10],
        t[11] + x * y[11],
        t[12] + x * y[12],
    ]
}

/// `t + q·p`, of which the lowest `bits` bits are zero.
#[inline(always)]
fn clear(t: Digits, bits: u32) -> Digits {
    let quotient = t[0].wrapping_mul(FqConfig::INV) & ((1 << bits) - 1);
    row(t, quotient, &P_DIGITS)
}

/// `(t + q·p)/2³⁰`
#[inline(always)]
fn reduce(t: Digits) -> Digits {
    let t = clear(t, BITS);
    let low = t[1] + (t[0] >> BITS);
    [low, t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], 0]
}

/// The same number, with carries passed on.
#[inline(always)]
fn carried(t: Digits) -> Digits {
    let pass = |digit: u64, before: u64| digit + (before >> BITS);
    let t1 = pass(t[1], t[0]);
    let t2 = pass(t[2], t1);
    let t3 = pass(t[3], t2);
    let t4 = pass(t[4], t3);
    let t5 = pass(t[5], t4);
    let t6 = pass(t[6], t5);
    let t7 = pass(t[7], t6);
    let t8 = pass(t[8], t7);
    let t9 = pass(t[9], t8);
    let t10 = pass(t[10], t9);
    let t11 = pass(t[11], t10);
    [
        t[0] & MASK,
        t1 & MASK,
        t2 & MASK,
        t3 & MASK,
        t4 & MASK,
        t5 & MASK,
        t6 & MASK,
        t7 & MASK,
        t8 & MASK,
        t9 & MASK,
        t10 & MASK,
        t11 & MASK,
        pass(t[12], t11),
    ]
}

/// `(t + q·p)/2²⁴` in words, below `p`.
#[inline(always)]
fn finish(t: Digits) -> Words {
    let t = carried(clear(t, LAST));
    once([
        t[0] >> 24 | t[1] << 6 | t[2] << 36,
        t[2] >> 28 | t[3] << 2 | t[4] << 32 | t[5] << 62,
        t[5] >> 2 | t[6] << 28 | t[7] << 58,
        t[7] >> 6 | t[8] << 24 | t[9] << 54,
        t[9] >> 10 | t[10] << 20 | t[11] << 50,
        t[11] >> 14 | t[12] << 16,
    ])
}

#[cfg(test)]
mod tests {
    use ark_ff::PrimeField;
    use proptest::prelude::*;

    use super::*;

    type WideFq = ark_bls12_381::Fq;

    /// Numbers below `p`, the ends of each digit and word among them.
    fn numbers() -> impl Strategy<Value = WideFq> {
        let bit = (0..64_u32).prop_map(|bit| 1_u64 << bit);
        let word = prop_oneof![Just(0), Just(u64::MAX), bit, any::<u64>()];
        let words = proptest::array::uniform6(word);
        let reduced = |mut words: Words| {
            words[5] &= (1 << 61) - 1;
            if BigInt(words) < WideFq::MODULUS { words } else { difference(&words, &P).0 }
        };
        let near = (0..40_u64).prop_map(|less| difference(&P, &[less + 1, 0, 0, 0, 0, 0]).0);
        prop_oneof![4 => words.prop_map(reduced), 1 => near]
            .prop_map(|words| WideFq::new_unchecked(BigInt(words)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Word by word, in Montgomery form.
        #[test]
        fn the_words_are_those_of_arkworks(
            a in numbers(), b in numbers(), c in numbers(), d in numbers()
        ) {
            let [x, y, z, w] = [a, b, c, d].map(from_wide);
            prop_assert_eq!((x * y).0, (a * b).0);
            prop_assert_eq!(x.square().0, a.square().0);
            prop_assert_eq!((x + y).0, (a + b).0);
            prop_assert_eq!((x - y).0, (a - b).0);
            prop_assert_eq!((-x).0, (-a).0);
            prop_assert_eq!(x.into_bigint(), a.into_bigint());
            prop_assert_eq!(Fq::from_bigint(a.0).map(|x| x.0), WideFq::from_bigint(a.0).map(|a| a.0));
            let wide = WideFq::sum_of_products(&[a, b], &[c, d]);
            prop_assert_eq!(Fq::sum_of_products(&[x, y], &[z, w]).0, wide.0);
            let wide = WideFq::sum_of_products(&[a, b, c], &[d, a, b]);
            prop_assert_eq!(Fq::sum_of_products(&[x, y, z], &[w, x, y]).0, wide.0);
        }
    }

    /// Where sums are largest: all digits but the highest are full. What they come to depends on the
    /// quotients too, so there are many; overflow panics in tests.
    #[test]
    fn full_digits_do_not_overflow() {
        let below = |less: u64| {
            let full = u64::MAX;
            [full - less, full, full, full, full, (P_DIGITS[12] << 40) - 1]
        };
        let most = WideFq::new_unchecked(BigInt(below(0)));
        assert!(digits(below(0))[..12].iter().all(|digit| *digit == MASK));
        for less in 0..2000 {
            let wide = WideFq::new_unchecked(BigInt(below(less)));
            let narrow = from_wide(wide);
            assert_eq!((narrow * from_wide(most)).0, (wide * most).0);
            let sum = Fq::sum_of_products(&[narrow, narrow], &[narrow, from_wide(most)]);
            assert_eq!(sum.0, (wide * wide + wide * most).0);
        }
    }

    #[test]
    fn inverses_and_roots_are_those_of_arkworks() {
        for number in [1_u64, 2, 3, 4, 9, 0xd201_0000_0001_0000] {
            let (wide, narrow) = (WideFq::from(number), Fq::from(number));
            assert_eq!(narrow.0, wide.0);
            assert_eq!(narrow.inverse().map(|x| x.0), wide.inverse().map(|x| x.0));
            assert_eq!(narrow.sqrt().map(|x| x.0), wide.sqrt().map(|x| x.0));
        }
        assert_eq!(Fq::zero().inverse(), None);
        assert_eq!(Fq::from_bigint(FqConfig::MODULUS), None);
    }
}
