//! The blocks in flight: proposals on several forks, and ordered blocks that are not committed yet.
//!
//! A block stays in the tree from its arrival until it is committed or can never be ordered. Ordered blocks
//! are bounded by the window of the pipeline, proposals by their number, their bytes and the number in one
//! slot. If there is no room, the proposal of the highest slot gives way, because the earliest is needed
//! first: so proposals that somebody makes up for slots to come cannot keep out those of the present slot.
use std::collections::{BTreeMap, BTreeSet};

use prefinal_protocol::View;

use crate::block::{Block, BlockId, Header, Height};
use crate::config::Limits;
use crate::event::Unkept;
use crate::executor::{Executor, Roots};

/// A position in the tree; positions are ordered by height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) height: Height,
    pub(crate) block: BlockId,
}

impl Place {
    pub(crate) const fn of(header: &Header) -> Self {
        Self { height: header.height, block: header.id }
    }

    /// Where the parent is, if it has the height that it should have.
    pub(crate) fn of_parent(header: &Header) -> Option<Self> {
        let height = header.height.get().checked_sub(1)?;
        Some(Self { height: Height::new(height), block: header.parent })
    }
}

/// A block in flight.
pub(crate) struct Entry<X: Executor> {
    pub(crate) block: Block<X::Transaction>,
    pub(crate) progress: Progress<X>,
    pub(crate) storage: Storage,
    pub(crate) ordered: bool,
    /// The view in which this party cast the vote that orders the block.
    pub(crate) view: Option<View>,
    /// Whether this party's vote for the state has left the pipeline.
    pub(crate) voted: bool,
}

/// How far a block is executed.
pub(crate) enum Progress<X: Executor> {
    /// The head waits for the parent's state.
    New,
    /// The head is being executed.
    Head,
    /// The head is executed; the tail waits for order and value.
    Draft(X::Draft),
    /// The tail is being executed.
    Tail,
    Executed(Executed<X>),
}

/// The results of a block.
pub(crate) struct Executed<X: Executor> {
    pub(crate) roots: Roots,
    pub(crate) view: X::View,
    /// What is to be written; `None` once it is written.
    pub(crate) delta: Option<X::Delta>,
}

/// How far a block is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Absent,
    /// Being written, under the mark or without it.
    Writing,
    Optimistic,
    /// Written, and the mark is being turned.
    Certifying,
}

impl<X: Executor> Entry<X> {
    pub(crate) const fn new(block: Block<X::Transaction>) -> Self {
        Self {
            block,
            progress: Progress::New,
            storage: Storage::Absent,
            ordered: false,
            view: None,
            voted: false,
        }
    }

    pub(crate) const fn executed(&self) -> Option<&Executed<X>> {
        match &self.progress {
            Progress::Executed(executed) => Some(executed),
            _ => None,
        }
    }
}

/// The blocks in flight, by their heights.
pub(crate) struct Tree<X: Executor> {
    entries: BTreeMap<Place, Entry<X>>,
}

impl<X: Executor> Tree<X> {
    pub(crate) const fn new() -> Self {
        Self { entries: BTreeMap::new() }
    }

    pub(crate) fn get(&self, place: Place) -> Option<&Entry<X>> {
        self.entries.get(&place)
    }

    pub(crate) fn get_mut(&mut self, place: Place) -> Option<&mut Entry<X>> {
        self.entries.get_mut(&place)
    }

    pub(crate) fn insert(&mut self, entry: Entry<X>) -> &mut Entry<X> {
        self.entries.entry(Place::of(&entry.block.header)).or_insert(entry)
    }

    pub(crate) fn remove(&mut self, place: Place) -> Option<Entry<X>> {
        self.entries.remove(&place)
    }

    /// All places, in the order of heights.
    pub(crate) fn places(&self) -> Vec<Place> {
        self.entries.keys().copied().collect()
    }

    /// Checks that the block and its relatives in the tree have fitting heights.
    pub(crate) fn check_height(&self, header: &Header) -> Result<(), Unkept> {
        let parent = self.entries.keys().find(|place| place.block == header.parent);
        match parent {
            Some(parent) if parent.height.next() != header.height => {
                Err(Unkept::Height { parent: parent.height, got: header.height })
            }
            _ => Ok(()),
        }
    }

    /// Makes room for a proposal.
    ///
    /// # Errors
    /// If there is no room beside proposals that are needed earlier.
    pub(crate) fn make_room(
        &self,
        block: &Block<X::Transaction>,
        limits: &Limits,
    ) -> Result<BTreeSet<Place>, Unkept> {
        let slot = block.header.slot;
        let proposals = || self.entries.iter().filter(|(_, entry)| !entry.ordered);
        let of_slot = proposals().filter(|(_, entry)| entry.block.header.slot == slot);
        if of_slot.count() >= limits.forks {
            return Err(Unkept::Forks { slot, most: limits.forks });
        }
        let mut count = proposals().count();
        let mut bytes =
            proposals().map(|(_, entry)| entry.block.bytes()).fold(0, u64::saturating_add);
        let mut later: Vec<_> = proposals()
            .map(|(place, entry)| (entry.block.header.slot, *place, entry.block.bytes()))
            .filter(|(other, ..)| *other > slot)
            .collect();
        later.sort_unstable();
        let mut evicted = BTreeSet::new();
        while count >= limits.proposals || bytes.saturating_add(block.bytes()) > limits.bytes {
            let (_, place, freed) = later.pop().ok_or(Unkept::Room)?;
            evicted.insert(place);
            count = count.saturating_sub(1);
            bytes = bytes.saturating_sub(freed);
        }
        Ok(evicted)
    }

    /// The proposals that can never be ordered once `ordered` is, and those at or below its height.
    pub(crate) fn orphans(&self, ordered: Place) -> BTreeSet<Place> {
        let child = ordered.height.next();
        let lost = |(place, entry): (&Place, &Entry<X>)| {
            let passed = place.height <= ordered.height && !entry.ordered;
            let beside = place.height == child && entry.block.header.parent != ordered.block;
            (passed || beside).then_some(*place)
        };
        self.entries.iter().filter_map(lost).collect()
    }

    /// These places and all their descendants.
    pub(crate) fn with_descendants(&self, mut roots: BTreeSet<Place>) -> BTreeSet<Place> {
        // Heights ascend, so a parent comes before its children.
        for (place, entry) in &self.entries {
            if Place::of_parent(&entry.block.header).is_some_and(|parent| roots.contains(&parent)) {
                roots.insert(*place);
            }
        }
        roots
    }
}

/// Blocks that left the tree and are still in the store, or on the way to it.
#[derive(Default)]
pub(crate) struct Leftovers {
    blocks: BTreeMap<BlockId, Leftover>,
}

struct Leftover {
    header: Header,
    state: LeftoverState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LeftoverState {
    Writing,
    Stored,
    Reverting,
}

impl Leftovers {
    /// Takes what is stored of a block that left the tree.
    pub(crate) fn take(&mut self, header: Header, storage: Storage) {
        let state = match storage {
            Storage::Absent => return,
            Storage::Writing => LeftoverState::Writing,
            // A block whose mark is being turned is ordered and stays in the tree.
            Storage::Optimistic | Storage::Certifying => LeftoverState::Stored,
        };
        self.blocks.insert(header.id, Leftover { header, state });
    }

    pub(crate) fn contains(&self, block: BlockId) -> bool {
        self.blocks.contains_key(&block)
    }

    /// The block is written, which was on the way when it left the tree.
    pub(crate) fn written(&mut self, block: BlockId) {
        if let Some(leftover) = self.blocks.get_mut(&block) {
            leftover.state = LeftoverState::Stored;
        }
    }

    pub(crate) fn reverted(&mut self, block: BlockId) {
        self.blocks.remove(&block);
    }

    /// The blocks that can be reverted now: those without children in the store.
    pub(crate) fn start(&mut self) -> Vec<Header> {
        let parents: BTreeSet<_> = self.blocks.values().map(|one| one.header.parent).collect();
        let ready = self.blocks.iter_mut().filter(|(block, leftover)| {
            leftover.state == LeftoverState::Stored && !parents.contains(block)
        });
        let start = |(_, leftover): (&BlockId, &mut Leftover)| {
            leftover.state = LeftoverState::Reverting;
            leftover.header
        };
        ready.map(start).collect()
    }
}
