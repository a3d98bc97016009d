//! What a peer did wrong, and why a follower stops.
use prefinal_execution::{Header, Roots};
use prefinal_light::{BeaconError, BlockError, EndingError};
use prefinal_protocol::EpochId;
use prefinal_state::proof::ProofError;

use crate::wire::WireError;

/// What a peer did wrong: no honest peer sends this, so it is banned. What was wrong is found by anybody who has
/// the answer and the same trust.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The message cannot be decoded, or is larger than was asked for.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The answer is of another kind than the request.
    #[error("the answer is of another kind than the request")]
    Kind,
    /// Blocks of other heights than were asked for, or more of them.
    #[error("the blocks are not those that were asked for")]
    Order,
    /// A range of other keys than were asked for.
    #[error("the range is not the one that was asked for")]
    Range,
    /// The block's name or roots are not those of its parent, height and transactions.
    #[error("a block is not the one that its name and roots stand for")]
    Name,
    /// The certificate is not one of the block.
    #[error(transparent)]
    Certificate(#[from] BlockError),
    /// A block is of an epoch that is over.
    #[error("a block of {got} behind one of {here}")]
    Epoch {
        /// The epoch of the blocks before.
        here: EpochId,
        /// The epoch of the block.
        got: EpochId,
    },
    /// A transaction cannot be decoded.
    #[error("a transaction cannot be decoded")]
    Transaction,
    /// The delta was asked for and is missing, or the other way round.
    #[error("a block comes without the delta that was asked for, or with one that was not")]
    DeltaMissing,
    /// The results are not those that are certified.
    #[error("the results are not the certified ones")]
    Results,
    /// The changed rows do not lead to the certified state.
    #[error("the changed rows do not lead to the certified state")]
    Delta,
    /// The slot's value is not the one that the beacon signed.
    #[error(transparent)]
    Randomness(#[from] BeaconError),
    /// The rows are not those of the certified state.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The ending does not lead to the next epoch.
    #[error(transparent)]
    Ending(#[from] EndingError),
}

impl Fault {
    /// The fault's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Wire(error) => error.code(),
            Self::Kind | Self::Order | Self::Range | Self::DeltaMissing => "other-answer",
            Self::Name => "other-block",
            Self::Certificate(error) => error.code(),
            Self::Epoch { .. } => "other-epoch",
            Self::Transaction => "malformed-message",
            Self::Results | Self::Delta => "proof-mismatch",
            Self::Randomness(error) => error.code(),
            Self::Proof(error) => error.code(),
            Self::Ending(error) => error.code(),
        }
    }
}

/// Why a follower stops. It does not start again by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StopReason {
    /// The committee certified another state than executing the block gives here. One of the two is broken, or
    /// more than a third of the stake lies.
    #[error("{} of {} is certified with another result than it has here", header.id, header.height)]
    Diverged {
        /// The block that was executed.
        header: Header,
        /// The roots that are certified.
        certified: Roots,
        /// The roots that were computed here.
        computed: Roots,
    },
    /// A certified block is no child of the certified block before it: more than a third of the stake lies.
    #[error("{} of {} is certified and no child of the block before", header.id, header.height)]
    Forked {
        /// The block that does not fit.
        header: Header,
    },
    /// The store or the executor failed. Open the store again: it has what was durable.
    #[error("the store or the executor failed: {0}")]
    Failed(String),
}

impl StopReason {
    /// The reason's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Diverged { .. } => "state-diverged",
            Self::Forked { .. } => "not-next",
            Self::Failed(_) => "halted",
        }
    }
}
