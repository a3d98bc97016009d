//! What travels between beacons and what a beacon stores, in Borsh.
//!
//! | message   | bytes                                                     |
//! |-----------|-----------------------------------------------------------|
//! | `Partial` | `0` ‖ path (1) ‖ slot (8) ‖ `0`, or `1` ‖ value (32) ‖ σ   |
//! | `Request` | `1` ‖ slot (8)                                            |
//! | `Show`    | `2` ‖ slot (8) ‖ count (4)                                |
//! | `Shown`   | `3` ‖ slot (8) ‖ path (1) ‖ output                         |
//! | `AskHead` | `4` ‖ life (16)                                           |
//! | `Head`    | `5` ‖ life (16) ‖ slot (8)                                |
//!
//! An output is shown as 48 bytes with threshold BLS, and with the weighted VUF as the partials that it
//! was combined from, `k` (4) ‖ `k` times party (4) ‖ σ, by party.
//!
//! σ is 96 bytes with the weighted VUF; with threshold BLS it is the weight `w` (4) ‖ `w` points (48 each).
//! Decoding checks that these are canonical points of the prime-order subgroup and not the identity;
//! whether they are as many as the party's weight is checked on arrival, whether they are right is
//! checked late, see `collector`. Decoding costs a subgroup check for each point: a link refuses frames
//! longer than [`Beacon::longest_message`](crate::Beacon::longest_message) before it decodes them. Messages carry neither sender nor chain: the
//! link authenticates the one, and a partial of another chain or epoch fails its check.

use borsh::{BorshDeserialize, BorshSerialize};

use crate::schemes::Function;
use crate::switch::Switch;
use contract::Path;
use contract::lost::LifeId;
use protocol::{Slot, Value, View};

/// What beacons send each other.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Message<S: Function> {
    /// A party's evaluation.
    Partial {
        /// Under which sharing.
        path: Path,
        /// Of which slot.
        slot: Slot,
        /// Of which value; present if and only if outputs depend on it.
        value: Option<Value>,
        /// The evaluation.
        partial: S::Partial,
    },
    /// The slot is final here and its output is missing: send again what you released on finalize.
    Request {
        /// Which slot.
        slot: Slot,
    },
    /// Slots are final here and their outputs missing: send what came out.
    Show {
        /// The first of them.
        first: Slot,
        /// How many in a row.
        count: u32,
    },
    /// What came out.
    Shown {
        /// Of which slot.
        slot: Slot,
        /// By which path.
        path: Path,
        /// The output, as the scheme shows it to who was not there.
        shown: S::Shown,
    },
    /// This party goes on from records that may be an older copy: say where you are.
    AskHead {
        /// The asker's, for the answer.
        life: LifeId,
    },
    /// Where the sender is.
    Head {
        /// The asker's.
        life: LifeId,
        /// The first slot that the sender has said nothing of.
        next: Slot,
    },
}

/// What a beacon must find again after a crash. Oldest first; later records add to earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Record {
    /// This party released a partial of the slot on prefinalizing this value.
    Released {
        /// The slot.
        slot: Slot,
        /// The one value it may ever be repeated for.
        value: Value,
    },
    /// The slot is final; `None` if it was skipped.
    Finalized {
        /// The slot.
        slot: Slot,
        /// Its value.
        value: Option<Value>,
    },
    /// This party gave up on this view and all earlier ones.
    Abandoned {
        /// The view.
        view: View,
    },
    /// The slot's output was handed over. May be written late: losing it repeats the same output.
    Revealed {
        /// The slot.
        slot: Slot,
    },
    /// The beacon was switched; earlier switches for the slot and later ones are forgotten.
    Switched(Switch),
    /// These slots were off; switches for others stand.
    WasOff {
        /// The first of them.
        first: Slot,
        /// The last.
        last: Slot,
    },
}

impl<S: Function> Message<S> {
    /// About which slot it is, or from which on; `None` if it is about none.
    #[must_use]
    pub const fn slot(&self) -> Option<Slot> {
        match self {
            Self::Partial { slot, .. }
            | Self::Request { slot }
            | Self::Show { first: slot, .. }
            | Self::Shown { slot, .. } => Some(*slot),
            Self::AskHead { .. } | Self::Head { .. } => None,
        }
    }

    /// Whether it is a partial that leaves with the vote for this slot.
    #[must_use]
    pub fn is_early(&self, at: Slot) -> bool {
        matches!(self, Self::Partial { path: Path::Fast | Path::Tight, slot, .. } if *slot == at)
    }
}
