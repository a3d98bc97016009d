//! The work that leaves the pipeline: executing, on a pool, and storing, on the store's own thread.
//!
//! | job | what it does | asked for when |
//! |-----|--------------|----------------|
//! | head | [`Executor::head`], and [`Executor::seal`] if the block has no tail | the parent is executed |
//! | tail | [`Executor::tail`] and [`Executor::seal`] | the block is ordered and its value is known |
//! | write | [`Store::write_optimistic`] | the block is executed and its parent is written |
//! | commit | [`Store::write_certified`], or [`Store::certify`] if the block is written | it is ordered and certified, and its parent is committed |
//! | revert | [`Store::revert`] | it can never be ordered, and its children are reverted |
use std::fmt;

use crate::block::{Block, Header, Part};
use crate::executor::{Execution, Executor, Randomness};
use crate::store::{StateCertificate, Store};

/// Executes one part of a block.
pub struct ExecuteJob<X: Executor> {
    block: Block<X::Transaction>,
    work: Work<X>,
}

enum Work<X: Executor> {
    Head { parent: X::View },
    Tail { draft: X::Draft, value: Randomness },
}

/// The result of an [`ExecuteJob`].
pub struct ExecuteVerdict<X: Executor> {
    pub(crate) header: Header,
    pub(crate) found: Result<Found<X>, X::Error>,
}

/// What a job has brought its block to.
pub(crate) enum Found<X: Executor> {
    /// The tail is missing.
    Draft(X::Draft),
    Sealed(Box<Execution<X>>),
}

/// One durable transaction of the store.
pub struct StoreJob<X: Executor, C: StateCertificate> {
    header: Header,
    call: StoreCall<X, C>,
}

/// The call that a [`StoreJob`] makes.
pub enum StoreCall<X: Executor, C: StateCertificate> {
    /// The block is not certified yet: [`Store::write_optimistic`].
    Write(Block<X::Transaction>, Execution<X>),
    /// The block is written with its certificate: [`Store::write_certified`].
    WriteCertified(Block<X::Transaction>, Execution<X>, C),
    /// The block was written before: [`Store::certify`].
    Certify(C),
    /// The block was not ordered: [`Store::revert`].
    Revert,
}

/// The result of a [`StoreJob`].
#[derive(Clone, Debug)]
pub struct StoreVerdict {
    pub(crate) header: Header,
    pub(crate) state: StoredState,
    pub(crate) result: Result<(), String>,
}

/// What the store holds of a block after a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoredState {
    Optimistic,
    Committed,
    Absent,
}

impl<X: Executor> ExecuteJob<X> {
    pub(crate) const fn head(block: Block<X::Transaction>, parent: X::View) -> Self {
        Self { block, work: Work::Head { parent } }
    }

    pub(crate) const fn tail(
        block: Block<X::Transaction>,
        draft: X::Draft,
        value: Randomness,
    ) -> Self {
        Self { block, work: Work::Tail { draft, value } }
    }

    /// The block that is executed.
    #[must_use]
    pub const fn block(&self) -> &Block<X::Transaction> {
        &self.block
    }

    /// The part of the block that is executed.
    #[must_use]
    pub const fn part(&self) -> Part {
        match self.work {
            Work::Head { .. } => Part::Head,
            Work::Tail { .. } => Part::Tail,
        }
    }

    /// Executes on the calling thread. Give the verdict back to the pipeline.
    #[must_use]
    pub fn run(self, executor: &X) -> ExecuteVerdict<X> {
        let header = self.block.header;
        let draft = match self.work {
            Work::Head { parent } => executor.head(&parent, &self.block),
            Work::Tail { draft, value } => {
                let draft = executor.tail(draft, &self.block, value);
                return ExecuteVerdict {
                    header,
                    found: draft.and_then(|draft| sealed(executor, draft, &self.block)),
                };
            }
        };
        let found = draft.and_then(|draft| {
            if self.block.has_tail() {
                Ok(Found::Draft(draft))
            } else {
                sealed(executor, draft, &self.block)
            }
        });
        ExecuteVerdict { header, found }
    }
}

fn sealed<X: Executor>(
    executor: &X,
    draft: X::Draft,
    block: &Block<X::Transaction>,
) -> Result<Found<X>, X::Error> {
    executor.seal(draft, block).map(Box::new).map(Found::Sealed)
}

impl<X: Executor, C: StateCertificate> StoreJob<X, C> {
    pub(crate) const fn new(header: Header, call: StoreCall<X, C>) -> Self {
        Self { header, call }
    }

    /// The block that the job is about.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The call that the job makes.
    #[must_use]
    pub const fn call(&self) -> &StoreCall<X, C> {
        &self.call
    }

    /// Makes the call. Give the verdict back to the pipeline.
    #[must_use]
    pub fn run<S: Store<Executor = X, Certificate = C>>(&self, store: &mut S) -> StoreVerdict {
        let (state, result) = match &self.call {
            StoreCall::Write(block, execution) => {
                (StoredState::Optimistic, store.write_optimistic(block, execution))
            }
            StoreCall::WriteCertified(block, execution, certificate) => {
                (StoredState::Committed, store.write_certified(block, execution, certificate))
            }
            StoreCall::Certify(certificate) => {
                (StoredState::Committed, store.certify(&self.header, certificate))
            }
            StoreCall::Revert => (StoredState::Absent, store.revert(&self.header)),
        };
        let result = result.map_err(|error| error.to_string());
        StoreVerdict { header: self.header, state, result }
    }
}

impl<X: Executor> fmt::Debug for ExecuteJob<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ExecuteJob");
        shown.field("header", &self.block.header).field("part", &self.part()).finish()
    }
}

impl<X: Executor, C: StateCertificate> fmt::Debug for StoreJob<X, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = match self.call {
            StoreCall::Write(..) => "write",
            StoreCall::WriteCertified(..) => "write certified",
            StoreCall::Certify(_) => "certify",
            StoreCall::Revert => "revert",
        };
        f.debug_struct("StoreJob").field("header", &self.header).field("call", &call).finish()
    }
}
