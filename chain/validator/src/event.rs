//! Events for observers, and the reasons why a validator cannot start or continue.
use std::sync::Arc;

use ::prefinal_beacon::stack::StackError;
use ::prefinal_beacon::{ConfigError, FinalityError, Slot, Value, epochs};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::certificate::ElectorateError;
use prefinal_crypto_core::context::EpochId;

use crate::keygen::{KeygenError, Progress};
use crate::scheme::{AdmittedKeys, KeyedScheme, PerPath};
use crate::setup::RefusedChange;

/// Something that an observer may want to know.
#[derive(Clone, Debug)]
pub enum Event<S: KeyedScheme> {
    /// One more dealing counts for a key that is being made.
    Dealing {
        /// The epoch that the key is for.
        epoch: EpochId,
        /// Number of dealings that count so far.
        dealings: usize,
        /// What is missing, or that the dealings make a key.
        progress: Progress,
    },
    /// The keys of an epoch suffice.
    Ready {
        /// The epoch that the keys are for.
        epoch: EpochId,
        /// The first slot of the epoch that has a value.
        first_slot: Slot,
        /// The public part of each path, which an outside verifier needs.
        committees: Box<PerPath<S::Committee>>,
    },
    /// A party's keys were admitted late: the epoch had keys enough already.
    Admitted(EpochId, Arc<AdmittedKeys<S>>),
    /// A slot is final.
    Finalized {
        /// The slot, as the chain counts over all epochs.
        slot: Slot,
        /// Its block; `None` if it was skipped.
        block: Option<Value>,
    },
    /// A slot has its value.
    Revealed(Box<::prefinal_beacon::Reveal<S>>),
    /// A peer did wrong; the fault is described in words.
    Accused {
        /// The peer, by its number in every epoch.
        party: Party,
        /// The check that failed.
        fault: String,
    },
    /// The slot has no value: it was skipped, or the beacon is switched off.
    Skipped(Slot),
    /// A transaction did not count, or an event of the engine released nothing; described in words.
    Refused(String),
    /// A final block names the committee of the next epoch, to which the key is now handed over.
    Named {
        /// The next epoch.
        epoch: EpochId,
        /// The slot of the block.
        slot: Slot,
    },
    /// A transaction that should change the committee does not count.
    ChangeRefused {
        /// The final slot whose block has it.
        slot: Slot,
        /// The transaction's place in the block, and the check that it fails.
        change: RefusedChange,
    },
    /// This validator cannot continue. It does nothing more, and its run has failed.
    Halted(HaltError),
}

/// Why a validator does not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The engine refuses its configuration or its records; described in words.
    #[error("the engine does not start: {0}")]
    Engine(String),
    /// The application does not continue from what is left of it; described in words.
    #[error("the application does not start: {0}")]
    Application(String),
    /// The key generation's records are not its own, or the previous key cannot be handed over.
    #[error(transparent)]
    Keygen(#[from] KeygenError),
}

impl StartError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Engine(_) => "engine-refused",
            Self::Application(_) => "machine-refused",
            Self::Keygen(error) => error.code(),
        }
    }
}

/// Why a running validator cannot continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HaltError {
    /// The thresholds cannot be compared with the stake that makes a value final.
    #[error("no measure for the thresholds: {0}")]
    Finality(#[from] FinalityError),
    /// The beacon refuses the configuration that follows from the keys and the set-up.
    #[error("the beacon refuses its configuration: {0}")]
    Config(#[from] ConfigError),
    /// The next committee's keys do not fit this committee's.
    #[error("the beacon refuses the next epoch: {0}")]
    Handover(epochs::HandoverError),
    /// The channels cannot run beside each other.
    #[error("the channels refuse the epoch: {0}")]
    Channels(StackError),
    /// Members and stakes do not make a committee that can sign certificates.
    #[error("no certificates: {0}")]
    Certificates(#[from] ElectorateError),
    /// The engine skipped a slot without saying so.
    #[error("the engine finalizes {slot}, expected {expected}")]
    Gap {
        /// The slot that the engine finalized.
        slot: Slot,
        /// The first slot that is not final here.
        expected: Slot,
    },
    /// The next epoch's engine or key generation does not start.
    #[error(transparent)]
    Start(#[from] StartError),
}

impl HaltError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Finality(error) => error.code(),
            Self::Config(error) => error.code(),
            Self::Handover(error) => error.code(),
            Self::Channels(error) => error.code(),
            Self::Certificates(error) => error.code(),
            Self::Gap { .. } => "slot-gap",
            Self::Start(error) => error.code(),
        }
    }
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
