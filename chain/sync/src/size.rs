//! How much a job has to do.
use prefinal_execution::Executor;

use crate::check::{CheckVerdict, Checked};
use crate::persist::{StoreCall, StoreJob};
use crate::process::ExecuteJob;
use crate::trust::Trust;

/// How much a job has to do, for hosts that show progress or say what work costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobSize {
    /// The number of blocks; an anchor is one without transactions.
    pub blocks: u64,
    /// The transactions of these blocks, or the rows of a range.
    pub items: u64,
}

impl JobSize {
    fn of(blocks: usize, items: usize) -> Self {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        Self { blocks: count(blocks), items: count(items) }
    }
}

impl<X: Executor, T: Trust> CheckVerdict<X, T> {
    /// What was verified. Nothing if the answer is false, or if there is none.
    #[must_use]
    pub fn size(&self) -> JobSize {
        match &self.result {
            Ok(Checked::Blocks { checked, .. }) => {
                let items = checked.iter().map(|one| one.block.transactions().len()).sum();
                JobSize::of(checked.len(), items)
            }
            Ok(Checked::Range(range)) => JobSize::of(0, range.rows().len()),
            Ok(Checked::Anchor(_) | Checked::Ending(..)) => JobSize::of(1, 0),
            Ok(Checked::Absent | Checked::LaterAnchor(_)) | Err(_) => JobSize::default(),
        }
    }
}

impl<X: Executor, C> ExecuteJob<X, C> {
    /// The block that is executed, or whose delta is applied.
    #[must_use]
    pub fn size(&self) -> JobSize {
        JobSize::of(1, self.checked.block.transactions().len())
    }
}

impl<X: Executor, C> StoreJob<X, C> {
    /// What is written: a block, or a range of a state.
    #[must_use]
    pub fn size(&self) -> JobSize {
        match &self.call {
            StoreCall::Block(done) => JobSize::of(1, done.block.transactions().len()),
            StoreCall::Range(range) => JobSize::of(0, range.rows().len()),
            StoreCall::Begin(_) | StoreCall::Finish | StoreCall::Prune(_) => JobSize::default(),
        }
    }
}
