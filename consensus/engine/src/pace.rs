//! When the leader of a round proposes: after a pause in each round, or at a fixed time for each.
use core::time::Duration;

use prefinal_protocol::Instant;

/// When the leader of a round proposes: after a pause in the round, and when the round is due.
///
/// ```text
/// max(entered + pause, min(entered + period, START + (before + round − 1) · period))
/// ```
/// With a period, rounds start at their due times. While they are behind, they follow one after the
/// other without a pause. A clock that starts again from zero after a restart is behind by all earlier
/// rounds; then rounds come one period apart. With both at zero, rounds are as fast as the network.
///
/// ```
/// use std::time::Duration;
///
/// use prefinal_engine::Pace;
/// use prefinal_protocol::Instant;
///
/// let second = Duration::from_secs(1);
/// let pace = Pace { pause: Duration::ZERO, period: second, before: 0 };
/// let entered = Instant::at(second / 2);
/// assert_eq!(pace.proposes_at(entered, 2), Instant::at(second)); // early: waits until the round is due
/// assert_eq!(pace.proposes_at(Instant::at(3 * second), 2), Instant::at(3 * second)); // late: at once
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Pause after the round was entered.
    pub pause: Duration,
    /// Time from the start of one round to the next.
    pub period: Duration,
    /// Number of rounds that are due before the engine's first round: the rounds of earlier epochs.
    pub before: u64,
}

impl Pace {
    /// No pause and no period: as fast as the network.
    pub const NONE: Self = Self { pause: Duration::ZERO, period: Duration::ZERO, before: 0 };

    /// The time to propose in a round that was entered at `entered`. Rounds count from one.
    #[must_use]
    pub fn proposes_at(&self, entered: Instant, round: u64) -> Instant {
        let before = self.before.saturating_add(round).saturating_sub(1);
        let before = u32::try_from(before).unwrap_or(u32::MAX);
        let due = Instant::START + self.period.saturating_mul(before);
        due.min(entered + self.period).max(entered + self.pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_proposed_in_when_it_is_due_and_has_rested() {
        let second = |count| Instant::at(Duration::from_secs(count));
        let (pause, period) = (Duration::from_secs(2), Duration::from_secs(10));
        let pace = Pace { pause, period, before: 0 };
        assert_eq!(pace.proposes_at(Instant::START, 1), second(2));
        assert_eq!(pace.proposes_at(second(11), 3), second(20));
        assert_eq!(pace.proposes_at(second(35), 3), second(37));
        assert_eq!(pace.proposes_at(second(35), 100_000), second(45), "since a restart");
        let later = Pace { before: 2, ..pace };
        assert_eq!(later.proposes_at(second(11), 1), second(20), "of a later epoch");
        assert_eq!(Pace::NONE.proposes_at(second(5), u64::MAX), second(5));
        let far = Pace { period: Duration::MAX, ..Pace::NONE };
        assert_eq!(far.proposes_at(second(5), u64::MAX), Instant::at(Duration::MAX));
    }
}
