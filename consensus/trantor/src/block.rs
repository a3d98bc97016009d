//! Blocks, their transactions and their names.
//!
//! A block's name covers its height and its transactions, and not the view: a value that is prepared in
//! one view and decided in another keeps its name. A height that is skipped has a name as well, so that
//! parties can vote for it; no transactions belong to that name.
//!
//! `value = H("block", context, height, H(tx₁), H(tx₂), …)`, `skipped = H("skipped", height)`
use std::fmt;
use std::sync::Arc;

use borsh::io::{Read, Result as IoResult, Write};
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::{Slot, Value};
use sha2::{Digest, Sha256};

/// Bytes that a transaction takes in a block's encoding in addition to its own.
const LENGTH_PREFIX: usize = 4;

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
            Sha256::new().chain_update(b"prefinal/trantor/v1/transaction").chain_update(&bytes);
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

/// What a leader proposes for a height: transactions in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Body {
    transactions: Vec<Transaction>,
}

impl Body {
    /// A block with these transactions.
    #[must_use]
    pub const fn new(transactions: Vec<Transaction>) -> Self {
        Self { transactions }
    }

    /// Its transactions, in their order.
    #[must_use]
    pub fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    /// Length of the encoded transactions in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.transactions.iter().map(Transaction::encoded_len).fold(0, usize::saturating_add)
    }

    /// The name of a block with this body at a height, in a committee's context.
    #[must_use]
    pub fn value(&self, context: &[u8; 32], slot: Slot) -> Value {
        let start = Sha256::new()
            .chain_update(b"prefinal/trantor/v1/block")
            .chain_update(context)
            .chain_update(slot.get().to_be_bytes());
        let hash = self.transactions.iter().map(Transaction::id);
        Value::new(hash.fold(start, |hash, id| hash.chain_update(id.0)).finalize().into())
    }
}

/// The name that parties vote for if a height gets no block. What is signed about it names the committee.
#[must_use]
pub fn skipped(slot: Slot) -> Value {
    let hash = Sha256::new()
        .chain_update(b"prefinal/trantor/v1/skipped")
        .chain_update(slot.get().to_be_bytes());
    Value::new(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(transactions: &[&[u8]]) -> Body {
        Body::new(transactions.iter().map(|bytes| Transaction::new(bytes.to_vec())).collect())
    }

    #[test]
    fn a_name_covers_context_height_and_every_transaction() {
        let one = body(&[&[1, 2], &[3]]);
        let name = one.value(&[9; 32], Slot::new(7));
        assert_ne!(one.value(&[8; 32], Slot::new(7)), name);
        assert_ne!(one.value(&[9; 32], Slot::new(8)), name);
        // The bytes concatenate alike.
        assert_ne!(body(&[&[1], &[2, 3]]).value(&[9; 32], Slot::new(7)), name);
        assert_ne!(body(&[&[3], &[1, 2]]).value(&[9; 32], Slot::new(7)), name);
    }

    #[test]
    fn an_empty_block_is_not_a_skipped_height() {
        let empty = body(&[]).value(&[9; 32], Slot::new(7));
        assert_ne!(empty, skipped(Slot::new(7)));
        assert_ne!(skipped(Slot::new(7)), skipped(Slot::new(8)));
    }
}
