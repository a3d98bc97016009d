//! What of the past a node keeps: a policy, and nothing else. The follower asks it between two writes.
//!
//! ```text
//!  0        lowest                                   tip
//!  ┊ forgotten ┊ ░░░░ │ ░░░░░░░░░░ kept ░░░░░░░░░░░░░ │
//!                STEP ┘      at least `floor` blocks  ┘
//! ```
//! If there is more than the limits say, the oldest [`STEP`](Keep::STEP) blocks go, in one transaction of the store,
//! and so on until there is not. Between two such steps the node writes a block, if one waits.
use prefinal_execution::{Height, StateCertificate, Store};
use prefinal_state::{StateError, StateExecutor, StateStore};

use crate::trust::Attestation;

/// How much of the chain's past is kept. The state at the tip is always kept whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// At most so many blocks; `None`: all.
    pub blocks: Option<u64>,
    /// At most so many bytes of blocks ([`StateStore::block_bytes`]); `None`: all.
    pub bytes: Option<u64>,
    /// So many blocks are kept whatever the limits. A peer fetches the newest state that is offered and then the
    /// blocks behind it, and takes its time for that; so this is a few times the distance between such states.
    pub floor: u64,
}

/// How much of the past a node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The lowest height whose state is there. Blocks are there above it.
    pub lowest: Height,
    /// The height of the last block.
    pub tip: Height,
    /// The bytes of these blocks.
    pub bytes: u64,
}

impl Default for Keep {
    /// A policy by which nothing is ever forgotten.
    fn default() -> Self {
        Self { blocks: None, bytes: None, floor: Self::FLOOR }
    }
}

impl Keep {
    /// The usual floor: for states that are offered every ten blocks.
    pub const FLOOR: u64 = 32;

    /// Blocks that are forgotten in one go: so few that the next block is not held up.
    pub const STEP: u64 = 8;

    /// The height whose state becomes the lowest one, if something is to be forgotten now.
    #[must_use]
    pub fn due(&self, kept: Kept) -> Option<Height> {
        let blocks = kept.blocks();
        let is_over = |most: Option<u64>, got: u64| most.is_some_and(|most| got > most);
        let is_due = is_over(self.blocks, blocks) || is_over(self.bytes, kept.bytes);
        let leaves_floor = blocks >= self.floor.saturating_add(Self::STEP);
        (is_due && leaves_floor).then(|| kept.lowest.after(Self::STEP))
    }
}

impl Kept {
    /// What is in a store.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of<X, C>(store: &StateStore<X, Attestation<C>>) -> Result<Self, StateError>
    where
        X: StateExecutor,
        C: StateCertificate,
    {
        let (lowest, tip) = (store.lowest(), store.committed()?.height);
        Ok(Self { lowest, tip, bytes: store.block_bytes() })
    }

    /// How many blocks there are.
    #[must_use]
    pub const fn blocks(&self) -> u64 {
        self.tip.get().saturating_sub(self.lowest.get())
    }
}
