//! Why a call is refused or a stream ends, and what the engine is told.
use prefinal_driver::StopReason;
use prefinal_protocol::Slot;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

/// The trailing metadata with an error's stable code.
pub const CODE: &str = "prefinal-code";
/// The trailing metadata with the first slot at which a stream can begin.
pub const FIRST_SLOT: &str = "prefinal-first-slot";

/// Why a call is refused, or why a stream ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// A field of the request has another length than it must have.
    #[error("{field}: {got} bytes, expected {expected}")]
    WrongLength {
        /// The field.
        field: &'static str,
        /// Its length.
        got: usize,
        /// The length that it must have.
        expected: usize,
    },
    /// The block's transactions are longer than a block may be.
    #[error("block.transactions: {got} bytes, at most {limit} are taken")]
    BlockTooLarge {
        /// Bytes of all transactions.
        got: usize,
        /// The most that they may have.
        limit: usize,
    },
    /// Slots were left out. A participant that heard of it would stop for good.
    #[error("{slot} is reported as final, expected {expected}: report every slot, in order")]
    Gap {
        /// The slot of the call.
        slot: Slot,
        /// The next slot that is not on record.
        expected: Slot,
    },
    /// The slot is final with another value. Either the engine's agreement is broken, or it is another
    /// chain's.
    #[error("{slot} is on record with another value")]
    SecondFinal {
        /// The slot of the call.
        slot: Slot,
    },
    /// What the stream should send next is not kept any more.
    #[error("{slot} is not kept any more, {first} is the first that is")]
    Forgotten {
        /// The slot that the stream should send.
        slot: Slot,
        /// The first slot that a stream can begin with.
        first: Slot,
    },
    /// There are as many streams as there may be.
    #[error("{limit} streams are open, no more may be: close one")]
    TooManyStreams {
        /// The most that may be open.
        limit: usize,
    },
    /// The sidecar has stopped, and an operator has to act before it can go on.
    #[error("{reason}")]
    Stopped {
        /// The code of what stopped it.
        code: &'static str,
        /// The reason, for people.
        reason: String,
    },
    /// The process is about to end, as its operator wants.
    #[error("the sidecar shuts down")]
    ShutDown,
    /// A bug: the call panicked.
    #[error("the call failed inside of the sidecar")]
    Panicked,
}

impl CallError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::WrongLength { .. } => "wrong-length",
            Self::BlockTooLarge { .. } => "too-long",
            Self::Gap { .. } => "slot-gap",
            Self::SecondFinal { .. } => "final-twice",
            Self::Forgotten { .. } => "slots-forgotten",
            Self::TooManyStreams { .. } => "too-many-streams",
            Self::Stopped { code, .. } => code,
            Self::ShutDown => "shut-down",
            Self::Panicked => "panicked",
        }
    }

    const fn status(&self) -> Code {
        match self {
            Self::WrongLength { .. } | Self::BlockTooLarge { .. } => Code::InvalidArgument,
            Self::Gap { .. } | Self::SecondFinal { .. } | Self::Stopped { .. } => {
                Code::FailedPrecondition
            }
            Self::Forgotten { .. } => Code::OutOfRange,
            Self::TooManyStreams { .. } => Code::ResourceExhausted,
            Self::ShutDown => Code::Unavailable,
            Self::Panicked => Code::Internal,
        }
    }
}

impl From<StopReason> for CallError {
    fn from(why: StopReason) -> Self {
        match why {
            StopReason::ShutDown => Self::ShutDown,
            why => Self::Stopped { code: why.code(), reason: why.to_string() },
        }
    }
}

impl From<CallError> for Status {
    fn from(error: CallError) -> Self {
        let mut status = Self::new(error.status(), error.to_string());
        status.metadata_mut().insert(CODE, MetadataValue::from_static(error.code()));
        if let CallError::Forgotten { first, .. } = error {
            status.metadata_mut().insert(FIRST_SLOT, first.get().into());
        }
        status
    }
}
