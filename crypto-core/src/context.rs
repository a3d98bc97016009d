//! What a message belongs to: chain, epoch, committee, slot.
//!
//! Every signature, proof and hash input of the protocols starts with the [`Context`] or [`Session`]
//! it was made for, so that nothing made for one chain, epoch or committee passes in another.
//!
//! Elsewhere: views, an engine's attempts at a slot (the beacon), domain tags that tell purposes
//! apart (each scheme's own).
use core::fmt;

use borsh::{BorshDeserialize, BorshSerialize};
use sha2::{Digest, Sha256};

const COMMITTEE_TAG: &[u8] = b"PREFINAL-V1-COMMITTEE";

/// Identifies a chain; a hash of its genesis, say.
///
/// ```compile_fail,E0308
/// use crypto_core::context::ChainId;
/// let chain: ChainId = [0_u8; 32];
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct ChainId([u8; 32]);

/// Counts the committees of a chain.
///
/// ```compile_fail,E0308
/// use crypto_core::context::EpochId;
/// let epoch: EpochId = 7_u64;
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct EpochId(u64);

/// What gets exactly one output: a height, or the engine's round. The view is never part of it.
///
/// ```compile_fail,E0308
/// use crypto_core::context::Slot;
/// let slot: Slot = 7_u64;
/// ```
/// ```compile_fail,E0308
/// use crypto_core::context::{EpochId, Slot};
/// let slot: Slot = EpochId::new(7);
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct Slot(u64);

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

/// The chain and epoch a message belongs to.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct Context {
    /// Which chain.
    pub chain: ChainId,
    /// Which of its epochs.
    pub epoch: EpochId,
}

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

impl ChainId {
    /// A chain by its identifier.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The identifier.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl EpochId {
    /// The epoch with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The epoch after this one; the last one is its own successor.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Slot {
    /// The slot with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The slot after this one; the last one is its own successor.
    #[must_use]
    pub const fn next(self) -> Self {
        self.after(1)
    }

    /// The slot that comes `count` slots later, or the last one.
    #[must_use]
    pub const fn after(self, count: u64) -> Self {
        Self(self.0.saturating_add(count))
    }
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

impl Context {
    /// Bytes of [`Context::to_bytes`].
    pub const BYTES: usize = 40;

    /// Chain and epoch, the epoch big-endian: a prefix for what is hashed or signed.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let fields = self.chain.0.into_iter().chain(self.epoch.0.to_be_bytes());
        bytes.iter_mut().zip(fields).for_each(|(byte, value)| *byte = value);
        bytes
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

impl fmt::Display for EpochId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {}", self.0)
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot {}", self.0)
    }
}

/// The first eight bytes are enough to tell chains apart in a log.
impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("chain ")?;
        self.0.iter().take(8).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_slot_has_no_successor() {
        assert_eq!(Slot::new(7).next(), Slot::new(8));
        assert_eq!(Slot::new(u64::MAX).next(), Slot::new(u64::MAX));
    }
}
