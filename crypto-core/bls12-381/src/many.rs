//! Work on many values, in parts.
//!
//! With the feature `parallel` the parts run on the rayon pool that the caller is in, one for each of
//! its threads, none smaller than pays; a pool is never made here, and little work does not ask for
//! one. Without the feature there is one part. What is summed or multiplied up from parts is the
//! same element whatever the parts are, so results do not depend on the feature or the pool.
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// `work` on ranges that cover `0..count` in order, each of at least `least` unless it is the last.
#[cfg(feature = "parallel")]
pub fn in_parts<T: Send>(
    count: usize,
    least: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    use rayon::prelude::*;

    // Asking for the number of threads starts the global pool, so only if there is work for two.
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

/// `work` on all of `0..count`.
#[cfg(not(feature = "parallel"))]
pub fn in_parts<T: Send>(
    count: usize,
    _least: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    vec![work(0..count)]
}
