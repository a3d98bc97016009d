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
use crypto_core::wvuf::{self, Committee, Partial, QuorumError};

use crate::job::{Combined, Finding, Job, Verdict, Work};
use crate::slot::{Slot, Value};
use crate::wire::{Message, Path};

/// Slots that are remembered, times the paths; slots in flight are far fewer.
const REMEMBERED: usize = 512;

/// Partials that were seen, those of them that were found good, and what they gave.
#[derive(Clone, Debug, Default)]
pub struct Known {
    lanes: BTreeMap<(Slot, Path, Option<Value>), Lane>,
}

#[derive(Clone, Debug, Default)]
struct Lane {
    seen: BTreeMap<Party, Partial>,
    good: BTreeMap<Party, Partial>,
    output: Option<wvuf::Output>,
}

impl Known {
    /// Takes note of a message on its way. What is no good is told apart later and costs the others
    /// nothing.
    pub fn see(&mut self, from: Party, message: &Message) {
        if let Message::Partial { path, slot, value, partial } = message {
            self.lane((*slot, *path, *value)).seen.entry(from).or_insert(*partial);
        }
    }

    fn lane(&mut self, key: (Slot, Path, Option<Value>)) -> &mut Lane {
        if self.lanes.len() >= REMEMBERED {
            self.lanes.pop_first();
        }
        self.lanes.entry(key).or_default()
    }
}

impl Lane {
    fn has(&self, partials: &BTreeMap<Party, Partial>) -> bool {
        partials.iter().all(|(party, partial)| self.good.get(party) == Some(partial))
    }

    /// Checks what is new of these and of all that was seen, together.
    fn check(
        &mut self,
        committee: &Committee,
        input: &wvuf::Input,
        partials: &BTreeMap<Party, Partial>,
    ) {
        let mut new = self.seen.clone();
        new.extend(partials.iter().map(|(party, partial)| (*party, *partial)));
        new.retain(|party, partial| {
            committee.weight_of(*party) > 0 && self.good.get(party) != Some(partial)
        });
        if let Err(QuorumError::Faulty { culprits }) = committee.check_all(input, &new) {
            new.retain(|party, _| !culprits.contains(party));
        }
        self.good.append(&mut new);
    }
}

impl Job {
    /// As [`Job::run`], without checking or combining again what is known.
    #[must_use]
    pub fn run_knowing(&self, known: &mut Known) -> Verdict {
        let (Work::Combine(partials), Some(committee)) = (self.work(), self.committee()) else {
            return self.run();
        };
        let lane = known.lane((self.slot(), self.path(), self.value()));
        if !lane.has(partials) {
            lane.check(committee, self.input(), partials);
        }
        let weight: u32 = partials.keys().map(|party| committee.weight_of(*party)).sum();
        if !lane.has(partials) || weight < committee.threshold().t().get() {
            return self.run();
        }
        let Some(output) = lane.output else {
            let verdict = self.run();
            if let Finding::Combined(Ok(combined)) = &verdict.finding {
                lane.output = Some(combined.output);
            }
            return verdict;
        };
        let proof = partials.clone();
        self.verdict(Finding::Combined(Ok(Box::new(Combined { output, proof }))))
    }
}
