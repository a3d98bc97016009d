//! Where a block stands in the chain, as the certificate of its roots shows it.
//!
//! An engine's name of a block need not say its parent, and never its height: heights count the blocks that are
//! executed. So the list under the receipts' root has one item more than the block has transactions, the last one:
//!
//! `item = SHA-256("prefinal/state/v1/block" ‖ parent (32) ‖ height (8) ‖ root of the transactions' hashes (32))`
//!
//! A certificate is of the slot, the block's name and the roots. With this item it binds the name to its place.
use alloc::vec::Vec;

use prefinal_execution::Header;

use crate::proof::{ListProof, ListRoot, ProofError, TransactionResult, sha256};

/// The transactions of a certified block, and what shows them, its parent and its height under the receipts' root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenPlace {
    /// The root of the list of the transactions' hashes.
    pub content: ListRoot,
    /// Shows the place under the receipts' root.
    pub proof: ListProof,
}

impl ProvenPlace {
    /// Verifies that the block with these roots has this parent and height, and transactions with these hashes. That
    /// its name and slot are those of the header shows the certificate. Costs as many hashes as the path is long.
    ///
    /// # Errors
    /// If the proof does not show this under the receipts' root.
    pub fn verify(&self, header: &Header, receipts: ListRoot) -> Result<(), ProofError> {
        self.proof.verify(receipts, &item(header, &self.content))
    }

    /// The place of a block with these results. Costs three hashes for each of them.
    pub(crate) fn of(header: &Header, results: &[TransactionResult]) -> Option<Self> {
        let items = items(header, results);
        let last = u32::try_from(results.len()).ok()?;
        Some(Self { content: content(results), proof: ListProof::of(&items, last)? })
    }
}

/// The items under the receipts' root.
pub(crate) fn items(header: &Header, results: &[TransactionResult]) -> Vec<[u8; 32]> {
    let place = item(header, &content(results));
    results.iter().map(TransactionResult::item).chain([place]).collect()
}

fn content(results: &[TransactionResult]) -> ListRoot {
    let hashes: Vec<[u8; 32]> = results.iter().map(|result| result.transaction).collect();
    ListRoot::of(&hashes)
}

fn item(header: &Header, content: &ListRoot) -> [u8; 32] {
    let (parent, height) = (header.parent.to_bytes(), header.height.get().to_be_bytes());
    sha256(&[b"prefinal/state/v1/block", &parent, &height, content.as_bytes()])
}
