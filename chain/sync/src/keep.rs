//! What of the past a node keeps: a policy, and nothing else. The follower asks it between two writes.
//!
//! ```text
//!  0        lowest                                   tip
//!  ┊ forgotten ┊ ░░░░ │ ░░░░░░░░░░ kept ░░░░░░░░░░░░░ │
//!                STEP ┘      at least FLOOR blocks    ┘
//! ```
//! If there is more than the limits say, the oldest [`STEP`](Keep::STEP) blocks go, in one transaction of the store,
//! and so on until there is not. Between two such steps the node writes a block, if one waits.
use prefinal_execution::{Height, StateCertificate, Store};
use prefinal_state::{StateError, StateExecutor, StateStore};

use crate::trust::Attestation;

/// How much of the chain's past is kept. The state at the tip is always kept whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// At most so many blocks; `None`: all. Less than [`Self::LEAST`] has the effect of that.
    pub blocks: Option<u64>,
    /// At most so many bytes of blocks ([`StateStore::block_bytes`]), if these are [`Self::LEAST`] blocks or more;
    /// `None`: all.
    pub bytes: Option<u64>,
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

impl Keep {
    /// Blocks that are kept whatever the limits. A peer fetches the last state that is offered and then the blocks
    /// behind it, and takes its time for that.
    pub const FLOOR: u64 = 32;

    /// Blocks that are forgotten in one go: so few that the next block is not held up.
    pub const STEP: u64 = 8;

    /// The fewest blocks that a limit can be of.
    pub const LEAST: u64 = Self::FLOOR + Self::STEP;

    /// The height whose state becomes the lowest one, if something is to be forgotten now.
    #[must_use]
    pub fn due(&self, kept: Kept) -> Option<Height> {
        let blocks = kept.blocks();
        let is_over = |most: Option<u64>, got: u64| most.is_some_and(|most| got > most);
        let is_due = is_over(self.blocks, blocks) || is_over(self.bytes, kept.bytes);
        (is_due && blocks >= Self::LEAST).then(|| kept.lowest.after(Self::STEP))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(lowest: u64, tip: u64, bytes: u64) -> Kept {
        Kept { lowest: Height::new(lowest), tip: Height::new(tip), bytes }
    }

    const NOTHING: Option<Height> = None;

    #[test]
    fn everything_is_kept_unless_there_is_a_limit() {
        assert_eq!(Keep::default().due(kept(0, u64::MAX, u64::MAX)), NOTHING);
    }

    #[test]
    fn blocks_beyond_a_limit_are_forgotten_a_step_at_a_time() {
        for keep in [
            Keep { blocks: Some(100), bytes: None },
            Keep { blocks: None, bytes: Some(100_000) },
            Keep { blocks: Some(100), bytes: Some(u64::MAX) },
            Keep { blocks: Some(u64::MAX), bytes: Some(100_000) },
        ] {
            assert_eq!(keep.due(kept(50, 150, 100_000)), NOTHING, "at the limit, {keep:?}");
            let due = keep.due(kept(50, 151, 100_001));
            assert_eq!(due, Some(Height::new(58)), "{keep:?}");
            // However much there is: a smaller limit than the last time takes many steps.
            assert_eq!(keep.due(kept(0, 1_000_000, u64::MAX)), Some(Height::new(8)));
        }
    }

    #[test]
    fn what_peers_need_stays_whatever_the_limits() {
        let keep = Keep { blocks: Some(0), bytes: Some(0) };
        for tip in 0..200 {
            for lowest in 0..=tip {
                let due = keep.due(kept(lowest, tip, 1));
                let left = due.map_or(tip - lowest, |due| tip - due.get());
                assert!(due.is_none() || left >= Keep::FLOOR, "{lowest} to {tip}");
                assert!(due.is_some() || left < Keep::LEAST, "{lowest} to {tip}");
            }
        }
        // A state that was fetched may be the highest block, and none may be there at all.
        assert_eq!(keep.due(kept(9, 9, 0)), NOTHING);
    }
}
