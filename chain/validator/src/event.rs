//! What an observer is told, and why there is no way on.
use std::sync::Arc;

use ::beacon::stack::StackError;
use ::beacon::{ConfigError, FinalityError, Slot, Value, epochs};
use crypto_core::access::Party;
use crypto_core::certificate::ElectorateError;
use crypto_core::context::EpochId;

use crate::keygen::{KeygenError, Progress};
use crate::scheme::{AdmittedKeys, Keyed, PerPath};

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
