//! What a message belongs to: chain, epoch, committee, slot.
//!
//! Every signature, proof and hash input of the protocols starts with the [`Context`] or [`Session`]
//! it was made for, so that nothing made for one chain, epoch or committee passes in another.
//!
//! Elsewhere: views, an engine's attempts at a slot (the beacon), domain tags that tell purposes
//! apart (each scheme's own).
use borsh::{BorshDeserialize, BorshSerialize};
pub use protocol::{ChainId, Context, EpochId, Slot};
use sha2::{Digest, Sha256};

const COMMITTEE_TAG: &[u8] = b"PREFINAL-V1-COMMITTEE";

/// Names a committee by a hash over its members' keys, stakes, weights and thresholds.
///
/// ```compile_fail,E0308
/// use crypto_core::context::{ChainId, CommitteeId};
/// let committee: CommitteeId = ChainId::new([0; 32]);
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct CommitteeId([u8; 32]);

/// One run of a protocol: a committee within a context.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct Session {
    /// Chain and epoch.
    pub context: Context,
    /// Who takes part, with which keys and weights.
    pub committee: CommitteeId,
}

impl CommitteeId {
    /// The committee that `encoding` describes. The encoding must be injective; Borsh is.
    #[must_use]
    pub fn of(encoding: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(COMMITTEE_TAG);
        hash.update(encoding);
        Self(hash.finalize().into())
    }

    /// The hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl Session {
    /// Bytes of [`Session::to_bytes`].
    pub const BYTES: usize = 72;

    /// Context and committee: a prefix for what is hashed or signed.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let fields = self.context.to_bytes().into_iter().chain(self.committee.0);
        bytes.iter_mut().zip(fields).for_each(|(byte, value)| *byte = value);
        bytes
    }
}
