//! Pairings as plain data.
//!
//! The machine emits a [`Job`]; the driver runs it on a pool, in virtual time, or looks the verdict up
//! under its [`fingerprint`](Job::fingerprint), and hands the [`Verdict`] back. A job is pure: equal
//! fingerprints give equal verdicts, whichever party asks.
//!
//! | work      | checks                                          | weighted VUF               | threshold BLS         |
//! |-----------|-------------------------------------------------|----------------------------|-----------------------|
//! | `Combine` | the partials, or the result alone if it suffices | one pairing for each party | two pairings          |
//! | `Verify`  | one partial of a party that was caught before   | two pairings               | two pairings          |
//! | `Open`    | an output that a peer has shown                 | one pairing for each party | two pairings          |
use std::collections::BTreeMap;
use std::sync::Arc;

use borsh::BorshSerialize;
use crypto_core::access::Party;
use crypto_core::context::Context;

use crate::config::Keys;
use crate::schemes::{QuorumError, Scheme, ShownError};
use crate::slot::{Slot, Value};
use crate::wire::Path;

/// What a slot is evaluated on, hashed to the curve once for both paths.
#[derive(Debug)]
pub(crate) struct Subject<S: Scheme> {
    context: Context,
    slot: Slot,
    value: Option<Value>,
    input: S::Input,
}

impl<S: Scheme> Subject<S> {
    /// `None` if the slot cannot be evaluated.
    pub(crate) fn new(context: &Context, slot: Slot, value: Option<Value>) -> Option<Self> {
        let input = S::input(context, slot, value)?;
        Some(Self { context: *context, slot, value, input })
    }

    /// From what a scheme made of the slot's content.
    pub(crate) const fn of_content(
        context: &Context,
        slot: Slot,
        value: Value,
        input: S::Input,
    ) -> Self {
        Self { context: *context, slot, value: Some(value), input }
    }

    pub(crate) fn value(&self) -> Option<Value> {
        self.value
    }

    pub(crate) fn input(&self) -> &S::Input {
        &self.input
    }
}

/// Something to compute outside of the machine.
#[derive(Clone, Debug)]
pub struct Job<S: Scheme> {
    keys: Arc<Keys<S>>,
    subject: Arc<Subject<S>>,
    path: Path,
    work: Work<S>,
}

/// What a job computes.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize)]
pub enum Work<S: Scheme> {
    /// Combine these; if that fails, find out which are wrong.
    Combine(BTreeMap<Party, S::Partial>),
    /// Check one alone.
    Verify(Party, S::Partial),
    /// Check what this peer has shown.
    Open(Party, S::Shown),
}

/// What came of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<S: Scheme> {
    /// Of which slot.
    pub slot: Slot,
    /// Under which path.
    pub path: Path,
    /// With which value in the input.
    pub value: Option<Value>,
    /// The finding.
    pub finding: Finding<S>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding<S: Scheme> {
    /// Of [`Work::Combine`].
    Combined(Result<Box<Combined<S>>, QuorumError>),
    /// Of [`Work::Verify`].
    Verified(Party, Result<(), QuorumError>),
    /// Of [`Work::Open`].
    Opened {
        /// Who has shown it.
        from: Party,
        /// What.
        shown: Box<S::Shown>,
        /// What it is.
        result: Result<Box<Combined<S>>, ShownError>,
    },
}

/// An output and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combined<S: Scheme> {
    /// The output.
    pub output: S::Output,
    /// What proves it.
    pub proof: S::Proof,
}

impl<S: Scheme> Job<S> {
    pub(crate) fn new(
        keys: &Arc<Keys<S>>,
        subject: &Arc<Subject<S>>,
        path: Path,
        work: Work<S>,
    ) -> Self {
        Self { keys: Arc::clone(keys), subject: Arc::clone(subject), path, work }
    }

    /// Of which slot.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.subject.slot
    }

    /// Under which path.
    #[must_use]
    pub fn path(&self) -> Path {
        self.path
    }

    /// What is computed.
    #[must_use]
    pub fn work(&self) -> &Work<S> {
        &self.work
    }

    /// What the verdict depends on: chain, epoch, committee, path, slot, value and partials. Late keys
    /// are not in it, for a committee admits one key of a party and all admit the same.
    #[must_use]
    pub fn fingerprint(&self) -> Vec<u8> {
        let committee = self.committee().map(S::id);
        let Subject { context, slot, value, .. } = &*self.subject;
        let lane = (committee, context, self.path, slot, value);
        let mut bytes = Vec::new();
        // Writing to memory does not fail.
        let written = lane.serialize(&mut bytes).and_then(|()| self.work.serialize(&mut bytes));
        debug_assert!(written.is_ok());
        bytes
    }

    /// Does the work.
    #[must_use]
    pub fn run(&self) -> Verdict<S> {
        let finding = match &self.work {
            Work::Combine(partials) => Finding::Combined(self.combine(partials)),
            Work::Verify(party, partial) => Finding::Verified(*party, self.verify(*party, partial)),
            Work::Open(from, shown) => {
                let result = self.open(shown).map(Box::new);
                Finding::Opened { from: *from, shown: Box::new(shown.clone()), result }
            }
        };
        self.verdict(finding)
    }

    pub(crate) fn subject(&self) -> &Subject<S> {
        &self.subject
    }

    pub(crate) fn committee(&self) -> Option<&S::Committee> {
        self.keys.committee(self.path)
    }

    pub(crate) fn verdict(&self, finding: Finding<S>) -> Verdict<S> {
        let Subject { slot, value, .. } = *self.subject;
        Verdict { slot, path: self.path, value, finding }
    }

    fn combine(
        &self,
        partials: &BTreeMap<Party, S::Partial>,
    ) -> Result<Box<Combined<S>>, QuorumError> {
        // Jobs are made for paths in use.
        let committee = self.committee().ok_or(QuorumError::Input)?;
        Ok(Box::new(S::combine(committee, &self.subject.input, partials)?))
    }

    fn open(&self, shown: &S::Shown) -> Result<Combined<S>, ShownError> {
        let committee = self.committee().ok_or(ShownError::NotCounted)?;
        S::check_shown(committee, &self.subject.input, shown)
    }

    fn verify(&self, party: Party, partial: &S::Partial) -> Result<(), QuorumError> {
        let committee = self.committee().ok_or(QuorumError::Input)?;
        S::verify(committee, &self.subject.input, &BTreeMap::from([(party, partial.clone())]))
    }
}
