//! A validator's journal: which of its outputs are records, and where they are kept.
//!
//! In memory, parties live and die together. In a folder, each party has a file of its own, and the same
//! command goes on where the last one ended, however that ended. Files are whole or not there; each knows
//! whose it is, so that a committee with another table, seed or scheme does not go on with them.
//!
//! A devnet's journals grow with every round, a validator's would be shortened.
//!
//! Elsewhere: the order of records and effects (`journal`), what a validator makes of its records
//! ([`crate::validator`]).

use std::path::PathBuf;

use crypto_core::access::Party;
use jolteon::Jolteon;
use journal::{Journal, JournalError, Journaled, Memory, Redb};
use machine::{Duty, Recorded};

use crate::engine::Engine;
use crate::scheme::Keyed;
use crate::validator::{Event, Job, Message, Output, Recipient, Record, Validator};

/// A validator behind its journal.
pub type Kept<S, E = Jolteon> = Journaled<Validator<S, E>, Box<dyn Journal + Send>>;

/// What a validator wants done, its records aside. The variants are those of [`Output`].
pub enum Act<S: Keyed, E: Engine = Jolteon> {
    /// See [`Output::Send`].
    Send {
        /// To whom.
        to: Recipient,
        /// What.
        message: Message<S, E::Message>,
    },
    /// See [`Output::Run`].
    Run(Job<S, E::Job>),
    /// See [`Output::Note`].
    Note(Event<S>),
}

impl<S: Keyed, E: Engine> Recorded for Output<S, E> {
    type Record = Record<E::Record>;
    type Effect = Act<S, E>;

    fn duty(self) -> Duty<Self::Record, Self::Effect> {
        Duty::Do(match self {
            Self::Persist(record @ Record::Beacon(::beacon::Record::Revealed { .. })) => {
                return Duty::Note(record);
            }
            Self::Persist(record) => return Duty::Keep(record),
            Self::Send { to, message } => Act::Send { to, message },
            Self::Run(job) => Act::Run(job),
            Self::Note(event) => Act::Note(event),
        })
    }
}

/// Why a committee's journals are of no use.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    /// Those parties would start anew with the keys of an earlier life, and could sign and release twice.
    #[error("{missing} of {parties} journals are missing: whose they are would sign twice")]
    Missing {
        /// How many are not there, though others are.
        missing: usize,
        /// How many there should be.
        parties: usize,
    },
    /// One of them fails.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Where a committee's journals are.
pub struct Shelf {
    folder: Option<PathBuf>,
    committee: String,
}

impl Shelf {
    /// In this folder, or in memory if there is none. `committee` says whose journals these are.
    #[must_use]
    pub const fn new(folder: Option<PathBuf>, committee: String) -> Self {
        Self { folder, committee }
    }

    /// The journals of all parties, before the first of them runs: those that are there, or else new ones.
    ///
    /// # Errors
    /// If some are there and some are not, or one is of another committee, in use, or damaged, or the
    /// folder cannot be written.
    pub fn journals(&self, parties: &[Party]) -> Result<Vec<Box<dyn Journal + Send>>, ShelfError> {
        let Some(folder) = &self.folder else {
            let memory = |_| -> Box<dyn Journal + Send> { Box::new(Memory::new()) };
            return Ok(parties.iter().map(memory).collect());
        };
        let file = |me: &Party| folder.join(format!("party-{}.journal", me.get()));
        let files: Vec<PathBuf> = parties.iter().map(file).collect();
        let missing = files.iter().filter(|file| !file.exists()).count();
        if missing != 0 && missing != files.len() {
            return Err(ShelfError::Missing { missing, parties: files.len() });
        }
        let open = if missing == 0 { Redb::open } else { Redb::create };
        let mut journals: Vec<Box<dyn Journal + Send>> = Vec::new();
        for (file, me) in files.iter().zip(parties) {
            journals.push(Box::new(open(file, &format!("{}, {me}", self.committee))?));
        }
        Ok(journals)
    }
}
