//! One divisor for all, remainders bounded, as Sui deployed it for its randomness.
//!
//! With `wᵢ = ⌊xᵢ/d⌋` and `δ = Σ (xᵢ mod d)`, a set of stake `b` has a weight between `(b − δ)/d` and
//! `b/d`. For `t = ⌊s·X⌋ + 1`, `T = ⌈t/d⌉` is out of reach below stake `t`, and reached from `t + δ` on.
//! The largest divisor with `t + δ ≤ r·X` wins; we try `d = ⌊X/k⌋` for `k = 1, 2, …`, which on Sui's own
//! stakes, small numbers that sum to 10 000, are the divisors that matter.

use super::Task;

/// Weights and threshold.
pub(super) fn round(task: &Task) -> Option<(Vec<u32>, u32)> {
    let least = task.leaking + 1;
    let spare = (task.total - task.missing).checked_sub(least)?;
    // `δ < n·d`, so a divisor of `spare/n` or less is accepted.
    let last = task.holders().checked_mul(task.total / (spare + 1) + 1)?;
    let mut divisors = (1..=last.min(task.total)).map(|parts| task.total / parts);
    let divisor = divisors.find(|divisor| {
        let lost: u128 = task.stakes.iter().map(|stake| stake % divisor).sum();
        lost <= spare
    })?;
    let weights = task.stakes.iter().map(|stake| u32::try_from(stake / divisor).ok());
    Some((weights.collect::<Option<_>>()?, u32::try_from(least.div_ceil(divisor)).ok()?))
}
