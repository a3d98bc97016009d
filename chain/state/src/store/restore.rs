//! A state that comes from elsewhere, range by range.
//!
//! ```text
//! begin_restore ──► restore_range … ──► finish_restore        each one transaction of the file
//!                        │
//!                        └─ a crash at any point: opened again, the store knows what is missing
//! ```
//! Rows go into the tree at the place of the block that leaves the state, where no block of this store is.
//! Nothing refers to it before the last call, which also removes all that was there before. Until then the store has
//! the state that it had, and accepts no blocks.
//!
//! A range is put into a partial tree, and replaces nodes of it under their own names: the tree of a snapshot
//! has one version only, whatever the number of ranges. These nodes pass by the cache of nodes, which relies on names.
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_execution::{Committed, Header, Height, Roots, StateCertificate};
use redb::{ReadOnlyTable, ReadableDatabase, WriteTransaction};

use super::shared::Tip;
use super::write::commit;
use super::{
    BLOCKS, Bytes, FORKS, MARKS, Mark, NODES, RESULTS, SIZES, STALE, StateExecutor, StateStore,
    TRANSACTIONS, rows,
};
use crate::coverage::Coverage;
use crate::error::StateError;
use crate::node::{NodeId, NodePath, Row, TreeNode, prefix};
use crate::proof::{EMPTY, KeyRange, StateKey, VerifiedRange};
use crate::tree::{self, NodeSource, TreeUpdate};

/// The row that says what is restored; without it nothing is.
pub(super) const RESTORE: redb::TableDefinition<'_, (), Bytes> =
    redb::TableDefinition::new("restore");

/// A certified block whose state is restored.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct SnapshotBlock<C> {
    /// Its place in the chain.
    pub header: Header,
    /// The roots that the certificate is of.
    pub roots: Roots,
    /// Their certificate, which somebody has verified.
    pub certificate: C,
}

/// A state that is restored, as far as it is.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(super) struct Restoration {
    header: Header,
    roots: Roots,
    certificate: Vec<u8>,
    /// The root of the partial tree.
    root: NodeId,
    covered: Coverage,
}

/// The partial tree in the file.
struct PartialTree {
    root: NodeId,
    nodes: ReadOnlyTable<&'static [u8], &'static [u8]>,
}

impl NodeSource for PartialTree {
    fn node(&self, at: &NodeId) -> Result<Option<Arc<TreeNode>>, StateError> {
        if *at == tree::before_all() {
            return Ok(Some(Arc::new(TreeNode::Empty)));
        }
        let failed = |error: redb::StorageError| StateError::storage("read a node")(error.into());
        let found = self.nodes.get(at.on_disk(0).as_slice()).map_err(failed)?;
        found.map(|bytes| TreeNode::from_disk(bytes.value()).map(Arc::new)).transpose()
    }

    fn row(&self, key: &StateKey) -> Result<Option<Row>, StateError> {
        tree::get(self, self.root, key)
    }
}

impl Restoration {
    /// Where the tree's root is once there are rows. Step 0 may be that of the empty tree.
    const fn top(&self) -> NodeId {
        NodeId { height: self.header.height, path: NodePath::root(1) }
    }
}

impl<X, C> StateStore<X, C>
where
    X: StateExecutor,
    C: StateCertificate,
{
    /// Begins to restore the state that this block leaves, which must be higher than the last committed one. The
    /// caller has verified the certificate. Going on with a block that was begun keeps what is there of it;
    /// another one replaces it. Blocks that are written and not committed are removed.
    ///
    /// # Errors
    /// If the block is not higher, or if the file cannot be written.
    pub fn begin_restore(&mut self, block: &SnapshotBlock<C>) -> Result<(), StateError> {
        let height = block.header.height;
        if height <= self.shared.tip()?.committed.height {
            return Err(StateError::NotAhead { height });
        }
        let certificate = rows::encode(&block.certificate)?;
        if self.restoring.as_ref().is_some_and(|now| now.header == block.header) {
            return Ok(());
        }
        self.abandon_restore()?;
        let mut written: Vec<Header> = self.written.values().map(|one| one.layer.header).collect();
        written.sort_by_key(|header| std::cmp::Reverse(header.height));
        written.iter().try_for_each(|header| self.remove(header))?;
        let restoration = Restoration {
            header: block.header,
            roots: block.roots,
            certificate,
            root: tree::before_all(),
            covered: Coverage::default(),
        };
        let write = self.begin()?;
        put(&write, &restoration)?;
        commit(write)?;
        self.restoring = Some(restoration);
        Ok(())
    }

    /// The block whose state is being restored, if one is.
    ///
    /// # Errors
    /// If its certificate cannot be read.
    pub fn restoring(&self) -> Result<Option<SnapshotBlock<C>>, StateError> {
        let Some(Restoration { header, roots, certificate, .. }) = &self.restoring else {
            return Ok(None);
        };
        let certificate = rows::decode(certificate)?;
        Ok(Some(SnapshotBlock { header: *header, roots: *roots, certificate }))
    }

    /// The ranges that are missing of the state that is being restored; none if it is complete, or if there is none.
    #[must_use]
    pub fn missing(&self) -> Vec<KeyRange> {
        self.restoring.as_ref().map(|now| now.covered.gaps()).unwrap_or_default()
    }

    /// Puts a range into the state that is being restored. A range that is there already changes nothing.
    ///
    /// # Errors
    /// If no state is being restored, if the range is of another one, or if the file cannot be written.
    pub fn restore_range(&mut self, range: &VerifiedRange) -> Result<(), StateError> {
        let mut now = self.restoring.clone().ok_or(StateError::NotRestoring)?;
        if *range.root().as_bytes() != now.roots.state {
            return Err(StateError::OtherState);
        }
        let rows = range.rows().iter().map(|row| (row.key, row.value.as_slice().into()));
        let rows: std::collections::BTreeMap<StateKey, Row> = rows.collect();
        let write = self.begin()?;
        if !rows.is_empty() {
            let tree = self.partial_tree(now.root)?;
            let update = tree::insert(&tree, now.root, &now.top(), &rows)?;
            replace(&write, now.header.height, &update).map_err(rows::writing)?;
            now.root = now.top();
        }
        now.covered.insert(range.keys());
        put(&write, &now)?;
        commit(write)?;
        self.restoring = Some(now);
        Ok(())
    }

    /// The restored state becomes the last committed one, and the lowest one that is there.
    ///
    /// # Errors
    /// If no state is being restored, if a range is missing, or if the file cannot be written.
    pub fn finish_restore(&mut self) -> Result<Committed, StateError> {
        let now = self.restoring.clone().ok_or(StateError::NotRestoring)?;
        if !now.covered.gaps().is_empty() {
            return Err(StateError::NotRestored);
        }
        let tree = self.partial_tree(now.root)?;
        let is_empty = now.root == tree::before_all();
        let hash = if is_empty { EMPTY } else { tree.expect(&now.root)?.hash() };
        if hash != now.roots.state {
            return Err(StateError::damaged("a restored state with another root"));
        }
        drop(tree);
        let write = self.begin()?;
        forget_all(&write, now.header.height).map_err(rows::writing)?;
        if is_empty {
            let empty = TreeUpdate {
                nodes: [(now.top().path, Arc::new(TreeNode::Empty))].into(),
                stale: Vec::new(),
            };
            replace(&write, now.header.height, &empty).map_err(rows::writing)?;
        }
        rows::put_state(&write, now.header, now.roots, now.top())?;
        let Restoration { header, roots, ref certificate, .. } = now;
        let mark = Mark::Committed { block: header.id, certificate: certificate.clone() };
        rows::put_mark(&write, (header.height.get(), 0), &mark)?;
        commit(write)?;
        self.restoring = None;
        self.pruned = header.height;
        self.bytes = 0;
        let committed = Committed { height: header.height, block: header.id, roots };
        self.shared.advance(Tip { committed, root: now.top(), forks: Arc::default() })?;
        Ok(committed)
    }

    /// Removes what is there of a state that is being restored.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn abandon_restore(&mut self) -> Result<(), StateError> {
        let Some(now) = &self.restoring else { return Ok(()) };
        let place = (now.header.height.get(), 0);
        let write = self.begin()?;
        rows::remove_block(&write, place).map_err(rows::writing)?;
        let remove = || -> Result<(), redb::Error> {
            write.open_table(RESTORE)?.remove(())?;
            Ok(())
        };
        remove().map_err(rows::writing)?;
        commit(write)?;
        self.restoring = None;
        Ok(())
    }

    fn partial_tree(&self, root: NodeId) -> Result<PartialTree, StateError> {
        let open = || -> Result<_, redb::Error> {
            Ok(self.shared.database.begin_read()?.open_table(NODES)?)
        };
        Ok(PartialTree { root, nodes: open().map_err(rows::reading)? })
    }
}

/// What a crash left of a state that was being restored.
pub(super) fn read(database: &redb::Database) -> Result<Option<Restoration>, StateError> {
    let read = || -> Result<Option<Vec<u8>>, redb::Error> {
        let table = match database.begin_read()?.open_table(RESTORE) {
            Ok(table) => table,
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(table.get(())?.map(|bytes| bytes.value().to_vec()))
    };
    read().map_err(rows::reading)?.map(|bytes| rows::decode(&bytes)).transpose()
}

fn put(write: &WriteTransaction, restoration: &Restoration) -> Result<(), StateError> {
    let bytes = rows::encode(restoration)?;
    let put = || -> Result<(), redb::Error> {
        write.open_table(RESTORE)?.insert((), bytes.as_slice())?;
        Ok(())
    };
    put().map_err(rows::writing)
}

/// Old nodes go first: new ones may have their names.
fn replace(
    write: &WriteTransaction,
    height: Height,
    update: &TreeUpdate,
) -> Result<(), redb::Error> {
    let mut nodes = write.open_table(NODES)?;
    for stale in update.stale.iter().filter(|stale| stale.height == height) {
        nodes.remove(stale.on_disk(0).as_slice())?;
    }
    for (path, node) in &update.nodes {
        let bytes = node.to_disk().map_err(|error| std::io::Error::other(error.to_string()));
        let bytes = bytes.map_err(redb::StorageError::Io)?;
        let key = NodeId { height, path: *path }.on_disk(0);
        nodes.insert(key.as_slice(), bytes.as_slice())?;
    }
    Ok(())
}

/// Removes all but the nodes of this height.
fn forget_all(write: &WriteTransaction, height: Height) -> Result<(), redb::Error> {
    for table in [MARKS, BLOCKS, TRANSACTIONS, RESULTS, STALE] {
        write.delete_table(table)?;
        write.open_table(table)?;
    }
    write.delete_table(FORKS)?;
    write.open_table(FORKS)?;
    write.delete_table(SIZES)?;
    write.open_table(SIZES)?;
    write.open_table(RESTORE)?.remove(())?;
    let first = prefix(height, 0);
    write.open_table(NODES)?.retain_in(..first.as_slice(), |_, _| false)?;
    Ok(())
}
