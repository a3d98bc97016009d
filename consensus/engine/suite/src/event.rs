//! What a party does, as far as the laws are about it.

use borsh::{BorshDeserialize, BorshSerialize};
use engine::{Block, Past};
use protocol::{Party, Slot, Value, View};

use crate::sample::Statement;

/// Something that a party did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It started, from so many records; twice, and each start told of its past.
    Started {
        /// How many records there were.
        records: usize,
        /// What the first start told.
        past: Past,
        /// What the second start told.
        again: Past,
    },
    /// It is about to cast the vote that makes a value final, and what became of the partial.
    Prefinalized {
        /// What it is about.
        partial: Partial,
        /// Whether the engine took the partial into its vote.
        carriage: Carriage,
    },
    /// It got what a peer's vote carried.
    Carried {
        /// Whose vote it was.
        from: Party,
        /// The bytes that came with the vote: a [`Partial`] if the peer is honest.
        bytes: Vec<u8>,
    },
    /// A slot is over for it.
    Finalized {
        /// The slot that was decided or skipped.
        slot: Slot,
        /// The block that was ordered; `None` if the slot was skipped.
        block: Option<Block>,
    },
    /// It gives a view up.
    Abandoned {
        /// The party prefinalizes nothing in this view or an earlier one.
        view: View,
    },
    /// It says that a peer did wrong.
    Accused {
        /// The peer that is accused.
        party: Party,
        /// What the peer did wrong, in the engine's words.
        fault: String,
    },
    /// It could not do what it was asked.
    Refused(String),
    /// Something left that binds it.
    Said(Statement),
}

/// What a party releases on a prefinalization in this suite: bytes that say what they are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct Partial {
    /// The party that prefinalized the value.
    pub party: Party,
    /// The slot of the value; earlier than the view's if the vote only implies it.
    pub slot: Slot,
    /// The view that the vote was cast in.
    pub view: View,
    /// The value that was prefinalized.
    pub value: Value,
}

/// How a partial travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carriage {
    /// The engine took it and sends it as a part of the vote.
    Taken,
    /// It was given back.
    Returned,
    /// Other bytes were given back.
    Altered,
}
