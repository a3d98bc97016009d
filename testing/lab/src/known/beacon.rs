//! Partials that were checked for some party of a committee, and their outputs.
//!
//! A partial is checked once, together with all others of its slot that were seen. Any quorum of valid
//! partials gives the same output, so the output is combined once per slot and path. Verdicts are those
//! of [`Job::run`]: each carries the proof that its own party asked for.
use std::collections::BTreeMap;

use ::prefinal_beacon::{
    Finding, Function, Job, Message, PartialsError, Path, ProvenOutput, Verdict, Work,
};
use ::prefinal_beacon::{Slot, Value};
use prefinal_crypto_core::access::Party;

/// Slots that are remembered, times the paths; slots in flight are far fewer.
const REMEMBERED: usize = 512;

/// Partials that were seen, those of them that were found good, and what they gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckedPartials<S: Function> {
    lanes: BTreeMap<(Slot, Path, Option<Value>), Lane<S>>,
}

#[derive(Clone, Debug)]
struct Lane<S: Function> {
    seen: BTreeMap<Party, S::Partial>,
    good: BTreeMap<Party, S::Partial>,
    output: Option<S::Output>,
}

impl<S: Function> CheckedPartials<S> {
    /// Takes note of a message on its way. What is no good is told apart later and costs the others
    /// nothing.
    pub(crate) fn see(&mut self, from: Party, message: &Message<S>) {
        if let Message::Partial { path, slot, value, partial } = message {
            self.lane((*slot, *path, *value)).seen.entry(from).or_insert_with(|| partial.clone());
        }
    }

    /// Takes for good, of what is to be combined, what the party itself would have made: where partials are unique,
    /// to make one is cheaper than to check it.
    pub(crate) fn compare(
        &mut self,
        job: &Job<S>,
        mut made: impl FnMut(Party, &S::Input) -> Option<S::Partial>,
    ) {
        let Work::Combine(partials) = job.work() else { return };
        let lane = self.lane((job.slot(), job.path(), job.value()));
        for (party, partial) in partials {
            if !lane.good.contains_key(party) && made(*party, job.input()).as_ref() == Some(partial)
            {
                lane.good.insert(*party, partial.clone());
            }
        }
    }

    /// As [`Job::run`], without checking or combining again what is known. An output that is computed
    /// once for all need not be computed ahead for each.
    pub(crate) fn run(&mut self, job: &Job<S>) -> Verdict<S> {
        match (job.work(), job.committee()) {
            (Work::Combine(partials), Some(committee)) => self.combine(job, committee, partials),
            (Work::Foresee(parties), _) => job.verdict(Finding::Foreseen(parties.clone(), None)),
            (Work::Prepare(partials), _) => {
                let parties = job.prepared().iter().chain(partials.keys()).copied().collect();
                job.verdict(Finding::Prepared(parties, None))
            }
            (Work::Combine(_) | Work::Verify(..) | Work::Open(..), _) => job.run(),
        }
    }

    fn combine(
        &mut self,
        job: &Job<S>,
        committee: &S::Committee,
        partials: &BTreeMap<Party, S::Partial>,
    ) -> Verdict<S> {
        let lane = self.lane((job.slot(), job.path(), job.value()));
        if !lane.has(partials) {
            lane.check(committee, job.input(), partials);
        }
        let weight: u128 = partials.keys().map(|party| S::weight(committee, *party)).sum();
        if !lane.has(partials) || weight < S::threshold(committee) {
            return job.run();
        }
        let Some(output) = lane.output.clone() else {
            let verdict = job.run();
            if let Finding::Combined(Ok(combined)) = &verdict.finding {
                lane.output = Some(combined.output.clone());
            }
            return verdict;
        };
        let Some(proof) = S::prove(committee, job.input(), partials) else { return job.run() };
        job.verdict(Finding::Combined(Ok(Box::new(ProvenOutput { output, proof }))))
    }

    fn lane(&mut self, key: (Slot, Path, Option<Value>)) -> &mut Lane<S> {
        if self.lanes.len() >= REMEMBERED {
            self.lanes.pop_first();
        }
        self.lanes.entry(key).or_default()
    }
}

// Derived, it would ask for defaults of what is in it.
impl<S: Function> Default for Lane<S> {
    fn default() -> Self {
        Self { seen: BTreeMap::new(), good: BTreeMap::new(), output: None }
    }
}

impl<S: Function> Lane<S> {
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
        if let Err(PartialsError::Faulty { culprits }) = S::verify(committee, input, &new) {
            new.retain(|party, _| !culprits.contains(party));
        }
        self.good.append(&mut new);
    }
}
