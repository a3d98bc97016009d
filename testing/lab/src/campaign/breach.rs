//! A beacon without one rule of its contract. It shows that a campaign finds the missing rule.
//!
//! The beacon is the real one, with all its rules. The code around it does what the beacon would do
//! without one of them:
//!
//! | rule       | without it                                                                        |
//! |------------|-----------------------------------------------------------------------------------|
//! | 1          | the view is in the input                                                            |
//! | 2, 3, 4, 7 | what only [`objections`] of this rule hold back is released                         |
//! | 5          | what only memory from before a crash holds back is released                         |
//! | 6          | the slow partial of a slot stays back where the fast one has left                   |
//! | 8          | the beacon hears nothing of skipped slots                                           |
//! | 9          | the same as 2, for slots that are finished; and partials are kept however far ahead |

use std::collections::{BTreeMap, BTreeSet};

use ::prefinal_beacon::contract::{Claim, Rule, Standing, objections};
use ::prefinal_beacon::{Binding, Limits, Path, Record, Slot, Value, View};
use sha2::{Digest, Sha256};

/// How far ahead partials are kept without rule 9.
const BOUNDLESS: u64 = 1 << 30;

/// What one party does without one rule.
#[derive(Debug)]
pub(super) struct Breach {
    rule: Rule,
    declared: Option<u32>,
    /// What the party has told the world.
    whole: Standing,
    /// In this life.
    since_boot: Standing,
    finals: BTreeMap<Slot, Option<Value>>,
    early: BTreeSet<Slot>,
    /// The last view in which a value was prefinalized here.
    views: BTreeMap<(Slot, Value), View>,
}

impl Breach {
    /// A beacon that goes on where its records end.
    pub(super) fn new(rule: Rule, declared: Option<u32>, records: &[Record]) -> Self {
        let mut breach = Self {
            rule,
            declared,
            whole: Standing::default(),
            since_boot: Standing::default(),
            finals: BTreeMap::new(),
            early: BTreeSet::new(),
            views: BTreeMap::new(),
        };
        records.iter().for_each(|record| breach.written(record));
        breach.since_boot = Standing::default();
        breach
    }

    /// What the inputs of a beacon without rule 1 depend on.
    pub(super) fn binding(&self, binding: Binding) -> Binding {
        if self.rule == Rule::Input { Binding::Value } else { binding }
    }

    /// How much a beacon without rule 9 keeps.
    pub(super) fn limits(&self) -> Limits {
        let limits = Limits::default();
        let window = if self.rule == Rule::Once { BOUNDLESS } else { limits.window };
        Limits { window, ..limits }
    }

    /// The beacon has written something down.
    pub(super) fn written(&mut self, record: &Record) {
        match *record {
            Record::Released { slot, value } => {
                self.early.insert(slot);
                for standing in [&mut self.whole, &mut self.since_boot] {
                    standing.released.entry(slot).or_insert(value);
                }
            }
            Record::Abandoned { view } => {
                for standing in [&mut self.whole, &mut self.since_boot] {
                    standing.abandoned = standing.abandoned.max(Some(view));
                }
            }
            Record::Finalized { slot, value } => {
                self.finals.insert(slot, value);
            }
            Record::Revealed { slot } => {
                self.finals.remove(&slot);
                self.whole.released.remove(&slot);
                self.since_boot.released.remove(&slot);
            }
            _ => {}
        }
    }

    /// Whether this prefinalization releases a partial that the contract holds back.
    pub(super) fn releases(&self, slot: Slot, (view, value): (View, Value), head: Slot) -> bool {
        let finality = self.finals.get(&slot).copied();
        let claim = Claim { slot, view, value, finality, finished: slot < head };
        let mut held = objections(self.declared, &self.whole, &claim).peekable();
        if held.peek().is_none() {
            return false;
        }
        match self.rule {
            Rule::Durable => objections(self.declared, &self.since_boot, &claim).next().is_none(),
            rule => held.all(|objection| objection.rule() == Some(rule)),
        }
    }

    /// The value as it enters the beacon when it is prefinalized.
    pub(super) fn prefinalized(&mut self, slot: Slot, view: View, value: Value) -> Value {
        if self.rule != Rule::Input {
            return value;
        }
        self.views.insert((slot, value), view);
        with_view(view, value)
    }

    /// The value as it enters the beacon when it is final; `None` if the beacon is not told.
    pub(super) fn finalized(&self, slot: Slot, value: Option<Value>) -> Option<Option<Value>> {
        match (self.rule, value) {
            (Rule::Skipped, None) => None,
            (Rule::Input, Some(value)) => {
                let view = self.views.get(&(slot, value)).copied();
                Some(Some(with_view(view.unwrap_or(View::new(slot, 0)), value)))
            }
            (_, value) => Some(value),
        }
    }

    /// Whether a partial stays back that the beacon sends.
    pub(super) fn keeps_back(&self, path: Path, slot: Slot) -> bool {
        self.rule == Rule::Always && path == Path::Slow && self.early.contains(&slot)
    }
}

fn with_view(view: View, value: Value) -> Value {
    let (slot, attempt) = (view.slot.get().to_be_bytes(), view.attempt.to_be_bytes());
    Value::new(Sha256::digest([&slot[..], &attempt, &value.to_bytes()].concat()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Slot = Slot::new(7);
    const VALUE: Value = Value::new([1; 32]);

    fn breach(rule: Rule, records: &[Record]) -> Breach {
        Breach::new(rule, Some(0), records)
    }

    #[test]
    fn what_one_rule_alone_holds_back_is_released() {
        let gave_up = [Record::Abandoned { view: View::new(SLOT, 0) }];
        let at = |rule, slot, attempt| {
            breach(rule, &gave_up).releases(SLOT, (View::new(slot, attempt), VALUE), SLOT)
        };
        assert!(at(Rule::GivenUp, SLOT, 0) && !at(Rule::OneView, SLOT, 0));
        assert!(at(Rule::OneView, SLOT, 1) && !at(Rule::GivenUp, SLOT, 1));
        assert!(at(Rule::Direct, SLOT.after(1), 0) && !at(Rule::OneView, SLOT.after(1), 0));
        // Two rules object to this, so one of them is enough.
        assert!(!at(Rule::Direct, SLOT.after(1), 1));
        let finished =
            |rule| breach(rule, &[]).releases(SLOT, (View::new(SLOT, 0), VALUE), SLOT.after(1));
        assert!(finished(Rule::Once) && !finished(Rule::GivenUp));
        // What the beacon releases itself is not released twice.
        assert!(!breach(Rule::GivenUp, &[]).releases(SLOT, (View::new(SLOT, 0), VALUE), SLOT));
    }

    #[test]
    fn only_what_was_said_before_a_crash_is_forgotten() {
        let record = Record::Abandoned { view: View::new(SLOT, 0) };
        let releases = |breach: &Breach| breach.releases(SLOT, (View::new(SLOT, 0), VALUE), SLOT);
        let mut restarted = breach(Rule::Durable, &[record]);
        assert!(releases(&restarted));
        restarted.written(&record);
        assert!(!releases(&restarted));
    }
}
