//! How a follower follows, and from where.
use std::time::Duration;

use prefinal_execution::{Committed, StateCertificate, Store};
use prefinal_light::{BeaconVerifier, EndingError, EpochEnding};
use prefinal_protocol::EpochId;
use prefinal_state::proof::KeyRange;
use prefinal_state::{SnapshotBlock, StateError, StateExecutor, StateStore, View};

use crate::keep::{Keep, Kept};
use crate::trust::{Attestation, Trust};

/// How the state behind a block is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// The block is executed. Nothing but the transactions is fetched.
    Execute,
    /// What the block changes is fetched and applied. Needs no executor, and more bytes.
    Deltas,
}

/// How requests are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Ahead of what is needed, from the best peers, while other blocks are verified, executed and written.
    Pipelined,
    /// One request at a time, to a peer that is drawn, when everything before it is durable. What experiments
    /// compare with.
    Naive,
}

/// How a follower follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How the state behind a block is reached.
    pub replay: Replay,
    /// A state is fetched whole if it is that many heights ahead, and blocks from there on; `None`: never.
    pub snapshot_beyond: Option<u64>,
    /// How requests are made.
    pub strategy: Strategy,
    /// How much of the past is kept.
    pub keep: Keep,
    /// What is allowed for.
    pub limits: FollowerLimits,
    /// Signs the slots' values that transactions read; needed to execute blocks that have such.
    pub beacon: Option<BeaconVerifier>,
    /// What random draws begin with. They decide on speed, never on what is believed.
    pub seed: [u8; 32],
}

/// What a follower allows for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowerLimits {
    /// Most bytes that are asked for, or held and not yet durable, together. Exceeded by three answers at most: the
    /// blocks that everything else waits for, what leads to their epoch, and a block whose state may be fetched.
    pub window_bytes: u64,
    /// Most bytes of one answer before compression. A block with its delta must fit.
    pub answer_bytes: u32,
    /// Most blocks of one answer. All followers of a chain should have the same, so that servers read once for all.
    pub answer_blocks: u32,
    /// Most requests at once.
    pub requests: usize,
    /// Most requests to one peer at once.
    pub requests_to_one: usize,
    /// Most blocks ahead of the last one that is executed.
    pub blocks_ahead: u64,
    /// Most blocks that are executed and not yet durable.
    pub unstored: usize,
    /// The shortest time after which an answer is late; it grows with what peers have taken so far, and with each
    /// attempt.
    pub timeout: Duration,
    /// Time between two questions what a peer has.
    pub poll: Duration,
}

impl Config {
    /// Follows from the first block on, pipelined, keeps everything, with the default limits and without a beacon. The
    /// seed is of the draws that peers are chosen with.
    #[must_use]
    pub fn new(replay: Replay, seed: [u8; 32]) -> Self {
        Self {
            replay,
            snapshot_beyond: None,
            strategy: Strategy::Pipelined,
            keep: Keep::default(),
            limits: FollowerLimits::default(),
            beacon: None,
            seed,
        }
    }
}

impl Default for FollowerLimits {
    fn default() -> Self {
        Self {
            window_bytes: 64 << 20,
            answer_bytes: 4 << 20,
            answer_blocks: 16,
            requests: 64,
            requests_to_one: 8,
            blocks_ahead: 2048,
            unstored: 4,
            timeout: Duration::from_secs(1),
            poll: Duration::from_millis(500),
        }
    }
}

/// Where a follower goes on: what is durable.
#[derive(Clone, Debug)]
pub struct Past<C> {
    pub(crate) committed: Committed,
    pub(crate) view: View,
    pub(crate) restoring: Option<Restoring<C>>,
    pub(crate) kept: Kept,
    /// The epoch of the last block; none of the genesis.
    pub(crate) epoch: Option<EpochId>,
}

/// A state that is being restored, with what is missing of it.
#[derive(Clone, Debug)]
pub(crate) struct Restoring<C> {
    pub(crate) anchor: SnapshotBlock<Attestation<C>>,
    pub(crate) missing: Vec<KeyRange>,
}

impl<C: StateCertificate> Past<C> {
    /// What a store has.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of<X>(store: &StateStore<X, Attestation<C>>) -> Result<Self, StateError>
    where
        X: StateExecutor,
    {
        let restoring = store.restoring()?;
        let restoring = restoring.map(|anchor| Restoring { anchor, missing: store.missing() });
        let committed = store.committed()?;
        let last = store.certificate(committed.height)?.map(|last| last.epoch);
        let epoch = restoring.as_ref().map(|now| now.anchor.certificate.epoch).or(last);
        let (view, kept) = (store.view()?, Kept::of(store)?);
        Ok(Self { committed, view, restoring, kept, epoch })
    }

    /// Advances a trust over the endings that were kept, to the epoch of the last block, and not beyond: blocks of
    /// this epoch may be missing, although an ending of it is there.
    ///
    /// # Errors
    /// If an ending is not the next one.
    pub fn advance<'a, T: Trust>(
        &self,
        trust: &mut T,
        endings: impl IntoIterator<Item = &'a EpochEnding>,
    ) -> Result<(), EndingError> {
        for ending in endings {
            let here = trust.epoch();
            if here.is_none() || here >= self.epoch {
                break;
            }
            if here == Some(ending.block.epoch) {
                trust.advance(ending)?;
            }
        }
        Ok(())
    }
}
