//! Jobs: pairings as plain data.
//!
//! The machine emits a [`Job`]. The driver runs it on a pool, or in virtual time, or looks the verdict up by
//! the job's [`fingerprint`](Job::fingerprint). Then it hands the [`Verdict`] back. A job is pure: equal
//! fingerprints give equal verdicts, whichever party asks. A program that finds the answer in another way,
//! from a cache of partials or on other hardware, reads the question from the job and answers with
//! [`Job::verdict`].
//!
//! | work      | checks                                          | weighted VUF               | threshold BLS         |
//! |-----------|-------------------------------------------------|----------------------------|-----------------------|
//! | `Combine` | the partials, or the result alone if it suffices | one pairing for each party | two pairings          |
//! | `Verify`  | one partial of a party that was caught before   | two pairings               | two pairings          |
//! | `Open`    | an output that a peer has shown                 | one pairing for each party | two pairings          |
//!
//! Two more kinds of work compute ahead, see `prefinal_beacon::foresight`. Their findings are useful only to
//! the party that asked. A driver that caches verdicts need not cache these.
//!
//! | work      | computes                                        | weighted VUF               | threshold BLS         |
//! |-----------|-------------------------------------------------|----------------------------|-----------------------|
//! | `Foresee` | what depends on the set of parties alone        | a base for each party      | coefficients          |
//! | `Prepare` | terms of the partials that are here             | two pairings each          | a sum of products     |
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use borsh::BorshSerialize;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Context;
use std::num::NonZeroU64;

use crate::config::Keys;
use crate::schemes::{
    Foresight, Function, OutputError, PartialsError, Preparation, ProvenOutput, RunningCombination,
};
use prefinal_contract::Binding;
use prefinal_contract::Path;
use prefinal_protocol::{Slot, Value};

/// The input of a slot's evaluation, hashed to the curve once for both paths.
#[derive(Debug)]
pub(crate) struct Subject<S: Function> {
    context: Context,
    slot: Slot,
    /// The round number of the slot, if it has one.
    round: Option<u64>,
    value: Option<Value>,
    input: S::Input,
}

impl<S: Function> Subject<S> {
    /// Makes the input; `None` if the slot cannot be evaluated.
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

    /// Takes the input that a scheme made from the slot's content.
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

/// A computation to run outside of the machine.
#[derive(Clone, Debug)]
pub struct Job<S: Function> {
    keys: Arc<Keys<S>>,
    subject: Arc<Subject<S>>,
    path: Path,
    work: Work<S>,
    done: Precomputed<S>,
}

/// Results that were computed ahead of a job.
#[derive(Clone, Debug)]
pub(crate) struct Precomputed<S: Function> {
    /// The part that depends on the set of parties alone.
    pub(crate) foreseen: Option<Opaque<Preparation<S>>>,
    /// The terms of some partials.
    pub(crate) ahead: Option<Opaque<RunningCombination<S>>>,
    /// The parties whose terms are in `ahead`.
    pub(crate) parties: BTreeSet<Party>,
}

// A derived `Default` would require defaults of the associated types.
impl<S: Function> Default for Precomputed<S> {
    fn default() -> Self {
        Self { foreseen: None, ahead: None, parties: BTreeSet::new() }
    }
}

/// An opaque value that is passed around and not looked into. Its debug output is `Opaque(..)`.
#[derive(Clone, PartialEq, Eq)]
pub struct Opaque<T>(Arc<T>);

impl<T> fmt::Debug for Opaque<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opaque(..)")
    }
}

impl<T> Opaque<T> {
    fn new(held: T) -> Self {
        Self(Arc::new(held))
    }
}

/// The computation of a job.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize)]
pub enum Work<S: Function> {
    /// Combine these partials. If that fails, find out which are wrong.
    Combine(BTreeMap<Party, S::Partial>),
    /// Check one partial of this party alone.
    Verify(Party, S::Partial),
    /// Check the output that this peer has shown.
    Open(Party, S::OutputMessage),
    /// Prepare for partials of exactly these parties.
    Foresee(BTreeSet<Party>),
    /// Compute ahead as much as these partials allow.
    Prepare(BTreeMap<Party, S::Partial>),
}

impl<S: Function> Work<S> {
    /// The parties whose partials or outputs the work is about.
    #[must_use]
    pub fn parties(&self) -> BTreeSet<Party> {
        match self {
            Self::Combine(partials) | Self::Prepare(partials) => partials.keys().copied().collect(),
            Self::Verify(party, _) | Self::Open(party, _) => BTreeSet::from([*party]),
            Self::Foresee(parties) => parties.clone(),
        }
    }
}

/// The result of a job, to be handed back to the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<S: Function> {
    /// The slot of the job.
    pub slot: Slot,
    /// The path of the job.
    pub path: Path,
    /// The value in the input; `None` if the input has none.
    pub value: Option<Value>,
    /// What the job found.
    pub finding: Finding<S>,
    /// The wrong partials, as they were checked. The beacon may hold other partials by now.
    pub faulty: BTreeMap<Party, S::Partial>,
}

/// The finding of a job, one kind for each kind of [`Work`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding<S: Function> {
    /// The finding of [`Work::Combine`].
    Combined(Result<Box<ProvenOutput<S>>, PartialsError>),
    /// The finding of [`Work::Verify`], with the party that was checked.
    Verified(Party, Result<(), PartialsError>),
    /// The finding of [`Work::Open`].
    Opened {
        /// The peer that has shown the output.
        from: Party,
        /// The output as it was shown.
        shown: Box<S::OutputMessage>,
        /// The output, or why it is not accepted.
        result: Result<Box<ProvenOutput<S>>, OutputError>,
    },
    /// The finding of [`Work::Foresee`], with its parties. `None` as second field is harmless: nothing is
    /// gained.
    Foreseen(BTreeSet<Party>, Option<Opaque<Preparation<S>>>),
    /// The finding of [`Work::Prepare`]: the parties whose terms are computed, including those
    /// [prepared](Job::prepared) before, and the sum of the terms. `None` if the output is known otherwise.
    Prepared(BTreeSet<Party>, Option<Opaque<RunningCombination<S>>>),
}

impl<S: Function> Job<S> {
    pub(crate) fn new(
        keys: &Arc<Keys<S>>,
        subject: &Arc<Subject<S>>,
        path: Path,
        work: Work<S>,
    ) -> Self {
        let (keys, subject, done) = (Arc::clone(keys), Arc::clone(subject), Precomputed::default());
        Self { keys, subject, path, work, done }
    }

    pub(crate) fn after(self, done: Precomputed<S>) -> Self {
        Self { done, ..self }
    }

    /// Parties whose terms were computed ahead of this job. The cost of the job comes from the others.
    #[must_use]
    pub fn prepared(&self) -> &BTreeSet<Party> {
        &self.done.parties
    }

    /// The committee with its keys; `None` if the path is not in use.
    #[must_use]
    pub fn committee(&self) -> Option<&S::Committee> {
        self.keys.committee(self.path)
    }

    /// The input at which the threshold function is evaluated.
    #[must_use]
    pub fn input(&self) -> &S::Input {
        &self.subject.input
    }

    /// The value in the input; `None` if the input has none.
    #[must_use]
    pub fn value(&self) -> Option<Value> {
        self.subject.value
    }

    /// The slot that the job is about.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.subject.slot
    }

    /// The path that the job is about.
    #[must_use]
    pub fn path(&self) -> Path {
        self.path
    }

    /// The computation to run.
    #[must_use]
    pub fn work(&self) -> &Work<S> {
        &self.work
    }

    /// Bytes of everything that the verdict depends on: chain, epoch, committee, path, slot, round, value and
    /// partials. Late keys are not included, because a committee admits one key of a party, and all parties
    /// admit the same one.
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

    /// Does the work, mostly pairings, on the calling thread. Give the verdict back to the beacon.
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
                Finding::Foreseen(parties.clone(), foreseen.map(Opaque::new))
            }
            Work::Prepare(partials) => {
                let parties = self.done.parties.iter().chain(partials.keys()).copied().collect();
                Finding::Prepared(parties, self.prepare(partials))
            }
        };
        self.verdict(finding)
    }

    /// Makes a verdict from a finding without computing it: for a cache of earlier results, or an
    /// accelerator. The beacon believes it. So the finding must be of this work, and must be what
    /// [`run`](Self::run) would find. Results of computing ahead may be left out.
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
    ) -> Result<Box<ProvenOutput<S>>, PartialsError> {
        // Jobs are made only for paths in use.
        let committee = self.committee().ok_or(PartialsError::Input)?;
        let input = &self.subject.input;
        let combined = match self.begun() {
            Some(ahead) => S::Foresight::finish(&ahead, committee, input, partials),
            None => S::combine(committee, input, partials),
        };
        combined.map(Box::new)
    }

    fn prepare(
        &self,
        partials: &BTreeMap<Party, S::Partial>,
    ) -> Option<Opaque<RunningCombination<S>>> {
        let (mut ahead, committee) = (self.begun()?, self.committee()?);
        S::Foresight::add(&mut ahead, committee, partials);
        Some(Opaque::new(ahead))
    }

    /// The part of the output that is computed already.
    fn begun(&self) -> Option<RunningCombination<S>> {
        match &self.done {
            Precomputed { ahead: Some(Opaque(ahead)), .. } => {
                Some(RunningCombination::<S>::clone(ahead))
            }
            Precomputed { foreseen: Some(Opaque(foreseen)), .. } => {
                Some(S::Foresight::begin(foreseen, &self.subject.input))
            }
            _ => None,
        }
    }

    fn open(&self, shown: &S::OutputMessage) -> Result<ProvenOutput<S>, OutputError> {
        let committee = self.committee().ok_or(OutputError::NotCounted)?;
        S::check_shown(committee, &self.subject.input, shown)
    }

    fn verify(&self, party: Party, partial: &S::Partial) -> Result<(), PartialsError> {
        let committee = self.committee().ok_or(PartialsError::Input)?;
        S::verify(committee, &self.subject.input, &BTreeMap::from([(party, partial.clone())]))
    }
}
