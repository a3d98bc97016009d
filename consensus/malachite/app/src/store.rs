//! Decided blocks with their certificates, in one file: append only, and durable before anybody is told.
//!
//! | table     | key    | value                                             |
//! |-----------|--------|---------------------------------------------------|
//! | `about`   | `()`   | the format's name and the chain                   |
//! | `decided` | height | SHA-256 of the rest, then the decision in Borsh   |
//!
//! Heights follow one another without gaps. An outsider checks a decision with [`verify`]: it needs the
//! members of that height and nothing else.
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use ::redb::{
    CommitError, Database, DatabaseError, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    StorageError, TableDefinition, TableError, TransactionError,
};
use malachitebft_core_types::{CertificateError, CommitCertificate};
use prefinal_malachite::{Block, Decision, Height, Tendermint, Validators};
use prefinal_protocol::ChainId;
use sha2::{Digest, Sha256};

const FORMAT: &[u8] = b"prefinal/malachite/v1/decided";
const ABOUT: TableDefinition<'_, (), &[u8]> = TableDefinition::new("about");
const DECIDED: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("decided");
/// The first height of a chain.
const FIRST: Height = Height::new(1);

/// Why decided blocks cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file cannot be used.
    #[error("file of decided blocks cannot be {doing}")]
    File {
        /// What was tried.
        doing: &'static str,
        /// What the store said.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file is damaged or no store.
    #[error("file of decided blocks is damaged, or something else")]
    Damaged {
        /// What the store said.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another process has the file open.
    #[error("file of decided blocks is open in another process")]
    Busy,
    /// The file belongs to another chain, or has another format.
    #[error("file of decided blocks belongs to another chain or version")]
    Foreign,
    /// A decision is not what was written, or is missing.
    #[error("decision of {height} is damaged")]
    Record {
        /// Its height.
        height: Height,
    },
    /// A decision does not follow the last one.
    #[error("decision of {got} where {expected} follows")]
    Gap {
        /// The height of the decision.
        got: Height,
        /// The height that follows.
        expected: Height,
    },
    /// The engine was stopped, and its store was closed.
    #[error("store of decided blocks is closed")]
    Closed,
}

impl StoreError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "input-output",
            Self::Damaged { .. } | Self::Record { .. } => "unreadable-record",
            Self::Busy => "locked",
            Self::Foreign => "other-owner",
            Self::Gap { .. } => "height-gap",
            Self::Closed => "store-closed",
        }
    }
}

/// Why a decision does not prove its block.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The certificate is for another block.
    #[error("certificate is for another block")]
    Block,
    /// The certificate and its block have different heights.
    #[error("certificate of {certificate} with a block of {block}")]
    Height {
        /// The certificate's height.
        certificate: Height,
        /// The block's height.
        block: Height,
    },
    /// A signature is wrong, or too little stake signed.
    #[error("certificate does not hold: {0:?}")]
    Certificate(CertificateError<Tendermint>),
}

impl VerifyError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Block => "other-block",
            Self::Height { .. } => "other-height",
            Self::Certificate(_) => "invalid-certificate",
        }
    }
}

/// Checks that the members decided the block: precommits of more than two thirds of the stake name it.
///
/// # Errors
/// [`VerifyError`] says what is wrong.
pub fn verify(
    validators: &Validators,
    certificate: &CommitCertificate<Tendermint>,
    block: &Block,
) -> Result<(), VerifyError> {
    if certificate.value_id != block.id() {
        return Err(VerifyError::Block);
    }
    if certificate.height != block.height() {
        let (certificate, block) = (certificate.height, block.height());
        return Err(VerifyError::Height { certificate, block });
    }
    validators.check_certificate(certificate).map_err(VerifyError::Certificate)
}

/// The decided blocks of a chain. Clones are the same store.
#[derive(Clone, Debug)]
pub struct Store(Arc<RwLock<Option<Database>>>);

impl Store {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// [`StoreError`] says what is wrong.
    pub fn open(path: &Path, chain: ChainId) -> Result<Self, StoreError> {
        let database = Database::create(path)?;
        let about = [FORMAT, chain.as_bytes()].concat();
        let transaction = database.begin_write()?;
        {
            let mut table = transaction.open_table(ABOUT)?;
            let found = table.get(())?.map(|found| found.value() == about);
            match found {
                Some(true) => {}
                Some(false) => return Err(StoreError::Foreign),
                None if transaction.open_table(DECIDED)?.is_empty()? => {
                    table.insert((), &*about)?;
                }
                None => return Err(StoreError::Foreign),
            }
            transaction.open_table(DECIDED)?;
        }
        transaction.commit()?;
        let store = Self(Arc::new(RwLock::new(Some(database))));
        if let Some(last) = store.last()? {
            store.get(last)?;
        }
        Ok(store)
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let database = self.0.read().unwrap_or_else(PoisonError::into_inner);
        read(database.as_ref().ok_or(StoreError::Closed)?)
    }

    /// The last height that is decided.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn last(&self) -> Result<Option<Height>, StoreError> {
        self.read(|database| {
            let table = database.begin_read()?.open_table(DECIDED)?;
            Ok(table.last()?.map(|(height, _)| Height::new(height.value())))
        })
    }

    /// The first height whose decision is here.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn first(&self) -> Result<Option<Height>, StoreError> {
        self.read(|database| {
            let table = database.begin_read()?.open_table(DECIDED)?;
            Ok(table.first()?.map(|(height, _)| Height::new(height.value())))
        })
    }

    /// The decision of a height, if it is here.
    ///
    /// # Errors
    /// If the file cannot be read, or the decision is damaged.
    pub fn get(&self, height: Height) -> Result<Option<Decision>, StoreError> {
        self.read(|database| {
            let table = database.begin_read()?.open_table(DECIDED)?;
            let found = table.get(height.get())?;
            found.map(|found| decode(height, found.value())).transpose()
        })
    }

    /// The decisions of heights, in their order, `most` of them.
    ///
    /// # Errors
    /// If the file cannot be read, or a decision is damaged.
    pub fn range(
        &self,
        heights: RangeInclusive<Height>,
        most: usize,
    ) -> Result<Vec<Decision>, StoreError> {
        let (first, last) = (heights.start().get(), heights.end().get());
        self.read(|database| {
            let table = database.begin_read()?.open_table(DECIDED)?;
            let mut decisions = Vec::new();
            if first > last {
                return Ok(decisions);
            }
            for entry in table.range(first..=last)?.take(most) {
                let (height, value) = entry?;
                decisions.push(decode(Height::new(height.value()), value.value())?);
            }
            Ok(decisions)
        })
    }

    /// The height that follows the last.
    pub(crate) fn next(&self) -> Result<Height, StoreError> {
        Ok(self.last()?.map_or(FIRST, Height::next))
    }

    /// Adds the decision of the next height. It is durable when this returns.
    pub(crate) fn append(&self, decision: &Decision) -> Result<(), StoreError> {
        let (got, expected) = (decision.block.height(), self.next()?);
        if got != expected {
            return Err(StoreError::Gap { got, expected });
        }
        // Writing into memory cannot fail.
        let bytes = borsh::to_vec(decision).unwrap_or_default();
        let mut value = Sha256::digest(&bytes).to_vec();
        value.extend(bytes);
        self.read(|database| {
            let transaction = database.begin_write()?;
            transaction.open_table(DECIDED)?.insert(got.get(), &*value)?;
            Ok(transaction.commit()?)
        })
    }

    /// Closes the file. Clones read nothing any more.
    pub(crate) fn close(&self) {
        drop(self.0.write().unwrap_or_else(PoisonError::into_inner).take());
    }
}

fn decode(height: Height, value: &[u8]) -> Result<Decision, StoreError> {
    let damaged = StoreError::Record { height };
    let Some((digest, bytes)) = value.split_at_checked(32) else { return Err(damaged) };
    if Sha256::digest(bytes).as_slice() != digest {
        return Err(damaged);
    }
    match borsh::from_slice::<Decision>(bytes) {
        Ok(decision) if decision.block.height() == height => Ok(decision),
        _ => Err(damaged),
    }
}

impl From<DatabaseError> for StoreError {
    fn from(cause: DatabaseError) -> Self {
        match cause {
            DatabaseError::DatabaseAlreadyOpen => Self::Busy,
            DatabaseError::Storage(cause) => cause.into(),
            cause => Self::Damaged { cause: cause.into() },
        }
    }
}

impl From<StorageError> for StoreError {
    fn from(cause: StorageError) -> Self {
        match cause {
            StorageError::Corrupted(_) => Self::Damaged { cause: cause.into() },
            StorageError::Io(ref io) if io.kind() == std::io::ErrorKind::InvalidData => {
                Self::Damaged { cause: cause.into() }
            }
            cause => Self::File { doing: "read or written", cause: cause.into() },
        }
    }
}

impl From<TableError> for StoreError {
    fn from(cause: TableError) -> Self {
        match cause {
            TableError::Storage(cause) => cause.into(),
            _ => Self::Foreign,
        }
    }
}

impl From<TransactionError> for StoreError {
    fn from(cause: TransactionError) -> Self {
        match cause {
            TransactionError::Storage(cause) => cause.into(),
            cause => Self::File { doing: "read or written", cause: cause.into() },
        }
    }
}

impl From<CommitError> for StoreError {
    fn from(cause: CommitError) -> Self {
        match cause {
            CommitError::Storage(cause) => cause.into(),
            cause => Self::File { doing: "written", cause: cause.into() },
        }
    }
}
