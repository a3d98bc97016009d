//! What goes into a validator and what comes out of it.
use std::sync::Arc;

use ::beacon::stack::StackError;
use ::beacon::{ConfigError, FinalityError, Slot, Value, epochs};
use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::access::Party;
use crypto_core::certificate::ElectorateError;
use crypto_core::context::EpochId;
use engine::{Block, Engine, Past, Work};
use protocol::Recipient;

use crate::keygen::{KeygenError, Progress};
use crate::participant;
use crate::scheme::{AdmittedKeys, Keyed, PerPath};
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

/// What an observer may want to know.
#[derive(Clone, Debug)]
pub enum Event<S: Keyed> {
    /// One more dealing counts for a key that is being made.
    Dealing {
        /// The epoch that the key is for.
        epoch: EpochId,
        /// How many do by now.
        dealings: usize,
        /// What they lack, or that they make a key.
        progress: Progress,
    },
    /// An epoch's keys suffice.
    Ready {
        /// The epoch that the keys are for.
        epoch: EpochId,
        /// Its first slot with a value.
        first_slot: Slot,
        /// The public side of each path: what an outside verifier needs.
        committees: Box<PerPath<S::Committee>>,
    },
    /// A party's keys came when values were being revealed already.
    Admitted(EpochId, Arc<AdmittedKeys<S>>),
    /// A slot is final.
    Finalized {
        /// The slot, as the chain counts over all epochs.
        slot: Slot,
        /// Its block; `None` if it was skipped.
        block: Option<Value>,
    },
    /// A slot has its value.
    Revealed(Box<::beacon::Reveal<S>>),
    /// A peer did wrong, in words.
    Accused {
        /// The peer, by its number in every epoch.
        party: Party,
        /// The check that failed.
        fault: String,
    },
    /// A slot was skipped or the beacon switched off: it has no value.
    Skipped(Slot),
    /// A transaction did not count, or an event of the engine released nothing; in words.
    Refused(String),
    /// This validator cannot go on: it does nothing more, and its run has failed.
    Halted(HaltError),
}

/// Why a validator does not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The engine refuses its configuration or its records; in words.
    #[error("the engine does not start: {0}")]
    Engine(String),
    /// The key generation's records are not its own, or the key before cannot be handed over.
    #[error(transparent)]
    Keygen(#[from] KeygenError),
}

/// Why a validator that was running cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HaltError {
    /// Thresholds cannot be held against the stake that makes a value final.
    #[error("no measure for the thresholds: {0}")]
    Finality(#[from] FinalityError),
    /// What the keys and the set-up amount to makes no beacon.
    #[error("the beacon refuses its configuration: {0}")]
    Config(#[from] ConfigError),
    /// The next committee's keys do not follow on this one's.
    #[error("the beacon refuses the next epoch: {0}")]
    Handover(epochs::HandoverError),
    /// The channels do not stand side by side.
    #[error("the channels refuse the epoch: {0}")]
    Channels(StackError),
    /// Members and stakes make no committee that signs certificates.
    #[error("no certificates: {0}")]
    Certificates(#[from] ElectorateError),
    /// The engine left a slot out.
    #[error("the engine finalizes {slot}, expected {expected}")]
    Gap {
        /// The slot that it finalized.
        slot: Slot,
        /// The first that is not final here.
        expected: Slot,
    },
    /// The next epoch's engine or key generation does not start.
    #[error(transparent)]
    Start(#[from] StartError),
}

impl From<epochs::HandoverError> for HaltError {
    fn from(error: epochs::HandoverError) -> Self {
        match error {
            epochs::HandoverError::Config(error) => Self::Config(error),
            error => Self::Handover(error),
        }
    }
}

impl From<StackError> for HaltError {
    fn from(error: StackError) -> Self {
        match error {
            StackError::Handover(error) => error.into(),
            error => Self::Channels(error),
        }
    }
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
