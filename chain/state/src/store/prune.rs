//! Pruning: states below a height are forgotten, with all that only they need.
//!
//! A node that height `h` made stale was last part of the state at `h − 1`. So without states below `h` nobody
//! reads it.
use prefinal_execution::{Height, StateCertificate};
use redb::{ReadableTable, WriteTransaction};

use super::shared::Tip;
use super::write::commit;
use super::{
    BLOCKS, MARKS, NODES, RESULTS, SIZES, STALE, StateExecutor, StateStore, TRANSACTIONS, rows,
};
use crate::error::StateError;
use crate::node::NodeId;

impl<X, C> StateStore<X, C>
where
    X: StateExecutor,
    C: StateCertificate,
{
    /// Forgets states below `height`, at most `most` of them in this call, and their transactions, results and
    /// certificates. The last committed state stays. Returns the first height whose state is still there. One
    /// transaction, about as large as what the forgotten blocks once wrote.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn prune(&mut self, height: Height, most: u64) -> Result<Height, StateError> {
        let tip = self.shared.tip()?;
        let to = height.min(tip.committed.height).min(self.pruned.after(most));
        if to <= self.pruned {
            return Ok(self.pruned);
        }
        let write = self.begin()?;
        let mut gone = 0_u64;
        for below in self.pruned.get()..to.get() {
            let (below, next) = (Height::new(below), Height::new(below).next());
            let stale = stale(&write, &tip, next)?;
            forget(&write, &tip, below, &stale).map_err(rows::writing)?;
            // The block at the lowest height is not exported, so it does not count.
            let size = rows::size(&write, (next.get(), tip.fork(next))).map_err(rows::writing)?;
            gone = gone.saturating_add(size);
        }
        commit(write)?;
        self.pruned = to;
        self.bytes = self.bytes.saturating_sub(gone);
        Ok(to)
    }
}

/// The nodes that the committed block at this height made stale.
fn stale(write: &WriteTransaction, tip: &Tip, height: Height) -> Result<Vec<NodeId>, StateError> {
    let read = || -> Result<Option<Vec<u8>>, redb::Error> {
        let table = write.open_table(STALE)?;
        Ok(table.get((height.get(), tip.fork(height)))?.map(|bytes| bytes.value().to_vec()))
    };
    let bytes = read().map_err(rows::writing)?;
    rows::decode(&bytes.ok_or_else(|| StateError::damaged("a block without its stale nodes"))?)
}

/// Removes the state at this height, behind which these nodes are stale.
fn forget(
    write: &WriteTransaction,
    tip: &Tip,
    height: Height,
    stale: &[NodeId],
) -> Result<(), redb::Error> {
    let mut nodes = write.open_table(NODES)?;
    for node in stale {
        nodes.remove(node.on_disk(tip.fork(node.height)).as_slice())?;
    }
    let place = (height.get(), tip.fork(height));
    for table in [MARKS, BLOCKS, TRANSACTIONS, RESULTS, STALE] {
        write.open_table(table)?.remove(place)?;
    }
    write.open_table(SIZES)?.remove(place)?;
    Ok(())
}
