//! The threshold functions that a beacon can evaluate.
//!
//! | scheme       | input                                          | counts | partial            | output      | shown to others by |
//! |--------------|------------------------------------------------|--------|--------------------|-------------|--------------------|
//! | [`Bls`]      | drand's round; or chain, epoch, slot and value | shares | a point of 𝔾₁ each | a signature | itself             |
//! | [`Wvuf`]     | chain, epoch, slot, maybe the value            | shares | one point of 𝔾₂    | in 𝔾ₜ       | the partials       |
//! | [`Decryption`] | the ciphertexts of the value                 | shares | a point of 𝔾₁ each, for each ciphertext | plaintexts | what opens them |
//! | [`MultiSig`] | chain, epoch, slot and value                   | stake  | one point of 𝔾₁    | the input   | a certificate      |
//!
//! A chain may bring its own. What a scheme is made of:
//!
//! | trait           | what                                                 | written by                              |
//! |-----------------|------------------------------------------------------|-----------------------------------------|
//! | [`Function`]    | the public side: committees, partials, outputs, and how they are verified | every scheme       |
//! | [`Scheme`]      | a party's own side: its secret, and what it evaluates | every scheme                           |
//! | [`LateKeys`]    | parties that count only after the start              | the weighted VUF; others say [`NoLateKeys`] |
//! | [`Contents`]    | inputs that follow from what is in a value           | slot decryption; others say [`NoContents`] |
//! | [`Foresight`]   | work that is done before all partials are here       | BLS and the VUF; others say [`NoForesight`] |
//! | [`Random`]      | outputs that nobody can predict                      | BLS and the VUF                         |
//!
//! No check has a default: one that a scheme does not need it answers in a line, and what its types exclude
//! nobody asks. Who only verifies, as a client does, needs [`Function`] alone.
//!
//! The machine asks for nothing but what is in these traits, by static dispatch: a beacon has one scheme,
//! and a chain that wants several runs a beacon for each over one stream of events ([`crate::stack`]). What
//! counts is an integer of 128 bits in all of them: a number of shares fits, and so does stake as consensus
//! has it.
//!
//! What leaves on prefinalize must say nothing about what leaves on finalize, for the slow threshold is
//! lower: each scheme has a way to break that with two correct keys, and
//! [`check_paths`](Scheme::check_paths) refuses it.
//!
//! Elsewhere: the equations (`crypto_core::threshold`, `crypto_core::wvuf`), how shares came about
//! (`pvss_dkg`), when a partial may leave (`contract`).
mod bls;
mod content;
mod decryption;
mod foresight;
mod late;
mod multisig;
mod wvuf;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::access::Party;
use crypto_core::context::Context;
use crypto_core::curve::G2Affine;
use crypto_core::quorum::QuorumError;

use crate::config_error::ConfigError;
use contract::Binding;
use contract::Path;
use protocol::{Slot, Value};

pub use self::bls::Bls;
pub use self::content::{Contained, Content, ContentError, Contents, NoContents};
pub use self::decryption::{
    Batch, Bounds, Decrypting, Decryption, DecryptionShares, Plaintexts, Unopened, Unusable,
};
pub use self::foresight::{Ahead, Foreseen, Foresight, NoForesight};
pub use self::late::{KeyError, LateKey, LateKeys, NoLateKeys};
pub use self::multisig::{MultiSig, Statement};
pub use self::wvuf::Wvuf;

/// A function that a committee computes together, as anyone verifies it. A chain may bring its own: what a
/// beacon promises rests on every line of the implementation, and `beacon::laws` (feature `laws`) tries what
/// can be tried of it.
pub trait Function: Copy + Debug + Default + Eq + Send + Sync + 'static {
    /// The public side of one path: who holds which shares, and the keys that partials are checked
    /// against.
    type Committee: Clone + Debug + Send + Sync;
    /// What is evaluated, hashed to the curve.
    type Input: Clone + Debug + Send + Sync;
    /// One party's evaluation.
    type Partial: Clone + Debug + Eq + BorshSerialize + BorshDeserialize + Send + Sync;
    /// The function's value: the same from every quorum of every path.
    type Output: Clone + Debug + Eq + Send + Sync;
    /// What shows an output to someone who was not there, beside the output.
    type Proof: Clone + Debug + Eq + Send + Sync;
    /// How an output travels to someone who was not there: as itself, or as what it follows from.
    type Shown: Clone + Debug + Eq + BorshSerialize + BorshDeserialize + Send + Sync;
    /// What makes a party count after the start; [`NoLateKeys`] if all count from the start.
    type LateKeys: LateKeys<Self>;
    /// What of a slot's value the function needs beside its hash; [`NoContents`] if nothing.
    type Contents: Contents<Self>;
    /// What is computed before all partials are here; [`NoForesight`] if nothing.
    type Foresight: Foresight<Self>;

    /// Digest of parties, threshold and keys: differs between paths and epochs.
    fn id(committee: &Self::Committee) -> [u8; 32];

    /// How many parties there are, those that hold nothing included.
    fn parties(committee: &Self::Committee) -> usize;

    /// What a party holds: shares, or stake. A party that holds nothing, or is of no committee, has no say.
    fn holding(committee: &Self::Committee, party: Party) -> u128;

    /// Weight that an output takes.
    fn threshold(committee: &Self::Committee) -> u128;

    /// Rule 1: the slot, its context and maybe its value, never the view. `None` if a slot cannot be
    /// evaluated, or only with its content.
    /// The binding says how slots are counted.
    fn input(
        context: &Context,
        binding: Binding,
        slot: Slot,
        value: Option<Value>,
    ) -> Option<Self::Input>;

    /// Checks on arrival what costs nothing, so that what is kept is bounded.
    ///
    /// # Errors
    /// If the partial has not the size that the party's weight gives.
    fn check_shape(
        committee: &Self::Committee,
        party: Party,
        partial: &Self::Partial,
    ) -> Result<(), ShapeError>;

    /// The most bytes that the party's partial is encoded in. In memory a point takes twice as many.
    fn partial_bytes(committee: &Self::Committee, party: Party) -> usize;

    /// Checks partials, however little they weigh, and names those that are wrong.
    ///
    /// # Errors
    /// [`PartialsError`], but never for lack of weight.
    fn verify(
        committee: &Self::Committee,
        input: &Self::Input,
        partials: &BTreeMap<Party, Self::Partial>,
    ) -> Result<(), PartialsError>;

    /// The output with its proof, which is right whatever the partials are; if they do not give it, names
    /// those that are wrong. Each scheme's cheapest way when all are right.
    ///
    /// # Errors
    /// [`PartialsError`]: too little weight, wrong partials, or a mistake of the driver.
    fn combine(
        committee: &Self::Committee,
        input: &Self::Input,
        partials: &BTreeMap<Party, Self::Partial>,
    ) -> Result<Combined<Self>, PartialsError>;

    /// What shows the output to be that of these, which are verified and suffice; `None` if nothing
    /// but combining them tells. So a cache that has the output answers for any quorum
    /// ([`Job::verdict`](crate::Job::verdict)).
    fn prove(
        _: &Self::Committee,
        _: &Self::Input,
        _: &BTreeMap<Party, Self::Partial>,
    ) -> Option<Self::Proof> {
        None
    }

    /// An output for someone who was not there.
    fn show(output: &Self::Output, proof: &Self::Proof) -> Self::Shown;

    /// The most bytes that an output is shown in.
    fn shown_bytes(committee: &Self::Committee) -> usize;

    /// What was shown, checked as if the sender had made it up.
    ///
    /// # Errors
    /// If it is wrong, or rests on keys that do not count here.
    fn check_shown(
        committee: &Self::Committee,
        input: &Self::Input,
        shown: &Self::Shown,
    ) -> Result<Combined<Self>, ShownError>;

    /// Checks that the committee's key is for outputs of this kind.
    ///
    /// # Errors
    /// [`ConfigError::Purpose`]
    fn check_binding(
        committee: &Self::Committee,
        path: Path,
        binding: Binding,
    ) -> Result<(), ConfigError>;

    /// Checks that outputs of the next epoch's committee are what users of this one's expect. Where users
    /// learn the keys of each epoch, and the epoch is in the input, every committee is.
    ///
    /// # Errors
    /// If they would verify under another key where users know one only.
    fn check_handover(
        before: &Self::Committee,
        after: &Self::Committee,
    ) -> Result<(), OtherGroupKey>;

    /// Encodings of all public keys, of the group and of shares: two of one secret in one group are equal.
    fn public_keys(committee: &Self::Committee) -> BTreeSet<Vec<u8>>;

    /// Weight that a partial of `party` counts for by now: its holding, or nothing before its key is
    /// here.
    fn weight(committee: &Self::Committee, party: Party) -> u128 {
        if Self::LateKeys::has_key(committee, party) { Self::holding(committee, party) } else { 0 }
    }

    /// Weight that counts by now, all parties together.
    fn counted(committee: &Self::Committee) -> u128 {
        parties::<Self>(committee).map(|party| Self::weight(committee, party)).sum()
    }

    /// Lets a party count.
    ///
    /// # Errors
    /// If the key is of another committee, or the party counts already.
    fn admit(committee: &mut Self::Committee, key: LateKey<Self>) -> Result<(), KeyError> {
        Self::LateKeys::insert(committee, key)
    }
}

/// An output and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combined<S: Function> {
    /// The function's value for the slot.
    pub output: S::Output,
    /// The evidence beside the output; empty if the output shows itself.
    pub proof: S::Proof,
}

/// A function as one of the parties evaluates it.
pub trait Scheme: Function {
    /// A party's own side of one path.
    type Secret: Debug + Send + Sync;

    /// The party's partial: the same input gives the same one, also after a restart. `None` if the key
    /// is for other inputs.
    fn evaluate(secret: &Self::Secret, input: &Self::Input) -> Option<Self::Partial>;

    /// Checks that the secret is this party's in the committee.
    ///
    /// # Errors
    /// [`ConfigError::WrongKey`]
    fn check_secret(
        committee: &Self::Committee,
        me: Party,
        secret: &Self::Secret,
        path: Path,
        context: &Context,
    ) -> Result<(), ConfigError>;

    /// Checks that the keys of the two paths share one secret and nothing else; and that this party's own
    /// secrets, if it has them, have nothing in common, where its public keys may not be known yet.
    ///
    /// # Errors
    /// If a fast partial would say something about a slow one, or the paths would give two outputs;
    /// [`ConfigError::OnePath`] where there is nothing that a second path could be for.
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
    /// Who holds which shares, and the keys known so far.
    pub committee: S::Committee,
    /// `None` if this party holds no shares: it collects and reveals like all others.
    pub secret: Option<S::Secret>,
}

impl<S: Scheme> Sharing<S> {
    /// What a party has a use for: the secret of one that holds nothing evaluates nothing.
    pub(crate) fn used_by(self, me: Party) -> Self {
        let secret = self.secret.filter(|_| S::holding(&self.committee, me) > 0);
        Self { secret, ..self }
    }
}

/// A function whose outputs are unpredictable.
///
/// A certificate is not, whoever signs it:
/// ```compile_fail,E0599
/// use beacon::{MultiSig, Reveal};
/// fn draw(reveal: &Reveal<MultiSig>) -> [u8; 32] {
///     reveal.randomness()
/// }
/// ```
pub trait Random: Function {
    /// 32 bytes that nobody could foresee.
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
/// [`PartialsError::BelowThreshold`]
pub fn check_weight<S: Function>(
    committee: &S::Committee,
    partials: &BTreeMap<Party, S::Partial>,
) -> Result<(), PartialsError> {
    let got = partials.keys().map(|party| S::weight(committee, *party)).sum();
    let need = S::threshold(committee);
    if got < need { Err(PartialsError::BelowThreshold { got, need }) } else { Ok(()) }
}

/// Why partials gave no output, in what the scheme counts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartialsError {
    /// The driver's mistake: the key is for other inputs. A beacon's configuration excludes it.
    #[error("the committee's key is not for this input")]
    Input,
    /// The driver's mistake: partials of parties that do not count are not asked for.
    #[error("{party} has no key that a partial could be checked against")]
    NotCounted {
        /// Who.
        party: Party,
    },
    /// Wait for more and try again. Nothing was verified.
    #[error("partials weigh {got}, threshold is {need}")]
    BelowThreshold {
        /// Weight of all partials given.
        got: u128,
        /// Weight an output takes.
        need: u128,
    },
    /// Known to us alone; convincing others takes the culprits' signed messages.
    #[error("{} partial(s) are not their parties' evaluations", culprits.len())]
    Faulty {
        /// Every party whose partial is wrong, and nobody else.
        culprits: BTreeSet<Party>,
    },
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
        }
    }
}

/// Why an output that was shown is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShownError {
    /// Nobody's fault: keys come late. Others may show it otherwise.
    #[error("rests on keys that are not admitted here")]
    NotCounted,
    /// It is not the output.
    #[error("not the output of the slot")]
    False,
}

/// A partial of a size that its party's weight does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// A point for each share.
    #[error("partial of {got} points, its party's weight is {need}")]
    Points {
        /// Points there are.
        got: usize,
        /// Shares the party holds.
        need: u32,
    },
    /// Shares for more ciphertexts than a slot has.
    #[error("partial for {got} ciphertexts, a slot has at most {most}")]
    Ciphertexts {
        /// For how many there are shares.
        got: usize,
        /// The most.
        most: u32,
    },
}

/// A party's shares on the two paths must have nothing in common: one that is on both leaves on
/// prefinalize and opens on the slow path.
fn disjoint(me: Party, slow: &[G2Affine], fast: &[G2Affine]) -> Result<(), ConfigError> {
    let slow: BTreeSet<_> = slow.iter().map(G2Affine::to_bytes).collect();
    if fast.iter().any(|key| slow.contains(&key.to_bytes())) {
        Err(ConfigError::SharedShare { party: me })
    } else {
        Ok(())
    }
}

/// The next committee's outputs would verify under another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the next committee has another group key")]
pub struct OtherGroupKey;
