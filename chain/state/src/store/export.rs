//! What a store gives to other nodes: committed blocks, and their deltas.
use prefinal_execution::{Header, Height, Roots, StateCertificate};

use super::{StateExecutor, StateStore, rows};
use crate::delta::{BlockDelta, RowChange};
use crate::error::StateError;

/// A committed block with all that others need to verify it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockExport<C> {
    /// Its place in the chain.
    pub header: Header,
    /// The roots of the state and the receipts that the block leaves.
    pub roots: Roots,
    /// The certificate of the roots.
    pub certificate: C,
    /// The transactions, each as it is encoded.
    pub transactions: Vec<Vec<u8>>,
}

impl<X, C> StateStore<X, C>
where
    X: StateExecutor,
    C: StateCertificate,
{
    /// The lowest height whose state can be read. Blocks and deltas are there for the heights behind it.
    #[must_use]
    pub const fn lowest(&self) -> Height {
        self.pruned
    }

    /// Bytes of what the committed blocks above [`lowest`](Self::lowest) have added: transactions, results,
    /// certificates that came with the block, and nodes of the tree. The state at the lowest height comes on top, and
    /// what the file's pages cost. Blocks that were written before sizes were kept count as nothing.
    #[must_use]
    pub const fn block_bytes(&self) -> u64 {
        self.bytes
    }

    /// The committed block at this height, above [`lowest`](Self::lowest).
    ///
    /// # Errors
    /// If there is none, or if the file cannot be read.
    pub fn export(&self, height: Height) -> Result<BlockExport<C>, StateError> {
        let missing = || StateError::NoVersion { height };
        let stored = self.block(height)?;
        let certificate = self.certificate(height)?.ok_or_else(missing)?;
        let place = self.exported_place(height)?;
        let transactions = rows::transactions(&self.shared.database, place)?;
        let transactions = transactions.ok_or_else(missing)?;
        Ok(BlockExport { header: stored.header, roots: stored.roots, certificate, transactions })
    }

    /// What the committed block at this height, above [`lowest`](Self::lowest), changes.
    ///
    /// # Errors
    /// If there is none, or if the file cannot be read.
    pub fn delta(&self, height: Height) -> Result<BlockDelta, StateError> {
        let layer = rows::layer(&self.shared.database, self.exported_place(height)?)?;
        let changes = layer.changes.into_iter();
        let changes =
            changes.map(|(key, row)| RowChange { key, value: row.map(|row| row.to_vec()) });
        Ok(BlockDelta { changes: changes.collect(), results: layer.results })
    }

    fn exported_place(&self, height: Height) -> Result<super::Place, StateError> {
        if height <= self.pruned {
            return Err(StateError::NoVersion { height });
        }
        self.committed_place(height)
    }
}
