//! The words that every protocol shares: parties, times, subjects and chains.
//!
//! A slot gets exactly one output. A view is one attempt of the engine at a slot; views are ordered by
//! slot, then by attempt. In Tendermint they are height and round. In Jolteon a round is both slot and view,
//! and its attempt is 0. Neither view nor attempt ever enters a threshold function.
use core::fmt;

use borsh::{BorshDeserialize, BorshSerialize};

/// A member of the committee, named by its position.
///
/// ```compile_fail,E0308
/// use prefinal_protocol::Party;
/// let party: Party = 7_u32;
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct Party(u32);

/// Identifies a chain, for example by a hash of its genesis.
///
/// ```compile_fail,E0308
/// use prefinal_protocol::ChainId;
/// let chain: ChainId = [0_u8; 32];
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct ChainId([u8; 32]);

/// Numbers the committees of a chain.
///
/// ```compile_fail,E0308
/// use prefinal_protocol::EpochId;
/// let epoch: EpochId = 7_u64;
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct EpochId(u64);

/// The unit that gets exactly one output: a height, or the engine's round. The view is never part of it.
///
/// ```compile_fail,E0308
/// use prefinal_protocol::Slot;
/// let slot: Slot = 7_u64;
/// ```
/// ```compile_fail,E0308
/// use prefinal_protocol::{EpochId, Slot};
/// let slot: Slot = EpochId::new(7);
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct Slot(u64);

/// One attempt of the engine at a slot.
///
/// ```compile_fail,E0308
/// use prefinal_protocol::{Slot, View};
/// let view: View = Slot::new(7);
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct View {
    /// The slot that the engine tries to finalize.
    pub slot: Slot,
    /// The number of the attempt at the slot, counted from 0.
    pub attempt: u32,
}

/// The value that the engine finalizes in a slot, named by its hash.
///
/// ```compile_fail,E0308
/// let value: prefinal_protocol::Value = [0_u8; 32];
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct Value([u8; 32]);

/// The chain and epoch that a message belongs to.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct Context {
    /// The chain, so that a message made for it is not valid on another.
    pub chain: ChainId,
    /// The epoch of the chain.
    pub epoch: EpochId,
}

impl Party {
    /// The party at this position.
    #[must_use]
    pub const fn new(position: u32) -> Self {
        Self(position)
    }

    /// Its position in the committee, counted from 0.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The position as an index into slices.
    #[must_use]
    pub fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl ChainId {
    /// A chain by its identifier.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes that identify the chain.
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

    /// The number of this epoch.
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

    /// The number of this slot.
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

impl View {
    /// Attempt `attempt` at `slot`.
    #[must_use]
    pub const fn new(slot: Slot, attempt: u32) -> Self {
        Self { slot, attempt }
    }
}

impl Value {
    /// The value with this hash.
    #[must_use]
    pub const fn new(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// The 32 bytes of the hash.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

impl Context {
    /// The number of bytes that [`Context::to_bytes`] gives.
    pub const BYTES: usize = 40;

    /// Chain, then epoch in big-endian: a prefix for data that is hashed or signed.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let fields = self.chain.0.into_iter().chain(self.epoch.0.to_be_bytes());
        bytes.iter_mut().zip(fields).for_each(|(byte, value)| *byte = value);
        bytes
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "party {}", self.0)
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

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "attempt {} at {}", self.attempt, self.slot)
    }
}

/// The first eight bytes tell values apart in a log.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

    #[test]
    fn views_are_ordered_by_slot_before_attempt() {
        let view = |slot, attempt| View::new(Slot::new(slot), attempt);
        assert!(view(1, 9) < view(2, 0));
        assert!(view(2, 0) < view(2, 1));
    }
}
