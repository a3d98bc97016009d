//! Why a configuration is refused: by the scheme, or by the beacon.
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::threshold::Purpose;

use prefinal_contract::{Path, ThresholdError};
use prefinal_protocol::Slot;

/// Why a beacon cannot be made from a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// This party's number is not in the committee.
    #[error("{party} is not among the {members} parties of the {path} path")]
    NotMember {
        /// The party that the configuration says this one is.
        party: Party,
        /// The path whose committee does not have it.
        path: Path,
        /// How many parties that committee has.
        members: usize,
    },
    /// The two paths must have the same parties.
    #[error("slow path has {slow} parties, fast path {fast}")]
    Members {
        /// How many parties the slow path has.
        slow: usize,
        /// How many parties the fast path has.
        fast: usize,
    },
    /// The fast path releases earlier, so its threshold must not be lower than the slow one.
    #[error("fast path takes a weight of {fast}, slow path {slow}")]
    Thresholds {
        /// The threshold of the slow path, in weight.
        slow: u128,
        /// The threshold of the fast path, in weight.
        fast: u128,
    },
    /// The stake table does not have one stake for each party.
    #[error("{path} path has {parties} parties, the table {stakes} stakes")]
    Stakes {
        /// The path whose committee and stake table differ in size.
        path: Path,
        /// How many parties that committee has.
        parties: usize,
        /// How many stakes the table has.
        stakes: usize,
    },
    /// The weights of the committee are not those of the stake table.
    #[error("{party} weighs {got} on the {path} path, {expected} in the table")]
    Weight {
        /// The path on which the weight differs.
        path: Path,
        /// The party whose weight differs.
        party: Party,
        /// The weight that it holds on the path.
        got: u128,
        /// The weight that its stake was rounded to.
        expected: u128,
    },
    /// A threshold that the engine's finality does not allow.
    #[error(transparent)]
    Threshold(#[from] ThresholdError),
    /// The party uses one blinding for both paths. Then its fast partial is its slow partial, and the slow
    /// threshold would hold at prefinalization.
    #[error("{party} uses one blinding for both paths")]
    SharedBlinding {
        /// The party whose partials on the two paths would be equal.
        party: Party,
    },
    /// A share is on both paths. Then the fast partial is the slow partial.
    #[error("{party} has one share on both paths")]
    SharedShare {
        /// This party, which has one share on both paths.
        party: Party,
    },
    /// The group keys differ, so the two paths would give two outputs.
    #[error("slow and fast path have different group keys")]
    GroupKeys,
    /// The secret does not fit the committee's keys. Everybody would reject this party's partials.
    #[error("secret of the {path} path does not fit the committee's keys")]
    WrongKey {
        /// The path for which this party was given another secret.
        path: Path,
    },
    /// A scheme that counts exact stake has one path only. Its output is complete as soon as the value is
    /// final, so a second path could not need more. And one key on both paths gives one partial for both.
    #[error("a multi-signature has one path")]
    OnePath,
    /// Both paths must decrypt the same ciphertexts, so their bounds must be equal.
    #[error("slow and fast path have different bounds on what a slot decrypts")]
    Bounds,
    /// Only threshold BLS can number its outputs as rounds of drand.
    #[error("outputs are no rounds of drand: they are bound to the slot or to its value")]
    NoRounds,
    /// The function takes the slot's value, so outputs must be bound to it.
    #[error("outputs must depend on the slot's value")]
    Unbound,
    /// Each key is for outputs of one kind, and this one is for another kind.
    #[error("key of the {path} path is for {got:?}, these outputs need one for {expected:?}")]
    Purpose {
        /// The path whose key is for outputs of another kind.
        path: Path,
        /// What the key is for.
        got: Purpose,
        /// What the outputs need.
        expected: Purpose,
    },
    /// A party in its first life has no records yet. A party that has some is in a later life.
    #[error("first life, but {records} records of an earlier one")]
    FirstLife {
        /// How many records the party was started with.
        records: usize,
    },
    /// The last slot number cannot be used, because no slot comes after it.
    #[error("{first} cannot be the first with an output: no slot comes after it")]
    LastSlot {
        /// The configured first slot, which is the last number there is.
        first: Slot,
    },
    /// The function is not defined at this slot.
    #[error("{first} cannot be the first with an output: there is nothing to evaluate on")]
    NoInput {
        /// The configured first slot, for which the scheme has no input.
        first: Slot,
    },
}

impl ConfigError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotMember { .. } => "not-a-member",
            Self::Members { .. } | Self::Stakes { .. } => "wrong-count",
            Self::Weight { .. } => "weight-mismatch",
            Self::Threshold(error) => error.code(),
            Self::Thresholds { .. } => "threshold-order",
            Self::SharedBlinding { .. } => "shared-blinding",
            Self::SharedShare { .. } => "shared-share",
            Self::GroupKeys => "other-key",
            Self::WrongKey { .. } => "share-mismatch",
            Self::OnePath => "one-path",
            Self::Bounds => "different-bounds",
            Self::Unbound => "value-unbound",
            Self::Purpose { .. } => "wrong-purpose",
            Self::FirstLife { .. } => "not-first-life",
            Self::LastSlot { .. } => "last-slot",
            Self::NoInput { .. } => "no-input",
            Self::NoRounds => "no-rounds",
        }
    }
}
