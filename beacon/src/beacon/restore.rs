//! Makes a beacon from its configuration and its records, and records from a beacon.
//!
//! Rule 5 across a crash: an early release stays on record. It is released again when the engine casts that
//! vote again, for the same value and no other. It does not leave by itself: nobody knows whether the vote
//! was cast, and a partial without a vote is a leak ([`contract`](crate::contract)). A final slot needs no
//! vote, so its late partial is sent again at once. The same keys and inputs give the same bytes, so peers
//! see duplicates.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use prefinal_protocol::{Instant, Slot};

use super::Beacon;
use super::foresight::Guesses;
use super::missed::Missed;
use super::recall::Recall;
use crate::config::{Config, Limits, Split, split};
use crate::config_error::ConfigError;
use crate::history::{Answer, History, Resends, Shows};
use crate::schemes::Scheme;
use crate::wire::Record;
use prefinal_contract::Binding;
use prefinal_contract::Standing;
use prefinal_contract::lost::{Life, LostSlots};

impl<S: Scheme> Beacon<S> {
    /// Makes a beacon that continues after `records`, oldest first. There are none at the very start. Outputs
    /// that it has at once can be taken from [`poll`](prefinal_protocol::Machine::poll).
    ///
    /// # Errors
    /// If the configuration contradicts itself, or does not fit the records.
    pub fn new(config: Config<S>, records: &[Record]) -> Result<Self, ConfigError> {
        if config.life == Life::First && !records.is_empty() {
            return Err(ConfigError::FirstLife { records: records.len() });
        }
        let mut beacon = Self::replayed(config, records)?;
        // A party without peers has nobody to ask.
        beacon.recall();
        Ok(beacon)
    }

    /// Makes the next epoch's beacon, in the same life as this one, with the records that it needs.
    ///
    /// # Errors
    /// If the configuration contradicts itself.
    pub(crate) fn succeeded(
        &self,
        config: Config<S>,
        records: &[Record],
    ) -> Result<Self, ConfigError> {
        let (life, first) = (self.life(), config.first);
        let mut beacon = Self::replayed(Config { life, ..config }, records)?;
        // Peers of this epoch say nothing about slots behind its end. If a lost life may have been there, the
        // peers of the next epoch are asked.
        let known = self.standing.lost.first_free().filter(|free| *free <= first);
        if let Some(free) = known {
            beacon.standing.lost = LostSlots::Before(free);
        }
        beacon.recall();
        Ok(beacon)
    }

    fn replayed(config: Config<S>, records: &[Record]) -> Result<Self, ConfigError> {
        let Config { context, me, paths, binding, fast_attempt, .. } = config;
        let Config { finality, first, life, limits, .. } = config;
        if first.next() == first {
            return Err(ConfigError::LastSlot { first });
        }
        let Split { plan, schedule, keys, secrets } =
            split(paths, me, &context, binding, &finality)?;
        // If inputs have a value, every slot has an input.
        if binding != Binding::Value && S::input(&context, binding, first, None).is_none() {
            return Err(ConfigError::NoInput { first });
        }
        // The head of the FIFO is always kept.
        let limits = Limits { backlog: limits.backlog.max(1), ..limits };
        let mut beacon = Self {
            context,
            me,
            plan,
            schedule,
            binding,
            fast_attempt,
            limits,
            secrets,
            keys: Arc::new(keys),
            standing: Standing { lost: life.lost(), ..Standing::default() },
            recall: Recall::new(life, first),
            finality,
            open: BTreeMap::new(),
            first,
            head: first,
            local: first,
            history: History::new(limits.history),
            passed_over: None,
            // Half of an honest peer's pause, so that jitter does not make this party refuse every other
            // request.
            given: Resends::new(limits.answers, limits.retry / 2),
            behind: Resends::new(1, limits.retry / 2),
            shows: Shows::new(&limits),
            missed: Missed::default(),
            foresight: Guesses::default(),
            suspects: BTreeSet::new(),
            accused: BTreeSet::new(),
            told_no_shares: false,
            stall: None,
            later: first,
            outputs: VecDeque::new(),
        };
        beacon.replay(records);
        Ok(beacon)
    }

    /// The fewest records that restore what this beacon must not forget. A driver may replace its log by
    /// them, followed by the records that come later.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Record> {
        let mut records = Vec::new();
        records.extend(self.standing.abandoned.map(|view| Record::Abandoned { view }));
        records.extend(self.schedule.switches().map(Record::Switched));
        let passed_over = self.passed_over.as_ref();
        records.extend(passed_over.map(|slots| {
            let (first, last) = (*slots.start(), *slots.end());
            Record::PassedOver { first, last }
        }));
        let finished = self.history.values();
        let open = self.open.iter().filter_map(|(slot, open)| Some((*slot, open.value()?)));
        records.extend(finished.map(|(slot, value)| Record::Finalized { slot, value }));
        let last = self.head.get().checked_sub(1).filter(|_| self.head > self.first);
        records.extend(last.map(|last| Record::Revealed { slot: Slot::new(last) }));
        records.extend(open.map(|(slot, value)| Record::Finalized { slot, value }));
        let released = self.standing.released.iter();
        records.extend(released.map(|(&slot, &value)| Record::Released { slot, value }));
        records
    }

    fn replay(&mut self, records: &[Record]) {
        let mut finals = BTreeMap::new();
        for record in records {
            match *record {
                // The first release of a slot stands.
                Record::Released { slot, value } => {
                    self.standing.released.entry(slot).or_insert(value);
                }
                Record::Finalized { slot, value } => {
                    finals.entry(slot).or_insert(value);
                }
                Record::Abandoned { view } => {
                    self.standing.abandoned = self.standing.abandoned.max(Some(view));
                }
                Record::Revealed { slot } => self.head = self.head.max(slot.next()),
                Record::Switched(switch) => self.schedule.apply(switch),
                Record::WasOff { first, last } => self.schedule.apply_off(first, last),
                Record::PassedOver { first, last } => {
                    self.head = self.head.max(last.next());
                    self.note_passed_over(first.max(self.first), last);
                }
            }
        }
        self.local = self.head;
        self.standing.released = self.standing.released.split_off(&self.head);
        let open = finals.split_off(&self.head);
        for (slot, value) in finals {
            self.history.push(slot, Answer::new(value, None));
        }
        self.forget();
        for (slot, value) in open {
            // Others may have sent their partials while this party was down: ask at once.
            self.enter_final(slot, value, Instant::START);
            self.release_late(slot);
        }
        self.advance_all();
        self.reveal();
    }
}
