//! Constant-time multiplication of one point by many secret scalars.
//!
//! A dealer multiplies the same few points by hundreds of secrets. With the windows
//! `k = Σᵢ dᵢ·2^(WINDOW·i)`, `0 ≤ dᵢ < 2^WINDOW`, and a table of `d·2^(WINDOW·i)·P` for all `d ≥ 1`
//! and `i`, `k·P` is one addition per window and no doubling. Every entry of a window is read and
//! masked, so memory accesses do not depend on the scalar.
//!
//! Elsewhere: a point that is used a few times only (`point * &scalar`).
use alloc::vec::Vec;

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::{Affine, Group, Projective, Scalar};

/// Bits per window. A window of five reads 31 entries for each of 51 additions.
const WINDOW: usize = 5;
const ENTRIES: usize = (1 << WINDOW) - 1;
const WINDOWS: usize = 255_usize.div_ceil(WINDOW);

/// A point with its table: about 150 KB in `𝔾₁`, 300 KB in `𝔾₂`.
#[derive(Clone, Debug)]
pub struct FixedBase<G: Group> {
    /// `ENTRIES` per window, from the lowest window up.
    table: Vec<Affine<G>>,
}

impl<G: Group> FixedBase<G> {
    /// Builds the table, at the price of some ten multiplications.
    #[must_use]
    pub fn new(point: &Affine<G>) -> Self {
        let mut multiples = Vec::with_capacity(WINDOWS * ENTRIES);
        let mut base = Projective::from(point);
        for _ in 0..WINDOWS {
            let mut multiple = base;
            for _ in 0..ENTRIES {
                multiples.push(multiple);
                multiple += base;
            }
            base = multiple;
        }
        Self { table: Projective::batch_to_affine(&multiples) }
    }

    /// `scalar·P`, in constant time.
    #[must_use]
    pub fn multiply(&self, scalar: &Scalar) -> Projective<G> {
        self.multiply_low(scalar, Scalar::BITS)
    }

    /// `scalar·P` for a scalar below `2^bits`, in constant time for these bits; what is above them
    /// may be left out.
    #[must_use]
    pub fn multiply_low(&self, scalar: &Scalar, bits: u32) -> Projective<G> {
        let windows = usize::try_from(bits).unwrap_or(usize::MAX).div_ceil(WINDOW);
        let mut digits = digits(scalar);
        let mut sum = Projective::identity();
        for (row, digit) in self.table.chunks_exact(ENTRIES).zip(digits).take(windows) {
            let mut term = Affine::<G>::identity();
            for (entry, index) in row.iter().zip(1_u64..) {
                G::select(&mut term.0, &entry.0, mask_if_equal(index, digit));
            }
            sum += term;
        }
        digits.zeroize();
        sum
    }
}

/// Base `2^WINDOW`, lowest first.
fn digits(scalar: &Scalar) -> [u64; WINDOWS] {
    let mut bytes = scalar.to_le_bytes();
    let mut digits = [0; WINDOWS];
    let bits = bytes.iter().flat_map(|byte| (0..8).map(move |bit| u64::from(byte >> bit & 1)));
    for (position, bit) in bits.enumerate() {
        if let Some(digit) = digits.get_mut(position / WINDOW) {
            *digit |= bit << (position % WINDOW);
        }
    }
    bytes.zeroize();
    digits
}

/// All ones if the two are equal, else zero, without a branch.
fn mask_if_equal(a: u64, b: u64) -> u64 {
    u64::from(a.ct_eq(&b).unwrap_u8()).wrapping_neg()
}
