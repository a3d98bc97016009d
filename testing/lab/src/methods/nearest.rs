//! Round to the nearest, with an additive bound, as Aptos deployed it for its randomness.
//!
//! For an ideal total `τ` party `i` ideally gets `τ·xᵢ/X` and in fact the nearest integer. With `δ↑`
//! the sum of all that was rounded up and `δ↓` of all that was rounded down, a set of stake `s·X` has
//! weight at most `s·τ + δ↑`, so `T = ⌈s·τ + δ↑⌉ + 1` keeps the secret, and stake `s·X + (δ↑ + δ↓)·X/τ`
//! is taken to reconstruct (the rounding of `T` is not counted, which our verifier notices on one of the
//! shipped tables). The least `τ` with `s + (δ↑ + δ↓)/τ ≤ r` is looked for by bisection
//! between the number of parties and `(n/2 + 2)/(r − s)`, where the bound always holds; between them
//! it does not fall evenly, so what is found is one of several turning points.

use prefinal_weighted_rounding::Ratio;

use super::Task;

/// A rounding to the nearest: its weights, and the thresholds that go with them.
pub(super) struct Found {
    pub(super) weights: Vec<u32>,
    pub(super) threshold: u32,
    /// The threshold of a second secrecy ratio.
    pub(super) early: Option<u32>,
}

/// Weights and threshold for the task, and for a second secrecy ratio.
pub(super) fn find(task: &Task, early: Option<Ratio>) -> Option<Found> {
    let (below, above, scale) = task.scaled_ratios()?;
    let enough = (task.holders() + 4).checked_mul(scale)?.div_ceil(2 * (above - below));
    let (mut low, mut high) = (task.holders(), enough.max(task.holders()));
    if Profile::new(task, low)?.accepted {
        high = low;
    }
    while low + 1 < high {
        let middle = low.midpoint(high);
        if Profile::new(task, middle)?.accepted {
            high = middle;
        } else {
            low = middle;
        }
    }
    let profile = Profile::new(task, high)?;
    if !profile.accepted {
        return None;
    }
    let threshold = profile.threshold(task, task.secrecy)?;
    // All shares reach it.
    let total: u32 = profile.weights.iter().sum();
    let early = early.map(|ratio| profile.threshold(task, ratio));
    let early = early.map(|found| Some(found?.min(total)));
    Some(Found { threshold, early: early.unwrap_or_default(), weights: profile.weights })
}

/// What one ideal total gives.
struct Profile {
    ideal: u128,
    weights: Vec<u32>,
    /// The sum of all that was rounded up, in units of 1/X.
    up: u128,
    accepted: bool,
}

impl Profile {
    fn new(task: &Task, ideal: u128) -> Option<Self> {
        // Errors in units of 1/X.
        let (mut up, mut down) = (0u128, 0u128);
        let mut weights = Vec::with_capacity(task.stakes.len());
        for stake in &task.stakes {
            let share = stake.checked_mul(ideal)?;
            let weight =
                share.checked_mul(2)?.checked_add(task.total)? / task.total.checked_mul(2)?;
            let rounded = weight.checked_mul(task.total)?;
            up = up.checked_add(rounded.saturating_sub(share))?;
            down = down.checked_add(share.saturating_sub(rounded))?;
            weights.push(u32::try_from(weight).ok()?);
        }
        let (below, above, scale) = task.scaled_ratios()?;
        let gap = (above - below).checked_mul(task.total)?.checked_mul(ideal)?;
        let accepted = up.checked_add(down)?.checked_mul(scale)? <= gap;
        Some(Self { ideal, weights, up, accepted })
    }

    /// The threshold that sets of this part of the stake stay below.
    fn threshold(&self, task: &Task, secrecy: Ratio) -> Option<u32> {
        let (part, whole) = (secrecy.numerator(), secrecy.denominator());
        let ideal_stake = part.checked_mul(self.ideal)?.checked_mul(task.total)?;
        let bound = ideal_stake.checked_add(self.up.checked_mul(whole)?)?;
        let threshold = bound.div_ceil(whole.checked_mul(task.total)?) + 1;
        u32::try_from(threshold).ok()
    }
}
