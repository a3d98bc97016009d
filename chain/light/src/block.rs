//! A block with a certificate of its state, and what follows from it once it is verified.
use alloc::vec::Vec;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::certificate::StateStatement;
use prefinal_execution::Roots;
use prefinal_protocol::{ChainId, Context, EpochId, Slot, Value};
use prefinal_state::TransactionResult;
use prefinal_state::account::{Account, AccountId};
use prefinal_state::proof::{ListProof, ListRoot, ProofError, StateKey, StateProof, StateRoot};

use crate::error::AccountClaimError;

/// The state that a block leaves, with a certificate of it. Nothing of it is checked yet.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct CertifiedBlock<C> {
    /// The epoch whose committee has certified it.
    pub epoch: EpochId,
    /// The engine's slot of the block.
    pub slot: Slot,
    /// The value that is final in the slot, which names the block.
    pub value: Value,
    /// The roots of the state and of the receipts.
    pub roots: Roots,
    /// The certificate: a multi-signature, or a threshold signature.
    pub certificate: C,
}

/// Something that is in a certified state, or among the transactions of a certified block.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Claim {
    /// A row of the state has this value, or there is no such row.
    Row {
        /// Where the row is.
        key: StateKey,
        /// Its value; `None` if there is no such row.
        value: Option<Vec<u8>>,
        /// Shows it under the state's root.
        proof: StateProof,
    },
    /// The block has this transaction, and this is its receipt.
    Transaction {
        /// The transaction's hash, and its receipt.
        result: TransactionResult,
        /// Shows it under the receipts' root.
        proof: ListProof,
    },
}

/// A block whose certificate was verified. What it takes to verify rows and transactions under it is hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifiedBlock {
    statement: StateStatement,
    roots: Roots,
}

impl<C> CertifiedBlock<C> {
    /// What its certificate signs, on this chain.
    #[must_use]
    pub fn statement(&self, chain: ChainId) -> StateStatement {
        let context = Context { chain, epoch: self.epoch };
        let Self { slot, value, roots, .. } = self;
        StateStatement { context, slot: *slot, value: *value, root: roots.digest() }
    }

    /// Only for a block whose certificate of this statement was verified.
    pub(crate) const fn verified(&self, statement: StateStatement) -> VerifiedBlock {
        VerifiedBlock { statement, roots: self.roots }
    }
}

impl VerifiedBlock {
    /// The chain and the epoch of the block.
    #[must_use]
    pub const fn context(&self) -> Context {
        self.statement.context
    }

    /// The engine's slot of the block.
    #[must_use]
    pub const fn slot(&self) -> Slot {
        self.statement.slot
    }

    /// The value of the slot, which names the block.
    #[must_use]
    pub const fn value(&self) -> Value {
        self.statement.value
    }

    /// The root of the state that the block leaves.
    #[must_use]
    pub const fn state_root(&self) -> StateRoot {
        StateRoot::new(self.roots.state)
    }

    /// The root of what became of the block's transactions.
    #[must_use]
    pub const fn receipts_root(&self) -> ListRoot {
        ListRoot::new(self.roots.receipts)
    }

    /// Verifies that the row has this value, or with `None` that there is no such row. Costs as many hashes as
    /// the path is long.
    ///
    /// # Errors
    /// If the proof does not show this under the state's root.
    pub fn verify_row(
        &self,
        key: StateKey,
        value: Option<&[u8]>,
        proof: &StateProof,
    ) -> Result<(), ProofError> {
        proof.verify(self.state_root(), key, value)
    }

    /// Verifies what the state has of an account of `prefinal_state::transfers`. No row is an account without
    /// money. Costs as many hashes as the path is long.
    ///
    /// # Errors
    /// If the proof does not show this row, or if the row is no account's.
    pub fn verify_account(
        &self,
        account: AccountId,
        row: Option<&[u8]>,
        proof: &StateProof,
    ) -> Result<Account, AccountClaimError> {
        self.verify_row(account.key(), row, proof)?;
        Ok(Account::from_row(row)?)
    }

    /// Verifies that the block has this transaction with this receipt, at the position that the proof names.
    /// Costs as many hashes as the path is long.
    ///
    /// # Errors
    /// If the proof does not show this under the receipts' root.
    pub fn verify_transaction(
        &self,
        result: &TransactionResult,
        proof: &ListProof,
    ) -> Result<(), ProofError> {
        proof.verify(self.receipts_root(), &result.item())
    }

    /// Verifies a claim of either kind.
    ///
    /// # Errors
    /// If its proof does not show it.
    pub fn verify_claim(&self, claim: &Claim) -> Result<(), ProofError> {
        match claim {
            Claim::Row { key, value, proof } => self.verify_row(*key, value.as_deref(), proof),
            Claim::Transaction { result, proof } => self.verify_transaction(result, proof),
        }
    }
}
