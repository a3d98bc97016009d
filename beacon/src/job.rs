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
//!
//! Two more compute ahead, see `beacon::foresight`; their findings are each party's own, and a driver
//! that keeps verdicts need not keep these.
//!
//! | work      | computes                                        | weighted VUF               | threshold BLS         |
//! |-----------|-------------------------------------------------|----------------------------|-----------------------|
//! | `Foresee` | what depends on the set of parties alone        | a base for each party      | coefficients          |
//! | `Prepare` | terms of the partials that are here             | two pairings each          | a sum of products     |
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use borsh::BorshSerialize;
use crypto_core::access::Party;
use crypto_core::context::Context;
use std::num::NonZeroU64;

use crate::config::Keys;
use crate::schemes::{QuorumError, Scheme, ShownError};
use contract::Binding;
use contract::Path;
use protocol::{Slot, Value};

/// What a slot is evaluated on, hashed to the curve once for both paths.
#[derive(Debug)]
pub(crate) struct Subject<S: Scheme> {
    context: Context,
    slot: Slot,
    /// What the slot is counted as.
    round: Option<u64>,
    value: Option<Value>,
    input: S::Input,
}

impl<S: Scheme> Subject<S> {
    /// `None` if the slot cannot be evaluated.
    pub(crate) fn new(
        context: &Context,
        binding: Binding,
        slot: Slot,
        value: Option<Value>,
    ) -> Option<Self> {
        let input = S::input(context, binding, slot, value)?;
        let round = binding.round(slot).map(NonZeroU64::get);
        Some(Self { context: *context, slot, round, value, input })
    }

    /// From what a scheme made of the slot's content.
    pub(crate) const fn of_content(
        context: &Context,
        slot: Slot,
        value: Value,
        input: S::Input,
    ) -> Self {
        Self { context: *context, slot, round: None, value: Some(value), input }
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
    done: Done<S>,
}

/// What was computed ahead of a job.
#[derive(Clone, Debug)]
pub(crate) struct Done<S: Scheme> {
    /// What depends on the set alone.
    pub(crate) foreseen: Option<Held<S::Foreseen>>,
    /// The terms of some partials.
    pub(crate) ahead: Option<Held<S::Ahead>>,
    /// Whose.
    pub(crate) parties: BTreeSet<Party>,
}

// Derived, it would ask for defaults of what is in it.
impl<S: Scheme> Default for Done<S> {
    fn default() -> Self {
        Self { foreseen: None, ahead: None, parties: BTreeSet::new() }
    }
}

/// Something that is handed around and not looked into: printed, it is `Held(..)`.
#[derive(Clone, PartialEq, Eq)]
pub struct Held<T>(Arc<T>);

impl<T> fmt::Debug for Held<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held(..)")
    }
}

impl<T> Held<T> {
    fn new(held: T) -> Self {
        Self(Arc::new(held))
    }
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
    /// Prepare for partials of these parties.
    Foresee(BTreeSet<Party>),
    /// Compute ahead what these partials allow.
    Prepare(BTreeMap<Party, S::Partial>),
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
    /// The partials that are wrong, as they were checked: by now the beacon may hold others.
    pub faulty: BTreeMap<Party, S::Partial>,
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
    /// Of [`Work::Foresee`]. Without the second nothing is gained, and nothing lost.
    Foreseen(BTreeSet<Party>, Option<Held<S::Foreseen>>),
    /// Of [`Work::Prepare`]: of whose partials the terms are there, and what they come to; nothing if
    /// the driver knows the output otherwise.
    Prepared(BTreeSet<Party>, Option<Held<S::Ahead>>),
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
        let (keys, subject, done) = (Arc::clone(keys), Arc::clone(subject), Done::default());
        Self { keys, subject, path, work, done }
    }

    pub(crate) fn after(self, done: Done<S>) -> Self {
        Self { done, ..self }
    }

    /// Whose partials are still to be worked on: a cost model's question.
    #[must_use]
    pub fn left(&self) -> BTreeSet<Party> {
        let given = match &self.work {
            Work::Combine(partials) | Work::Prepare(partials) => partials.keys().copied().collect(),
            Work::Verify(party, _) | Work::Open(party, _) => BTreeSet::from([*party]),
            Work::Foresee(_) => BTreeSet::new(),
        };
        given.difference(&self.done.parties).copied().collect()
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

    /// What the verdict depends on: chain, epoch, committee, path, slot, round, value and partials. Late keys
    /// are not in it, for a committee admits one key of a party and all admit the same.
    #[must_use]
    pub fn fingerprint(&self) -> Vec<u8> {
        let committee = self.committee().map(S::id);
        let Subject { context, slot, round, value, .. } = &*self.subject;
        let lane = (committee, context, self.path, (slot, round), value);
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
            Work::Foresee(parties) => {
                let foreseen = self.committee().and_then(|known| S::foresee(known, parties));
                Finding::Foreseen(parties.clone(), foreseen.map(Held::new))
            }
            Work::Prepare(partials) => Finding::Prepared(self.there(), self.prepare(partials)),
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
        let faulty = self.faulty(&finding);
        Verdict { slot, path: self.path, value, finding, faulty }
    }

    fn faulty(&self, finding: &Finding<S>) -> BTreeMap<Party, S::Partial> {
        let (Finding::Combined(Err(QuorumError::Faulty { culprits }))
        | Finding::Verified(_, Err(QuorumError::Faulty { culprits }))) = finding
        else {
            return BTreeMap::new();
        };
        match &self.work {
            Work::Combine(partials) => {
                let mut faulty = partials.clone();
                faulty.retain(|party, _| culprits.contains(party));
                faulty
            }
            Work::Verify(party, partial) => BTreeMap::from([(*party, partial.clone())]),
            Work::Open(..) | Work::Foresee(_) | Work::Prepare(_) => BTreeMap::new(),
        }
    }

    fn combine(
        &self,
        partials: &BTreeMap<Party, S::Partial>,
    ) -> Result<Box<Combined<S>>, QuorumError> {
        // Jobs are made for paths in use.
        let committee = self.committee().ok_or(QuorumError::Input)?;
        let input = &self.subject.input;
        let combined = match self.begun() {
            Some(ahead) => S::finish(&ahead, committee, input, partials),
            None => S::combine(committee, input, partials),
        };
        combined.map(Box::new)
    }

    fn prepare(&self, partials: &BTreeMap<Party, S::Partial>) -> Option<Held<S::Ahead>> {
        let (mut ahead, committee) = (self.begun()?, self.committee()?);
        S::add(&mut ahead, committee, partials);
        Some(Held::new(ahead))
    }

    /// What is there of the output.
    fn begun(&self) -> Option<S::Ahead> {
        match &self.done {
            Done { ahead: Some(Held(ahead)), .. } => Some(S::Ahead::clone(ahead)),
            Done { foreseen: Some(Held(foreseen)), .. } => {
                Some(S::begin(foreseen, &self.subject.input))
            }
            _ => None,
        }
    }

    /// Of whose partials the terms are there when this job has ended.
    pub(crate) fn there(&self) -> BTreeSet<Party> {
        self.done.parties.union(&self.left()).copied().collect()
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
