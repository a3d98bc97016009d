//! Splits work on many values into parts.
//!
//! With the feature `parallel` the parts run on the caller's rayon pool, one part for each of its
//! threads, and no part is smaller than what pays off. This module never creates a pool, and small
//! work does not use one. Without the feature there is one part. A sum or product of parts is the
//! same element however the work is split, so results do not depend on the feature or the pool.
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// Runs `work` on ranges that cover `0..count` in order. Each range has at least `least` values,
/// except perhaps the last one.
#[cfg(feature = "parallel")]
pub fn in_parts<T: Send>(
    count: usize,
    least: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    use rayon::prelude::*;

    // Asking for the number of threads starts the global pool, so this is done only if there is work
    // for two threads.
    if count < 2 * least {
        return vec![work(0..count)];
    }
    let length = count.div_ceil(rayon::current_num_threads()).max(least);
    if length >= count {
        return vec![work(0..count)];
    }
    let starts = (0..count).into_par_iter().step_by(length);
    starts.map(|start| work(start..count.min(start + length))).collect()
}

/// Runs `work` on all of `0..count`.
#[cfg(not(feature = "parallel"))]
pub fn in_parts<T: Send>(
    count: usize,
    _least: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    vec![work(0..count)]
}
