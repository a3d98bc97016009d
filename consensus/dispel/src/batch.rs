//! Transactions, batches of them, and what a stage decides.
use std::sync::Arc;

use borsh::io::{Error, ErrorKind, Read, Result as IoResult, Write};
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::{Party, Slot, Value};
use sha2::{Digest, Sha256};

/// Most transactions in a batch.
pub const MAX_TRANSACTIONS: usize = 1 << 14;

/// A transaction. The engine does not read it. Making one hashes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    bytes: Arc<[u8]>,
    /// Looked up in each stage, so it is not computed again.
    id: TransactionId,
}

/// The name of a transaction: its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct TransactionId([u8; 32]);

/// The name of a batch: the hash of committee, stage, proposer and transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct BatchId([u8; 32]);

/// Transactions that a party proposes in a stage; possibly none.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize)]
pub struct Batch {
    /// The transactions in their order.
    pub transactions: Vec<Transaction>,
}

/// What a stage decides: the batches that are in, in the order of their proposers.
pub type StageOutcome = Vec<(Party, BatchId)>;

impl Transaction {
    /// A transaction with these bytes.
    #[must_use]
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let id = TransactionId(Sha256::digest(&bytes).into());
        Self { bytes, id }
    }

    /// The bytes that were submitted.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn share(&self) -> Arc<[u8]> {
        Arc::clone(&self.bytes)
    }

    pub(crate) const fn id(&self) -> TransactionId {
        self.id
    }

    /// Bytes on the wire: length and content.
    pub(crate) fn encoded_len(&self) -> usize {
        self.bytes.len().saturating_add(4)
    }
}

impl BorshSerialize for Transaction {
    fn serialize<W: Write>(&self, writer: &mut W) -> IoResult<()> {
        BorshSerialize::serialize(&self.bytes, writer)
    }
}

impl BorshDeserialize for Transaction {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        Ok(Self::new(<Arc<[u8]>>::deserialize_reader(reader)?))
    }
}

/// Refuses a batch of too many transactions before it reads them, for each is hashed.
impl BorshDeserialize for Batch {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        let count = usize::try_from(u32::deserialize_reader(reader)?).unwrap_or(usize::MAX);
        if count > MAX_TRANSACTIONS {
            return Err(Error::new(ErrorKind::InvalidData, "a batch of too many transactions"));
        }
        let transactions =
            (0..count).map(|_| Transaction::deserialize_reader(reader)).collect::<IoResult<_>>();
        Ok(Self { transactions: transactions? })
    }
}

impl BatchId {
    /// The name with these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl Batch {
    /// Bytes on the wire.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        self.transactions.iter().map(Transaction::encoded_len).fold(4, usize::saturating_add)
    }

    /// The batch's name as that of a proposer in a stage of the committee with this context.
    #[must_use]
    pub fn id(&self, context: &[u8; 32], stage: Slot, proposer: Party) -> BatchId {
        let mut hash = Sha256::new();
        hash.update(b"prefinal/dispel/v1/batch");
        hash.update(context);
        hash.update(stage.get().to_be_bytes());
        hash.update(proposer.get().to_be_bytes());
        for transaction in &self.transactions {
            // A length takes fewer bits.
            let length = u64::try_from(transaction.bytes().len()).unwrap_or(u64::MAX);
            hash.update(length.to_be_bytes());
            hash.update(transaction.bytes());
        }
        BatchId(hash.finalize().into())
    }
}

/// The value that names the block of a stage with this outcome.
pub(crate) fn value_of(context: &[u8; 32], stage: Slot, outcome: &StageOutcome) -> Value {
    let mut hash = Sha256::new();
    hash.update(b"prefinal/dispel/v1/block");
    hash.update(context);
    hash.update(stage.get().to_be_bytes());
    for (proposer, batch) in outcome {
        hash.update(proposer.get().to_be_bytes());
        hash.update(batch.0);
    }
    Value::new(hash.finalize().into())
}
