//! What a validator does with its blocks beside keys and values: nothing (`()`), or what a [`ChainApplication`] does.
//!
//! An application is a machine inside the validator's. It is told of a proposal before the vote for it, of a
//! prefinalization before anything is released on it, and of a final block before keys and values are. Its
//! records stand among the validator's, its jobs among the jobs, and it may have channels beside the one whose keys
//! are made on the chain. [`PipelineHost`](crate::execution::PipelineHost) executes the blocks.
use std::convert::Infallible;
use std::fmt::Debug;
use std::sync::Arc;

use ::prefinal_beacon::stack::Channels;
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_engine::Block;
use prefinal_protocol::{Instant, Slot, Value, View};

use crate::extra::ExtraChannels;
use crate::setup::Setup;

/// What happens to an application.
pub enum Input<A: ChainApplication> {
    /// A block was proposed for a slot that is known to be of an epoch that was told; see [`prefinal_engine::Effect::Proposed`].
    Proposed {
        /// The slot that it is proposed for.
        slot: Slot,
        /// The block before it, if the engine names one.
        parent: Option<Value>,
        /// The block with its name and all its transactions.
        block: Block,
    },
    /// This party is about to cast the vote that makes the block final.
    Prefinalized {
        /// The slot of the block.
        slot: Slot,
        /// The view in which the vote is cast.
        view: View,
        /// The value that names the block.
        value: Value,
    },
    /// A slot is final with this block, and known to be of an epoch that was told. After a restart blocks may come
    /// again; those may not be whole any more.
    Ordered {
        /// The slot of the block.
        slot: Slot,
        /// The block with all its transactions.
        block: Block,
    },
    /// The keys of an epoch are here, and its channels have begun. After a restart this comes again, for each epoch.
    Began {
        /// The epoch of the keys.
        epoch: EpochId,
        /// The first slot of the epoch that channels have outputs in.
        first: Slot,
    },
    /// Another committee follows. This comes before anything of its slots does, and again after a restart.
    Follows {
        /// The committee, and its epoch.
        setup: Arc<Setup>,
        /// The first slot of the epoch.
        first: Slot,
    },
    /// How far this party has judged what blocks say of the next committee.
    Judged(Judged),
    /// The value of a final slot, as 32 random bytes.
    Value {
        /// The slot that the value belongs to.
        slot: Slot,
        /// 32 bytes that nobody could foresee.
        value: [u8; 32],
    },
    /// An effect of one of the application's channels.
    Beside(<A::Channels as Channels>::Effect),
    /// A job has ended.
    Checked(A::Verdict),
}

/// How far a party has judged what blocks say of the next committee. Neither slot ever goes back, except that a new
/// process begins from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// No block before this slot decides where an epoch begins that was not told as [`Input::Follows`].
    pub undecided: Slot,
    /// No slot before this one is of an epoch that was not told.
    pub limit: Slot,
}

impl Judged {
    /// No committee ever follows.
    pub const ALL: Self = Self { undecided: Slot::new(u64::MAX), limit: Slot::new(u64::MAX) };
    /// Nothing is judged, as at the start.
    pub const NOTHING: Self = Self { undecided: Slot::new(0), limit: Slot::new(0) };
}

/// What an application wants done, except for its records.
pub enum Effect<A: ChainApplication> {
    /// An input for one of the application's channels.
    Beside(<A::Channels as Channels>::Input),
    /// Show a peer what it has asked one of the application's channels for; see
    /// [`Lookup`](::prefinal_beacon::Effect::Lookup).
    Show {
        /// The peer that asks.
        to: Party,
        /// The epoch of the slot.
        epoch: EpochId,
        /// The channel's message with the output of the slot.
        message: <A::Channels as Channels>::Message,
    },
    /// Run this job and return its verdict as [`Input::Checked`].
    Run(A::Job),
    /// Tell this to logs, statistics and clients.
    Tell(A::Event),
}

/// What an application wants done, in this order.
pub type Output<A> = prefinal_protocol::Output<<A as ChainApplication>::Record, Effect<A>>;

/// A machine that works on the blocks of a validator.
pub trait ChainApplication: Sized + Send + 'static {
    /// The channels beside the one whose keys are made on the chain.
    type Channels: ExtraChannels;
    /// A record that must survive a crash.
    type Record: Clone + Debug + Send + Sync + BorshSerialize + BorshDeserialize + 'static;
    /// Work for a pool of threads.
    type Job: Send + 'static;
    /// The result of a job.
    type Verdict: Send + 'static;
    /// Something that an observer may want to know.
    type Event: Send + 'static;
    /// What jobs need beside themselves, for example a store.
    type Workers: Clone + Send + Sync + 'static;

    /// Takes one input. Its outputs are then read with [`poll`](Self::poll).
    fn handle(&mut self, now: Instant, input: Input<Self>);

    /// The next output. Outputs must be carried out in this order.
    fn poll(&mut self) -> Option<Output<Self>>;

    /// Does the work on the calling thread.
    fn run(job: Self::Job, workers: &Self::Workers) -> Self::Verdict;
}

/// Blocks have transactions of the key generation alone.
impl ChainApplication for () {
    type Channels = ();
    type Record = ();
    type Job = Infallible;
    type Verdict = Infallible;
    type Event = Infallible;
    type Workers = ();

    fn handle(&mut self, _: Instant, _: Input<Self>) {}

    fn poll(&mut self) -> Option<Output<Self>> {
        None
    }

    fn run(job: Infallible, (): &()) -> Infallible {
        job
    }
}
