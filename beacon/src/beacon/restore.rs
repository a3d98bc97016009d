//! A beacon from its configuration and its records, and records from a beacon.
//!
//! Rule 5 across a crash: what was released early stays on record and is released again when the engine
//! casts that vote again, for the same value and no other. It does not leave by itself: nobody knows
//! whether the vote was cast, and a partial without a vote is a leak ([`contract`](crate::contract)).
//! What is final needs no vote, so final slots send their late partial again at once. The same keys and
//! inputs give the same bytes, so peers see duplicates.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use machine::Instant;

use super::Beacon;
use super::foresight::Foresight;
use super::missed::Missed;
use crate::config::{Binding, Config, ConfigError, Limits, Split, split};
use crate::contract::Standing;
use crate::history::{Answer, Given, History, Passed};
use crate::schemes::Scheme;
use crate::slot::Slot;
use crate::wire::Record;

impl<S: Scheme> Beacon<S> {
    /// A beacon that continues after `records`, oldest first; none at the very start. What it has to
    /// say at once waits in [`poll`](machine::Machine::poll).
    ///
    /// # Errors
    /// If the configuration contradicts itself.
    pub fn new(config: Config<S>, records: &[Record]) -> Result<Self, ConfigError> {
        let Config { context, me, paths, binding, fast_attempt, first, limits } = config;
        let Split { plan, schedule, keys, secrets } = split(paths, me, &context, binding)?;
        // With a value in it every slot has an input.
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
            standing: Standing::default(),
            open: BTreeMap::new(),
            head: first,
            local: first,
            history: History::new(limits.history),
            // Half of what an honest peer waits, so that jitter does not turn every other request down.
            given: Given::new(limits.answers, limits.retry / 2),
            behind: Given::new(1, limits.retry / 2),
            shown: Given::new(limits.outputs, limits.retry / 2),
            passed: Passed::new(limits.outputs),
            missed: Missed::default(),
            foresight: Foresight::default(),
            suspects: BTreeSet::new(),
            accused: BTreeSet::new(),
            outputs: VecDeque::new(),
        };
        beacon.replay(records);
        Ok(beacon)
    }

    /// The fewest records that restore what this beacon must not forget. A driver may replace its log
    /// by them, together with what it was given later.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Record> {
        let mut records = Vec::new();
        records.extend(self.standing.abandoned.map(|view| Record::Abandoned { view }));
        records.extend(self.schedule.switches().map(Record::Switched));
        let finished = self.history.values();
        let open = self.open.iter().filter_map(|(slot, open)| Some((*slot, open.value()?)));
        records.extend(finished.map(|(slot, value)| Record::Finalized { slot, value }));
        if let Some(last) = self.head.get().checked_sub(1) {
            records.push(Record::Revealed { slot: Slot::new(last) });
        }
        records.extend(open.map(|(slot, value)| Record::Finalized { slot, value }));
        let released = self.standing.released.iter();
        records.extend(released.map(|(&slot, &value)| Record::Released { slot, value }));
        records
    }

    fn replay(&mut self, records: &[Record]) {
        let mut finals = BTreeMap::new();
        for record in records {
            match *record {
                // The first word stands.
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
