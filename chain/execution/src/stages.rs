//! The stages: which block takes its next step now. Called after every input.
//!
//! Every stage looks at all blocks in flight, in the order of their heights. Their number is bounded
//! ([`Limits`](crate::Limits)).
use std::mem::replace;

use crate::config::{Config, Record, Role, StateClaim};
use crate::event::{Effect, Vote};
use crate::executor::{Execution, Executor};
use crate::job::{ExecuteJob, StoreCall, StoreJob};
use crate::pipeline::Pipeline;
use crate::store::StateCertificate;
use crate::tree::{Entry, Executed, Place, Progress, Storage};

impl<X: Executor, C: StateCertificate> Pipeline<X, C> {
    pub(crate) fn advance(&mut self) {
        if self.stopped {
            return;
        }
        for place in self.tree.places() {
            self.execute_head(place);
            self.execute_tail(place);
            self.vote(place);
        }
        self.commit_next();
        if self.config.switches.opt_commit {
            for place in self.tree.places() {
                self.write(place);
            }
        }
        for header in self.leftovers.start() {
            self.effect(Effect::Store(StoreJob::new(header, StoreCall::Revert)));
        }
    }

    /// Zaptos, Algorithms 1 and 2, execution stage: when the parent is executed.
    fn execute_head(&mut self, place: Place) {
        let Some(entry) = self.tree.get(place) else { return };
        if !matches!(entry.progress, Progress::New) {
            return;
        }
        let Some(parent) = Place::of_parent(&entry.block.header) else { return };
        let view = if parent == self.tip_place() {
            self.tip_view.clone()
        } else {
            match self.tree.get(parent).and_then(Entry::executed) {
                Some(executed) => executed.view.clone(),
                None => return,
            }
        };
        let job = ExecuteJob::head(entry.block.clone(), view);
        self.begin(place, Progress::Head);
        self.effect(Effect::Execute(job));
    }

    /// Ours: what reads randomness runs behind the rest of its block, when the block is ordered. A full node
    /// hears of the order with the certificate only, but a value that it has verified exists only because
    /// some block of the slot is ordered. If it is another one than this proposal, the work is in vain.
    fn execute_tail(&mut self, place: Place) {
        let Config { role, switches, .. } = self.config;
        let Some(entry) = self.tree.get_mut(place) else { return };
        let slot = entry.block.header.slot;
        let Some(value) = self.values.get(&slot).copied() else { return };
        if role == Role::Validator && !entry.ordered {
            return;
        }
        match replace(&mut entry.progress, Progress::Tail) {
            Progress::Draft(draft) => {
                let job = ExecuteJob::tail(entry.block.clone(), draft, value);
                if role == Role::Validator && switches.opt_execute {
                    self.effect(Effect::ForwardValue { slot, value });
                }
                self.effect(Effect::Execute(job));
            }
            other => entry.progress = other,
        }
    }

    fn begin(&mut self, place: Place, progress: Progress<X>) {
        if let Some(entry) = self.tree.get_mut(place) {
            entry.progress = progress;
        }
    }

    /// Certification stage: on the vote that orders the block (Algorithm 2), or when it is ordered.
    fn vote(&mut self, place: Place) {
        if self.config.role != Role::Validator {
            return;
        }
        let piggyback = self.config.switches.piggyback;
        let Some(entry) = self.tree.get_mut(place).filter(|entry| !entry.voted) else { return };
        let Some(roots) = entry.executed().map(|executed| executed.roots) else { return };
        let view = entry.view.filter(|_| piggyback && !entry.ordered);
        if !entry.ordered && view.is_none() {
            return;
        }
        entry.voted = true;
        let slot = entry.block.header.slot;
        let Place { height, block } = place;
        let claim = StateClaim { height, block, roots };
        if self.votes.insert(place, roots).is_none() {
            self.keep(Record::Voted(claim));
        }
        self.effect(Effect::Vote(Vote { slot, claim, view }));
    }

    /// Commit stage: the next block in height that is executed, ordered and certified.
    fn commit_next(&mut self) {
        let height = self.tip.height.next();
        let Some(block) = self.ordered.get(&height).copied() else { return };
        let Some(certificate) = self.certified.get(&height).map(|one| one.certificate.clone())
        else {
            return;
        };
        let place = Place { height, block };
        let free = !self.leftovers.contains(block);
        let Some(entry) = self.tree.get_mut(place) else { return };
        let (storage, call) = match (entry.storage, entry.executed().and_then(to_write)) {
            (Storage::Optimistic, _) => (Storage::Certifying, StoreCall::Certify(certificate)),
            (Storage::Absent, Some(execution)) if free => {
                let block = entry.block.clone();
                (Storage::Writing, StoreCall::WriteCertified(block, execution, certificate))
            }
            _ => return,
        };
        entry.storage = storage;
        let header = entry.block.header;
        self.effect(Effect::Store(StoreJob::new(header, call)));
    }

    /// Zaptos, Algorithm 2, opt-commit: when the block is executed and its parent is written.
    fn write(&mut self, place: Place) {
        let Some(entry) = self.tree.get(place) else { return };
        let header = entry.block.header;
        // A block that made room and came back waits until the store has forgotten it.
        if entry.storage != Storage::Absent || self.leftovers.contains(header.id) {
            return;
        }
        let Some(execution) = entry.executed().and_then(to_write) else { return };
        let written = |parent: Place| {
            let stored = self.tree.get(parent).map(|entry| entry.storage);
            parent == self.tip_place()
                || matches!(stored, Some(Storage::Optimistic | Storage::Certifying))
        };
        if !Place::of_parent(&header).is_some_and(written) {
            return;
        }
        let call = StoreCall::Write(entry.block.clone(), execution);
        if let Some(entry) = self.tree.get_mut(place) {
            entry.storage = Storage::Writing;
        }
        self.effect(Effect::Store(StoreJob::new(header, call)));
    }
}

/// What is to be written of a block, unless it is written already.
fn to_write<X: Executor>(executed: &Executed<X>) -> Option<Execution<X>> {
    let delta = executed.delta.clone()?;
    Some(Execution { roots: executed.roots, view: executed.view.clone(), delta })
}
