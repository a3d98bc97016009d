//! Writing, certifying and reverting blocks: one transaction each.
use std::collections::BTreeSet;
use std::sync::Arc;

use prefinal_execution::{Block, BlockId, Committed, Header, Height, StateCertificate};
use redb::WriteTransaction;

use super::shared::Tip;
use super::{Mark, StateExecutor, StateStore, Written, rows};
use crate::error::StateError;
use crate::node::{Fork, NodeId};
use crate::system;
use crate::view::{Delta, Layer};

impl<X, C> StateStore<X, C>
where
    X: StateExecutor,
    C: StateCertificate,
{
    /// Writes a block, committed if there is a certificate.
    pub(super) fn write(
        &mut self,
        block: &Block<X::Transaction>,
        delta: &Delta,
        certificate: Option<Vec<u8>>,
    ) -> Result<(), StateError> {
        let header = block.header;
        let tip = self.shared.tip()?;
        if self.committed_at(header.height, &tip)? == Some(header.id) {
            return Ok(());
        }
        if self.restoring.is_some() {
            return Err(StateError::Restoring);
        }
        if self.written.contains_key(&header.id) {
            return match certificate {
                Some(certificate) => self.turn_mark(&header, certificate),
                None => Ok(()),
            };
        }
        let is_next = header.parent == tip.committed.block;
        match certificate {
            Some(_) if !is_next => {
                let committed = tip.committed.block;
                return Err(StateError::NotNext { block: header.id, committed });
            }
            None if !is_next && !self.has_parent(&header, &tip)? => {
                return Err(StateError::NoParent { block: header.id });
            }
            _ => {}
        }
        let fork = self.free_fork(&header, &tip)?;
        let place = (header.height.get(), fork);
        let transactions = system::encoded(block);
        let mark = match certificate {
            Some(certificate) => Mark::Committed { block: header.id, certificate },
            None => Mark::Optimistic(header.id),
        };
        let write = self.begin()?;
        let block = rows::put_block(&write, &delta.0, fork, &transactions)?;
        let bytes = block.saturating_add(rows::put_mark(&write, place, &mark)?);
        rows::put_size(&write, place, bytes).map_err(rows::writing)?;
        commit(write)?;
        let written = Written { fork, layer: Arc::clone(&delta.0), bytes };
        match mark {
            Mark::Optimistic(_) => {
                self.written.insert(header.id, written);
                Ok(())
            }
            Mark::Committed { .. } => self.advance(&tip, &written),
        }
    }

    pub(super) fn turn_mark(
        &mut self,
        block: &Header,
        certificate: Vec<u8>,
    ) -> Result<(), StateError> {
        let tip = self.shared.tip()?;
        if self.committed_at(block.height, &tip)? == Some(block.id) {
            return Ok(());
        }
        let written = self.written.get(&block.id).cloned();
        let written = written.ok_or(StateError::NoBlock { block: block.id })?;
        if written.layer.header.parent != tip.committed.block {
            let committed = tip.committed.block;
            return Err(StateError::NotNext { block: block.id, committed });
        }
        let write = self.begin()?;
        let mark = Mark::Committed { block: block.id, certificate };
        rows::put_mark(&write, written.place(), &mark)?;
        commit(write)?;
        self.written.remove(&block.id);
        self.advance(&tip, &written)
    }

    /// Removes an optimistic block, if it is there.
    pub(super) fn remove(&mut self, block: &Header) -> Result<(), StateError> {
        let Some(written) = self.written.get(&block.id).cloned() else {
            let committed = self.committed_at(block.height, &self.shared.tip()?)?;
            return match committed {
                Some(committed) if committed == block.id => {
                    Err(StateError::Committed { block: block.id })
                }
                _ => Ok(()),
            };
        };
        let write = self.begin()?;
        rows::remove_block(&write, written.place()).map_err(rows::writing)?;
        commit(write)?;
        self.written.remove(&block.id);
        Ok(())
    }

    /// Whether the parent is written, or committed. It need not be the last committed block: a sibling of that one
    /// may be written late, to be reverted.
    fn has_parent(&self, header: &Header, tip: &Tip) -> Result<bool, StateError> {
        if self.written.contains_key(&header.parent) {
            return Ok(true);
        }
        let below = header.height.get().checked_sub(1).map(Height::new);
        let below = below.map(|height| self.committed_at(height, tip)).transpose()?.flatten();
        Ok(below == Some(header.parent))
    }

    /// The committed block at this height, if it is not pruned.
    fn committed_at(&self, height: Height, tip: &Tip) -> Result<Option<BlockId>, StateError> {
        if height >= tip.committed.height {
            let is_last = height == tip.committed.height;
            return Ok(is_last.then_some(tip.committed.block));
        }
        let row = rows::block(&self.shared.database, (height.get(), tip.fork(height)))?;
        Ok(row.map(|row| row.header.id))
    }

    /// The smallest number that no block of this height has.
    fn free_fork(&self, header: &Header, tip: &Tip) -> Result<Fork, StateError> {
        let height = header.height;
        let same = self.written.values().filter(|block| block.layer.header.height == height);
        let mut used: BTreeSet<Fork> = same.map(|block| block.fork).collect();
        if height <= tip.committed.height {
            used.insert(tip.fork(height));
        }
        (0..Fork::MAX).find(|fork| !used.contains(fork)).ok_or(StateError::TooManyForks { height })
    }

    /// A block is committed: from now on views read it from the file.
    fn advance(&mut self, tip: &Tip, block: &Written) -> Result<(), StateError> {
        let Layer { header, roots, root, nodes, .. } = &*block.layer;
        for (path, node) in nodes {
            let at = NodeId { height: header.height, path: *path };
            self.shared.remember(at, block.fork, node);
        }
        let mut forks = Arc::clone(&tip.forks);
        if block.fork != 0 {
            Arc::make_mut(&mut forks).insert(header.height, block.fork);
        }
        self.bytes = self.bytes.saturating_add(block.bytes);
        let committed = Committed { height: header.height, block: header.id, roots: *roots };
        self.shared.advance(Tip { committed, root: *root, forks })
    }

    pub(super) fn begin(&self) -> Result<WriteTransaction, StateError> {
        self.shared.database.begin_write().map_err(|error| rows::writing(error.into()))
    }
}

pub(super) fn commit(write: WriteTransaction) -> Result<(), StateError> {
    write.commit().map_err(|error| StateError::storage("committed")(error.into()))
}
