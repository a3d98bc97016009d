//! Why the driver refuses calls.
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_journal::JournalError;

/// Why a driver has stopped. It takes no more calls.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StopReason {
    /// The caller shut it down.
    #[error("the driver was shut down")]
    ShutDown,
    /// The journal failed. Nothing may leave whose record could be lost. Restart from what is stored.
    #[error("the driver stopped: {0}")]
    Journal(#[from] JournalError),
    /// Nobody reads the effects, so nothing that the machine promises could be sent.
    #[error("the driver stopped: nobody reads its effects")]
    Unheard,
    /// The machine cannot continue. Its last input may not be on record.
    #[error("the driver stopped: {0}")]
    Halted(String),
    /// A call panicked in the middle of a step.
    #[error("the driver stopped: a thread panicked inside of it")]
    Panicked,
}

impl StopReason {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::ShutDown => "shut-down",
            Self::Journal(error) => error.code(),
            Self::Unheard => "effects-unread",
            Self::Halted(_) => "halted",
            Self::Panicked => "panicked",
        }
    }
}

/// Why a peer's message was not taken. Only [`NotMember`](Self::NotMember) is the peer's fault.
///
/// [`UnknownEpoch`](Self::UnknownEpoch), [`Full`](Self::Full) and [`TooLarge`](Self::TooLarge) are
/// back-pressure and not failures: ignore the message and read on. The protocol asks again for what it needs.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The sender is not in the committee of that epoch.
    #[error("{from} is not among the {members} parties of the committee")]
    NotMember {
        /// The peer that sent it.
        from: Party,
        /// How many parties the committee has.
        members: usize,
    },
    /// The message is dropped: this party has not been told of the epoch yet, or has finished it.
    #[error("{epoch} is not here: message of {from}")]
    UnknownEpoch {
        /// The peer that sent it.
        from: Party,
        /// The epoch that the message names.
        epoch: EpochId,
    },
    /// The message is dropped: too many earlier messages of this peer still wait.
    #[error("{waiting} messages of {from} wait already, at most {limit} may")]
    Full {
        /// The peer that sent it.
        from: Party,
        /// How many of its messages wait.
        waiting: usize,
        /// The most that may wait.
        limit: usize,
    },
    /// The message is dropped: together with the peer's waiting messages it has too many bytes.
    #[error("message of {got} bytes, {waiting} bytes of {from} wait already, at most {limit} may")]
    TooLarge {
        /// The peer that sent it.
        from: Party,
        /// The length of the message in bytes.
        got: usize,
        /// How many bytes of its messages wait.
        waiting: usize,
        /// The most bytes that may wait.
        limit: usize,
    },
    /// The driver has stopped and takes no messages.
    #[error(transparent)]
    Stopped(#[from] StopReason),
}

impl MessageError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotMember { .. } => "not-a-member",
            Self::UnknownEpoch { .. } => "unknown-epoch",
            Self::Full { .. } | Self::TooLarge { .. } => "queue-full",
            Self::Stopped(error) => error.code(),
        }
    }
}
