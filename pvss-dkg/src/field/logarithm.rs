//! Small numbers out of the exponent: baby steps in a table, giant steps on demand.
//!
//! An honest chunk is below 2¹⁶ and stands in a table of 2¹⁶ entries. What a cheating dealer can get
//! past the proof of chunking is `s = n/Δ` with `0 < Δ < E` and `|n| < Z`; then `(g^s)^Δ = g^n`, and `n`
//! is found for one `Δ` after the other with a larger table.
//!
//! | table  | entries `m` | bytes  | built                          | covers with one step      |
//! |--------|-------------|--------|--------------------------------|---------------------------|
//! | honest | 2¹⁶         | 512 Ki | with the first decryption      | `|n| ≤ m`                 |
//! | large  | 2²²         | 32 Mi  | when the first chunk asks for it | `|n| ≤ m`               |
//!
//! An entry is 42 bits of the abscissa of `n·g` and `n`; `−n·g` has the same abscissa, so each entry
//! stands for both. Matches are computed in full before they count. Tables live for the process and
//! are shared by all threads. The worst case is `E·Z/m` giant steps for a chunk, each one addition
//! and part of a batched inversion: at 324 shares 15 · 2¹⁶ of them, at 2048 shares 15 · 2¹⁹.
//!
//! Looking up a secret in a table is not constant time. It happens on the recipient's own machine,
//! once for each dealing.
use std::sync::LazyLock;

use crypto_core::curve::{G1Affine, G1Projective, Scalar};

use super::chunk::BITS;
use super::chunking::CHALLENGES;
use crate::deal::TABLE_G;

const HONEST: u32 = BITS;
const LARGE: u32 = 22;
/// Points that are made affine with one inversion.
const BATCH: usize = 1024;
const INDEX_BITS: u32 = 22;

static HONEST_TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(HONEST));
static LARGE_TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(LARGE));

/// The `s` with `g^s = point`, if it is a chunk that can pass the proof for `Z = bound`.
pub(crate) fn chunk(point: &G1Affine, bound: u64) -> Option<Scalar> {
    HONEST_TABLE.find(point).or_else(|| cheated(point, bound))
}

/// `n/Δ` for the least `Δ` that has one.
fn cheated(point: &G1Affine, bound: u64) -> Option<Scalar> {
    (1..CHALLENGES).find_map(|delta| {
        let delta = Scalar::from_u64(delta);
        let numerator = LARGE_TABLE.search(*point * delta, bound)?;
        Some(numerator * delta.invert()?)
    })
}

/// `n·g` for `0 ≤ n ≤ m`, by abscissa.
struct Table {
    /// Sorted; the upper bits are of the abscissa, the lower are `n`, zero for `m` itself.
    entries: Vec<u64>,
    size: u64,
}

impl Table {
    fn new(bits: u32) -> Self {
        let size = 1_u64 << bits;
        let mut entries = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        let step = G1Affine::generator();
        let mut next = G1Projective::from(step);
        let mut number = 1;
        while number <= size {
            let block = block(&mut next, &step);
            let numbered = block.iter().zip(number..=size);
            entries.extend(numbered.map(|(point, n)| abscissa(point) | n & INDEX_MASK));
            number += u64::try_from(BATCH).unwrap_or(u64::MAX);
        }
        entries.sort_unstable();
        Self { entries, size }
    }

    /// `n` with `point = n·g` and `|n| ≤ m`.
    fn find(&self, point: &G1Affine) -> Option<Scalar> {
        if point.is_identity() {
            return Some(Scalar::ZERO);
        }
        let wanted = abscissa(point);
        let start = self.entries.partition_point(|entry| *entry < wanted);
        let matches =
            self.entries.iter().skip(start).take_while(|entry| **entry & !INDEX_MASK == wanted);
        let numbers = matches.map(|entry| match entry & INDEX_MASK {
            0 => self.size,
            n => n,
        });
        numbers.map(Scalar::from_u64).find_map(|n| {
            let power = G1Affine::from(TABLE_G.multiply_low(&n, INDEX_BITS + 1));
            if power == *point { Some(n) } else { (-power == *point).then_some(-n) }
        })
    }

    /// `n` with `point = n·g` and `|n| ≤ bound`, from the least on.
    fn search(&self, point: G1Projective, bound: u64) -> Option<Scalar> {
        let stride = 2 * self.size + 1;
        let step = G1Affine::from(G1Affine::generator() * Scalar::from_u64(stride));
        let steps = bound.div_ceil(stride);
        let signed = [(step, Scalar::from_u64(stride)), (-step, -Scalar::from_u64(stride))];
        let near = self.find(&point.into());
        near.or_else(|| {
            signed.into_iter().find_map(|(step, stride)| self.walk(point, &step, &stride, steps))
        })
    }

    /// `n` with `point = n·g` within reach of one of the first multiples of `step = stride·g`.
    fn walk(
        &self,
        point: G1Projective,
        step: &G1Affine,
        stride: &Scalar,
        steps: u64,
    ) -> Option<Scalar> {
        let back = -*step;
        let mut next = point + back;
        let mut walked = 1;
        while walked <= steps {
            let block = block(&mut next, &back);
            for (point, count) in block.iter().zip(walked..) {
                if let Some(rest) = self.find(point) {
                    return Some(rest + *stride * Scalar::from_u64(count));
                }
            }
            walked += u64::try_from(BATCH).unwrap_or(u64::MAX);
        }
        None
    }
}

const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;

/// The next points of a walk, and on.
fn block(next: &mut G1Projective, step: &G1Affine) -> Vec<G1Affine> {
    let points: Vec<G1Projective> =
        (0..BATCH).map(|_| std::mem::replace(next, *next + *step)).collect();
    G1Projective::batch_to_affine(&points)
}

/// The low bits of the abscissa, in the upper bits.
fn abscissa(point: &G1Affine) -> u64 {
    let low = point.to_bytes().into_iter().rev().take(8).zip(0..);
    low.fold(0, |sum, (byte, place)| sum | u64::from(byte) << (8 * place)) << INDEX_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn power(n: Scalar) -> G1Affine {
        (G1Affine::generator() * n).into()
    }

    #[test]
    fn every_edge_of_the_honest_range_is_found() {
        for n in [0, 1, 2, 1023, 1024, 1025, (1 << BITS) - 1, 1 << BITS] {
            let n = Scalar::from_u64(n);
            assert_eq!(HONEST_TABLE.find(&power(n)), Some(n));
            assert_eq!(HONEST_TABLE.find(&power(-n)), Some(-n));
        }
        assert_eq!(HONEST_TABLE.find(&power(Scalar::from_u64((1 << BITS) + 1))), None);
    }

    #[test]
    fn walks_cover_the_bound_without_a_gap_on_both_sides() {
        let table = Table::new(3);
        let bound = 40_000;
        for n in (0..200).chain([16_999, 17_000, 17_001, bound - 1, bound]) {
            let n = Scalar::from_u64(n);
            assert_eq!(table.search(power(n).into(), bound), Some(n));
            assert_eq!(table.search(power(-n).into(), bound), Some(-n));
        }
        let beyond = Scalar::from_u64(bound + 20_000);
        assert_eq!(table.search(power(beyond).into(), bound), None);
    }

    #[test]
    fn fractions_of_a_cheater_are_found() {
        let bound = 1 << 36;
        for (numerator, delta) in [((1_u64 << 36) - 1, 15), (1 << 35, 7), (3, 2), (1 << 30, 1)] {
            let s = Scalar::from_u64(numerator) * Scalar::from_u64(delta).invert().unwrap();
            assert_eq!(chunk(&power(s), bound), Some(s), "{numerator}/{delta}");
            assert_eq!(chunk(&power(-s), bound), Some(-s), "-{numerator}/{delta}");
        }
    }
}
