//! Constants of `𝔽p`, computed by the compiler from their definitions. They are plain numbers (not in
//! Montgomery form) as words, lowest first.
use crate::field::Words;

/// The modulus.
pub(super) const P: Words = [
    0xb9fe_ffff_ffff_aaab,
    0x1eab_fffe_b153_ffff,
    0x6730_d2a0_f6b0_f624,
    0x6477_4b84_f385_12bf,
    0x4b1b_a7b6_434b_acd7,
    0x1a01_11ea_397f_e69a,
];

/// `2^exponent mod p`
pub(super) const fn power_of_two(exponent: u32) -> Words {
    let mut power = [1, 0, 0, 0, 0, 0];
    let mut doublings = 0;
    while doublings < exponent {
        let twice = doubled(power);
        power = match less(twice, P) {
            (rest, false) => rest,
            (_, true) => twice,
        };
        doublings += 1;
    }
    power
}

/// The difference, and whether it is below zero.
const fn less([a, b, c, d, e, f]: Words, [g, h, i, j, k, l]: Words) -> (Words, bool) {
    let (a, borrow) = a.overflowing_sub(g);
    let (b, borrow) = borrowing(b, h, borrow);
    let (c, borrow) = borrowing(c, i, borrow);
    let (d, borrow) = borrowing(d, j, borrow);
    let (e, borrow) = borrowing(e, k, borrow);
    let (f, borrow) = borrowing(f, l, borrow);
    ([a, b, c, d, e, f], borrow)
}

const fn borrowing(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let (difference, below) = a.overflowing_sub(b);
    match (borrow, below) {
        (false, below) => (difference, below),
        (true, below) => (difference.wrapping_sub(1), below || difference == 0),
    }
}

/// Below `2³⁸⁴`.
pub(super) const fn doubled([a, b, c, d, e, f]: Words) -> Words {
    [
        a << 1,
        b << 1 | a >> 63,
        c << 1 | b >> 63,
        d << 1 | c >> 63,
        e << 1 | d >> 63,
        f << 1 | e >> 63,
    ]
}

/// Rounded down.
pub(super) const fn halved([a, b, c, d, e, f]: Words) -> Words {
    [
        a >> 1 | b << 63,
        b >> 1 | c << 63,
        c >> 1 | d << 63,
        d >> 1 | e << 63,
        e >> 1 | f << 63,
        f >> 1,
    ]
}
