//! What goes into a validator and what comes out of it.
use ::beacon::Slot;
use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::access::Party;
use crypto_core::context::EpochId;
use engine::{Block, Engine, Past, Work};
use protocol::Recipient;

use crate::event::{Event, StartError};
use crate::participant;
use crate::scheme::Keyed;
use crate::setup::{Identity, Setup};

/// What validators send each other.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub enum Message<S: Keyed, M> {
    /// Between engines of an epoch.
    Engine(EpochId, M),
    /// Between beacons of an epoch.
    Beacon(EpochId, #[borsh(bound(serialize = "", deserialize = ""))] ::beacon::Message<S>),
    /// The sender hears of a later epoch, and misses what is final in this slot.
    Ask {
        /// The first slot that is not final at the sender.
        slot: Slot,
    },
    /// The answer: what is final at the sender.
    Final {
        /// The slot that was asked for.
        slot: Slot,
        /// Its block; `None` if it was skipped.
        block: Option<Block>,
    },
}

/// What is durable before what follows it leaves.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub enum Record<R> {
    /// Written by the engine of an epoch.
    Engine(EpochId, R),
    /// Written by what stands around it.
    Participant(participant::Record),
}

/// Work for a pool.
pub enum Job<S: Keyed, J> {
    /// Signatures of an epoch's engine.
    Engine(EpochId, J),
    /// Dealings, keys and partials.
    Participant(participant::Job<S>),
}

/// What came of a [`Job`].
pub enum Verdict<S: Keyed, V> {
    /// Signatures of an epoch's engine were checked.
    Engine(EpochId, V),
    /// Dealings were made or checked, keys opened, or partials combined.
    Participant(participant::Verdict<S>),
}

/// What happens to a validator.
pub enum Input<S: Keyed, E: Engine> {
    /// The driver is ready.
    Start,
    /// A peer's message, from an authenticated link.
    Received {
        /// The party at the other end of the link.
        from: Party,
        /// The message, which nobody has looked into yet.
        message: Message<S, E::Message>,
    },
    /// A job that was asked for has ended.
    Checked(Verdict<S, E::Verdict>),
    /// The time of `wake_at` has come.
    Tick,
}

/// What a validator wants done, in this order.
pub type Output<S, E> = protocol::Output<Record<<E as Engine>::Record>, Effect<S, E>>;

/// What a validator wants done, its records aside.
pub enum Effect<S: Keyed, E: Engine> {
    /// Send this over authenticated links.
    Send {
        /// One party, or all others.
        to: Recipient<Party>,
        /// What they are to receive.
        message: Message<S, E::Message>,
    },
    /// Run this and bring the verdict back.
    Run(Job<S, E::Job>),
    /// For logs, statistics and checkers.
    Tell(Event<S>),
}

/// How this party's engine of an epoch starts, and goes on where its records of that epoch end.
///
/// # Errors
/// If the engine refuses its configuration or its records.
pub type Begin<E> =
    fn(&Setup, &Identity, Vec<<E as Engine>::Record>) -> Result<(E, Past), StartError>;

impl<S: Keyed, J: Work> Job<S, J> {
    /// Does the work; see the parts for what is secret in it.
    #[must_use]
    pub fn run(&self, identity: &Identity) -> Verdict<S, J::Verdict> {
        match self {
            Self::Engine(epoch, job) => Verdict::Engine(*epoch, job.run()),
            Self::Participant(job) => Verdict::Participant(job.run(identity)),
        }
    }
}
