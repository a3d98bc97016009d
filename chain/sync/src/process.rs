//! From a verified block to its state: by executing it, or by applying what it changes.
use prefinal_execution::{Block, Execution, Executor, Header, Roots};
use prefinal_state::{DeltaError, StateExecutor, View};

use crate::check::{CheckedBlock, Work};
use crate::peers::PeerId;
use crate::trust::Attestation;

/// Executes a block, or applies its delta. One at a time, in the order of the chain.
#[derive(Clone, Debug)]
pub struct ExecuteJob<X: Executor, C> {
    pub(crate) parent: View,
    pub(crate) checked: CheckedBlock<X, C>,
}

/// The result of an [`ExecuteJob`].
#[derive(Debug)]
pub struct ExecuteVerdict<X: Executor, C> {
    pub(crate) peer: PeerId,
    pub(crate) header: Header,
    pub(crate) certified: Roots,
    pub(crate) result: Result<Processed<X, C>, ProcessFailure>,
}

/// A block with the certified state that it leaves.
#[derive(Clone, Debug)]
pub(crate) struct Processed<X: Executor, C> {
    pub(crate) block: Block<X::Transaction>,
    pub(crate) execution: Execution<X>,
    pub(crate) attestation: Attestation<C>,
    pub(crate) bytes: u64,
}

/// Why there is no such state.
#[derive(Debug)]
pub(crate) enum ProcessFailure {
    /// The peer's delta does not lead there.
    Delta,
    /// Executing gives these roots, and others are certified.
    Diverged(Roots),
    /// It cannot be computed here.
    Failed(String),
}

impl<X, C> ExecuteJob<X, C>
where
    X: StateExecutor,
{
    /// Computes on the calling thread. Give the verdict back to the follower.
    #[must_use]
    pub fn run(self, executor: &X) -> ExecuteVerdict<X, C> {
        let Self { parent, checked } = self;
        let CheckedBlock { peer, block, roots, attestation, work, bytes } = checked;
        let header = block.header;
        let execution = match work {
            Work::Apply(delta) => apply(&parent, &header, &roots, delta),
            Work::Execute(value) => execute(executor, &parent, &block, value)
                .and_then(|execution| same(execution, &roots)),
        };
        let result = execution.map(|execution| Processed { block, execution, attestation, bytes });
        ExecuteVerdict { peer, header, certified: roots, result }
    }
}

fn apply<X: StateExecutor>(
    parent: &View,
    header: &Header,
    roots: &Roots,
    delta: prefinal_state::BlockDelta,
) -> Result<Execution<X>, ProcessFailure> {
    match delta.apply(parent, header, roots) {
        Ok(done) => Ok(Execution { roots: done.roots, view: done.view, delta: done.delta }),
        Err(DeltaError::Store(error)) => Err(ProcessFailure::Failed(error.to_string())),
        Err(_) => Err(ProcessFailure::Delta),
    }
}

fn execute<X: Executor>(
    executor: &X,
    parent: &X::View,
    block: &Block<X::Transaction>,
    value: Option<prefinal_execution::Randomness>,
) -> Result<Execution<X>, ProcessFailure> {
    let failed = |error: X::Error| ProcessFailure::Failed(error.to_string());
    let mut draft = executor.head(parent, block).map_err(failed)?;
    if block.has_tail() {
        let why = "a block reads its slot's value, and no beacon is trusted; apply deltas instead";
        let value = value.ok_or_else(|| ProcessFailure::Failed(why.to_owned()))?;
        draft = executor.tail(draft, block, value).map_err(failed)?;
    }
    executor.seal(draft, block).map_err(failed)
}

/// Transactions and certificate were verified before: another result is no peer's fault.
fn same<X: Executor>(
    execution: Execution<X>,
    certified: &Roots,
) -> Result<Execution<X>, ProcessFailure> {
    match execution.roots == *certified {
        true => Ok(execution),
        false => Err(ProcessFailure::Diverged(execution.roots)),
    }
}
