//! The results of a block, as a certificate names them. A client needs nothing else of this crate.
use borsh::{BorshDeserialize, BorshSerialize};
use sha2::{Digest, Sha256};

/// The results of a block, as 64 bytes that everybody computes alike.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct Roots {
    /// The root of the authenticated state that the block leaves.
    pub state: [u8; 32],
    /// The root over the block's receipts, by the positions of the transactions in the block. An executor may put
    /// more under it, behind the last of them.
    pub receipts: [u8; 32],
}

impl Roots {
    /// The 32 bytes that a state certificate signs: SHA-256 of a tag, the state's and the receipts' root.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let hash = Sha256::new().chain_update(b"prefinal/execution/v1/roots");
        hash.chain_update(self.state).chain_update(self.receipts).finalize().into()
    }
}
