//! What shows that a certified block stands at its height, behind its parent, with its transactions.
//!
//! A certificate is of a slot, a block's name and the roots that the block leaves. Without the checks of this module a
//! peer could leave out a block that changes nothing, and all heights behind it would be wrong. A chain binds a block to
//! its place in one of two ways:
//!
//! | | what commits to the place | names are |
//! |---|---|---|
//! | [`HashedNames`] | the name | a hash of parent, height, slot and content |
//! | [`CertifiedPlaces`] | the receipts' root ([`ProvenPlace`]) | whatever the engine gives |
//!
//! The second is for engines whose names do not say enough. Of those that we know none does: Jolteon's name commits to
//! round, parent and payload, but not to the height; those of Trantor and Malachite name no parent either, and all three
//! also commit to transactions that nobody executes.
use prefinal_execution::{BlockId, Header, Roots};
use prefinal_state::ProvenPlace;
use prefinal_state::proof::{ListProof, ListRoot};
use sha2::{Digest, Sha256};

use crate::fault::Fault;

/// How a chain shows what a block's certificate does not say.
pub trait BlockNames: Clone + Send + Sync + 'static {
    /// Stands for the transactions of a block, in their order: the root of the list of their hashes.
    fn content(&self, transactions: &[Vec<u8>]) -> [u8; 32] {
        let hashes: Vec<[u8; 32]> =
            transactions.iter().map(|bytes| Sha256::digest(bytes).into()).collect();
        *ListRoot::of(&hashes).as_bytes()
    }

    /// Verifies that the block that is certified with this name, slot and roots has this parent, height and content.
    /// `place` is what the peer shows for it, besides.
    ///
    /// # Errors
    /// If that is not shown, or if more comes than is needed to show it.
    fn verify(
        &self,
        header: &Header,
        roots: &Roots,
        content: &[u8; 32],
        place: Option<&ListProof>,
    ) -> Result<(), Fault>;
}

/// Names that are SHA-256 of a tag, parent (32), height and slot (8, big-endian), and the root of the list of the
/// transactions' hashes.
///
/// ```
/// use prefinal_execution::{BlockId, Header, Height};
/// use prefinal_protocol::Slot;
/// use prefinal_sync::{BlockNames, HashedNames};
///
/// let parent = BlockId::new([0; 32]);
/// let header = Header { id: parent, parent, height: Height::new(1), slot: Slot::new(4) };
/// let content = HashedNames.content(&[b"transaction".to_vec()]);
/// let next = Header { height: Height::new(2), ..header };
/// assert_ne!(HashedNames.name(&header, &content), HashedNames.name(&next, &content));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HashedNames;

impl HashedNames {
    /// The name of the block with this parent, height, slot and content; [`Header::id`] is not read.
    #[must_use]
    pub fn name(&self, header: &Header, content: &[u8; 32]) -> BlockId {
        let hash = Sha256::new().chain_update(b"prefinal/sync/v1/block");
        let hash = hash.chain_update(header.parent.to_bytes());
        let hash = hash.chain_update(header.height.get().to_be_bytes());
        let hash = hash.chain_update(header.slot.get().to_be_bytes());
        BlockId::new(hash.chain_update(content).finalize().into())
    }
}

impl BlockNames for HashedNames {
    fn verify(
        &self,
        header: &Header,
        _: &Roots,
        content: &[u8; 32],
        place: Option<&ListProof>,
    ) -> Result<(), Fault> {
        match self.name(header, content) == header.id && place.is_none() {
            true => Ok(()),
            false => Err(Fault::Name),
        }
    }
}

/// Names of any kind, for executors that put each block's place under its receipts' root, as those of
/// [`prefinal_state`] do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CertifiedPlaces;

impl BlockNames for CertifiedPlaces {
    fn verify(
        &self,
        header: &Header,
        roots: &Roots,
        content: &[u8; 32],
        place: Option<&ListProof>,
    ) -> Result<(), Fault> {
        let proof = place.ok_or(Fault::Name)?.clone();
        let place = ProvenPlace { content: ListRoot::new(*content), proof };
        place.verify(header, ListRoot::new(roots.receipts)).map_err(|_| Fault::Name)
    }
}
