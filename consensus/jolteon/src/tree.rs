//! Blocks between the last final one and the newest, and a bounded tail of final ones.
//!
//! The *root* is the last block that was finalized. Above it are blocks that were proposed or fetched.
//! A block is *certified* if a QC names it, or if a certified block descends from it, whether that
//! descendant is here or not. The *target* is the highest block that is known to be final: it and its
//! ancestors become final as soon as all of them are here. Blocks below the root are kept for peers
//! that lag, at most [`HISTORY_BLOCKS`] of them and at most [`HISTORY_PAYLOADS`] full payloads.
//!
//! See also `engine` (when a block is final) and `fetch` (getting missing blocks).
use std::collections::{BTreeMap, BTreeSet};

use crate::block::{Block, BlockId, Round, Transaction, TransactionId};

/// Number of final blocks that are kept for others.
pub(crate) const HISTORY_BLOCKS: usize = 1024;
/// Memory for final blocks, and the same again for blocks that are not final, in payloads of the
/// largest size.
pub(crate) const HISTORY_PAYLOADS: usize = 32;

/// A block by round and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point {
    pub(crate) round: Round,
    pub(crate) block: BlockId,
}

#[derive(Debug)]
struct Entry {
    block: Block,
    transactions: Vec<TransactionId>,
}

/// Why the target is not final yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// Nothing is left to finalize.
    Done,
    /// A block on the way is not here.
    Missing(Point),
    /// The target does not descend from the root: more than a third of the stake is faulty. Nothing is
    /// finalized any more, because only stopping is safe then.
    Fork,
}

#[derive(Debug)]
pub(crate) struct Tree {
    blocks: BTreeMap<BlockId, Entry>,
    /// Pending and kept blocks, oldest first.
    order: BTreeSet<Point>,
    certified: BTreeSet<Point>,
    root: Point,
    target: Point,
    pending_bytes: usize,
    history_bytes: usize,
    most_bytes: usize,
}

impl Tree {
    pub(crate) fn new(root: Point, max_block_bytes: usize) -> Self {
        Self {
            blocks: BTreeMap::new(),
            order: BTreeSet::new(),
            certified: BTreeSet::new(),
            root,
            target: root,
            pending_bytes: 0,
            history_bytes: 0,
            most_bytes: max_block_bytes.saturating_mul(HISTORY_PAYLOADS),
        }
    }

    pub(crate) const fn root(&self) -> Point {
        self.root
    }

    pub(crate) fn block(&self, id: BlockId) -> Option<&Block> {
        self.blocks.get(&id).map(|entry| &entry.block)
    }

    /// Whether there is memory for a proposal. Empty blocks are always taken, so that the chain can
    /// move on.
    pub(crate) fn has_room(&self, block: &Block) -> bool {
        block.payload().is_empty()
            || self.pending_bytes.saturating_add(block.payload_len()) <= self.most_bytes
    }

    /// Takes in a block, unless it is here or too old. Returns the next missing ancestor if the block
    /// is certified.
    pub(crate) fn insert(&mut self, id: BlockId, block: Block) -> Option<Point> {
        let point = Point { round: block.round(), block: id };
        let parent = Point { round: block.parent_round(), block: block.parent() };
        self.store(point, block);
        if self.certified.contains(&point) { self.certify(parent) } else { None }
    }

    fn store(&mut self, point: Point, block: Block) {
        if !self.order.insert(point) {
            return;
        }
        let bytes = block.payload_len();
        if point.round > self.root.round {
            self.pending_bytes = self.pending_bytes.saturating_add(bytes);
        } else {
            self.history_bytes = self.history_bytes.saturating_add(bytes);
        }
        let transactions = block.payload().iter().map(Transaction::id).collect();
        self.blocks.insert(point.block, Entry { block, transactions });
    }

    /// A quorum vouches for this block, and so for its ancestors. Returns the first that is missing.
    pub(crate) fn certify(&mut self, mut point: Point) -> Option<Point> {
        while point.round > self.root.round {
            self.certified.insert(point);
            let Some(block) = self.block(point.block) else { return Some(point) };
            point = Point { round: block.parent_round(), block: block.parent() };
        }
        None
    }

    /// Whether a quorum vouches for this block.
    pub(crate) fn is_certified(&self, point: Point) -> bool {
        self.certified.contains(&point)
    }

    /// Notes that this block is final.
    pub(crate) fn commit(&mut self, target: Point) {
        self.target = self.target.max(target);
    }

    /// Moves the root to the target. Returns every round on the way, with its block if it has one.
    pub(crate) fn finalize(&mut self) -> Result<Vec<(Round, Option<Block>)>, Stuck> {
        let path = self.path()?;
        let mut rounds = Vec::new();
        let mut round = self.root.round.next();
        for block in path.into_iter().rev() {
            while round < block.round() {
                rounds.push((round, None));
                round = round.next();
            }
            rounds.push((round, Some(block)));
            round = round.next();
        }
        self.root = self.target;
        self.certified.retain(|point| point.round > self.root.round);
        self.sort_out();
        Ok(rounds)
    }

    /// Blocks from the target down to the root, the root itself left out.
    fn path(&self) -> Result<Vec<Block>, Stuck> {
        if self.target.round <= self.root.round {
            return Err(Stuck::Done);
        }
        let (mut path, mut point) = (Vec::new(), self.target);
        while point.round > self.root.round {
            let block = self.block(point.block).ok_or(Stuck::Missing(point))?;
            point = Point { round: block.parent_round(), block: block.parent() };
            path.push(block.clone());
        }
        if point == self.root { Ok(path) } else { Err(Stuck::Fork) }
    }

    /// After the root has moved: sorts blocks into pending, history and too old.
    fn sort_out(&mut self) {
        let split = self.root.round;
        let bytes = |entry: &Entry| entry.block.payload_len();
        let pending = self.blocks.values().filter(|entry| entry.block.round() > split);
        self.pending_bytes = pending.map(bytes).sum();
        let history = self.blocks.values().filter(|entry| entry.block.round() <= split);
        self.history_bytes = history.map(bytes).sum();
        let mut count = self.order.iter().take_while(|point| point.round <= split).count();
        while count > HISTORY_BLOCKS || (count > 0 && self.history_bytes > self.most_bytes) {
            let Some(oldest) = self.order.pop_first() else { return };
            if let Some(entry) = self.blocks.remove(&oldest.block) {
                self.history_bytes = self.history_bytes.saturating_sub(entry.block.payload_len());
            }
            count -= 1;
        }
    }

    /// The block and its ancestors above a round, newest first, as far as they are here.
    pub(crate) fn chain(&self, from: BlockId, above: Round) -> impl Iterator<Item = &Block> {
        let wanted = move |block: &&Block| block.round() > above;
        let first = self.block(from).filter(wanted);
        std::iter::successors(first, move |block| self.block(block.parent()).filter(wanted))
    }

    /// The transactions between the root and `tip`; `None` if a block on the way is missing.
    pub(crate) fn pending_transactions(&self, tip: Point) -> Option<BTreeSet<TransactionId>> {
        let (mut transactions, mut point) = (BTreeSet::new(), tip);
        while point.round > self.root.round {
            let entry = self.blocks.get(&point.block)?;
            transactions.extend(entry.transactions.iter().copied());
            point = Point { round: entry.block.parent_round(), block: entry.block.parent() };
        }
        Some(transactions)
    }
}

#[cfg(test)]
mod tests {
    use prefinal_crypto_core::access::Party;

    use super::*;

    fn id(number: u8) -> BlockId {
        BlockId::new([number; 32])
    }

    fn point(round: u64) -> Point {
        Point { round: Round::new(round), block: id(u8::try_from(round).unwrap()) }
    }

    fn block(round: u64, parent: u64, bytes: usize) -> Block {
        let Point { round: parent_round, block: parent } = point(parent);
        let payload = if bytes == 0 { Vec::new() } else { vec![Transaction::new(vec![0; bytes])] };
        Block::new(Round::new(round), (parent_round, parent), Party::new(0), payload)
    }

    fn insert(tree: &mut Tree, round: u64, parent: u64) -> Option<Point> {
        tree.insert(point(round).block, block(round, parent, 0))
    }

    #[test]
    fn every_round_is_reported_once_and_in_order() {
        let mut tree = Tree::new(point(0), 100);
        for (round, parent) in [(1, 0), (3, 1), (4, 3)] {
            insert(&mut tree, round, parent);
        }
        tree.commit(point(4));
        let rounds = tree.finalize().unwrap();
        let seen: Vec<_> = rounds.iter().map(|(r, block)| (r.get(), block.is_some())).collect();
        assert_eq!(seen, [(1, true), (2, false), (3, true), (4, true)]);
        assert_eq!(tree.finalize(), Err(Stuck::Done));
    }

    #[test]
    fn nothing_is_final_before_its_ancestors_are_here() {
        let mut tree = Tree::new(point(0), 100);
        assert_eq!(tree.certify(point(3)), Some(point(3)));
        tree.commit(point(3));
        assert_eq!(insert(&mut tree, 3, 2), Some(point(2)), "the parent of a certified block");
        assert_eq!(tree.finalize(), Err(Stuck::Missing(point(2))));
        assert_eq!(insert(&mut tree, 2, 0), None);
        assert_eq!(tree.finalize().unwrap().len(), 3);
    }

    #[test]
    fn a_final_block_beside_the_root_stops_everything() {
        let mut tree = Tree::new(point(2), 100);
        insert(&mut tree, 3, 1);
        tree.commit(point(3));
        assert_eq!(tree.finalize(), Err(Stuck::Fork));
    }

    #[test]
    fn memory_is_bounded_on_both_sides_of_the_root() {
        let mut tree = Tree::new(point(0), 10);
        let most = 10 * HISTORY_PAYLOADS;
        assert!(tree.has_room(&block(1, 0, most - 4)));
        tree.insert(id(1), block(1, 0, most - 4));
        assert!(!tree.has_room(&block(2, 1, 1)) && tree.has_room(&block(2, 1, 0)));
        tree.insert(id(2), block(2, 1, 0));
        tree.insert(id(3), block(3, 2, 10));
        tree.commit(point(3));
        assert_eq!(tree.finalize().unwrap().len(), 3);
        assert!(tree.block(id(1)).is_none() && tree.block(id(3)).is_some());
        assert!(tree.history_bytes <= most && tree.pending_bytes == 0);
    }
}
