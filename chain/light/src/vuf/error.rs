//! Why keys or values of a weighted VUF are not verified.
use prefinal_crypto_core::access::{AccessError, Party, ThresholdError};
use prefinal_crypto_core::wvuf::{
    AdmitError, CommitteeError, InsertError, QuorumError, SharedBlinding,
};
use prefinal_protocol::{EpochId, Slot};

/// Why keys are not those of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VufKeysError {
    /// Weights, thresholds or public shares are not those of the epoch: these keys belong to another one, or the server
    /// lies.
    #[error("weights, thresholds and public shares are not those of the epoch's key")]
    Digest,
    /// Nobody holds a share, or there are too many parties or shares.
    #[error(transparent)]
    Weights(#[from] AccessError),
    /// A threshold is zero, or larger than the number of shares.
    #[error(transparent)]
    Threshold(#[from] ThresholdError),
    /// The public shares make no committee.
    #[error(transparent)]
    Committee(#[from] CommitteeError),
    /// A blinded key is not its party's.
    #[error("blinded key of {party}: {error}")]
    Blinded {
        /// The party whose key it should be.
        party: Party,
        /// The check that it fails.
        error: AdmitError,
    },
    /// A party uses one blinding factor on both paths.
    #[error(transparent)]
    SharedBlinding(#[from] SharedBlinding),
    /// A key cannot be entered.
    #[error(transparent)]
    Insert(#[from] InsertError),
}

/// Why a value is not verified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VufValueError {
    /// The value is of another epoch, whose keys are others.
    #[error("the value is of {got}, and the keys are of {here}")]
    Epoch {
        /// The epoch of the keys.
        here: EpochId,
        /// The epoch that the value names.
        got: EpochId,
    },
    /// The slot lies before the epoch.
    #[error("{got} lies before the epoch, which begins with {first}")]
    BeforeEpoch {
        /// The first slot of the epoch.
        first: Slot,
        /// The slot that the value names.
        got: Slot,
    },
    /// The partials are of the fast path, and the epoch has none.
    #[error("the epoch has no fast path")]
    NoFastPath,
    /// The partials are false, too few, or of parties without a key.
    #[error(transparent)]
    Partials(#[from] QuorumError),
}

impl VufKeysError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Digest => "other-key",
            Self::Weights(error) => error.code(),
            Self::Threshold(error) => error.code(),
            Self::Committee(error) => error.code(),
            Self::Blinded { error, .. } => error.code(),
            Self::SharedBlinding(error) => error.code(),
            Self::Insert(error) => error.code(),
        }
    }
}

impl VufValueError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Epoch { .. } => "other-session",
            Self::BeforeEpoch { .. } => "before-first-slot",
            Self::NoFastPath => "unused-path",
            Self::Partials(error) => error.code(),
        }
    }
}
