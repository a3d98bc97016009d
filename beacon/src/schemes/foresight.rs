//! Work on a slot's output before all partials are here.
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt::Debug;
use std::sync::Arc;

use crypto_core::access::Party;

use super::{Combined, Function, PartialsError};

/// What `S` computes ahead. It saves time and decides nothing: [`finish`](Foresight::finish) gives what
/// [`Function::combine`] would.
pub trait Foresight<S: Function> {
    /// What depends on the parties that take part, but not on the slot.
    type Foreseen: Clone + Debug + Eq + Send + Sync;
    /// What is computed of a slot's output before all partials are here.
    type Ahead: Clone + Debug + Eq + Send + Sync;

    /// Whether there is anything to compute ahead.
    const USED: bool;

    /// Prepares for partials of exactly these parties. `None` if they do not suffice.
    fn foresee(committee: &S::Committee, parties: &BTreeSet<Party>) -> Option<Self::Foreseen>;

    /// Nothing of the slot's output yet.
    fn begin(foreseen: &Arc<Self::Foreseen>, input: &S::Input) -> Self::Ahead;

    /// Takes in partials of parties that were foreseen, right or wrong.
    fn add(
        ahead: &mut Self::Ahead,
        committee: &S::Committee,
        partials: &BTreeMap<Party, S::Partial>,
    );

    /// As [`Function::combine`], and with the same checks, without doing again what is done.
    ///
    /// # Errors
    /// [`PartialsError`]
    fn finish(
        ahead: &Self::Ahead,
        committee: &S::Committee,
        input: &S::Input,
        partials: &BTreeMap<Party, S::Partial>,
    ) -> Result<Combined<S>, PartialsError>;
}

/// What `S` computes of a set of parties.
pub type Foreseen<S> = <<S as Function>::Foresight as Foresight<S>>::Foreseen;
/// What `S` computes of a slot ahead.
pub type Ahead<S> = <<S as Function>::Foresight as Foresight<S>>::Ahead;

/// Nothing is computed ahead: combining costs little, or needs all partials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoForesight;

impl<S: Function> Foresight<S> for NoForesight {
    type Foreseen = Infallible;
    type Ahead = Infallible;

    const USED: bool = false;

    fn foresee(_: &S::Committee, _: &BTreeSet<Party>) -> Option<Infallible> {
        None
    }

    fn begin(foreseen: &Arc<Infallible>, _: &S::Input) -> Infallible {
        match **foreseen {}
    }

    fn add(ahead: &mut Infallible, _: &S::Committee, _: &BTreeMap<Party, S::Partial>) {
        match *ahead {}
    }

    fn finish(
        ahead: &Infallible,
        _: &S::Committee,
        _: &S::Input,
        _: &BTreeMap<Party, S::Partial>,
    ) -> Result<Combined<S>, PartialsError> {
        match *ahead {}
    }
}
