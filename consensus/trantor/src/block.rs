//! Transactions, the blocks that order them, and the names of blocks.
//!
//! A block is a list of batches; the transactions are in them. Of each batch there is an availability
//! certificate, or it is the leader's own, and those that prepare the block have stored it: a strong quorum of
//! prepares shows as much as a weak quorum of acknowledgements, and a message delay and its answer are saved.
//!
//! A block's name
//! covers its height and its batches, and neither the view nor the signers: a value that is prepared in one
//! view and decided in another keeps its name, and a batch has the same name with and without a certificate. A height
//! that is skipped has a name as well, so that parties can vote for it.
//!
//! `value = H("block", context, height, batch₁, batch₂, …)`, `skipped = H("skipped", height)`
use std::fmt;
use std::sync::Arc;

use borsh::io::{Read, Result as IoResult, Write};
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::{Slot, Value};
use sha2::{Digest, Sha256};

use crate::batch::{AvailabilityCertificate, BatchLabel};
use crate::client::ClientHeader;

/// Bytes that a transaction takes in a block's encoding in addition to its own.
const LENGTH_PREFIX: usize = 4;

/// The hash of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub(crate) struct TransactionId([u8; 32]);

impl TransactionId {
    pub(crate) const fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

/// What tells a transaction from all others: two with the same are ordered as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TransactionKey {
    Client(ClientHeader),
    Digest(TransactionId),
}

/// Bytes that the engine orders, of which it reads the [`ClientHeader`] at most. Cheap to clone; hashed
/// once, on arrival.
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

    /// The bytes that were submitted.
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

    /// Client and number; `None` if it has no client.
    #[must_use]
    pub fn header(&self) -> Option<ClientHeader> {
        ClientHeader::split(&self.bytes).map(|(header, _body)| header)
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

/// What a leader proposes for a height: batches in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Body {
    certificates: Vec<AvailabilityCertificate>,
    uncertified: Vec<BatchLabel>,
}

impl Body {
    /// A block of these batches.
    #[must_use]
    pub const fn new(certificates: Vec<AvailabilityCertificate>) -> Self {
        Self { certificates, uncertified: Vec::new() }
    }

    /// The same block, and behind it these batches of its leader, of which there is no certificate.
    #[must_use]
    pub fn and_uncertified(self, uncertified: Vec<BatchLabel>) -> Self {
        Self { uncertified, ..self }
    }

    /// The certificates of its first batches, in their order.
    #[must_use]
    pub fn certificates(&self) -> &[AvailabilityCertificate] {
        &self.certificates
    }

    /// The batches behind them, without certificates.
    #[must_use]
    pub fn uncertified(&self) -> &[BatchLabel] {
        &self.uncertified
    }

    /// The batches, in their order.
    pub fn batches(&self) -> impl Iterator<Item = &BatchLabel> {
        let certified = self.certificates.iter().map(|certificate| &certificate.batch);
        certified.chain(&self.uncertified)
    }

    /// Length of the encoded transactions of all batches in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let bytes = self.batches().map(|batch| usize::try_from(batch.bytes).unwrap_or(usize::MAX));
        bytes.fold(0, usize::saturating_add)
    }

    /// The name of a block with this body at a height, in a committee's context.
    #[must_use]
    pub fn value(&self, context: &[u8; 32], slot: Slot) -> Value {
        let start = Sha256::new()
            .chain_update(b"prefinal/trantor/v1/block")
            .chain_update(context)
            .chain_update(slot.get().to_be_bytes());
        let hash = self.batches().fold(start, |hash, batch| {
            hash.chain_update(batch.author.get().to_be_bytes())
                .chain_update(batch.until.get().to_be_bytes())
                .chain_update(batch.id.to_bytes())
                .chain_update(batch.bytes.to_be_bytes())
        });
        Value::new(hash.finalize().into())
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
    use prefinal_crypto_core::access::Party;

    use super::*;
    use crate::batch::Batch;
    use crate::tests::certify;

    fn batch(author: u32, transactions: &[&[u8]]) -> Batch {
        let all = transactions.iter().map(|bytes| Transaction::new(bytes.to_vec())).collect();
        Batch::new(Party::new(author), Slot::new(500), all)
    }

    fn body(batches: &[Batch]) -> Body {
        Body::new(batches.iter().map(|batch| certify(batch, &[1, 2])).collect())
    }

    #[test]
    fn a_name_covers_context_height_author_and_every_transaction_and_no_signer() {
        let one = body(&[batch(1, &[&[1, 2], &[3]])]);
        let name = one.value(&[9; 32], Slot::new(7));
        assert_ne!(one.value(&[8; 32], Slot::new(7)), name);
        assert_ne!(one.value(&[9; 32], Slot::new(8)), name);
        // The bytes concatenate alike.
        for other in [
            body(&[batch(1, &[&[1], &[2, 3]])]),
            body(&[batch(1, &[&[3], &[1, 2]])]),
            body(&[batch(2, &[&[1, 2], &[3]])]),
            body(&[batch(1, &[&[1, 2]]), batch(1, &[&[3]])]),
        ] {
            assert_ne!(other.value(&[9; 32], Slot::new(7)), name);
        }
        let others = Body::new(vec![certify(&batch(1, &[&[1, 2], &[3]]), &[0, 3])]);
        let none = Body::default().and_uncertified(vec![batch(1, &[&[1, 2], &[3]]).label()]);
        for same in [others, none] {
            assert_ne!(same, one);
            assert_eq!(same.value(&[9; 32], Slot::new(7)), name);
        }
    }

    #[test]
    fn an_empty_block_is_not_a_skipped_height() {
        let empty = body(&[]).value(&[9; 32], Slot::new(7));
        assert_ne!(empty, skipped(Slot::new(7)));
        assert_ne!(skipped(Slot::new(7)), skipped(Slot::new(8)));
    }
}
