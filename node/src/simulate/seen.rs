//! What is noted of a run: what parties tell, and what leaves them.
//!
//! Checkers read these notes and nothing else, so that no verdict rests on a beacon's own state.

use std::sync::Arc;

use ::beacon::{Path, Reveal, Slot, Value};
use crypto_core::access::Party;

use crate::scheme::{AdmittedKeys, Keyed, PerPath};
use crate::validator::{Event, HaltError, Message, Record};

/// One thing that was told or has left.
#[derive(Clone, Debug)]
pub enum Seen<S: Keyed> {
    /// The keys suffice.
    Ready {
        /// The first slot with a value.
        first: Slot,
        /// Who may evaluate.
        committees: Box<PerPath<S::Committee>>,
    },
    /// A party's keys came when values were being revealed already.
    Admitted(Arc<AdmittedKeys<S>>),
    /// A slot is final; `None` if it was skipped.
    Finalized(Slot, Option<Value>),
    /// A slot has its value.
    Revealed(Box<Reveal<S>>),
    /// A slot was skipped and has no value.
    Skipped(Slot),
    /// A peer did wrong.
    Accused(Party, String),
    /// Something did not count.
    Refused(String),
    /// A party cannot go on: the run has failed.
    Halted(HaltError),
    /// It is on the disk that this party order-votes, in this round the last time: it prefinalizes.
    Promised(u64),
    /// A vote has left.
    Voted {
        /// The round.
        round: u64,
        /// For what.
        block: Value,
    },
    /// A proposal has left.
    Proposed {
        /// The round.
        round: u64,
        /// The round of the block that it extends.
        parent: u64,
        /// The block.
        block: Value,
    },
    /// A timeout of this round has left.
    TimedOut(u64),
    /// A partial has left, for whomever.
    Released(Path, Slot),
    /// An output has left, for whomever.
    Shown(Slot),
}

impl<S: Keyed> Seen<S> {
    /// What a party tells.
    pub(super) fn told(event: Event<S>) -> Option<Self> {
        Some(match event {
            Event::Dealing { .. } => return None,
            Event::Ready { first_slot, committees } => {
                Self::Ready { first: first_slot, committees }
            }
            Event::Admitted(keys) => Self::Admitted(keys),
            Event::Finalized { slot, block } => Self::Finalized(slot, block),
            Event::Revealed(reveal) => Self::Revealed(reveal),
            Event::Accused { party, fault } => Self::Accused(party, fault),
            Event::Skipped(slot) => Self::Skipped(slot),
            Event::Refused(why) => Self::Refused(why),
            Event::Halted(why) => Self::Halted(why),
        })
    }

    /// What is written before what it promises leaves.
    pub(super) fn written(record: &Record) -> Option<Self> {
        match record {
            Record::Engine(jolteon::Record::Safety(promises)) => {
                Some(Self::Promised(promises.safety.last_ordered().get()))
            }
            _ => None,
        }
    }

    /// What leaves. `context` is what names of blocks depend on.
    pub(super) fn sent(message: &Message<S>, context: &[u8; 32]) -> Option<Self> {
        Some(match message {
            Message::Beacon(::beacon::Message::Partial { path, slot, .. }) => {
                Self::Released(*path, *slot)
            }
            Message::Beacon(::beacon::Message::Shown { slot, .. }) => Self::Shown(*slot),
            Message::Engine(jolteon::Message::Timeout(timeout)) => {
                Self::TimedOut(timeout.round.get())
            }
            Message::Engine(jolteon::Message::Vote(vote)) => {
                Self::Voted { round: vote.round.get(), block: Value::new(vote.block.to_bytes()) }
            }
            Message::Engine(jolteon::Message::Proposal(proposal)) => Self::Proposed {
                round: proposal.block.round().get(),
                parent: proposal.block.parent_round().get(),
                block: Value::new(proposal.block.id(context).to_bytes()),
            },
            _ => return None,
        })
    }
}
