//! What executes blocks.
//!
//! ```text
//!  parent's view ──► head ──► draft ──────────────────► seal ──► roots, view, delta
//!                               └──► tail ──► draft ──► seal ──►       │      └─► store
//!                    slot's value ────┘                                └─► heads of the children
//! ```
//! A block is executed in two parts. The *head* is made of the transactions that do not declare that they
//! read the slot's random value ([`Part::Head`](crate::Part)). It runs as soon as the parent is executed,
//! mostly before the block is ordered. The *tail* is made of those that declare it. It runs behind the
//! head, in block order, when the block is ordered and the value is known. A block without a tail needs no
//! value: its head is sealed at once.
//!
//! **Test and abort.** Somebody who sees a value must not be able to undo what depends on it. Three rules
//! exclude it. The first two hold by the shape of this trait and of the pipeline, the third is a duty of
//! the executor:
//!
//! | rule | why it holds |
//! |------|--------------|
//! | no transaction of the head can read a value | [`Executor::head`] gets none: it runs before the value exists |
//! | nobody chooses or orders transactions by a value | the value is revealed only when the slot's block is ordered |
//! | what reads the value is never called by something that could undo it | only what a transaction of the tail calls *first* may read it, and no calls lead to it: not from the head, and not from code of the tail that goes on behind it |
use std::error::Error;
use std::fmt::{self, Debug};

use borsh::{BorshDeserialize, BorshSerialize};

use crate::block::{Block, Transaction};
pub(crate) use crate::roots::Roots;

/// The random value of a slot, as executors read it. Nobody knew it before the slot's block was ordered.
///
/// ```compile_fail,E0308
/// use prefinal_execution::Randomness;
/// let value: Randomness = [0_u8; 32];
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Randomness([u8; 32]);

impl Randomness {
    /// The value of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes of the value.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

/// The outcome of executing a block.
pub struct Execution<X: Executor> {
    /// What the state certificate is about.
    pub roots: Roots,
    /// The state that the block leaves, for its children.
    pub view: X::View,
    /// What a store needs in order to keep the block: changed state, receipts, nodes of trees.
    pub delta: X::Delta,
}

/// Executes blocks. Pure and deterministic: the same parent, block and value give the same roots at
/// every party. It reads no clock, no generator and no number of threads.
///
/// Every method runs as a job, on a pool, several at a time. An invalid transaction is no error: it leaves a
/// receipt that says so, at every party the same.
pub trait Executor: Sized + Send + Sync + 'static {
    /// A transaction in decoded form, as it stands in a block.
    type Transaction: Transaction;
    /// The state that an executed block leaves. Cheap to clone. It stays readable as long as somebody has it,
    /// whatever a store certifies or reverts meanwhile: children of several forks read it at once. How
    /// much of it is in memory is the executor's matter; what the store has certified need not be.
    type View: Clone + Debug + Send + Sync + 'static;
    /// A block that is executed in part.
    type Draft: Debug + Send + 'static;
    /// What a store needs in order to keep an executed block. Cheap to clone.
    type Delta: Clone + Debug + Send + Sync + 'static;
    /// Why a block could not be executed here, although others can: for example an unreadable disk.
    type Error: Error + Send + Sync + 'static;

    /// Executes the transactions of [`Part::Head`](crate::Part), in block order, on the parent's state.
    ///
    /// # Errors
    /// If this party cannot execute. The pipeline stops.
    fn head(
        &self,
        parent: &Self::View,
        block: &Block<Self::Transaction>,
    ) -> Result<Self::Draft, Self::Error>;

    /// Executes the transactions of [`Part::Tail`](crate::Part) behind the head, in block order. They may
    /// read `value`. Called only for blocks that have a tail.
    ///
    /// # Errors
    /// If this party cannot execute. The pipeline stops.
    fn tail(
        &self,
        draft: Self::Draft,
        block: &Block<Self::Transaction>,
        value: Randomness,
    ) -> Result<Self::Draft, Self::Error>;

    /// Computes the roots and the delta of a block whose transactions are all executed.
    ///
    /// # Errors
    /// If this party cannot execute. The pipeline stops.
    fn seal(
        &self,
        draft: Self::Draft,
        block: &Block<Self::Transaction>,
    ) -> Result<Execution<Self>, Self::Error>;
}

impl<X: Executor> Clone for Execution<X> {
    fn clone(&self) -> Self {
        Self { roots: self.roots, view: self.view.clone(), delta: self.delta.clone() }
    }
}

impl<X: Executor> Debug for Execution<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution").field("roots", &self.roots).finish_non_exhaustive()
    }
}
