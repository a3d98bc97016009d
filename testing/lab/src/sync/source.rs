//! A part of the shared chain, as a node has it that follows the chain somewhere else.
use std::time::Duration;

use prefinal_execution::Height;
use prefinal_light::EpochEnding;
use prefinal_protocol::{EpochId, Instant};
use prefinal_state::proof::{KeyRange, StateRange};
use prefinal_state::{BlockDelta, RangeLimits, StateError};
use prefinal_sync::wire::{HeightRange, Summary};
use prefinal_sync::{Source, SourceAnchor, SourceBlock, StoreSource};

use super::chain::{SampleCertificate, SampleChain, SampleStore};

/// What a node has of the chain, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The last height at the beginning.
    pub(super) start: u64,
    /// The time between two blocks; zero if the chain does not grow.
    pub(super) every: Duration,
    /// How much later than others it has them.
    pub(super) late: Duration,
    /// How many heights it keeps.
    pub(super) keeps: u64,
    /// It offers states of heights that are multiples of this; none of zero.
    pub(super) snapshot_every: u64,
    pub(super) hops: u8,
}

impl Part {
    /// Everything up to this height, from the beginning.
    pub(super) const fn whole(tip: Height) -> Self {
        Self {
            start: tip.get(),
            every: Duration::ZERO,
            late: Duration::ZERO,
            keeps: u64::MAX,
            snapshot_every: 0,
            hops: 0,
        }
    }

    /// When the block of this height is there.
    pub(super) fn appears(&self, height: u64) -> Duration {
        let steps = u32::try_from(height.saturating_sub(self.start)).unwrap_or(u32::MAX);
        self.every.saturating_mul(steps).saturating_add(self.late)
    }

    fn tip(&self, now: Instant, chain: &SampleChain) -> Height {
        let since = now.since_start().saturating_sub(self.late).as_nanos();
        let grown = since.checked_div(self.every.as_nanos()).unwrap_or(0);
        let grown = u64::try_from(grown).unwrap_or(u64::MAX);
        Height::new(self.start.saturating_add(grown)).min(chain.tip())
    }
}

/// Serves a part of the chain.
pub(super) struct PartSource<'a> {
    pub(super) chain: &'a SampleChain,
    pub(super) part: Part,
    pub(super) now: Instant,
}

impl PartSource<'_> {
    fn tip(&self) -> Height {
        self.part.tip(self.now, self.chain)
    }

    /// The height whose state is the oldest that is there.
    fn lowest(&self) -> Height {
        Height::new(self.tip().get().saturating_sub(self.part.keeps))
    }

    fn has_block(&self, height: Height) -> bool {
        height > self.lowest() && height <= self.tip()
    }

    fn has_state(&self, height: Height) -> bool {
        height >= self.lowest() && height <= self.tip()
    }

    fn whole(&self) -> StoreSource<'_, SampleStore> {
        let SampleChain { store, endings, .. } = self.chain;
        StoreSource { store, endings, snapshot_every: self.part.snapshot_every, hops: 0 }
    }
}

impl Source for PartSource<'_> {
    type Certificate = SampleCertificate;
    type Error = StateError;

    fn summary(&self) -> Result<Summary, StateError> {
        let (lowest, tip) = (self.lowest(), self.tip());
        let blocks = (tip > lowest).then(|| HeightRange { first: lowest.next(), last: tip });
        let every = self.part.snapshot_every;
        let latest = tip.get().checked_div(every).unwrap_or(0);
        // Two, as a node has them that makes the next one before it drops the last.
        let snapshots = [latest.saturating_sub(1), latest].map(|count| count.saturating_mul(every));
        let mut snapshots: Vec<Height> = snapshots.map(Height::new).into();
        snapshots.retain(|height| *height > Height::GENESIS && self.has_state(*height));
        snapshots.dedup();
        let endings = self.chain.endings.keys().next_back();
        let epoch = endings.map_or(EpochId::new(0), |epoch| epoch.next());
        Ok(Summary { blocks, deltas: blocks, snapshots, epoch, hops: self.part.hops })
    }

    fn block(&self, height: Height) -> Result<Option<SourceBlock<Self>>, StateError> {
        if self.has_block(height) { self.whole().block(height) } else { Ok(None) }
    }

    fn is_executable(&self, block: &SourceBlock<Self>) -> bool {
        self.whole().is_executable(block)
    }

    fn delta(&self, height: Height) -> Result<Option<BlockDelta>, StateError> {
        if self.has_block(height) { self.whole().delta(height) } else { Ok(None) }
    }

    fn anchor(&self, height: Height) -> Result<Option<SourceAnchor<Self>>, StateError> {
        if self.has_state(height) { self.whole().anchor(height) } else { Ok(None) }
    }

    fn range(
        &self,
        height: Height,
        keys: KeyRange,
        limits: RangeLimits,
    ) -> Result<Option<StateRange>, StateError> {
        if self.has_state(height) { self.whole().range(height, keys, limits) } else { Ok(None) }
    }

    fn ending(&self, epoch: EpochId) -> Result<Option<EpochEnding>, StateError> {
        self.whole().ending(epoch)
    }
}
