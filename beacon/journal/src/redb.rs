//! A journal in one file of [`redb`](https://www.redb.org), an embedded store in pure Rust.
//!
//! Chosen because a commit is atomic and durable with one `fsync`, every page has a checksum, the file
//! is locked against a second process, and it is small and looked after. A record is a row under its
//! running number; what is synced together is one transaction, so after a crash the file holds whole
//! records and no gap.
//!
//! | table     | key      | value                                   |
//! |-----------|----------|-----------------------------------------|
//! | `records` | number   | the record                              |
//! | `owner`   | `()`     | whose journal this is                   |
//! | `used`    | owner    | journals that were opened under this one |
//!
//! A journal that comes back empty forgets its promises. So making one and opening one are two
//! functions: a mistyped path is an error, and not a party without a past. And it knows its owner, for
//! another party's promises are no use: a wrong one is refused.
//!
//! Keys that a key generation makes appear while the chain runs, and their journal with them. Whether such a
//! journal is new or lost, its own file cannot tell. The party's first journal can, the one that was created
//! with its identity: [`Redb::for_keys`] marks there every journal before it is used. A file without a mark was
//! never used; a mark without a file is a loss, and is refused.
//!
//! At every start all pages are checked, which a journal that is shortened is small enough for.
use std::error::Error;
use std::fs;
use std::path::Path;

use ::redb::{
    Builder, CommitError, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError,
    TableDefinition, TableError, TransactionError,
};

use crate::storage::{Doing, Journal, JournalError, Trouble, of_kind};

const RECORDS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("records");
const OWNER: TableDefinition<'_, (), &str> = TableDefinition::new("owner");
const USED: TableDefinition<'_, &str, ()> = TableDefinition::new("used");

/// Pages that are kept in memory; a journal is read once.
const CACHE_BYTES: usize = 1 << 20;

/// A journal in a file.
#[derive(Debug)]
pub struct Redb {
    database: Database,
    /// The number of the first fresh record.
    next: u64,
    fresh: Vec<Vec<u8>>,
}

type Cause = Box<dyn Error + Send + Sync>;

impl Redb {
    /// Makes a journal where there is none. `owner` says whose it is, best by chain, epoch and party.
    /// If it is interrupted there is no file, or a whole one.
    ///
    /// # Errors
    /// If there is such a file already, or it cannot be written.
    pub fn create(path: &Path, owner: &str) -> Result<Self, JournalError> {
        Self::found(path, owner).map_err(|cause| JournalError::storage(Doing::Create, cause))?;
        Self::open(path, owner)
    }

    /// Opens the journal that is there.
    ///
    /// # Errors
    /// If there is none, it is of somebody else, another process has it, or it is damaged.
    pub fn open(path: &Path, owner: &str) -> Result<Self, JournalError> {
        let mut builder = Builder::new();
        builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
        let database =
            builder.open(path).map_err(|cause| JournalError::storage(Doing::Open, cause))?;
        Self::within(database, owner)
    }

    /// A journal in a database that the caller opened, for a cache or a backend of its own. An empty
    /// database becomes the owner's.
    ///
    /// # Errors
    /// If it is of somebody else, or cannot be read.
    pub fn within(database: Database, owner: &str) -> Result<Self, JournalError> {
        let failed = |cause| JournalError::storage(Doing::Open, cause);
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
    /// | file | mark | what it means                                      | what happens       |
    /// |------|------|----------------------------------------------------|--------------------|
    /// | no   | no   | the keys are new                                   | created, marked    |
    /// | yes  | no   | a crash before the mark: the keys were never used  | marked             |
    /// | yes  | yes  | the keys are in use                                | opened             |
    /// | no   | yes  | the journal is lost, what was released is unknown  | refused            |
    ///
    /// The mark is durable before the journal is given out. This holds as long as the identity's own journal is
    /// not put back from an older copy; a journal without records begins the keys' first life.
    ///
    /// # Errors
    /// If the journal was used before and is not there, is of somebody else, in use or damaged, or one of the
    /// two files cannot be written.
    pub fn for_keys(&self, path: &Path, owner: &str) -> Result<Self, JournalError> {
        let failed = |cause: Cause| JournalError::storage(Doing::Create, cause);
        let is_marked = is_used(&self.database, owner).map_err(failed)?;
        if fs::exists(path).map_err(|cause| failed(cause.into()))? {
            let journal = Self::open(path, owner)?;
            if !is_marked {
                mark_used(&self.database, owner).map_err(failed)?;
            }
            return Ok(journal);
        }
        if is_marked {
            return Err(JournalError::Lost { owner: owner.to_owned() });
        }
        let journal = Self::create(path, owner)?;
        mark_used(&self.database, owner).map_err(failed)?;
        Ok(journal)
    }

    /// Under another name first: what has the right name is whole.
    fn found(path: &Path, owner: &str) -> Result<(), Cause> {
        if fs::exists(path)? {
            return Err(format!("{} is there already", path.display()).into());
        }
        let draft = path.with_added_extension("new");
        // What an interrupted attempt left.
        if fs::exists(&draft)? {
            fs::remove_file(&draft)?;
        }
        write_owner(&Builder::new().set_cache_size(CACHE_BYTES).create(&draft)?, owner)?;
        // Unlike `rename` this fails if somebody else was faster.
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

/// Notes of a party that stops in order are not lost. After a failure this fails too, and what is not
/// durable then was not promised to anybody.
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
        self.commit().map_err(|cause| JournalError::storage(Doing::Sync, cause))
    }

    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        let mut records =
            self.read().map_err(|cause| JournalError::storage(Doing::Replay, cause))?;
        records.extend(self.fresh.iter().cloned());
        Ok(records)
    }

    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
        self.swap(records).map_err(|cause| JournalError::storage(Doing::Replace, cause))
    }
}

/// What an error of the store means; `None` if it is not one of the store's.
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
            // Rows of another shape than a journal's.
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

/// A row a nanosecond fills this in centuries.
fn after(number: u64, count: usize) -> u64 {
    number.saturating_add(u64::try_from(count).unwrap_or(u64::MAX))
}

/// The name of a new file is durable when its folder is.
fn sync_folder(path: &Path) -> Result<(), Cause> {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}
