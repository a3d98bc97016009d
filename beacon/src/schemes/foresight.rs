//! Work on a slot's output before all partials have arrived.
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt::Debug;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;

use super::{Function, PartialsError, ProvenOutput};

/// What `S` computes ahead. It saves time and decides nothing: [`finish`](Foresight::finish) gives the same
/// result as [`Function::combine`].
pub trait Foresight<S: Function> {
    /// Results that depend on the parties that take part, but not on the slot.
    type Preparation: Clone + Debug + Eq + Send + Sync;
    /// The part of a slot's output that is computed before all partials have arrived.
    type RunningCombination: Clone + Debug + Eq + Send + Sync;

    /// Whether there is anything to compute ahead.
    const USED: bool;

    /// Prepares for partials of exactly these parties. `None` if their weight does not suffice.
    fn foresee(committee: &S::Committee, parties: &BTreeSet<Party>) -> Option<Self::Preparation>;

    /// Starts a slot: the part of its output without any partial.
    fn begin(foreseen: &Arc<Self::Preparation>, input: &S::Input) -> Self::RunningCombination;

    /// Adds partials of foreseen parties, whether they are right or wrong.
    fn add(
        ahead: &mut Self::RunningCombination,
        committee: &S::Committee,
        partials: &BTreeMap<Party, S::Partial>,
    );

    /// As [`Function::combine`], with the same checks, but without repeating work that is done.
    ///
    /// # Errors
    /// [`PartialsError`], as [`Function::combine`].
    fn finish(
        ahead: &Self::RunningCombination,
        committee: &S::Committee,
        input: &S::Input,
        partials: &BTreeMap<Party, S::Partial>,
    ) -> Result<ProvenOutput<S>, PartialsError>;
}

/// The results that `S` prepares for a set of parties.
pub type Preparation<S> = <<S as Function>::Foresight as Foresight<S>>::Preparation;
/// The part of a slot's output that `S` computes ahead.
pub type RunningCombination<S> = <<S as Function>::Foresight as Foresight<S>>::RunningCombination;

/// For schemes that compute nothing ahead: combining is cheap, or needs all partials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoForesight;

impl<S: Function> Foresight<S> for NoForesight {
    type Preparation = Infallible;
    type RunningCombination = Infallible;

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
    ) -> Result<ProvenOutput<S>, PartialsError> {
        match *ahead {}
    }
}
