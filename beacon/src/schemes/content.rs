//! Inputs that follow from what is in a slot's value, not from its hash alone.
use std::convert::Infallible;
use std::fmt::Debug;

use crypto_core::context::Context;

use super::Function;
use protocol::{Slot, Value};

/// What of a slot's value `S` needs beside its hash.
pub trait Contents<S: Function> {
    /// It, as the host hands it over.
    type Content: Clone + Debug + Send + Sync;

    /// Whether nothing can be evaluated before the slot's content is here.
    const NEEDED: bool;

    /// What a content gives to evaluate, and of which slot and value.
    ///
    /// # Errors
    /// If it is of another chain, epoch or committee.
    fn contained(
        committee: &S::Committee,
        context: &Context,
        content: Self::Content,
    ) -> Result<Contained<S>, ContentError>;
}

/// A content of `S`.
pub type Content<S> = <<S as Function>::Contents as Contents<S>>::Content;

/// What a slot's content gives.
#[derive(Clone, Debug)]
pub struct Contained<S: Function> {
    /// The slot whose value has this content.
    pub slot: Slot,
    /// Of which value, by its hash.
    pub value: Value,
    /// What partials of this slot and value evaluate.
    pub input: S::Input,
}

/// The hash of a value is enough, or more than enough: there is nothing to hand over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoContents;

impl<S: Function> Contents<S> for NoContents {
    type Content = Infallible;

    const NEEDED: bool = false;

    fn contained(
        _: &S::Committee,
        _: &Context,
        content: Infallible,
    ) -> Result<Contained<S>, ContentError> {
        match content {}
    }
}

/// Why a content is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// The host's mistake: made for another chain, epoch or committee.
    #[error("content of {slot} is of another chain, epoch or committee")]
    Elsewhere {
        /// The slot that the content says it is of.
        slot: Slot,
    },
    /// The slot is final with another value, or without any.
    #[error("content of {slot} is of {got}, which is not final")]
    OtherValue {
        /// The slot that is final already.
        slot: Slot,
        /// What it is final with.
        last: Option<Value>,
        /// What the content is of.
        got: Value,
    },
    /// The slot is beyond the window of slots that contents are kept for.
    #[error("content of {slot}, kept are those up to {limit}")]
    TooFar {
        /// The slot that the content is of.
        slot: Slot,
        /// The last slot of the window.
        limit: Slot,
    },
    /// Not kept: a proposer makes as many values as it likes. The final one's is, once it is final.
    #[error("{most} contents of {slot} are kept already")]
    TooMany {
        /// The slot that has too many values.
        slot: Slot,
        /// How many contents of one slot are kept before it is final.
        most: usize,
    },
}
