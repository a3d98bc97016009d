//! What a light client verifies: rows of the state and transactions of a block, under one certified root
//! (`prefinal_execution::Roots`).
//!
//! ```text
//! certified root = Roots::digest of  state root    receipts' root
//!                                        │              │
//!                                   StateProof      ListProof
//!                                        │              │
//!                                  row, or none   a transaction and its receipt
//! ```
//! Nothing here knows a store or a tree's nodes: a proof is a list of hashes, and verification folds them.
mod list;
mod range;
mod row;

use alloc::vec::Vec;

use borsh::{BorshDeserialize, BorshSerialize};
use sha2::{Digest, Sha256};

pub use self::list::{ListProof, ListRoot};
pub use self::range::{KeyRange, RangeNode, RangeProof, StateRange, StateRow, VerifiedRange};
#[cfg(feature = "store")]
pub(crate) use self::range::{Place, Prefix};
#[cfg(feature = "store")]
pub(crate) use self::row::{EMPTY, inner_hash, leaf_hash};
pub use self::row::{PathEnd, StateKey, StateProof, StateRoot};

/// What became of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct TransactionResult {
    /// The hash of the transaction.
    pub transaction: [u8; 32],
    /// The encoded receipt, as its executor defines it.
    pub receipt: Vec<u8>,
}

impl TransactionResult {
    /// What the receipts' root has at the position of the transaction. It is a proof of both, the transaction
    /// and its receipt.
    #[must_use]
    pub fn item(&self) -> [u8; 32] {
        sha256(&[b"prefinal/state/v1/result", &self.transaction, &self.receipt])
    }
}

/// Why a proof does not show what it is presented for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// Longer than any path.
    #[error("{got} hashes in a proof, at most {most} are possible")]
    TooLong {
        /// The number of hashes in the proof.
        got: usize,
        /// The most that a path has.
        most: usize,
    },
    /// The hashes lead to another root.
    #[error("the hashes lead to another root")]
    Root,
    /// A row is claimed, and the proof is one of absence.
    #[error("the proof shows that there is no such row")]
    Absent,
    /// Absence is claimed, and the proof is one of presence.
    #[error("the proof shows that there is such a row")]
    Present,
    /// The neighbour that is said to be alone below this path does not lie below it.
    #[error("the neighbour shares {shared} bits with the key, the path has {path}")]
    Neighbour {
        /// Leading bits that key and neighbour have in common.
        shared: usize,
        /// Bits of the path down to the neighbour.
        path: usize,
    },
    /// No such position in a list of this length.
    #[error("position {index} in a list of {count}")]
    Position {
        /// The position, counted from 0.
        index: u32,
        /// Length of the list.
        count: u32,
    },
    /// A list of this length has paths of another length at this position.
    #[error("the path does not fit the position and the length of the list")]
    Shape,
    /// The rows of a range do not ascend, or one of them is not in the range.
    #[error("the rows are not those of the range in the order of their keys")]
    Order,
}

impl ProofError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLong { .. } => "too-long",
            Self::Position { .. } => "invalid-value",
            Self::Root
            | Self::Absent
            | Self::Present
            | Self::Neighbour { .. }
            | Self::Shape
            | Self::Order => "proof-mismatch",
        }
    }
}

pub(crate) fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}
