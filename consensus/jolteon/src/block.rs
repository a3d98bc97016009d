//! Rounds, blocks and their names.
//!
//! A block's identity is the hash of its header, and the header holds the hash of the payload. So the
//! payload is hashed once on arrival, and the identity is cheap afterwards. The certificate of the
//! parent is *not* part of the identity: two parties may hold certificates of one parent with different
//! signers, and these must not make two blocks out of one.
//!
//! `id = H(context, round, parent, parent round, author, payload)`, `payload = H(H(tx₁), H(tx₂), …)`
//!
//! See also `message` (what makes a block justified), `tree` and `engine` (what makes it final).
use std::fmt;
use std::sync::Arc;

use borsh::io::{Read, Result as IoResult, Write};
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use sha2::{Digest, Sha256};
use thiserror::Error;

/// Bytes that a transaction takes in a block's encoding in addition to its own.
const LENGTH_PREFIX: usize = 4;

/// One attempt at a block. Rounds start at 1; round 0 is the genesis block's.
///
/// ```compile_fail,E0308
/// let round: prefinal_jolteon::Round = 7_u64;
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize,
)]
pub struct Round(u64);

impl Round {
    /// The genesis block's round, in which nobody votes.
    pub const GENESIS: Self = Self(0);

    /// The round with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The round's number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The round after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The round `by` rounds later.
    #[must_use]
    pub const fn later(self, by: u64) -> Self {
        Self(self.0.saturating_add(by))
    }

    /// The round `by` rounds earlier, or genesis.
    #[must_use]
    pub const fn earlier(self, by: u64) -> Self {
        Self(self.0.saturating_sub(by))
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "round {}", self.0)
    }
}

/// A block's identity: the hash of its header.
///
/// ```compile_fail,E0308
/// let block: prefinal_jolteon::BlockId = [0_u8; 32];
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct BlockId([u8; 32]);

impl BlockId {
    /// The identity with these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The identity's bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

impl fmt::Debug for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockId({self})")
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(4).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The hash of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TransactionId([u8; 32]);

/// Bytes that the engine orders and never interprets. Cheap to clone; hashed once, on arrival.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transaction {
    id: TransactionId,
    bytes: Arc<[u8]>,
}

impl Transaction {
    /// The transaction with these bytes.
    #[must_use]
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let hash =
            Sha256::new().chain_update(b"prefinal/jolteon/v1/transaction").chain_update(&bytes);
        Self { id: TransactionId(hash.finalize().into()), bytes }
    }

    /// The transaction's bytes.
    #[must_use]
    pub const fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Bytes that it takes in a block.
    pub(crate) fn encoded_len(&self) -> usize {
        self.bytes.len().saturating_add(LENGTH_PREFIX)
    }

    pub(crate) const fn id(&self) -> TransactionId {
        self.id
    }
}

impl BorshSerialize for Transaction {
    fn serialize<W: Write>(&self, writer: &mut W) -> IoResult<()> {
        self.bytes.as_ref().serialize(writer)
    }
}

impl BorshDeserialize for Transaction {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        // Reads in bounded steps, whatever length the bytes claim.
        Vec::<u8>::deserialize_reader(reader).map(Self::new)
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transaction({} bytes)", self.bytes.len())
    }
}

/// A leader's proposal for a round: what it extends and what it adds.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Block {
    round: Round,
    parent: BlockId,
    parent_round: Round,
    author: Party,
    payload_hash: [u8; 32],
    payload: Vec<Transaction>,
}

/// The payload does not have the hash that the header names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("payload of the block of {round} does not hash to what its header says")]
pub struct PayloadMismatch {
    /// The block's round.
    pub round: Round,
}

impl PayloadMismatch {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "payload-mismatch"
    }
}

impl Block {
    /// The block of `author` in `round` that extends the block `parent` of `parent_round`.
    #[must_use]
    pub fn new(
        round: Round,
        (parent_round, parent): (Round, BlockId),
        author: Party,
        payload: Vec<Transaction>,
    ) -> Self {
        let payload_hash = hash_payload(&payload);
        Self { round, parent, parent_round, author, payload_hash, payload }
    }

    /// The round it was proposed in.
    #[must_use]
    pub const fn round(&self) -> Round {
        self.round
    }

    /// The block it extends.
    #[must_use]
    pub const fn parent(&self) -> BlockId {
        self.parent
    }

    /// The round of the block it extends.
    #[must_use]
    pub const fn parent_round(&self) -> Round {
        self.parent_round
    }

    /// The leader that proposed it.
    #[must_use]
    pub const fn author(&self) -> Party {
        self.author
    }

    /// The transactions that it adds.
    #[must_use]
    pub fn payload(&self) -> &[Transaction] {
        &self.payload
    }

    /// Its identity in a committee's context. The identity says nothing about the payload until
    /// [`Block::check_payload`] has passed.
    #[must_use]
    pub fn id(&self, context: &[u8; 32]) -> BlockId {
        let hash = Sha256::new()
            .chain_update(b"prefinal/jolteon/v1/block")
            .chain_update(context)
            .chain_update(self.round.0.to_be_bytes())
            .chain_update(self.parent.0)
            .chain_update(self.parent_round.0.to_be_bytes())
            .chain_update(self.author.get().to_be_bytes())
            .chain_update(self.payload_hash);
        BlockId(hash.finalize().into())
    }

    /// Checks that the payload is the one that the identity stands for.
    ///
    /// # Errors
    /// [`PayloadMismatch`] if it is another payload.
    pub fn check_payload(&self) -> Result<(), PayloadMismatch> {
        if hash_payload(&self.payload) == self.payload_hash {
            Ok(())
        } else {
            Err(PayloadMismatch { round: self.round })
        }
    }

    /// Length of the encoded payload in bytes.
    pub(crate) fn payload_len(&self) -> usize {
        self.payload.iter().map(Transaction::encoded_len).fold(0, usize::saturating_add)
    }
}

fn hash_payload(payload: &[Transaction]) -> [u8; 32] {
    let start = Sha256::new().chain_update(b"prefinal/jolteon/v1/payload");
    payload
        .iter()
        .fold(start, |hash, transaction| hash.chain_update(transaction.id().0))
        .finalize()
        .into()
}

/// The block that all chains of a committee's context start from. Nobody proposed it.
pub(crate) fn genesis(context: &[u8; 32]) -> BlockId {
    let hash = Sha256::new().chain_update(b"prefinal/jolteon/v1/genesis").chain_update(context);
    BlockId(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(payload: Vec<Transaction>) -> Block {
        Block::new(Round::new(7), (Round::new(5), BlockId([3; 32])), Party::new(2), payload)
    }

    #[test]
    fn every_header_field_and_the_context_name_the_block() {
        let original = block(vec![Transaction::new(vec![1, 2])]);
        let id = original.id(&[9; 32]);
        let changes: [fn(&mut Block); 5] = [
            |block| block.round = Round::new(8),
            |block| block.parent = BlockId([4; 32]),
            |block| block.parent_round = Round::new(6),
            |block| block.author = Party::new(3),
            |block| block.payload_hash = [0; 32],
        ];
        for change in changes {
            let mut changed = original.clone();
            change(&mut changed);
            assert_ne!(changed.id(&[9; 32]), id);
        }
        assert_ne!(original.id(&[8; 32]), id);
    }

    #[test]
    fn a_swapped_payload_is_noticed_even_if_its_bytes_concatenate_alike() {
        let mut split = block(vec![Transaction::new(vec![1, 2]), Transaction::new(vec![3])]);
        assert_eq!(split.check_payload(), Ok(()));
        split.payload = vec![Transaction::new(vec![1]), Transaction::new(vec![2, 3])];
        assert_eq!(split.check_payload(), Err(PayloadMismatch { round: Round::new(7) }));
    }
}
