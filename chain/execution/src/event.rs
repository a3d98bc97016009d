//! Inputs and outputs of the pipeline.
use std::fmt;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::{Slot, View};

use crate::block::{Block, BlockId, Header, Height};
use crate::config::{Record, StateClaim};
use crate::executor::{Executor, Randomness, Roots};
use crate::job::{ExecuteJob, ExecuteVerdict, StoreJob, StoreVerdict};
use crate::store::{Committed, StateCertificate};

/// Something that happens to the pipeline.
pub enum Input<X: Executor, C: StateCertificate> {
    /// A proposal has arrived: at a validator from the engine, which has checked its proposer; at a full
    /// node from the validator that it follows. Ignored while [`opt_execute`](crate::Switches) is off.
    Proposed(Block<X::Transaction>),
    /// This party is about to cast the vote that orders the block, in this view. Give it when the engine says
    /// so, before the vote leaves.
    Prefinalized {
        /// The height of the block.
        height: Height,
        /// The name of the block.
        block: BlockId,
        /// The view in which the vote is cast.
        view: View,
    },
    /// The engine has ordered the block. Blocks come in the order of their heights; after a restart again
    /// from the first one that is not committed.
    Ordered(Block<X::Transaction>),
    /// The random value of a slot, verified by this node: a wrong value would give wrong roots. Given after
    /// the slot's block is ordered, on a full node when its validator hands it on; after a restart again for
    /// all slots whose blocks are not committed.
    Value {
        /// The slot that the value belongs to.
        slot: Slot,
        /// The random value itself.
        value: Randomness,
    },
    /// A state certificate that this node has assembled, or has verified.
    Certified(Certified<C>),
    /// What a validator hands on to full nodes; this node has verified certificate and value. It stands for
    /// [`Ordered`](Self::Ordered), [`Value`](Self::Value) and [`Certified`](Self::Certified): a block whose
    /// state is certified is ordered.
    Delivered(Box<Delivery<X, C>>),
    /// An [`Effect::Execute`] has ended.
    Executed(ExecuteVerdict<X>),
    /// An [`Effect::Store`] has ended.
    Stored(StoreVerdict),
}

/// The certified results of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Certified<C> {
    /// The height of the block.
    pub height: Height,
    /// The name of the block.
    pub block: BlockId,
    /// What is certified: the [digest](Roots::digest) of the block's roots.
    pub digest: [u8; 32],
    /// The certificate of the digest, already verified.
    pub certificate: C,
}

/// A committed block, as a validator hands it on to full nodes: without its state, which they compute.
#[derive(Clone)]
pub struct Delivery<X: Executor, C: StateCertificate> {
    /// The block with its transactions.
    pub block: Block<X::Transaction>,
    /// The random value of its slot, if a transaction reads it.
    pub value: Option<Randomness>,
    /// The digest of the block's roots, with the certificate of it.
    pub certified: Certified<C>,
}

/// Something that the pipeline wants done, in this order.
pub type Output<X, C> = prefinal_protocol::Output<Record<C>, Effect<X, C>>;

/// Something that the pipeline wants done, other than storing a record.
pub enum Effect<X: Executor, C: StateCertificate> {
    /// Run this job on a pool and give the verdict back as [`Input::Executed`].
    Execute(ExecuteJob<X>),
    /// Run this job on the store and give the verdict back as [`Input::Stored`].
    Store(StoreJob<X, C>),
    /// This party's vote for a state. Hand it to the channel whose contract decides whether it may leave now.
    Vote(Vote),
    /// Hand this proposal on to the full nodes that follow this validator.
    Forward(Block<X::Transaction>),
    /// Hand the random value of an ordered block on to the full nodes that follow this validator, with what it
    /// takes to verify it. They run the block's tail while the validators do.
    ForwardValue {
        /// The slot of the block.
        slot: Slot,
        /// The random value that the tail reads.
        value: Randomness,
    },
    /// Hand this committed block on to the full nodes that follow this validator.
    Deliver(Box<Delivery<X, C>>),
    /// The state of this block is certified and durable, and cannot change any more. Clients may be told.
    Committed(Committed),
    /// An input had no effect.
    Refused(Refusal),
    /// The pipeline has stopped. Nothing follows, and no input has an effect any more.
    Stopped(Stop<C>),
}

/// A vote for the state of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vote {
    /// The engine's slot of the block.
    pub slot: Slot,
    /// The state that the vote is for.
    pub claim: StateClaim,
    /// The view in which this party cast the vote that orders the block; `None` if the block is ordered.
    pub view: Option<View>,
}

/// Something was certified that differs from what this node has: a fault in this node, or a committee with more
/// faulty stake than its quorum allows. The node cannot tell which, so it does not go on.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Divergence<C> {
    /// What a quorum has signed.
    pub certified: Certified<C>,
    /// The block that this node has at the height: ordered, or certified before.
    pub block: BlockId,
    /// The roots that this node has computed for its block, if it has executed it.
    pub computed: Option<Roots>,
}

/// Why the pipeline has stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stop<C> {
    /// The committee has certified something else than what is here. The evidence is on record.
    #[error("{height} is certified with other roots than those computed here",
        height = .0.certified.height)]
    Diverged(Box<Divergence<C>>),
    /// Executing a block again has given another result than the one that this party voted for before it
    /// restarted: the executor is not deterministic, or another version.
    #[error("executing {block} again gives other roots than this party voted for", block = .before.block)]
    OtherResult {
        /// What this party has voted for.
        before: StateClaim,
        /// What it has computed now.
        now: Roots,
    },
    /// The executor cannot go on.
    #[error("executing {block} failed: {why}")]
    Executor {
        /// The block that was being executed.
        block: BlockId,
        /// The executor's own words.
        why: String,
    },
    /// The store cannot go on. After a restart it says what it holds.
    #[error("storing {block} failed: {why}")]
    Store {
        /// The block that was being stored.
        block: BlockId,
        /// The store's own words.
        why: String,
    },
}

/// Why an input had no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A proposal is not kept. It is executed once it is ordered.
    #[error("proposal {block} is not kept: {why}")]
    Proposal {
        /// The name of the proposed block.
        block: BlockId,
        /// Why it is not kept.
        why: Unkept,
    },
    /// A block does not follow the one that was ordered before it. A mistake of the host: report the blocks
    /// between them first.
    #[error("{block} at {got} is ordered, but {expected} comes next")]
    Gap {
        /// The block that was reported.
        block: BlockId,
        /// The height that the block names.
        got: Height,
        /// The height that comes next.
        expected: Height,
    },
    /// Two blocks are ordered at one height: the engine's agreement is broken. The first one stands.
    #[error("{second} is ordered at {height}, where {first} is ordered already")]
    SecondOrder {
        /// The height of both.
        height: Height,
        /// The block that stands.
        first: BlockId,
        /// The block that is ignored.
        second: BlockId,
    },
    /// The block is too far ahead of what is committed. Give it again after the next commit.
    #[error("{block} at {got} is ahead of {last}, the last height of the window")]
    Beyond {
        /// The block that was given.
        block: BlockId,
        /// The height that the block names.
        got: Height,
        /// The last height that is taken now.
        last: Height,
    },
    /// Too many values of slots without an ordered block are kept. Give it again after the next commit.
    #[error("value of {slot} is not kept: {most} are kept already")]
    Value {
        /// The slot of the value.
        slot: Slot,
        /// How many values are kept.
        most: usize,
    },
}

/// Why a proposal is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unkept {
    /// Another block is ordered at its height or below it, so it can never be ordered.
    #[error("it does not extend the ordered block at {ordered}")]
    Orphan {
        /// The highest ordered height.
        ordered: Height,
    },
    /// Its height is not one more than its parent's.
    #[error("its parent has {parent}, and it has {got}")]
    Height {
        /// The height of the parent.
        parent: Height,
        /// The height that the proposal names.
        got: Height,
    },
    /// Its height is outside the window.
    #[error("{got} is ahead of {last}, the last height of the window")]
    TooFar {
        /// The height that the proposal names.
        got: Height,
        /// The last height that is taken now.
        last: Height,
    },
    /// Its slot has as many proposals as are kept.
    #[error("{most} proposals of {slot} are kept already")]
    Forks {
        /// The slot that all these proposals name.
        slot: Slot,
        /// How many proposals of one slot are kept.
        most: usize,
    },
    /// There is no room beside proposals of earlier slots.
    #[error("proposals of earlier slots fill the room")]
    Room,
    /// It made room for a proposal of an earlier slot.
    #[error("a proposal of an earlier slot needed the room")]
    Evicted,
}

impl<C> Stop<C> {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Diverged(_) => "state-diverged",
            Self::OtherResult { .. } => "other-result",
            Self::Executor { .. } | Self::Store { .. } => "halted",
        }
    }
}

impl Refusal {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Proposal { why, .. } => why.code(),
            Self::Gap { .. } => "slot-gap",
            Self::SecondOrder { .. } => "final-twice",
            Self::Beyond { .. } => "slot-too-far",
            Self::Value { .. } => "count-too-large",
        }
    }
}

impl Unkept {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Orphan { .. } | Self::Height { .. } => "never-ordered",
            Self::TooFar { .. } => "slot-too-far",
            Self::Forks { .. } | Self::Room | Self::Evicted => "count-too-large",
        }
    }
}

impl<X: Executor, C: StateCertificate> fmt::Debug for Effect<X, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |f: &mut fmt::Formatter<'_>, name: &str, header: &Header| {
            f.debug_tuple(name).field(header).finish()
        };
        match self {
            Self::Execute(job) => f.debug_tuple("Execute").field(job).finish(),
            Self::Store(job) => f.debug_tuple("Store").field(job).finish(),
            Self::Vote(vote) => f.debug_tuple("Vote").field(vote).finish(),
            Self::Forward(block) => named(f, "Forward", &block.header),
            Self::ForwardValue { slot, .. } => f.debug_tuple("ForwardValue").field(slot).finish(),
            Self::Deliver(delivery) => named(f, "Deliver", &delivery.block.header),
            Self::Committed(committed) => f.debug_tuple("Committed").field(committed).finish(),
            Self::Refused(refusal) => f.debug_tuple("Refused").field(refusal).finish(),
            Self::Stopped(stop) => f.debug_tuple("Stopped").field(stop).finish(),
        }
    }
}
