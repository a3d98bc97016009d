//! The weighted verifiable unpredictable function.
//!
//! Whatever its weight, a party sends one point. In return a party counts only once its blinded key is
//! admitted, which may be after the start, and an output is shown by the partials it was combined from
//! ([`crypto_core::wvuf::audit`]). There is no equation for the output alone, so partials are verified
//! before they are combined: one pairing for each, one random linear combination for all.
//!
//! The trap: a partial is `H(m)^(1/r)` whatever the shares are. With one blinding `r` for both paths
//! the fast partial *is* the slow partial. Everybody sees it, for then `h^r` is one as well, and such
//! keys are refused wherever those of both paths meet.
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use crypto_core::access::Party;
use crypto_core::context::Context;
use crypto_core::wvuf::{
    self, AdmittedKey, Ahead, BlindedKey, Combination, Committee, EvaluationKey, Input,
    InsertError, Output, Partial,
};

use super::{
    Contained, ContentError, KeyError, QuorumError, Random, Scheme, ShapeError, ShownError,
};
use crate::config::ConfigError;
use crate::job::Combined;
use contract::Binding;
use contract::Path;
use protocol::{Slot, Value};

/// The weighted VUF of `crypto_core::wvuf`, for outputs with and without values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wvuf;

impl Scheme for Wvuf {
    type Committee = Committee;
    type Secret = EvaluationKey;
    type LateKey = AdmittedKey;
    type Content = Infallible;
    type Input = Input;
    type Partial = Partial;
    type Output = Output;
    type Proof = BTreeMap<Party, Partial>;
    type Shown = BTreeMap<Party, Partial>;
    type Foreseen = Combination;
    type Ahead = Ahead;

    const FORESIGHT: bool = true;

    fn id(committee: &Committee) -> [u8; 32] {
        committee.id()
    }

    fn parties(committee: &Committee) -> usize {
        committee.access().len()
    }

    fn holding(committee: &Committee, party: Party) -> u128 {
        committee.access().weight(party).into()
    }

    fn weight(committee: &Committee, party: Party) -> u128 {
        committee.weight_of(party).into()
    }

    fn threshold(committee: &Committee) -> u128 {
        committee.threshold().t().get().into()
    }

    fn admit(committee: &mut Committee, key: AdmittedKey) -> Result<(), KeyError> {
        committee.insert(key).map_err(|error| match error {
            InsertError::OtherCommittee { party } => KeyError::OtherCommittee { party },
            InsertError::Duplicate { party } => KeyError::Duplicate { party },
        })
    }

    fn check_late(other: &Committee, key: &AdmittedKey) -> Result<(), KeyError> {
        let party = key.party();
        match other.keys().get(&party) {
            Some(known) if known.pi() == key.key().pi() => Err(KeyError::SharedBlinding { party }),
            _ => Ok(()),
        }
    }

    fn input(context: &Context, _: Binding, slot: Slot, value: Option<Value>) -> Option<Input> {
        Some(Input::new(context, slot, value.map(Value::to_bytes)))
    }

    fn contained(
        _: &Committee,
        _: &Context,
        content: Infallible,
    ) -> Result<Contained<Self>, ContentError> {
        match content {}
    }

    fn evaluate(secret: &EvaluationKey, input: &Input) -> Option<Partial> {
        Some(secret.evaluate(input))
    }

    fn check_shape(_: &Committee, _: Party, _: &Partial) -> Result<(), ShapeError> {
        Ok(())
    }

    fn partial_bytes(_: &Committee, _: Party) -> usize {
        96
    }

    fn verify(
        committee: &Committee,
        input: &Input,
        partials: &BTreeMap<Party, Partial>,
    ) -> Result<(), QuorumError> {
        Ok(committee.check_all(input, partials)?)
    }

    fn combine(
        committee: &Committee,
        input: &Input,
        partials: &BTreeMap<Party, Partial>,
    ) -> Result<Combined<Self>, QuorumError> {
        let output = wvuf::combine(&committee.verify_all(input, partials.clone())?);
        Ok(Combined { output, proof: partials.clone() })
    }

    fn foresee(committee: &Committee, parties: &BTreeSet<Party>) -> Option<Combination> {
        Combination::new(committee, parties.iter().copied())
    }

    fn begin(foreseen: &Arc<Combination>, input: &Input) -> Ahead {
        Ahead::new(foreseen, input)
    }

    fn add(ahead: &mut Ahead, committee: &Committee, partials: &BTreeMap<Party, Partial>) {
        ahead.add(committee, partials);
    }

    fn finish(
        ahead: &Ahead,
        committee: &Committee,
        input: &Input,
        partials: &BTreeMap<Party, Partial>,
    ) -> Result<Combined<Self>, QuorumError> {
        let output = ahead.finish(committee, input, partials)?;
        Ok(Combined { output, proof: partials.clone() })
    }

    fn prove(
        _: &Committee,
        _: &Input,
        partials: &BTreeMap<Party, Partial>,
    ) -> Option<BTreeMap<Party, Partial>> {
        Some(partials.clone())
    }

    fn show(_: &Output, proof: &BTreeMap<Party, Partial>) -> BTreeMap<Party, Partial> {
        proof.clone()
    }

    fn shown_bytes(committee: &Committee) -> usize {
        4 + (4 + 96) * committee.access().len()
    }

    /// A pairing for each partial, and a combination.
    fn check_shown(
        committee: &Committee,
        input: &Input,
        shown: &BTreeMap<Party, Partial>,
    ) -> Result<Combined<Self>, ShownError> {
        if shown.keys().any(|party| committee.access().weight(*party) == 0) {
            return Err(ShownError::False);
        }
        match committee.verify_all(input, shown.clone()) {
            Ok(quorum) => Ok(Combined { output: wvuf::combine(&quorum), proof: shown.clone() }),
            Err(wvuf::QuorumError::NotAdmitted { .. }) => Err(ShownError::NotCounted),
            Err(_) => Err(ShownError::False),
        }
    }

    fn check_binding(_: &Committee, _: Path, binding: Binding) -> Result<(), ConfigError> {
        match binding {
            Binding::Slot | Binding::Value => Ok(()),
            Binding::Rounds { .. } => Err(ConfigError::NoRounds),
        }
    }

    /// Evaluates what no slot is, and checks it as others would, if they could already.
    fn check_secret(
        committee: &Committee,
        (me, secret): (Party, &EvaluationKey),
        path: Path,
        context: &Context,
    ) -> Result<(), ConfigError> {
        if !committee.keys().contains_key(&me) {
            return Ok(());
        }
        let input = Input::new(context, Slot::new(0), None);
        let partial = secret.evaluate(&input);
        committee.verify(me, &input, &partial).map_err(|_| ConfigError::WrongKey { path })
    }

    /// One secret behind both, and of each party whose keys are here two blindings.
    fn check_paths(_: Party, slow: &Committee, fast: &Committee) -> Result<(), ConfigError> {
        if slow.group_key() != fast.group_key() {
            return Err(ConfigError::GroupKeys);
        }
        let pi = |committee: &Committee, party| committee.keys().get(&party).map(BlindedKey::pi);
        let same = |party: &Party| pi(slow, *party) == pi(fast, *party);
        match slow.keys().keys().copied().find(same) {
            Some(party) => Err(ConfigError::SharedBlinding { party }),
            None => Ok(()),
        }
    }

    fn check_secrets(
        me: Party,
        slow: &EvaluationKey,
        fast: &EvaluationKey,
        context: &Context,
    ) -> Result<(), ConfigError> {
        let input = Input::new(context, Slot::new(0), None);
        if slow.evaluate(&input) == fast.evaluate(&input) {
            return Err(ConfigError::SharedBlinding { party: me });
        }
        Ok(())
    }

    fn public_keys(committee: &Committee) -> BTreeSet<Vec<u8>> {
        committee.public().iter().map(|key| key.to_bytes().to_vec()).collect()
    }
}

impl Random for Wvuf {
    fn randomness(output: &Output) -> [u8; 32] {
        output.randomness()
    }
}

impl From<wvuf::QuorumError> for QuorumError {
    fn from(error: wvuf::QuorumError) -> Self {
        match error {
            wvuf::QuorumError::NotAdmitted { party } => Self::NotCounted { party },
            wvuf::QuorumError::BelowThreshold { got, need } => {
                Self::BelowThreshold { got: got.into(), need: need.get().into() }
            }
            wvuf::QuorumError::Faulty { culprits } => Self::Faulty { culprits },
        }
    }
}
