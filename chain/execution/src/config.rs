//! What a pipeline is started with.
use borsh::{BorshDeserialize, BorshSerialize};

use crate::block::{BlockId, Height};
use crate::event::Divergence;
use crate::executor::{Executor, Roots};
use crate::store::{Recovered, StateCertificate};

/// The part that a node plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Takes part in ordering and votes for the state of each block.
    Validator,
    /// Executes what validators hand on, and answers clients. Certificates tell it what is ordered.
    FullNode,
}

/// What starts before the stage in front of it has ended. All off is the paper's Algorithm 1, all on its
/// Algorithm 2. Parties of one committee may have different switches: only latency differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Switches {
    /// A block is executed when its proposal arrives, before it is ordered. Validators hand proposals on to
    /// full nodes.
    pub opt_execute: bool,
    /// A block is written when it is executed, before its state is certified.
    pub opt_commit: bool,
    /// The vote for a block's state leaves with the vote that orders the block.
    pub piggyback: bool,
}

/// How much of what is not ordered yet is kept. What is refused is executed once it is ordered, so a
/// limit that is too low costs time and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most proposals of one slot: a leader that equivocates makes several.
    pub forks: usize,
    /// The most proposals in all slots together.
    pub proposals: usize,
    /// The most bytes of transactions in proposals. Executing may hold a multiple of it.
    pub bytes: u64,
    /// How far heights and values may be ahead of the last committed block. An ordered block behind the
    /// window is refused, and given again after the next commit.
    pub window: u64,
}

/// How a pipeline runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The part that this node plays.
    pub role: Role,
    /// The stages that start before the one in front of them has ended.
    pub switches: Switches,
    /// How much is kept.
    pub limits: Limits,
}

/// Something that the pipeline must find again after a crash.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Record<C> {
    /// This party votes for the state of a block. Durable before the vote leaves, so that a restarted party
    /// never votes for another state of the same block.
    Voted(StateClaim),
    /// The evidence with which this node stopped. A node with this record does not start again.
    Diverged(Divergence<C>),
}

/// Says that a block leaves a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct StateClaim {
    /// The height of the block.
    pub height: Height,
    /// The name of the block.
    pub block: BlockId,
    /// The roots that executing the block gave.
    pub roots: Roots,
}

/// What is left from the process before.
pub struct Past<X: Executor, C: StateCertificate> {
    /// What the store holds.
    pub recovered: Recovered<X>,
    /// All records, oldest first.
    pub records: Vec<Record<C>>,
}

/// Why a pipeline does not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The node stopped because its state differs from what the committee certified. An operator must look
    /// at the evidence, which is in the records, and start from a certified state.
    #[error("stopped before: {height} has certified roots that differ from those computed here")]
    Diverged {
        /// The height at which the node stopped.
        height: Height,
    },
    /// The store's block does not leave the state that this party has voted for.
    #[error("{block} at {height} is stored with other roots than this party voted for")]
    OtherVote {
        /// The height of the block.
        height: Height,
        /// The name of the block.
        block: BlockId,
    },
    /// A limit is zero, so that nothing could ever pass.
    #[error("the limit of {what} is zero")]
    Limit {
        /// The name of the field of `Limits`.
        what: &'static str,
    },
}

impl StartError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Diverged { .. } => "state-diverged",
            Self::OtherVote { .. } => "other-result",
            Self::Limit { .. } => "zero-limit",
        }
    }
}

impl Switches {
    /// The paper's Algorithm 1: nothing starts early.
    pub const OFF: Self = Self { opt_execute: false, opt_commit: false, piggyback: false };

    /// The paper's Algorithm 2.
    pub const ON: Self = Self { opt_execute: true, opt_commit: true, piggyback: true };
}

impl Default for Limits {
    /// Two proposals of a slot, 64 in all, 64 MiB, and 64 blocks behind the last committed one.
    fn default() -> Self {
        Self { forks: 2, proposals: 64, bytes: 64 << 20, window: 64 }
    }
}
