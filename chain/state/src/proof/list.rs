//! Ordered lists, of transactions or of receipts: one root, and proofs of what is at a position.
//!
//! ```text
//! leaf  = SHA-256(0 ‖ item)
//! inner = SHA-256(1 ‖ left ‖ right)       the left part has the largest power of two that leaves a right part
//! root  = SHA-256(2 ‖ length ‖ top)
//! ```
//! After RFC 9162, section 2.1. Ours: the root contains the length, so a position cannot be shifted.
use alloc::vec::Vec;

use borsh::{BorshDeserialize, BorshSerialize};

use super::{ProofError, sha256};

type Item = [u8; 32];

/// More hashes than the path of any list with `u32` positions has.
const MOST: usize = 32;

/// Stands for an ordered list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ListRoot([u8; 32]);

/// Shows what is at one position of a list.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ListProof {
    /// The position, counted from 0.
    pub index: u32,
    /// Length of the list.
    pub count: u32,
    /// The hashes beside the path, from the bottom up.
    pub siblings: Vec<[u8; 32]>,
}

impl ListRoot {
    /// The root of these items. Costs two hashes for each.
    #[must_use]
    pub fn of(items: &[[u8; 32]]) -> Self {
        let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
        Self::with_length(count, &top(items))
    }

    /// A root by its 32 bytes, as a block's [`Roots`](prefinal_execution::Roots) have it.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    fn with_length(count: u32, top: &[u8; 32]) -> Self {
        Self(sha256(&[&[2], &count.to_be_bytes(), top]))
    }

    /// The 32 bytes of the root.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl ListProof {
    /// The proof for the item at `index`, or `None` if there is none. Costs as much as the root.
    #[must_use]
    pub fn of(items: &[[u8; 32]], index: u32) -> Option<Self> {
        let at = usize::try_from(index).ok()?;
        let count = u32::try_from(items.len()).ok()?;
        let mut siblings = Vec::new();
        if at >= items.len() {
            return None;
        }
        walk(items, at, &mut siblings);
        Some(Self { index, count, siblings })
    }

    /// Verifies that `item` is at this position of the list with this root. Costs as many hashes as the path
    /// is long.
    ///
    /// # Errors
    /// If the item, the position, the length or the root is another, or the path has another shape.
    pub fn verify(&self, root: ListRoot, item: &[u8; 32]) -> Result<(), ProofError> {
        if self.index >= self.count {
            return Err(ProofError::Position { index: self.index, count: self.count });
        }
        if self.siblings.len() > MOST {
            return Err(ProofError::TooLong { got: self.siblings.len(), most: MOST });
        }
        let (mut at, mut last) = (self.index, self.count.saturating_sub(1));
        let mut hash = leaf(item);
        for sibling in &self.siblings {
            if last == 0 {
                return Err(ProofError::Shape);
            }
            if at % 2 == 1 || at == last {
                hash = inner(sibling, &hash);
                // The last one has no neighbour on levels where the list is short.
                while at % 2 == 0 && at != 0 {
                    (at, last) = (at / 2, last / 2);
                }
            } else {
                hash = inner(&hash, sibling);
            }
            (at, last) = (at / 2, last / 2);
        }
        if last != 0 {
            return Err(ProofError::Shape);
        }
        if ListRoot::with_length(self.count, &hash) == root {
            Ok(())
        } else {
            Err(ProofError::Root)
        }
    }
}

fn leaf(item: &[u8; 32]) -> [u8; 32] {
    sha256(&[&[0], item])
}

fn inner(left: &[u8; 32], right: &[u8; 32]) -> [u8; 32] {
    sha256(&[&[1], left, right])
}

/// The two parts of a list of at least two items.
fn halves(items: &[Item]) -> Option<(&[Item], &[Item])> {
    let left = items.len().checked_next_power_of_two()? / 2;
    items.split_at_checked(left).filter(|(left, right)| !left.is_empty() && !right.is_empty())
}

fn top(items: &[Item]) -> [u8; 32] {
    match (halves(items), items.first()) {
        (Some((left, right)), _) => inner(&top(left), &top(right)),
        (None, Some(item)) => leaf(item),
        (None, None) => sha256(&[]),
    }
}

/// Adds the hashes beside the path to `at`, deepest first.
fn walk(items: &[Item], at: usize, siblings: &mut Vec<[u8; 32]>) {
    let Some((left, right)) = halves(items) else { return };
    if let Some(at) = at.checked_sub(left.len()) {
        walk(right, at, siblings);
        siblings.push(top(left));
    } else {
        walk(left, at, siblings);
        siblings.push(top(right));
    }
}
