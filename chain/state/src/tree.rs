//! Changes and proofs of the tree, over any source of nodes.
//!
//! Changes are computed by the crate `jmt`. It numbers versions without gaps; here a height has up to
//! [`STEPS`] versions and forks share heights, so [`Based`] shows it the parent's root as the version before.
//! Hashes do not contain versions: the same rows have the same root whatever was executed before.
//!
//! Proofs are made here, not by `jmt`, which panics if a node cannot be read.
use std::collections::BTreeMap;
use std::sync::Arc;

use jmt::storage::{LeafNode, Node, NodeKey, TreeReader, TreeUpdateBatch};
use jmt::{JellyfishMerkleTree, KeyHash, SimpleHasher, Version};
use prefinal_execution::Height;
use sha2::{Digest, Sha256};

use crate::error::StateError;
use crate::node::{NodeId, NodePath, Row, TreeNode};
use crate::proof::{EMPTY, PathEnd, StateKey, StateProof, inner_hash, sha256};

/// Rows that change: their new values, or `None` where a row is removed.
pub type Changes = BTreeMap<StateKey, Option<Row>>;

/// Where nodes are read.
pub(crate) trait NodeSource {
    fn node(&self, at: &NodeId) -> Result<Option<Arc<TreeNode>>, StateError>;

    /// The value that a row had before the changes.
    fn row(&self, key: &StateKey) -> Result<Option<Row>, StateError>;

    fn expect(&self, at: &NodeId) -> Result<Arc<TreeNode>, StateError> {
        self.node(at)?.ok_or_else(|| StateError::damaged("a node of the tree is missing"))
    }
}

/// What one step changes.
#[derive(Debug, Default)]
pub(crate) struct TreeUpdate {
    pub(crate) nodes: BTreeMap<NodePath, Arc<TreeNode>>,
    /// Nodes that are not part of the tree any more.
    pub(crate) stale: Vec<NodeId>,
}

struct Hasher(Sha256);

impl SimpleHasher for Hasher {
    fn new() -> Self {
        Self(Sha256::new())
    }
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }
    fn finalize(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// The nodes of a source, with `root` as the root of the version before `version`.
struct Based<'a, S> {
    source: &'a S,
    root: NodeId,
    version: Version,
}

impl<S: NodeSource> TreeReader for Based<'_, S> {
    fn get_node_option(&self, key: &NodeKey) -> anyhow::Result<Option<Node>> {
        let at = if key.nibble_path().is_empty() {
            if key.version().checked_add(1) != Some(self.version) {
                return Ok(None);
            }
            self.root
        } else {
            NodeId::from_jmt(key)?
        };
        Ok(self.source.node(&at)?.map(|node| node.to_jmt()))
    }

    fn get_value_option(&self, _: Version, _: KeyHash) -> anyhow::Result<Option<Vec<u8>>> {
        anyhow::bail!("values are read beside the tree")
    }

    fn get_rightmost_leaf(&self) -> anyhow::Result<Option<(NodeKey, LeafNode)>> {
        anyhow::bail!("no tree is restored here")
    }
}

/// Puts rows into the tree with this root. There is at least one.
pub(crate) fn insert<S: NodeSource>(
    source: &S,
    root: NodeId,
    to: &NodeId,
    rows: &BTreeMap<StateKey, Row>,
) -> Result<TreeUpdate, StateError> {
    let version = NodeId::version(to.height, to.path.step())?;
    let based = Based { source, root, version };
    let tree = JellyfishMerkleTree::<_, Hasher>::new(&based);
    let set = rows.iter().map(|(key, row)| (KeyHash(*key.as_bytes()), row.to_vec())).collect();
    let (_, batch) = tree.batch_put_value_sets(vec![set], None, version).map_err(from_jmt)?;
    update(source, root, to, &batch, rows)
}

/// Removes rows that are in the tree. There is at least one.
pub(crate) fn remove<S: NodeSource>(
    source: &S,
    root: NodeId,
    to: &NodeId,
    rows: &[StateKey],
) -> Result<TreeUpdate, StateError> {
    let version = NodeId::version(to.height, to.path.step())?;
    let based = Based { source, root, version };
    let tree = JellyfishMerkleTree::<_, Hasher>::new(&based);
    let set = rows.iter().map(|key| (KeyHash(*key.as_bytes()), None));
    let (_, batch) = tree.put_value_set(set, version).map_err(from_jmt)?;
    update(source, root, to, &batch, &BTreeMap::new())
}

fn from_jmt(error: anyhow::Error) -> StateError {
    error.downcast().unwrap_or_else(|other| StateError::damaged(format!("{other:#}")))
}

fn update<S: NodeSource>(
    source: &S,
    root: NodeId,
    to: &NodeId,
    batch: &TreeUpdateBatch,
    rows: &BTreeMap<StateKey, Row>,
) -> Result<TreeUpdate, StateError> {
    let mut made = TreeUpdate::default();
    for (key, node) in batch.node_batch.nodes() {
        let node = match node {
            Node::Null => TreeNode::Empty,
            Node::Internal(_) => TreeNode::Inner(node.clone()),
            Node::Leaf(leaf) => {
                let key = StateKey::from_bytes(leaf.key_hash().0);
                // A leaf that only moved keeps its value.
                let value = match rows.get(&key) {
                    Some(row) => Some(row.clone()),
                    None => source.row(&key)?,
                };
                let value = value.ok_or_else(|| StateError::damaged("a leaf without a row"))?;
                TreeNode::Leaf { key, value }
            }
        };
        made.nodes.insert(NodeId::from_jmt(key)?.path, Arc::new(node));
    }
    for index in &batch.stale_node_index_batch {
        let path = NodeId::from_jmt(&index.node_key)?;
        made.stale.push(if index.node_key.nibble_path().is_empty() { root } else { path });
    }
    if !made.nodes.contains_key(&to.path) {
        return Err(StateError::damaged("a change of the tree without a root"));
    }
    Ok(made)
}

/// The children of an inner node, by their numbers.
pub(crate) struct Children([Option<Child>; 16]);

#[derive(Clone, Copy)]
pub(crate) struct Child {
    hash: [u8; 32],
    pub(crate) version: Version,
    is_leaf: bool,
}

impl Children {
    pub(crate) fn of(node: &Node) -> Self {
        let mut children = Self([None; 16]);
        if let Node::Internal(inner) = node {
            for (nibble, child) in inner.children_sorted() {
                if let Some(place) = children.0.get_mut(nibble.as_usize()) {
                    let (hash, version, is_leaf) = (child.hash, child.version, child.is_leaf());
                    *place = Some(Child { hash, version, is_leaf });
                }
            }
        }
        children
    }

    pub(crate) fn within(
        &self,
        start: usize,
        width: usize,
    ) -> impl Iterator<Item = (usize, &Child)> {
        let all = self.0.iter().enumerate().skip(start).take(width);
        all.filter_map(|(number, child)| Some((number, child.as_ref()?)))
    }

    /// The only child within these, if the tree ends in it there: a leaf alone, or the last level.
    pub(crate) fn only(&self, start: usize, width: usize) -> Option<(usize, &Child)> {
        let mut within = self.within(start, width);
        let first = within.next()?;
        (width == 1 || (first.1.is_leaf && within.next().is_none())).then_some(first)
    }

    fn leaves<S: NodeSource>(&self, source: &S, at: &NodeId) -> Result<Vec<StateKey>, StateError> {
        let mut keys = Vec::new();
        for (number, child) in (0..).zip(&self.0) {
            let Some(child) = child.filter(|child| child.is_leaf) else { continue };
            match &*source.expect(&below(at, number, child.version)?)? {
                TreeNode::Leaf { key, .. } => keys.push(*key),
                _ => return Err(StateError::damaged("an inner node where a leaf was written")),
            }
        }
        Ok(keys)
    }

    pub(crate) fn hash(&self, start: usize, width: usize) -> [u8; 32] {
        if self.within(start, width).next().is_none() {
            return EMPTY;
        }
        match self.only(start, width) {
            Some((_, child)) => child.hash,
            None => {
                let half = width / 2;
                inner_hash(&self.hash(start, half), &self.hash(start.saturating_add(half), half))
            }
        }
    }
}

pub(crate) fn hash_of(inner: &Node) -> [u8; 32] {
    Children::of(inner).hash(0, 16)
}

/// What lies at a key, and what shows it.
pub(crate) struct Found {
    pub(crate) value: Option<Row>,
    pub(crate) proof: StateProof,
}

/// The value of a row in the tree with this root. Reads a node for each four bits of the path.
pub(crate) fn get<S: NodeSource>(
    source: &S,
    root: NodeId,
    key: &StateKey,
) -> Result<Option<Row>, StateError> {
    let mut at = root;
    for depth in 0.. {
        match &*source.expect(&at)? {
            TreeNode::Empty => return Ok(None),
            TreeNode::Leaf { key: found, value } => {
                return Ok((found == key).then(|| value.clone()));
            }
            TreeNode::Inner(Node::Internal(inner)) => {
                let number = nibble(key, depth)?;
                let mut children = inner.children_sorted();
                let child = children.find(|(nibble, _)| u8::from(*nibble) == number);
                let Some((_, child)) = child else { return Ok(None) };
                at = below(&at, number, child.version)?;
            }
            TreeNode::Inner(_) => {
                return Err(StateError::damaged("an inner node without children"));
            }
        }
    }
    Ok(None)
}

/// The leaves that hang from the last inner node on the way to a key.
pub(crate) fn beside<S: NodeSource>(
    source: &S,
    root: NodeId,
    key: &StateKey,
) -> Result<Vec<StateKey>, StateError> {
    let mut at = root;
    for depth in 0.. {
        let children = match &*source.expect(&at)? {
            TreeNode::Empty | TreeNode::Leaf { .. } => return Ok(Vec::new()),
            TreeNode::Inner(node) => Children::of(node),
        };
        let number = nibble(key, depth)?;
        match children.within(usize::from(number), 1).next() {
            Some((_, child)) if !child.is_leaf => at = below(&at, number, child.version)?,
            _ => return children.leaves(source, &at),
        }
    }
    Ok(Vec::new())
}

/// As [`get`], with a proof.
pub(crate) fn prove<S: NodeSource>(
    source: &S,
    root: NodeId,
    key: &StateKey,
) -> Result<Found, StateError> {
    let mut siblings = Vec::new();
    let mut at = root;
    for depth in 0.. {
        let inner = match &*source.expect(&at)? {
            TreeNode::Empty => return Ok(found(PathEnd::Empty, None, siblings)),
            TreeNode::Leaf { key: leaf, value } if leaf == key => {
                return Ok(found(PathEnd::Row, Some(value.clone()), siblings));
            }
            TreeNode::Leaf { key, value } => {
                let end = PathEnd::Neighbour { key: *key, value_hash: sha256(&[value]) };
                return Ok(found(end, None, siblings));
            }
            TreeNode::Inner(node) => Children::of(node),
        };
        let number = nibble(key, depth)?;
        let (mut start, mut width) = (0_usize, 16_usize);
        let next = loop {
            // Halve until one child is left on the side of the key, or none.
            let half = width / 2;
            let right = start.saturating_add(half);
            let on_right = usize::from(number) >= right;
            let (side, other) = if on_right { (right, start) } else { (start, right) };
            siblings.push(inner.hash(other, half));
            (start, width) = (side, half);
            if inner.within(start, width).next().is_none() {
                return Ok(found(PathEnd::Empty, None, siblings));
            }
            if let Some((only, child)) = inner.only(start, width) {
                let only = u8::try_from(only)
                    .map_err(|_| StateError::damaged("an inner node with too many children"))?;
                break below(&at, only, child.version)?;
            }
        };
        at = next;
    }
    Err(StateError::damaged("a path without an end"))
}

fn found(end: PathEnd, value: Option<Row>, mut siblings: Vec<[u8; 32]>) -> Found {
    siblings.reverse();
    Found { value, proof: StateProof { end, siblings } }
}

pub(crate) fn below(at: &NodeId, number: u8, version: Version) -> Result<NodeId, StateError> {
    let child = at.path.child(number, 0);
    let path = child.ok_or_else(|| StateError::damaged("a path longer than a key"))?;
    Ok(NodeId::at_version(version, &path))
}

fn nibble(key: &StateKey, depth: usize) -> Result<u8, StateError> {
    let byte = key.as_bytes().get(depth / 2);
    let byte = byte.ok_or_else(|| StateError::damaged("a path longer than a key"))?;
    Ok(if depth.is_multiple_of(2) { byte >> 4 } else { byte & 15 })
}

/// The root of the tree of a genesis, before it has rows.
pub(crate) const fn before_all() -> NodeId {
    NodeId { height: Height::GENESIS, path: NodePath::root(0) }
}
