//! What goes into a participant and what comes out of it.
use std::sync::Arc;

use ::beacon::stack::{self, Channel, Envelope};
use ::beacon::{Slot, Value, View};
use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::access::Party;
use crypto_core::context::EpochId;
use engine::{Block, Quorum};
use protocol::Recipient;

use crate::beside::Beside;
use crate::event::Event;
use crate::keygen;
use crate::scheme::Keyed;
use crate::setup::{Identity, Setup};

/// What is durable before what follows it leaves.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub enum Record {
    /// Written by the generation of an epoch's key.
    Keygen(EpochId, pvss_dkg::protocol::Record),
    /// Written by a channel's beacon of an epoch.
    Beacon(Channel, EpochId, ::beacon::Record),
    /// A view was given up before there was a beacon to remember it.
    Abandoned(View),
    /// What was ordered: every slot before there is a beacon to remember it, every slot on which the next
    /// committee may depend, and every transaction.
    Ordered {
        /// The epoch that this party was in. Where each epoch has an engine of its own, what that finalized
        /// behind the epoch's end counts for nothing.
        epoch: EpochId,
        /// The slot, as the chain counts over all epochs.
        slot: Slot,
        /// Its block; `None` if it was skipped.
        block: Option<Value>,
        /// The block's transactions, in their order.
        transactions: Vec<Arc<[u8]>>,
    },
}

/// Work for a pool.
pub enum Job<S: Keyed, L: Beside = ()> {
    /// Dealings and keys of the epoch that the set-up is for.
    Keygen(Arc<Setup>, keygen::Job<S>),
    /// Partials of a beacon.
    Beacon(stack::Job<(S, L)>),
}

/// What came of a [`Job`].
pub enum Verdict<S: Keyed, L: Beside = ()> {
    /// Dealings of an epoch were made or checked, or keys opened.
    Keygen(EpochId, keygen::Verdict<S>),
    /// Partials were checked and combined.
    Beacon(stack::Verdict<(S, L)>),
}

/// What happens to a participant.
pub enum Input<S: Keyed, L: Beside = ()> {
    /// The host is ready.
    Start,
    /// The engine is about to vote: as [`beacon::Input::Prefinalized`].
    Prefinalized {
        /// The slot that becomes final if enough parties cast this vote.
        slot: Slot,
        /// Where the vote is cast.
        view: View,
        /// The value that the slot is then final with.
        value: Value,
    },
    /// The engine finalized a slot: the next one in order, or once more one that it has said. Transactions
    /// of the chain's own may be in the block.
    Finalized {
        /// The slot, as the chain counts over all epochs.
        slot: Slot,
        /// Its block; `None` if it was skipped.
        block: Option<Block>,
    },
    /// The engine is about to give up a view.
    Abandoned {
        /// The view that its timeout or nullify is for.
        view: View,
    },
    /// A peer's message, from an authenticated link.
    Received {
        /// The peer, by its number in all epochs.
        from: Party,
        /// The envelope that came over the link.
        envelope: Envelope<(S, L)>,
    },
    /// A job that was asked for has ended.
    Checked(Verdict<S, L>),
    /// The time of `wake_at` has come.
    Tick,
}

/// What a participant wants done, in this order.
pub type Output<S, L = ()> = protocol::Output<Record, Effect<S, L>>;

/// What a participant wants done, its records aside.
pub enum Effect<S: Keyed, L: Beside = ()> {
    /// The committee of an epoch is known, and its first slot: from there on the engine counts its votes.
    Prepare {
        /// What the committee agrees on.
        setup: Arc<Setup>,
        /// The first slot of its epoch.
        first: Slot,
    },
    /// All slots before this epoch are final and done with.
    Enter {
        /// What its committee agrees on.
        setup: Arc<Setup>,
        /// The first slot of its epoch.
        first: Slot,
    },
    /// The engine is to order this, sooner or later: if it may lose it, again.
    Submit {
        /// The epoch that it is for: dealings are of no use once it has begun, keys once it is over.
        epoch: EpochId,
        /// The transaction, as a block is to hold it.
        transaction: Vec<u8>,
    },
    /// A slot is final, and counts for keys and values. After a restart those on record are said again,
    /// with no other transactions than were needed.
    Ordered {
        /// The slot, as the chain counts over all epochs.
        slot: Slot,
        /// Its block; `None` if it was skipped.
        block: Option<Block>,
    },
    /// Send this over authenticated links.
    Send {
        /// One party, or all others.
        to: Recipient<Party>,
        /// What they are to receive.
        envelope: Envelope<(S, L)>,
    },
    /// Run this and bring the verdict back.
    Run(Job<S, L>),
    /// What a channel beside the first has to say.
    Beside(L::Effect),
    /// For logs, statistics and checkers.
    Tell(Event<S>),
}

/// How the engine goes through epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// One engine orders the slots of all epochs, and what leaves early is on the participant's record.
    Continuous,
    /// Each epoch has an engine of its own, which is made ready before anything of the epoch is done. What
    /// one finalizes behind its epoch's end does not count.
    Renewed,
}

/// The engine that a participant works for.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    pub(crate) quorum: Quorum,
    pub(crate) fast_attempt: Option<u32>,
    pub(crate) line: Line,
}

impl Host {
    /// An engine that goes through all epochs. `quorum` is the stake that makes a value final there;
    /// `fast_attempt` the attempt at a slot whose votes release partials, `None` if the engine cannot tell
    /// or may not.
    #[must_use]
    pub const fn new(quorum: Quorum, fast_attempt: Option<u32>) -> Self {
        Self { quorum, fast_attempt, line: Line::Continuous }
    }
}

impl<S: Keyed, L: Beside> Job<S, L> {
    /// Does the work; see the parts for what is secret in it.
    #[must_use]
    pub fn run(&self, identity: &Identity) -> Verdict<S, L> {
        match self {
            Self::Keygen(setup, job) => {
                Verdict::Keygen(setup.context.epoch, job.run(setup, identity))
            }
            Self::Beacon(job) => Verdict::Beacon(job.run()),
        }
    }
}
