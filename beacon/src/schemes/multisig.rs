//! State certificates: weighted multi-signatures with signatures in 𝔾₁.
//!
//! | step     | what                                                                 | by whom |
//! |----------|----------------------------------------------------------------------|---------|
//! | evaluate | `σᵢ = H(m)^skᵢ`, `m` = chain (32) ‖ epoch (8) ‖ slot (8) ‖ value (32)  | party   |
//! | combine  | `σ = ∏ᵢ σᵢ`, the bitmap of the signers, `Σ stakeᵢ ≥ quorum`           | anyone  |
//! | verify   | `e(σ, g) = e(H(m), ∏ᵢ pkᵢ)`: [`Statement::verify`]                   | anyone  |
//!
//! Numbers are big-endian. The output is the statement, which is the same everywhere. Its proof is the
//! [`Certificate`], which may name other signers at another party. A program that has the electorate, which
//! is public, can check it without the beacon.
//!
//! Nothing is rounded: stake is counted. With the engine's own quorum, secrecy and reconstruction are one
//! number, and [`Paths::Tight`](crate::Paths::Tight) gives the certificate with finality (Algorithm 2).
//! There is no shared secret: a party has one key and one signature on a statement. So a second path would
//! get the same signatures as the first, and is refused. A certificate below the quorum says what its
//! signers said and proves nothing. The contract is needed nevertheless, because a quorum of signatures on
//! a value that is not final would be a certificate on a state that never was.
//!
//! **One secret, one purpose.** The key is for this scheme alone. In particular it is not the engine's key,
//! because the engine's votes count once in a view and these signatures once in a slot. The domain is for
//! this scheme alone, so that a certificate is no vote even if somebody breaks this rule.
//!
//! See also: adding up and naming culprits (`prefinal_crypto_core::certificate`), and certificates of
//! constant size ([`Bls`](super::Bls) with [`Binding::Value`]).
use std::collections::{BTreeMap, BTreeSet};

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{Domain, MinSig, min_sig};
use prefinal_crypto_core::certificate::{
    AssembleError, Certificate, CertificateError, Electorate, Signers, Vote, VotesError,
};
use prefinal_crypto_core::context::Context;

use super::{
    Function, NoContents, NoForesight, NoLateKeys, OtherGroupKey, OutputError, PartialsError,
    ProvenOutput, Scheme, ShapeError, Sharing,
};
use crate::config_error::ConfigError;
use prefinal_contract::Binding;
use prefinal_contract::Path;
use prefinal_protocol::{Slot, Value};

/// Multi-signatures of `prefinal_crypto_core::certificate`, counted in exact stake.
///
/// Four parties certify the value of a slot while they finalize it:
/// ```
/// # use prefinal_crypto_core::access::Party;
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_weighted_rounding::Stake;
/// use prefinal_beacon::*;
/// use prefinal_crypto_core::bls::min_sig::SecretKey;
/// use prefinal_crypto_core::certificate::{Elector, Electorate};
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
/// # let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
///
/// // A key for this purpose alone, with its proof of possession, and each party's stake.
/// let stakes = [40, 30, 20, 10].map(Stake::new);
/// let (mut electors, mut secrets) = (Vec::new(), Vec::new());
/// for stake in stakes {
///     let secret = SecretKey::random(&mut rng);
///     let key = secret.public_key().verify_possession(&secret.prove_possession())?;
///     electors.push(Elector { key, stake: stake.get() });
///     secrets.push(secret);
/// }
/// let electorate = Electorate::more_than_two_thirds(electors)?;
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
/// let beacon = |(me, secret)| {
///     let sharing = Sharing { committee: electorate.clone(), secret: Some(secret) };
///     Beacon::<MultiSig>::new(config(Party::new(me), sharing), &[])
/// };
/// let mut parties = (0..).zip(secrets).map(beacon).collect::<Result<Vec<_>, _>>()?;
///
/// // `run` gives these events to all parties, and their messages to each other.
/// let (slot, value) = (Slot::new(1), Value::new([9; 32]));
/// let vote = Input::Prefinalized { slot, view: View::new(slot, 0), value };
/// let reveals = run(&mut parties, &[vote, Input::Finalized { slot, value: Some(value) }]);
/// assert_eq!(reveals.len(), 4);
/// // All have the same statement. The certificates may name different quorums, and each is valid.
/// for reveal in &reveals {
///     assert_eq!(reveal.output, Statement { context, slot, value });
///     reveal.output.verify(&electorate, &reveal.proof)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MultiSig;

/// The statement that certificates sign: a slot of a chain has a value.
///
/// A certificate, as anybody can check it:
/// ```
/// use prefinal_beacon::{MultiSig, Slot, Statement, Value};
/// use prefinal_crypto_core::access::Party;
/// use prefinal_crypto_core::bls::SecretKey;
/// use prefinal_crypto_core::certificate::{Certificate, Elector, Electorate};
/// use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// let voter = SecretKey::random(&mut rng);
/// let key = voter.public_key().verify_possession(&voter.prove_possession())?;
/// let electorate = Electorate::more_than_two_thirds(vec![Elector { key, stake: 1 }])?;
///
/// let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
/// let value = Value::new([9; 32]);
/// let statement = Statement { context, slot: Slot::new(1), value };
/// let votes = [(Party::new(0), voter.sign(MultiSig::DOMAIN, &statement.to_bytes()))].into();
/// let message = statement.to_bytes();
/// let certificate = Certificate::assemble(&electorate, MultiSig::DOMAIN, &message, &votes)?;
/// assert!(statement.verify(&electorate, &certificate).is_ok());
/// let next = Statement { slot: Slot::new(2), ..statement };
/// assert!(next.verify(&electorate, &certificate).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct Statement {
    /// The chain and the epoch of the slot.
    pub context: Context,
    /// The slot that has the value.
    pub slot: Slot,
    /// The value of the slot.
    pub value: Value,
}

impl MultiSig {
    /// The domain tag under which the keys sign.
    pub const DOMAIN: Domain = Domain::new("beacon state certificate");
}

impl Statement {
    /// The bytes that are signed: chain (32 bytes) ‖ epoch (8) ‖ slot (8) ‖ value (32), numbers big-endian.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let slot = self.slot.get().to_be_bytes();
        [&self.context.to_bytes()[..], &slot, &self.value.to_bytes()].concat()
    }

    /// Checks that a quorum of stake has signed this statement. Costs two pairings and additions of keys.
    ///
    /// # Errors
    /// [`CertificateError`] says what is wrong.
    pub fn verify(
        &self,
        electorate: &Electorate<MinSig>,
        certificate: &Certificate<MinSig>,
    ) -> Result<(), CertificateError> {
        certificate.verify(electorate, MultiSig::DOMAIN, &self.to_bytes()).map(|_| ())
    }
}

impl Function for MultiSig {
    type Committee = Electorate<MinSig>;
    type Input = Statement;
    type Partial = min_sig::Signature;
    type Output = Statement;
    type Proof = Certificate<MinSig>;
    type OutputMessage = Certificate<MinSig>;
    type LateKeys = NoLateKeys;
    type Contents = NoContents;
    /// A sum needs no coefficients, and additions are cheap beside the check of the result.
    type Foresight = NoForesight;

    fn id(electorate: &Electorate<MinSig>) -> [u8; 32] {
        electorate.id()
    }

    fn parties(electorate: &Electorate<MinSig>) -> usize {
        electorate.len()
    }

    fn holding(electorate: &Electorate<MinSig>, party: Party) -> u128 {
        electorate.elector(party).map_or(0, |elector| elector.stake)
    }

    fn threshold(electorate: &Electorate<MinSig>) -> u128 {
        electorate.quorum()
    }

    fn input(context: &Context, _: Binding, slot: Slot, value: Option<Value>) -> Option<Statement> {
        Some(Statement { context: *context, slot, value: value? })
    }

    fn check_shape(
        _: &Electorate<MinSig>,
        _: Party,
        _: &min_sig::Signature,
    ) -> Result<(), ShapeError> {
        Ok(())
    }

    fn partial_bytes(_: &Electorate<MinSig>, _: Party) -> usize {
        48
    }

    fn verify(
        electorate: &Electorate<MinSig>,
        input: &Statement,
        partials: &BTreeMap<Party, min_sig::Signature>,
    ) -> Result<(), PartialsError> {
        check_votes(electorate, Self::DOMAIN, &input.to_bytes(), partials)
    }

    fn combine(
        electorate: &Electorate<MinSig>,
        input: &Statement,
        partials: &BTreeMap<Party, min_sig::Signature>,
    ) -> Result<ProvenOutput<Self>, PartialsError> {
        let proof = assemble(electorate, Self::DOMAIN, &input.to_bytes(), partials)?;
        Ok(ProvenOutput { output: *input, proof })
    }

    fn prove(
        electorate: &Electorate<MinSig>,
        _: &Statement,
        partials: &BTreeMap<Party, min_sig::Signature>,
    ) -> Option<Certificate<MinSig>> {
        add_up(electorate, partials)
    }

    fn show(_: &Statement, proof: &Certificate<MinSig>) -> Certificate<MinSig> {
        proof.clone()
    }

    /// A bitmap with its length, and a signature.
    fn shown_bytes(electorate: &Electorate<MinSig>) -> usize {
        4 + electorate.len().div_ceil(8) + 48
    }

    fn check_shown(
        electorate: &Electorate<MinSig>,
        input: &Statement,
        shown: &Certificate<MinSig>,
    ) -> Result<ProvenOutput<Self>, OutputError> {
        let right = input.verify(electorate, shown).map_err(|_| OutputError::False);
        right.map(|()| ProvenOutput { output: *input, proof: shown.clone() })
    }

    fn check_binding(_: &Electorate<MinSig>, _: Path, binding: Binding) -> Result<(), ConfigError> {
        if binding == Binding::Value { Ok(()) } else { Err(ConfigError::Unbound) }
    }

    /// A certificate is checked against its epoch's electorate, and names the epoch.
    fn check_handover(_: &Electorate<MinSig>, _: &Electorate<MinSig>) -> Result<(), OtherGroupKey> {
        Ok(())
    }

    fn public_keys(electorate: &Electorate<MinSig>) -> BTreeSet<Vec<u8>> {
        let electors = (0..).map(Party::new).map_while(|party| electorate.elector(party));
        electors.map(|elector| elector.key.to_bytes().to_vec()).collect()
    }
}

impl Scheme for MultiSig {
    type Secret = min_sig::SecretKey;

    fn evaluate(secret: &min_sig::SecretKey, input: &Statement) -> Option<min_sig::Signature> {
        Some(secret.sign(Self::DOMAIN, &input.to_bytes()))
    }

    fn check_secret(
        electorate: &Electorate<MinSig>,
        me: Party,
        secret: &min_sig::SecretKey,
        path: Path,
        _: &Context,
    ) -> Result<(), ConfigError> {
        let own = secret.public_key();
        let fits = electorate.elector(me).is_some_and(|elector| *elector.key.get() == own);
        if fits { Ok(()) } else { Err(ConfigError::WrongKey { path }) }
    }

    fn check_paths(
        _: Party,
        _: &Sharing<Self>,
        _: &Sharing<Self>,
        _: &Context,
    ) -> Result<(), ConfigError> {
        Err(ConfigError::OnePath)
    }
}

/// Checks votes for one message, and names those that are wrong.
pub(super) fn check_votes(
    electorate: &Electorate<MinSig>,
    domain: Domain,
    message: &[u8],
    votes: &BTreeMap<Party, min_sig::Signature>,
) -> Result<(), PartialsError> {
    let vote = |(&party, &signature): (&_, &_)| (party, Vote { message, signature });
    let culprits = electorate.culprits(domain, &votes.iter().map(vote).collect())?;
    if culprits.is_empty() { Ok(()) } else { Err(PartialsError::Faulty { culprits }) }
}

/// Makes a certificate of votes for one message.
pub(super) fn assemble(
    electorate: &Electorate<MinSig>,
    domain: Domain,
    message: &[u8],
    votes: &BTreeMap<Party, min_sig::Signature>,
) -> Result<Certificate<MinSig>, PartialsError> {
    Ok(Certificate::assemble(electorate, domain, message, votes)?.into_inner())
}

/// Adds votes up without a check; `None` if there are none, or one is of a stranger.
pub(super) fn add_up(
    electorate: &Electorate<MinSig>,
    votes: &BTreeMap<Party, min_sig::Signature>,
) -> Option<Certificate<MinSig>> {
    let signers = Signers::new(electorate.len(), votes.keys().copied()).ok()?;
    let signature = min_sig::aggregate(votes.values()).ok()?;
    Some(Certificate { signers, signature })
}

impl From<VotesError> for PartialsError {
    fn from(error: VotesError) -> Self {
        match error {
            VotesError::NoVotes => Self::BelowThreshold { got: 0, need: 1 },
            VotesError::Stranger(stranger) => Self::NotCounted { party: stranger.party },
            VotesError::Faulty { culprits } => Self::Faulty { culprits },
            _ => Self::Other,
        }
    }
}

impl From<AssembleError> for PartialsError {
    fn from(error: AssembleError) -> Self {
        match error {
            AssembleError::BelowQuorum { got, need } => Self::BelowThreshold { got, need },
            AssembleError::Votes(error) => error.into(),
            _ => Self::Other,
        }
    }
}
