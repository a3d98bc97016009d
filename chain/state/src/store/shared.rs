//! What views and the store share: the file, the last committed block, and nodes that were read before.
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use prefinal_execution::{BlockId, Committed, Height, Roots};
use redb::{Database, ReadOnlyTable, ReadableDatabase};

use super::NODES;
use crate::error::StateError;
use crate::node::{Fork, NodeId, Row, TreeNode};
use crate::proof::StateKey;
use crate::tree::{self, NodeSource};

/// Inner nodes in memory, twice this number in each of 16 parts: at most about 40 MB.
const CACHED: usize = 1024;

/// The last committed block, and where its tree is.
#[derive(Clone, Debug)]
pub(crate) struct Tip {
    pub(crate) committed: Committed,
    pub(crate) root: NodeId,
    /// The forks' numbers of committed blocks, where they are not 0.
    pub(crate) forks: Arc<BTreeMap<Height, Fork>>,
}

impl Tip {
    pub(crate) fn fork(&self, height: Height) -> Fork {
        self.forks.get(&height).copied().unwrap_or(0)
    }
}

pub(crate) struct Shared {
    pub(crate) database: Database,
    tip: Mutex<Tip>,
    cache: NodeCache,
}

impl Shared {
    pub(crate) fn new(database: Database, tip: Tip) -> Self {
        Self { database, tip: Mutex::new(tip), cache: NodeCache::default() }
    }

    pub(crate) fn tip(&self) -> Result<Tip, StateError> {
        Ok(self.tip.lock()?.clone())
    }

    pub(crate) fn advance(&self, tip: Tip) -> Result<(), StateError> {
        *self.tip.lock()? = tip;
        Ok(())
    }

    /// The file as it is, at the last committed block.
    pub(crate) fn snapshot(self: &Arc<Self>) -> Result<Arc<Snapshot>, StateError> {
        // The lock is held until the file's state is fixed: a later block may be certified and this one's
        // nodes pruned as soon as it is free.
        let tip = self.tip.lock()?;
        let nodes = self.nodes().map_err(StateError::storage("began to read"))?;
        Ok(Arc::new(Snapshot {
            block: tip.committed.block,
            roots: tip.committed.roots,
            root: tip.root,
            forks: Arc::clone(&tip.forks),
            nodes,
            shared: Arc::clone(self),
        }))
    }

    /// The file as it is, at an older block.
    pub(crate) fn snapshot_at(
        self: &Arc<Self>,
        block: BlockId,
        roots: Roots,
        root: NodeId,
    ) -> Result<Arc<Snapshot>, StateError> {
        let forks = Arc::clone(&self.tip.lock()?.forks);
        let nodes = self.nodes().map_err(StateError::storage("began to read"))?;
        Ok(Arc::new(Snapshot { block, roots, root, forks, nodes, shared: Arc::clone(self) }))
    }

    fn nodes(&self) -> Result<Nodes, redb::Error> {
        Ok(self.database.begin_read()?.open_table(NODES)?)
    }

    pub(crate) fn remember(&self, at: NodeId, fork: Fork, node: &Arc<TreeNode>) {
        if matches!(**node, TreeNode::Inner(_)) {
            self.cache.put(at, fork, Arc::clone(node));
        }
    }
}

type Nodes = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// One committed state in the file.
pub(crate) struct Snapshot {
    pub(crate) block: BlockId,
    pub(crate) roots: Roots,
    pub(crate) root: NodeId,
    forks: Arc<BTreeMap<Height, Fork>>,
    nodes: Nodes,
    shared: Arc<Shared>,
}

impl NodeSource for Snapshot {
    fn node(&self, at: &NodeId) -> Result<Option<Arc<TreeNode>>, StateError> {
        let fork = self.forks.get(&at.height).copied().unwrap_or(0);
        if let Some(node) = self.shared.cache.get(at, fork) {
            return Ok(Some(node));
        }
        let key = at.on_disk(fork);
        let failed = |error: redb::StorageError| StateError::storage("read a node")(error.into());
        let Some(bytes) = self.nodes.get(key.as_slice()).map_err(failed)? else { return Ok(None) };
        let node = Arc::new(TreeNode::from_disk(bytes.value())?);
        self.shared.remember(*at, fork, &node);
        Ok(Some(node))
    }

    fn row(&self, key: &StateKey) -> Result<Option<Row>, StateError> {
        tree::get(self, self.root, key)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("block", &self.block).finish_non_exhaustive()
    }
}

type Generation = BTreeMap<(NodeId, Fork), Arc<TreeNode>>;

/// Nodes that were used lately: when the young generation is full it becomes the old one, which is dropped.
#[derive(Default)]
struct NodeCache([Mutex<Generations>; 16]);

#[derive(Default)]
struct Generations {
    young: Generation,
    old: Generation,
}

impl NodeCache {
    fn part(&self, at: &NodeId) -> Option<&Mutex<Generations>> {
        self.0.get(usize::from(at.path.first()))
    }

    fn get(&self, at: &NodeId, fork: Fork) -> Option<Arc<TreeNode>> {
        let mut part = self.part(at)?.lock().ok()?;
        if let Some(node) = part.young.get(&(*at, fork)) {
            return Some(Arc::clone(node));
        }
        let node = part.old.get(&(*at, fork)).cloned()?;
        part.put((*at, fork), Arc::clone(&node));
        Some(node)
    }

    fn put(&self, at: NodeId, fork: Fork, node: Arc<TreeNode>) {
        if let Some(Ok(mut part)) = self.part(&at).map(Mutex::lock) {
            part.put((at, fork), node);
        }
    }
}

impl Generations {
    fn put(&mut self, at: (NodeId, Fork), node: Arc<TreeNode>) {
        if self.young.len() >= CACHED {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(at, node);
    }
}
