//! The engines of this epoch and of the epoch before, and the early messages for the next.
//!
//! The engine of the epoch before has ended ([`crate::term`]). It answers parties that are behind,
//! until the next epoch ends. Messages that come before this party has crossed the boundary wait for
//! their engine, a bounded number for each peer.
use std::collections::BTreeMap;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_engine::{Engine, Input, Output, Pace, PastVotes};
use prefinal_protocol::{Instant, Slot};

use crate::early::Early;
use crate::event::StartError;
use crate::setup::{Identity, Setup};
use crate::term::Term;
use crate::words::Begin;

/// The engines of this epoch and of the epochs beside it.
pub(crate) struct Engines<E: Engine> {
    begin: Begin<E>,
    current: EpochId,
    terms: BTreeMap<EpochId, Term<E>>,
    /// Records of engines that have not been started in this life.
    promised: BTreeMap<EpochId, Vec<E::Record>>,
    pub(crate) early: Early<E::Message>,
}

impl<E: Engine> Engines<E> {
    /// No engine yet. `current` is the chain's first epoch.
    pub(crate) fn new(
        begin: Begin<E>,
        current: EpochId,
        promised: BTreeMap<EpochId, Vec<E::Record>>,
    ) -> Self {
        Self { begin, current, terms: BTreeMap::new(), promised, early: Early::default() }
    }

    pub(crate) const fn current(&self) -> EpochId {
        self.current
    }

    /// Makes the engine of an epoch that begins with this slot.
    pub(crate) fn make(
        &mut self,
        setup: &Setup,
        identity: &Identity,
        first: Slot,
    ) -> Result<PastVotes, StartError> {
        let epoch = setup.context.epoch;
        let records = self.promised.remove(&epoch).unwrap_or_default();
        // The times at which rounds are due continue over epochs.
        let pace = Pace { before: first.get().saturating_sub(1), ..setup.pace };
        let setup = Setup { pace, ..setup.clone() };
        let (engine, past) = (self.begin)(&setup, identity, records)?;
        let term = Term::new(engine, first);
        let released = past.released.into_iter();
        let past = PastVotes {
            abandoned: past.abandoned.map(|view| term.view(view)),
            released: released.map(|(slot, value)| (term.slot(slot), value)).collect(),
        };
        self.terms.insert(epoch, term);
        Ok(past)
    }

    /// Enters an epoch that begins with this slot. All slots before it are final here.
    pub(crate) fn enter(&mut self, now: Instant, epoch: EpochId, first: Slot) {
        let over = std::mem::replace(&mut self.current, epoch);
        self.terms.retain(|one, _| *one >= over);
        if let Some(term) = self.terms.get_mut(&over) {
            term.end(first);
        }
        self.handle(now, epoch, Input::Start);
        for (from, message) in std::mem::take(&mut self.early).into_messages() {
            self.handle(now, epoch, Input::Received { from, message });
        }
    }

    /// Makes the engine of the epoch before quiet: a quorum has left that epoch.
    pub(crate) fn quieten_before(&mut self) {
        self.terms.range_mut(..self.current).for_each(|(_, term)| term.quieten());
    }

    /// Passes an input to the engine of that epoch, if it is here.
    pub(crate) fn handle(&mut self, now: Instant, epoch: EpochId, input: Input<E>) {
        if let Some(term) = self.terms.get_mut(&epoch) {
            term.handle(now, input);
        }
    }

    pub(crate) fn received(
        &mut self,
        now: Instant,
        epoch: EpochId,
        from: Party,
        message: E::Message,
    ) {
        if epoch != self.current.next() {
            return self.handle(now, epoch, Input::Received { from, message });
        }
        self.early.keep(from, message);
    }

    /// The same as [`Engine::carry`], for the engine of that epoch.
    pub(crate) fn carry(&mut self, epoch: EpochId, partial: Vec<u8>) -> Result<(), Vec<u8>> {
        match self.terms.get_mut(&epoch) {
            Some(term) => term.carry(partial),
            None => Err(partial),
        }
    }

    /// Tells every engine that has begun that its deadline may have passed.
    pub(crate) fn tick(&mut self, now: Instant) {
        for (_, term) in self.terms.range_mut(..=self.current) {
            term.handle(now, Input::Tick);
        }
    }

    /// Tells this epoch's engine that the network has room for more.
    pub(crate) fn idle(&mut self, now: Instant) {
        if let Some(term) = self.terms.get_mut(&self.current) {
            term.idle(now);
        }
    }

    /// Tells this epoch's engine how much memory it may use.
    pub(crate) fn memory(&mut self, now: Instant, bytes: u64) {
        if let Some(term) = self.terms.get_mut(&self.current) {
            term.memory(now, bytes);
        }
    }

    pub(crate) fn set_limit(&mut self, limit: Option<Slot>) {
        if let Some(term) = self.terms.get_mut(&self.current) {
            term.set_limit(limit);
        }
    }

    /// The next output, of the engine that has ended or of this epoch's engine.
    pub(crate) fn poll(&mut self) -> Option<(EpochId, Output<E>)> {
        let begun = self.terms.range_mut(..=self.current);
        begun.into_iter().find_map(|(epoch, term)| Some((*epoch, term.poll()?)))
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let begun = self.terms.range(..=self.current);
        begun.into_iter().filter_map(|(_, term)| term.wake_at()).min()
    }
}
