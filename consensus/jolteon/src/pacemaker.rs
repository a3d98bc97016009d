//! When a round has taken too long.
//!
//! A round lasts `timeout · 2^k` from its leader's proposal, where `k` is the number of rounds since
//! the highest certificate. So after enough failures in a row everybody waits long enough for everybody
//! else, whatever the network's delay is. `k` is computed from certificates alone and survives a
//! restart. After the end of the round the timeout is sent again every `timeout` until the round
//! advances, because messages get lost.
//!
//! See also `round` for entering and leaving rounds.
use core::time::Duration;

use ::prefinal_engine::Pace;
use prefinal_protocol::Instant;

use crate::block::Round;

/// Largest number of doublings: 64 times the timeout.
const MAX_DOUBLINGS: u32 = 6;

#[derive(Debug)]
pub(crate) struct Pacemaker {
    timeout: Duration,
    pace: Pace,
    round: Round,
    entered: Instant,
    deadline: Instant,
}

impl Pacemaker {
    pub(crate) const fn new(timeout: Duration, pace: Pace) -> Self {
        let (round, entered) = (Round::GENESIS, Instant::START);
        Self { timeout, pace, round, entered, deadline: entered }
    }

    pub(crate) const fn round(&self) -> Round {
        self.round
    }

    /// Starts a round; `certified` is the highest round with a certificate.
    pub(crate) fn enter(&mut self, now: Instant, round: Round, certified: Round) {
        let failures = round.get().saturating_sub(certified.get()).saturating_sub(1);
        let doublings = u32::try_from(failures).unwrap_or(u32::MAX).min(MAX_DOUBLINGS);
        self.round = round;
        self.entered = now;
        self.deadline = self.proposes_at() + self.timeout.saturating_mul(1 << doublings);
    }

    /// When the round's leader proposes.
    pub(crate) fn proposes_at(&self) -> Instant {
        self.pace.proposes_at(self.entered, self.round.get())
    }

    pub(crate) const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether a timeout must be sent now. If so, the next one is due after `timeout`.
    pub(crate) fn expired(&mut self, now: Instant) -> bool {
        let expired = now >= self.deadline;
        if expired {
            self.deadline = now + self.timeout;
        }
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u64) -> Instant {
        Instant::at(SECOND * u32::try_from(seconds).unwrap())
    }

    #[test]
    fn failures_double_the_wait_up_to_a_bound() {
        let mut pacemaker = Pacemaker::new(SECOND, Pace::NONE);
        for (round, wait) in [(6, 1), (7, 2), (8, 4), (12, 64), (1000, 64)] {
            pacemaker.enter(at(0), Round::new(round), Round::new(5));
            assert_eq!(pacemaker.deadline(), at(wait), "round {round}");
        }
    }

    #[test]
    fn nobody_gives_a_round_up_before_its_leader_had_time() {
        let mut pacemaker =
            Pacemaker::new(SECOND, Pace { pause: SECOND, period: SECOND * 10, before: 0 });
        for (now, proposes) in [(19, 20), (25, 26)] {
            pacemaker.enter(at(now), Round::new(3), Round::new(2));
            assert_eq!(pacemaker.proposes_at(), at(proposes));
            assert_eq!(pacemaker.deadline(), at(proposes + 1));
        }
    }

    #[test]
    fn a_timeout_is_repeated_at_the_base_rate() {
        let mut pacemaker = Pacemaker::new(SECOND, Pace::NONE);
        pacemaker.enter(at(0), Round::new(3), Round::new(0));
        assert!(!pacemaker.expired(at(3)));
        assert!(pacemaker.expired(at(4)) && !pacemaker.expired(at(4)));
        assert!(pacemaker.expired(at(5)));
    }
}
