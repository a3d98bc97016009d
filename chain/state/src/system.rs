//! What a chain itself has in its blocks, behind the transactions that are executed.
//!
//! Validators derive it from the order of blocks, all the same; others believe it because the block's certificate covers
//! all its transactions ([`ProvenPlace`](crate::ProvenPlace)). Each counts as a transaction of its block, and its receipt
//! is empty.
//!
//! | of what the block carries | of a row that the chain writes, one and last         |
//! |---------------------------|------------------------------------------------------|
//! | 0xfe ‖ bytes              | 0xff ‖ [`StateKey`] of the row (32) ‖ the row's value |
//!
//! What a block carries changes no state: dealings of a key generation, for example, which validators read that were
//! away. No transaction that is executed begins with either byte ([`StoredTransaction`]).
use std::sync::Arc;

use prefinal_execution::{Block, Header};

use crate::node::Row;
use crate::proof::{StateKey, TransactionResult, sha256};
use crate::store::StoredTransaction;

const CARRIED: u8 = 0xfe;
const ROW: u8 = 0xff;

/// A transaction of the chain itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemTransaction {
    /// Bytes that are kept with the block and change nothing.
    Carried(Arc<[u8]>),
    /// A row that the chain writes.
    Row {
        /// Where the row is in the state.
        key: StateKey,
        /// The value that it has from this block on.
        row: Row,
    },
}

impl SystemTransaction {
    /// The bytes that stand behind the block's transactions.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Carried(bytes) => [&[CARRIED], &**bytes].concat(),
            Self::Row { key, row } => [&[ROW], key.as_bytes().as_slice(), row].concat(),
        }
    }

    /// The transaction of these bytes, or `None` if they are none.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes.split_first()? {
            (&CARRIED, carried) => Some(Self::Carried(carried.into())),
            (&ROW, rest) => {
                let (key, row) = rest.split_first_chunk()?;
                Some(Self::Row { key: StateKey::from_bytes(*key), row: row.into() })
            }
            _ => None,
        }
    }

    pub(crate) fn result(&self) -> TransactionResult {
        TransactionResult { transaction: sha256(&[&self.to_bytes()]), receipt: Vec::new() }
    }

    /// All of a block; `None` if one is none, or follows a row.
    pub(crate) fn all<B: AsRef<[u8]>>(encoded: &[B]) -> Option<Vec<Self>> {
        let all: Vec<_> =
            encoded.iter().map(|one| Self::from_bytes(one.as_ref())).collect::<Option<_>>()?;
        let before = all.split_last().map_or(&[][..], |(_, before)| before);
        let is_right = before.iter().all(|one| matches!(one, Self::Carried(_)));
        is_right.then_some(all)
    }
}

/// The transactions of a block as they are kept and served, those of the chain last.
pub(crate) fn encoded<T: StoredTransaction>(block: &Block<T>) -> Vec<Vec<u8>> {
    let executed = block.transactions().iter().map(StoredTransaction::to_bytes);
    executed.chain(block.system_transactions().iter().map(|one| one.to_vec())).collect()
}

/// The block of these transactions, encoded as [`StoredTransaction`] and [`SystemTransaction`] say; `None` if one does
/// not decode, or follows one that must be behind it.
#[must_use]
pub fn decoded_block<T: StoredTransaction>(
    header: Header,
    transactions: &[Vec<u8>],
) -> Option<Block<T>> {
    let is_executed = |one: &&Vec<u8>| !matches!(one.first(), Some(&(CARRIED | ROW)));
    let count = transactions.iter().take_while(is_executed).count();
    let (executed, system) = transactions.split_at_checked(count)?;
    SystemTransaction::all(system)?;
    let executed: Option<Vec<T>> = executed.iter().map(|bytes| T::from_bytes(bytes)).collect();
    let system = system.iter().map(|one| one.as_slice().into());
    Some(Block::new(header, executed?).with_system_transactions(system))
}
