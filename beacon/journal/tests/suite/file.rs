//! A journal in a file: what is refused, and what survives.
use std::path::Path;

use prefinal_journal::{Journal, JournalError, JournalOperation, KeyJournal, Redb, Trouble};

const OWNER: &str = "chain 07, epoch 1, party 0";

fn record(number: u32) -> Vec<u8> {
    number.to_be_bytes().repeat(9)
}

fn records(numbers: impl IntoIterator<Item = u32>) -> Vec<Vec<u8>> {
    numbers.into_iter().map(record).collect()
}

fn doing(error: &JournalError) -> Option<JournalOperation> {
    match error {
        JournalError::Storage { doing, .. } => Some(*doing),
        _ => None,
    }
}

fn failure(path: &Path) -> JournalError {
    Redb::open(path, OWNER).unwrap_err()
}

#[test]
fn records_come_back_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut journal = Redb::create(&path, OWNER).unwrap();
    for number in 0..300 {
        journal.append(&record(number)).unwrap();
        if number % 7 == 0 {
            journal.sync().unwrap();
        }
    }
    assert_eq!(journal.replay().unwrap(), records(0..300));
    // 294 is the last that was synced; who stops in order loses none.
    drop(journal);
    let mut journal = Redb::open(&path, OWNER).unwrap();
    assert_eq!(journal.replay().unwrap(), records(0..300));
    journal.append(&record(1000)).unwrap();
    journal.replace(&records([7, 8])).unwrap();
    journal.append(&record(9)).unwrap();
    journal.sync().unwrap();
    drop(journal);
    assert_eq!(Redb::open(&path, OWNER).unwrap().replay().unwrap(), records([7, 8, 9]));
}

#[test]
fn a_journal_is_neither_forgotten_nor_taken_for_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    assert_eq!(doing(&failure(&path)), Some(JournalOperation::Open), "there is none yet");
    let journal = Redb::create(&path, OWNER).unwrap();
    assert_eq!(doing(&failure(&path)), Some(JournalOperation::Open), "it is in use");
    drop(journal);
    assert_eq!(doing(&Redb::create(&path, OWNER).unwrap_err()), Some(JournalOperation::Create));
    let other = Redb::open(&path, "chain 07, epoch 1, party 1").unwrap_err();
    assert!(matches!(&other, JournalError::Owner { got, .. } if got == OWNER), "{other}");
    // Nothing but the journal is left in the folder.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Without the mark a lost journal would be taken for one of new keys, and the party would release again.
#[test]
fn the_journal_of_keys_that_appear_at_run_time_is_created_once() {
    const KEYS: &str = "chain 07, epoch 3, party 0, key 9a41";
    let folder = tempfile::tempdir().unwrap();
    let (home, path) = (folder.path().join("identity"), folder.path().join("keys"));
    let identity = Redb::create(&home, "chain 07, party 0").unwrap();
    let KeyJournal::New(mut keys) = identity.for_keys(&path, KEYS).unwrap() else {
        panic!("the keys are new");
    };
    keys.append(&record(1)).unwrap();
    drop((keys, identity));

    let mut identity = Redb::open(&home, "chain 07, party 0").unwrap();
    let used = |identity: &Redb| match identity.for_keys(&path, KEYS).unwrap() {
        KeyJournal::Used(mut keys) => keys.replay().unwrap(),
        KeyJournal::New(_) => panic!("the keys are in use"),
    };
    assert_eq!(used(&identity), records([1]));
    let other = identity.for_keys(&path, "chain 07, epoch 4, party 0, key 77d0").unwrap_err();
    assert!(matches!(other, JournalError::Owner { .. }), "{other}");
    // Marks are no records, and stay when records are replaced.
    assert_eq!(identity.replay().unwrap(), records([]));
    identity.replace(&records([2])).unwrap();
    let away = folder.path().join("away");
    std::fs::rename(&path, &away).unwrap();
    let lost = identity.for_keys(&path, KEYS).unwrap_err();
    assert!(matches!(&lost, JournalError::Lost { owner } if owner == KEYS), "{lost}");
    assert_eq!(lost.trouble(), Trouble::Lost);
    assert!(!path.exists(), "a refusal makes no file");
    std::fs::rename(&away, &path).unwrap();
    assert_eq!(used(&identity), records([1]));
    // A copy from before the first record, put back: the keys are used all the same.
    std::fs::remove_file(&path).unwrap();
    drop(Redb::create(&path, KEYS).unwrap());
    assert_eq!(used(&identity), records([]));
}

/// A crash between the file and its mark: nothing was said with these keys, so they are new. Where the file has
/// records somebody used it without a mark.
#[test]
fn a_journal_that_was_created_and_not_marked_is_new_if_it_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("identity");
    let identity = Redb::create(&home, "chain 07, party 0").unwrap();
    for (owner, is_new) in [("new", true), ("used", false)] {
        let path = folder.path().join(owner);
        let mut journal = Redb::create(&path, owner).unwrap();
        if !is_new {
            journal.append(&record(1)).unwrap();
        }
        drop(journal);
        let got = identity.for_keys(&path, owner).unwrap();
        assert_eq!(matches!(got, KeyJournal::New(_)), is_new);
        drop(got);
        assert!(matches!(identity.for_keys(&path, owner), Ok(KeyJournal::Used(_))));
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(identity.for_keys(&path, owner), Err(JournalError::Lost { .. })));
    }
}

/// A database that `create` did not make has no owner; it is nobody's journal, and not the next caller's.
#[test]
fn a_file_without_an_owner_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    drop(redb::Database::create(&path).unwrap());
    assert!(matches!(failure(&path), JournalError::Owner { got, .. } if got.is_empty()));
}

#[test]
fn an_operator_is_told_what_kind_of_trouble_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    assert_eq!(failure(&path).trouble(), Trouble::Missing);
    let journal = Redb::create(&path, OWNER).unwrap();
    assert_eq!(failure(&path).trouble(), Trouble::InUse);
    drop(journal);
    let other = Redb::open(&path, "chain 07, epoch 1, party 1").unwrap_err();
    assert_eq!(other.trouble(), Trouble::Foreign);
    let whole = std::fs::read(&path).unwrap();
    for (at, what) in [(0, "its head"), (whole.len() / 2, "the middle")] {
        let mut bytes = whole.clone();
        bytes[at..].iter_mut().take(4096).for_each(|byte| *byte ^= 0xFF);
        std::fs::write(&path, &bytes).unwrap();
        if let Err(error) = Redb::open(&path, OWNER) {
            assert_eq!(error.trouble(), Trouble::Damaged, "{what}: {error}");
        } else {
            assert_ne!(at, 0, "without its head it is no journal");
        }
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(failure(&path).trouble(), Trouble::Denied, "a folder is no file");
}

#[test]
fn an_interrupted_beginning_is_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    std::fs::write(folder.path().join("journal.new"), b"half of something").unwrap();
    let mut journal = Redb::create(&path, OWNER).unwrap();
    assert_eq!(journal.replay().unwrap(), Vec::<Vec<u8>>::new());
}

#[test]
fn what_is_no_journal_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    for bytes in [vec![], b"not a journal".to_vec(), vec![0; 1 << 20]] {
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(doing(&failure(&path)), Some(JournalOperation::Open), "{} bytes", bytes.len());
    }
}
