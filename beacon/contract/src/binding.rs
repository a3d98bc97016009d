//! The input of the threshold function. It never contains the view.
use core::num::NonZeroU64;

use prefinal_protocol::Slot;

/// What the function is evaluated on. A scheme may add chain and epoch; the guide's first rule lists which do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The slot alone: for randomness, or a key for ciphertexts to the slot. With threshold BLS the slot is
    /// the round, so a chain whose first output is of slot 9 has no rounds 1 to 8.
    Slot,
    /// The slot as a round of drand, counted from the slot that is round 1: `round = slot − first + 1`.
    /// For threshold BLS only. It is for a chain that makes its key in its first slots, and for clients that
    /// ask for round 1, as drand's clients do.
    Rounds {
        /// The slot that is round 1. It stays the same as long as the key does, over all epochs. With another
        /// count, a slot would get the output of another slot, which is out already. A beacon refuses that.
        first: Slot,
    },
    /// The slot and its value: for a certificate.
    Value,
}

impl Binding {
    /// The round number under which drand's clients know a slot's output, if they can verify the scheme.
    /// `None` for slots before round 1, and for outputs that depend on values.
    #[must_use]
    pub const fn round(self, slot: Slot) -> Option<NonZeroU64> {
        match self {
            Self::Slot => NonZeroU64::new(slot.get()),
            Self::Rounds { first } => match slot.get().checked_sub(first.get()) {
                // 2⁶⁴ is no number of 64 bits, and no round either.
                Some(before) => NonZeroU64::new(before.wrapping_add(1)),
                None => None,
            },
            Self::Value => None,
        }
    }

    /// The slot that is round 1; `None` if outputs depend on values.
    #[must_use]
    pub const fn origin(self) -> Option<Slot> {
        match self {
            Self::Slot => Some(Slot::new(1)),
            Self::Rounds { first } => Some(first),
            Self::Value => None,
        }
    }
}
