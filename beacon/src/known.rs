//! What a driver of many parties need not compute twice.
//!
//! Parties of one committee collect the same partials in other sets. A driver that sees all messages
//! may check each partial once, and all that it has seen of a slot in one batch; and since any quorum
//! of good partials gives the same output, it combines once per slot and path. Verdicts are those of
//! [`Job::run`]: each carries the proof that its own party asked about.
//!
//! A validator on a network of its own has no use for this.
use std::collections::BTreeMap;

use crypto_core::access::Party;

use crate::job::{Combined, Finding, Job, Verdict, Work};
use crate::schemes::{QuorumError, Scheme};
use crate::wire::Message;
use contract::Path;
use protocol::{Slot, Value};

/// Slots that are remembered, times the paths; slots in flight are far fewer.
const REMEMBERED: usize = 512;

/// Partials that were seen, those of them that were found good, and what they gave.
#[derive(Clone, Debug, Default)]
pub struct Known<S: Scheme> {
    lanes: BTreeMap<(Slot, Path, Option<Value>), Lane<S>>,
}

#[derive(Clone, Debug)]
struct Lane<S: Scheme> {
    seen: BTreeMap<Party, S::Partial>,
    good: BTreeMap<Party, S::Partial>,
    output: Option<S::Output>,
}

impl<S: Scheme> Known<S> {
    /// Takes note of a message on its way. What is no good is told apart later and costs the others
    /// nothing.
    pub fn see(&mut self, from: Party, message: &Message<S>) {
        if let Message::Partial { path, slot, value, partial } = message {
            self.lane((*slot, *path, *value)).seen.entry(from).or_insert_with(|| partial.clone());
        }
    }

    fn lane(&mut self, key: (Slot, Path, Option<Value>)) -> &mut Lane<S> {
        if self.lanes.len() >= REMEMBERED {
            self.lanes.pop_first();
        }
        self.lanes.entry(key).or_default()
    }
}

// Derived, it would ask for defaults of what is in it.
impl<S: Scheme> Default for Lane<S> {
    fn default() -> Self {
        Self { seen: BTreeMap::new(), good: BTreeMap::new(), output: None }
    }
}

impl<S: Scheme> Lane<S> {
    fn has(&self, partials: &BTreeMap<Party, S::Partial>) -> bool {
        partials.iter().all(|(party, partial)| self.good.get(party) == Some(partial))
    }

    /// Checks what is new of these and of all that was seen, together.
    fn check(
        &mut self,
        committee: &S::Committee,
        input: &S::Input,
        partials: &BTreeMap<Party, S::Partial>,
    ) {
        let mut new = self.seen.clone();
        new.extend(partials.iter().map(|(party, partial)| (*party, partial.clone())));
        new.retain(|party, partial| {
            S::weight(committee, *party) > 0 && self.good.get(party) != Some(partial)
        });
        if let Err(QuorumError::Faulty { culprits }) = S::verify(committee, input, &new) {
            new.retain(|party, _| !culprits.contains(party));
        }
        self.good.append(&mut new);
    }
}

impl<S: Scheme> Job<S> {
    /// As [`Job::run`], without checking or combining again what is known.
    #[must_use]
    pub fn run_knowing(&self, known: &mut Known<S>) -> Verdict<S> {
        let (Work::Combine(partials), Some(committee)) = (self.work(), self.committee()) else {
            return self.run_unneeded().unwrap_or_else(|| self.run());
        };
        let lane = known.lane((self.slot(), self.path(), self.subject().value()));
        if !lane.has(partials) {
            lane.check(committee, self.subject().input(), partials);
        }
        let weight: u128 = partials.keys().map(|party| S::weight(committee, *party)).sum();
        if !lane.has(partials) || weight < S::threshold(committee) {
            return self.run();
        }
        let Some(output) = lane.output.clone() else {
            let verdict = self.run();
            if let Finding::Combined(Ok(combined)) = &verdict.finding {
                lane.output = Some(combined.output.clone());
            }
            return verdict;
        };
        let Some(proof) = S::prove(committee, self.subject().input(), partials) else {
            return self.run();
        };
        self.verdict(Finding::Combined(Ok(Box::new(Combined { output, proof }))))
    }

    /// Who computes an output once for all need not compute it ahead for each.
    fn run_unneeded(&self) -> Option<Verdict<S>> {
        let finding = match self.work() {
            Work::Foresee(parties) => Finding::Foreseen(parties.clone(), None),
            Work::Prepare(_) => Finding::Prepared(self.there(), None),
            Work::Combine(_) | Work::Verify(..) | Work::Open(..) => return None,
        };
        Some(self.verdict(finding))
    }
}
