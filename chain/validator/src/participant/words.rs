//! The inputs and outputs of a participant.
use std::sync::Arc;

use ::prefinal_beacon::stack::{self, Channel, Envelope};
use ::prefinal_beacon::{Slot, Switch, Value, View};
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_engine::{Block, Quorum};
use prefinal_protocol::Recipient;

use crate::event::Event;
use crate::extra::ExtraChannels;
use crate::keygen;
use crate::scheme::KeyedScheme;
use crate::setup::{Identity, Setup};

/// A record. It must be durable before anything that follows it leaves.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub enum Record {
    /// Written by the key generation of an epoch.
    Keygen(EpochId, prefinal_pvss_dkg::protocol::Record),
    /// Written by a channel's beacon in an epoch.
    Beacon(Channel, EpochId, ::prefinal_beacon::Record),
    /// A view was given up before there was a beacon that could remember it.
    Abandoned(View),
    /// A slot that was ordered. Recorded are: every slot before there is a beacon to remember it, every
    /// slot that may decide on the next committee, and every transaction of the key generation.
    Ordered {
        /// The epoch that this party was in. If each epoch has a separate engine, slots that an engine
        /// finalized behind the end of its epoch do not count.
        epoch: EpochId,
        /// The slot, in the chain's numbering over all epochs.
        slot: Slot,
        /// Its block; `None` if it was skipped.
        block: Option<Value>,
        /// Transactions of the block that are still needed, in their order.
        transactions: Vec<Arc<[u8]>>,
    },
}

/// Work for a pool of threads.
pub enum Job<S: KeyedScheme, L: ExtraChannels = ()> {
    /// Work on dealings and keys of the epoch of this set-up.
    Keygen(Arc<Setup>, keygen::Job<S>),
    /// Work on partials, for a beacon.
    Beacon(stack::Job<(S, L)>),
}

/// The result of a [`Job`].
pub enum Verdict<S: KeyedScheme, L: ExtraChannels = ()> {
    /// Dealings of an epoch were made or checked, or keys opened.
    Keygen(EpochId, keygen::Verdict<S>),
    /// Partials were checked and combined.
    Beacon(stack::Verdict<(S, L)>),
}

/// What the host tells a participant.
pub enum Input<S: KeyedScheme, L: ExtraChannels = ()> {
    /// The host is ready.
    Start,
    /// The engine is about to vote; see [`prefinal_beacon::Input::Prefinalized`].
    Prefinalized {
        /// The slot that becomes final if enough parties cast this vote.
        slot: Slot,
        /// The view in which the vote is cast.
        view: View,
        /// The value that the slot then has.
        value: Value,
    },
    /// The engine finalized a slot: the next one in order, or one that it reported before. The block
    /// may also hold transactions of the chain itself.
    Finalized {
        /// The slot, in the chain's numbering over all epochs.
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
        /// The peer, by its number, which is the same in all epochs.
        from: Party,
        /// The envelope that came over the link.
        envelope: Envelope<(S, L)>,
    },
    /// The kill switch: from a slot on, nothing leaves, or the slow path alone, or everything again. It is
    /// refused before there are keys. See [`prefinal_beacon::Input::Switch`].
    Switch(Switch),
    /// An input for one of the other channels, for example a slot's content.
    Beside(L::Input),
    /// A job that was asked for has ended.
    Checked(Verdict<S, L>),
    /// The time of `wake_at` has come.
    Tick,
}

/// What a participant wants done, in this order. See [`Effect`].
pub type Output<S, L = ()> = prefinal_protocol::Output<Record, Effect<S, L>>;

/// What a participant wants done, except for its records.
pub enum Effect<S: KeyedScheme, L: ExtraChannels = ()> {
    /// The committee of an epoch and its first slot are known. From that slot on the engine counts this
    /// committee's votes.
    Prepare {
        /// The set-up that the committee agrees on.
        setup: Arc<Setup>,
        /// The first slot of its epoch.
        first: Slot,
    },
    /// All slots before this epoch are final, and this party has entered it.
    Enter {
        /// The set-up that its committee agrees on.
        setup: Arc<Setup>,
        /// The first slot of its epoch.
        first: Slot,
    },
    /// The engine must order this transaction at some time. If the engine may lose it, submit it again.
    Submit {
        /// The epoch that it is for. Dealings are useless once that epoch has begun, keys once it is over.
        epoch: EpochId,
        /// The transaction, as it must stand in a block.
        transaction: Vec<u8>,
    },
    /// A slot is final and counts for keys and values. After a restart, recorded slots are reported
    /// again, with only those transactions that are still needed.
    Ordered {
        /// The slot, in the chain's numbering over all epochs.
        slot: Slot,
        /// Its block; `None` if it was skipped.
        block: Option<Block>,
    },
    /// Send this envelope over authenticated links.
    Send {
        /// One party, or all others.
        to: Recipient<Party>,
        /// The envelope to send.
        envelope: Envelope<(S, L)>,
    },
    /// A peer has missed outputs that this party does not hold any more. A host with an archive sends it one
    /// [`Output`](prefinal_beacon::Message::Output) for each slot that it finds there, as messages of this epoch.
    Lookup {
        /// The epoch of the slots.
        epoch: EpochId,
        /// The peer.
        to: Party,
        /// The slots that the peer asks for.
        slots: Vec<Slot>,
    },
    /// Run this job and return its verdict as [`Input::Checked`].
    Run(Job<S, L>),
    /// An effect of a channel beside the first.
    Beside(L::Effect),
    /// Tell this to logs, statistics and checkers.
    Tell(Event<S>),
}

/// How the engine goes through epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// One engine orders the slots of all epochs. Early releases are on the participant's own record.
    Continuous,
    /// Each epoch has a separate engine, which is made ready before anything of that epoch is done.
    /// Slots that an engine finalizes behind the end of its epoch do not count.
    Renewed,
}

/// A description of the engine that a participant works for.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    pub(crate) quorum: Quorum,
    pub(crate) fast_attempt: Option<u32>,
    pub(crate) line: Line,
    pub(crate) beside: bool,
}

impl Host {
    /// A host whose engine runs through all epochs. `quorum` is the stake that makes a value final in
    /// it. `fast_attempt` is the attempt at a slot whose votes release partials. It is `None` if the
    /// engine cannot tell the attempt, or if votes must not release partials.
    #[must_use]
    pub const fn new(quorum: Quorum, fast_attempt: Option<u32>) -> Self {
        Self { quorum, fast_attempt, line: Line::Continuous, beside: true }
    }

    /// The same for a chain that does not use the channels beside the first: they are not begun.
    #[must_use]
    pub const fn without_beside(self) -> Self {
        Self { beside: false, ..self }
    }
}

impl<S: KeyedScheme, L: ExtraChannels> Job<S, L> {
    /// Does the work. Which secrets it uses is said at the two kinds of jobs.
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
