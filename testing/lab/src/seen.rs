//! The notes of a run: what parties report, and what leaves them.
//!
//! Checkers read these notes and nothing else, so that no verdict rests on a beacon's own state.

use crate::priced::Priced;
use std::sync::Arc;

use ::prefinal_beacon::{Path, Reveal, Slot, Value};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;

use crate::legible::Act;
use crate::local::Heard;
use prefinal_validator::scheme::{AdmittedKeys, PerPath};
use prefinal_validator::{Event, HaltError};

/// Something that was reported or has left.
#[derive(Clone, Debug)]
pub enum Observation<S: Priced> {
    /// An epoch's keys suffice at the party; values follow from `first` on.
    Ready {
        /// The epoch that the keys are for.
        epoch: EpochId,
        /// The epoch's first slot with a value.
        first: Slot,
        /// The committee of each path: who may evaluate, and the keys that check partials.
        committees: Box<PerPath<S::Committee>>,
    },
    /// A party's keys were admitted when values were being revealed already.
    Admitted(EpochId, Arc<AdmittedKeys<S>>),
    /// A slot is final; `None` if it was skipped.
    Finalized(Slot, Option<Value>),
    /// A slot has its value.
    Revealed(Box<Reveal<S>>),
    /// A slot was skipped and has no value.
    Skipped(Slot),
    /// A peer did wrong.
    Accused(Party, String),
    /// An input that did not count; described in words.
    Refused(String),
    /// A party cannot go on: the run has failed.
    Halted(HaltError),
    /// A party has voted, proposed or given up a view. The epoch's own slots are used.
    Act(EpochId, Act),
    /// A partial has left, to any recipient.
    Released(EpochId, Path, Slot),
    /// An output has left, to any recipient.
    OutputSent(EpochId, Slot),
    /// A vote or a partial has arrived.
    Heard(EpochId, Heard),
}

impl<S: Priced> Observation<S> {
    /// What a party tells.
    pub(crate) fn told(event: Event<S>) -> Option<Self> {
        Some(match event {
            Event::Dealing { .. } | Event::Named { .. } => return None,
            Event::Ready { epoch, first_slot, committees } => {
                Self::Ready { epoch, first: first_slot, committees }
            }
            Event::Admitted(epoch, keys) => Self::Admitted(epoch, keys),
            Event::Finalized { slot, block } => Self::Finalized(slot, block),
            Event::Revealed(reveal) => Self::Revealed(reveal),
            Event::Accused { party, fault } => Self::Accused(party, fault),
            Event::Skipped(slot) => Self::Skipped(slot),
            Event::Refused(why) => Self::Refused(why),
            Event::ChangeRefused { slot, change } => {
                Self::Refused(format!("a change in {slot}: {}", change.error))
            }
            Event::Halted(why) => Self::Halted(why),
        })
    }

    /// What is seen of the beacon's messages.
    pub(crate) fn said(epoch: EpochId, message: &::prefinal_beacon::Message<S>) -> Option<Self> {
        match message {
            ::prefinal_beacon::Message::Partial { path, slot, .. } => {
                Some(Self::Released(epoch, *path, *slot))
            }
            ::prefinal_beacon::Message::Output { slot, .. } => Some(Self::OutputSent(epoch, *slot)),
            _ => None,
        }
    }
}
