//! The digits in which secrets are read.
//!
//! A bit `b` stands for `2b − 1`, so for 1 or −1. Then a window of `w` bits, `u` as a number, stands for an
//! odd number, and `n` bits, `κ` as a number, for the sum of their windows:
//!
//! ```text
//! dᵢ = 2uᵢ − (2^w − 1)         Σᵢ dᵢ·2^(wi) = 2κ − (2ⁿ − 1)         κ = Σᵢ uᵢ·2^(wi)
//! ```
//!
//! No digit is zero, none is carried into the next, and half of a window's values are the negatives of the
//! others. Signed bits are Hamburg's ([eprint 2012/309](https://eprint.iacr.org/2012/309)).
use alloc::vec;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::width::LANES;
use crate::scalar::Scalar;

/// Windows of secret numbers: first the lowest window of all numbers, then the next one. Unused lanes
/// have zeros.
#[cfg_attr(
    not(all(feature = "lanes", target_arch = "x86_64")),
    expect(dead_code, reason = "only lanes read them")
)]
pub(crate) struct Digits<const WIDTH: usize> {
    count: usize,
    values: Zeroizing<Vec<u8>>,
}

impl<const WIDTH: usize> Digits<WIDTH> {
    /// The windows of the little-endian numbers that `number` makes from the scalars, `windows` of
    /// them for each.
    pub(crate) fn new(
        windows: usize,
        scalars: &[Scalar],
        number: impl Fn(&Scalar) -> [u8; 32],
    ) -> Self {
        let count = scalars.len().next_multiple_of(LANES).max(LANES);
        let mut values = Zeroizing::new(vec![0; count * windows]);
        for (at, scalar) in scalars.iter().enumerate() {
            let number = Zeroizing::new(number(scalar));
            let places = values.iter_mut().skip(at).step_by(count);
            places.zip(digits::<WIDTH>(&number)).for_each(|(place, digit)| *place = digit);
        }
        Self { count, values }
    }
}

#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
impl<const WIDTH: usize> Digits<WIDTH> {
    /// Number of entries of a table of odd multiples: half the number of a digit's values.
    pub(crate) const ENTRIES: usize = 1 << (WIDTH - 1);

    /// The number of groups of eight numbers.
    pub(crate) fn places(&self) -> usize {
        self.count / LANES
    }

    /// The windows from the lowest up. Each has the digits of all numbers, in groups of eight.
    pub(crate) fn windows(
        &self,
    ) -> impl DoubleEndedIterator<Item = &[[u8; LANES]]> + ExactSizeIterator {
        self.values.chunks_exact(self.count).map(|window| window.as_chunks().0)
    }
}

/// The windows of a little-endian number from the lowest up, with zeros above it.
pub(crate) fn digits<const WIDTH: usize>(number: &[u8; 32]) -> impl Iterator<Item = u8> {
    (0_usize..).map(move |window| {
        let (byte, bit) = (window * WIDTH / 8, window * WIDTH % 8);
        let [low, high] = [byte, byte + 1].map(|at| number.get(at).copied().unwrap_or_default());
        let [digit, _] =
            (u16::from_le_bytes([low, high]) >> bit & ((1 << WIDTH) - 1)).to_le_bytes();
        digit
    })
}
