//! Why a change of the committee does not count.
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{ChainId, EpochId};
use prefinal_weighted_rounding::Stake;

use crate::setup::PlanError;

/// Why a change of the committee does not count, or a draft cannot become one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The transaction is of another kind.
    #[error("the transaction is no change of the committee")]
    OtherKind,
    /// The transaction is longer than any change can be.
    #[error("the change has {got} bytes, at most {most} are read")]
    Length {
        /// Its length in bytes.
        got: usize,
        /// The greatest length.
        most: usize,
    },
    /// The bytes are no change.
    #[error("undecodable change: {0}")]
    Undecodable(String),
    /// The transaction's header names another epoch than the draft in it.
    #[error("the transaction is for {got}, the draft in it for {expected}")]
    Header {
        /// The epoch in the header.
        got: EpochId,
        /// The epoch of the draft.
        expected: EpochId,
    },
    /// The change is of another chain.
    #[error("the change is of {got}, this is {expected}")]
    Chain {
        /// The chain of the change.
        got: ChainId,
        /// This chain.
        expected: ChainId,
    },
    /// The change makes another epoch than the next one.
    #[error("the change makes {got}, the next is {expected}")]
    Epoch {
        /// The epoch that it makes.
        got: EpochId,
        /// The epoch behind the current one.
        expected: EpochId,
    },
    /// There is not one stake for each party and newcomer.
    #[error("{got} stakes for {expected} parties")]
    Stakes {
        /// Number of stakes.
        got: usize,
        /// Number of parties, newcomers included.
        expected: usize,
    },
    /// The chain would have had more parties than a change may name.
    #[error("{got} parties, those that have left included; at most {most} are possible")]
    TooMany {
        /// Number of parties.
        got: usize,
        /// The greatest number.
        most: usize,
    },
    /// Too few parties would have stake.
    #[error("{got} parties would have stake, a committee needs at least {need}")]
    TooFew {
        /// Number of parties with stake.
        got: usize,
        /// The least number.
        need: usize,
    },
    /// A newcomer would have no stake.
    #[error("{party} joins without stake")]
    NoStake {
        /// The newcomer.
        party: Party,
    },
    /// A party is named twice, or parties are not in their order.
    #[error("{what} are not in the parties' order, each once: {party}")]
    Order {
        /// "approvals" or "keys".
        what: &'static str,
        /// The first party that is not behind the one before.
        party: Party,
    },
    /// An approval is of a party that has no stake in this epoch.
    #[error("{party} has no stake in this epoch, so it approves nothing")]
    Stranger {
        /// The party.
        party: Party,
    },
    /// Too little stake approves.
    #[error("a stake of {got} approves, it must exceed {exceed}")]
    BelowQuorum {
        /// The stake that approves.
        got: Stake,
        /// The stake that must be exceeded: two thirds of all.
        exceed: Stake,
    },
    /// The member did not approve this draft.
    #[error("the approval is not {party}'s, or is of another draft")]
    Approval {
        /// The member.
        party: Party,
    },
    /// A key of a party that needs none: it leaves, or is a newcomer, whose key is in its application.
    #[error("{party} needs no fresh key")]
    NeedlessKey {
        /// The party.
        party: Party,
    },
    /// The party did not register this key for this epoch of this chain.
    #[error("the fresh key is not {party}'s, or is of another epoch or chain")]
    FreshKey {
        /// The party.
        party: Party,
    },
    /// The newcomer did not apply for this epoch of this chain.
    #[error("the application of {party} is not its own, or is for another epoch or chain")]
    Application {
        /// The number that the newcomer would get.
        party: Party,
    },
    /// The stakes and keys do not make a committee.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl ChangeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::OtherKind => "wrong-kind",
            Self::Length { .. } => "too-long",
            Self::Undecodable(_) | Self::Header { .. } => "invalid-value",
            Self::Chain { .. } => "other-session",
            Self::Epoch { .. } => "other-epoch",
            Self::Stakes { .. } => "wrong-count",
            Self::TooMany { .. } => "too-many-parties",
            Self::TooFew { .. } => "too-few-parties",
            Self::NoStake { .. } => "no-stake",
            Self::Order { .. } => "not-canonical",
            Self::Stranger { .. } => "not-a-member",
            Self::BelowQuorum { .. } => "below-quorum",
            Self::Approval { .. } | Self::FreshKey { .. } | Self::Application { .. } => {
                "signature-mismatch"
            }
            Self::NeedlessKey { .. } => "needless-key",
            Self::Plan(error) => error.code(),
        }
    }
}
