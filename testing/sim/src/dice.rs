//! All randomness of a simulation: one ChaCha20 stream, drawn in the order of events.

use std::time::Duration;

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::time::nanos;

const MILLION: u32 = 1_000_000;

/// A probability in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chance {
    per_million: u32,
}

impl Chance {
    /// Probability zero.
    pub const NEVER: Self = Self { per_million: 0 };
    /// Probability one.
    pub const ALWAYS: Self = Self { per_million: MILLION };

    /// `count` in a million. More than a million is certainty.
    #[must_use]
    pub fn per_million(count: u32) -> Self {
        Self { per_million: count.min(MILLION) }
    }

    /// `percent` in a hundred. More than a hundred is certainty.
    #[must_use]
    pub fn percent(percent: u32) -> Self {
        Self::per_million(percent.saturating_mul(10_000))
    }
}

/// The seeded generator of one simulation. Rules use it too, so that they can be replayed.
#[derive(Debug)]
pub struct Dice {
    rng: ChaCha20Rng,
}

impl Dice {
    /// The generator with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rng: ChaCha20Rng::seed_from_u64(seed) }
    }

    /// A number below `bound`, or zero for bound zero. The bias, `bound / 2⁶⁴`, is far below what a
    /// simulation can see.
    pub fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.rng.next_u64()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(u64::MAX)
    }

    /// A number in `low..=high`; `low` if the two are in the wrong order.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low.saturating_add(self.below(high.saturating_sub(low).saturating_add(1)))
    }

    /// A duration in `low..=high`, to the nanosecond.
    pub fn duration(&mut self, low: Duration, high: Duration) -> Duration {
        Duration::from_nanos(self.between(nanos(low), nanos(high)))
    }

    /// Whether something with this probability happens now.
    pub fn happens(&mut self, chance: Chance) -> bool {
        self.below(u64::from(MILLION)) < u64::from(chance.per_million)
    }

    /// 32 bytes that hardly come twice, as the name of something that there is not.
    pub fn bytes(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.below(u64::MAX).to_be_bytes());
        }
        bytes
    }

    /// Shuffles with the algorithm of Fisher and Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let bound = u64::try_from(last).unwrap_or(u64::MAX).saturating_add(1);
            let other = usize::try_from(self.below(bound)).unwrap_or(last);
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_in_range_and_reach_both_ends() {
        let mut dice = Dice::new(1);
        let mut seen = [0u32; 4];
        for _ in 0..4000 {
            let draw = dice.between(10, 13);
            seen[usize::try_from(draw - 10).unwrap()] += 1;
        }
        assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
        assert_eq!(dice.between(5, 4), 5);
        assert_eq!(dice.below(0), 0);
        assert_eq!(dice.between(u64::MAX, u64::MAX), u64::MAX);
        let _ = dice.between(0, u64::MAX);
    }

    #[test]
    fn certain_and_impossible_are_exact() {
        let mut dice = Dice::new(2);
        assert!((0..10_000).all(|_| dice.happens(Chance::ALWAYS)));
        assert!((0..10_000).all(|_| !dice.happens(Chance::NEVER)));
        assert_eq!(Chance::percent(250), Chance::ALWAYS);
    }

    #[test]
    fn a_shuffle_keeps_the_items_and_depends_on_the_seed() {
        let deal = |seed| {
            let mut items: Vec<u32> = (0..50).collect();
            Dice::new(seed).shuffle(&mut items);
            items
        };
        let mut sorted = deal(7);
        assert_eq!(deal(7), deal(7));
        assert_ne!(deal(7), deal(8));
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }
}
