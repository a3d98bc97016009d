//! What a block's name commits to.
//!
//! A certificate is of a slot, a block's name and the roots that the block leaves. That the block stands at a height,
//! behind a parent, with these transactions follows from its name only. Without this check a peer could leave out a
//! block that changes nothing, and all heights behind it would be wrong.
use prefinal_execution::{BlockId, Header};
use prefinal_state::proof::ListRoot;
use sha2::{Digest, Sha256};

/// How a chain names its blocks.
pub trait BlockNames: Clone + Send + Sync + 'static {
    /// Stands for the transactions of a block, in their order.
    fn content(&self, transactions: &[Vec<u8>]) -> [u8; 32];

    /// The name of the block with this parent, height, slot and content. It must be a commitment to all four;
    /// [`Header::id`] is not read.
    fn name(&self, header: &Header, content: &[u8; 32]) -> BlockId;
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

impl BlockNames for HashedNames {
    fn content(&self, transactions: &[Vec<u8>]) -> [u8; 32] {
        let hashes: Vec<[u8; 32]> =
            transactions.iter().map(|bytes| Sha256::digest(bytes).into()).collect();
        *ListRoot::of(&hashes).as_bytes()
    }

    fn name(&self, header: &Header, content: &[u8; 32]) -> BlockId {
        let hash = Sha256::new().chain_update(b"prefinal/sync/v1/block");
        let hash = hash.chain_update(header.parent.to_bytes());
        let hash = hash.chain_update(header.height.get().to_be_bytes());
        let hash = hash.chain_update(header.slot.get().to_be_bytes());
        BlockId::new(hash.chain_update(content).finalize().into())
    }
}
