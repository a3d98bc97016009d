//! Messages between beacons, and records that a beacon stores. Both are encoded in Borsh.
//!
//! | message   | bytes                                                     |
//! |-----------|-----------------------------------------------------------|
//! | `Partial` | `0` ‖ path (1) ‖ slot (8) ‖ `0`, or `1` ‖ value (32) ‖ σ   |
//! | `Request` | `1` ‖ slot (8)                                            |
//! | `Show`    | `2` ‖ slot (8) ‖ count (4)                                |
//! | `Output`  | `3` ‖ slot (8) ‖ path (1) ‖ output                         |
//! | `AskHead` | `4` ‖ life (16)                                           |
//! | `Head`    | `5` ‖ life (16) ‖ slot (8)                                |
//!
//! With threshold BLS an output is shown as 48 bytes. With the weighted VUF it is shown as the partials
//! that it was combined from: `k` (4) ‖ `k` times party (4) ‖ σ, in the order of the parties.
//!
//! σ is 96 bytes with the weighted VUF; with threshold BLS it is the weight `w` (4) ‖ `w` points (48 each).
//! Decoding checks that these are canonical points of the prime-order subgroup and not the identity. On
//! arrival it is checked that their number is the party's weight. Whether they are right is checked late, see
//! `collector`. Decoding costs a subgroup check for each point. So a link must refuse frames longer than
//! [`Beacon::longest_message`](crate::Beacon::longest_message) before it decodes them. Messages contain
//! neither sender nor chain: the link authenticates the sender, and a partial of another chain or epoch
//! fails its check.

use borsh::{BorshDeserialize, BorshSerialize};

use crate::schemes::Function;
use crate::switch::Switch;
use prefinal_contract::Path;
use prefinal_contract::lost::LifeId;
use prefinal_protocol::{Slot, Value, View};

/// A message between beacons.
///
/// ```
/// use prefinal_beacon::{Bls, Message, Slot};
///
/// let request = Message::<Bls>::Request { slot: Slot::new(7) };
/// let bytes = borsh::to_vec(&request)?;
/// assert_eq!(borsh::from_slice::<Message<Bls>>(&bytes)?, request);
/// assert!(borsh::from_slice::<Message<Bls>>(&[0xff]).is_err());
/// # Ok::<(), borsh::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Message<S: Function> {
    /// The sender's partial: its evaluation for one slot.
    Partial {
        /// The path, that is the sharing, of the partial.
        path: Path,
        /// The slot that was evaluated.
        slot: Slot,
        /// The value of the slot; present if and only if outputs depend on it.
        value: Option<Value>,
        /// The evaluation share that the peer may count.
        partial: S::Partial,
    },
    /// The slot is final here and its output is missing: send again the partial that you released on
    /// finalize.
    Request {
        /// The slot without output.
        slot: Slot,
    },
    /// Slots are final here and their outputs are missing: send the outputs.
    Show {
        /// The first of these slots.
        first: Slot,
        /// How many slots, from the first on without gaps.
        count: u32,
    },
    /// The output of a slot, as an answer to `Show`.
    Output {
        /// The slot of the output.
        slot: Slot,
        /// The path that completed first.
        path: Path,
        /// The output, in the form for parties that did not collect the partials.
        shown: S::OutputMessage,
    },
    /// This party continues from records that may be an older copy: send your position.
    AskHead {
        /// The life of the asking party. The answer repeats it.
        life: LifeId,
    },
    /// The position of the sender, as an answer to `AskHead`.
    Head {
        /// The life that the asking party named.
        life: LifeId,
        /// The first slot about which the sender has said nothing.
        next: Slot,
    },
}

/// What a beacon must find again after a crash. Records are read oldest first; later ones add to earlier
/// ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Record {
    /// This party released a partial of the slot on prefinalizing this value.
    Released {
        /// The slot of the partial.
        slot: Slot,
        /// The only value for which this release may ever be repeated.
        value: Value,
    },
    /// The slot is final.
    Finalized {
        /// The slot that is final.
        slot: Slot,
        /// Its value; `None` if the slot was skipped.
        value: Option<Value>,
    },
    /// This party gave up on this view and all earlier ones.
    Abandoned {
        /// The latest view that is given up.
        view: View,
    },
    /// The slot's output was handed over. It may be written late: if it is lost, the same output is repeated.
    Revealed {
        /// The slot whose output was handed over.
        slot: Slot,
    },
    /// The beacon was switched. Earlier switches for this slot and later ones are forgotten.
    Switched(Switch),
    /// These slots were off. Switches for other slots stand.
    WasOff {
        /// The first slot that was off.
        first: Slot,
        /// The last slot that was off.
        last: Slot,
    },
    /// These slots are final, and this party has no part in them: it was away. It hands over none of their outputs,
    /// and gives its partials to peers that lack them: the epoch keeps its secrets for that, see
    /// [`epochs`](crate::epochs).
    PassedOver {
        /// The first of them.
        first: Slot,
        /// The last of them.
        last: Slot,
    },
}

impl<S: Function> Message<S> {
    /// The slot that the message is about, or the first of several; `None` if it is about no slot.
    #[must_use]
    pub const fn slot(&self) -> Option<Slot> {
        match self {
            Self::Partial { slot, .. }
            | Self::Request { slot }
            | Self::Show { first: slot, .. }
            | Self::Output { slot, .. } => Some(*slot),
            Self::AskHead { .. } | Self::Head { .. } => None,
        }
    }

    /// Whether the message is a partial that leaves with the vote for slot `at`.
    #[must_use]
    pub fn is_early(&self, at: Slot) -> bool {
        matches!(self, Self::Partial { path: Path::Fast | Path::Tight, slot, .. } if *slot == at)
    }
}
