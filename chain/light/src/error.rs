//! Why something is not verified, one enum for each operation.
use alloc::string::String;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::SignatureError;
use prefinal_crypto_core::certificate::{CertificateError, ElectorateError};
use prefinal_protocol::{EpochId, Slot};
use prefinal_state::account::AccountError;
use prefinal_state::proof::ProofError;

/// Why members do not make a committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MembersError {
    /// A change is of a place that the committee does not have.
    #[error("{party} changes, and the committee has {parties} places")]
    Place {
        /// The party whose place it would be.
        party: Party,
        /// The number of places.
        parties: usize,
    },
    /// A key comes without the proof that its owner has the secret key.
    #[error("{party} does not prove possession of its key: {error}")]
    Possession {
        /// The party that should own the key.
        party: Party,
        /// What is wrong with the proof.
        error: SignatureError,
    },
    /// Keys and stakes do not make an electorate; a key that two members have, for instance.
    #[error(transparent)]
    Electorate(#[from] ElectorateError),
}

/// Why a client does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The epoch is another one than that which is pinned.
    #[error("this is not the epoch that is pinned")]
    Pin,
    /// These members are not the committee that the waypoint names. Ask somebody else for them.
    #[error("the members are not the committee of the waypoint")]
    Members,
    /// The waypoint names a committee that cannot be one.
    #[error(transparent)]
    Committee(#[from] MembersError),
}

/// Why a block is not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The certificate is of another epoch. If it is a later one, advance over the endings between them first; an
    /// earlier committee is not believed any more.
    #[error("the certificate is of {got}, and the client is in {here}")]
    Epoch {
        /// The epoch that the client is in.
        here: EpochId,
        /// The epoch that the block names.
        got: EpochId,
    },
    /// The slot lies before the epoch that is said to have certified it.
    #[error("{got} lies before the epoch, which begins with {first}")]
    BeforeEpoch {
        /// The first slot of the epoch.
        first: Slot,
        /// The slot that the block names.
        got: Slot,
    },
    /// No quorum of the committee has signed this.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The group's key has not signed this.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

/// Why a client does not advance to the next epoch. It stays where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndingError {
    /// The block that should show the next committee is not verified.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// The next epoch begins no later than the block that announces it.
    #[error("the next epoch begins with {first}, and {slot} belongs to this one")]
    First {
        /// The first slot of the next epoch.
        first: Slot,
        /// The slot of the block that announces it.
        slot: Slot,
    },
    /// The epoch has the last number that there is.
    #[error("no epoch comes after {0}")]
    LastEpoch(EpochId),
    /// The certified state does not announce this committee with this first slot.
    #[error("the certified state does not announce this epoch: {0}")]
    Row(#[from] ProofError),
    /// No quorum of the epoch has signed the next key with this committee and first slot.
    #[error("the next key is not signed by this epoch's committee: {0}")]
    Handover(#[from] CertificateError),
    /// The change does not make a committee of this one.
    #[error(transparent)]
    Members(#[from] MembersError),
}

/// Why an account is not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccountClaimError {
    /// The proof does not show the row.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The row is there, and no account.
    #[error(transparent)]
    Account(#[from] AccountError),
}

/// Why a beacon's value is not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BeaconError {
    /// The beacon has no round for this slot.
    #[error("{0} has no round")]
    NoRound(Slot),
    /// The group's key has not signed this slot's round.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

/// Why a proof shows nothing. The client stays where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LightProofError {
    /// The proof is of another chain.
    #[error("the proof is of another chain")]
    Chain,
    /// An ending does not lead on.
    #[error("ending {at} of the proof: {error}")]
    Ending {
        /// The position of the ending in the proof.
        at: usize,
        /// What is wrong with the ending.
        error: EndingError,
    },
    /// The block is not verified.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// A claim is not shown by its proof.
    #[error("claim {at} of the proof: {error}")]
    Claim {
        /// The position of the claim in the proof.
        at: usize,
        /// What is wrong with the claim.
        error: ProofError,
    },
}

/// Why bytes are not the expected object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LightWireError {
    /// More bytes than any object may have.
    #[error("{got} bytes, at most {most} are possible")]
    TooLong {
        /// The number of bytes.
        got: usize,
        /// The most that an object has.
        most: usize,
    },
    /// The bytes end too early.
    #[error("{got} bytes, version and kind are 2")]
    Truncated {
        /// The number of bytes.
        got: usize,
    },
    /// The bytes were written in another version of this format.
    #[error("version {got}, expected {}", crate::wire::VERSION)]
    Version {
        /// The version in the first byte.
        got: u8,
    },
    /// The bytes are an object of another kind.
    #[error("kind {got}, expected {expected}")]
    Kind {
        /// The kind that was asked for.
        expected: u8,
        /// The kind in the second byte.
        got: u8,
    },
    /// The body is not an encoding of the object.
    #[error("not an encoding of the object: {why}")]
    Malformed {
        /// What the decoder says.
        why: String,
    },
}

impl MembersError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Place { .. } => "not-a-member",
            Self::Possession { .. } => "possession-mismatch",
            Self::Electorate(error) => error.code(),
        }
    }
}

impl TrustError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Pin => "other-key",
            Self::Members => "other-committee",
            Self::Committee(error) => error.code(),
        }
    }
}

impl BlockError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Epoch { .. } => "other-session",
            Self::BeforeEpoch { .. } => "before-first-slot",
            Self::Certificate(error) => error.code(),
            Self::Signature(error) => error.code(),
        }
    }
}

impl EndingError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Block(error) => error.code(),
            Self::First { .. } => "epoch-too-early",
            Self::LastEpoch(_) => "epoch-order",
            Self::Row(error) => error.code(),
            Self::Handover(error) => error.code(),
            Self::Members(error) => error.code(),
        }
    }
}

impl AccountClaimError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Proof(error) => error.code(),
            Self::Account(error) => error.code(),
        }
    }
}

impl BeaconError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoRound(_) => "no-rounds",
            Self::Signature(error) => error.code(),
        }
    }
}

impl LightProofError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Chain => "other-chain",
            Self::Ending { error, .. } => error.code(),
            Self::Block(error) => error.code(),
            Self::Claim { error, .. } => error.code(),
        }
    }
}

impl LightWireError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLong { .. } => "too-long",
            Self::Truncated { .. } => "truncated",
            Self::Version { .. } => "wrong-version",
            Self::Kind { .. } => "wrong-kind",
            Self::Malformed { .. } => "malformed",
        }
    }
}
