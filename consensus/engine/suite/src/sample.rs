//! What the suite must know of an engine: its members' keys, and how to read its messages.

use prefinal_engine::{Engine, Launch, Work};
use prefinal_protocol::{Party, Value, View};

/// An engine that the suite can test.
pub trait Sample {
    /// The engine that the laws are played with.
    type Engine: Launch;

    /// Whether a value is final by a quorum of one vote, so that a quorum has prefinalized it before. `false` where
    /// several votes of different quorums make it final together.
    const FINAL_BY_ONE_VOTE: bool = true;

    /// A member's public key. The keys are the same in every play.
    fn public_key(&self, member: Party) -> <Self::Engine as Launch>::PublicKey;

    /// A member's secret key.
    fn secret_key(&self, member: Party) -> <Self::Engine as Launch>::SecretKey;

    /// The statement that binds the message's sender; `None` if nothing does.
    fn statement(&self, message: &MessageOf<Self>) -> Option<Statement>;

    /// Does a job of the engine. Parties of one committee often check the same thing, so a sample may
    /// remember verdicts.
    fn run(&self, job: &JobOf<Self>) -> VerdictOf<Self> {
        job.run()
    }
}

/// Message of a sample's engine.
pub type MessageOf<S> = <<S as Sample>::Engine as Engine>::Message;
/// Job of a sample's engine.
pub type JobOf<S> = <<S as Sample>::Engine as Engine>::Job;
/// Verdict of a job of a sample's engine.
pub type VerdictOf<S> = <<S as Sample>::Engine as Engine>::Verdict;

/// A statement that a party signs, and may sign only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Statement {
    /// A proposal: this view should decide this value.
    Proposes {
        /// The view that the proposal is for.
        view: View,
        /// The value that is proposed.
        value: Value,
    },
    /// A vote of a phase before the last one.
    Votes {
        /// The view that the vote is cast in.
        view: View,
        /// The value that the vote is for; `None` for a nil vote.
        value: Option<Value>,
    },
    /// The vote that makes the value final once enough parties have cast it.
    Prefinalizes {
        /// The view that the vote is cast in.
        view: View,
        /// The value that the vote is for.
        value: Value,
    },
    /// The party casts no such vote in this view or an earlier one from now on.
    GivesUp {
        /// The latest view that the party gives up.
        view: View,
    },
}

impl Statement {
    /// The kind of promise with its view, and its value. Two values for one promise are an equivocation.
    pub(crate) const fn promise(self) -> (u8, View, Option<Value>) {
        match self {
            Self::Proposes { view, value } => (0, view, Some(value)),
            Self::Votes { view, value } => (1, view, value),
            Self::Prefinalizes { view, value } => (2, view, Some(value)),
            Self::GivesUp { view } => (3, view, None),
        }
    }
}
