//! Whether a run gets on: a committee that works without an end and comes to nothing is stuck as well.
//!
//! | counts as progress                                      | until                              |
//! |---------------------------------------------------------|------------------------------------|
//! | a dealing more counts for a party, a party has its keys  | all have their keys                |
//! | a job of the key generation is done                      | all have their keys                |
//! | all parties have the value of a slot more                | the end                            |
//!
//! All of these are finitely many for each value, whatever the parties do. What an engine can do for ever
//! is none: rounds that are skipped or become final, jobs of the engine, and values that some parties have
//! while another never gets them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use tokio::time::Instant as Clock;

use crate::party::PartyEvent;
use prefinal_registry::NamedScheme;
use prefinal_validator::Event;

/// When a run counts as stuck.
pub(super) struct Pulse {
    patience: Duration,
    parties: usize,
    last: Clock,
    /// How many dealings count for each party.
    dealings: BTreeMap<(EpochId, Party), usize>,
    ready: BTreeSet<(EpochId, Party)>,
    /// How many jobs of the key generation were done when it was last asked.
    jobs: u64,
    /// The last slot that all parties have.
    slot: Option<u64>,
}

impl Pulse {
    pub(super) fn new(now: Clock, parties: usize, patience: Duration) -> Self {
        Self {
            patience,
            parties,
            last: now,
            dealings: BTreeMap::new(),
            ready: BTreeSet::new(),
            jobs: 0,
            slot: None,
        }
    }

    /// Takes what a party noticed.
    pub(super) fn notice<S: NamedScheme>(&mut self, now: Clock, noticed: &PartyEvent<S>) {
        let is_new = match &noticed.event {
            Event::Dealing { epoch, dealings, .. } => {
                let most = self.dealings.entry((*epoch, noticed.by)).or_default();
                let is_more = dealings > most;
                *most = (*most).max(*dealings);
                is_more
            }
            Event::Ready { epoch, .. } => self.ready.insert((*epoch, noticed.by)),
            _ => false,
        };
        if is_new {
            self.last = now;
        }
    }

    /// All parties have this slot's value.
    pub(super) fn show(&mut self, now: Clock, slot: u64) {
        if self.slot < Some(slot) {
            (self.last, self.slot) = (now, Some(slot));
        }
    }

    /// Nothing is expected of all parties yet.
    pub(super) const fn rest(&mut self, now: Clock) {
        self.last = now;
    }

    /// When it is time to look at [`Self::stuck`].
    pub(super) fn deadline(&self) -> Clock {
        self.last + self.patience
    }

    /// Why the run is stuck, if it is; so many jobs of the key generation are done by now.
    pub(super) fn stuck(&mut self, now: Clock, jobs: u64) -> Option<String> {
        if now < self.deadline() {
            return None;
        }
        let newest = self.dealings.keys().map(|(epoch, _)| *epoch).max();
        let ready = self.ready.iter().filter(|(epoch, _)| Some(*epoch) >= newest).count();
        let is_making_keys = ready < self.parties;
        if is_making_keys && self.jobs < jobs {
            (self.jobs, self.last) = (jobs, now);
            return None;
        }
        let seconds = self.patience.as_secs();
        let parties = self.parties;
        let what = match self.slot {
            Some(slot) => format!("slot {slot} is the last whose value all parties have"),
            None if is_making_keys => {
                let dealings = self.dealings.values().max().copied().unwrap_or(0);
                format!("{ready} of {parties} parties have their keys, {dealings} dealings count")
            }
            None => "all parties have their keys, and no slot has a value".to_owned(),
        };
        Some(format!("no progress for {seconds} s: {what}"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use ::prefinal_beacon::{Bls, Slot, Value};
    use prefinal_protocol::Instant;
    use prefinal_validator::keygen::Progress;
    use prefinal_validator::setup::FIRST;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    struct Run {
        pulse: Pulse,
        start: Clock,
        seconds: u64,
        jobs: u64,
    }

    impl Run {
        fn new() -> Self {
            let start = Clock::now();
            Self { pulse: Pulse::new(start, 2, PATIENCE), start, seconds: 0, jobs: 0 }
        }

        fn now(&self) -> Clock {
            self.start + Duration::from_secs(self.seconds)
        }

        /// Half of what the watchdog waits for passes, then this happens.
        fn then(&mut self, by: u32, event: Event<Bls>) -> Option<String> {
            self.seconds += 30;
            let noticed = PartyEvent { by: Party::new(by), at: Instant::START, event };
            self.pulse.notice(self.now(), &noticed);
            self.pulse.stuck(self.now(), self.jobs)
        }

        fn deals(&mut self, by: u32, dealings: usize) -> Option<String> {
            self.then(by, Event::Dealing { epoch: FIRST, dealings, progress: Progress::Qualified })
        }

        /// The engine goes on and on.
        fn works_until_stuck(&mut self) -> Option<String> {
            (0..10_u64).find_map(|slot| {
                let block = Some(Value::new([1; 32]));
                let slot = Slot::new(self.seconds + slot);
                self.then(0, Event::Skipped(slot));
                self.then(0, Event::Finalized { slot, block })
            })
        }
    }

    #[test]
    fn work_without_progress_is_no_sign_of_life() {
        let mut run = Run::new();
        let why = run.works_until_stuck().unwrap();
        assert!(why.contains("60 s: 0 of 2 parties have their keys, 0 dealings count"), "{why}");
        assert_eq!(run.seconds, 60);
        // The same dealing again and again is none either.
        let mut run = Run::new();
        assert_eq!(run.deals(0, 1), None);
        let why = (0..9).find_map(|_| run.deals(0, 1)).unwrap();
        assert!(why.contains("1 dealings count"), "{why}");
        assert_eq!(run.seconds, 90);
    }

    #[test]
    fn slow_progress_is_waited_for() {
        let mut run = Run::new();
        for dealings in 1..20 {
            assert_eq!([run.deals(0, dealings), run.deals(1, dealings)], [None, None]);
        }
        // Parties open their shares, one after the other; nothing is noticed of it.
        for _ in 0..20 {
            run.jobs += 1;
            run.seconds += 60;
            assert_eq!(run.pulse.stuck(run.now(), run.jobs), None);
        }
        assert!(run.works_until_stuck().is_some());
    }

    #[test]
    fn values_that_one_party_never_gets_end_a_run() {
        let mut run = Run::new();
        run.pulse.ready.extend([0, 1].map(|party| (FIRST, Party::new(party))));
        for slot in 7..30 {
            run.seconds += 59;
            run.pulse.show(run.now(), slot);
            assert_eq!(run.pulse.stuck(run.now(), 0), None);
        }
        // From here on the other party reveals alone, and what it computes is no progress.
        run.jobs = 1000;
        let why = run.works_until_stuck().unwrap();
        assert!(why.contains("slot 29 is the last"), "{why}");
    }
}
