//! The state that a block leaves: its children are executed on it, and clients read from it.
//!
//! ```text
//! view = changes of blocks that are not committed yet, in memory     Layer, newest last
//!        └─ the last committed state when the view was made          Snapshot of the file
//! ```
//! Blocks that are not committed are on the disk too, but only for the case of a crash: they are read from
//! memory. So a block's children can be executed before it is written, reads of hot rows cost a look into a map,
//! and what the file shows is one committed state, whatever forks were written. The price is memory: the
//! changes and new nodes of every block between the last committed one and the tip.
//!
//! A view stays readable, whatever is certified, reverted or pruned meanwhile: it holds its layers and a
//! snapshot of the file. When it gets a child, the child leaves out the layers that are committed by then.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use prefinal_execution::{Block, BlockId, Header, Height, Roots, Transaction};

use crate::error::StateError;
use crate::node::{NodeId, NodePath, Row, TreeNode};
use crate::place::{self, ProvenPlace};
use crate::proof::{
    KeyRange, ListRoot, StateKey, StateProof, StateRange, StateRoot, TransactionResult,
};
use crate::store::{Shared, Snapshot};
use crate::system::SystemTransaction;
use crate::tree::{self, Changes, NodeSource, TreeUpdate};
use crate::walk::{self, RangeLimits};

/// What a block changes, and the nodes of the tree that are new by it.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) header: Header,
    pub(crate) roots: Roots,
    /// The root of the tree, which is older if the block changes nothing.
    pub(crate) root: NodeId,
    pub(crate) changes: Changes,
    pub(crate) nodes: BTreeMap<NodePath, Arc<TreeNode>>,
    /// Nodes of blocks before that are not part of the tree any more.
    pub(crate) stale: Vec<NodeId>,
    pub(crate) results: Vec<TransactionResult>,
}

/// What a store needs to keep an executed block. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Delta(pub(crate) Arc<Layer>);

impl Delta {
    /// The rows that the block changes.
    #[must_use]
    pub fn changes(&self) -> &Changes {
        &self.0.changes
    }

    /// What became of the block's transactions, in their order.
    #[must_use]
    pub fn results(&self) -> &[TransactionResult] {
        &self.0.results
    }

    /// The block's place, with what shows it under the receipts' root. Costs three hashes for each transaction.
    #[must_use]
    pub fn place(&self) -> Option<ProvenPlace> {
        self.0.place()
    }
}

impl Layer {
    pub(crate) fn place(&self) -> Option<ProvenPlace> {
        ProvenPlace::of(&self.header, &self.results)
    }
}

/// The state that a block leaves. Cheap to clone.
#[derive(Clone)]
pub struct View {
    shared: Arc<Shared>,
    base: Arc<Snapshot>,
    /// Blocks behind the base, one for each height.
    layers: Vec<Arc<Layer>>,
}

impl View {
    pub(crate) const fn committed(shared: Arc<Shared>, base: Arc<Snapshot>) -> Self {
        Self { shared, base, layers: Vec::new() }
    }

    /// The block that leaves this state.
    #[must_use]
    pub fn block(&self) -> BlockId {
        self.layers.last().map_or(self.base.block, |layer| layer.header.id)
    }

    /// The root of this state.
    #[must_use]
    pub fn state_root(&self) -> StateRoot {
        let layer = self.layers.last();
        StateRoot::new(layer.map_or(self.base.roots, |layer| layer.roots).state)
    }

    /// The value of a row, or `None` if there is no such row.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn get(&self, key: &StateKey) -> Result<Option<Row>, StateError> {
        let changed = self.layers.iter().rev().find_map(|layer| layer.changes.get(key));
        match changed {
            Some(row) => Ok(row.clone()),
            None => tree::get(&*self.base, self.base.root, key),
        }
    }

    /// The value of a row, or that there is none, with a proof under [`state_root`](Self::state_root).
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn prove(&self, key: &StateKey) -> Result<ProvenRow, StateError> {
        let found = tree::prove(self, self.root(), key)?;
        Ok(ProvenRow { value: found.value, proof: found.proof })
    }

    /// All rows between two keys, with a proof under [`state_root`](Self::state_root). If the limits do not allow
    /// for all of them, the range that is returned ends earlier, and the next one begins behind it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn range(&self, keys: KeyRange, limits: RangeLimits) -> Result<StateRange, StateError> {
        walk::range(self, self.root(), keys, limits)
    }

    /// Verifies what is read of this state to change these rows: their paths, and the leaves that may move up when a
    /// row beside them is removed.
    ///
    /// # Errors
    /// If it cannot be read, or is not what was written.
    pub(crate) fn verify(&self, changes: &Changes) -> Result<(), StateError> {
        let mut keys: BTreeSet<StateKey> = changes.keys().copied().collect();
        for (key, _) in changes.iter().filter(|(_, row)| row.is_none()) {
            keys.extend(tree::beside(self, self.root(), key)?);
        }
        for key in keys {
            let ProvenRow { value, proof } = self.prove(&key)?;
            let shown = proof.verify(self.state_root(), key, value.as_deref());
            shown
                .map_err(|_| StateError::damaged("a node of the tree is not as it was written"))?;
        }
        Ok(())
    }

    fn root(&self) -> NodeId {
        self.layers.last().map_or(self.base.root, |layer| layer.root)
    }

    /// The state of a child, without the layers that are committed by now.
    pub(crate) fn child(&self, layer: Arc<Layer>) -> Result<Self, StateError> {
        let mut layers = self.layers.clone();
        layers.push(layer);
        let base = self.shared.snapshot()?;
        let kept = layers.iter().position(|layer| layer.header.id == base.block);
        Ok(match kept {
            Some(last) => Self {
                shared: Arc::clone(&self.shared),
                base,
                layers: layers.split_off(last.saturating_add(1)),
            },
            None => Self { shared: Arc::clone(&self.shared), base: Arc::clone(&self.base), layers },
        })
    }
}

impl NodeSource for View {
    fn node(&self, at: &NodeId) -> Result<Option<Arc<TreeNode>>, StateError> {
        let layer = self.layers.iter().find(|layer| layer.header.height == at.height);
        match layer {
            Some(layer) => Ok(layer.nodes.get(&at.path).cloned()),
            None => self.base.node(at),
        }
    }

    fn row(&self, key: &StateKey) -> Result<Option<Row>, StateError> {
        self.get(key)
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layers = self.layers.len();
        f.debug_struct("View").field("block", &self.block()).field("layers", &layers).finish()
    }
}

/// The value of a row, or that there is none, and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenRow {
    /// The value, or `None` if there is no such row.
    pub value: Option<Row>,
    /// Shows it under the state's root.
    pub proof: StateProof,
}

/// The state of a block that is being executed: rows change, and the tree with them.
#[derive(Debug)]
pub struct Pending {
    parent: View,
    height: Height,
    root: NodeId,
    step: u8,
    changes: Changes,
    tree: TreeUpdate,
    system: Vec<SystemTransaction>,
}

impl Pending {
    /// The parent's state, before the block with this header changes it.
    #[must_use]
    pub fn new(parent: &View, header: &Header) -> Self {
        Self {
            root: parent.root(),
            parent: parent.clone(),
            height: header.height,
            step: 0,
            changes: Changes::new(),
            tree: TreeUpdate::default(),
            system: Vec::new(),
        }
    }

    /// As [`new`](Self::new), for executors: with what the block's system transactions write, and their results.
    ///
    /// # Errors
    /// If the block has a system transaction that is none, or one behind a row.
    pub fn of<T: Transaction>(parent: &View, block: &Block<T>) -> Result<Self, StateError> {
        let unreadable = || StateError::damaged("system transactions that cannot be read");
        let system = SystemTransaction::all(block.system_transactions()).ok_or_else(unreadable)?;
        Ok(Self { system, ..Self::new(parent, &block.header) })
    }

    /// The value of a row, with all changes so far.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn get(&self, key: &StateKey) -> Result<Option<Row>, StateError> {
        match self.changes.get(key) {
            Some(row) => Ok(row.clone()),
            None => self.parent.get(key),
        }
    }

    /// Changes rows, and the tree. Call it once for the head and once for the tail: what the head has changed is
    /// hashed by the time the tail is executed.
    ///
    /// # Errors
    /// If the store cannot be read, or if this is the third call.
    pub fn apply(&mut self, mut changes: Changes) -> Result<(), StateError> {
        // With the head, for each further step of the tree would cost its hashes again.
        if self.step == 0 {
            changes.extend(self.system.iter().filter_map(|one| match one {
                SystemTransaction::Row { key, row } => Some((*key, Some(row.clone()))),
                SystemTransaction::Carried(_) => None,
            }));
        }
        let (mut put, mut removed) = (BTreeMap::new(), Vec::new());
        for (key, row) in &changes {
            match row {
                Some(row) => {
                    put.insert(*key, row.clone());
                }
                None if self.get(key)?.is_some() => removed.push(*key),
                None => {}
            }
        }
        if !put.is_empty() {
            let to = self.next()?;
            let update = tree::insert(self, self.root, &to, &put)?;
            self.merge(to, update);
        }
        self.changes.extend(put.into_iter().map(|(key, row)| (key, Some(row))));
        if !removed.is_empty() {
            let to = self.next()?;
            let update = tree::remove(self, self.root, &to, &removed)?;
            self.merge(to, update);
        }
        self.changes.extend(removed.into_iter().map(|key| (key, None)));
        Ok(())
    }

    fn next(&mut self) -> Result<NodeId, StateError> {
        // Version 0 of the tree is the empty one before the genesis.
        let genesis = u8::from(self.height == Height::GENESIS);
        let step = self.step.saturating_add(genesis);
        self.step = self.step.saturating_add(1);
        if u64::from(step) >= crate::node::STEPS {
            return Err(StateError::TooHigh { height: self.height });
        }
        Ok(NodeId { height: self.height, path: NodePath::root(step) })
    }

    fn merge(&mut self, root: NodeId, update: TreeUpdate) {
        self.root = root;
        self.tree.nodes.extend(update.nodes);
        for node in update.stale {
            // What the same block made and dropped was never there.
            if node.height == self.height {
                self.tree.nodes.remove(&node.path);
            } else {
                self.tree.stale.push(node);
            }
        }
    }

    /// The block's roots, its state and what a store needs of it. `results` are in the order of the block's
    /// transactions, without those of system transactions that [`of`](Self::of) has read.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn finish(
        self,
        header: &Header,
        mut results: Vec<TransactionResult>,
    ) -> Result<Finished, StateError> {
        results.extend(self.system.iter().map(SystemTransaction::result));
        let state = self.expect(&self.root)?.hash();
        let items = place::items(header, &results);
        let roots = Roots { state, receipts: *ListRoot::of(&items).as_bytes() };
        let layer = Arc::new(Layer {
            header: *header,
            roots,
            root: self.root,
            changes: self.changes,
            nodes: self.tree.nodes,
            stale: self.tree.stale,
            results,
        });
        Ok(Finished { roots, view: self.parent.child(Arc::clone(&layer))?, delta: Delta(layer) })
    }
}

/// A block whose transactions are all executed.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The roots of the state and of the receipts.
    pub roots: Roots,
    /// The state that the block leaves.
    pub view: View,
    /// What a store needs to keep it.
    pub delta: Delta,
}

impl NodeSource for Pending {
    fn node(&self, at: &NodeId) -> Result<Option<Arc<TreeNode>>, StateError> {
        if at.height == self.height
            && let Some(node) = self.tree.nodes.get(&at.path)
        {
            return Ok(Some(Arc::clone(node)));
        }
        self.parent.node(at)
    }

    fn row(&self, key: &StateKey) -> Result<Option<Row>, StateError> {
        self.get(key)
    }
}
