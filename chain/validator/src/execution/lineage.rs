//! Blocks of an engine, in the words of the pipeline: heights without gaps, from the first slot that channels have
//! outputs in.
//!
//! Slots before it are those of the first key generation. Blocks that come before this slot is known wait. What
//! was ordered gets its height by its place in the order, a proposal by its parent's. Proposals whose parents have
//! no height yet wait too, at most [`PROPOSALS`] of them. The engine of a later epoch names no block of the epoch
//! before, so what follows its first block is placed once that one is ordered.
use std::collections::BTreeMap;

use prefinal_execution::{BlockId, Header, Height};
use prefinal_protocol::{Slot, Value};

use super::marked::MarkedBlock;

/// Proposals that wait for their parents. Those that find no place are executed when they are ordered.
const PROPOSALS: usize = 64;

/// An engine's block with its place in the chain.
pub(super) struct PlacedBlock {
    pub(super) header: Header,
    /// The slot of its parent; 0 for the genesis.
    pub(super) behind: Slot,
    pub(super) block: MarkedBlock,
}

struct Proposal {
    parent: Value,
    block: MarkedBlock,
}

pub(super) struct Lineage {
    /// The first slot whose block is executed, once it is known.
    first: Option<Slot>,
    /// The last executed block in the order.
    last: Header,
    /// The last slot that was reported as final with a block.
    ordered: Slot,
    /// Ordered blocks that came before the first slot was known.
    waiting: BTreeMap<Slot, MarkedBlock>,
    /// Places of blocks by their names and slots, for engines of different epochs may give one name twice. The genesis
    /// has the name of the block before the first slot too.
    known: BTreeMap<(Value, Slot), Header>,
    proposals: BTreeMap<(Slot, Value), Proposal>,
}

impl Lineage {
    /// `genesis` names the block before the first one that is executed.
    pub(super) const fn new(genesis: BlockId) -> Self {
        let (height, slot) = (Height::GENESIS, Slot::new(0));
        Self {
            first: None,
            last: Header { id: genesis, parent: genesis, height, slot },
            ordered: slot,
            waiting: BTreeMap::new(),
            known: BTreeMap::new(),
            proposals: BTreeMap::new(),
        }
    }

    /// Goes on behind a block that is stored with everything before it, and may be far ahead of what was ordered
    /// here.
    pub(super) fn adopt(&mut self, header: Header) {
        (self.last, self.ordered) = (header, header.slot);
        self.waiting.clear();
        self.proposals.clear();
        self.known = [((Value::new(header.id.to_bytes()), header.slot), header)].into();
    }

    /// The place of a block that was proposed for this slot, or ordered in it.
    pub(super) fn header(&self, slot: Slot, name: Value) -> Option<Header> {
        self.known.get(&(name, slot)).filter(|header| header.height != Height::GENESIS).copied()
    }

    /// The place of the newest block of this name.
    fn newest(&self, name: Value) -> Option<Header> {
        let of_name = self.known.range((name, Slot::new(0))..=(name, Slot::new(u64::MAX)));
        of_name.last().map(|(_, header)| *header)
    }

    /// The slot of the ordered or proposed block at this height.
    pub(super) fn slot_of(&self, height: Height, id: BlockId) -> Option<Slot> {
        let mut known = self.known.values();
        known.find(|header| header.height == height && header.id == id).map(|header| header.slot)
    }

    /// Whether no block was ordered in this slot or a later one.
    pub(super) fn is_new(&self, slot: Slot) -> bool {
        slot > self.ordered
    }

    pub(super) fn proposed(&mut self, slot: Slot, parent: Option<Value>, block: MarkedBlock) {
        let is_late = slot <= self.ordered || self.known.contains_key(&(block.value, slot));
        let Some(parent) = parent.filter(|_| !is_late && self.proposals.len() < PROPOSALS) else {
            return;
        };
        self.proposals.insert((slot, block.value), Proposal { parent, block });
    }

    /// The proposals whose parents have places by now, parents first.
    pub(super) fn placed_proposals(&mut self) -> Vec<PlacedBlock> {
        let Some(first) = self.first else { return Vec::new() };
        let (mut placed, mut waiting) = (Vec::new(), BTreeMap::new());
        for ((slot, name), proposal) in std::mem::take(&mut self.proposals) {
            match self.newest(proposal.parent).filter(|_| slot >= first) {
                Some(parent) => {
                    let header = child(parent, name, slot);
                    self.known.insert((name, slot), header);
                    placed.push(PlacedBlock { header, behind: parent.slot, block: proposal.block });
                }
                None => drop(waiting.insert((slot, name), proposal)),
            }
        }
        self.proposals = waiting;
        placed
    }

    /// The next block in the order, if it is to be executed and its place is known.
    pub(super) fn ordered(&mut self, slot: Slot, block: MarkedBlock) -> Option<PlacedBlock> {
        self.ordered = slot;
        self.proposals.retain(|(other, _), _| *other > slot);
        match self.first {
            Some(first) => self.place(first, slot, block),
            None => {
                self.waiting.insert(slot, block);
                None
            }
        }
    }

    /// The first slot of the chain is known, if it was not before: the blocks that have waited, in their order.
    pub(super) fn begin(&mut self, first: Slot) -> Vec<PlacedBlock> {
        if self.first.is_some() {
            return Vec::new();
        }
        self.first = Some(first);
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        waiting.filter_map(|(slot, block)| self.place(first, slot, block)).collect()
    }

    fn place(&mut self, first: Slot, slot: Slot, block: MarkedBlock) -> Option<PlacedBlock> {
        if slot < first {
            // Proposals of the first slot name it as their parent.
            self.known.insert((block.value, slot), self.last);
            return None;
        }
        let (header, behind) = (child(self.last, block.value, slot), self.last.slot);
        self.last = header;
        self.known.insert((block.value, slot), header);
        Some(PlacedBlock { header, behind, block })
    }

    /// Forgets the places of blocks below this height.
    pub(super) fn forget_below(&mut self, height: Height) {
        self.known.retain(|_, header| header.height >= height);
    }
}

const fn child(parent: Header, name: Value, slot: Slot) -> Header {
    let id = BlockId::new(name.to_bytes());
    Header { id, parent: parent.id, height: parent.height.next(), slot }
}
