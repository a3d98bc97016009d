//! The sequence of key generations that follows from one order of blocks.
//!
//! ```text
//!  slots   … s │ s+1 …………… u │ … u+lead−1 │ b = u+lead …
//!            │   dealings for │            │
//!            │   the next key │            └ epoch e+1
//!            │                └ its keys suffice
//!            └ a block says who the next committee is
//! ```
//! The next committee is a function of a block ([`Succession`](crate::setup::Succession)). It may have more
//! parties than the one before. The first
//! slot of its epoch follows from what was ordered behind that block. So all parties come to the same
//! slot, each when it has judged what was ordered. Until then a party holds back what its engine says
//! about slots that may lie behind the boundary ([`Handovers::limit`]).
//!
//! Keys of the epoch before that are ordered behind its end still count for its last slots, until these
//! have their values. Without them, slots could lack weight, and all values behind them would wait.
//!
//! An epoch has at least one slot. If the keys of the next epoch suffice before its own keys do, the
//! next epoch begins one slot after it.
use std::collections::BTreeMap;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_engine::Block;
use prefinal_protocol::Slot;
use prefinal_pvss_dkg::protocol::Record;

use crate::application::Judged;
use crate::keygen::{self, Boundary, Epoch, Keygen, KeygenError, Verdict};
use crate::scheme::{CommitteeKey, KeyedScheme};
use crate::setup::{RefusedChange, Setup};

/// The first slot at which the epoch of these keys may begin.
fn bound<S: KeyedScheme>(keygen: &Keygen<S>, next: Slot) -> Slot {
    let (Boundary::NotBefore(slot) | Boundary::At(slot)) = keygen.boundary(next.get());
    Slot::new(slot)
}

/// The key generations of this epoch and of the epochs beside it, as one party runs them.
pub struct Handovers<S: KeyedScheme> {
    me: Party,
    /// Records of key generations that have not been started in this life.
    records: BTreeMap<EpochId, Vec<Record>>,
    /// The key generation of the epoch before, for keys that come late.
    before: Option<Stage<S>>,
    current: Stage<S>,
    next: Option<Next<S>>,
    /// The last slot whose block was ordered.
    last: Slot,
}

struct Stage<S: KeyedScheme> {
    setup: Arc<Setup>,
    keygen: Keygen<S>,
    /// Where the epoch begins, if an earlier epoch decided it.
    first: Option<Slot>,
}

struct Next<S: KeyedScheme> {
    setup: Arc<Setup>,
    /// `None` until this party has opened its shares of the key before.
    keygen: Option<Keygen<S>>,
    /// The slots that were ordered until then.
    waiting: Vec<(Slot, Vec<Arc<[u8]>>)>,
}

impl<S: KeyedScheme> Handovers<S> {
    /// Starts before the first slot, with the records of an earlier life. Blocks are then given again,
    /// from the first one that is on record.
    ///
    /// # Errors
    /// The same as [`Keygen::new`].
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

    /// Takes the final block of the next slot; `None` if the slot was skipped. Returns the transactions
    /// in it that should change the committee and do not. When a committee is named already, such
    /// transactions are not looked at.
    ///
    /// # Errors
    /// If the key cannot be handed over to the committee that the block names.
    pub fn ordered(
        &mut self,
        slot: Slot,
        block: Option<&Block>,
    ) -> Result<Vec<RefusedChange>, KeygenError> {
        self.last = slot;
        let mut refused = Vec::new();
        let Some(block) = block else { return Ok(refused) };
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
                let decision = current.succession.as_ref();
                let decision = decision.map(|one| one.next(current, slot, block));
                let decision = decision.unwrap_or_default();
                let next = |setup| Next { setup, keygen: None, waiting: Vec::new() };
                (self.next, refused) = (decision.next.map(next), decision.refused);
            }
        }
        self.hand_over()?;
        Ok(refused)
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

    /// The next output, and the epoch that it is for.
    pub fn poll(&mut self) -> Option<(EpochId, keygen::Output<S>)> {
        for Stage { setup, keygen, .. } in self.before.iter_mut().chain([&mut self.current]) {
            if let Some(output) = keygen.poll() {
                return Some((setup.context.epoch, output));
            }
        }
        let next = self.next.as_mut()?;
        Some((next.setup.context.epoch, next.keygen.as_mut()?.poll()?))
    }

    /// What the beacon of an epoch needs; see [`Keygen::take_epoch`].
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

    /// From this slot on nothing may be said under the current epoch yet, because the next epoch may
    /// begin there. `None` if no committee follows.
    #[must_use]
    pub fn limit(&self) -> Option<Slot> {
        self.current.setup.succession.as_ref()?;
        if let Some(boundary) = self.boundary() {
            return Some(boundary);
        }
        let limit = self.undecided().after(self.newest_setup().lead);
        // The dealings or keys that complete the current epoch's keys may still have to be ordered.
        let own = self.first().unwrap_or_else(|| bound(&self.current.keygen, self.last.next()));
        Some(limit.max(own.next()))
    }

    /// The first slot whose block may still turn out to decide where the next epoch begins, as far as this party has
    /// judged, as long as [`boundary`](Self::boundary) is not known.
    #[must_use]
    pub fn undecided(&self) -> Slot {
        let next = self.last.next();
        match &self.next {
            // The next block may name a committee, and the block behind it may hold all its dealings.
            None => next.next(),
            Some(Next { keygen: None, waiting, .. }) => {
                waiting.first().map_or(next, |(slot, _)| *slot)
            }
            Some(Next { keygen: Some(keygen), .. }) => Slot::new(keygen.undecided(next.get())),
        }
    }

    /// How far blocks are judged.
    #[must_use]
    pub fn judged(&self) -> Judged {
        match (self.limit(), self.following()) {
            (None, _) => Judged::ALL,
            (Some(limit), Some(_)) => Judged { undecided: limit, limit },
            (Some(limit), None) => Judged { undecided: self.undecided(), limit },
        }
    }

    /// The current epoch's key, once it is fixed.
    #[must_use]
    pub fn key(&self) -> Option<&Arc<CommitteeKey<S>>> {
        self.current.keygen.key()
    }

    /// The newest set-up that is known: the next one, once its committee is named, or the current one.
    #[must_use]
    pub fn newest_setup(&self) -> &Arc<Setup> {
        self.next.as_ref().map_or(&self.current.setup, |next| &next.setup)
    }

    /// The set-up of the current epoch, of the next one, or of the one before.
    #[must_use]
    pub fn setup(&self, epoch: EpochId) -> Option<&Arc<Setup>> {
        let next = self.next.as_ref().map(|next| &next.setup);
        let begun = self.before.iter().chain([&self.current]).map(|stage| &stage.setup);
        let mut setups = begun.chain(next);
        setups.find(|setup| setup.context.epoch == epoch)
    }

    /// The first slot of the current epoch or of the next, once it is known.
    #[must_use]
    pub fn first_of(&self, epoch: EpochId) -> Option<Slot> {
        if epoch == self.current.setup.context.epoch {
            return self.first();
        }
        let is_next = self.next.as_ref().is_some_and(|next| next.setup.context.epoch == epoch);
        self.boundary().filter(|_| is_next)
    }

    /// The set-up of the epoch that has this slot, the next one or an earlier one of the current epoch; `None` as
    /// long as that is not certain.
    #[must_use]
    pub fn setup_of(&self, slot: Slot) -> Option<Arc<Setup>> {
        if self.limit().is_none_or(|limit| slot < limit) {
            return Some(Arc::clone(&self.current.setup));
        }
        let (setup, first) = self.following()?;
        (slot >= first).then_some(setup)
    }

    /// The next committee and its first slot, once both are known.
    #[must_use]
    pub fn following(&self) -> Option<(Arc<Setup>, Slot)> {
        let first = self.boundary()?;
        Some((Arc::clone(&self.next.as_ref()?.setup), first))
    }

    /// The same as [`Self::following`], if all slots before are final. Call it after each slot and
    /// after each verdict, because the boundary may become known only when the slot before it is
    /// already final.
    #[must_use]
    pub fn crossing(&self) -> Option<(Arc<Setup>, Slot)> {
        self.following().filter(|(_, first)| *first <= self.last.next())
    }

    /// Makes the next epoch the current one, if all slots before it are final. Wipes this party's
    /// shares of the key before, which it had kept to deal on.
    pub fn cross(&mut self) {
        let Some((_, first)) = self.crossing() else { return };
        if let Some(Next { setup, keygen: Some(keygen), .. }) = self.next.take() {
            let next = Stage { setup, keygen, first: Some(first) };
            let mut over = std::mem::replace(&mut self.current, next);
            over.keygen.wipe_shares();
            self.before = Some(over);
        }
    }

    /// All slots of this epoch have their values: drops its keys.
    pub fn retire(&mut self, epoch: EpochId) {
        self.before.take_if(|before| before.setup.context.epoch <= epoch);
    }

    /// The first slot of the current epoch, once it is known.
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

    /// Starts the next key generation, if its committee is known and there is a key to hand over.
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
