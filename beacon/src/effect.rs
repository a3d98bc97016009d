//! Outputs without the records: what a driver carries out while a journal keeps the rest.
//!
//! | record     | durable before           | because                           |
//! |------------|--------------------------|-----------------------------------|
//! | `Revealed` | (some time)              | losing it repeats the same output |
//! | all others | anything that follows it | the contract rests on them        |
//!
//! Elsewhere: the journal that stands between a machine and its driver (`journal`).
use crypto_core::access::Party;
use protocol::{Duty, Recorded};

use crate::event::{Fault, Output, Recipient, Refusal, Reveal};
use crate::job::Job;
use crate::schemes::Scheme;
use crate::slot::Slot;
use crate::wire::{Message, Record};

/// What a beacon wants done, its records aside. The variants are those of [`Output`].
#[derive(Clone, Debug)]
pub enum Effect<S: Scheme> {
    /// See [`Output::Send`].
    Send {
        /// To whom.
        to: Recipient,
        /// What.
        message: Message<S>,
    },
    /// See [`Output::Check`].
    Check(Job<S>),
    /// See [`Output::Reveal`].
    Reveal(Box<Reveal<S>>),
    /// See [`Output::Skipped`].
    Skipped {
        /// The slot.
        slot: Slot,
    },
    /// See [`Output::Off`].
    Off {
        /// The slot.
        slot: Slot,
    },
    /// See [`Output::Lookup`].
    Lookup {
        /// Whom to send it to.
        to: Party,
        /// Outputs of which slots.
        slots: Vec<Slot>,
    },
    /// See [`Output::Accuse`].
    Accuse {
        /// Who.
        party: Party,
        /// What, with the evidence.
        fault: Fault<S>,
    },
    /// See [`Output::Refused`].
    Refused(Refusal),
}

impl<S: Scheme> Recorded for Output<S> {
    type Record = Record;
    type Effect = Effect<S>;

    fn duty(self) -> Duty<Record, Effect<S>> {
        Duty::Do(match self {
            Self::Persist(record @ Record::Revealed { .. }) => return Duty::Note(record),
            Self::Persist(record) => return Duty::Keep(record),
            Self::Send { to, message } => Effect::Send { to, message },
            Self::Check(job) => Effect::Check(job),
            Self::Reveal(reveal) => Effect::Reveal(reveal),
            Self::Skipped { slot } => Effect::Skipped { slot },
            Self::Off { slot } => Effect::Off { slot },
            Self::Lookup { to, slots } => Effect::Lookup { to, slots },
            Self::Accuse { party, fault } => Effect::Accuse { party, fault },
            Self::Refused(refusal) => Effect::Refused(refusal),
        })
    }
}
