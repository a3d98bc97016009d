//! Slot decryption: the ciphertexts of a slot's value, opened together with its finality.
//!
//! | step     | what                                                                    | by whom |
//! |----------|-------------------------------------------------------------------------|---------|
//! | content  | ciphertexts of the value, valid under the label (chain, epoch, slot)     | host    |
//! | evaluate | `Dⱼ = U^f(j)` for each valid ciphertext and each share index of the party | party   |
//! | combine  | `D = ∏ Dⱼ^λⱼ`, `e(D, g₂) = e(U, Ŷ)`, the plaintext from `KDF(U, D)`       | anyone  |
//!
//! Shares are points of 𝔾₁. The function depends on the content of the value. So the host gives the slot's
//! content to the beacon ([`Input::Content`](crate::Input::Content)), best before it prefinalizes the
//! value. Without it nothing is released and nothing is counted. A [`Batch`] is bound to the value by its
//! hash. So a content that does not belong to the value is refused, and all parties have the same one.
//!
//! A share that leaves for a value that does not become final opens an orphaned block. The contract
//! ([`contract`](crate::contract)) applies without change:
//!
//! | path  | who can open early                              | why nobody does                                   |
//! |-------|--------------------------------------------------|---------------------------------------------------|
//! | slow  | more than `t` weight, `t` of it faulty           | an honest share leaves when the value is final    |
//! | fast  | secrecy threshold `≥ f_fin`                      | so much weight has prefinalized: the value is final |
//! | tight | the same, `f_fin`                                | the same                                          |
//!
//! A share of a ciphertext does not know its value. If two values of a slot contain the same ciphertext,
//! shares released for one value count, outside of this beacon, for the other. On finalize there is one
//! value. On prefinalize, parties must not release for two values in the declared view, and honest ones do
//! not: each engine's prefinalizing vote follows a quorum of an earlier phase in the same view (a polka, a
//! QC, a notarization, a prepared certificate), and there is only one such quorum. So the early shares of
//! honest parties are for one value. A later final value that has the same ciphertext opens what is to be
//! opened at this slot anyway. An engine without that property must not declare a view (rule 7). The label
//! limits all this to one slot: a ciphertext that is copied to another slot is not valid there, and no
//! share is given.
//!
//! The trap: a share is its own blinding, as for [`Bls`](super::Bls). So a party with one share on both
//! paths would release on prefinalize the share that opens on the slow path. It refuses such a key. And one
//! secret, one purpose: anybody may choose `U`, so a key that also signs slots would sign what a ciphertext
//! asks for.
//!
//! A plaintext that does not open, or an entry that is no valid ciphertext, is its author's fault, and part
//! of the output. Decryption *to a slot* needs no scheme: the randomness of the slot opens the ciphertext
//! (`prefinal_crypto_core::timelock`), no matter to which validator it was sent and whether or not it is in a block.
//!
//! See also: the equations and why they are secure (`prefinal_crypto_core::elgamal`).
mod batch;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Context;
use prefinal_crypto_core::elgamal::{
    self, CombineError, DecryptionKey, DecryptionShare, OpenedCiphertext, Opening, Unopenable,
    ValidCiphertext,
};

pub use self::batch::{Batch, BatchCommittee, Bounds, Unusable};
use super::{
    ContentError, ContentInput, Contents, Function, NoForesight, NoLateKeys, OtherGroupKey,
    OutputError, PartialsError, ProvenOutput, Scheme, ShapeError, Sharing, check_weight, disjoint,
};
use crate::config_error::ConfigError;
use prefinal_contract::Binding;
use prefinal_contract::Path;
use prefinal_protocol::{Slot, Value};

/// Threshold decryption of `prefinal_crypto_core::elgamal`.
///
/// A user encrypts a transaction to a slot. Four parties open it when the block that has it is final:
/// ```
/// # use prefinal_crypto_core::access::{Access, Party};
/// # use prefinal_crypto_core::commitment::Commitment;
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_crypto_core::curve::{G1Affine, Scalar};
/// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// # use prefinal_weighted_rounding::Stake;
/// use prefinal_beacon::*;
/// use prefinal_crypto_core::elgamal::{DecryptionCommittee, DecryptionKey, Label};
/// use prefinal_crypto_core::wire::Object;
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
/// # let stakes = [1; 4].map(Stake::new);
/// # let x = Secret::new(Scalar::random(&mut rng));
/// # let f = Polynomial::random(3.try_into()?, &x, &mut rng);
/// # let (y, commitment) = ((G1Affine::generator() * x.expose()).to_affine(), Commitment::commit(&f));
/// # let access = Access::new(&[1; 4])?;
/// # let holders = DecryptionCommittee::new(y, &commitment, access.clone(), Placement::Consecutive)?;
/// # let shares = f.shares(holders.points());
/// # let own = |party| Secret::new(shares.expose()[access.range(party)].to_vec()); // from a key generation
/// # let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
///
/// let committee = BatchCommittee::new(holders.clone(), Bounds::default());
/// let config = |me, sharing| Config {
///     context,
///     me,
///     paths: Paths::Tight(sharing),
///     binding: Binding::Value,
///     fast_attempt: Some(0),
///     finality: Finality::exact(&stakes, Quorum::BYZANTINE).unwrap(),
///     first: Slot::new(1),
///     life: Life::First,
///     limits: Limits::default(),
/// };
/// let beacon = |me| {
///     let secret = Some(DecryptionKey::new(&holders, me, own(me)).unwrap());
///     Beacon::<Decryption>::new(config(me, Sharing { committee: committee.clone(), secret }), &[])
/// };
/// let mut parties = access.parties().map(beacon).collect::<Result<Vec<_>, _>>()?;
///
/// // The user needs the key and the slot. The proposer puts what it gets into its block.
/// let slot = Slot::new(1);
/// let sealed = holders.key().encrypt(&Label::slot(&context, slot), b"sell", &mut rng)?.to_wire();
/// let batch = Batch::new(&committee, &context, slot, [5; 32], &[sealed]); // of the block's hash
/// let value = batch.value(); // what the engine agrees on
///
/// // `run` gives these events to all parties, and their messages to each other.
/// let vote = Input::Prefinalized { slot, view: View::new(slot, 0), value };
/// let is_final = Input::Finalized { slot, value: Some(value) };
/// let reveals = run(&mut parties, &[Input::Content(batch), vote, is_final]);
/// assert_eq!(reveals.len(), 4);
/// assert!(reveals.iter().all(|reveal| reveal.output[0].as_deref() == Ok(b"sell")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decryption;

/// One party's shares: one for each valid ciphertext of the slot, in order.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct DecryptionShares(Vec<DecryptionShare>);

/// The result for each entry of a slot, in the block's order. Cheap to clone.
pub type Plaintexts = Arc<[Result<Vec<u8>, Unopened>]>;

/// Why an entry has no plaintext. The author of the entry caused it, and every party sees the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unopened {
    /// The entry is not usable, so nobody gave a share for it.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// All shares are right, and the body still does not open.
    #[error(transparent)]
    Broken(#[from] Unopenable),
}

impl Unopened {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unusable(error) => error.code(),
            Self::Broken(error) => error.code(),
        }
    }
}

impl Function for Decryption {
    type Committee = BatchCommittee;
    type Input = Batch;
    type Partial = DecryptionShares;
    type Output = Plaintexts;
    /// The opening of each valid ciphertext, in order.
    type Proof = Vec<Opening>;
    type OutputMessage = Vec<Opening>;
    type LateKeys = NoLateKeys;
    type Contents = Self;
    /// A batch may have any size, so nothing is prepared.
    type Foresight = NoForesight;

    fn id(committee: &BatchCommittee) -> [u8; 32] {
        committee.id()
    }

    fn parties(committee: &BatchCommittee) -> usize {
        committee.holders().access().len()
    }

    fn holding(committee: &BatchCommittee, party: Party) -> u128 {
        committee.holders().access().weight(party).into()
    }

    fn threshold(committee: &BatchCommittee) -> u128 {
        committee.holders().threshold().t().get().into()
    }

    /// There is no input without the content.
    fn input(_: &Context, _: Binding, _: Slot, _: Option<Value>) -> Option<Batch> {
        None
    }

    /// The number of ciphertexts is known only with the content, so the check is against the most of a slot.
    fn check_shape(
        committee: &BatchCommittee,
        party: Party,
        partial: &DecryptionShares,
    ) -> Result<(), ShapeError> {
        let most = committee.bounds().ciphertexts;
        let got = partial.0.len();
        if u32::try_from(got).map_or(true, |got| got > most) {
            return Err(ShapeError::Ciphertexts { got, most });
        }
        let need = committee.holders().access().weight(party);
        let fits = |share: &&DecryptionShare| u32::try_from(share.weight()) == Ok(need);
        match partial.0.iter().find(|share| !fits(share)) {
            Some(share) => Err(ShapeError::Points { got: share.weight(), need }),
            None => Ok(()),
        }
    }

    /// One list of points for each ciphertext that a slot may have.
    fn partial_bytes(committee: &BatchCommittee, party: Party) -> usize {
        let weight = committee.holders().access().range(party).len();
        4 + (4 + 48 * weight).saturating_mul(ciphertexts(committee))
    }

    fn verify(
        committee: &BatchCommittee,
        input: &Batch,
        partials: &BTreeMap<Party, DecryptionShares>,
    ) -> Result<(), PartialsError> {
        let mut culprits = miscounted(input, partials);
        for (ciphertext, shares) in by_ciphertext(input, partials) {
            match committee.holders().check_all(ciphertext, &shares) {
                Ok(()) => {}
                Err(elgamal::QuorumError::Faulty { culprits: found }) => culprits.extend(found),
                Err(error) => return Err(error.into()),
            }
        }
        if culprits.is_empty() { Ok(()) } else { Err(PartialsError::Faulty { culprits }) }
    }

    fn combine(
        committee: &BatchCommittee,
        input: &Batch,
        partials: &BTreeMap<Party, DecryptionShares>,
    ) -> Result<ProvenOutput<Self>, PartialsError> {
        check_weight::<Self>(committee, partials)?;
        let mut culprits = miscounted(input, partials);
        let mut opened = Vec::new();
        if culprits.is_empty() {
            for (ciphertext, shares) in by_ciphertext(input, partials) {
                match committee.holders().optimistic(ciphertext, shares)?.open() {
                    Ok(one) => opened.push(one),
                    Err(CombineError::Faulty { culprits: found }) => culprits.extend(found),
                    // An unopenable ciphertext is part of the output.
                    Err(CombineError::Unopenable(_)) => {}
                    Err(_) => return Err(PartialsError::Other),
                }
            }
        }
        if culprits.is_empty() {
            Ok(outcome(input, opened))
        } else {
            Err(PartialsError::Faulty { culprits })
        }
    }

    fn show(_: &Plaintexts, proof: &Vec<Opening>) -> Vec<Opening> {
        proof.clone()
    }

    fn shown_bytes(committee: &BatchCommittee) -> usize {
        4 + 48 * ciphertexts(committee)
    }

    /// Costs two pairings for each ciphertext.
    fn check_shown(
        _: &BatchCommittee,
        input: &Batch,
        shown: &Vec<Opening>,
    ) -> Result<ProvenOutput<Self>, OutputError> {
        if shown.len() != input.valid().count() {
            return Err(OutputError::False);
        }
        let opened = shown.iter().zip(input.valid()).map(|(one, ciphertext)| one.open(ciphertext));
        let opened = opened.collect::<Result<_, _>>().map_err(|_| OutputError::False)?;
        Ok(outcome(input, opened))
    }

    fn check_binding(_: &BatchCommittee, _: Path, binding: Binding) -> Result<(), ConfigError> {
        if binding == Binding::Value { Ok(()) } else { Err(ConfigError::Unbound) }
    }

    /// A ciphertext names its epoch and is encrypted to that epoch's key, so every next committee passes.
    fn check_handover(_: &BatchCommittee, _: &BatchCommittee) -> Result<(), OtherGroupKey> {
        Ok(())
    }

    fn public_keys(committee: &BatchCommittee) -> BTreeSet<Vec<u8>> {
        let holders = committee.holders();
        let shares = holders.share_keys().iter().chain([]).map(|key| key.to_bytes().to_vec());
        shares.chain([holders.key().y_hat().to_bytes().to_vec()]).collect()
    }
}

impl Scheme for Decryption {
    type Secret = DecryptionKey;

    fn evaluate(secret: &DecryptionKey, input: &Batch) -> Option<DecryptionShares> {
        let shares = input.valid().map(|ciphertext| secret.decrypt_share(ciphertext).ok());
        shares.collect::<Option<_>>().map(DecryptionShares)
    }

    fn check_secret(
        committee: &BatchCommittee,
        me: Party,
        secret: &DecryptionKey,
        path: Path,
        _: &Context,
    ) -> Result<(), ConfigError> {
        if (secret.party(), secret.committee()) == (me, committee.holders().id()) {
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
        let (slow_holders, fast_holders) = (slow.holders(), fast.holders());
        if slow_holders.key() != fast_holders.key() {
            return Err(ConfigError::GroupKeys);
        }
        if slow.bounds() != fast.bounds() {
            return Err(ConfigError::Bounds);
        }
        if fast_holders.threshold().t() == NonZeroU32::MIN {
            return Ok(());
        }
        let own = |holders: &elgamal::DecryptionCommittee| {
            let keys = holders.share_keys().get(holders.access().range(me));
            keys.unwrap_or_default().to_vec()
        };
        disjoint(me, &own(slow_holders), &own(fast_holders))
    }
}

impl Contents<Self> for Decryption {
    type Content = Batch;

    const NEEDED: bool = true;

    fn contained(
        committee: &BatchCommittee,
        context: &Context,
        content: Batch,
    ) -> Result<ContentInput<Self>, ContentError> {
        let (slot, value) = (content.slot(), content.value());
        if content.context() != context || !content.is_of(committee) {
            return Err(ContentError::Elsewhere { slot });
        }
        Ok(ContentInput { slot, value, input: content })
    }
}

/// Gives each entry with its result.
fn outcome(input: &Batch, opened: Vec<OpenedCiphertext>) -> ProvenOutput<Decryption> {
    let proof = opened.iter().map(|one| one.opening).collect();
    let mut opened = opened.into_iter();
    let entry = |entry: &Result<ValidCiphertext, Unusable>| match entry {
        Err(unusable) => Some(Err((*unusable).into())),
        Ok(_) => opened.next().map(|one| match one.plaintext {
            // The plaintext is no secret any more.
            Ok(plaintext) => Ok(plaintext.expose().clone()),
            Err(broken) => Err(broken.into()),
        }),
    };
    let output = input.entries().iter().filter_map(entry).collect();
    ProvenOutput { output, proof }
}

/// The most ciphertexts of a slot.
fn ciphertexts(committee: &BatchCommittee) -> usize {
    usize::try_from(committee.bounds().ciphertexts).unwrap_or(usize::MAX)
}

/// The parties whose number of shares differs from the number of ciphertexts.
fn miscounted(input: &Batch, partials: &BTreeMap<Party, DecryptionShares>) -> BTreeSet<Party> {
    let need = input.valid().count();
    let wrong = partials.iter().filter(|(_, partial)| partial.0.len() != need);
    wrong.map(|(party, _)| *party).collect()
}

/// Turns shares by party into shares by ciphertext. A party that gave too few is missing in the last ones.
fn by_ciphertext<'b>(
    input: &'b Batch,
    partials: &'b BTreeMap<Party, DecryptionShares>,
) -> impl Iterator<Item = (&'b ValidCiphertext, BTreeMap<Party, DecryptionShare>)> {
    input.valid().enumerate().map(|(position, ciphertext)| {
        let share = |(party, partial): (&Party, &DecryptionShares)| {
            Some((*party, partial.0.get(position)?.clone()))
        };
        (ciphertext, partials.iter().filter_map(share).collect())
    })
}

impl From<elgamal::OtherKey> for PartialsError {
    fn from(_: elgamal::OtherKey) -> Self {
        Self::Input
    }
}
