//! The interface between a chain and a consensus engine, in the terms of the release contract.
//!
//! The smallest engine, of a committee of one party that has nobody to wait for:
//! ```
//! # use std::collections::VecDeque;
//! # use std::convert::Infallible;
//! use prefinal_engine::{Block, Effect, Engine, Input, Output, Quorum};
//! use prefinal_protocol::{Instant, Slot, Value, View};
//!
//! #[derive(Default)]
//! struct Alone {
//!     height: u64,
//!     outputs: VecDeque<Output<Self>>,
//! }
//!
//! impl Engine for Alone {
//! #     type Message = u8;
//! #     type Record = u8;
//! #     type Job = Infallible;
//! #     type Verdict = Infallible;
//!     const FAST_ATTEMPT: Option<u32> = Some(0); // votes of a slot's first view release partials
//!     const QUORUM: Quorum = Quorum::BYZANTINE;
//!
//!     fn handle(&mut self, _: Instant, input: Input<Self>) {
//!         let Input::Submit(transaction) = input else { return };
//!         self.height += 1;
//!         let (slot, value) = (Slot::new(self.height), Value::new([7; 32])); // the block's hash
//!         let view = View::new(slot, 0);
//!         let block = Block { value, transactions: vec![transaction.into()] };
//!         let vote = Effect::Prefinalized { slot, view, value };
//!         let end = Effect::Finalized { slot, block: Some(block) };
//!         self.outputs.extend([vote, end].map(Output::Do));
//!     }
//!     fn poll(&mut self) -> Option<Output<Self>> {
//!         self.outputs.pop_front()
//!     }
//!     fn wake_at(&self) -> Option<Instant> {
//!         None
//!     }
//! }
//!
//! let mut engine = Alone::default();
//! engine.handle(Instant::START, Input::Submit(b"pay".to_vec()));
//! let effects: Vec<_> = std::iter::from_fn(|| engine.poll()?.effect()).collect();
//! assert!(matches!(effects[0], Effect::Prefinalized { .. })); // first the vote, for the fast path
//! assert!(matches!(effects[1], Effect::Finalized { block: Some(_), .. }));
//! ```
//!
//! | event of the engine          | Jolteon               | Malachite                                 | Trantor                     | DISPEL                      |
//! |------------------------------|-----------------------|-------------------------------------------|-----------------------------|-----------------------------|
//! | slot, attempt                | round, 0              | height, round                             | height, view                | stage, 0                    |
//! | [`Effect::Proposed`]         | with its own vote     | no                                        | no                          | no                          |
//! | [`Effect::Prefinalized`]     | order vote            | non-nil precommit; only round 0 may release | commit; only view 0 may release | auxiliary votes on all proposers, if quorums proposed the same bits |
//! | [`Effect::Finalized`]        | quorum of order votes, or certificates of two rounds in a row | commit certificate | quorum of commits           | all bits decided, and the batches here |
//! | [`Effect::Abandoned`]        | timeout               | nil precommit, or a later round           | view change                 | never: a stage has one attempt |
//! | the early partial travels    | beside the order vote | in the vote itself, see [`Engine::carry`] | in the vote itself          | beside the votes            |
//!
//! An engine does not depend on the beacon, nor the beacon on an engine: a validator passes the events
//! of one to the other. Every event is reported with its slot and view. The contract decides whether a
//! partial may leave on it. The other promises of an engine are tested by `prefinal-engine-suite`: an
//! engine's tests say how its keys are made and how its messages are read, and call `laws!`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod collector;
mod idle;
mod pace;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::error::Error;
use core::fmt::Debug;
use core::time::Duration;

use borsh::{BorshDeserialize, BorshSerialize};
pub use prefinal_contract::Quorum;
use prefinal_protocol::{Context, Instant, Party, Recipient, Slot, Value, View};
use prefinal_weighted_rounding::Stake;

pub use crate::idle::IdleMeter;
pub use crate::pace::Pace;

/// Plain data that is sent, stored or passed on as work.
pub trait Data: Clone + Debug + Send + Sync + 'static {}
impl<T: Clone + Debug + Send + Sync + 'static> Data for T {}

/// A member of an engine's committee.
#[derive(Clone, Debug)]
pub struct Member<K> {
    /// Public key that verifies its signatures.
    pub key: K,
    /// Stake that the engine counts for it. Zero is allowed.
    pub stake: Stake,
}

/// Configuration that every engine is started with.
#[derive(Clone, Debug)]
pub struct Config<K> {
    /// The chain and the epoch.
    pub context: Context,
    /// The member that this engine belongs to.
    pub me: Party,
    /// All members. The position in the list is the [`Party`].
    pub members: Vec<Member<K>>,
    /// How long the engine waits in an attempt before it gives it up.
    pub timeout: Duration,
    /// When the leader of a round may propose.
    pub pace: Pace,
    /// Limit of the transactions in a block, in bytes.
    pub max_block_bytes: usize,
}

/// A consensus engine that orders transactions and reports the events that the beacon needs.
pub trait Engine: Sized + Send + 'static {
    /// What engines send to each other.
    type Message: Data + BorshSerialize + BorshDeserialize;
    /// Record that must survive a crash.
    type Record: Data + BorshSerialize + BorshDeserialize;
    /// Work for a pool of threads.
    type Job: Work<Verdict = Self::Verdict> + Send + 'static;
    /// Result of a job.
    type Verdict: Send + 'static;

    /// The attempt at a slot whose prefinalization releases a partial; `None` if the engine cannot tell.
    const FAST_ATTEMPT: Option<u32>;
    /// Which part of the stake makes a value final, and which part may be faulty. No path that releases
    /// on prefinalization may have a threshold below it.
    const QUORUM: Quorum;
    /// Whether the engine says what is proposed ([`Effect::Proposed`]), mostly before the prefinalization. An
    /// engine whose blocks name no parent cannot.
    const TELLS_PROPOSALS: bool = false;
    /// Whether the engine has use for [`idle`](Self::idle) and [`memory`](Self::memory).
    const BEGINS_WHEN_IDLE: bool = false;
    /// How many of the last slots [`adopted`](Self::adopted) has to be shown, `u64::MAX` for all; zero if the engine goes
    /// on behind none.
    const RECALLS: u64 = 0;
    /// Most bytes that the engine itself adds to the transactions of a block.
    const ADDED_BYTES: usize = 0;

    /// Takes one input. Its outputs are then read with [`poll`](Self::poll).
    fn handle(&mut self, now: Instant, input: Input<Self>);

    /// The next output. Outputs must be carried out in this order.
    fn poll(&mut self) -> Option<Output<Self>>;

    /// When the engine wants to be handled again, if nothing else happens before.
    fn wake_at(&self) -> Option<Instant>;

    /// Tells the engine that its network has room for more now, see [`IdleMeter`]. Its outputs are then read with
    /// [`poll`](Self::poll). An engine with one slot at a time has no use for it.
    fn idle(&mut self, _now: Instant) {}

    /// Tells the engine how many bytes of memory it may use besides what it uses now. Its outputs are then read with
    /// [`poll`](Self::poll). What it heard last holds until it hears more; before that its configuration is the only
    /// limit. An engine with one slot at a time has no use for it.
    fn memory(&mut self, _now: Instant, _bytes: u64) {}

    /// The message's place in the queue to its peer: lower ones leave first, equal ones in the order in which they were
    /// sent. By default all are equal.
    fn rank(_message: &Self::Message) -> u64 {
        0
    }

    /// The records with which the engine of a party that was away goes on behind the last of these blocks, which are
    /// final as others have shown: oldest first, all blocks of the last [`RECALLS`](Self::RECALLS) slots that the engine
    /// has not reported itself. Behind the engine's own records they move on what is final, and leave every promise as
    /// it is.
    ///
    /// Each block has all its transactions. Those that the chain executes may stand before all others; among
    /// themselves both are in the block's order. So what an engine has to find again it adds as the last transaction, with
    /// another first byte than all that are executed ([`ADDED_BYTES`](Self::ADDED_BYTES)).
    ///
    /// No records say that the blocks are not what they should be; then the party goes on from before.
    fn adopted(_blocks: impl Iterator<Item = FinalBlock>) -> Vec<Self::Record> {
        Vec::new()
    }

    /// Offers the bytes that were released on the prefinalization polled last. Call it before anything
    /// else is polled. An engine that takes the bytes stores and sends them as a part of that vote, and
    /// reports them in [`PastVotes::released`] after a crash. An engine that does not take them gives them
    /// back.
    ///
    /// # Errors
    /// The bytes, if they must be sent separately.
    fn carry(&mut self, partial: Vec<u8>) -> Result<(), Vec<u8>> {
        Err(partial)
    }
}

/// An engine that can be started from a configuration, a key and records.
pub trait Launch: Engine {
    /// Public key of a member.
    type PublicKey: Data;
    /// Secret key that this party signs with.
    type SecretKey;
    /// Why the engine does not start.
    type StartError: Error;

    /// Starts an engine that continues where its records end. Also returns what it sent before.
    ///
    /// # Errors
    /// If the configuration is not valid for this engine, the key is not this member's, or the records
    /// differ from what was written.
    fn start(
        config: Config<Self::PublicKey>,
        key: Self::SecretKey,
        records: Vec<Self::Record>,
    ) -> Result<(Self, PastVotes), Self::StartError>;
}

/// What an engine sent before it crashed, as far as only its own records tell it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PastVotes {
    /// The latest view that it gave up.
    pub abandoned: Option<View>,
    /// Prefinalizations whose votes carried a partial: slot and value.
    pub released: Vec<(Slot, Value)>,
}

/// A job of an engine.
pub trait Work {
    /// The result of the job.
    type Verdict;

    /// Does the work on the calling thread. Give the verdict back to the engine.
    fn run(&self) -> Self::Verdict;
}

/// For engines that give no work away.
impl Work for Infallible {
    type Verdict = Self;

    fn run(&self) -> Self {
        *self
    }
}

/// What happens to an engine.
pub enum Input<E: Engine> {
    /// Start the engine. Give this input once, before all others.
    Start,
    /// A peer's message, from an authenticated link.
    Received {
        /// The peer that sent it.
        from: Party,
        /// What the peer sent, decoded.
        message: E::Message,
    },
    /// A transaction that should be put into a block.
    Submit(Vec<u8>),
    /// A job has ended with this verdict.
    Checked(E::Verdict),
    /// A deadline has passed, see [`Engine::wake_at`].
    Tick,
}

/// What an engine wants done, in this order. See [`Effect`].
pub type Output<E> = prefinal_protocol::Output<<E as Engine>::Record, Effect<E>>;

/// What an engine wants done, except for its records.
pub enum Effect<E: Engine> {
    /// Send this message to peers, over links that authenticate this party.
    Send {
        /// One party, or all others.
        to: Recipient<Party>,
        /// The message to send.
        message: E::Message,
    },
    /// Run this job and return its verdict as [`Input::Checked`].
    Run(E::Job),
    /// A proposal that the engine has checked, with all its transactions: it may become final. For those that
    /// begin to work on a block before it is ordered. See [`Engine::TELLS_PROPOSALS`].
    Proposed {
        /// The slot that it is proposed for.
        slot: Slot,
        /// The value that names the block before it; `None` if it is the engine's first block.
        parent: Option<Value>,
        /// The block with its name and all its transactions.
        block: Block,
    },
    /// This party is about to cast the vote that makes the value final once enough parties cast it.
    Prefinalized {
        /// The slot of the value. If the vote is for a descendant and only implies this slot, it
        /// differs from the view's slot.
        slot: Slot,
        /// The view in which the vote is cast.
        view: View,
        /// The value that the vote is for.
        value: Value,
    },
    /// Bytes that a peer's vote carried, see [`Engine::carry`]. The engine has checked only who sent them.
    Carried {
        /// The party whose vote it was.
        from: Party,
        /// The partial as bytes, which the engine does not read.
        partial: Vec<u8>,
    },
    /// The slot is final, with this block or without one. Every slot is reported, in ascending order.
    Finalized {
        /// The slot that the engine decided.
        slot: Slot,
        /// Its block; `None` if it was skipped.
        block: Option<Block>,
    },
    /// This party will not prefinalize in this view or an earlier one.
    Abandoned {
        /// The view that this party gives up.
        view: View,
    },
    /// A peer did wrong; the fault is described in words.
    Accused {
        /// The peer that is at fault.
        party: Party,
        /// What the peer did, in words.
        fault: String,
    },
    /// An input had no effect though it should have had one; described in words.
    Refused(String),
}

/// A block that was ordered.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Block {
    /// The value that names the block.
    pub value: Value,
    /// Its transactions, in their order.
    pub transactions: Vec<Arc<[u8]>>,
}

/// A block with the slot that it is final in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalBlock {
    /// The slot that the engines of others decided.
    pub slot: Slot,
    /// The block that is final there.
    pub block: Block,
}
