//! Ranges of rows, read from the tree with what shows that they are all.
use std::sync::Arc;

use crate::error::StateError;
use crate::node::{NodeId, TreeNode};
use crate::proof::{
    KeyRange, Place, Prefix, RangeNode, RangeProof, StateKey, StateRange, StateRow, sha256,
};
use crate::tree::{Children, NodeSource, below};

/// How much of a state is read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeLimits {
    /// The most rows that the range may have.
    pub rows: usize,
    /// Most bytes of keys and values. The first row is read whatever it has.
    pub bytes: usize,
}

/// The rows in the range, from its beginning to its end, or until the limits are reached. What is returned says
/// where it ends.
pub(crate) fn range<S: NodeSource>(
    source: &S,
    root: NodeId,
    keys: KeyRange,
    limits: RangeLimits,
) -> Result<StateRange, StateError> {
    let top = Part::of(source, root)?;
    let mut reader = Reader { source, keys, limits, bytes: 0, rows: Vec::new(), is_cut: false };
    reader.collect(&top, &Prefix::ROOT)?;
    let (rows, is_cut) = (reader.rows, reader.is_cut);
    let last = rows.last().filter(|_| is_cut).map_or(keys.last, |row| row.key);
    let keys = KeyRange { first: keys.first, last };
    let mut nodes = Vec::new();
    prove(source, &top, &Prefix::ROOT, &mut ProofMaker { keys, nodes: &mut nodes })?;
    Ok(StateRange { keys, rows, proof: RangeProof { nodes } })
}

/// A part of the binary tree, as the nodes with their 16 children have it.
enum Part {
    Empty,
    Leaf { key: StateKey, value: Arc<[u8]> },
    Inner(Branch),
}

/// Some neighbours among the children of a node; there is a leaf among others, or more than one child.
struct Branch {
    at: NodeId,
    children: Arc<Children>,
    start: usize,
    width: usize,
}

impl Part {
    fn of<S: NodeSource>(source: &S, at: NodeId) -> Result<Self, StateError> {
        match &*source.expect(&at)? {
            TreeNode::Empty => Ok(Self::Empty),
            TreeNode::Leaf { key, value } => Ok(Self::Leaf { key: *key, value: value.clone() }),
            TreeNode::Inner(node) => {
                let children = Arc::new(Children::of(node));
                Branch { at, children, start: 0, width: 16 }.part(source)
            }
        }
    }
}

impl Branch {
    fn hash(&self) -> [u8; 32] {
        self.children.hash(self.start, self.width)
    }

    fn part<S: NodeSource>(self, source: &S) -> Result<Part, StateError> {
        if self.children.within(self.start, self.width).next().is_none() {
            return Ok(Part::Empty);
        }
        let Some((number, child)) = self.children.only(self.start, self.width) else {
            return Ok(Part::Inner(self));
        };
        let number = u8::try_from(number);
        let number =
            number.map_err(|_| StateError::damaged("an inner node with too many children"))?;
        Part::of(source, below(&self.at, number, child.version)?)
    }

    fn half<S: NodeSource>(&self, right: bool, source: &S) -> Result<Part, StateError> {
        let width = self.width / 2;
        let start = if right { self.start.saturating_add(width) } else { self.start };
        Self { at: self.at, children: Arc::clone(&self.children), start, width }.part(source)
    }
}

struct Reader<'a, S> {
    source: &'a S,
    keys: KeyRange,
    limits: RangeLimits,
    bytes: usize,
    rows: Vec<StateRow>,
    is_cut: bool,
}

impl<S: NodeSource> Reader<'_, S> {
    fn collect(&mut self, part: &Part, prefix: &Prefix) -> Result<(), StateError> {
        match part {
            Part::Empty => {}
            Part::Leaf { key, value } => self.row(*key, value),
            Part::Inner(branch) => {
                for (half, right) in prefix.halves().iter().zip([false, true]) {
                    if !self.is_cut && half.place(&self.keys) != Place::Outside {
                        self.collect(&branch.half(right, self.source)?, half)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn row(&mut self, key: StateKey, value: &[u8]) {
        if !self.keys.contains(&key) {
            return;
        }
        let bytes = self.bytes.saturating_add(value.len()).saturating_add(key.as_bytes().len());
        let is_full = self.rows.len() >= self.limits.rows || bytes > self.limits.bytes;
        if is_full && !self.rows.is_empty() {
            self.is_cut = true;
            return;
        }
        self.bytes = bytes;
        self.rows.push(StateRow { key, value: value.to_vec() });
    }
}

struct ProofMaker<'a> {
    keys: KeyRange,
    nodes: &'a mut Vec<RangeNode>,
}

fn prove<S: NodeSource>(
    source: &S,
    part: &Part,
    prefix: &Prefix,
    made: &mut ProofMaker<'_>,
) -> Result<(), StateError> {
    let place = prefix.place(&made.keys);
    let node = match (part, place) {
        (_, Place::Inside) => return Ok(()),
        (Part::Empty, _) => RangeNode::Empty,
        (Part::Leaf { key, .. }, _) if made.keys.contains(key) => RangeNode::Row,
        (Part::Leaf { key, value }, _) => {
            RangeNode::Outside { key: *key, value_hash: sha256(&[value]) }
        }
        (Part::Inner(branch), Place::Outside) => RangeNode::Hash(branch.hash()),
        (Part::Inner(branch), Place::Across) => {
            made.nodes.push(RangeNode::Split);
            for (half, right) in prefix.halves().iter().zip([false, true]) {
                prove(source, &branch.half(right, source)?, half, made)?;
            }
            return Ok(());
        }
    };
    made.nodes.push(node);
    Ok(())
}
