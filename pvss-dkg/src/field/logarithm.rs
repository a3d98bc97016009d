//! Takes small numbers out of the exponent: baby steps in a table, giant steps on demand.
//!
//! An honest chunk is below 2¹⁶ and stands in a table of 2¹⁶ entries. A cheating dealer can get past
//! the proof of chunking only with `s = n/Δ`, `0 < Δ < E` and `|n| < Z`. Then `(g^s)^Δ = g^n`, and `n`
//! is searched with a larger table, for all `Δ` side by side.
//!
//! | table  | entries `m` | bytes  | built                          | covers with one step      |
//! |--------|-------------|--------|--------------------------------|---------------------------|
//! | honest | 2¹⁶         | 512 Ki | with the first decryption      | `|n| ≤ m`                 |
//! | large  | 2²²         | 32 Mi  | when the first chunk asks for it | `|n| ≤ m`               |
//!
//! An entry holds `n` and 42 bits of the abscissa of `n·g`. The point `−n·g` has the same abscissa, so
//! each entry stands for both. A match is computed in full before it counts. Tables live as long as the
//! process and are shared by all threads. The worst case is `E·Z/m` giant steps for a chunk, each one
//! addition and part of a batched inversion: at 324 shares 15 · 2¹⁶ of them, at 2048 shares 15 · 2¹⁹.
//!
//! **A whole dealing.** A dealer that tries `2³²` times may well halve all its chunks: in each of the
//! 32 repetitions the sum is an integer half of the time. If one `Δ` were searched to its end after the
//! other, each chunk would cost `Z/m` steps before `Δ = 2` is even tried. Side by side, the cost
//! depends on the size of the numerators, and there all chunks share the room of the sums: `K` of them
//! have `|n|` of some `Z/(20·√K)` each, or most attempts leave the range. So they take about `√K·Z/m`
//! steps together. One by one they would take `K·Z/m`.
//!
//! **A whole epoch.** Each dealing has its own proof and its own room, so the bound holds for each
//! cheating dealer separately: `B` dealings from them cost a recipient up to `B` times as much as one.
//! The value of `B`:
//!
//! | what is made    | dealings that count                      | of which the adversary's              |
//! |-----------------|------------------------------------------|---------------------------------------|
//! | a fresh key     | of dealers just above `qualify` in stake | at most as many as it has dealers     |
//! | a key handed on | `t`, one for each share                  | at most its weight, below `t`         |
//!
//! With `w` shares on each of `p` paths a recipient has `K = 16·w·p` chunks in a dealing. So the worst
//! case of an epoch is `B·E·√K·Z/m` giant steps in all (`E` for the denominators that are tried side by
//! side). Honest dealings take none. A cheating dealer can be shown to everybody once (`large`).
//!
//! Looking up a secret in a table is not constant time. It happens on the recipient's own machine, once
//! for each dealing.
use std::ops::Range;
use std::sync::LazyLock;

use prefinal_crypto_core::curve::{G1Affine, G1Projective, Scalar};

use super::chunk::BITS;
use super::chunking::CHALLENGES;
use crate::deal::TABLE_G;

const HONEST: u32 = BITS;
/// The same number in bytes.
const HONEST_BYTES: usize = 2;
const LARGE: u32 = 22;
/// Number of points of a table that are made affine with one inversion.
const BATCH: usize = 1024;
/// Number of steps of one walk before the next walk continues.
const PACE: usize = 64;
const INDEX_BITS: u32 = 22;

static HONEST_TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(HONEST));
static LARGE_TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(LARGE));

/// The `s` with `g^s = point`, if it is a chunk that can pass the proof for `Z = bound`.
pub(crate) fn chunk(point: &G1Affine, bound: u64) -> Option<Scalar> {
    HONEST_TABLE.find(point).or_else(|| cheated(point, bound))
}

/// Whether an honest dealer may have encrypted this chunk: whether it is below 2¹⁶.
pub(crate) fn is_honest(chunk: &Scalar) -> bool {
    let bytes = chunk.to_bytes();
    let (high, _) = bytes.split_at(bytes.len().saturating_sub(HONEST_BYTES));
    high.iter().all(|byte| *byte == 0)
}

/// Whether the point is `g^s` for such a chunk `s`.
pub(crate) fn is_honest_power(point: &G1Affine) -> bool {
    HONEST_TABLE.find(point).is_some_and(|chunk| is_honest(&chunk))
}

/// `n/Δ` with about the least possible `|n|`.
fn cheated(point: &G1Affine, bound: u64) -> Option<Scalar> {
    LARGE_TABLE.search(point, 1..CHALLENGES, bound)
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
            let block = block(&mut next, &step, BATCH);
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

    /// `n/Δ` with `Δ·point = n·g` and `|n| ≤ bound`, searched from the least `|n|` on.
    fn search(&self, point: &G1Affine, deltas: Range<u64>, bound: u64) -> Option<Scalar> {
        let stride = 2 * self.size + 1;
        let step = G1Affine::from(G1Affine::generator() * Scalar::from_u64(stride));
        let walks = deltas.flat_map(|delta| {
            let delta = Scalar::from_u64(delta);
            let (next, stride) = (*point * delta, Scalar::from_u64(stride));
            let walk = Walk { delta, next, back: -step, stride, count: Scalar::ZERO };
            [walk, Walk { back: step, stride: -stride, ..walk }]
        });
        let mut walks: Vec<Walk> = walks.collect();
        // The first step is the table itself.
        let mut left = bound.div_ceil(stride) + 1;
        let mut pace = 1;
        while left > 0 {
            if let Some(found) = walks.iter_mut().find_map(|walk| walk.advance(self, pace)) {
                return Some(found);
            }
            left = left.saturating_sub(u64::try_from(pace).unwrap_or(u64::MAX));
            pace = PACE;
        }
        None
    }
}

/// The search for one denominator and one sign of its numerator.
#[derive(Clone, Copy)]
struct Walk {
    /// `Δ`
    delta: Scalar,
    /// `Δ·point − count·stride·g`
    next: G1Projective,
    /// `−stride·g`
    back: G1Affine,
    stride: Scalar,
    count: Scalar,
}

impl Walk {
    /// Takes some steps, and returns the number if a step comes within reach of it.
    fn advance(&mut self, table: &Table, steps: usize) -> Option<Scalar> {
        for point in block(&mut self.next, &self.back, steps) {
            if let Some(rest) = table.find(&point) {
                return Some((rest + self.stride * self.count) * self.delta.invert()?);
            }
            self.count += Scalar::ONE;
        }
        None
    }
}

const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;

/// The next `count` points of a walk; moves the walk on.
fn block(next: &mut G1Projective, step: &G1Affine, count: usize) -> Vec<G1Affine> {
    let points: Vec<G1Projective> =
        (0..count).map(|_| std::mem::replace(next, *next + *step)).collect();
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
    fn honest_chunks_have_sixteen_bits() {
        let honest = [0, 1, (1 << BITS) - 1].map(Scalar::from_u64);
        let large = [1, 1 << BITS, (1 << BITS) + 1, 1 << 30].map(Scalar::from_u64);
        let large = [-large[0], large[1], -large[1], large[2], large[3]];
        assert!(honest.iter().all(|s| is_honest(s) && is_honest_power(&power(*s))));
        assert!(!large.iter().any(|s| is_honest(s) || is_honest_power(&power(*s))));
    }

    #[test]
    fn walks_cover_the_bound_without_a_gap_on_both_sides() {
        let table = Table::new(3);
        let bound = 40_000;
        for n in (0..200).chain([16_999, 17_000, 17_001, bound - 1, bound]) {
            let n = Scalar::from_u64(n);
            assert_eq!(table.search(&power(n), 1..2, bound), Some(n));
            assert_eq!(table.search(&power(-n), 1..2, bound), Some(-n));
        }
        let beyond = Scalar::from_u64(bound + 20_000);
        assert_eq!(table.search(&power(beyond), 1..2, bound), None);
    }

    /// A dealer can halve all its chunks at the price of 2³² attempts, so halves must not wait until
    /// all integers were tried: at this bound that would take 2³⁹ steps.
    #[test]
    fn a_small_numerator_is_found_fast_whatever_its_denominator() {
        let table = Table::new(8);
        for (numerator, delta) in [(3_u64, 2), (100_001, 2), (1 << 16, 15), (77_777, 8)] {
            let s = Scalar::from_u64(numerator) * Scalar::from_u64(delta).invert().unwrap();
            for s in [s, -s] {
                assert_eq!(table.search(&power(s), 1..CHALLENGES, 1 << 48), Some(s));
            }
        }
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
