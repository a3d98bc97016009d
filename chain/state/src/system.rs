//! What a chain itself writes into its state: one row with a block, behind the proposer's transactions.
//!
//! Nobody signs it. Validators derive it from the order of blocks, all the same one; others believe it because the
//! block's certificate covers its transactions as well ([`ProvenPlace`](crate::ProvenPlace)). It counts as the last
//! transaction of its block, and its receipt is empty.
//!
//! | bytes | field                                       |
//! |-------|---------------------------------------------|
//! | 0     | 0xff, which no signed transaction begins with |
//! | 1..33 | [`StateKey`] of the row                     |
//! | 33..  | the row's value                             |
use prefinal_execution::{Block, Header};

use crate::node::Row;
use crate::proof::{StateKey, TransactionResult, sha256};
use crate::store::StoredTransaction;

/// The first byte, see [`StoredTransaction`].
const MARK: u8 = 0xff;

/// A row that the chain writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemTransaction {
    /// Where the row is in the state.
    pub key: StateKey,
    /// The value that it has from this block on.
    pub row: Row,
}

impl SystemTransaction {
    /// The bytes that stand behind the block's transactions.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        [&[MARK], self.key.as_bytes().as_slice(), &self.row].concat()
    }

    /// The transaction of these bytes, or `None` if they are none.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (key, row) = bytes.strip_prefix(&[MARK])?.split_first_chunk()?;
        Some(Self { key: StateKey::from_bytes(*key), row: row.into() })
    }

    pub(crate) fn result(&self) -> TransactionResult {
        TransactionResult { transaction: sha256(&[&self.to_bytes()]), receipt: Vec::new() }
    }
}

/// The transactions of a block as they are kept and served, the system transaction last.
pub(crate) fn encoded<T: StoredTransaction>(block: &Block<T>) -> Vec<Vec<u8>> {
    let signed = block.transactions().iter().map(StoredTransaction::to_bytes);
    signed.chain(block.system_transaction().map(<[u8]>::to_vec)).collect()
}

/// The block of these transactions, encoded as [`StoredTransaction`] and [`SystemTransaction`] say; `None` if one does
/// not decode, or follows a system transaction.
#[must_use]
pub fn decoded_block<T: StoredTransaction>(
    header: Header,
    transactions: &[Vec<u8>],
) -> Option<Block<T>> {
    let (signed, system) = match transactions.split_last() {
        Some((last, signed)) if SystemTransaction::from_bytes(last).is_some() => {
            (signed, Some(last))
        }
        _ => (transactions, None),
    };
    let signed: Option<Vec<T>> = signed.iter().map(|bytes| T::from_bytes(bytes)).collect();
    let block = Block::new(header, signed?);
    Some(match system {
        Some(system) => block.with_system_transaction(system.as_slice()),
        None => block,
    })
}
