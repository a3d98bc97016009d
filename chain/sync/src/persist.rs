//! Making durable what is verified: one call of the store for each job, one job at a time.
use prefinal_execution::{Committed, Executor, Height, StateCertificate, Store};
use prefinal_state::proof::{KeyRange, VerifiedRange};
use prefinal_state::{SnapshotBlock, StateError, StateExecutor, StateStore, View};

use crate::keep::{Keep, Kept};
use crate::process::Processed;
use crate::trust::Attestation;

/// One durable transaction of the store.
#[derive(Clone, Debug)]
pub struct StoreJob<X: Executor, C> {
    pub(crate) call: StoreCall<X, C>,
}

#[derive(Clone, Debug)]
pub(crate) enum StoreCall<X: Executor, C> {
    Block(Box<Processed<X, C>>),
    Begin(Box<SnapshotBlock<Attestation<C>>>),
    Range(VerifiedRange),
    Finish,
    /// States below this height are forgotten.
    Prune(Height),
}

/// The result of a [`StoreJob`].
#[derive(Debug)]
pub struct StoreVerdict {
    pub(crate) result: Result<StoreDone, String>,
}

/// What the store did, and what of the past it has now.
#[derive(Debug)]
pub(crate) struct StoreDone {
    pub(crate) stored: Stored,
    pub(crate) kept: Kept,
}

#[derive(Debug)]
pub(crate) enum Stored {
    Block {
        committed: Committed,
        transactions: usize,
    },
    /// What is missing of the state that is to be restored.
    Begun(Vec<KeyRange>),
    Range,
    Restored(Committed, View),
    Pruned,
}

impl<X, C> StoreJob<X, C>
where
    X: StateExecutor,
    C: StateCertificate,
{
    /// Makes the call. Give the verdict back to the follower.
    #[must_use]
    pub fn run(self, store: &mut StateStore<X, Attestation<C>>) -> StoreVerdict {
        let done = self.call(store);
        let done = done.and_then(|stored| Ok(StoreDone { stored, kept: Kept::of(store)? }));
        StoreVerdict { result: done.map_err(|error| error.to_string()) }
    }

    fn call(self, store: &mut StateStore<X, Attestation<C>>) -> Result<Stored, StateError> {
        match self.call {
            StoreCall::Block(done) => {
                store.write_certified(&done.block, &done.execution, &done.attestation)?;
                let committed = store.committed()?;
                Ok(Stored::Block { committed, transactions: done.block.transactions().len() })
            }
            StoreCall::Begin(anchor) => {
                store.begin_restore(&anchor)?;
                Ok(Stored::Begun(store.missing()))
            }
            StoreCall::Range(range) => {
                store.restore_range(&range)?;
                Ok(Stored::Range)
            }
            StoreCall::Finish => {
                let committed = store.finish_restore()?;
                Ok(Stored::Restored(committed, store.view()?))
            }
            StoreCall::Prune(below) => {
                store.prune(below, Keep::STEP)?;
                Ok(Stored::Pruned)
            }
        }
    }
}
