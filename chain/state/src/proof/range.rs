//! All rows of the state between two keys, and what shows that they are all.
//!
//! A range is verified on its own, so a state is fetched from several peers at once, in any order. The verifier walks
//! the tree from its root:
//! ```text
//! part of the tree        what the proof has                     its hash
//! inside the range        nothing                                from the rows
//! across a boundary       split, empty, a row of the range       from both halves, or from the row
//!                         or the one row, outside, that it has
//! outside                 empty, its only row, or a hash         as the proof says
//! ```
//! Why not the range proof of the crate `jmt`: it has what lies to the right only, so ranges are verified one after
//! the other, by somebody who has all that lies to the left.
//!
//! **Why nothing can be left out.** The walk gives the root's preimages down to both boundaries. Under an honest
//! root they are the honest ones, for leaves, inner nodes and the empty part are hashed apart. What remains
//! is the rule that a part with one row has that row's hash: so a row that stands for an outside part must
//! lie there, or a row of the range could be passed off as its neighbour.
use alloc::vec::Vec;

use borsh::{BorshDeserialize, BorshSerialize};

use super::row::{EMPTY, KEY_BITS, StateKey, StateRoot, inner_hash, leaf_hash};
use super::{ProofError, sha256};

/// More nodes than two paths have, with what lies beside them.
const MOST: usize = 4 * (KEY_BITS + 1);

/// What a proof says of a part of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum RangeNode {
    /// Across a boundary: the two halves follow.
    Split,
    /// Across a boundary, with one row, which is in the range.
    Row,
    /// A part in which there are no rows.
    Empty,
    /// With one row, which is outside the range.
    Outside {
        /// The key of that row.
        key: StateKey,
        /// SHA-256 of its value.
        value_hash: [u8; 32],
    },
    /// Outside, with several rows.
    Hash([u8; 32]),
}

/// Shows that rows are all that the state has between two keys. Two paths, about `64·log₂ n` bytes in a state of
/// `n` rows.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct RangeProof {
    /// Parts of the tree, from left to right, each before its halves.
    pub nodes: Vec<RangeNode>,
}

/// A row of the state.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct StateRow {
    /// Where in the state the row is.
    pub key: StateKey,
    /// What the state has there.
    pub value: Vec<u8>,
}

/// The keys from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct KeyRange {
    /// The lowest key of the range.
    pub first: StateKey,
    /// The highest key of the range.
    pub last: StateKey,
}

/// All rows of the state in a range. Nothing of it is checked yet.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct StateRange {
    /// Where the rows are.
    pub keys: KeyRange,
    /// The rows, in the order of their keys.
    pub rows: Vec<StateRow>,
    /// Shows that these are all rows in the range.
    pub proof: RangeProof,
}

/// Rows that are all that a state has in a range.
///
/// ```compile_fail,E0451
/// # use prefinal_state::proof::{StateRange, StateRoot, VerifiedRange};
/// # fn forged(range: StateRange, root: StateRoot) {
/// VerifiedRange { range, root };
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedRange {
    range: StateRange,
    root: StateRoot,
}

impl KeyRange {
    /// Every key that a row can have.
    pub const ALL: Self =
        Self { first: StateKey::from_bytes([0; 32]), last: StateKey::from_bytes([0xff; 32]) };

    /// Whether the key is in the range.
    #[must_use]
    pub fn contains(&self, key: &StateKey) -> bool {
        *key >= self.first && *key <= self.last
    }
}

impl StateRange {
    /// Verifies that these are all rows that the state with this root has in the range. Costs two hashes for each
    /// row, and one for each node of the proof.
    ///
    /// # Errors
    /// If a row is missing, too many, altered or out of order, or if the root is another.
    pub fn verify(self, root: StateRoot) -> Result<VerifiedRange, ProofError> {
        let Self { keys, rows, proof } = &self;
        if proof.nodes.len() > MOST {
            return Err(ProofError::TooLong { got: proof.nodes.len(), most: MOST });
        }
        let ascending = rows.windows(2).all(|pair| pair.first().map(key) < pair.last().map(key));
        if !ascending || !rows.iter().all(|row| keys.contains(&row.key)) {
            return Err(ProofError::Order);
        }
        let mut walk = Walk { keys: *keys, nodes: proof.nodes.iter() };
        let top = walk.part(&Prefix::ROOT, rows)?;
        if walk.nodes.next().is_some() {
            return Err(ProofError::Shape);
        }
        if top.hash() != *root.as_bytes() {
            return Err(ProofError::Root);
        }
        Ok(VerifiedRange { range: self, root })
    }
}

impl VerifiedRange {
    /// The root of the state that has the rows.
    #[must_use]
    pub const fn root(&self) -> StateRoot {
        self.root
    }

    /// Where the rows are.
    #[must_use]
    pub const fn keys(&self) -> KeyRange {
        self.range.keys
    }

    /// The rows, in the order of their keys.
    #[must_use]
    pub fn rows(&self) -> &[StateRow] {
        &self.range.rows
    }
}

fn key(row: &StateRow) -> StateKey {
    row.key
}

/// The first bits of the keys in a part of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    bits: [u8; 32],
    depth: usize,
}

/// How a part of the tree lies to a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Inside,
    Across,
    Outside,
}

impl Prefix {
    pub(crate) const ROOT: Self = Self { bits: [0; 32], depth: 0 };

    /// The two parts that this one is divided into.
    pub(crate) fn halves(&self) -> [Self; 2] {
        let left = Self { bits: self.bits, depth: self.depth.saturating_add(1) };
        let mut right = left;
        if let Some(byte) = right.bits.get_mut(self.depth / 8) {
            *byte |= 0x80 >> (self.depth % 8);
        }
        [left, right]
    }

    /// The keys of the part.
    pub(crate) fn keys(&self) -> KeyRange {
        let mut last = self.bits;
        for (at, byte) in last.iter_mut().enumerate() {
            let shown = self.depth.saturating_sub(at.saturating_mul(8));
            let free = u8::try_from(shown).ok().and_then(|shown| 0xff_u8.checked_shr(shown.into()));
            *byte |= free.unwrap_or(0);
        }
        KeyRange { first: StateKey::from_bytes(self.bits), last: StateKey::from_bytes(last) }
    }

    pub(crate) fn place(&self, range: &KeyRange) -> Place {
        let own = self.keys();
        if own.last < range.first || own.first > range.last {
            Place::Outside
        } else if own.first >= range.first && own.last <= range.last {
            Place::Inside
        } else {
            Place::Across
        }
    }
}

/// What a part of the tree has.
enum Part {
    Empty,
    Leaf([u8; 32]),
    Inner([u8; 32]),
}

impl Part {
    const fn hash(&self) -> [u8; 32] {
        match self {
            Self::Empty => EMPTY,
            Self::Leaf(hash) | Self::Inner(hash) => *hash,
        }
    }

    /// A part with one row has that row's hash, at whatever depth.
    fn join(left: Self, right: Self) -> Self {
        match (left, right) {
            (Self::Empty, Self::Empty) => Self::Empty,
            (leaf @ Self::Leaf(_), Self::Empty) | (Self::Empty, leaf @ Self::Leaf(_)) => leaf,
            (left, right) => Self::Inner(inner_hash(&left.hash(), &right.hash())),
        }
    }

    fn row(row: &StateRow) -> Self {
        Self::Leaf(leaf_hash(&row.key, &sha256(&[&row.value])))
    }
}

/// The verifier's way through the tree. No deeper than keys have bits.
struct Walk<'a> {
    keys: KeyRange,
    nodes: core::slice::Iter<'a, RangeNode>,
}

impl Walk<'_> {
    fn part(&mut self, prefix: &Prefix, rows: &[StateRow]) -> Result<Part, ProofError> {
        let place = prefix.place(&self.keys);
        if place == Place::Inside {
            return Ok(inside(prefix, rows));
        }
        let node = self.nodes.next().ok_or(ProofError::Shape)?;
        match (node, place, rows) {
            (RangeNode::Split, Place::Across, _) => {
                let [left, right] = prefix.halves();
                let (low, high) = divide(&right, rows);
                let low = self.part(&left, low)?;
                Ok(Part::join(low, self.part(&right, high)?))
            }
            (RangeNode::Row, Place::Across, [row]) => Ok(Part::row(row)),
            (RangeNode::Empty, _, []) => Ok(Part::Empty),
            (RangeNode::Outside { key, value_hash }, _, [])
                if prefix.keys().contains(key) && !self.keys.contains(key) =>
            {
                Ok(Part::Leaf(leaf_hash(key, value_hash)))
            }
            (RangeNode::Hash(hash), Place::Outside, []) => Ok(Part::Inner(*hash)),
            _ => Err(ProofError::Shape),
        }
    }
}

fn inside(prefix: &Prefix, rows: &[StateRow]) -> Part {
    match rows {
        [] => Part::Empty,
        [row] => Part::row(row),
        _ => {
            let [left, right] = prefix.halves();
            let (low, high) = divide(&right, rows);
            Part::join(inside(&left, low), inside(&right, high))
        }
    }
}

/// The rows before the right half, and those in it.
fn divide<'a>(right: &Prefix, rows: &'a [StateRow]) -> (&'a [StateRow], &'a [StateRow]) {
    let first = right.keys().first;
    rows.split_at(rows.partition_point(|row| row.key < first))
}
