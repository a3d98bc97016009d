//! Threshold BLS with signatures in 𝔾₁.
//!
//! | outputs                    | message                                             | committee's purpose      |
//! |----------------------------|-----------------------------------------------------|--------------------------|
//! | of the slot alone          | `SHA-256(round, u64 big-endian)`: drand's round      | [`Purpose::Rounds`]      |
//! | of the slot and its value  | chain (32) ‖ epoch (8) ‖ slot (8, big-endian) ‖ value (32) | [`Bls::CERTIFICATES`] |
//!
//! Without values an output is a round of `bls-unchained-g1-rfc9380`: every drand client verifies it,
//! timelock encryption is to it, and its randomness is `SHA-256(signature)`. The integrator says how rounds
//! are numbered:
//!
//! | binding                       | round of a slot      | rounds start with                          |
//! |-------------------------------|----------------------|--------------------------------------------|
//! | [`Binding::Slot`]             | `slot`               | the first slot that has an output          |
//! | [`Binding::Rounds`]           | `slot − first + 1`   | 1, if `first` is the first with an output   |
//!
//! drand's clients take round 1 for granted: they measure with it, and some verify from it on. Round `r` is
//! due at `genesis + (r − 1)·period`, so a chain's genesis is the time at which slot `first` is due.
//!
//! Neither chain nor epoch is in the message, the key stands for the chain: a key is of one chain, and
//! handed over from epoch to epoch it goes on counting. With another `first` under the same key a slot
//! would be signed as a round that is out already, so `first` is handed over as well. With values an output is a certificate,
//! under a domain of its own. One key signs one of the two (`crypto_core::threshold`), so a beacon of
//! rounds cannot be made to certify and the other way round.
//!
//! Partials are verified late: they are combined as they come and one equation, two pairings, checks the
//! result; only if it fails are the partials looked at.
//!
//! The trap: a share is its own blinding. If a party had one share on both paths, its fast partial would
//! be its slow partial. So a party refuses a key under which it has; the group key must be the same.
//! Of others it does not ask: who deals last in a key generation can give itself such a share, harms
//! nobody but itself, and must not be able to stop the epoch.
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::num::NonZeroU32;
use std::sync::Arc;

use crypto_core::access::Party;
use crypto_core::bls::{Domain, MinSig, min_sig};
use crypto_core::context::Context;
use crypto_core::drand::Randomness;
use crypto_core::drand::RoundNumber;
use crypto_core::threshold::{
    self, Ahead, Combination, Committee, Message, Partial, PartialError, Purpose, Signer,
};

use super::{
    Contained, ContentError, KeyError, OtherGroupKey, QuorumError, Random, Scheme, ShapeError,
    ShownError, Statement, disjoint,
};
use crate::config::ConfigError;
use crate::job::Combined;
use contract::Binding;
use contract::Path;
use protocol::{Slot, Value};

/// Threshold BLS of `crypto_core::threshold`, in the variant with small signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bls;

impl Bls {
    /// The purpose of a committee whose outputs depend on values.
    pub const CERTIFICATES: Purpose = Purpose::Messages(Domain::new("beacon certificate"));

    /// What an output that depends on a value signs, under the domain of [`Bls::CERTIFICATES`].
    #[must_use]
    pub fn statement(context: &Context, slot: Slot, value: Value) -> Vec<u8> {
        Statement { context: *context, slot, value }.to_bytes()
    }

    /// What a committee's key is for, by what its outputs depend on.
    #[must_use]
    pub const fn purpose(binding: Binding) -> Purpose {
        match binding {
            Binding::Slot | Binding::Rounds { .. } => Purpose::Rounds,
            Binding::Value => Self::CERTIFICATES,
        }
    }
}

impl Scheme for Bls {
    type Committee = Committee<MinSig>;
    type Secret = Signer<MinSig>;
    type LateKey = Infallible;
    type Content = Infallible;
    type Input = Message<MinSig>;
    type Partial = Partial<MinSig>;
    type Output = min_sig::Signature;
    /// The output is a signature: nothing else is needed.
    type Proof = ();
    type Shown = min_sig::Signature;
    type Foreseen = Combination;
    type Ahead = Ahead<MinSig>;

    const FORESIGHT: bool = true;

    fn id(committee: &Committee<MinSig>) -> [u8; 32] {
        committee.id()
    }

    fn parties(committee: &Committee<MinSig>) -> usize {
        committee.access().len()
    }

    fn holding(committee: &Committee<MinSig>, party: Party) -> u128 {
        committee.access().weight(party).into()
    }

    fn weight(committee: &Committee<MinSig>, party: Party) -> u128 {
        Self::holding(committee, party)
    }

    fn threshold(committee: &Committee<MinSig>) -> u128 {
        committee.threshold().t().get().into()
    }

    fn admit(_: &mut Committee<MinSig>, key: Infallible) -> Result<(), KeyError> {
        match key {}
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

    fn contained(
        _: &Committee<MinSig>,
        _: &Context,
        content: Infallible,
    ) -> Result<Contained<Self>, ContentError> {
        match content {}
    }

    fn evaluate(secret: &Signer<MinSig>, input: &Message<MinSig>) -> Option<Partial<MinSig>> {
        secret.partial(input).ok()
    }

    fn check_shape(
        committee: &Committee<MinSig>,
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

    /// A count and the points.
    fn partial_bytes(committee: &Committee<MinSig>, party: Party) -> usize {
        4 + 48 * committee.access().range(party).len()
    }

    fn verify(
        committee: &Committee<MinSig>,
        input: &Message<MinSig>,
        partials: &BTreeMap<Party, Partial<MinSig>>,
    ) -> Result<(), QuorumError> {
        Ok(committee.check_all(input, partials)?)
    }

    fn combine(
        committee: &Committee<MinSig>,
        input: &Message<MinSig>,
        partials: &BTreeMap<Party, Partial<MinSig>>,
    ) -> Result<Combined<Self>, QuorumError> {
        let output = committee.optimistic(input, partials.clone())?.combine()?;
        Ok(Combined { output, proof: () })
    }

    fn foresee(committee: &Committee<MinSig>, parties: &BTreeSet<Party>) -> Option<Combination> {
        Combination::new(committee, parties.iter().copied())
    }

    fn begin(foreseen: &Arc<Combination>, _: &Message<MinSig>) -> Ahead<MinSig> {
        Ahead::new(foreseen)
    }

    fn add(
        ahead: &mut Ahead<MinSig>,
        _: &Committee<MinSig>,
        partials: &BTreeMap<Party, Partial<MinSig>>,
    ) {
        ahead.add(partials);
    }

    fn finish(
        ahead: &Ahead<MinSig>,
        committee: &Committee<MinSig>,
        input: &Message<MinSig>,
        partials: &BTreeMap<Party, Partial<MinSig>>,
    ) -> Result<Combined<Self>, QuorumError> {
        let output = ahead.finish(committee, input, partials)?;
        Ok(Combined { output, proof: () })
    }

    fn prove(
        _: &Committee<MinSig>,
        _: &Message<MinSig>,
        _: &BTreeMap<Party, Partial<MinSig>>,
    ) -> Option<()> {
        Some(())
    }

    fn show(output: &min_sig::Signature, (): &()) -> min_sig::Signature {
        *output
    }

    fn shown_bytes(_: &Committee<MinSig>) -> usize {
        48
    }

    /// Two pairings under the group key.
    fn check_shown(
        committee: &Committee<MinSig>,
        input: &Message<MinSig>,
        shown: &min_sig::Signature,
    ) -> Result<Combined<Self>, ShownError> {
        let right = committee.verify_result(input, shown);
        right.map(|()| Combined { output: *shown, proof: () }).map_err(|_| ShownError::False)
    }

    fn check_binding(
        committee: &Committee<MinSig>,
        path: Path,
        binding: Binding,
    ) -> Result<(), ConfigError> {
        let (got, expected) = (committee.purpose(), Self::purpose(binding));
        if got == expected { Ok(()) } else { Err(ConfigError::Purpose { path, got, expected }) }
    }

    fn check_secret(
        committee: &Committee<MinSig>,
        (me, secret): (Party, &Signer<MinSig>),
        path: Path,
        _: &Context,
    ) -> Result<(), ConfigError> {
        // A signer has its party's shares in the committee that it names.
        if (secret.party(), secret.committee()) == (me, committee.id()) {
            Ok(())
        } else {
            Err(ConfigError::WrongKey { path })
        }
    }

    fn check_paths(
        me: Party,
        slow: &Committee<MinSig>,
        fast: &Committee<MinSig>,
    ) -> Result<(), ConfigError> {
        if slow.group_key() != fast.group_key() {
            return Err(ConfigError::GroupKeys);
        }
        // With a threshold of one every share is the secret, and there is nothing to keep apart.
        if fast.threshold().t() == NonZeroU32::MIN {
            return Ok(());
        }
        let own = |committee: &Committee<MinSig>| {
            let keys = committee.share_keys().get(committee.access().range(me));
            keys.unwrap_or_default().to_vec()
        };
        disjoint(me, &own(slow), &own(fast))
    }

    /// Rounds of one chain have one key. Certificates name their epoch, and so do their keys.
    fn check_handover(
        before: &Committee<MinSig>,
        after: &Committee<MinSig>,
    ) -> Result<(), OtherGroupKey> {
        let rounds = before.purpose() == Purpose::Rounds;
        if rounds && before.group_key() != after.group_key() { Err(OtherGroupKey) } else { Ok(()) }
    }

    fn public_keys(committee: &Committee<MinSig>) -> BTreeSet<Vec<u8>> {
        let shares = committee.share_keys().iter().map(|key| key.to_bytes().to_vec());
        shares.chain([committee.group_key().to_bytes().to_vec()]).collect()
    }
}

impl Random for Bls {
    fn randomness(output: &min_sig::Signature) -> [u8; 32] {
        *Randomness::of(&output.to_bytes()).as_bytes()
    }
}

impl From<threshold::QuorumError> for QuorumError {
    fn from(error: threshold::QuorumError) -> Self {
        match error {
            threshold::QuorumError::Purpose(_) => Self::Input,
            threshold::QuorumError::NoShares { party } => Self::NotCounted { party },
            threshold::QuorumError::BelowThreshold { got, need } => {
                Self::BelowThreshold { got: got.into(), need: need.get().into() }
            }
            threshold::QuorumError::Faulty { culprits } => Self::Faulty { culprits },
        }
    }
}
