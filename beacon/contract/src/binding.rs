//! What enters the function: never the view.
use core::num::NonZeroU64;

use protocol::Slot;

/// What the function is evaluated on, beside chain and epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The slot alone: randomness, a key for ciphertexts to the slot. With threshold BLS the slot is the
    /// round, so a chain whose first output is of slot 9 has no rounds 1 to 8.
    Slot,
    /// The slot as a round of drand, counted from the slot that is round 1: `round = slot − first + 1`.
    /// Threshold BLS alone. For a chain that makes its key in its first slots, and for clients that ask
    /// for round 1, as drand's do.
    Rounds {
        /// The slot that is round 1. It stays as long as the key does, over all epochs: counted
        /// otherwise, a slot's output would be that of another slot, which is out already.
        /// A beacon refuses that.
        first: Slot,
    },
    /// The slot and its value: a certificate.
    Value,
}

impl Binding {
    /// The number under which drand's clients know a slot's output, if the scheme is theirs; `None` for
    /// slots before round 1 and for outputs that depend on values.
    #[must_use]
    pub const fn round(self, slot: Slot) -> Option<NonZeroU64> {
        match self {
            Self::Slot => NonZeroU64::new(slot.get()),
            Self::Rounds { first } => match slot.get().checked_sub(first.get()) {
                // One more than 2⁶⁴ − 1 is no number; it is no round either.
                Some(before) => NonZeroU64::new(before.wrapping_add(1)),
                None => None,
            },
            Self::Value => None,
        }
    }

    /// The slot that is round 1.
    #[must_use]
    pub const fn origin(self) -> Option<Slot> {
        match self {
            Self::Slot => Some(Slot::new(1)),
            Self::Rounds { first } => Some(first),
            Self::Value => None,
        }
    }
}
