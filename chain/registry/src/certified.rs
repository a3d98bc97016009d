//! What nodes answer about executed blocks, as JSON, with what it takes to verify it under a state certificate.
//!
//! ```text
//! electorate ──► certificate ──► state root, receipts' root
//!                                    │            │
//!                               RowProof    TransactionProof
//! ```
//! A client needs the [`Electorate`](prefinal_crypto_core::certificate::Electorate) of the chain's validators and
//! nothing else from elsewhere; the peer that answers is not trusted. Hashes and encodings are hex. The height is only
//! what the node says: a certificate names slot and block.
use prefinal_beacon::{Slot, StateStatement};
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::{Certificate, Electorate};
use prefinal_crypto_core::context::Context;
use prefinal_execution::{Height, Roots};
use prefinal_protocol::Value;
use prefinal_state::TransactionResult;
use prefinal_state::proof::{ListProof, ListRoot, PathEnd, StateKey, StateProof, StateRoot};
use serde::{Deserialize, Serialize};

use crate::chronicle::{Hex, Unverified};

/// The certified state that a slot's block leaves.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedState {
    chain: Hex<[u8; 32]>,
    epoch: u64,
    slot: u64,
    height: u64,
    block: Hex<[u8; 32]>,
    state: Hex<[u8; 32]>,
    receipts: Hex<[u8; 32]>,
    certificate: Hex<Certificate<MinSig>>,
}

/// Shows which transaction is at a position of a block, and what became of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionProof {
    certified: CertifiedState,
    transaction: Hex<[u8; 32]>,
    /// As the executor encodes it.
    receipt: String,
    position: u32,
    count: u32,
    siblings: Vec<Hex<[u8; 32]>>,
}

/// Shows the value of a row in the state that a block leaves, or that there is no such row.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowProof {
    certified: CertifiedState,
    value: Option<String>,
    end: Hex<PathEnd>,
    siblings: Vec<Hex<[u8; 32]>>,
}

/// A transaction with its proven place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenTransaction {
    /// The slot of its block.
    pub slot: Slot,
    /// Its position in the block, counted from 0.
    pub position: u32,
    /// What became of the transaction, as its executor encodes it.
    pub receipt: Vec<u8>,
}

/// What a state certificate is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertifiedBlock {
    /// The chain and the epoch that certify.
    pub context: Context,
    /// The slot of the block.
    pub slot: Slot,
    /// How many blocks lie before it.
    pub height: Height,
    /// The value that names it.
    pub block: Value,
    /// The roots of the state and the receipts that the block leaves.
    pub roots: Roots,
}

impl CertifiedState {
    /// Puts a block and its certificate together. Nothing is checked; [`Self::verify`] does that.
    #[must_use]
    pub fn new(certified: &CertifiedBlock, certificate: Certificate<MinSig>) -> Self {
        let CertifiedBlock { context, slot, height, block, roots } = *certified;
        Self {
            chain: Hex(*context.chain.as_bytes()),
            epoch: context.epoch.get(),
            slot: slot.get(),
            height: height.get(),
            block: Hex(block.to_bytes()),
            state: Hex(roots.state),
            receipts: Hex(roots.receipts),
            certificate: Hex(certificate),
        }
    }

    /// The slot that the state belongs to, as the node says.
    #[must_use]
    pub const fn slot(&self) -> Slot {
        Slot::new(self.slot)
    }

    /// Checks that a quorum of these validators certified the state, on this chain and in this epoch. Costs two
    /// pairings and additions of keys.
    ///
    /// # Errors
    /// If it is of another chain or epoch, or the certificate does not hold.
    pub fn verify(
        &self,
        context: &Context,
        electorate: &Electorate<MinSig>,
    ) -> Result<Roots, Unverified> {
        if self.chain.0 != *context.chain.as_bytes() || self.epoch != context.epoch.get() {
            return Err(Unverified::new("the state is of another chain or epoch"));
        }
        let roots = Roots { state: self.state.0, receipts: self.receipts.0 };
        let (slot, value) = (self.slot(), Value::new(self.block.0));
        let statement = StateStatement { context: *context, slot, value, root: roots.digest() };
        let checked = statement.verify(electorate, &self.certificate.0);
        checked.map_err(|error| Unverified::new(format_args!("the certificate: {error}")))?;
        Ok(roots)
    }
}

impl TransactionProof {
    /// Puts a transaction's result and its proof behind the certified state of its block.
    #[must_use]
    pub fn new(certified: CertifiedState, result: &TransactionResult, proof: ListProof) -> Self {
        Self {
            certified,
            transaction: Hex(result.transaction),
            receipt: hex::encode(&result.receipt),
            position: proof.index,
            count: proof.count,
            siblings: proof.siblings.into_iter().map(Hex).collect(),
        }
    }

    /// Checks that the transaction with this hash stands in a certified block at the stated position, with the
    /// stated receipt. Costs a certificate, and a hash for each level of the block's tree.
    ///
    /// # Errors
    /// If the answer is about another transaction, or certificate or proof do not hold.
    pub fn verify(
        &self,
        transaction: &[u8; 32],
        context: &Context,
        electorate: &Electorate<MinSig>,
    ) -> Result<ProvenTransaction, Unverified> {
        if self.transaction.0 != *transaction {
            return Err(Unverified::new("the proof is about another transaction"));
        }
        let receipt = hex::decode(&self.receipt)
            .map_err(|error| Unverified::new(format_args!("the receipt: {error}")))?;
        let roots = self.certified.verify(context, electorate)?;
        let result = TransactionResult { transaction: *transaction, receipt };
        let siblings = self.siblings.iter().map(|hash| hash.0).collect();
        let proof = ListProof { index: self.position, count: self.count, siblings };
        proof
            .verify(ListRoot::new(roots.receipts), &result.item())
            .map_err(|error| Unverified::new(format_args!("the proof: {error}")))?;
        let (slot, position) = (self.certified.slot(), self.position);
        Ok(ProvenTransaction { slot, position, receipt: result.receipt })
    }
}

impl RowProof {
    /// Puts a row and its proof behind a certified state.
    #[must_use]
    pub fn new(certified: CertifiedState, value: Option<&[u8]>, proof: StateProof) -> Self {
        let siblings = proof.siblings.into_iter().map(Hex).collect();
        Self { certified, value: value.map(hex::encode), end: Hex(proof.end), siblings }
    }

    /// Checks the row of this key, and gives its value in the certified state; `None` if there is no such row.
    ///
    /// # Errors
    /// If certificate or proof do not hold.
    pub fn verify(
        &self,
        key: StateKey,
        context: &Context,
        electorate: &Electorate<MinSig>,
    ) -> Result<Option<Vec<u8>>, Unverified> {
        let value = self.value.as_ref().map(hex::decode).transpose();
        let value = value.map_err(|error| Unverified::new(format_args!("the value: {error}")))?;
        let roots = self.certified.verify(context, electorate)?;
        let siblings = self.siblings.iter().map(|hash| hash.0).collect();
        let proof = StateProof { end: self.end.0, siblings };
        proof
            .verify(StateRoot::new(roots.state), key, value.as_deref())
            .map_err(|error| Unverified::new(format_args!("the proof: {error}")))?;
        Ok(value)
    }
}
