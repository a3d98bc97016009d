//! The state in one file of [`redb`](https://www.redb.org): blocks are written before they are certified.
//!
//! | table          | key                | value                                                          |
//! |----------------|--------------------|----------------------------------------------------------------|
//! | `genesis`      | `()`               | whose state this is                                            |
//! | `marks`        | height, fork       | the block, and `Optimistic` or `Committed` with its certificate |
//! | `blocks`       | height, fork       | header, roots, where the tree's root is, removed rows           |
//! | `transactions` | height, fork       | the block's transactions                                       |
//! | `results`      | height, fork       | what became of each                                            |
//! | `nodes`        | height, fork, path | a node of the tree; a leaf has its row's value                  |
//! | `forks`        | height             | the fork that is committed, if it is not fork 0                 |
//! | `sizes`        | height, fork       | the bytes that the block has added to the other tables          |
//! | `stale`        | height, fork       | nodes of blocks before that are not in the tree any more        |
//! | `restore`      | `()`               | the state that is being fetched from elsewhere, if there is one |
//!
//! Each call is one transaction of `redb`, so after a crash it has happened or it has not.
//! - An *optimistic write* adds rows to all tables. Nobody reads them: views read what is not committed from
//!   memory ([`View`]).
//! - *Certification* overwrites one row of `marks`, and enters the fork if it is not the first of its height.
//! - *Revert* removes the rows of one height and fork. Several forks of one height do not touch each other's rows.
//! - *Pruning* removes what only states below a height need.
//! - *Restoring* puts a state together that comes from elsewhere, range by range (`restore`).
//!
//! After a crash, [`recover`](prefinal_execution::Store::recover) reads the changes of optimistic blocks from
//! their rows, so no block that was written is executed again.
mod export;
mod open;
mod prune;
mod restore;
mod rows;
mod shared;
mod write;

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_execution::{
    Block, BlockId, Committed, Execution, Executor, Header, Height, Recovered, Roots,
    StateCertificate, Store, Transaction,
};
use redb::TableDefinition;

pub use self::export::BlockExport;
pub use self::open::Genesis;
pub use self::restore::SnapshotBlock;
pub(crate) use self::shared::{Shared, Snapshot};
use crate::error::StateError;
use crate::node::Fork;
use crate::place::{self, ProvenPlace};
use crate::proof::{ListProof, StateKey, TransactionResult};
use crate::view::{Delta, Layer, ProvenRow, View};

type Bytes = &'static [u8];
type Place = (u64, Fork);

const GENESIS: TableDefinition<'_, (), Bytes> = TableDefinition::new("genesis");
const MARKS: TableDefinition<'_, Place, Bytes> = TableDefinition::new("marks");
const BLOCKS: TableDefinition<'_, Place, Bytes> = TableDefinition::new("blocks");
const TRANSACTIONS: TableDefinition<'_, Place, Bytes> = TableDefinition::new("transactions");
const RESULTS: TableDefinition<'_, Place, Bytes> = TableDefinition::new("results");
const STALE: TableDefinition<'_, Place, Bytes> = TableDefinition::new("stale");
/// Nodes outlive the states of their heights, so this is never pruned.
const FORKS: TableDefinition<'_, u64, Fork> = TableDefinition::new("forks");
const NODES: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("nodes");
/// Missing in files of before: what is not in it counts as nothing.
const SIZES: TableDefinition<'_, Place, u64> = TableDefinition::new("sizes");

/// A transaction as the store keeps it. None begins with 0xfe or 0xff, as
/// [`SystemTransaction`](crate::SystemTransaction)s do.
pub trait StoredTransaction: Transaction {
    /// The transaction's bytes, which [`Self::from_bytes`] reads.
    fn to_bytes(&self) -> Vec<u8>;

    /// The transaction that was encoded, or `None` if these bytes are not a transaction's.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

/// An executor whose blocks and states a [`StateStore`] keeps.
pub trait StateExecutor:
    Executor<View = View, Delta = Delta, Transaction: StoredTransaction>
{
}

impl<X> StateExecutor for X where
    X: Executor<View = View, Delta = Delta, Transaction: StoredTransaction>
{
}

/// How a written block stands.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
enum Mark {
    Optimistic(BlockId),
    Committed { block: BlockId, certificate: Vec<u8> },
}

/// A block that is written and not committed.
#[derive(Clone, Debug)]
struct Written {
    fork: Fork,
    layer: Arc<Layer>,
    /// What it has added to the file.
    bytes: u64,
}

impl Written {
    fn place(&self) -> Place {
        (self.layer.header.height.get(), self.fork)
    }
}

/// The state of a chain in one file, as the pipeline's [`Store`].
pub struct StateStore<X, C> {
    shared: Arc<Shared>,
    written: BTreeMap<BlockId, Written>,
    pruned: Height,
    /// What the committed blocks above `pruned` have added to the file.
    bytes: u64,
    restoring: Option<restore::Restoration>,
    kinds: PhantomData<fn() -> (X, C)>,
}

/// A committed block without its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredBlock {
    /// Its place in the chain.
    pub header: Header,
    /// The roots of the state and the receipts that the block leaves.
    pub roots: Roots,
}

/// What became of a transaction of a committed block, and what shows it under the receipts' root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenResult {
    /// The transaction's hash and its receipt.
    pub result: TransactionResult,
    /// Shows [`TransactionResult::item`] under the receipts' root.
    pub proof: ListProof,
}

impl<X, C> StateStore<X, C>
where
    X: StateExecutor,
    C: StateCertificate,
{
    /// The last committed state.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn view(&self) -> Result<View, StateError> {
        Ok(View::committed(Arc::clone(&self.shared), self.shared.snapshot()?))
    }

    /// The committed state at this height.
    ///
    /// # Errors
    /// If the height is pruned or not committed yet, or if the file cannot be read.
    pub fn view_at(&self, height: Height) -> Result<View, StateError> {
        let place = self.committed_place(height)?;
        let row = rows::block(&self.shared.database, place)?;
        let row = row.ok_or(StateError::NoVersion { height })?;
        let snapshot = self.shared.snapshot_at(row.header.id, row.roots, row.root)?;
        Ok(View::committed(Arc::clone(&self.shared), snapshot))
    }

    /// The committed block at this height.
    ///
    /// # Errors
    /// If the height is pruned or not committed yet, or if the file cannot be read.
    pub fn block(&self, height: Height) -> Result<StoredBlock, StateError> {
        let place = self.committed_place(height)?;
        let row = rows::block(&self.shared.database, place)?;
        let row = row.ok_or(StateError::NoVersion { height })?;
        Ok(StoredBlock { header: row.header, roots: row.roots })
    }

    /// The certificate of the committed block at this height; the genesis has none.
    ///
    /// # Errors
    /// If the height is pruned or not committed yet, or if the file cannot be read.
    pub fn certificate(&self, height: Height) -> Result<Option<C>, StateError> {
        let place = self.committed_place(height)?;
        match rows::mark(&self.shared.database, place)? {
            Some(Mark::Committed { certificate, .. }) if certificate.is_empty() => Ok(None),
            Some(Mark::Committed { certificate, .. }) => C::try_from_slice(&certificate)
                .map(Some)
                .map_err(|_| StateError::damaged("a certificate that cannot be read")),
            _ => Err(StateError::NoVersion { height }),
        }
    }

    /// What became of the transaction at this position of the committed block at this height, or `None` if the
    /// block has no such position. Costs two hashes for each transaction of the block.
    ///
    /// # Errors
    /// If the height is pruned or not committed yet, or if the file cannot be read.
    pub fn result(
        &self,
        height: Height,
        position: u32,
    ) -> Result<Option<ProvenResult>, StateError> {
        let place = self.committed_place(height)?;
        let results = rows::results(&self.shared.database, place)?;
        let mut results = results.ok_or(StateError::NoVersion { height })?;
        let header = self.block(height)?.header;
        let items = place::items(&header, &results);
        let Some(proof) = ListProof::of(&items, position) else { return Ok(None) };
        let at = usize::try_from(position).unwrap_or(usize::MAX);
        if at >= results.len() {
            return Ok(None);
        }
        Ok(Some(ProvenResult { result: results.swap_remove(at), proof }))
    }

    /// The place of a block that is written and not committed, with what shows it under its receipts' root; `None` if
    /// there is no such block. Costs three hashes for each of its transactions.
    #[must_use]
    pub fn place(&self, block: &BlockId) -> Option<ProvenPlace> {
        self.written.get(block)?.layer.place()
    }

    /// The value of a row in the last committed state, or that there is none, with a proof.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn prove(&self, key: &StateKey) -> Result<ProvenRow, StateError> {
        self.view()?.prove(key)
    }

    fn committed_place(&self, height: Height) -> Result<Place, StateError> {
        let tip = self.shared.tip()?;
        if height > tip.committed.height {
            return Err(StateError::NoVersion { height });
        }
        Ok((height.get(), tip.fork(height)))
    }
}

impl<X, C> Store for StateStore<X, C>
where
    X: StateExecutor,
    C: StateCertificate,
{
    type Executor = X;
    type Certificate = C;
    type Error = StateError;

    fn write_optimistic(
        &mut self,
        block: &Block<X::Transaction>,
        execution: &Execution<X>,
    ) -> Result<(), StateError> {
        self.write(block, &execution.delta, None)
    }

    fn certify(&mut self, block: &Header, certificate: &C) -> Result<(), StateError> {
        self.turn_mark(block, rows::encode(certificate)?)
    }

    fn write_certified(
        &mut self,
        block: &Block<X::Transaction>,
        execution: &Execution<X>,
        certificate: &C,
    ) -> Result<(), StateError> {
        self.write(block, &execution.delta, Some(rows::encode(certificate)?))
    }

    fn revert(&mut self, block: &Header) -> Result<(), StateError> {
        self.remove(block)
    }

    fn committed(&self) -> Result<Committed, StateError> {
        Ok(self.shared.tip()?.committed)
    }

    fn recover(&mut self) -> Result<Recovered<X>, StateError> {
        self.read_back()
    }
}
