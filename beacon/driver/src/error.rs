//! Why calls are refused.
use crypto_core::access::Party;
use crypto_core::context::EpochId;
use journal::JournalError;

/// Why a driver takes nothing any more.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Stopped {
    /// It was asked to.
    #[error("the driver was shut down")]
    ShutDown,
    /// The journal failed: nothing may leave that could be forgotten. Restart from what is stored.
    #[error("the driver stopped: {0}")]
    Journal(#[from] JournalError),
    /// Nobody reads its effects, so nothing that it promises could be sent.
    #[error("the driver stopped: nobody reads its effects")]
    Unheard,
    /// The machine has no way on, and what it was told last may not be on record.
    #[error("the driver stopped: {0}")]
    Halted(String),
    /// A call panicked in the middle of a step.
    #[error("the driver stopped: a thread panicked inside of it")]
    Panicked,
}

/// Why a peer's message was not taken. It is not the peer's fault, except for the first.
///
/// [`UnknownEpoch`](Self::UnknownEpoch), [`Full`](Self::Full) and [`TooLarge`](Self::TooLarge) are back-pressure and no failure: let the message
/// go and read on. What the protocol needs of it, it asks for again.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MessageError {
    /// Not one of the committee.
    #[error("{from} is not among the {members} parties of the committee")]
    NotMember {
        /// Who sent it.
        from: Party,
        /// How many there are.
        members: usize,
    },
    /// The message is dropped: this party has not been told of the epoch yet, or is done with it.
    #[error("{epoch} is not here: message of {from}")]
    UnknownEpoch {
        /// The peer that sent it.
        from: Party,
        /// Of which epoch it is.
        epoch: EpochId,
    },
    /// The message is dropped: what this peer sent before waits still.
    #[error("{waiting} messages of {from} wait already, at most {limit} may")]
    Full {
        /// Who sent it.
        from: Party,
        /// How many of its messages wait.
        waiting: usize,
        /// How many may.
        limit: usize,
    },
    /// The message is dropped: with what this peer sent before it is too much.
    #[error("message of {got} bytes, {waiting} bytes of {from} wait already, at most {limit} may")]
    TooLarge {
        /// Who sent it.
        from: Party,
        /// How many bytes it has.
        got: usize,
        /// How many bytes of its messages wait.
        waiting: usize,
        /// How many may.
        limit: usize,
    },
    /// Nothing is taken any more.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}
