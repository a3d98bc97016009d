//! Rows of the state: keys, the root, and proofs that a row is there with its value, or is not there.
//!
//! The tree is binary, 256 levels deep, in which a part that holds one row only is that row's leaf:
//! ```text
//! leaf  = SHA-256("JMT::LeafNode" ‖ key ‖ SHA-256(value))
//! inner = SHA-256("JMT::IntrnalNode" ‖ left ‖ right)
//! empty = "SPARSE_MERKLE_PLACEHOLDER_HASH__"
//! ```
//! After the Jellyfish Merkle tree of Diem, as the crate `jmt` has it. A proof is the hashes beside the path,
//! from the bottom up, and what the path ends in.
use alloc::vec::Vec;

use borsh::{BorshDeserialize, BorshSerialize};

use super::{ProofError, sha256};

/// The hash of a part of the tree without rows.
pub(crate) const EMPTY: [u8; 32] = *b"SPARSE_MERKLE_PLACEHOLDER_HASH__";

pub(super) const KEY_BITS: usize = 256;

/// Names a row of the state. Keys are hashes, so that nobody can make the tree deep.
///
/// ```compile_fail,E0308
/// let key: prefinal_state::proof::StateKey = [0_u8; 32];
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct StateKey([u8; 32]);

/// Stands for all rows of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct StateRoot([u8; 32]);

/// What the path of a key ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum PathEnd {
    /// In the row of the key itself.
    Row,
    /// In a part of the tree without rows.
    Empty,
    /// In another row, the only one below this path.
    Neighbour {
        /// The key of that row.
        key: StateKey,
        /// SHA-256 of its value.
        value_hash: [u8; 32],
    },
}

/// Shows that a row is in the state with its value, or that it is not there. At most 8.3 kB; in a state of `n`
/// rows about `32·log₂ n` bytes.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct StateProof {
    /// What the path ends in.
    pub end: PathEnd,
    /// The hashes beside the path, from the bottom up.
    pub siblings: Vec<[u8; 32]>,
}

impl StateKey {
    /// The key of the row that `name` has among the rows of one kind. Kinds 0 to 5 are those of the executors in
    /// this crate, kind 6 has the epochs that a light client follows.
    #[must_use]
    pub fn new(kind: u8, name: &[u8]) -> Self {
        Self(sha256(&[b"prefinal/state/v1/row", &[kind], name]))
    }

    /// The 32 bytes of the key.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A key by its 32 bytes, which are a hash.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key behind this one; none behind the last.
    #[must_use]
    pub fn next(&self) -> Option<Self> {
        let mut bytes = self.0;
        for byte in bytes.iter_mut().rev() {
            let (sum, carry) = byte.overflowing_add(1);
            *byte = sum;
            if !carry {
                return Some(Self(bytes));
            }
        }
        None
    }

    /// The key before this one; none before the first.
    #[must_use]
    pub fn previous(&self) -> Option<Self> {
        let mut bytes = self.0;
        for byte in bytes.iter_mut().rev() {
            let (rest, borrow) = byte.overflowing_sub(1);
            *byte = rest;
            if !borrow {
                return Some(Self(bytes));
            }
        }
        None
    }

    /// The bit at this depth, counted from the root.
    fn bit(&self, depth: usize) -> bool {
        self.0.get(depth / 8).is_some_and(|byte| byte & (0x80 >> (depth % 8)) != 0)
    }

    fn shared_bits(&self, other: &Self) -> usize {
        (0..KEY_BITS).take_while(|depth| self.bit(*depth) == other.bit(*depth)).count()
    }
}

impl StateRoot {
    /// The root of a state without rows.
    pub const EMPTY: Self = Self(EMPTY);

    /// A root by its 32 bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes of the root.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl StateProof {
    /// Verifies that the row of `key` has this value under `root`, or with `None` that there is no such row.
    /// Costs as many hashes as the path is long.
    ///
    /// # Errors
    /// If the proof is one of the opposite, is for another key, value or root, or is longer than a key.
    pub fn verify(
        &self,
        root: StateRoot,
        key: StateKey,
        value: Option<&[u8]>,
    ) -> Result<(), ProofError> {
        let path = self.siblings.len();
        if path > KEY_BITS {
            return Err(ProofError::TooLong { got: path, most: KEY_BITS });
        }
        let bottom = match (self.end, value) {
            (PathEnd::Row, Some(value)) => leaf_hash(&key, &sha256(&[value])),
            (PathEnd::Row, None) => return Err(ProofError::Present),
            (_, Some(_)) => return Err(ProofError::Absent),
            (PathEnd::Empty, None) => EMPTY,
            (PathEnd::Neighbour { key: neighbour, .. }, None) if neighbour == key => {
                return Err(ProofError::Present);
            }
            (PathEnd::Neighbour { key: neighbour, value_hash }, None) => {
                let shared = key.shared_bits(&neighbour);
                if shared < path {
                    return Err(ProofError::Neighbour { shared, path });
                }
                leaf_hash(&neighbour, &value_hash)
            }
        };
        let top =
            self.siblings.iter().zip((0..path).rev()).fold(bottom, |hash, (sibling, depth)| {
                if key.bit(depth) { inner_hash(sibling, &hash) } else { inner_hash(&hash, sibling) }
            });
        if top == root.0 { Ok(()) } else { Err(ProofError::Root) }
    }
}

pub(crate) fn leaf_hash(key: &StateKey, value_hash: &[u8; 32]) -> [u8; 32] {
    sha256(&[b"JMT::LeafNode", &key.0, value_hash])
}

pub(crate) fn inner_hash(left: &[u8; 32], right: &[u8; 32]) -> [u8; 32] {
    sha256(&[b"JMT::IntrnalNode", left, right])
}
