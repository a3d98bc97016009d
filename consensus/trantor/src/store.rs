//! The batches that are stored here: what this party spreads, what it vouches for, what was ordered.
//!
//! An author has an allowance for batches that are stored and not ordered; beyond it nothing is stored or
//! acknowledged. So one that spreads without end fills its own allowance and nobody else's. A batch is kept
//! as long as some block may still hold it, and as long as a block that holds it is kept.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Slot};

use crate::batch::{Acks, AvailabilityCertificate, Batch, BatchId, BatchLabel};
use crate::message::MAX_BATCHES;

/// Allowance of an author, in blocks of the largest size.
const ALLOWANCE_BLOCKS: usize = 4;
/// Allowance of an author, in batches.
const ALLOWANCE_COUNT: usize = 64;
/// Batches that this party spreads, and certificates that wait for a block, at a time.
pub(crate) const BUFFER: usize = 16;
/// Certificates of others that wait for a block, for each party that passed them on.
const FOREIGN: usize = 16;

/// A batch of this party that too few have acknowledged yet.
#[derive(Debug)]
pub(crate) struct Spreading {
    pub(crate) acks: Acks,
    /// The parties whose acknowledgement was bad. They get no second attempt.
    pub(crate) rejected: BTreeSet<Party>,
    /// Whether the sum of some is being checked.
    pub(crate) checking: bool,
    /// When it is sent again.
    pub(crate) again: Instant,
}

#[derive(Debug, Default, Clone, Copy)]
struct Usage {
    bytes: usize,
    count: usize,
}

#[derive(Debug)]
pub(crate) struct Store {
    allowance: usize,
    held: BTreeMap<BatchId, Batch>,
    /// Stored batches that are in no reported block.
    waiting: BTreeSet<BatchId>,
    usage: BTreeMap<Party, Usage>,
    pub(crate) spreading: BTreeMap<BatchId, Spreading>,
    /// Certificates that wait for a block, oldest first, each with the party that they came from.
    buffer: VecDeque<(Party, AvailabilityCertificate)>,
}

impl Store {
    pub(crate) const fn new(max_block_bytes: usize) -> Self {
        Self {
            allowance: max_block_bytes.saturating_mul(ALLOWANCE_BLOCKS),
            held: BTreeMap::new(),
            waiting: BTreeSet::new(),
            usage: BTreeMap::new(),
            spreading: BTreeMap::new(),
            buffer: VecDeque::new(),
        }
    }

    pub(crate) fn get(&self, id: BatchId) -> Option<&Batch> {
        self.held.get(&id)
    }

    /// Whether this very batch is here, with the size that its label has.
    pub(crate) fn has(&self, label: &BatchLabel) -> bool {
        self.held.get(&label.id).is_some_and(|batch| batch.label() == *label)
    }

    /// Whether an author may have one more batch of this size stored.
    pub(crate) fn has_room(&self, author: Party, bytes: usize) -> bool {
        let usage = self.usage.get(&author).copied().unwrap_or_default();
        usage.count < ALLOWANCE_COUNT && usage.bytes.saturating_add(bytes) <= self.allowance
    }

    /// Stores a batch. `false` if it is here already.
    pub(crate) fn insert(&mut self, batch: Batch) -> bool {
        let id = batch.id();
        if self.held.contains_key(&id) {
            return false;
        }
        let usage = self.usage.entry(batch.author()).or_default();
        usage.bytes = usage.bytes.saturating_add(batch.bytes());
        usage.count = usage.count.saturating_add(1);
        self.waiting.insert(id);
        self.held.insert(id, batch);
        true
    }

    /// Notes that a batch is in a reported block.
    pub(crate) fn ordered(&mut self, id: BatchId) {
        self.spreading.remove(&id);
        self.buffer.retain(|(_, certificate)| certificate.batch.id != id);
        if !self.waiting.remove(&id) {
            return;
        }
        let Some(batch) = self.held.get(&id) else { return };
        if let Some(usage) = self.usage.get_mut(&batch.author()) {
            usage.bytes = usage.bytes.saturating_sub(batch.bytes());
            usage.count = usage.count.saturating_sub(1);
        }
    }

    /// Drops batches that no block from this height on may hold, unless one of these kept blocks does.
    pub(crate) fn keep(&mut self, from: Slot, referenced: &BTreeSet<BatchId>) {
        self.held.retain(|id, batch| batch.until() >= from || referenced.contains(id));
    }

    /// Gives up batches that were not ordered in their time, and certificates of any. Returns the batches of
    /// this author.
    pub(crate) fn expire(&mut self, from: Slot, author: Party) -> Vec<Batch> {
        let late = |id: &&BatchId| self.held.get(id).is_some_and(|batch| batch.until() < from);
        let late: Vec<BatchId> = self.waiting.iter().filter(late).copied().collect();
        self.buffer.retain(|(_, certificate)| certificate.batch.until >= from);
        let mut own = Vec::new();
        for id in late {
            self.ordered(id);
            own.extend(self.held.get(&id).filter(|batch| batch.author() == author).cloned());
        }
        own
    }

    /// Whether this party may spread another batch: others store so many and no more. What others have
    /// passed on does not count, or they could keep this party from spreading.
    pub(crate) fn may_spread(&self, me: Party) -> bool {
        let few = self.spreading.len().saturating_add(self.buffered_by(me)) < BUFFER;
        few && self.has_room(me, self.allowance / ALLOWANCE_BLOCKS)
    }

    /// Puts a certificate into the buffer, if it has a place there.
    pub(crate) fn buffer(&mut self, from: Party, certificate: AvailabilityCertificate, next: Slot) {
        if self.has_place(from, &certificate.batch, next) {
            self.buffer.push_back((from, certificate));
        }
    }

    /// Forgets acknowledgements and certificates, for their committee is no more.
    pub(crate) fn forget_certificates(&mut self) {
        self.buffer.clear();
        self.spreading.clear();
    }

    /// Whether a batch's certificate should wait for a block: some block from this height on may hold it, it
    /// is neither ordered nor waits already, and there is room for one more that came from this party.
    pub(crate) fn has_place(&self, from: Party, batch: &BatchLabel, next: Slot) -> bool {
        let known = self.buffer.iter().any(|(_, one)| one.batch.id == batch.id);
        let ordered = self.held.contains_key(&batch.id) && !self.waiting.contains(&batch.id);
        batch.until >= next && !known && !ordered && self.buffered_by(from) < FOREIGN
    }

    fn buffered_by(&self, from: Party) -> usize {
        self.buffer.iter().filter(|(party, _)| *party == from).count()
    }

    /// The oldest certificates that fit into a block, without those that open heights carry already.
    pub(crate) fn select(
        &self,
        slot: Slot,
        bytes: usize,
        carried: &BTreeSet<BatchId>,
    ) -> Vec<AvailabilityCertificate> {
        let mut room = bytes;
        let fresh = self.buffer.iter().map(|(_, certificate)| certificate);
        let fresh = fresh.filter(|certificate| {
            certificate.batch.until >= slot && !carried.contains(&certificate.batch.id)
        });
        let fits = |certificate: &&AvailabilityCertificate| {
            let size = usize::try_from(certificate.batch.bytes).unwrap_or(usize::MAX);
            let left = room.checked_sub(size);
            room = left.unwrap_or(room);
            left.is_some()
        };
        fresh.filter(fits).take(MAX_BATCHES).cloned().collect()
    }

    /// Batches of this party that are on the way and have no certificate yet, as [`select`](Self::select) takes
    /// those that have one. No more than `most`.
    pub(crate) fn select_uncertified(
        &self,
        slot: Slot,
        bytes: usize,
        carried: &BTreeSet<BatchId>,
        most: usize,
    ) -> Vec<BatchLabel> {
        let mut room = bytes;
        let own = self.spreading.keys().filter(|id| !carried.contains(id));
        let own = own.filter_map(|id| self.held.get(id)).map(Batch::label);
        let fits = |label: &BatchLabel| {
            let size = usize::try_from(label.bytes).unwrap_or(usize::MAX);
            let left = room.checked_sub(size);
            room = left.unwrap_or(room);
            left.is_some()
        };
        own.filter(|label| label.until >= slot).filter(fits).take(most).collect()
    }

    /// This party's own certificates that wait for a block.
    pub(crate) fn own(&self, me: Party) -> Vec<AvailabilityCertificate> {
        let own = self.buffer.iter().filter(|(party, _)| *party == me);
        own.map(|(_, certificate)| certificate.clone()).collect()
    }

    /// Stored batches of an author that are in no reported block.
    pub(crate) fn waiting_of(&self, author: Party) -> Vec<BatchId> {
        let of_author =
            |id: &&BatchId| self.held.get(id).is_some_and(|batch| batch.author() == author);
        self.waiting.iter().filter(of_author).copied().collect()
    }
}
