//! A validator's journal: which of its outputs are records, and where they are kept.
//!
//! Without a folder parties live and die together, and nothing is kept. In a folder, each party has one
//! file, and the same command goes on where the last one ended, however that ended. Files are whole
//! or not there; each knows whose it is, so that a committee with another table, seed or scheme does not go
//! on with them.
//!
//! A devnet's journals grow with every round, a validator's would be shortened.
//!
//! `prefinal_journal` orders records and effects. [`prefinal_validator`] restores a validator from its
//! records.

use std::path::{Path, PathBuf};

use prefinal_crypto_core::access::Party;
use prefinal_journal::{Journal, JournalError, Journaled, OpenError, Redb, Trouble};

use crate::archive::Archive;
use prefinal_validator::{StartError, Validator};

/// A validator behind its journal.
pub type JournaledValidator<S, E, A = ()> = Journaled<Validator<S, E, A>, AnyJournal>;

/// Why a committee's journals are of no use. An operator reads it: it says which file of which party,
/// and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// Those parties would begin again with the keys of an earlier life, and could sign and release twice.
    #[error(
        "{}: {missing} of {parties} journals are missing, the first is that of {first}: whose they are \
         would sign twice; put the folder back as it was, or take another --journal folder",
        folder.display()
    )]
    Missing {
        /// Where they should be.
        folder: PathBuf,
        /// How many are not there, though others are.
        missing: usize,
        /// How many there should be.
        parties: usize,
        /// The first party whose journal is missing.
        first: Party,
    },
    /// One of them fails.
    #[error("{}, {party}: {cause}; {}", file.display(), remedy(cause.trouble()))]
    Journal {
        /// The file.
        file: PathBuf,
        /// The party that it belongs to.
        party: Party,
        /// What is wrong with it.
        cause: JournalError,
    },
    /// The values that were served fail.
    #[error("{}: {cause}; {}", file.display(), remedy(cause.trouble()))]
    Values {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        cause: JournalError,
    },
    /// The values that were served are missing, though the parties' journals are there.
    #[error(
        "{}: missing, and with it when the chain began and its old values; put the folder back as it \
         was, or take another --journal folder",
        file.display()
    )]
    NoValues {
        /// The file.
        file: PathBuf,
    },
    /// The validator does not start from what is in it.
    #[error("{}, {party}: {cause}; {}", file.display(), remedy(Trouble::Damaged))]
    Validator {
        /// The file.
        file: PathBuf,
        /// The party that it belongs to.
        party: Party,
        /// Why it does not start.
        cause: StartError,
    },
}

impl FolderError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } | Self::NoValues { .. } => "journal-lost",
            Self::Journal { cause, .. } | Self::Values { cause, .. } => cause.code(),
            Self::Validator { cause, .. } => cause.code(),
        }
    }
}

/// What an operator can do.
const fn remedy(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::InUse => "end the process that has it, or take another --journal folder",
        Trouble::Denied => "make it a file that this user may read and write",
        Trouble::Full => "make room and run the same command again: what was promised is in it",
        Trouble::Foreign => {
            "run the committee that it belongs to, or take another --journal folder"
        }
        Trouble::Missing | Trouble::Lost | Trouble::Damaged => {
            "take another --journal folder: with an older copy of it the party would sign twice"
        }
        Trouble::Other => "nothing that it holds was changed; run the same command again",
    }
}

/// A journal of a party that lives and dies with the process: nobody ever reads it, so nothing is kept.
struct NoJournal;

impl Journal for NoJournal {
    fn append(&mut self, _: &[u8]) -> Result<(), JournalError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        Ok(())
    }

    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        Ok(Vec::new())
    }

    fn replace(&mut self, _: &[Vec<u8>]) -> Result<(), JournalError> {
        Ok(())
    }
}

/// A journal, wherever it is.
pub type AnyJournal = Box<dyn Journal + Send>;

/// The journals of a committee.
pub struct Journals {
    /// In the order of the parties.
    pub of_parties: Vec<AnyJournal>,
    /// Whether any of them has a record.
    pub used: bool,
}

/// Where a committee's journals are.
pub struct JournalFolder {
    folder: Option<PathBuf>,
    committee: String,
}

impl JournalFolder {
    /// In this folder, or nowhere if there is none. `committee` says whose journals these are.
    #[must_use]
    pub const fn new(folder: Option<PathBuf>, committee: String) -> Self {
        Self { folder, committee }
    }

    /// The journals of all parties, before the first of them runs: those that are there, or else new ones.
    /// If making them was interrupted, those that were made are empty, and the others are made now.
    ///
    /// # Errors
    /// If some are there and some are not, or one is of another committee, in use, or damaged, or the
    /// folder cannot be written.
    pub fn journals(&self, parties: &[Party]) -> Result<Journals, FolderError> {
        let Some(folder) = &self.folder else {
            let none = |_| -> AnyJournal { Box::new(NoJournal) };
            return Ok(Journals { of_parties: parties.iter().map(none).collect(), used: false });
        };
        let mut journals = Vec::new();
        let (mut missing, mut used) = (Vec::new(), false);
        for party in parties {
            let file = self.file(*party);
            if file.exists() {
                let mut journal = self.open(&file, *party)?;
                let records = journal.replay().map_err(|cause| self.failed(*party, cause))?;
                used |= !records.is_empty();
                journals.push(Some(journal));
            } else {
                missing.push(*party);
                journals.push(None);
            }
        }
        match missing.first() {
            Some(first) if used => {
                let (folder, missing) = (folder.clone(), missing.len());
                Err(FolderError::Missing { folder, missing, parties: parties.len(), first: *first })
            }
            _ => {
                let both = journals.into_iter().zip(parties);
                let make = |(journal, party): (Option<Redb>, &Party)| -> Result<AnyJournal, _> {
                    Ok(Box::new(journal.map_or_else(|| self.create(*party), Ok)?))
                };
                Ok(Journals { of_parties: both.map(make).collect::<Result<_, _>>()?, used })
            }
        }
    }

    /// The values of a served chain that begins at `start`, in seconds of Unix time, if it is new; `used` as
    /// [`Self::journals`] found the parties' journals. `None` if nothing is durable.
    ///
    /// # Errors
    /// If there are none though the parties' journals are used, or [`Archive::new`] fails.
    pub fn archive(&self, used: bool, start: u64) -> Result<Option<Archive>, FolderError> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let file = folder.join("values.journal");
        let owner = format!("{}, its values", self.committee);
        let journal = match file.exists() {
            true => Redb::open(&file, &owner),
            false if used => return Err(FolderError::NoValues { file }),
            false => Redb::create(&file, &owner),
        };
        match journal {
            Ok(journal) => Archive::new(file, journal, start).map(Some),
            Err(cause) => Err(FolderError::Values { file, cause }),
        }
    }

    /// An error of a journal, with its file and what to do about it.
    #[must_use]
    pub fn failed(&self, party: Party, cause: JournalError) -> FolderError {
        FolderError::Journal { file: self.file(party), party, cause }
    }

    /// Why a party does not start from its journal.
    #[must_use]
    pub fn unopened(&self, party: Party, error: OpenError<StartError>) -> FolderError {
        match error.into_machine() {
            Ok(cause) => FolderError::Validator { file: self.file(party), party, cause },
            Err(cause) => self.failed(party, cause),
        }
    }

    fn file(&self, party: Party) -> PathBuf {
        let name = format!("party-{}.journal", party.get());
        self.folder.as_ref().map_or_else(|| PathBuf::from(&name), |folder| folder.join(&name))
    }

    fn owner(&self, party: Party) -> String {
        format!("{}, {party}", self.committee)
    }

    fn open(&self, file: &Path, party: Party) -> Result<Redb, FolderError> {
        Redb::open(file, &self.owner(party)).map_err(|cause| self.failed(party, cause))
    }

    fn create(&self, party: Party) -> Result<Redb, FolderError> {
        Redb::create(&self.file(party), &self.owner(party))
            .map_err(|cause| self.failed(party, cause))
    }
}
