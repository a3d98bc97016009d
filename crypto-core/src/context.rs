//! The context of a message: chain, epoch, committee and slot.
//!
//! Every signature, proof and hash input of the protocols starts with the [`Context`] or [`Session`]
//! that it was made for, except rounds for drand's clients, which only the group key binds to a chain. So nothing that was made for one chain, epoch or committee is valid in
//! another.
//!
//! Views, which are an engine's attempts at a slot, belong to the crate `prefinal_beacon`. Each scheme has its
//! own domain tags, which separate purposes.
use borsh::{BorshDeserialize, BorshSerialize};
pub use prefinal_protocol::{ChainId, Context, EpochId, Slot};
use sha2::{Digest, Sha256};

const COMMITTEE_TAG: &[u8] = b"PREFINAL-V1-COMMITTEE";

/// The name of a committee: a hash over its members' keys, stakes, weights and thresholds.
///
/// ```compile_fail,E0308
/// use prefinal_crypto_core::context::{ChainId, CommitteeId};
/// let committee: CommitteeId = ChainId::new([0; 32]);
/// ```
///
/// ```
/// use prefinal_crypto_core::context::CommitteeId;
/// let committee = CommitteeId::of(b"keys, stakes, weights and thresholds, encoded");
/// assert_ne!(committee, CommitteeId::of(b"another committee"));
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct CommitteeId([u8; 32]);

/// One run of a protocol: a committee on one chain in one epoch.
///
/// ```
/// use prefinal_crypto_core::context::{ChainId, CommitteeId, Context, EpochId, Session};
/// let chain = ChainId::new(*b"an identifier of 32 bytes, so so");
/// let in_epoch = |epoch| Session {
///     context: Context { chain, epoch: EpochId::new(epoch) },
///     committee: CommitteeId::of(b"the committee, encoded"),
/// };
/// assert_ne!(in_epoch(1).to_bytes(), in_epoch(2).to_bytes());
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct Session {
    /// The chain and the epoch.
    pub context: Context,
    /// The committee that takes part, with its keys and weights.
    pub committee: CommitteeId,
}

impl CommitteeId {
    /// The name of the committee that `encoding` describes. The encoding must be injective; Borsh is.
    #[must_use]
    pub fn of(encoding: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(COMMITTEE_TAG);
        hash.update(encoding);
        Self(hash.finalize().into())
    }

    /// The 32 bytes of the hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl Session {
    /// Number of bytes that [`Session::to_bytes`] gives.
    pub const BYTES: usize = 72;

    /// Context and committee as bytes. Put them in front of data that is hashed or signed.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let fields = self.context.to_bytes().into_iter().chain(self.committee.0);
        bytes.iter_mut().zip(fields).for_each(|(byte, value)| *byte = value);
        bytes
    }
}
