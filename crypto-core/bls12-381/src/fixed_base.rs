//! Constant-time multiplication of one point by many secret scalars.
//!
//! A dealer multiplies the same few points by hundreds of secrets. A scalar is read in windows of `w`
//! bits as signed, odd digits (`lanes/digits.rs`). With `m` digits,
//!
//! ```text
//! k = u₀ + … + u_(m−1)·2^(w(m−1)),   dᵢ = 2uᵢ − (2^w − 1):
//! k·P = (2^(wm) − 1)·P/2 + Σᵢ dᵢ·2^(wi)·P/2
//! ```
//!
//! With a table of the odd multiples of every `2^(wi)·P/2` this costs one addition per window and no
//! doubling. Every entry of a window is read and masked, so memory accesses do not depend on the
//! scalar.
//!
//! If the processor can, many scalars are processed eight at a time (`lanes`), in affine coordinates.
//! Affine addition fails for equal and opposite points. Before window `i` a sum is `A·P/2`, and
//! `D·P/2` is added, where
//!
//! ```text
//! |A − 2ⁿ| ≤ 2^(wi),  |D| < 2^(wi+w),  n = wm:    |A ± D − 2ⁿ| < 1.02·2^(n−w)    for i ≤ m − 2
//! ```
//!
//! Up to `n = 252` that is between 0 and `r`, and no multiple of `r` is closer to `2²⁵⁸` than
//! `1.2·2²⁵²`. So only the last addition can meet equal or opposite points, and it does for two
//! scalars.
//!
//! For a point that is used only a few times, use `point * &scalar` or
//! [`multiply_each`](crate::hazmat::multiply_each).
use alloc::vec::Vec;

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use crate::group::Group;
use crate::lanes::{Digits, digits};
use crate::points::{Affine, Projective};
use crate::products::{half, in_batches, to_affine, wide};
use crate::scalar::Scalar;

/// Bits per window. A window of six reads 32 entries for each of 43 additions.
const WIDTH: usize = 6;
const ENTRIES: usize = 1 << (WIDTH - 1);
/// All bits of a digit except the sign bit.
const LOWER: u8 = (1 << (WIDTH - 1)) - 1;
const WINDOWS: usize = 255_usize.div_ceil(WIDTH);

/// A public point with its table of multiples, which takes about 130 KB in `𝔾₁` and 260 KB in `𝔾₂`.
#[derive(Clone, Debug)]
pub struct FixedBase<G: Group> {
    /// `ENTRIES` points for each window, from the lowest window up.
    table: Vec<Affine<G>>,
    /// `(2^(wm) − 1)·P/2` for `m` windows, from none up.
    starts: Vec<Affine<G>>,
}

impl<G: Group> FixedBase<G> {
    /// Builds the table of a public point. Costs about ten multiplications.
    #[must_use]
    pub fn new(point: &Affine<G>) -> Self {
        let mut base = *point * half();
        let mut multiples = Vec::with_capacity(WINDOWS * ENTRIES);
        let mut starts = Vec::with_capacity(WINDOWS + 1);
        let mut start = Projective::identity();
        starts.push(start);
        for _ in 0..WINDOWS {
            let (mut multiple, twice) = (base, base.double());
            for _ in 1..ENTRIES {
                multiples.push(multiple);
                multiple += twice;
            }
            multiples.push(multiple);
            start += multiple;
            starts.push(start);
            base += multiple;
        }
        let [table, starts] =
            [multiples, starts].map(|points| Projective::batch_to_affine(&points));
        Self { table, starts }
    }

    /// The product `scalar·P`, in constant time.
    #[must_use]
    pub fn multiply(&self, scalar: &Scalar) -> Projective<G> {
        self.multiply_low(scalar, Scalar::BITS)
    }

    /// The product `scalar·P` for a scalar below `2^bits`, in constant time for these bits. Higher
    /// bits of the scalar may be ignored.
    #[must_use]
    pub fn multiply_low(&self, scalar: &Scalar, bits: u32) -> Projective<G> {
        let count = windows_of(bits);
        let mut sum = self.starts.get(count).copied().map_or(Projective::identity(), Into::into);
        let mut number = scalar.to_le_bytes();
        let rows = self.table.chunks_exact(ENTRIES).take(count);
        for (row, digit) in rows.zip(digits::<WIDTH>(&number)) {
            sum += entry(row, digit);
        }
        number.zeroize();
        sum
    }

    /// The products `scalar·P` for all scalars, in constant time. The caller must wipe products that
    /// are secret.
    ///
    /// Each product costs as much as [`FixedBase::multiply`]. On processors with AVX-512 IFMA and for
    /// hundreds of scalars, it costs a sixth of that in `𝔾₁` and a ninth in `𝔾₂`.
    #[must_use]
    pub fn multiply_all(&self, scalars: &[Scalar]) -> Vec<Affine<G>> {
        self.multiply_all_low(scalars, Scalar::BITS)
    }

    /// Like [`FixedBase::multiply_low`], for all scalars.
    #[must_use]
    pub fn multiply_all_low(&self, scalars: &[Scalar], bits: u32) -> Vec<Affine<G>> {
        let Some(start) = self.starts.get(windows_of(bits)) else { return Vec::new() };
        in_batches(scalars.len(), |range| {
            let scalars = scalars.get(range).unwrap_or_default();
            match wide(scalars.len()) {
                // The lanes cannot represent the identity.
                Some(wide) if !start.is_identity() => {
                    let bytes = |scalar: &Scalar| scalar.to_le_bytes();
                    let digits = Digits::<WIDTH>::new(windows_of(bits), scalars, bytes);
                    let mut products = wide.multiply_fixed(&self.table, start, &digits);
                    products.truncate(scalars.len());
                    products
                }
                _ => {
                    let products = scalars.iter().map(|scalar| self.multiply_low(scalar, bits));
                    to_affine(products.collect())
                }
            }
        })
    }
}

/// The number of windows that cover a scalar of `bits` bits.
fn windows_of(bits: u32) -> usize {
    usize::try_from(bits).unwrap_or(usize::MAX).div_ceil(WIDTH).min(WINDOWS)
}

/// The odd multiple that a digit stands for.
fn entry<G: Group>(row: &[Affine<G>], digit: u8) -> Affine<G> {
    // The negative of a digit has the complement of its bits.
    let negative = mask_if_equal(u64::from(digit >> (WIDTH - 1)), 0);
    let [complement, ..] = negative.to_le_bytes();
    let index = u64::from((digit ^ complement) & LOWER);
    let mut entry = Affine::<G>::identity();
    for (multiple, at) in row.iter().zip(0_u64..) {
        G::select(&mut entry.0, &multiple.0, mask_if_equal(at, index));
    }
    let mut opposite = entry;
    G::negate_affine(&mut opposite.0);
    G::select(&mut entry.0, &opposite.0, negative);
    entry
}

/// All ones if the two are equal, else zero, without a branch.
fn mask_if_equal(a: u64, b: u64) -> u64 {
    u64::from(a.ct_eq(&b).unwrap_u8()).wrapping_neg()
}
