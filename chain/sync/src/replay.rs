//! Blocks on their way from the network to the disk.
//!
//! ```text
//!  chunks ──► requests ──► verified, waiting ──► executed or applied ──► durable
//!  (again, or next)        (in any order)        (one at a time)         (one at a time)
//!                          later epochs wait
//!                          for an ending
//! ```
use std::collections::{BTreeMap, VecDeque};

use prefinal_execution::{BlockId, Executor, Height};
use prefinal_protocol::EpochId;
use prefinal_state::View;
use prefinal_state::proof::StateRoot;

use crate::check::{CheckedBlock, Question};
use crate::peers::PeerId;
use crate::process::Processed;
use crate::wire::{Ask, BlockAsk, BlockItem, RequestId};

/// Blocks that are asked for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) first: Height,
    pub(crate) count: u64,
    pub(crate) attempt: u32,
}

/// Blocks of an epoch that is not known yet.
#[derive(Debug)]
pub(crate) struct Later<C> {
    pub(crate) peer: PeerId,
    pub(crate) items: Vec<BlockItem<C>>,
    pub(crate) attempt: u32,
    bytes: u64,
}

/// The stages behind the requests.
pub(crate) struct ReplayStages<X: Executor, C> {
    /// The last executed block, and its state.
    pub(crate) head: Head,
    pub(crate) view: View,
    /// Heights from here on were never asked for.
    planned: Height,
    /// Chunks that are asked for again, by their first heights.
    again: BTreeMap<Height, Chunk>,
    waiting: BTreeMap<Height, CheckedBlock<X, C>>,
    waiting_bytes: u64,
    later: BTreeMap<Height, Later<C>>,
    /// Bytes of the block that is being executed.
    pub(crate) executing: Option<u64>,
    unstored: VecDeque<Processed<X, C>>,
    /// Bytes of the block that is being written.
    pub(crate) storing: Option<u64>,
}

/// A block by its height and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) height: Height,
    pub(crate) id: BlockId,
}

impl<X: Executor, C> ReplayStages<X, C> {
    pub(crate) fn new(head: Head, view: View) -> Self {
        Self {
            head,
            view,
            planned: head.height.next(),
            again: BTreeMap::new(),
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            later: BTreeMap::new(),
            executing: None,
            unstored: VecDeque::new(),
            storing: None,
        }
    }

    /// The height that everything behind it waits for.
    pub(crate) const fn needed(&self) -> Height {
        self.head.height.next()
    }

    /// Whether nothing goes on between the network and the disk. What waits for a block that is missing does not.
    pub(crate) fn is_idle(&self) -> bool {
        let needed = self.needed();
        let has_next = self.waiting.contains_key(&needed) || self.later.contains_key(&needed);
        !has_next && self.is_drained()
    }

    /// Whether nothing is executed, or executed and not durable.
    pub(crate) fn is_drained(&self) -> bool {
        self.executing.is_none() && self.storing.is_none() && self.unstored.is_empty()
    }

    /// Whether the executor has nothing to do and nothing to begin with.
    pub(crate) fn is_starving(&self) -> bool {
        self.executing.is_none() && !self.waiting.contains_key(&self.needed())
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn unstored(&self) -> usize {
        self.unstored.len().saturating_add(usize::from(self.storing.is_some()))
    }

    /// Bytes of blocks in memory.
    pub(crate) fn bytes(&self) -> u64 {
        let later = self.later.values().map(|later| later.bytes);
        let unstored = self.unstored.iter().map(|done| done.bytes);
        let others = [self.waiting_bytes, self.executing.unwrap_or(0), self.storing.unwrap_or(0)];
        later.chain(unstored).chain(others).fold(0, u64::saturating_add)
    }

    /// The chunks to ask for: those that are asked for again, lowest first, then the next one, which ends where
    /// those of all followers end.
    pub(crate) fn chunks(&self, blocks: u64, ahead: u64) -> Vec<Chunk> {
        let mut chunks: Vec<Chunk> = self.again.values().copied().collect();
        let first = self.planned;
        if first <= self.head.height.after(ahead) {
            let behind = first.get().saturating_sub(1).checked_rem(blocks).unwrap_or(0);
            chunks.push(Chunk { first, count: blocks.saturating_sub(behind), attempt: 0 });
        }
        chunks
    }

    /// The first `count` blocks of a chunk are asked for.
    pub(crate) fn asked(&mut self, chunk: &Chunk, count: u64) {
        let rest = Chunk {
            first: chunk.first.after(count),
            count: chunk.count.saturating_sub(count),
            attempt: chunk.attempt,
        };
        if self.again.remove(&chunk.first).is_none() {
            self.planned = rest.first;
        } else if rest.count > 0 {
            self.again.insert(rest.first, rest);
        }
    }

    /// These blocks are missing yet, unless they are executed already.
    pub(crate) fn ask_again(&mut self, chunk: Chunk) {
        let done = self.needed().get().saturating_sub(chunk.first.get());
        let (first, count) = (chunk.first.after(done), chunk.count.saturating_sub(done));
        if count > 0 {
            let known = self.again.get(&first).map_or(0, |known| known.count);
            self.again.insert(first, Chunk { first, count: count.max(known), ..chunk });
        }
    }

    pub(crate) fn insert(&mut self, block: CheckedBlock<X, C>) {
        let height = block.block.header.height;
        if height <= self.head.height {
            return;
        }
        self.waiting_bytes = self.waiting_bytes.saturating_add(block.bytes);
        if let Some(other) = self.waiting.insert(height, block) {
            self.waiting_bytes = self.waiting_bytes.saturating_sub(other.bytes);
        }
    }

    /// The next block to execute.
    pub(crate) fn take_next(&mut self) -> Option<CheckedBlock<X, C>> {
        let next = self.waiting.remove(&self.needed())?;
        self.waiting_bytes = self.waiting_bytes.saturating_sub(next.bytes);
        Some(next)
    }

    pub(crate) fn executed(&mut self, done: Processed<X, C>)
    where
        X: Executor<View = View>,
    {
        let header = done.block.header;
        self.head = Head { height: header.height, id: header.id };
        self.view = done.execution.view.clone();
        self.unstored.push_back(done);
        // What begins before the next block would not be asked for as the one that everything waits for.
        let asked: Vec<_> = self.again.extract_if(..=header.height, |_, _| true).collect();
        let later: Vec<_> = self.later.extract_if(..=header.height, |_, _| true).collect();
        let later = later.into_iter().map(|(first, later)| {
            let count = u64::try_from(later.items.len()).unwrap_or(0);
            Chunk { first, count, attempt: later.attempt }
        });
        for chunk in asked.into_iter().map(|(_, chunk)| chunk).chain(later) {
            self.ask_again(chunk);
        }
    }

    pub(crate) fn take_unstored(&mut self) -> Option<Processed<X, C>> {
        self.unstored.pop_front()
    }

    /// Blocks that a banned peer has sent are not believed, although they were verified: they are asked for again, for
    /// their deltas may be false.
    pub(crate) fn drop_peer(&mut self, peer: PeerId) {
        let gone = |block: &CheckedBlock<X, C>| block.peer == peer;
        let dropped: Vec<_> = self.waiting.extract_if(.., |_, block| gone(block)).collect();
        for (first, block) in dropped {
            self.waiting_bytes = self.waiting_bytes.saturating_sub(block.bytes);
            self.ask_again(Chunk { first, count: 1, attempt: 0 });
        }
        self.drop_later(peer);
    }

    /// A state is fetched instead: only what is executed already goes on to the disk.
    pub(crate) fn give_up(&mut self) {
        self.again.clear();
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.later.clear();
    }

    /// What a peer says of later epochs is dropped, and asked for again.
    pub(crate) fn drop_later(&mut self, peer: PeerId) {
        let dropped: Vec<_> = self.later.extract_if(.., |_, later| later.peer == peer).collect();
        for (first, later) in dropped {
            let count = u64::try_from(later.items.len()).unwrap_or(0);
            self.ask_again(Chunk { first, count, attempt: later.attempt });
        }
    }

    pub(crate) fn postpone(&mut self, peer: PeerId, items: Vec<BlockItem<C>>, attempt: u32)
    where
        C: borsh::BorshSerialize,
    {
        let Some(first) = items.first().map(|item| item.header.height) else { return };
        let bytes = length(&items);
        self.later.insert(first, Later { peer, items, attempt, bytes });
    }

    /// The peer that says that the next block is of a later epoch.
    pub(crate) fn waits_for_ending(&self) -> Option<PeerId> {
        self.later.get(&self.needed()).map(|later| later.peer)
    }

    /// The next block, and those behind it, if this peer says that they are of a later epoch.
    pub(crate) fn take_needed(&mut self, peer: PeerId) -> Option<Later<C>> {
        let needed = self.needed();
        let is_its_own = self.later.get(&needed).is_some_and(|later| later.peer == peer);
        if is_its_own { self.later.remove(&needed) } else { None }
    }

    /// What waited for an ending that leads to this epoch.
    pub(crate) fn take_later(&mut self, epoch: EpochId) -> Vec<Later<C>> {
        let known = |later: &Later<C>| {
            later.items.first().is_some_and(|item| item.attestation.epoch <= epoch)
        };
        self.later.extract_if(.., |_, later| known(later)).map(|(_, later)| later).collect()
    }
}

impl<C> Later<C> {
    /// As if these blocks had been asked for.
    pub(crate) fn question(&self, id: RequestId, bytes: u32) -> Option<Question> {
        let first = self.items.first()?.header.height;
        let count = u32::try_from(self.items.len()).ok()?;
        let deltas = self.items.iter().any(|item| item.delta.is_some());
        let ask = Ask::Blocks(BlockAsk { first, count, deltas, bytes });
        Some(Question { id, peer: self.peer, ask, bytes, root: StateRoot::EMPTY })
    }
}

/// The length of blocks on the wire.
pub(crate) fn length<C: borsh::BorshSerialize>(items: &[BlockItem<C>]) -> u64 {
    let lengths = items.iter().map(|item| borsh::object_length(item).unwrap_or(0));
    lengths.fold(0, |sum, one| sum.saturating_add(u64::try_from(one).unwrap_or(u64::MAX)))
}
