//! Sums of products by Pippenger's buckets, for a backend that has none of its own.
//!
//! A scalar is cut into windows of `c` bits with signed digits (Booth): from bits `cw − 1` to
//! `cw + c − 1` the digit is `−2^(c−1)·b_(top) + … + b_(bottom)`, between `−2^(c−1)` and `2^(c−1)`, and
//! needs no carry from other windows. Per window, each point is added to the bucket of its digit,
//! and `Σ d·bucket_d` is two additions per bucket. Time depends on the scalars.
use alloc::vec;

use super::Group;

/// Windows are at most this wide, so that a digit with its neighbours fits into three bytes.
const WIDEST: usize = 15;

/// `Σ scalarᵢ·pointᵢ` over little-endian scalars of at most `bits` bits; the shorter slice decides.
pub(super) fn buckets<G: Group, const LEN: usize>(
    points: &[&G::RawAffine],
    scalars: &[[u8; LEN]],
    bits: usize,
) -> G::RawProjective {
    let count = points.len().min(scalars.len());
    let width = width(count, bits);
    let mut sum = G::IDENTITY;
    if count == 0 {
        return sum;
    }
    let mut buckets = vec![G::IDENTITY; 1 << (width - 1)];
    // One bit more than the scalars have, since the highest digit must not be negative.
    for window in (0..(bits + 1).div_ceil(width)).rev() {
        for _ in 0..width {
            sum = G::double(&sum);
        }
        buckets.fill(G::IDENTITY);
        for (point, scalar) in points.iter().zip(scalars) {
            let (negative, size) = digit(scalar, window, width);
            let bucket = size.checked_sub(1).and_then(|index| buckets.get_mut(index));
            if let Some(bucket) = bucket {
                let mut term = **point;
                if negative {
                    G::negate_affine(&mut term);
                }
                *bucket = G::add_affine(bucket, &term);
            }
        }
        let mut running = G::IDENTITY;
        for bucket in buckets.iter().rev() {
            running = G::add(&running, bucket);
            sum = G::add(&sum, &running);
        }
    }
    sum
}

/// The width that needs the fewest additions: each window adds every point once and every bucket
/// twice.
fn width(points: usize, bits: usize) -> usize {
    let additions = |width: &usize| (bits / width + 1) * (points + (1 << width));
    (1..=WIDEST).min_by_key(additions).unwrap_or(1)
}

/// Sign and size of a signed digit.
fn digit(scalar: &[u8], window: usize, width: usize) -> (bool, usize) {
    // The bits of the window and the one below, which is zero below the lowest.
    let raw = match (window * width).checked_sub(1) {
        Some(from) => bits_from(scalar, from, width + 1),
        None => bits_from(scalar, 0, width) << 1,
    };
    let rounded = raw.div_ceil(2);
    if raw >> width == 1 { (true, (1 << width) - rounded) } else { (false, rounded) }
}

/// `count` bits from position `from` on, zeros beyond the end.
fn bits_from(scalar: &[u8], from: usize, count: usize) -> usize {
    let mut bytes = scalar.iter().skip(from / 8).copied().map(usize::from);
    let mut word = 0;
    for shift in [0, 8, 16] {
        word |= bytes.next().unwrap_or(0) << shift;
    }
    (word >> (from % 8)) & ((1 << count) - 1)
}
