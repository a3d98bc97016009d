//! A journal in one file of [`redb`](https://www.redb.org), an embedded store in pure Rust.
//!
//! Reasons for this store: a commit is atomic and durable with one `fsync`, every page has a checksum, the
//! file is locked against a second process, and the library is small and maintained. A record is a row
//! under its running number. Records that are synced together are one transaction. So after a crash the
//! file holds whole records, without gaps.
//!
//! | table     | key      | value                                   |
//! |-----------|----------|-----------------------------------------|
//! | `records` | number   | the record                              |
//! | `owner`   | `()`     | whose journal this is                   |
//! | `used`    | owner    | nothing: a journal with this owner was opened under this one |
//!
//! A party whose journal comes back empty forgets its promises. So creating a journal and opening one are
//! two functions: a mistyped path is an error, and does not start a party without its records. The journal
//! also stores its owner, because another party's records are of no use: a wrong owner is refused.
//!
//! Keys that a key generation makes appear while the chain runs, and their journal with them. Whether such a
//! journal is new or lost, its own file cannot tell. The party's first journal can, the one that was created
//! with its identity: [`Redb::for_keys`] marks there every journal before it is used. A file without a mark was
//! never used; a mark without a file is a loss, and is refused.
//!
//! At every start all pages are checked. A journal that is shortened is small enough for that.
use std::error::Error;
use std::fs;
use std::path::Path;

use ::redb::{
    Builder, CommitError, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError,
    TableDefinition, TableError, TransactionError,
};

use crate::storage::{Journal, JournalError, JournalOperation, Trouble, of_kind};

const RECORDS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("records");
const OWNER: TableDefinition<'_, (), &str> = TableDefinition::new("owner");
const USED: TableDefinition<'_, &str, ()> = TableDefinition::new("used");

/// Bytes of pages that are kept in memory. Few are enough, because a journal is read once.
const CACHE_BYTES: usize = 1 << 20;

/// A journal in one file.
#[derive(Debug)]
pub struct Redb {
    database: Database,
    /// The number of the first fresh record.
    next: u64,
    fresh: Vec<Vec<u8>>,
}

/// The journal of keys that appear at run time, and whether they may have been used: [`Redb::for_keys`].
#[derive(Debug)]
pub enum KeyJournal {
    /// The keys were never used: their first life begins.
    New(Redb),
    /// The keys may have been used, whatever is in the journal: it may be an older copy. A later life begins.
    Used(Redb),
}

type Cause = Box<dyn Error + Send + Sync>;

impl Redb {
    /// Creates a journal at `path`, where there must be no file. `owner` says whose journal it is, best by
    /// chain, epoch and party. If this is interrupted, there is no file or a complete one.
    ///
    /// # Errors
    /// If there is such a file already, or if it cannot be written.
    pub fn create(path: &Path, owner: &str) -> Result<Self, JournalError> {
        Self::found(path, owner)
            .map_err(|cause| JournalError::storage(JournalOperation::Create, cause))?;
        Self::open(path, owner)
    }

    /// Opens the journal that exists at `path`.
    ///
    /// # Errors
    /// If there is none, if it has another owner, if another process has it open, or if it is damaged.
    pub fn open(path: &Path, owner: &str) -> Result<Self, JournalError> {
        let failed = |cause: Cause| JournalError::storage(JournalOperation::Open, cause);
        let mut builder = Builder::new();
        builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
        let database = builder.open(path).map_err(|cause| failed(cause.into()))?;
        // What `create` made has an owner.
        if read_owner(&database).map_err(failed)?.is_none() {
            return Err(JournalError::Owner { got: String::new(), expected: owner.to_owned() });
        }
        Self::within(database, owner)
    }

    /// Makes a journal in a database that the caller opened, for example with another cache or backend. In
    /// an empty database this enters the owner.
    ///
    /// # Errors
    /// If it has another owner, or if it cannot be read.
    pub fn within(database: Database, owner: &str) -> Result<Self, JournalError> {
        let failed = |cause| JournalError::storage(JournalOperation::Open, cause);
        let got = match read_owner(&database).map_err(failed)? {
            Some(got) => got,
            None => {
                write_owner(&database, owner).map_err(failed)?;
                owner.to_owned()
            }
        };
        if got != owner {
            return Err(JournalError::Owner { got, expected: owner.to_owned() });
        }
        let next = next_number(&database).map_err(failed)?;
        Ok(Self { database, next, fresh: Vec::new() })
    }

    /// The journal of keys that appear at run time. Call it on the journal that was [created](Self::create) with
    /// the party's identity, once for each set of keys, at the first start with them and at every later one.
    /// `owner` names the keys, best by chain, epoch, party and the digest of the group key.
    ///
    /// | file | mark | what it means                                     | result             |
    /// |------|------|---------------------------------------------------|--------------------|
    /// | no   | no   | the keys are new                                  | [`KeyJournal::New`]  |
    /// | yes  | no   | a crash before the mark: the keys were never used | [`KeyJournal::New`]  |
    /// | yes  | yes  | the keys are in use                               | [`KeyJournal::Used`] |
    /// | no   | yes  | the journal is lost, what was released is unknown | [`JournalError::Lost`] |
    ///
    /// A file that has records is never new. The mark is durable before the journal is given out. All this holds
    /// as long as the identity's own journal is not put back from an older copy.
    ///
    /// # Errors
    /// If the journal was used before and is not there, is of somebody else, in use or damaged, or one of the
    /// two files cannot be written.
    pub fn for_keys(&self, path: &Path, owner: &str) -> Result<KeyJournal, JournalError> {
        let failed = |cause: Cause| JournalError::storage(JournalOperation::Create, cause);
        let is_marked = is_used(&self.database, owner).map_err(failed)?;
        if fs::exists(path).map_err(|cause| failed(cause.into()))? {
            let journal = Self::open(path, owner)?;
            if is_marked {
                return Ok(KeyJournal::Used(journal));
            }
            // The file may be younger than its folder's last write.
            sync_folder(path).map_err(failed)?;
            mark_used(&self.database, owner).map_err(failed)?;
            let is_empty = journal.next == 0;
            return Ok(if is_empty { KeyJournal::New(journal) } else { KeyJournal::Used(journal) });
        }
        if is_marked {
            return Err(JournalError::Lost { owner: owner.to_owned() });
        }
        let journal = Self::create(path, owner)?;
        mark_used(&self.database, owner).map_err(failed)?;
        Ok(KeyJournal::New(journal))
    }

    /// Writes the file under another name first, so that a file with the right name is complete.
    fn found(path: &Path, owner: &str) -> Result<(), Cause> {
        if fs::exists(path)? {
            return Err(format!("{} is there already", path.display()).into());
        }
        let draft = path.with_added_extension("new");
        // An interrupted attempt may have left a draft.
        if fs::exists(&draft)? {
            fs::remove_file(&draft)?;
        }
        write_owner(&Builder::new().set_cache_size(CACHE_BYTES).create(&draft)?, owner)?;
        // Unlike `rename` this fails if another process created the file first.
        fs::hard_link(&draft, path)?;
        fs::remove_file(&draft)?;
        sync_folder(path)
    }

    fn commit(&mut self) -> Result<(), Cause> {
        let transaction = self.database.begin_write()?;
        {
            let mut table = transaction.open_table(RECORDS)?;
            for (number, record) in (self.next..).zip(&self.fresh) {
                table.insert(number, record.as_slice())?;
            }
        }
        transaction.commit()?;
        self.next = after(self.next, self.fresh.len());
        self.fresh.clear();
        Ok(())
    }

    fn read(&self) -> Result<Vec<Vec<u8>>, Cause> {
        let transaction = self.database.begin_read()?;
        let table = match transaction.open_table(RECORDS) {
            Ok(table) => table,
            Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let rows = table.range::<u64>(..)?;
        rows.map(|row| Ok(row?.1.value().to_vec())).collect()
    }

    fn swap(&mut self, records: &[Vec<u8>]) -> Result<(), Cause> {
        let transaction = self.database.begin_write()?;
        {
            let mut table = transaction.open_table(RECORDS)?;
            table.retain(|_, _| false)?;
            for (number, record) in (self.next..).zip(records) {
                table.insert(number, record.as_slice())?;
            }
        }
        transaction.commit()?;
        self.next = after(self.next, records.len());
        self.fresh.clear();
        Ok(())
    }
}

/// If the process stops in order, its notes are not lost. After a failure of the journal this sync fails
/// too; records that are not durable then have not been promised to anybody.
impl Drop for Redb {
    fn drop(&mut self) {
        let _tried = self.sync();
    }
}

impl Journal for Redb {
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError> {
        self.fresh.push(record.to_vec());
        Ok(())
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        if self.fresh.is_empty() {
            return Ok(());
        }
        self.commit().map_err(|cause| JournalError::storage(JournalOperation::Sync, cause))
    }

    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        let mut records =
            self.read().map_err(|cause| JournalError::storage(JournalOperation::Replay, cause))?;
        records.extend(self.fresh.iter().cloned());
        Ok(records)
    }

    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
        self.swap(records).map_err(|cause| JournalError::storage(JournalOperation::Replace, cause))
    }
}

/// What an error of the store means for an operator; `None` if it is not an error of the store.
pub(crate) fn trouble(error: &(dyn Error + 'static)) -> Option<Trouble> {
    if let Some(error) = error.downcast_ref::<DatabaseError>() {
        return Some(match error {
            DatabaseError::DatabaseAlreadyOpen => Trouble::InUse,
            DatabaseError::RepairAborted | DatabaseError::UpgradeRequired(_) => Trouble::Damaged,
            DatabaseError::Storage(error) => of_storage(error),
            _ => Trouble::Other,
        });
    }
    if let Some(error) = error.downcast_ref::<TableError>() {
        return Some(match error {
            TableError::Storage(error) => of_storage(error),
            // Rows of another shape than a journal has.
            _ => Trouble::Damaged,
        });
    }
    if let Some(CommitError::Storage(error)) = error.downcast_ref() {
        return Some(of_storage(error));
    }
    if let Some(TransactionError::Storage(error)) = error.downcast_ref() {
        return Some(of_storage(error));
    }
    error.downcast_ref().map(of_storage)
}

fn of_storage(error: &StorageError) -> Trouble {
    match error {
        StorageError::Corrupted(_) => Trouble::Damaged,
        StorageError::Io(error) => of_kind(error.kind()),
        _ => Trouble::Other,
    }
}

fn read_owner(database: &Database) -> Result<Option<String>, Cause> {
    match database.begin_read()?.open_table(OWNER) {
        Ok(table) => Ok(table.get(())?.map(|owner| owner.value().to_owned())),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn write_owner(database: &Database, owner: &str) -> Result<(), Cause> {
    let transaction = database.begin_write()?;
    transaction.open_table(OWNER)?.insert((), owner)?;
    transaction.open_table(RECORDS)?;
    Ok(transaction.commit()?)
}

fn is_used(database: &Database, owner: &str) -> Result<bool, Cause> {
    match database.begin_read()?.open_table(USED) {
        Ok(table) => Ok(table.get(owner)?.is_some()),
        Err(TableError::TableDoesNotExist(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn mark_used(database: &Database, owner: &str) -> Result<(), Cause> {
    let transaction = database.begin_write()?;
    transaction.open_table(USED)?.insert(owner, ())?;
    Ok(transaction.commit()?)
}

fn next_number(database: &Database) -> Result<u64, Cause> {
    match database.begin_read()?.open_table(RECORDS) {
        Ok(table) => Ok(table.last()?.map_or(0, |(number, _)| after(number.value(), 1))),
        Err(TableError::TableDoesNotExist(_)) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// The number after `count` more rows. Even one row per nanosecond would take centuries to reach the limit.
fn after(number: u64, count: usize) -> u64 {
    number.saturating_add(u64::try_from(count).unwrap_or(u64::MAX))
}

/// Syncs the folder. The name of a new file is durable only when its folder is.
fn sync_folder(path: &Path) -> Result<(), Cause> {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}
