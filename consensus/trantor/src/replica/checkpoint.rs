//! Checkpoints: the state at an epoch's beginning, in pieces under one certified root.
//!
//! ```text
//! state     = pieces of 64 KiB, the last one shorter
//! leafᵢ     = H("piece", i, pieceᵢ)
//! node      = H("node", left, right)         a node without a neighbour goes up as it is
//! statement = epoch, first height, root, bytes, H("configurations", …)
//! ```
//! The statement alone is certified. So a replica can fetch the state from anybody, one piece at a time,
//! and knows of each piece whether it is right. The number of pieces follows from the number of bytes, and
//! with it the shape of the tree, so a proof has one possible length.
use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::context::Context;
use prefinal_protocol::Slot;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::app::Configuration;

/// Bytes of a piece.
pub const PIECE: usize = 1 << 16;
/// Most pieces of a state: 64 GiB.
pub const MAX_PIECES: u32 = 1 << 20;
/// Longest certificate of a checkpoint: a bitmap of the largest committee, and a signature.
pub const MAX_CERTIFICATE: usize = 1 << 14;
/// Longest vote for a checkpoint: a partial of the heaviest party, with room.
pub const MAX_VOTE: usize = 1 << 18;

type Hash = [u8; 32];

/// What is certified about the state at the beginning of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct Statement {
    /// The epoch that begins.
    pub epoch: u64,
    /// The first height of the epoch.
    pub slot: Slot,
    /// The root of the state's pieces.
    pub root: [u8; 32],
    /// Bytes of the state.
    pub bytes: u64,
    /// The hash of the configurations of this epoch and the next ones.
    pub configurations: [u8; 32],
}

impl Statement {
    /// The bytes that a quorum signs, for a chain.
    #[must_use]
    pub fn to_bytes(&self, context: &Context) -> Vec<u8> {
        // Writing into memory cannot fail.
        let statement = borsh::to_vec(self).unwrap_or_default();
        [&context.to_bytes()[..], &statement].concat()
    }

    /// Number of pieces of the state; `None` if there are more than a state may have.
    #[must_use]
    pub fn pieces(&self) -> Option<u32> {
        let size = u64::try_from(PIECE).unwrap_or(u64::MAX);
        let pieces = u32::try_from(self.bytes.div_ceil(size).max(1)).ok()?;
        Some(pieces).filter(|pieces| *pieces <= MAX_PIECES)
    }

    /// Bytes of a piece; `None` if there is no such piece.
    #[must_use]
    pub fn piece_len(&self, index: u32) -> Option<usize> {
        let pieces = self.pieces()?;
        let size = u64::try_from(PIECE).ok()?;
        let before = size.checked_mul(u64::from(index))?;
        let left = self.bytes.saturating_sub(before).min(size);
        if index < pieces { usize::try_from(left).ok() } else { None }
    }
}

/// A statement with the certificate of a quorum.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct CertifiedStatement {
    /// The statement that a quorum has signed.
    pub statement: Statement,
    /// The certificate, as the [`Certifier`](crate::Certifier) writes it.
    pub certificate: Vec<u8>,
}

/// A piece of a state, with the neighbours on its way to the root.
#[derive(Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Piece {
    /// The epoch of the checkpoint.
    pub epoch: u64,
    /// The place of the piece.
    pub index: u32,
    /// The bytes of the state in this piece.
    pub bytes: Vec<u8>,
    /// The neighbours, from the bottom up.
    pub proof: Vec<[u8; 32]>,
}

impl std::fmt::Debug for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Piece({} of epoch {}, {} bytes)", self.index, self.epoch, self.bytes.len())
    }
}

/// Why a piece is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PieceError {
    /// There is no such piece, or it has another size.
    #[error("piece {index} has {got} bytes, it should have {need:?}")]
    Size {
        /// The place of the piece.
        index: u32,
        /// Number of bytes that came.
        got: usize,
        /// The bytes that it should have; none if there is no such piece.
        need: Option<usize>,
    },
    /// It is not under the root.
    #[error("piece {index} is not of this state")]
    Root {
        /// The place of the piece.
        index: u32,
    },
}

impl PieceError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Size { .. } => "wrong-length",
            Self::Root { .. } => "other-state",
        }
    }
}

fn leaf(index: u32, bytes: &[u8]) -> Hash {
    let hash = Sha256::new().chain_update(b"prefinal/trantor/v1/piece");
    hash.chain_update(index.to_be_bytes()).chain_update(bytes).finalize().into()
}

fn node(left: &Hash, right: &Hash) -> Hash {
    let hash = Sha256::new().chain_update(b"prefinal/trantor/v1/node");
    hash.chain_update(left).chain_update(right).finalize().into()
}

/// The hash of the configurations in a statement.
pub(crate) fn hash_configurations(configurations: &BTreeMap<u64, Configuration>) -> Hash {
    let hash = Sha256::new().chain_update(b"prefinal/trantor/v1/configurations");
    // Writing into memory cannot fail.
    hash.chain_update(borsh::to_vec(configurations).unwrap_or_default()).finalize().into()
}

/// A state, with the tree over its pieces.
#[derive(Clone, Debug)]
pub(crate) struct State {
    bytes: Vec<u8>,
    /// From the leaves to the root.
    levels: Vec<Vec<Hash>>,
}

impl State {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let pieces = bytes.chunks(PIECE).chain(bytes.is_empty().then_some(&[][..]));
        let mut level: Vec<Hash> =
            (0_u32..).zip(pieces).map(|(index, piece)| leaf(index, piece)).collect();
        let mut levels = Vec::new();
        while level.len() > 1 {
            let above = level.chunks(2).map(|pair| match pair {
                [left, right] => node(left, right),
                [one] => *one,
                _ => Hash::default(),
            });
            let above = above.collect();
            levels.push(std::mem::replace(&mut level, above));
        }
        levels.push(level);
        Self { bytes, levels }
    }

    pub(crate) fn root(&self) -> Hash {
        self.levels.last().and_then(|top| top.first()).copied().unwrap_or_default()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn piece(&self, epoch: u64, index: u32) -> Option<Piece> {
        let mut place = usize::try_from(index).ok()?;
        self.levels.first()?.get(place)?;
        let bytes = self.bytes.chunks(PIECE).nth(place).unwrap_or_default().to_vec();
        let mut proof = Vec::new();
        for level in &self.levels {
            proof.extend(level.get(place ^ 1).copied());
            place /= 2;
        }
        Some(Piece { epoch, index, bytes, proof })
    }
}

impl Piece {
    /// Checks that this is a piece of the state that a statement is about.
    ///
    /// # Errors
    /// [`PieceError`] says what is wrong.
    pub fn verify(&self, statement: &Statement) -> Result<(), PieceError> {
        let (index, got) = (self.index, self.bytes.len());
        let need = statement.piece_len(index);
        if need != Some(got) {
            return Err(PieceError::Size { index, got, need });
        }
        let (mut place, mut width) = (index, statement.pieces().unwrap_or_default());
        let mut hash = leaf(index, &self.bytes);
        let mut proof = self.proof.iter();
        while width > 1 {
            if place % 2 == 1 {
                hash = node(proof.next().ok_or(PieceError::Root { index })?, &hash);
            } else if place + 1 < width {
                hash = node(&hash, proof.next().ok_or(PieceError::Root { index })?);
            }
            (place, width) = (place / 2, width.div_ceil(2));
        }
        if proof.next().is_some() || hash != statement.root {
            return Err(PieceError::Root { index });
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn state(bytes: usize) -> (State, Statement) {
        let bytes: Vec<u8> = (0..bytes).map(|at| u8::try_from(at * 31 % 251).unwrap()).collect();
        let length = u64::try_from(bytes.len()).unwrap();
        let state = State::new(bytes);
        let (epoch, slot, configurations) = (3, Slot::new(49), [0; 32]);
        let root = state.root();
        (state, Statement { epoch, slot, root, bytes: length, configurations })
    }

    #[test]
    fn every_piece_of_a_state_of_any_size_is_proven_and_no_other_piece_is() {
        for bytes in [0, 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE - 7, 5 * PIECE, 7 * PIECE + 3] {
            let (state, statement) = state(bytes);
            let count = statement.pieces().unwrap();
            let pieces: Vec<Piece> = (0..count).map(|at| state.piece(3, at).unwrap()).collect();
            assert_eq!(state.piece(3, count), None);
            let joined: Vec<u8> = pieces.iter().flat_map(|piece| piece.bytes.clone()).collect();
            assert_eq!(joined, state.bytes());
            for piece in pieces {
                assert_eq!(piece.verify(&statement), Ok(()), "{piece:?} of {count}");
                refused(&piece, &statement);
            }
        }
    }

    fn refused(piece: &Piece, statement: &Statement) {
        let index = piece.index;
        let root = Err(PieceError::Root { index });
        if !piece.bytes.is_empty() {
            let mut other = piece.clone();
            other.bytes[0] ^= 1;
            assert_eq!(other.verify(statement), root);
            other.bytes.pop();
            assert!(matches!(other.verify(statement), Err(PieceError::Size { .. })));
        }
        for level in 0..piece.proof.len() {
            let mut other = piece.clone();
            other.proof[level][0] ^= 1;
            assert_eq!(other.verify(statement), root);
            other.proof.remove(level);
            assert_eq!(other.verify(statement), root);
        }
        let mut longer = piece.clone();
        longer.proof.push([0; 32]);
        assert_eq!(longer.verify(statement), root);
        let elsewhere = Piece { index: index + 1, ..piece.clone() };
        assert!(elsewhere.verify(statement).is_err(), "{elsewhere:?}");
    }

    #[test]
    fn a_statement_about_more_pieces_than_there_may_be_has_none() {
        let (_, mut statement) = state(1);
        statement.bytes = u64::from(MAX_PIECES) * u64::try_from(PIECE).unwrap();
        assert_eq!(statement.pieces(), Some(MAX_PIECES));
        statement.bytes += 1;
        assert_eq!((statement.pieces(), statement.piece_len(0)), (None, None));
        statement.bytes = u64::MAX;
        assert_eq!(statement.pieces(), None);
    }
}
