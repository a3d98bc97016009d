//! The journal and the values in a validator's home.
//!
//! The journal is made with the home, before the validator has promised anything, and only opened after that. A
//! home without it belongs to a validator that has forgotten what it promised.
use std::path::PathBuf;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_home::{Folder, Genesis, Home};
use prefinal_journal::{JournalError, Redb, Trouble};
use prefinal_validator::change::{ApprovedChanges, Draft};
use prefinal_validator::setup::Setup;

use crate::archive::Archive;
use crate::output::{folder, named};
use prefinal_lab::Failure;

/// Whose files these are: the chain's and the Ed25519 key's.
fn owner(genesis: &Genesis, key: &[u8; 32]) -> String {
    format!("{:?}, key {}", genesis.chain(), hex::encode(key))
}

pub(super) fn owner_of(home: &Home) -> String {
    owner(home.genesis(), &home.keys().ed25519)
}

/// The first epoch's set-up. Later committees come by approved transactions.
pub(super) fn setup(home: &Home) -> Arc<Setup> {
    Arc::new(Setup { succession: Some(Arc::new(ApprovedChanges)), ..home.setup().clone() })
}

/// The file with the draft by which a validator joins a running chain.
pub(super) fn draft(home: &Folder) -> PathBuf {
    home.path().join("draft")
}

/// This validator's number: in the genesis, or in the draft by which it joins.
///
/// # Errors
/// If neither knows its keys.
pub(super) fn party(home: &Home) -> Result<Party, Failure> {
    if let Some(party) = home.party() {
        return Ok(party);
    }
    let file = draft(home.folder());
    let unknown = |why: &str| {
        let genesis = home.folder().genesis();
        Failure::bad_input(format_args!(
            "{}: this validator's keys are not among its members, and {}: {why}; to join a running chain: \
             prefinal committee join",
            genesis.display(),
            file.display()
        ))
    };
    let text = std::fs::read_to_string(&file).map_err(|error| unknown(&error.to_string()))?;
    let draft = Draft::from_text(&text).map_err(|error| named(&file, error))?;
    draft.number_of(&home.keys().signer).ok_or_else(|| unknown("its keys are not there either"))
}

/// Makes the journal of a new home.
///
/// # Errors
/// If there is one already, or it cannot be written.
pub(super) fn make_journal(home: &Folder) -> Result<(), Failure> {
    let genesis = home.read_genesis().map_err(Failure::bad_input)?;
    let candidate = home.read_registration().map_err(Failure::bad_input)?;
    folder(&home.data())?;
    let file = home.journal();
    let made = Redb::create(&file, &owner(&genesis, &candidate.registration.0.ed25519()));
    made.map(drop).map_err(|error| named(&file, error))
}

/// Opens the journal.
///
/// # Errors
/// If it is missing, damaged, in use, or another validator's.
pub(super) fn open_journal(home: &Home) -> Result<Redb, Failure> {
    let journal = Redb::open(&home.folder().journal(), &owner_of(home));
    journal.map_err(|error| journal_failure(home, &error))
}

/// What is wrong with the journal, and what to do.
pub(super) fn journal_failure(home: &Home, error: &JournalError) -> Failure {
    let next = match error.trouble() {
        Trouble::Missing | Trouble::Lost | Trouble::Damaged => {
            "this validator has forgotten what it promised: make a new home with new keys, and let it join in \
             place of this one (the book, \"A disk is lost\")"
        }
        Trouble::Foreign => "it belongs to another chain or other keys: put the right one back",
        Trouble::InUse => "end the process that has it",
        Trouble::Denied => "make it a file that this user may read and write",
        Trouble::Full => "make room and start again: what was promised is in it",
        Trouble::Other => "start again; nothing that it holds was changed",
    };
    named(&home.folder().journal(), format_args!("{error}; {next}"))
}

/// Opens the values, or makes a new file: they can be had again from other validators.
///
/// # Errors
/// If the file cannot be read or written.
pub(super) fn open_values(home: &Home) -> Result<Archive, Failure> {
    let (file, owner) = (home.folder().values(), owner_of(home));
    let opened =
        if file.exists() { Redb::open(&file, &owner) } else { Redb::create(&file, &owner) };
    let journal = opened.map_err(|error| named(&file, error))?;
    let start = home.genesis().time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Archive::new(file, journal, start.as_secs()).map_err(Failure::bad_input)
}
