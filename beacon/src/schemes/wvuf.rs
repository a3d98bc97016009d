//! The weighted verifiable unpredictable function.
//!
//! A party sends one point, whatever its weight. In return, a party counts only once its blinded key is
//! admitted, which may be after the start. And an output is shown by the partials that it was combined from
//! ([`prefinal_crypto_core::wvuf::audit`]). There is no equation for the output alone, so partials are verified
//! before they are combined: one pairing for each, one random linear combination for all.
//!
//! The trap: a partial is `H(m)^(1/r)` whatever the shares are. With one blinding `r` for both paths the fast
//! partial *is* the slow partial. Everybody can see it, because then `h^r` is the same on both paths as
//! well. Such keys are refused wherever the keys of both paths meet.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Context;
use prefinal_crypto_core::wvuf::{
    self, AdmittedKey, BlindedKey, Combination, EvaluationKey, Input, InsertError, Output, Partial,
    RunningCombination, VufCommittee,
};

use super::{
    Foresight, Function, KeyError, LateKeys, NoContents, OtherGroupKey, OutputError, PartialsError,
    ProvenOutput, Random, Scheme, ShapeError, Sharing,
};
use crate::config_error::ConfigError;
use prefinal_contract::Binding;
use prefinal_contract::Path;
use prefinal_protocol::{Slot, Value};

/// The weighted VUF of `prefinal_crypto_core::wvuf`, for outputs with and without values.
///
/// Four parties with stakes of 3, 2, 1 and 1 blind their shares, and evaluate a slot. Five of seven shares
/// are needed, so the first two suffice:
/// ```
/// # use std::collections::BTreeMap;
/// # use prefinal_crypto_core::access::{Access, Party, Threshold};
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_crypto_core::curve::{G1Affine, G2Affine, Scalar};
/// # use prefinal_crypto_core::generators::{g_hat, h};
/// # use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// # use prefinal_weighted_rounding::Stake;
/// use prefinal_beacon::*;
/// use prefinal_crypto_core::wvuf::{self, KeyShares, VufCommittee, blind};
/// use prefinal_protocol::{Instant, Machine};
/// # /// Gives the inputs to all parties, and their messages to each other; returns what they reveal.
/// # fn run<S: Scheme>(parties: &mut [Beacon<S>], inputs: &[Input<S>]) -> Vec<Reveal<S>> {
/// #     let mut queue = std::collections::VecDeque::new();
/// #     for party in 0..parties.len() {
/// #         queue.extend(inputs.iter().cloned().map(|input| (party, input)));
/// #     }
/// #     let mut reveals = Vec::new();
/// #     while let Some((at, input)) = queue.pop_front() {
/// #         parties[at].handle(Instant::START, input);
/// #         while let Some(output) = parties[at].poll() {
/// #             match output.effect() {
/// #                 Some(Effect::Check(job)) => queue.push_back((at, Input::Checked(job.run()))),
/// #                 Some(Effect::Reveal(reveal)) => reveals.push(*reveal),
/// #                 Some(Effect::Send { message, .. }) => {
/// #                     let from = Party::new(u32::try_from(at).unwrap());
/// #                     for to in (0..parties.len()).filter(|to| *to != at) {
/// #                         queue.push_back((to, Input::Received { from, message: message.clone() }));
/// #                     }
/// #                 }
/// #                 Some(effect) => panic!("{effect:?}"),
/// #                 None => {}
/// #             }
/// #         }
/// #     }
/// #     reveals
/// # }
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let stakes = [3, 2, 1, 1].map(Stake::new);
/// # let (access, threshold) = (Access::new(&[3, 2, 1, 1])?, Threshold::new(5, 7)?);
/// # let f = Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
/// # let shares = f.shares(&Points::of(&access, Placement::RootsOfUnity));
/// # let public: Vec<G2Affine> =
/// #     shares.expose().iter().map(|share| (g_hat() * share).to_affine()).collect();
/// # let secret: Vec<G1Affine> = shares.expose().iter().map(|share| (h() * share).to_affine()).collect();
/// # let shares = |party| KeyShares::new(secret[access.range(party)].to_vec()); // from a key generation
/// # let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
///
/// // Once in an epoch: each party publishes its blinded key, and everybody checks it.
/// let mut committee = VufCommittee::new(access.clone(), threshold, public)?;
/// let mut secrets = Vec::new();
/// for party in access.parties() {
///     let (secret, blinded) = blind(&committee, party, &shares(party), &mut rng);
///     committee.insert(committee.admit(party, blinded)?)?;
///     secrets.push(secret);
/// }
/// let config = |me, sharing| Config {
///     context,
///     me,
///     paths: Paths::Tight(sharing),
///     binding: Binding::Slot,
///     fast_attempt: Some(0),
///     finality: Finality::exact(&stakes, Quorum::BYZANTINE).unwrap(),
///     first: Slot::new(1),
///     life: Life::First,
///     limits: Limits::default(),
/// };
/// let beacon = |(me, secret)| {
///     let sharing = Sharing { committee: committee.clone(), secret: Some(secret) };
///     Beacon::<Wvuf>::new(config(me, sharing), &[])
/// };
/// let mut parties = access.parties().zip(secrets).map(beacon).collect::<Result<Vec<_>, _>>()?;
///
/// // `run` gives these events to all parties, and their messages to each other.
/// let (slot, value) = (Slot::new(1), Value::new([9; 32]));
/// let vote = Input::Prefinalized { slot, view: View::new(slot, 0), value };
/// let reveals = run(&mut parties, &[vote, Input::Finalized { slot, value: Some(value) }]);
/// assert_eq!(reveals.len(), 4);
/// assert!(reveals.iter().all(|reveal| reveal.randomness() == reveals[0].randomness()));
/// // Anybody with the committee's public keys can repeat it from the partials.
/// let input = wvuf::Input::new(&context, slot, None);
/// let quorum = committee.verify_all(&input, reveals[0].proof.clone())?;
/// assert_eq!(wvuf::combine(&quorum), reveals[0].output);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wvuf;

impl Function for Wvuf {
    type Committee = VufCommittee;
    type Input = Input;
    type Partial = Partial;
    type Output = Output;
    type Proof = BTreeMap<Party, Partial>;
    type OutputMessage = BTreeMap<Party, Partial>;
    type LateKeys = Self;
    type Contents = NoContents;
    type Foresight = Self;

    fn id(committee: &VufCommittee) -> [u8; 32] {
        committee.id()
    }

    fn parties(committee: &VufCommittee) -> usize {
        committee.access().len()
    }

    fn holding(committee: &VufCommittee, party: Party) -> u128 {
        committee.access().weight(party).into()
    }

    fn threshold(committee: &VufCommittee) -> u128 {
        committee.threshold().t().get().into()
    }

    fn input(context: &Context, _: Binding, slot: Slot, value: Option<Value>) -> Option<Input> {
        Some(Input::new(context, slot, value.map(Value::to_bytes)))
    }

    fn check_shape(_: &VufCommittee, _: Party, _: &Partial) -> Result<(), ShapeError> {
        Ok(())
    }

    fn partial_bytes(_: &VufCommittee, _: Party) -> usize {
        96
    }

    fn verify(
        committee: &VufCommittee,
        input: &Input,
        partials: &BTreeMap<Party, Partial>,
    ) -> Result<(), PartialsError> {
        Ok(committee.check_all(input, partials)?)
    }

    fn combine(
        committee: &VufCommittee,
        input: &Input,
        partials: &BTreeMap<Party, Partial>,
    ) -> Result<ProvenOutput<Self>, PartialsError> {
        let output = wvuf::combine(&committee.verify_all(input, partials.clone())?);
        Ok(ProvenOutput { output, proof: partials.clone() })
    }

    fn prove(
        _: &VufCommittee,
        _: &Input,
        partials: &BTreeMap<Party, Partial>,
    ) -> Option<BTreeMap<Party, Partial>> {
        Some(partials.clone())
    }

    fn show(_: &Output, proof: &BTreeMap<Party, Partial>) -> BTreeMap<Party, Partial> {
        proof.clone()
    }

    fn shown_bytes(committee: &VufCommittee) -> usize {
        4 + (4 + 96) * committee.access().len()
    }

    /// Costs a pairing for each partial, and a combination.
    fn check_shown(
        committee: &VufCommittee,
        input: &Input,
        shown: &BTreeMap<Party, Partial>,
    ) -> Result<ProvenOutput<Self>, OutputError> {
        if shown.keys().any(|party| committee.access().weight(*party) == 0) {
            return Err(OutputError::False);
        }
        match committee.verify_all(input, shown.clone()) {
            Ok(quorum) => Ok(ProvenOutput { output: wvuf::combine(&quorum), proof: shown.clone() }),
            Err(wvuf::QuorumError::Misuse(_)) => Err(OutputError::NotCounted),
            Err(_) => Err(OutputError::False),
        }
    }

    fn check_binding(_: &VufCommittee, _: Path, binding: Binding) -> Result<(), ConfigError> {
        match binding {
            Binding::Slot | Binding::Value => Ok(()),
            Binding::Rounds { .. } => Err(ConfigError::NoRounds),
        }
    }

    /// Users learn the keys of each epoch, and the epoch is in the input.
    fn check_handover(_: &VufCommittee, _: &VufCommittee) -> Result<(), OtherGroupKey> {
        Ok(())
    }

    fn public_keys(committee: &VufCommittee) -> BTreeSet<Vec<u8>> {
        let group = committee.group_key();
        let keys = committee.public().iter().chain([&group]);
        keys.map(|key| key.to_bytes().to_vec()).collect()
    }
}

impl Scheme for Wvuf {
    type Secret = EvaluationKey;

    fn evaluate(secret: &EvaluationKey, input: &Input) -> Option<Partial> {
        Some(secret.evaluate(input))
    }

    /// Evaluates an input that no slot has, and checks the partial as others would if they had the key.
    fn check_secret(
        committee: &VufCommittee,
        me: Party,
        secret: &EvaluationKey,
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

    /// Checks that there is one secret behind both paths, that the two blindings of each party with known
    /// keys differ, and that this party's two blindings differ, whose keys may not be known yet.
    fn check_paths(
        me: Party,
        slow: &Sharing<Self>,
        fast: &Sharing<Self>,
        context: &Context,
    ) -> Result<(), ConfigError> {
        if slow.committee.group_key() != fast.committee.group_key() {
            return Err(ConfigError::GroupKeys);
        }
        let pi = |committee: &VufCommittee, party| committee.keys().get(&party).map(BlindedKey::pi);
        let same = |party: &Party| pi(&slow.committee, *party) == pi(&fast.committee, *party);
        if let Some(party) = slow.committee.keys().keys().copied().find(same) {
            return Err(ConfigError::SharedBlinding { party });
        }
        let input = Input::new(context, Slot::new(0), None);
        match (&slow.secret, &fast.secret) {
            (Some(slow), Some(fast)) if slow.evaluate(&input) == fast.evaluate(&input) => {
                Err(ConfigError::SharedBlinding { party: me })
            }
            _ => Ok(()),
        }
    }
}

impl LateKeys<Self> for Wvuf {
    type Key = AdmittedKey;

    fn has_key(committee: &VufCommittee, party: Party) -> bool {
        committee.keys().contains_key(&party)
    }

    fn insert(committee: &mut VufCommittee, key: AdmittedKey) -> Result<(), KeyError> {
        let party = key.party();
        committee.insert(key).map_err(|error| match error {
            InsertError::OtherCommittee { party } => KeyError::OtherCommittee { party },
            InsertError::Duplicate { party } => KeyError::Duplicate { party },
            _ => KeyError::Other { party },
        })
    }

    fn check_other(other: &VufCommittee, key: &AdmittedKey) -> Result<(), KeyError> {
        let party = key.party();
        match other.keys().get(&party) {
            Some(known) if known.pi() == key.key().pi() => Err(KeyError::SharedBlinding { party }),
            _ => Ok(()),
        }
    }
}

impl Foresight<Self> for Wvuf {
    type Preparation = Combination;
    type RunningCombination = RunningCombination;

    const USED: bool = true;

    fn foresee(committee: &VufCommittee, parties: &BTreeSet<Party>) -> Option<Combination> {
        Combination::new(committee, parties.iter().copied())
    }

    fn begin(foreseen: &Arc<Combination>, input: &Input) -> RunningCombination {
        RunningCombination::new(foreseen, input)
    }

    fn add(
        ahead: &mut RunningCombination,
        committee: &VufCommittee,
        partials: &BTreeMap<Party, Partial>,
    ) {
        ahead.add(committee, partials);
    }

    fn finish(
        ahead: &RunningCombination,
        committee: &VufCommittee,
        input: &Input,
        partials: &BTreeMap<Party, Partial>,
    ) -> Result<ProvenOutput<Self>, PartialsError> {
        let output = ahead.finish(committee, input, partials)?;
        Ok(ProvenOutput { output, proof: partials.clone() })
    }
}

impl Random for Wvuf {
    fn randomness(output: &Output) -> [u8; 32] {
        output.randomness()
    }
}

impl From<wvuf::NotAdmitted> for PartialsError {
    fn from(wvuf::NotAdmitted { party }: wvuf::NotAdmitted) -> Self {
        Self::NotCounted { party }
    }
}
