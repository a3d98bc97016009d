//! Inputs that depend on the content of a slot's value, and not on its hash alone.
use std::convert::Infallible;
use std::fmt::Debug;

use prefinal_crypto_core::context::Context;

use super::Function;
use prefinal_protocol::{Slot, Value};

/// The content of a slot's value that `S` needs beside the value's hash.
pub trait Contents<S: Function> {
    /// The content, as the host gives it.
    type Content: Clone + Debug + Send + Sync;

    /// Whether nothing can be evaluated before the slot's content is given.
    const NEEDED: bool;

    /// Makes the input from a content, with the slot and value that it belongs to.
    ///
    /// # Errors
    /// If the content is of another chain, epoch or committee.
    fn contained(
        committee: &S::Committee,
        context: &Context,
        content: Self::Content,
    ) -> Result<ContentInput<S>, ContentError>;
}

/// The content that scheme `S` takes.
pub type Content<S> = <<S as Function>::Contents as Contents<S>>::Content;

/// The result of [`Contents::contained`].
#[derive(Clone, Debug)]
pub struct ContentInput<S: Function> {
    /// The slot whose value has this content.
    pub slot: Slot,
    /// The value, by its hash.
    pub value: Value,
    /// The input that partials of this slot and value evaluate.
    pub input: S::Input,
}

/// For schemes that need no content: the hash of a value is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoContents;

impl<S: Function> Contents<S> for NoContents {
    type Content = Infallible;

    const NEEDED: bool = false;

    fn contained(
        _: &S::Committee,
        _: &Context,
        content: Infallible,
    ) -> Result<ContentInput<S>, ContentError> {
        match content {}
    }
}

/// Why a content is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// A mistake of the host: the content was made for another chain, epoch or committee.
    #[error("content of {slot} is of another chain, epoch or committee")]
    Elsewhere {
        /// The slot that the content names.
        slot: Slot,
    },
    /// The slot is final with another value, or without any.
    #[error("content of {slot} is of {got}, which is not final")]
    OtherValue {
        /// The slot that is final already.
        slot: Slot,
        /// The value that the slot is final with; `None` if it was skipped.
        last: Option<Value>,
        /// The value that the content belongs to.
        got: Value,
    },
    /// The slot is after the window for which contents are kept.
    #[error("content of {slot}, kept are those up to {limit}")]
    TooFar {
        /// The slot that the content belongs to.
        slot: Slot,
        /// The last slot of the window.
        limit: Slot,
    },
    /// Too many contents of the slot are kept, because a proposer can make as many values as it likes. The
    /// content of the final value is taken once the slot is final.
    #[error("{most} contents of {slot} are kept already")]
    TooMany {
        /// The slot that has too many values.
        slot: Slot,
        /// How many contents of one slot are kept before it is final.
        most: usize,
    },
}

impl ContentError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Elsewhere { .. } => "other-session",
            Self::OtherValue { .. } => "other-value",
            Self::TooFar { .. } => "slot-too-far",
            Self::TooMany { .. } => "count-too-large",
        }
    }
}
