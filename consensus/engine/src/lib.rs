//! What a chain asks of a consensus engine, in the words of the release contract.
//!
//! | the engine says              | Jolteon               | Malachite                                 |
//! |------------------------------|-----------------------|-------------------------------------------|
//! | slot, attempt                | round, 0              | height, round                             |
//! | [`Effect::Prefinalized`]     | order vote            | non-nil precommit in round 0              |
//! | [`Effect::Finalized`]        | quorum of order votes | commit certificate                        |
//! | [`Effect::Abandoned`]        | timeout               | nil precommit, or a later round           |
//! | the early partial travels    | beside the order vote | in the vote itself, see [`Engine::carry`] |
//!
//! An engine knows no beacon, and the beacon no engine: a validator hands the events of one to the other.
//! Every event is reported with its slot and view; whether a partial may leave on it is for the contract
//! to decide. What else must hold of an engine is played by `prefinal-engine-suite`: an engine's tests name its
//! keys, read its messages and list the laws.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod pace;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::error::Error;
use core::fmt::Debug;
use core::time::Duration;

use borsh::{BorshDeserialize, BorshSerialize};
pub use contract::Quorum;
use protocol::{Context, Instant, Party, Recipient, Slot, Value, View};
use weighted_rounding::Stake;

pub use crate::pace::Pace;

/// What travels, is stored or leaves as work: all of it plain data.
pub trait Data: Clone + Debug + Send + Sync + 'static {}
impl<T: Clone + Debug + Send + Sync + 'static> Data for T {}

/// A member of an engine's committee.
#[derive(Clone, Debug)]
pub struct Member<K> {
    /// What it signs with, as the others know it.
    pub key: K,
    /// What the engine counts for it. Zero is allowed.
    pub stake: Stake,
}

/// What every engine is started with.
#[derive(Clone, Debug)]
pub struct Config<K> {
    /// The chain and its epoch.
    pub context: Context,
    /// Which member this engine is.
    pub me: Party,
    /// All members, by party.
    pub members: Vec<Member<K>>,
    /// How long the engine waits for an attempt before it gives it up.
    pub timeout: Duration,
    /// When the leader of a round proposes.
    pub pace: Pace,
    /// Most bytes of transactions in a block.
    pub max_block_bytes: usize,
}

/// A consensus engine that orders transactions and tells the beacon what it needs to know.
pub trait Engine: Sized + Send + 'static {
    /// What engines send each other.
    type Message: Data + BorshSerialize + BorshDeserialize;
    /// What must survive a crash.
    type Record: Data + BorshSerialize + BorshDeserialize;
    /// Work for a pool.
    type Job: Work<Verdict = Self::Verdict> + Send + 'static;
    /// What came of it.
    type Verdict: Send + 'static;

    /// The attempt at a slot whose prefinalization releases a partial; `None` if the engine cannot tell.
    const FAST_ATTEMPT: Option<u32>;
    /// Which share of the stake makes a value final, and which may be faulty. No threshold of a path that
    /// releases on prefinalization may lie below it.
    const QUORUM: Quorum;

    /// Takes one input.
    fn handle(&mut self, now: Instant, input: Input<Self>);

    /// The next thing to do, in the order in which it must be done.
    fn poll(&mut self) -> Option<Output<Self>>;

    /// When the engine wants to be handled again if nothing else happens first.
    fn wake_at(&self) -> Option<Instant>;

    /// Offers what was released on the prefinalization that was polled last, before anything else is
    /// polled. An engine that takes it stores and sends it as a part of that vote, and names it in
    /// [`Past::released`] after a crash; one that does not gives it back.
    ///
    /// # Errors
    /// The bytes, if they have to travel on their own.
    fn carry(&mut self, partial: Vec<u8>) -> Result<(), Vec<u8>> {
        Err(partial)
    }
}

/// How an engine starts.
pub trait Launch: Engine {
    /// What members are known by.
    type PublicKey: Data;
    /// What this party signs with.
    type SecretKey;
    /// Why it does not start.
    type StartError: Error;

    /// An engine that goes on where its records end, and what it told the world before.
    ///
    /// # Errors
    /// If the configuration is none for this engine, the key is not this member's, or the records are not
    /// what was written.
    fn start(
        config: Config<Self::PublicKey>,
        key: Self::SecretKey,
        records: Vec<Self::Record>,
    ) -> Result<(Self, Past), Self::StartError>;
}

/// What an engine told the world before it crashed, as far as its own records are the only ones of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// The latest view that was given up.
    pub abandoned: Option<View>,
    /// Prefinalizations that carried a partial.
    pub released: Vec<(Slot, Value)>,
}

/// Work of an engine.
pub trait Work {
    /// What comes of it.
    type Verdict;

    /// Does it.
    fn run(&self) -> Self::Verdict;
}

/// No work leaves the engine.
impl Work for Infallible {
    type Verdict = Self;

    fn run(&self) -> Self {
        *self
    }
}

/// What happens to an engine.
pub enum Input<E: Engine> {
    /// Begin.
    Start,
    /// A peer's message, from an authenticated link.
    Received {
        /// The peer.
        from: Party,
        /// What it sent.
        message: E::Message,
    },
    /// Please put this into a block.
    Submit(Vec<u8>),
    /// A job ended.
    Checked(E::Verdict),
    /// A deadline passed.
    Tick,
}

/// What an engine wants done, in this order.
pub type Output<E> = protocol::Output<<E as Engine>::Record, Effect<E>>;

/// What an engine wants done, its records aside.
pub enum Effect<E: Engine> {
    /// Send this.
    Send {
        /// To whom.
        to: Recipient<Party>,
        /// What.
        message: E::Message,
    },
    /// Run this and bring the verdict back.
    Run(E::Job),
    /// This party is about to cast the vote that makes the value final once enough parties cast it.
    Prefinalized {
        /// Whose value. If the vote is for a descendant and only implies this slot, it is not the view's.
        slot: Slot,
        /// Where the vote is cast.
        view: View,
        /// For what.
        value: Value,
    },
    /// What travelled in a peer's vote, see [`Engine::carry`]. The engine checked who sent it, nothing else.
    Carried {
        /// Whose vote it was.
        from: Party,
        /// The bytes.
        partial: Vec<u8>,
    },
    /// The slot is over for good, with this block or without one. Every slot, ascending.
    Finalized {
        /// The slot.
        slot: Slot,
        /// Its block; `None` if it was skipped.
        block: Option<Block>,
    },
    /// This party will not prefinalize in this view or an earlier one.
    Abandoned {
        /// The view.
        view: View,
    },
    /// A peer did wrong, in words.
    Accused {
        /// Who.
        party: Party,
        /// What.
        fault: String,
    },
    /// An input led to nothing though it should have, in words.
    Refused(String),
}

/// What was ordered.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Block {
    /// Its name.
    pub value: Value,
    /// What is in it.
    pub transactions: Vec<Arc<[u8]>>,
}
