//! Nodes of the tree: their places, and how they lie on the disk.
//!
//! A node is written once and never changed. Its place is the height that made it, the step within the height,
//! and its path from the root in steps of four bits. On the disk the number of the fork stands behind the
//! height, because several blocks of one height may be written at once:
//! ```text
//! height (8 bytes) ‖ fork (2) ‖ step (1) ‖ length of the path (1) ‖ path
//! ```
//! So the nodes of a block are neighbours on the disk, and blocks are written at the end of the table. A leaf
//! carries the row's value. There is no other table of rows.
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use jmt::storage::{LeafNode, Node, NodeKey};
use jmt::{KeyHash, ValueHash};
use prefinal_execution::Height;

use crate::error::StateError;
use crate::proof::{StateKey, leaf_hash, sha256};

/// The value of a row.
pub type Row = Arc<[u8]>;

/// Versions of the tree that one height may make: head and tail each put rows and remove rows.
pub(crate) const STEPS: u64 = 4;

/// Which of several blocks of one height, in the order in which they were written.
pub(crate) type Fork = u16;

/// The place of a node within the nodes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub(crate) struct NodePath {
    step: u8,
    nibbles: u8,
    bytes: [u8; 32],
}

/// The place of a node on one fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub(crate) struct NodeId {
    pub(crate) height: Height,
    pub(crate) path: NodePath,
}

#[derive(Clone, Debug)]
pub(crate) enum TreeNode {
    /// The root of a tree without rows.
    Empty,
    Inner(Node),
    Leaf {
        key: StateKey,
        value: Row,
    },
}

impl NodePath {
    /// The step of the height in which the node was made.
    pub(crate) const fn step(&self) -> u8 {
        self.step
    }

    pub(crate) const fn root(step: u8) -> Self {
        Self { step, nibbles: 0, bytes: [0; 32] }
    }

    /// The place of the child with this number, which was made at that step.
    pub(crate) fn child(&self, nibble: u8, step: u8) -> Option<Self> {
        let mut child = Self { step, nibbles: self.nibbles.checked_add(1)?, bytes: self.bytes };
        child.set(self.nibbles, nibble)?;
        Some(child)
    }

    /// The first four bits of the path.
    pub(crate) fn first(&self) -> u8 {
        self.bytes.first().map_or(0, |byte| byte >> 4)
    }

    fn set(&mut self, at: u8, nibble: u8) -> Option<()> {
        let byte = self.bytes.get_mut(usize::from(at / 2))?;
        *byte |= if at.is_multiple_of(2) { nibble << 4 } else { nibble };
        Some(())
    }

    /// The bytes that contain the path.
    fn used(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.nibbles).div_ceil(2)).unwrap_or(&self.bytes)
    }
}

impl NodeId {
    /// The version that `jmt` knows this height's step by.
    pub(crate) fn version(height: Height, step: u8) -> Result<u64, StateError> {
        let first = height.get().checked_mul(STEPS);
        first
            .and_then(|first| first.checked_add(u64::from(step)))
            // The last version means "before all others" there.
            .filter(|version| *version < u64::MAX - STEPS)
            .ok_or(StateError::TooHigh { height })
    }

    pub(crate) fn at_version(version: u64, path: &NodePath) -> Self {
        let step = u8::try_from(version % STEPS).unwrap_or(0);
        Self { height: Height::new(version / STEPS), path: NodePath { step, ..*path } }
    }

    pub(crate) fn from_jmt(key: &NodeKey) -> Result<Self, StateError> {
        let mut path = NodePath::root(0);
        for nibble in key.nibble_path().nibbles() {
            let at = path.nibbles;
            path.set(at, u8::from(nibble))
                .ok_or_else(|| StateError::damaged("a path longer than a key"))?;
            path.nibbles = at.saturating_add(1);
        }
        Ok(Self::at_version(key.version(), &path))
    }

    pub(crate) fn on_disk(&self, fork: Fork) -> Vec<u8> {
        let mut bytes = prefix(self.height, fork);
        bytes.extend([self.path.step, self.path.nibbles]);
        bytes.extend(self.path.used());
        bytes
    }
}

/// What the nodes of one block begin with.
pub(crate) fn prefix(height: Height, fork: Fork) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(44);
    bytes.extend(height.get().to_be_bytes());
    bytes.extend(fork.to_be_bytes());
    bytes
}

/// The place within its block of a node that was found under this key.
pub(crate) fn path_on_disk(key: &[u8]) -> Option<NodePath> {
    let (_, rest) = key.split_at_checked(10)?;
    let ([step, nibbles], used) = rest.split_first_chunk::<2>()?;
    let mut path = NodePath { step: *step, nibbles: *nibbles, bytes: [0; 32] };
    path.bytes.get_mut(..used.len())?.copy_from_slice(used);
    Some(path)
}

impl TreeNode {
    pub(crate) fn hash(&self) -> [u8; 32] {
        match self {
            Self::Empty => crate::proof::EMPTY,
            Self::Leaf { key, value } => leaf_hash(key, &sha256(&[value])),
            Self::Inner(node) => crate::tree::hash_of(node),
        }
    }

    pub(crate) fn to_jmt(&self) -> Node {
        match self {
            Self::Empty => Node::Null,
            Self::Inner(node) => node.clone(),
            Self::Leaf { key, value } => {
                let hash = ValueHash(sha256(&[value]));
                Node::Leaf(LeafNode::new(KeyHash(*key.as_bytes()), hash))
            }
        }
    }

    pub(crate) fn to_disk(&self) -> Result<Vec<u8>, StateError> {
        Ok(match self {
            Self::Empty => vec![0],
            Self::Leaf { key, value } => [&[1], key.as_bytes().as_slice(), value].concat(),
            Self::Inner(node) => {
                let mut bytes = vec![2];
                node.serialize(&mut bytes)
                    .map_err(|error| StateError::damaged(error.to_string()))?;
                bytes
            }
        })
    }

    pub(crate) fn from_disk(bytes: &[u8]) -> Result<Self, StateError> {
        let damaged = || StateError::damaged("a node that cannot be read");
        match bytes.split_first().ok_or_else(damaged)? {
            (0, []) => Ok(Self::Empty),
            (1, rest) => {
                let (key, value) = rest.split_first_chunk::<32>().ok_or_else(damaged)?;
                Ok(Self::Leaf { key: StateKey::from_bytes(*key), value: value.into() })
            }
            (2, rest) => Ok(Self::Inner(Node::try_from_slice(rest).map_err(|_| damaged())?)),
            _ => Err(damaged()),
        }
    }
}
