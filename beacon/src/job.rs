//! Pairings as plain data.
//!
//! The machine emits a [`Job`]; the driver runs it on a pool, in virtual time, or looks the verdict up
//! under its [`fingerprint`](Job::fingerprint), and hands the [`Verdict`] back. A job is pure: equal
//! fingerprints give equal verdicts, whichever party asks.
//!
//! | work      | checks                                                | costs                       |
//! |-----------|-------------------------------------------------------|-----------------------------|
//! | `Combine` | one random linear combination, halved if it fails      | one pairing for each party  |
//! | `Verify`  | one partial of a party that was caught before          | two pairings                |
use std::collections::BTreeMap;
use std::sync::Arc;

use borsh::BorshSerialize;
use crypto_core::access::Party;
use crypto_core::wvuf::{self, Committee, Partial, PartialError, QuorumError};

use crate::config::Keys;
use crate::slot::{Slot, Value};
use crate::wire::Path;

/// Something to compute outside of the machine.
#[derive(Clone, Debug)]
pub struct Job {
    keys: Arc<Keys>,
    input: Arc<wvuf::Input>,
    slot: Slot,
    path: Path,
    value: Option<Value>,
    work: Work,
}

/// What a job computes.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize)]
pub enum Work {
    /// Check these together and combine them.
    Combine(BTreeMap<Party, Partial>),
    /// Check one alone.
    Verify(Party, Partial),
}

/// What came of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Of which slot.
    pub slot: Slot,
    /// Under which path.
    pub path: Path,
    /// With which value in the input.
    pub value: Option<Value>,
    /// The finding.
    pub finding: Finding,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Of [`Work::Combine`].
    Combined(Result<Box<Combined>, QuorumError>),
    /// Of [`Work::Verify`].
    Verified(Party, Result<(), PartialError>),
}

/// An output and the verified partials it was combined from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combined {
    /// The output.
    pub output: wvuf::Output,
    /// What proves it.
    pub proof: BTreeMap<Party, Partial>,
}

impl Job {
    pub(crate) fn new(
        keys: &Arc<Keys>,
        input: &Arc<wvuf::Input>,
        lane: (Slot, Path, Option<Value>),
        work: Work,
    ) -> Self {
        let (slot, path, value) = lane;
        Self { keys: Arc::clone(keys), input: Arc::clone(input), slot, path, value, work }
    }

    /// Of which slot.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// Under which path.
    #[must_use]
    pub fn path(&self) -> Path {
        self.path
    }

    /// What is computed.
    #[must_use]
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// What the verdict depends on: chain, epoch, committee, path, slot, value and partials. Keys are
    /// not in it, for a committee admits one key of a party and all admit the same.
    #[must_use]
    pub fn fingerprint(&self) -> Vec<u8> {
        let committee = self.keys.committee(self.path).map(Committee::id);
        let lane = (committee, self.input.context(), self.path, self.slot, self.value);
        let mut bytes = Vec::new();
        // Writing to memory does not fail.
        let written = lane.serialize(&mut bytes).and_then(|()| self.work.serialize(&mut bytes));
        debug_assert!(written.is_ok());
        bytes
    }

    /// Does the work.
    #[must_use]
    pub fn run(&self) -> Verdict {
        let finding = match &self.work {
            Work::Combine(partials) => Finding::Combined(self.combine(partials)),
            Work::Verify(party, partial) => Finding::Verified(*party, self.verify(*party, partial)),
        };
        self.verdict(finding)
    }

    pub(crate) fn input(&self) -> &wvuf::Input {
        &self.input
    }

    pub(crate) fn value(&self) -> Option<Value> {
        self.value
    }

    pub(crate) fn committee(&self) -> Option<&Committee> {
        self.keys.committee(self.path)
    }

    pub(crate) fn verdict(&self, finding: Finding) -> Verdict {
        Verdict { slot: self.slot, path: self.path, value: self.value, finding }
    }

    fn combine(&self, partials: &BTreeMap<Party, Partial>) -> Result<Box<Combined>, QuorumError> {
        let Some(committee) = self.keys.committee(self.path) else {
            let party = partials.keys().next().copied().unwrap_or(Party::new(0));
            return Err(QuorumError::NotAdmitted { party });
        };
        let quorum = committee.verify_all(&self.input, partials.clone())?;
        Ok(Box::new(Combined { output: wvuf::combine(&quorum), proof: quorum.partials().clone() }))
    }

    fn verify(&self, party: Party, partial: &Partial) -> Result<(), PartialError> {
        let committee =
            self.keys.committee(self.path).ok_or(PartialError::NotAdmitted { party })?;
        committee.verify(party, &self.input, partial)
    }
}
