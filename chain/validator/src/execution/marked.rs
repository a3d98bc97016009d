//! What the pipeline needs of an engine's block.
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_engine::Block;
use prefinal_protocol::Value;

use crate::transaction::Kind;

/// First byte of transactions that are executed. No transaction of the key generation begins with it
/// ([`crate::transaction`]).
pub const MARK: u8 = 0xe0;

/// The bytes in a block of a transaction that is executed.
#[must_use]
pub fn marked(transaction: &[u8]) -> Vec<u8> {
    [&[MARK], transaction].concat()
}

/// A block with its transactions in two parts: those that are marked, and all others.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct MarkedBlock {
    /// The name of the engine's block.
    pub value: Value,
    /// Transactions behind their [`MARK`], in the block's order.
    pub transactions: Vec<Arc<[u8]>>,
    /// The others, in the block's order. They are kept with the block for parties that were away
    /// ([`adopt`](crate::adopt)).
    pub carried: Vec<Arc<[u8]>>,
}

impl From<Block> for MarkedBlock {
    fn from(block: Block) -> Self {
        let Block { value, transactions } = block;
        let is_marked = |one: &Arc<[u8]>| one.starts_with(&[MARK]);
        let (transactions, carried) = transactions.into_iter().partition(is_marked);
        Self { value, transactions, carried }
    }
}

impl MarkedBlock {
    /// Whether it may make the next committee's keys suffice.
    pub(super) fn deals(&self) -> bool {
        let deals = |one: &Arc<[u8]>| matches!(Kind::of(one), Some(Kind::Dealing | Kind::Keys));
        self.carried.iter().any(deals)
    }
}
