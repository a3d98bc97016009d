//! What makes executed blocks durable.
//!
//! ```text
//!            write_optimistic            certify
//!  (nothing) ────────────────► optimistic ───────► committed
//!      ▲                           │
//!      └───────── revert ──────────┘
//! ```
//! Several blocks of one height may be optimistic at once, on several forks. At most one is ever
//! committed. Each call is one durable transaction: after a crash it has happened or it has not.
//!
//! The driver makes the calls when the pipeline asks for them ([`StoreJob`](crate::StoreJob)), and gives the
//! result back. The pipeline asks for a call only when everything that it depends on is done: a block is
//! written after its parent, certified after its parent is committed, and reverted after its children are
//! reverted. Jobs that are out at the same time do not depend on each other and may run in any order.
use std::error::Error;
use std::fmt::Debug;

use borsh::{BorshDeserialize, BorshSerialize};

use crate::block::{Block, BlockId, Header, Height};
use crate::executor::{Execution, Executor, Roots};

/// The last block whose state is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Committed {
    /// How many blocks lie before the block.
    pub height: Height,
    /// The name of the block.
    pub block: BlockId,
    /// Its results, as they were certified. For the genesis, its state.
    pub roots: Roots,
}

/// A block that was written and is not committed.
pub struct OptimisticBlock<X: Executor> {
    /// The block, as it was written.
    pub block: Block<X::Transaction>,
    /// Its results, as they were computed here.
    pub roots: Roots,
    /// The state that it leaves.
    pub view: X::View,
}

/// What a store holds when the process starts.
pub struct Recovered<X: Executor> {
    /// The last committed block.
    pub committed: Committed,
    /// The state that it leaves.
    pub view: X::View,
    /// All blocks that are written and not committed, in any order. Also those that can never be committed
    /// any more, because a crash came before they were reverted.
    pub optimistic: Vec<OptimisticBlock<X>>,
}

/// A certificate of a block's roots, as it is stored and sent. The pipeline does not look into it:
/// the host verifies it first.
pub trait StateCertificate:
    Clone + Debug + BorshSerialize + BorshDeserialize + Send + Sync + 'static
{
}
impl<C: Clone + Debug + BorshSerialize + BorshDeserialize + Send + Sync + 'static> StateCertificate
    for C
{
}

/// Makes executed blocks durable.
pub trait Store: Send + 'static {
    /// What executes the blocks of this store.
    type Executor: Executor;
    /// A certificate of a block's roots.
    type Certificate: StateCertificate;
    /// Why the store cannot go on. What is on the disk is unknown until [`recover`](Self::recover) reads it.
    type Error: Error + Send + Sync + 'static;

    /// Writes a block and what executing it has changed, marked as optimistic. Its parent is written or
    /// committed. Writing a block again that is written already changes nothing.
    ///
    /// # Errors
    /// If it is not certain that the block is durable, or if the parent is not there.
    fn write_optimistic(
        &mut self,
        block: &Block<<Self::Executor as Executor>::Transaction>,
        execution: &Execution<Self::Executor>,
    ) -> Result<(), Self::Error>;

    /// Turns the mark of a written block into committed, and stores the certificate: a small transaction,
    /// whatever the size of the block. Its parent is the last committed block.
    ///
    /// # Errors
    /// If it is not certain that the mark is durable, if the block is not written, or if it is not a child
    /// of the last committed block.
    fn certify(
        &mut self,
        block: &Header,
        certificate: &Self::Certificate,
    ) -> Result<(), Self::Error>;

    /// Writes a block that is certified already: as [`write_optimistic`](Self::write_optimistic) and
    /// [`certify`](Self::certify), best in one transaction.
    ///
    /// # Errors
    /// As those two.
    fn write_certified(
        &mut self,
        block: &Block<<Self::Executor as Executor>::Transaction>,
        execution: &Execution<Self::Executor>,
        certificate: &Self::Certificate,
    ) -> Result<(), Self::Error> {
        self.write_optimistic(block, execution)?;
        self.certify(&block.header, certificate)
    }

    /// Removes an optimistic block. No block that is written has it as its parent. Reverting a block that is
    /// not there changes nothing, for a crash may have come between this call and its result.
    ///
    /// # Errors
    /// If it is not certain that the block is gone, or if it is committed.
    fn revert(&mut self, block: &Header) -> Result<(), Self::Error>;

    /// The last committed block.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn committed(&self) -> Result<Committed, Self::Error>;

    /// Reads what is there, when the process starts.
    ///
    /// # Errors
    /// If the store cannot be read, or if it holds something else than what was written.
    fn recover(&mut self) -> Result<Recovered<Self::Executor>, Self::Error>;
}
