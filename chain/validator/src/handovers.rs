//! Key generation after key generation, out of one order of blocks.
//!
//! ```text
//!  slots   … s │ s+1 …………… u │ … u+lead−1 │ b = u+lead …
//!            │   dealings for │            │
//!            │   the next key │            └ epoch e+1
//!            │                └ its keys suffice
//!            └ a block says who the next committee is
//! ```
//! Who that is, is a function of the block ([`Succession`](crate::setup::Succession)); where its epoch begins follows from what was
//! ordered behind it. So all parties come to the same slot, each when it has judged what was ordered. Until
//! then it holds back what its engine says of slots that may lie behind the boundary ([`Handovers::limit`]).
//!
//! Keys of the epoch before that are ordered behind its end still count for its last slots, until they have
//! their values: without them slots could lack weight, and all values behind them would wait.
//!
//! An epoch has at least one slot: if the keys of the next suffice before its own do, the next begins one
//! slot after it.
use std::collections::BTreeMap;
use std::sync::Arc;

use crypto_core::access::Party;
use crypto_core::context::EpochId;
use engine::Block;
use protocol::Slot;
use pvss_dkg::protocol::Record;

use crate::keygen::{self, Boundary, Epoch, Keygen, KeygenError, Verdict};
use crate::scheme::{Fixed, Keyed};
use crate::setup::Setup;

/// The first slot with which the epoch of these keys may begin.
fn bound<S: Keyed>(keygen: &Keygen<S>, next: Slot) -> Slot {
    let (Boundary::NotBefore(slot) | Boundary::At(slot)) = keygen.boundary(next.get());
    Slot::new(slot)
}

/// The key generations of this epoch and of those beside it, as one party follows them.
pub struct Handovers<S: Keyed> {
    me: Party,
    /// Of key generations that have not begun in this life.
    records: BTreeMap<EpochId, Vec<Record>>,
    /// That of the epoch before, for keys that come late.
    before: Option<Stage<S>>,
    current: Stage<S>,
    next: Option<Next<S>>,
    /// The last slot whose block was ordered.
    last: Slot,
}

struct Stage<S: Keyed> {
    setup: Arc<Setup>,
    keygen: Keygen<S>,
    /// Where the epoch begins, if an epoch before says so.
    first: Option<Slot>,
}

struct Next<S: Keyed> {
    setup: Arc<Setup>,
    /// Begins when this party has opened its shares of the key before.
    keygen: Option<Keygen<S>>,
    /// What was ordered until then.
    waiting: Vec<(Slot, Vec<Arc<[u8]>>)>,
}

impl<S: Keyed> Handovers<S> {
    /// Before the first slot, with the records of an earlier life; blocks are given again from the first
    /// one on that is remembered.
    ///
    /// # Errors
    /// As [`Keygen::new`].
    pub fn new(
        setup: Arc<Setup>,
        me: Party,
        mut records: BTreeMap<EpochId, Vec<Record>>,
    ) -> Result<Self, KeygenError> {
        let own = records.remove(&setup.context.epoch).unwrap_or_default();
        let keygen = Keygen::new(Arc::clone(&setup), me, own, None)?;
        let current = Stage { setup, keygen, first: None };
        Ok(Self { me, records, before: None, current, next: None, last: Slot::new(0) })
    }

    /// Takes what is final in the next slot.
    ///
    /// # Errors
    /// If the key cannot be handed over to the committee that the block names.
    pub fn ordered(&mut self, slot: Slot, block: Option<&Block>) -> Result<(), KeygenError> {
        self.last = slot;
        let Some(block) = block else { return Ok(()) };
        for stage in self.before.iter_mut().chain([&mut self.current]) {
            stage.keygen.ordered(slot.get(), &block.transactions);
        }
        match &mut self.next {
            Some(Next { keygen: Some(keygen), .. }) => {
                keygen.ordered(slot.get(), &block.transactions);
            }
            Some(next) => next.waiting.push((slot, block.transactions.clone())),
            None => {
                let current = &self.current.setup;
                let setup =
                    current.succession.as_ref().and_then(|one| one.next(current, slot, block));
                let next = |setup| Next { setup, keygen: None, waiting: Vec::new() };
                self.next = setup.map(next);
            }
        }
        self.hand_over()
    }

    /// Takes the verdict of a job of that epoch.
    ///
    /// # Errors
    /// If the key cannot be handed over to the next committee.
    pub fn checked(&mut self, epoch: EpochId, verdict: Verdict<S>) -> Result<(), KeygenError> {
        if let Some(keygen) = self.keygen_mut(epoch) {
            keygen.checked(verdict);
        }
        self.hand_over()
    }

    /// The next thing to do, and for which epoch.
    pub fn poll(&mut self) -> Option<(EpochId, keygen::Output<S>)> {
        for Stage { setup, keygen, .. } in self.before.iter_mut().chain([&mut self.current]) {
            if let Some(output) = keygen.poll() {
                return Some((setup.context.epoch, output));
            }
        }
        let next = self.next.as_mut()?;
        Some((next.setup.context.epoch, next.keygen.as_mut()?.poll()?))
    }

    /// What the beacon of an epoch needs, see [`Keygen::take_epoch`].
    pub fn take_epoch(&mut self, epoch: EpochId) -> Option<Epoch<S>> {
        let first = if epoch == self.current.setup.context.epoch {
            self.current.first
        } else {
            Some(self.boundary()?)
        };
        let taken = self.keygen_mut(epoch)?.take_epoch()?;
        Some(Epoch { first_slot: first.map_or(taken.first_slot, Slot::get), ..taken })
    }

    /// The first slot of the next epoch, once it is known.
    #[must_use]
    pub fn boundary(&self) -> Option<Slot> {
        let next = self.next.as_ref()?.keygen.as_ref()?;
        let Boundary::At(first) = next.boundary(self.last.next().get()) else { return None };
        Some(Slot::new(first).max(self.first()?.next()))
    }

    /// From this slot on nothing may be said under the current epoch yet: the next may begin there. None if
    /// there is no succession.
    #[must_use]
    pub fn limit(&self) -> Option<Slot> {
        self.current.setup.succession.as_ref()?;
        if let Some(boundary) = self.boundary() {
            return Some(boundary);
        }
        let next = self.last.next();
        let limit = match &self.next {
            // The next block may name a committee, the one behind it have all its dealings.
            None => next.next().after(self.current.setup.lead),
            Some(Next { setup, keygen: None, waiting }) => {
                waiting.first().map_or(next, |(slot, _)| *slot).after(setup.lead)
            }
            Some(Next { keygen: Some(keygen), .. }) => bound(keygen, next),
        };
        // What completes the keys of the current epoch may still have to be ordered.
        let own = self.first().unwrap_or_else(|| bound(&self.current.keygen, next));
        Some(limit.max(own.next()))
    }

    /// The current epoch's key, once it is fixed.
    #[must_use]
    pub fn key(&self) -> Option<&Arc<Fixed<S>>> {
        self.current.keygen.key()
    }

    /// The set-up of the current epoch, of the next, or of the one before.
    #[must_use]
    pub fn setup(&self, epoch: EpochId) -> Option<&Arc<Setup>> {
        let next = self.next.as_ref().map(|next| &next.setup);
        let begun = self.before.iter().chain([&self.current]).map(|stage| &stage.setup);
        let mut setups = begun.chain(next);
        setups.find(|setup| setup.context.epoch == epoch)
    }

    /// Where the current epoch or the next begins, once that is known.
    #[must_use]
    pub fn first_of(&self, epoch: EpochId) -> Option<Slot> {
        if epoch == self.current.setup.context.epoch {
            return self.first();
        }
        let is_next = self.next.as_ref().is_some_and(|next| next.setup.context.epoch == epoch);
        self.boundary().filter(|_| is_next)
    }

    /// The next committee and its first slot, once both are known.
    #[must_use]
    pub fn following(&self) -> Option<(Arc<Setup>, Slot)> {
        let first = self.boundary()?;
        Some((Arc::clone(&self.next.as_ref()?.setup), first))
    }

    /// The same, if all slots before are final. To be asked behind each slot and behind each verdict, for the
    /// boundary may be known only when the slot before it is final already.
    #[must_use]
    pub fn crossing(&self) -> Option<(Arc<Setup>, Slot)> {
        self.following().filter(|(_, first)| *first <= self.last.next())
    }

    /// The next epoch is the current one, if all slots before it are final. What this party had of the key
    /// before to deal on is gone then.
    pub fn cross(&mut self) {
        let Some((_, first)) = self.crossing() else { return };
        if let Some(Next { setup, keygen: Some(keygen), .. }) = self.next.take() {
            let next = Stage { setup, keygen, first: Some(first) };
            let mut over = std::mem::replace(&mut self.current, next);
            over.keygen.wipe_shares();
            self.before = Some(over);
        }
    }

    /// All slots of this epoch have their values: its keys are of no more use.
    pub fn retire(&mut self, epoch: EpochId) {
        self.before.take_if(|before| before.setup.context.epoch <= epoch);
    }

    /// Where the current epoch begins.
    fn first(&self) -> Option<Slot> {
        let Stage { keygen, first, .. } = &self.current;
        if first.is_some() {
            return *first;
        }
        match keygen.boundary(self.last.next().get()) {
            Boundary::At(first) => Some(Slot::new(first)),
            Boundary::NotBefore(_) => None,
        }
    }

    fn keygen_mut(&mut self, epoch: EpochId) -> Option<&mut Keygen<S>> {
        let mut begun = self.before.iter_mut().chain([&mut self.current]);
        if let Some(stage) = begun.find(|stage| stage.setup.context.epoch == epoch) {
            return Some(&mut stage.keygen);
        }
        let next = self.next.as_mut().filter(|next| next.setup.context.epoch == epoch)?;
        next.keygen.as_mut()
    }

    /// Begins with the next key, if there is a committee for it and a key to hand over.
    fn hand_over(&mut self) -> Result<(), KeygenError> {
        let Some(next) = self.next.as_mut().filter(|next| next.keygen.is_none()) else {
            return Ok(());
        };
        let Some(before) = self.current.keygen.handed_over() else { return Ok(()) };
        let records = self.records.remove(&next.setup.context.epoch).unwrap_or_default();
        let setup = Arc::clone(&next.setup);
        let mut keygen = Keygen::new(setup, self.me, records, Some(before))?;
        for (slot, transactions) in std::mem::take(&mut next.waiting) {
            keygen.ordered(slot.get(), &transactions);
        }
        next.keygen = Some(keygen);
        Ok(())
    }
}
