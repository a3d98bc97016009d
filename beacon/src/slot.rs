//! Slots, views and values: the engine's words, without the engine.
//!
//! A slot gets exactly one output. A view is one attempt of the engine at a slot; views are ordered
//! by slot, then attempt. Tendermint has height and round; in Jolteon a round is both slot and view,
//! and its attempt is 0. Neither view nor attempt ever enters the function: see rule 1 of the
//! contract ([`crate::contract`]).
use std::fmt;

use borsh::{BorshDeserialize, BorshSerialize};

pub use crypto_core::context::Slot;

/// One attempt of the engine at a slot.
///
/// ```compile_fail,E0308
/// use beacon::{Slot, View};
/// let view: View = Slot::new(7);
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct View {
    /// Which slot.
    pub slot: Slot,
    /// Which attempt at it, from 0.
    pub attempt: u32,
}

/// What the engine finalizes in a slot, by its hash.
///
/// ```compile_fail,E0308
/// let value: beacon::Value = [0_u8; 32];
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct Value([u8; 32]);

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

    /// The hash.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
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
    fn views_are_ordered_by_slot_before_attempt() {
        let view = |slot, attempt| View::new(Slot::new(slot), attempt);
        assert!(view(1, 9) < view(2, 0));
        assert!(view(2, 0) < view(2, 1));
    }
}
