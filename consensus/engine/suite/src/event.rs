//! The events of a party that the laws are about.

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_engine::{Block, PastVotes};
use prefinal_protocol::{Party, Slot, Value, View};

use crate::sample::Statement;

/// Something that a party did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The party started from its records. It was started twice, and each start reported a past.
    Started {
        /// Number of records.
        records: usize,
        /// The past that the first start reported.
        past: PastVotes,
        /// The past that the second start reported.
        again: PastVotes,
    },
    /// The party is about to cast the vote that makes a value final, and was offered a partial for it.
    Prefinalized {
        /// The partial that was offered.
        partial: Partial,
        /// Whether the engine took the partial into its vote.
        carriage: OfferOutcome,
    },
    /// The party received the bytes that a peer's vote carried.
    Carried {
        /// Whose vote it was.
        from: Party,
        /// The bytes that came with the vote: a [`Partial`] if the peer is honest.
        bytes: Vec<u8>,
    },
    /// A slot is final for the party.
    Finalized {
        /// The slot that was decided or skipped.
        slot: Slot,
        /// The block that was ordered; `None` if the slot was skipped.
        block: Option<Block>,
    },
    /// The party gives a view up.
    Abandoned {
        /// The party prefinalizes nothing in this view or an earlier one.
        view: View,
    },
    /// The party says that a peer did wrong.
    Accused {
        /// The peer that is accused.
        party: Party,
        /// What the peer did wrong, in the engine's words.
        fault: String,
    },
    /// The party could not do what it was asked; the reason in words.
    Refused(String),
    /// A statement that binds the party has left.
    Said(Statement),
}

/// The partial that a party releases on a prefinalization in this suite: bytes that describe themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct Partial {
    /// The party that prefinalized the value.
    pub party: Party,
    /// The slot of the value. It is earlier than the view's slot if the vote only implies it.
    pub slot: Slot,
    /// The view that the vote was cast in.
    pub view: View,
    /// The value that was prefinalized.
    pub value: Value,
}

/// What an engine did with a partial that it was offered for a vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferOutcome {
    /// The engine took it and sends it as a part of the vote.
    Taken,
    /// The engine gave it back.
    Returned,
    /// The engine gave other bytes back.
    Altered,
}
