//! The jobs of a [`Follower`](prefinal_sync::Follower), on threads.
use std::borrow::BorrowMut;
use std::sync::{Arc, Mutex};

use prefinal_light::StakeVerifier;
use prefinal_sync::{CertifiedPlaces, Effect, Input};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::spawn_blocking;

use crate::execution::{AttestedStates, NamedExecutor, lock};

/// What a follower of this executor's chain is told.
pub(crate) type InputOf<X> = Input<X, StakeVerifier>;
/// What it wants done.
pub(crate) type EffectOf<X> = Effect<X, StakeVerifier, CertifiedPlaces>;

/// Where a follower's jobs are done, and where their verdicts go.
pub(crate) struct Jobs<X: NamedExecutor, S> {
    /// What executes blocks, if their deltas are not fetched.
    pub(crate) executor: Arc<X>,
    /// Where blocks are stored.
    pub(crate) states: Arc<Mutex<S>>,
    /// Where the follower takes its inputs from: verdicts go there.
    pub(crate) inputs: UnboundedSender<InputOf<X>>,
}

impl<X: NamedExecutor, S: BorrowMut<AttestedStates<X>> + Send + 'static> Jobs<X, S> {
    /// Hands a job to a thread. Gives back what is none.
    pub(crate) fn start(&self, effect: EffectOf<X>) -> Option<EffectOf<X>> {
        match effect {
            Effect::Check(job) => self.work(move || Input::Checked(job.run())),
            Effect::Execute(job) => {
                let executor = Arc::clone(&self.executor);
                self.work(move || Input::Executed(job.run(&executor)));
            }
            Effect::Store(job) => {
                let states = Arc::clone(&self.states);
                self.work(move || Input::Stored(job.run((*lock(&states)).borrow_mut())));
            }
            other => return Some(other),
        }
        None
    }

    fn work(&self, job: impl FnOnce() -> InputOf<X> + Send + 'static) {
        let inputs = self.inputs.clone();
        // When nobody listens any more, nobody needs the verdict.
        drop(spawn_blocking(move || drop(inputs.send(job()))));
    }
}
