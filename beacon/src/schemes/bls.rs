//! Threshold BLS with signatures in 𝔾₁.
//!
//! | outputs                    | message                                             | committee's purpose      |
//! |----------------------------|-----------------------------------------------------|--------------------------|
//! | of the slot alone          | `SHA-256(round, u64 big-endian)`: drand's round      | [`Purpose::Rounds`]      |
//! | of the slot and its value  | chain (32) ‖ epoch (8) ‖ slot (8, big-endian) ‖ value (32) | [`Bls::CERTIFICATES`] |
//!
//! Without values an output is a round of `bls-unchained-g1-rfc9380`: every drand client verifies it,
//! timelock encryption can encrypt to it, and its randomness is `SHA-256(signature)`. The integrator
//! chooses how rounds are numbered:
//!
//! | binding                       | round of a slot      | rounds start with                          |
//! |-------------------------------|----------------------|--------------------------------------------|
//! | [`Binding::Slot`]             | `slot`               | the first slot that has an output          |
//! | [`Binding::Rounds`]           | `slot − first + 1`   | 1, if `first` is the first with an output   |
//!
//! Clients of drand assume that round 1 exists: they measure with it, and some verify from it on. Round `r`
//! is due at `genesis + (r − 1)·period`, so a chain's genesis is the time at which slot `first` is due.
//!
//! Neither chain nor epoch is in the message, because the key stands for the chain. A key belongs to one
//! chain. When it is handed over from epoch to epoch, the count continues. With another `first` under the
//! same key a slot would be signed as a round that is out already, so `first` is handed over as well. With
//! values an output is a certificate, under a separate domain. One key signs only one of the two
//! (`prefinal_crypto_core::threshold`), so a beacon of rounds cannot be made to certify, nor the other way
//! round.
//!
//! Partials are verified late. They are combined as they come, and one equation, two pairings, checks the
//! result. The single partials are checked only if it fails.
//!
//! The trap: a share is its own blinding. If a party had one share on both paths, its fast partial would be
//! its slow partial. So a party refuses keys that give it such a share. The group key of both paths must be
//! the same. A party does not check the shares of others: the last dealer of a key generation can give
//! itself such a share. It harms nobody but itself, and must not be able to stop the epoch.
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{Domain, MinSig, min_sig};
use prefinal_crypto_core::context::Context;
use prefinal_crypto_core::drand::Randomness;
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_crypto_core::threshold::{
    self, Combination, Message, Partial, PartialError, Purpose, RunningCombination, Signer,
    SigningCommittee,
};

use super::{
    Foresight, Function, NoContents, NoLateKeys, OtherGroupKey, OutputError, PartialsError,
    ProvenOutput, Random, Scheme, ShapeError, Sharing, Statement, disjoint,
};
use crate::config_error::ConfigError;
use prefinal_contract::Binding;
use prefinal_contract::Path;
use prefinal_protocol::{Slot, Value};

/// Threshold BLS of `prefinal_crypto_core::threshold`, in the variant with small signatures.
///
/// ```
/// use prefinal_beacon::{Binding, Bls};
/// use prefinal_crypto_core::threshold::Purpose;
/// assert_eq!(Bls::purpose(Binding::Slot), Purpose::Rounds); // as drand signs them
/// assert_eq!(Bls::purpose(Binding::Value), Bls::CERTIFICATES);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bls;

impl Bls {
    /// The purpose of a committee whose outputs depend on values.
    pub const CERTIFICATES: Purpose = Purpose::Messages(Domain::new("beacon certificate"));

    /// The bytes to sign for an output that depends on a value, under the domain of [`Bls::CERTIFICATES`].
    #[must_use]
    pub fn statement(context: &Context, slot: Slot, value: Value) -> Vec<u8> {
        Statement { context: *context, slot, value }.to_bytes()
    }

    /// The purpose that a committee's key must have for outputs of this binding.
    #[must_use]
    pub const fn purpose(binding: Binding) -> Purpose {
        match binding {
            Binding::Slot | Binding::Rounds { .. } => Purpose::Rounds,
            Binding::Value => Self::CERTIFICATES,
        }
    }
}

impl Function for Bls {
    type Committee = SigningCommittee<MinSig>;
    type Input = Message<MinSig>;
    type Partial = Partial<MinSig>;
    type Output = min_sig::Signature;
    /// Empty: the output is a signature and needs no other proof.
    type Proof = ();
    type OutputMessage = min_sig::Signature;
    type LateKeys = NoLateKeys;
    type Contents = NoContents;
    type Foresight = Self;

    fn id(committee: &SigningCommittee<MinSig>) -> [u8; 32] {
        committee.id()
    }

    fn parties(committee: &SigningCommittee<MinSig>) -> usize {
        committee.access().len()
    }

    fn holding(committee: &SigningCommittee<MinSig>, party: Party) -> u128 {
        committee.access().weight(party).into()
    }

    fn threshold(committee: &SigningCommittee<MinSig>) -> u128 {
        committee.threshold().t().get().into()
    }

    fn input(
        context: &Context,
        binding: Binding,
        slot: Slot,
        value: Option<Value>,
    ) -> Option<Message<MinSig>> {
        match value {
            None => {
                let round = binding.round(slot)?;
                RoundNumber::new(round.get()).map(Message::round)
            }
            Some(value) => {
                let statement = Self::statement(context, slot, value);
                Some(Message::new(Self::CERTIFICATES.domain(), &statement))
            }
        }
    }

    fn check_shape(
        committee: &SigningCommittee<MinSig>,
        party: Party,
        partial: &Partial<MinSig>,
    ) -> Result<(), ShapeError> {
        partial.check_shape(committee, party).map_err(|error| match error {
            PartialError::ShareCount { got, .. } => {
                ShapeError::Points { got, need: committee.access().weight(party) }
            }
            _ => ShapeError::Points { got: partial.points().len(), need: 0 },
        })
    }

    /// The number of points (4 bytes), then the points (48 each).
    fn partial_bytes(committee: &SigningCommittee<MinSig>, party: Party) -> usize {
        4 + 48 * committee.access().range(party).len()
    }

    fn verify(
        committee: &SigningCommittee<MinSig>,
        input: &Message<MinSig>,
        partials: &BTreeMap<Party, Partial<MinSig>>,
    ) -> Result<(), PartialsError> {
        Ok(committee.check_all(input, partials)?)
    }

    fn combine(
        committee: &SigningCommittee<MinSig>,
        input: &Message<MinSig>,
        partials: &BTreeMap<Party, Partial<MinSig>>,
    ) -> Result<ProvenOutput<Self>, PartialsError> {
        let output = committee.optimistic(input, partials.clone())?.combine()?;
        Ok(ProvenOutput { output, proof: () })
    }

    fn prove(
        _: &SigningCommittee<MinSig>,
        _: &Message<MinSig>,
        _: &BTreeMap<Party, Partial<MinSig>>,
    ) -> Option<()> {
        Some(())
    }

    fn show(output: &min_sig::Signature, (): &()) -> min_sig::Signature {
        *output
    }

    fn shown_bytes(_: &SigningCommittee<MinSig>) -> usize {
        48
    }

    /// Two pairings under the group key.
    fn check_shown(
        committee: &SigningCommittee<MinSig>,
        input: &Message<MinSig>,
        shown: &min_sig::Signature,
    ) -> Result<ProvenOutput<Self>, OutputError> {
        let right = committee.verify_result(input, shown);
        right.map(|()| ProvenOutput { output: *shown, proof: () }).map_err(|_| OutputError::False)
    }

    fn check_binding(
        committee: &SigningCommittee<MinSig>,
        path: Path,
        binding: Binding,
    ) -> Result<(), ConfigError> {
        let (got, expected) = (committee.purpose(), Self::purpose(binding));
        if got == expected { Ok(()) } else { Err(ConfigError::Purpose { path, got, expected }) }
    }

    /// Rounds of one chain must have one key. Certificates name their epoch, so each epoch may have another
    /// key.
    fn check_handover(
        before: &SigningCommittee<MinSig>,
        after: &SigningCommittee<MinSig>,
    ) -> Result<(), OtherGroupKey> {
        let rounds = before.purpose() == Purpose::Rounds;
        if rounds && before.group_key() != after.group_key() { Err(OtherGroupKey) } else { Ok(()) }
    }

    fn public_keys(committee: &SigningCommittee<MinSig>) -> BTreeSet<Vec<u8>> {
        let shares = committee.share_keys().iter().map(|key| key.to_bytes().to_vec());
        shares.chain([committee.group_key().to_bytes().to_vec()]).collect()
    }
}

impl Scheme for Bls {
    type Secret = Signer<MinSig>;

    fn evaluate(secret: &Signer<MinSig>, input: &Message<MinSig>) -> Option<Partial<MinSig>> {
        secret.partial(input).ok()
    }

    fn check_secret(
        committee: &SigningCommittee<MinSig>,
        me: Party,
        secret: &Signer<MinSig>,
        path: Path,
        _: &Context,
    ) -> Result<(), ConfigError> {
        // A signer is made from its party's shares in the committee that it names.
        if (secret.party(), secret.committee()) == (me, committee.id()) {
            Ok(())
        } else {
            Err(ConfigError::WrongKey { path })
        }
    }

    fn check_paths(
        me: Party,
        slow: &Sharing<Self>,
        fast: &Sharing<Self>,
        _: &Context,
    ) -> Result<(), ConfigError> {
        // It is enough to compare the public keys: they determine the shares.
        let (slow, fast) = (&slow.committee, &fast.committee);
        if slow.group_key() != fast.group_key() {
            return Err(ConfigError::GroupKeys);
        }
        // With a threshold of one every share is the secret, so there is nothing to separate.
        if fast.threshold().t() == NonZeroU32::MIN {
            return Ok(());
        }
        let own = |committee: &SigningCommittee<MinSig>| {
            let keys = committee.share_keys().get(committee.access().range(me));
            keys.unwrap_or_default().to_vec()
        };
        disjoint(me, &own(slow), &own(fast))
    }
}

impl Foresight<Self> for Bls {
    type Preparation = Combination;
    type RunningCombination = RunningCombination<MinSig>;

    const USED: bool = true;

    fn foresee(
        committee: &SigningCommittee<MinSig>,
        parties: &BTreeSet<Party>,
    ) -> Option<Combination> {
        Combination::new(committee, parties.iter().copied())
    }

    fn begin(foreseen: &Arc<Combination>, _: &Message<MinSig>) -> RunningCombination<MinSig> {
        RunningCombination::new(foreseen)
    }

    fn add(
        ahead: &mut RunningCombination<MinSig>,
        _: &SigningCommittee<MinSig>,
        partials: &BTreeMap<Party, Partial<MinSig>>,
    ) {
        ahead.add(partials);
    }

    fn finish(
        ahead: &RunningCombination<MinSig>,
        committee: &SigningCommittee<MinSig>,
        input: &Message<MinSig>,
        partials: &BTreeMap<Party, Partial<MinSig>>,
    ) -> Result<ProvenOutput<Self>, PartialsError> {
        let output = ahead.finish(committee, input, partials)?;
        Ok(ProvenOutput { output, proof: () })
    }
}

impl Random for Bls {
    fn randomness(output: &min_sig::Signature) -> [u8; 32] {
        *Randomness::of(&output.to_bytes()).as_bytes()
    }
}

impl From<threshold::MisuseError> for PartialsError {
    fn from(error: threshold::MisuseError) -> Self {
        match error {
            threshold::MisuseError::Purpose(_) => Self::Input,
            threshold::MisuseError::NoShares { party } => Self::NotCounted { party },
            _ => Self::Other,
        }
    }
}
