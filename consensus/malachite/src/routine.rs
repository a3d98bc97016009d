//! Malachite's coroutine, stopped and resumed.
//!
//! The consensus handles an input as a coroutine that borrows its state and yields effects. Most
//! effects are answered at once. `ExtendVote` is not: the beacon is asked first, through the outputs of
//! a machine. So the coroutine owns its state while it runs, can be put aside in the middle, and gives
//! the state back when it ends.
use std::any::Any;
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;

use genawaiter::GeneratorState;
use genawaiter::sync::{Co, Gen};
use malachitebft_core_consensus::{self as consensus, Effect, Error, Resume};

use crate::context::Tendermint;

/// The consensus, with what it counts of itself.
///
/// Nobody reads the counts here, but they must be the same from input to input. Their type depends on a feature of
/// Malachite, which is on if a program also holds its network.
pub(crate) struct State {
    consensus: Box<consensus::State<Tendermint>>,
    counts: Option<Box<dyn Any + Send>>,
}

impl State {
    pub(crate) fn new(consensus: consensus::State<Tendermint>) -> Self {
        Self { consensus: Box::new(consensus), counts: None }
    }

    /// The counts of the inputs before, or new ones.
    fn take_counts<T: Default + 'static>(&mut self) -> T {
        let counts = self.counts.take().and_then(|counts| counts.downcast().ok());
        counts.map_or_else(T::default, |counts| *counts)
    }
}

impl Deref for State {
    type Target = consensus::State<Tendermint>;

    fn deref(&self) -> &Self::Target {
        &self.consensus
    }
}

impl DerefMut for State {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.consensus
    }
}

/// The state, and how the input ended.
type Finished = (State, Result<(), Error<Tendermint>>);
type Running = Pin<Box<dyn Future<Output = Finished> + Send>>;

/// The handling of one input, not finished.
pub(crate) struct Routine(Gen<Effect<Tendermint>, Resume<Tendermint>, Running>);

/// How far a routine has come.
pub(crate) enum Progress {
    /// It has yielded an effect, which needs an answer.
    Yielded(Routine, Effect<Tendermint>),
    /// It has ended.
    Complete(State, Result<(), Error<Tendermint>>),
}

impl Routine {
    pub(crate) fn start(state: State, input: consensus::Input<Tendermint>) -> Progress {
        let run = |co: Co<Effect<Tendermint>, Resume<Tendermint>>| -> Running {
            Box::pin(async move {
                let mut state = state;
                #[allow(clippy::let_unit_value, reason = "where Malachite counts, it is no unit")]
                let counts = state.take_counts();
                let ended = consensus::handle(co, &mut state.consensus, &counts, input).await;
                state.counts = Some(Box::new(counts));
                (state, ended)
            })
        };
        Self(Gen::new(run)).resume(Resume::Start)
    }

    pub(crate) fn resume(mut self, answer: Resume<Tendermint>) -> Progress {
        match self.0.resume_with(answer) {
            GeneratorState::Yielded(effect) => Progress::Yielded(self, effect),
            GeneratorState::Complete((state, ended)) => Progress::Complete(state, ended),
        }
    }
}
