//! Malachite's coroutine, stopped and resumed.
//!
//! The consensus handles an input as a coroutine that borrows its state and yields effects. Most
//! effects are answered at once. `ExtendVote` is not: the beacon is asked first, through the outputs of
//! a machine. So the coroutine owns its state while it runs, can be put aside in the middle, and gives
//! the state back when it ends.
use std::future::Future;
use std::pin::Pin;

use genawaiter::GeneratorState;
use genawaiter::sync::{Co, Gen};
use malachitebft_core_consensus::{self as consensus, Effect, Error, Resume};

use crate::context::Tendermint;

pub(crate) type State = Box<consensus::State<Tendermint>>;

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
                // Nobody reads them here. Their type depends on a feature of Malachite, which is on if a
                // program also holds its network.
                let metrics = Default::default();
                let ended = consensus::handle(co, &mut state, &metrics, input).await;
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
