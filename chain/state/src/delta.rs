//! What a block changes, as one node gives it to another that does not execute.
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_execution::{Header, Roots};

use crate::error::StateError;
use crate::place;
use crate::proof::{ListRoot, StateKey, TransactionResult};
use crate::view::{Finished, Pending, View};

/// A row that a block changes.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct RowChange {
    /// Where in the state the row is.
    pub key: StateKey,
    /// Its value behind the block; `None` if the block removes it.
    pub value: Option<Vec<u8>>,
}

/// What executing a block gives, for those that have a certificate of it. Nothing of it is checked yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct BlockDelta {
    /// The changed rows, in the order of their keys. Rows that keep their values may be among them.
    pub changes: Vec<RowChange>,
    /// What became of the block's transactions, in their order.
    pub results: Vec<TransactionResult>,
}

/// Why a delta is not that of a certified block.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeltaError {
    /// The results are others than the certified ones.
    #[error("the results of the transactions are not the certified ones")]
    Results,
    /// The keys of the rows do not ascend.
    #[error("the changed rows are not in the order of their keys")]
    Order,
    /// The rows lead to another state than the certified one.
    #[error("the changed rows do not lead to the certified state")]
    State,
    /// The state before cannot be read here.
    #[error(transparent)]
    Store(#[from] StateError),
}

impl DeltaError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Results | Self::State => "proof-mismatch",
            Self::Order => "malformed-message",
            Self::Store(error) => error.code(),
        }
    }
}

impl BlockDelta {
    /// Verifies that the results and the place are those under the certified root. Costs three hashes for each.
    ///
    /// # Errors
    /// [`DeltaError::Results`] if they are not.
    pub fn check_results(&self, header: &Header, certified: &Roots) -> Result<(), DeltaError> {
        let items = place::items(header, &self.results);
        match *ListRoot::of(&items).as_bytes() == certified.receipts {
            true => Ok(()),
            false => Err(DeltaError::Results),
        }
    }

    /// Applies the delta to the parent's state, in memory. What comes out has the certified roots, so a store may
    /// keep it. Costs what the tree costs for these rows, and nothing for the transactions.
    ///
    /// # Errors
    /// If the delta does not lead to the certified roots, or if the parent's state cannot be read. The parent's state is
    /// verified before the delta is called false, so a damaged file is [`DeltaError::Store`].
    pub fn apply(
        self,
        parent: &View,
        header: &Header,
        certified: &Roots,
    ) -> Result<Finished, DeltaError> {
        self.check_results(header, certified)?;
        if !self.changes.is_sorted_by(|one, next| one.key < next.key) {
            return Err(DeltaError::Order);
        }
        let changes = self.changes.into_iter();
        let changes = changes.map(|change| (change.key, change.value.map(Into::into))).collect();
        let mut pending = Pending::new(parent, header);
        pending.apply(changes)?;
        let finished = pending.finish(header, self.results)?;
        if finished.roots == *certified {
            return Ok(finished);
        }
        parent.verify(finished.delta.changes())?;
        Err(DeltaError::State)
    }
}
