//! The threshold functions that a beacon can evaluate.
//!
//! | scheme       | input                                          | counts | partial            | output      | shown to others by |
//! |--------------|------------------------------------------------|--------|--------------------|-------------|--------------------|
//! | [`Bls`]      | drand's round; or chain, epoch, slot and value | shares | a point of 𝔾₁ each | a signature | itself             |
//! | [`Wvuf`]     | chain, epoch, slot, maybe the value            | shares | one point of 𝔾₂    | in 𝔾ₜ       | the partials       |
//! | [`Decryption`] | the ciphertexts of the value                 | shares | a point of 𝔾₁ each, for each ciphertext | plaintexts | what opens them |
//! | [`MultiSig`] | chain, epoch, slot and value                   | stake  | one point of 𝔾₁    | the input   | a certificate      |
//! | [`StateSig`] | the same, and the root of the state            | stake  | one point of 𝔾₁    | the input   | root, certificate  |
//!
//! A chain may add its own scheme. A scheme consists of these traits:
//!
//! | trait           | contents                                             | implemented by                          |
//! |-----------------|------------------------------------------------------|-----------------------------------------|
//! | [`Function`]    | the public side: committees, partials, outputs, and how they are verified | every scheme       |
//! | [`Scheme`]      | a party's own side: its secret and its evaluation    | every scheme                            |
//! | [`LateKeys`]    | parties that count only some time after the start    | the weighted VUF; others use [`NoLateKeys`] |
//! | [`Contents`]    | inputs that depend on the content of a value         | slot decryption and certificates of states; others use [`NoContents`] |
//! | [`Foresight`]   | work that is done before all partials have arrived   | BLS and the VUF; others use [`NoForesight`] |
//! | [`Random`]      | outputs that nobody can predict                      | BLS and the VUF                         |
//!
//! No check has a default. A scheme that does not need a check answers it in one line. A check that its types
//! exclude does not exist. A program that only verifies, such as a client, needs [`Function`] alone.
//!
//! The machine uses nothing but these traits, by static dispatch. So a beacon has one scheme. A chain that
//! wants several schemes runs a beacon for each over one stream of events ([`crate::stack`]). All schemes
//! count in integers of 128 bits: a number of shares fits, and so does stake as consensus counts it.
//!
//! A partial that leaves on prefinalize must say nothing about the partial that leaves on finalize, because
//! the slow threshold is lower. In each scheme two correct keys can break this in some way.
//! [`check_paths`](Scheme::check_paths) refuses such keys.
//!
//! See also: the equations (`prefinal_crypto_core::threshold`, `prefinal_crypto_core::wvuf`), where the
//! shares come from (`prefinal_pvss_dkg`), and when a partial may leave (`contract`).
mod bls;
mod content;
mod decryption;
mod foresight;
mod late;
mod multisig;
mod state;
mod wvuf;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Context;
use prefinal_crypto_core::curve::G2Affine;
use prefinal_crypto_core::quorum::QuorumError;

use crate::config_error::ConfigError;
use prefinal_contract::Binding;
use prefinal_contract::Path;
use prefinal_protocol::{Slot, Value};

pub use self::bls::Bls;
pub use self::content::{Content, ContentError, ContentInput, Contents, NoContents};
pub use self::decryption::{
    Batch, BatchCommittee, Bounds, Decryption, DecryptionShares, Plaintexts, Unopened, Unusable,
};
pub use self::foresight::{Foresight, NoForesight, Preparation, RunningCombination};
pub use self::late::{KeyError, LateKey, LateKeys, NoLateKeys};
pub use self::multisig::{MultiSig, Statement};
pub use self::state::{CertifiedRoot, StateRoot, StateSig, StateStatement};
pub use self::wvuf::Wvuf;

/// The public side of a function that a committee computes together. It is everything that is needed to
/// verify. A chain may implement it. The promises of a beacon rest on every line of the implementation;
/// `prefinal_beacon::laws` (feature `laws`) tests as much of it as a test can.
pub trait Function: Copy + Debug + Default + Eq + Send + Sync + 'static {
    /// The public side of one path: which party holds which shares, and the keys that partials are checked
    /// against.
    type Committee: Clone + Debug + Send + Sync;
    /// The input of the function, hashed to the curve.
    type Input: Clone + Debug + Send + Sync;
    /// What one party sends for one slot: its evaluation share.
    type Partial: Clone + Debug + Eq + BorshSerialize + BorshDeserialize + Send + Sync;
    /// The function's value: the same from every quorum of every path.
    type Output: Clone + Debug + Eq + Send + Sync;
    /// The proof of an output, for a party that did not collect the partials.
    type Proof: Clone + Debug + Eq + Send + Sync;
    /// The form in which an output is sent to a party that did not collect the partials: the output itself,
    /// or data from which it follows.
    type OutputMessage: Clone + Debug + Eq + BorshSerialize + BorshDeserialize + Send + Sync;
    /// The keys that make a party count after the start; [`NoLateKeys`] if all parties count from the start.
    type LateKeys: LateKeys<Self>;
    /// What the function needs of a slot's value beside its hash; [`NoContents`] if nothing.
    type Contents: Contents<Self>;
    /// What is computed before all partials have arrived; [`NoForesight`] if nothing.
    type Foresight: Foresight<Self>;

    /// A digest of parties, threshold and keys. It differs between paths and between epochs.
    fn id(committee: &Self::Committee) -> [u8; 32];

    /// How many parties the committee has, including those that hold nothing.
    fn parties(committee: &Self::Committee) -> usize;

    /// What a party holds: a number of shares, or stake. 0 for a party that holds nothing or is not in the
    /// committee; such a party has no say.
    fn holding(committee: &Self::Committee, party: Party) -> u128;

    /// The weight that is needed for an output.
    fn threshold(committee: &Self::Committee) -> u128;

    /// Makes the input, as rule 1 says: from the slot, its context and maybe its value, never from the view.
    /// `binding` says how slots are counted. `None` if the slot cannot be evaluated, or only with its
    /// content.
    fn input(
        context: &Context,
        binding: Binding,
        slot: Slot,
        value: Option<Value>,
    ) -> Option<Self::Input>;

    /// Checks on arrival what can be checked at no cost, so that the memory for partials is bounded.
    ///
    /// # Errors
    /// If the size of the partial does not fit the party's weight.
    fn check_shape(
        committee: &Self::Committee,
        party: Party,
        partial: &Self::Partial,
    ) -> Result<(), ShapeError>;

    /// The most bytes that the party's encoded partial has. In memory a point takes twice as much.
    fn partial_bytes(committee: &Self::Committee, party: Party) -> usize;

    /// Checks partials, whatever their weight, and names those that are wrong.
    ///
    /// # Errors
    /// [`PartialsError`], but never for lack of weight.
    fn verify(
        committee: &Self::Committee,
        input: &Self::Input,
        partials: &BTreeMap<Party, Self::Partial>,
    ) -> Result<(), PartialsError>;

    /// Computes the output with its proof. The output is right whatever the partials are. If the partials do
    /// not give it, names those that are wrong. Each scheme does this in the way that is cheapest when all
    /// partials are right.
    ///
    /// # Errors
    /// [`PartialsError`]: too little weight, wrong partials, or a mistake of the driver.
    fn combine(
        committee: &Self::Committee,
        input: &Self::Input,
        partials: &BTreeMap<Party, Self::Partial>,
    ) -> Result<ProvenOutput<Self>, PartialsError>;

    /// The proof that the output is the one of these partials, which are verified and suffice. `None` if only
    /// combining them can tell. With it, a cache that has the output can answer for any quorum
    /// ([`Job::verdict`](crate::Job::verdict)).
    fn prove(
        _: &Self::Committee,
        _: &Self::Input,
        _: &BTreeMap<Party, Self::Partial>,
    ) -> Option<Self::Proof> {
        None
    }

    /// The output in the form for a party that did not collect the partials.
    fn show(output: &Self::Output, proof: &Self::Proof) -> Self::OutputMessage;

    /// The most bytes that an output takes in this form.
    fn shown_bytes(committee: &Self::Committee) -> usize;

    /// Checks an output that a peer has shown, as if the peer had made it up.
    ///
    /// # Errors
    /// If it is wrong, or depends on keys that do not count here.
    fn check_shown(
        committee: &Self::Committee,
        input: &Self::Input,
        shown: &Self::OutputMessage,
    ) -> Result<ProvenOutput<Self>, OutputError>;

    /// Checks that the committee's key is for outputs of this binding.
    ///
    /// # Errors
    /// [`ConfigError::Purpose`], if the key is for other outputs.
    fn check_binding(
        committee: &Self::Committee,
        path: Path,
        binding: Binding,
    ) -> Result<(), ConfigError>;

    /// Checks that users of this epoch's committee can also verify the outputs of the next one. If users
    /// learn the keys of each epoch, and the epoch is in the input, every next committee passes.
    ///
    /// # Errors
    /// If outputs would verify under another key although users know only one.
    fn check_handover(
        before: &Self::Committee,
        after: &Self::Committee,
    ) -> Result<(), OtherGroupKey>;

    /// Encodings of all public keys, of the group and of shares. Two keys of one secret in one group are
    /// equal.
    fn public_keys(committee: &Self::Committee) -> BTreeSet<Vec<u8>>;

    /// The weight that `party`'s partial counts now: its holding, or 0 while its key is missing.
    fn weight(committee: &Self::Committee, party: Party) -> u128 {
        if Self::LateKeys::has_key(committee, party) { Self::holding(committee, party) } else { 0 }
    }

    /// The weight that counts now, of all parties together.
    fn counted(committee: &Self::Committee) -> u128 {
        parties::<Self>(committee).map(|party| Self::weight(committee, party)).sum()
    }

    /// Adds a party's key, so that the party counts.
    ///
    /// # Errors
    /// If the key is of another committee, or the party counts already.
    fn admit(committee: &mut Self::Committee, key: LateKey<Self>) -> Result<(), KeyError> {
        Self::LateKeys::insert(committee, key)
    }
}

/// An output with its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenOutput<S: Function> {
    /// The function's value for the slot.
    pub output: S::Output,
    /// The proof of the output; empty if the output needs none.
    pub proof: S::Proof,
}

/// A party's own side of a function: its secret and its evaluation.
pub trait Scheme: Function {
    /// A party's secret on one path.
    type Secret: Debug + Send + Sync;

    /// The party's partial. The same input always gives the same partial, also after a restart. `None` if the
    /// key is for other inputs.
    fn evaluate(secret: &Self::Secret, input: &Self::Input) -> Option<Self::Partial>;

    /// Checks that the secret belongs to this party in the committee.
    ///
    /// # Errors
    /// [`ConfigError::WrongKey`], if it does not.
    fn check_secret(
        committee: &Self::Committee,
        me: Party,
        secret: &Self::Secret,
        path: Path,
        context: &Context,
    ) -> Result<(), ConfigError>;

    /// Checks that the keys of the two paths share one secret and nothing else. If this party has secrets,
    /// also checks that they have nothing in common; the party's public keys may not be known yet.
    ///
    /// # Errors
    /// If a fast partial would say something about a slow one, or if the paths would give two outputs.
    /// [`ConfigError::OnePath`] if the scheme has no use for a second path.
    fn check_paths(
        me: Party,
        slow: &Sharing<Self>,
        fast: &Sharing<Self>,
        context: &Context,
    ) -> Result<(), ConfigError>;
}

/// One path's committee and this party's secret in it.
#[derive(Debug)]
pub struct Sharing<S: Scheme> {
    /// Which party holds which shares, and the public keys known so far.
    pub committee: S::Committee,
    /// This party's secret. `None` if it holds no shares; it still collects partials and reveals outputs.
    pub secret: Option<S::Secret>,
}

impl<S: Scheme> Sharing<S> {
    /// Drops the secret of a party that holds nothing, because it cannot evaluate anything.
    pub(crate) fn used_by(self, me: Party) -> Self {
        let secret = self.secret.filter(|_| S::holding(&self.committee, me) > 0);
        Self { secret, ..self }
    }
}

/// A function whose outputs nobody can predict.
///
/// A certificate is predictable, whichever parties sign it:
/// ```compile_fail,E0599
/// use prefinal_beacon::{MultiSig, Reveal};
/// fn draw(reveal: &Reveal<MultiSig>) -> [u8; 32] {
///     reveal.randomness()
/// }
/// ```
pub trait Random: Function {
    /// 32 random bytes that nobody could predict.
    fn randomness(output: &Self::Output) -> [u8; 32];
}

/// The parties of a committee in order.
pub(crate) fn parties<S: Function>(
    committee: &S::Committee,
) -> impl Iterator<Item = Party> + use<S> {
    (0..u32::try_from(S::parties(committee)).unwrap_or(u32::MAX)).map(Party::new)
}

/// Checks that partials weigh enough for an output, whether they are right or wrong.
///
/// # Errors
/// [`PartialsError::BelowThreshold`], with the weight that is there and the weight that is needed.
pub fn check_weight<S: Function>(
    committee: &S::Committee,
    partials: &BTreeMap<Party, S::Partial>,
) -> Result<(), PartialsError> {
    let got = partials.keys().map(|party| S::weight(committee, *party)).sum();
    let need = S::threshold(committee);
    if got < need { Err(PartialsError::BelowThreshold { got, need }) } else { Ok(()) }
}

/// Why partials gave no output. Weights are in the unit that the scheme counts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartialsError {
    /// A mistake of the driver: the key is for other inputs. The check of the configuration excludes it.
    #[error("the committee's key is not for this input")]
    Input,
    /// A mistake of the driver: the party does not count, so its partials are not asked for.
    #[error("{party} has no key that a partial could be checked against")]
    NotCounted {
        /// The party whose key is missing.
        party: Party,
    },
    /// There is too little weight. Wait for more partials and try again. Nothing was verified.
    #[error("partials weigh {got}, threshold is {need}")]
    BelowThreshold {
        /// Weight of all partials given.
        got: u128,
        /// The weight that an output needs.
        need: u128,
    },
    /// Some partials are wrong. Only this party knows it; to convince others, show the parties' signed
    /// messages.
    #[error("{} partial(s) are not their parties' evaluations", culprits.len())]
    Faulty {
        /// Every party whose partial is wrong, and nobody else.
        culprits: BTreeSet<Party>,
    },
    /// The scheme failed in a way that the beacon does not know. Nobody is accused.
    #[error("the scheme failed in a way that the beacon does not know")]
    Other,
}

impl PartialsError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Input => "wrong-purpose",
            Self::NotCounted { .. } => "not-admitted",
            Self::BelowThreshold { .. } => "below-threshold",
            Self::Faulty { .. } => "faulty",
            Self::Other => "internal",
        }
    }
}

impl<M> From<QuorumError<M>> for PartialsError
where
    Self: From<M>,
{
    fn from(error: QuorumError<M>) -> Self {
        match error {
            QuorumError::Misuse(error) => error.into(),
            QuorumError::BelowThreshold { got, need } => {
                Self::BelowThreshold { got: got.into(), need: need.get().into() }
            }
            QuorumError::Faulty { culprits } => Self::Faulty { culprits },
            _ => Self::Other,
        }
    }
}

/// Why an output that a peer has shown is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// It depends on keys that are not known here. Nobody is at fault: keys may come late. Other peers may
    /// show the output with other keys.
    #[error("rests on keys that are not admitted here")]
    NotCounted,
    /// It is not the output of the slot.
    #[error("not the output of the slot")]
    False,
}

impl OutputError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotCounted => "not-admitted",
            Self::False => "output-mismatch",
        }
    }
}

/// A partial whose size does not fit its party's weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// The partial does not have one point for each share.
    #[error("partial of {got} points, its party's weight is {need}")]
    Points {
        /// How many points the partial has.
        got: usize,
        /// How many shares the party holds.
        need: u32,
    },
    /// The partial is for more ciphertexts than a slot may have.
    #[error("partial for {got} ciphertexts, a slot has at most {most}")]
    Ciphertexts {
        /// For how many ciphertexts the partial has shares.
        got: usize,
        /// The most ciphertexts of a slot.
        most: u32,
    },
}

impl ShapeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Points { .. } => "wrong-count",
            Self::Ciphertexts { .. } => "count-too-large",
        }
    }
}

/// Checks that a party's shares on the two paths have nothing in common. A share that is on both paths would
/// leave on prefinalize and open the slow path.
fn disjoint(me: Party, slow: &[G2Affine], fast: &[G2Affine]) -> Result<(), ConfigError> {
    let slow: BTreeSet<_> = slow.iter().map(G2Affine::to_bytes).collect();
    if fast.iter().any(|key| slow.contains(&key.to_bytes())) {
        Err(ConfigError::SharedShare { party: me })
    } else {
        Ok(())
    }
}

/// The next committee has another group key, so its outputs would verify under another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the next committee has another group key")]
pub struct OtherGroupKey;

impl OtherGroupKey {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "other-key"
    }
}
