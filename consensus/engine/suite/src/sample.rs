//! What the suite has to be told of an engine: its members' keys, and how to read its messages.

use engine::{Engine, Launch, Work};
use protocol::{Party, Value, View};

/// An engine for the suite to play.
pub trait Sample {
    /// The engine that the laws are played with.
    type Engine: Launch;

    /// What a member is known by. The same keys in every play.
    fn public_key(&self, member: Party) -> <Self::Engine as Launch>::PublicKey;

    /// What a member signs with.
    fn secret_key(&self, member: Party) -> <Self::Engine as Launch>::SecretKey;

    /// What a message binds its sender to; `None` if to nothing.
    fn statement(&self, message: &MessageOf<Self>) -> Option<Statement>;

    /// Does an engine's work. Parties of one committee often check the same thing: a sample may remember
    /// what came of it.
    fn run(&self, job: &JobOf<Self>) -> VerdictOf<Self> {
        job.run()
    }
}

/// What a sample's engines send each other.
pub type MessageOf<S> = <<S as Sample>::Engine as Engine>::Message;
/// Work of a sample's engine.
pub type JobOf<S> = <<S as Sample>::Engine as Engine>::Job;
/// What comes of its work.
pub type VerdictOf<S> = <<S as Sample>::Engine as Engine>::Verdict;

/// What a party signs and may sign once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Statement {
    /// This is the value that this view should decide.
    Proposes {
        /// The view that the proposal is for.
        view: View,
        /// The value that is proposed.
        value: Value,
    },
    /// A vote before the last one.
    Votes {
        /// The view that the vote is cast in.
        view: View,
        /// For what; `None` for none.
        value: Option<Value>,
    },
    /// The vote that makes the value final once enough parties have cast it.
    Prefinalizes {
        /// The view that the vote is cast in.
        view: View,
        /// The value that the vote is for.
        value: Value,
    },
    /// No such vote of this party will follow in this view or an earlier one.
    GivesUp {
        /// The latest view that the party gives up.
        view: View,
    },
}

impl Statement {
    /// Which promise it is, and for what: two values for one promise are an equivocation.
    pub(crate) const fn promise(self) -> (u8, View, Option<Value>) {
        match self {
            Self::Proposes { view, value } => (0, view, Some(value)),
            Self::Votes { view, value } => (1, view, value),
            Self::Prefinalizes { view, value } => (2, view, Some(value)),
            Self::GivesUp { view } => (3, view, None),
        }
    }
}
