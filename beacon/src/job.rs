//! Pairings as plain data.
//!
//! The machine emits a [`Job`]; the driver runs it on a pool, in virtual time, or looks the verdict up
//! under its [`fingerprint`](Job::fingerprint), and hands the [`Verdict`] back. A job is pure: equal
//! fingerprints give equal verdicts, whichever party asks. Someone who finds out otherwise, from a cache of
//! partials or on other hardware, reads what is asked from the job and answers with [`Job::verdict`].
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
use crate::schemes::{Ahead, Combined, Foreseen, Foresight, Function, PartialsError, ShownError};
use contract::Binding;
use contract::Path;
use protocol::{Slot, Value};

/// What a slot is evaluated on, hashed to the curve once for both paths.
#[derive(Debug)]
pub(crate) struct Subject<S: Function> {
    context: Context,
    slot: Slot,
    /// What the slot is counted as.
    round: Option<u64>,
    value: Option<Value>,
    input: S::Input,
}

impl<S: Function> Subject<S> {
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

    pub(crate) fn input(&self) -> &S::Input {
        &self.input
    }
}

/// Something to compute outside of the machine.
#[derive(Clone, Debug)]
pub struct Job<S: Function> {
    keys: Arc<Keys<S>>,
    subject: Arc<Subject<S>>,
    path: Path,
    work: Work<S>,
    done: Done<S>,
}

/// What was computed ahead of a job.
#[derive(Clone, Debug)]
pub(crate) struct Done<S: Function> {
    /// What depends on the set alone.
    pub(crate) foreseen: Option<Held<Foreseen<S>>>,
    /// The terms of some partials.
    pub(crate) ahead: Option<Held<Ahead<S>>>,
    /// Whose.
    pub(crate) parties: BTreeSet<Party>,
}

// Derived, it would ask for defaults of what is in it.
impl<S: Function> Default for Done<S> {
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
pub enum Work<S: Function> {
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

impl<S: Function> Work<S> {
    /// Parties that it is about.
    #[must_use]
    pub fn parties(&self) -> BTreeSet<Party> {
        match self {
            Self::Combine(partials) | Self::Prepare(partials) => partials.keys().copied().collect(),
            Self::Verify(party, _) | Self::Open(party, _) => BTreeSet::from([*party]),
            Self::Foresee(parties) => parties.clone(),
        }
    }
}

/// What came of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<S: Function> {
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
pub enum Finding<S: Function> {
    /// Of [`Work::Combine`].
    Combined(Result<Box<Combined<S>>, PartialsError>),
    /// Of [`Work::Verify`].
    Verified(Party, Result<(), PartialsError>),
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
    Foreseen(BTreeSet<Party>, Option<Held<Foreseen<S>>>),
    /// Of [`Work::Prepare`]: of whose partials the terms are there, those [prepared](Job::prepared) before
    /// included, and what they come to; nothing if the output is known otherwise.
    Prepared(BTreeSet<Party>, Option<Held<Ahead<S>>>),
}

impl<S: Function> Job<S> {
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

    /// Parties whose partials were worked through ahead of this job. What it costs is in the others.
    #[must_use]
    pub fn prepared(&self) -> &BTreeSet<Party> {
        &self.done.parties
    }

    /// Who computes, with which keys; `None` if the path is not in use.
    #[must_use]
    pub fn committee(&self) -> Option<&S::Committee> {
        self.keys.committee(self.path)
    }

    /// The input at which the threshold function is evaluated.
    #[must_use]
    pub fn input(&self) -> &S::Input {
        &self.subject.input
    }

    /// Which value is in the input; `None` if it has none.
    #[must_use]
    pub fn value(&self) -> Option<Value> {
        self.subject.value
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
                let foreseen =
                    self.committee().and_then(|known| S::Foresight::foresee(known, parties));
                Finding::Foreseen(parties.clone(), foreseen.map(Held::new))
            }
            Work::Prepare(partials) => {
                let parties = self.done.parties.iter().chain(partials.keys()).copied().collect();
                Finding::Prepared(parties, self.prepare(partials))
            }
        };
        self.verdict(finding)
    }

    /// The verdict that says so, without computing it: for a cache of what was checked before, or an
    /// accelerator. The beacon believes it, so the finding must be of this work, and what [`run`](Self::run)
    /// would find; what is computed ahead may be left out.
    #[must_use]
    pub fn verdict(&self, finding: Finding<S>) -> Verdict<S> {
        let Subject { slot, value, .. } = *self.subject;
        let faulty = self.faulty(&finding);
        Verdict { slot, path: self.path, value, finding, faulty }
    }

    fn faulty(&self, finding: &Finding<S>) -> BTreeMap<Party, S::Partial> {
        let (Finding::Combined(Err(PartialsError::Faulty { culprits }))
        | Finding::Verified(_, Err(PartialsError::Faulty { culprits }))) = finding
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
    ) -> Result<Box<Combined<S>>, PartialsError> {
        // Jobs are made for paths in use.
        let committee = self.committee().ok_or(PartialsError::Input)?;
        let input = &self.subject.input;
        let combined = match self.begun() {
            Some(ahead) => S::Foresight::finish(&ahead, committee, input, partials),
            None => S::combine(committee, input, partials),
        };
        combined.map(Box::new)
    }

    fn prepare(&self, partials: &BTreeMap<Party, S::Partial>) -> Option<Held<Ahead<S>>> {
        let (mut ahead, committee) = (self.begun()?, self.committee()?);
        S::Foresight::add(&mut ahead, committee, partials);
        Some(Held::new(ahead))
    }

    /// What is there of the output.
    fn begun(&self) -> Option<Ahead<S>> {
        match &self.done {
            Done { ahead: Some(Held(ahead)), .. } => Some(Ahead::<S>::clone(ahead)),
            Done { foreseen: Some(Held(foreseen)), .. } => {
                Some(S::Foresight::begin(foreseen, &self.subject.input))
            }
            _ => None,
        }
    }

    fn open(&self, shown: &S::Shown) -> Result<Combined<S>, ShownError> {
        let committee = self.committee().ok_or(ShownError::NotCounted)?;
        S::check_shown(committee, &self.subject.input, shown)
    }

    fn verify(&self, party: Party, partial: &S::Partial) -> Result<(), PartialsError> {
        let committee = self.committee().ok_or(PartialsError::Input)?;
        S::verify(committee, &self.subject.input, &BTreeMap::from([(party, partial.clone())]))
    }
}
