//! Where a server reads what it is asked for.
use std::collections::BTreeMap;

use prefinal_execution::{Height, StateCertificate, Store};
use prefinal_light::EpochEnding;
use prefinal_protocol::EpochId;
use prefinal_state::proof::{KeyRange, StateRange};
use prefinal_state::{
    BlockDelta, BlockExport, RangeLimits, SnapshotBlock, StateError, StateExecutor, StateStore,
    decoded_block,
};

use crate::trust::Attestation;
use crate::wire::{HeightRange, MAX_SNAPSHOTS, Summary};

/// A block with its transactions, from a source.
pub type SourceBlock<S> = BlockExport<Attestation<<S as Source>::Certificate>>;

/// A certified block whose state can be fetched, from a source.
pub type SourceAnchor<S> = SnapshotBlock<Attestation<<S as Source>::Certificate>>;

/// What can be served. Each call returns `None` for what is not there, or not any more.
pub trait Source {
    /// A certificate of a block's roots.
    type Certificate: StateCertificate;
    /// Why it cannot be read.
    type Error: std::error::Error;

    /// What of the chain can be served now.
    ///
    /// # Errors
    /// If it cannot be read.
    fn summary(&self) -> Result<Summary, Self::Error>;

    /// The committed block at this height.
    ///
    /// # Errors
    /// If it cannot be read.
    fn block(&self, height: Height) -> Result<Option<SourceBlock<Self>>, Self::Error>;

    /// Whether this block can be executed by those that have it: with the value of its slot, if it reads that.
    fn is_executable(&self, block: &SourceBlock<Self>) -> bool;

    /// What this block changes.
    ///
    /// # Errors
    /// If it cannot be read.
    fn delta(&self, height: Height) -> Result<Option<BlockDelta>, Self::Error>;

    /// The committed block at this height, without its transactions.
    ///
    /// # Errors
    /// If it cannot be read.
    fn anchor(&self, height: Height) -> Result<Option<SourceAnchor<Self>>, Self::Error>;

    /// Rows of the state that this block leaves.
    ///
    /// # Errors
    /// If it cannot be read.
    fn range(
        &self,
        height: Height,
        keys: KeyRange,
        limits: RangeLimits,
    ) -> Result<Option<StateRange>, Self::Error>;

    /// What leads from this epoch to the next one.
    ///
    /// # Errors
    /// If it cannot be read.
    fn ending(&self, epoch: EpochId) -> Result<Option<EpochEnding>, Self::Error>;
}

/// A state's store, with the endings that the node has kept.
#[derive(Debug)]
pub struct StoreSource<'a, S> {
    /// Where blocks and states are read.
    pub store: &'a S,
    /// Endings by the epochs that they end.
    pub endings: &'a BTreeMap<EpochId, EpochEnding>,
    /// Snapshots are offered of heights that are multiples of this, so that peers offer the same ones. 0: of none.
    pub snapshot_every: u64,
    /// The node's distance to the validators.
    pub hops: u8,
}

impl<X, C> Source for StoreSource<'_, StateStore<X, Attestation<C>>>
where
    X: StateExecutor,
    C: StateCertificate,
{
    type Certificate = C;
    type Error = StateError;

    fn summary(&self) -> Result<Summary, StateError> {
        let (lowest, tip) = (self.store.lowest(), self.store.committed()?.height);
        let blocks = (tip > lowest).then(|| HeightRange { first: lowest.next(), last: tip });
        // The genesis has no certificate.
        let first = lowest.get().max(1);
        let latest = tip.get().checked_div(self.snapshot_every).unwrap_or(0);
        let multiples = (0..=latest).rev().map(|count| count.saturating_mul(self.snapshot_every));
        let offered = multiples.take_while(|height| *height >= first).take(MAX_SNAPSHOTS / 4);
        let mut snapshots: Vec<Height> = offered.map(Height::new).collect();
        snapshots.reverse();
        let epoch =
            self.endings.last_key_value().map_or(EpochId::new(0), |(epoch, _)| epoch.next());
        Ok(Summary { blocks, deltas: blocks, snapshots, epoch, hops: self.hops })
    }

    fn block(&self, height: Height) -> Result<Option<SourceBlock<Self>>, StateError> {
        there(self.store.export(height))
    }

    fn is_executable(&self, block: &SourceBlock<Self>) -> bool {
        let decoded = || decoded_block::<X::Transaction>(block.header, &block.transactions);
        block.certificate.randomness.is_some() || decoded().is_some_and(|block| !block.has_tail())
    }

    fn delta(&self, height: Height) -> Result<Option<BlockDelta>, StateError> {
        there(self.store.delta(height))
    }

    fn anchor(&self, height: Height) -> Result<Option<SourceAnchor<Self>>, StateError> {
        let Some(block) = there(self.store.block(height))? else { return Ok(None) };
        let certificate = self.store.certificate(height)?;
        let anchor =
            |certificate| SnapshotBlock { header: block.header, roots: block.roots, certificate };
        Ok(certificate.map(anchor))
    }

    fn range(
        &self,
        height: Height,
        keys: KeyRange,
        limits: RangeLimits,
    ) -> Result<Option<StateRange>, StateError> {
        let Some(view) = there(self.store.view_at(height))? else { return Ok(None) };
        view.range(keys, limits).map(Some)
    }

    fn ending(&self, epoch: EpochId) -> Result<Option<EpochEnding>, StateError> {
        Ok(self.endings.get(&epoch).cloned())
    }
}

/// What is pruned, or not there yet, is no error for those who serve it.
fn there<T>(found: Result<T, StateError>) -> Result<Option<T>, StateError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(StateError::NoVersion { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
