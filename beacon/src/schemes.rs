//! The threshold functions that a beacon can evaluate.
//!
//! | scheme       | input                                          | counts | partial            | output      | shown to others by |
//! |--------------|------------------------------------------------|--------|--------------------|-------------|--------------------|
//! | [`Bls`]      | drand's round; or chain, epoch, slot and value | shares | a point of 𝔾₁ each | a signature | itself             |
//! | [`Wvuf`]     | chain, epoch, slot, maybe the value            | shares | one point of 𝔾₂    | in 𝔾ₜ       | the partials       |
//! | [`Decryption`] | the ciphertexts of the value                 | shares | a point of 𝔾₁ each, for each ciphertext | plaintexts | what opens them |
//! | [`MultiSig`] | chain, epoch, slot and value                   | stake  | one point of 𝔾₁    | the input   | a certificate      |
//!
//! The machine asks for nothing but what is in [`Scheme`], by static dispatch: a beacon has one scheme,
//! and a chain that wants several runs a beacon for each over one stream of events. What counts is an
//! integer of 128 bits in all of them: a number of shares fits, and so does stake as consensus has it.
//!
//! What leaves on prefinalize must say nothing about what leaves on finalize, for the slow threshold is
//! lower: each scheme has a way to break that with two correct keys, and
//! [`check_paths`](Scheme::check_paths) refuses it.
//!
//! Elsewhere: the equations (`crypto_core::threshold`, `crypto_core::wvuf`), how shares came about
//! (`pvss_dkg`), when a partial may leave (`contract`).
mod bls;
mod decryption;
mod multisig;
mod wvuf;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::access::Party;
use crypto_core::context::Context;
use crypto_core::curve::G2Affine;

use crate::config::ConfigError;
use crate::job::Combined;
use contract::Binding;
use contract::Path;
use protocol::{Slot, Value};

pub use self::bls::Bls;
pub use self::decryption::{
    Batch, Bounds, Decrypting, Decryption, DecryptionShares, Plaintexts, Unopened, Unusable,
};
pub use self::multisig::{MultiSig, Statement};
pub use self::wvuf::Wvuf;

/// A function that a committee computes together, as a beacon uses it. A chain may bring its own: what a
/// beacon promises rests on every line of the implementation.
pub trait Scheme: Copy + Debug + Default + Eq + Send + Sync + 'static {
    /// The public side of one path: who holds which shares, and the keys that partials are checked
    /// against.
    type Committee: Clone + Debug + Send + Sync;
    /// A party's own side of one path.
    type Secret: Debug + Send + Sync;
    /// What makes a party count after the start; uninhabited if all count from the start.
    type LateKey: Clone + Debug + Send + Sync;
    /// What of a slot's value the function needs beside its hash; uninhabited if nothing.
    type Content: Clone + Debug + Send + Sync;
    /// What is evaluated, hashed to the curve.
    type Input: Clone + Debug + Send + Sync;
    /// One party's evaluation.
    type Partial: Clone + Debug + Eq + BorshSerialize + BorshDeserialize + Send + Sync;
    /// The function's value: the same from every quorum of every path.
    type Output: Clone + Debug + Eq + Send + Sync;
    /// What shows an output to who was not there, beside the output.
    type Proof: Clone + Debug + Eq + Send + Sync;
    /// How an output travels to who was not there: as itself, or as what it follows from.
    type Shown: Clone + Debug + Eq + BorshSerialize + BorshDeserialize + Send + Sync;
    /// What depends on who takes part, but not on the slot.
    type Foreseen: Clone + Debug + Eq + Send + Sync;
    /// What is computed of a slot's output before all partials are here.
    type Ahead: Clone + Debug + Eq + Send + Sync;

    /// Whether there is anything to compute ahead.
    const FORESIGHT: bool = false;

    /// Whether nothing can be evaluated before the slot's content is here.
    const OF_CONTENT: bool = false;

    /// Digest of parties, threshold and keys: differs between paths and epochs.
    fn id(committee: &Self::Committee) -> [u8; 32];

    /// How many parties there are, those that hold nothing included.
    fn parties(committee: &Self::Committee) -> usize;

    /// What a party holds: shares, or stake. Who holds nothing, or is of no committee, has no say.
    fn holding(committee: &Self::Committee, party: Party) -> u128;

    /// Weight that a partial of `party` counts for by now: its holding, or nothing before its key is
    /// here.
    fn weight(committee: &Self::Committee, party: Party) -> u128;

    /// Weight that counts by now, all parties together.
    fn counted(committee: &Self::Committee) -> u128 {
        parties::<Self>(committee).map(|party| Self::weight(committee, party)).sum()
    }

    /// Weight that an output takes.
    fn threshold(committee: &Self::Committee) -> u128;

    /// Lets a party count.
    ///
    /// # Errors
    /// If the key is of another committee, or the party counts already.
    fn admit(committee: &mut Self::Committee, key: Self::LateKey) -> Result<(), KeyError>;

    /// Checks a late key of one path against the committee of another.
    ///
    /// # Errors
    /// If a partial of one path would be one of the other.
    fn check_late(_other: &Self::Committee, _key: &Self::LateKey) -> Result<(), KeyError> {
        Ok(())
    }

    /// Rule 1: the slot, its context and maybe its value, never the view. `None` if a slot cannot be
    /// evaluated.
    /// The binding says how slots are counted.
    fn input(
        context: &Context,
        binding: Binding,
        slot: Slot,
        value: Option<Value>,
    ) -> Option<Self::Input>;

    /// What a content gives to evaluate, and of which slot and value.
    ///
    /// # Errors
    /// If it is of another chain, epoch or committee.
    fn contained(
        committee: &Self::Committee,
        context: &Context,
        content: Self::Content,
    ) -> Result<Contained<Self>, ContentError>;

    /// The party's partial: the same input gives the same one, also after a restart. `None` if the key
    /// is for other inputs.
    fn evaluate(secret: &Self::Secret, input: &Self::Input) -> Option<Self::Partial>;

    /// Checks on arrival what costs nothing, so that what is kept is bounded.
    ///
    /// # Errors
    /// If the partial has not the size that the party's weight gives.
    fn check_shape(
        committee: &Self::Committee,
        party: Party,
        partial: &Self::Partial,
    ) -> Result<(), ShapeError>;

    /// Bytes that the party's partial is encoded in. In memory a point takes twice as many.
    fn partial_bytes(committee: &Self::Committee, party: Party) -> usize;

    /// Checks partials, however little they weigh, and names those that are wrong.
    ///
    /// # Errors
    /// [`QuorumError`], but never for lack of weight.
    fn verify(
        committee: &Self::Committee,
        input: &Self::Input,
        partials: &BTreeMap<Party, Self::Partial>,
    ) -> Result<(), QuorumError>;

    /// The output with its proof, which is right whatever the partials are; if they do not give it, names
    /// those that are wrong. Each scheme's cheapest way when all are right.
    ///
    /// # Errors
    /// [`QuorumError`]
    fn combine(
        committee: &Self::Committee,
        input: &Self::Input,
        partials: &BTreeMap<Party, Self::Partial>,
    ) -> Result<Combined<Self>, QuorumError>;

    /// Prepares for partials of exactly these parties. `None` if they do not suffice.
    fn foresee(_: &Self::Committee, _: &BTreeSet<Party>) -> Option<Self::Foreseen> {
        None
    }

    /// Nothing of the slot's output yet.
    fn begin(foreseen: &Arc<Self::Foreseen>, input: &Self::Input) -> Self::Ahead;

    /// Takes in partials of parties that were foreseen, right or wrong.
    fn add(
        ahead: &mut Self::Ahead,
        committee: &Self::Committee,
        partials: &BTreeMap<Party, Self::Partial>,
    );

    /// As [`combine`](Scheme::combine), and with the same checks, without doing again what is done.
    ///
    /// # Errors
    /// [`QuorumError`]
    fn finish(
        ahead: &Self::Ahead,
        committee: &Self::Committee,
        input: &Self::Input,
        partials: &BTreeMap<Party, Self::Partial>,
    ) -> Result<Combined<Self>, QuorumError>;

    /// What shows the output to be that of these, which are verified and suffice; `None` if nothing
    /// but combining them tells.
    fn prove(
        committee: &Self::Committee,
        input: &Self::Input,
        partials: &BTreeMap<Party, Self::Partial>,
    ) -> Option<Self::Proof>;
    /// An output for who was not there.
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

    /// Checks that the secret is this party's in the committee.
    ///
    /// # Errors
    /// [`ConfigError::WrongKey`]
    fn check_secret(
        committee: &Self::Committee,
        own: (Party, &Self::Secret),
        path: Path,
        context: &Context,
    ) -> Result<(), ConfigError>;

    /// Checks that the keys of the two paths share one secret and nothing else.
    ///
    /// # Errors
    /// If a fast partial would say something about a slow one, or the paths would give two outputs.
    fn check_paths(
        me: Party,
        slow: &Self::Committee,
        fast: &Self::Committee,
    ) -> Result<(), ConfigError>;

    /// Checks that this party's own secrets of the two paths have nothing in common, where its public
    /// keys may not be known yet.
    ///
    /// # Errors
    /// If a fast partial would be a slow one.
    fn check_secrets(
        _me: Party,
        _slow: &Self::Secret,
        _fast: &Self::Secret,
        _context: &Context,
    ) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Checks that outputs of the next epoch's committee are what users of this one's expect.
    ///
    /// # Errors
    /// If they would verify under another key where users know one only.
    fn check_handover(_: &Self::Committee, _: &Self::Committee) -> Result<(), OtherGroupKey> {
        Ok(())
    }

    /// Encodings of all public keys, of the group and of shares: two of one secret in one group are equal.
    fn public_keys(committee: &Self::Committee) -> BTreeSet<Vec<u8>>;
}

/// What a slot's content gives.
#[derive(Clone, Debug)]
pub struct Contained<S: Scheme> {
    /// Of which slot.
    pub slot: Slot,
    /// Of which value, by its hash.
    pub value: Value,
    /// What is evaluated.
    pub input: S::Input,
}

/// A scheme whose outputs are unpredictable.
///
/// A certificate is not, whoever signs it:
/// ```compile_fail,E0599
/// use beacon::{MultiSig, Reveal};
/// fn draw(reveal: &Reveal<MultiSig>) -> [u8; 32] {
///     reveal.randomness()
/// }
/// ```
pub trait Random: Scheme {
    /// 32 bytes that nobody could foresee.
    fn randomness(output: &Self::Output) -> [u8; 32];
}

/// The parties of a committee in order.
pub(crate) fn parties<S: Scheme>(committee: &S::Committee) -> impl Iterator<Item = Party> + use<S> {
    (0..u32::try_from(S::parties(committee)).unwrap_or(u32::MAX)).map(Party::new)
}

/// Why partials gave no output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuorumError {
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
    #[error("{} partial(s) fail the pairing check", culprits.len())]
    Faulty {
        /// Every party whose partial is wrong, and nobody else.
        culprits: BTreeSet<Party>,
    },
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

/// Why a content is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// The host's mistake: made for another chain, epoch or committee.
    #[error("content of {slot} is of another chain, epoch or committee")]
    Elsewhere {
        /// The slot.
        slot: Slot,
    },
    /// The slot is final with another value, or without any.
    #[error("content of {slot} is of {got}, which is not final")]
    OtherValue {
        /// The slot.
        slot: Slot,
        /// What it is final with.
        last: Option<Value>,
        /// What the content is of.
        got: Value,
    },
    /// Not kept.
    #[error("content of {slot}, kept are those up to {limit}")]
    TooFar {
        /// The slot.
        slot: Slot,
        /// The last slot of the window.
        limit: Slot,
    },
    /// Not kept: a proposer makes as many values as it likes. The final one's is, once it is final.
    #[error("{most} contents of {slot} are kept already")]
    TooMany {
        /// The slot.
        slot: Slot,
        /// The most.
        most: usize,
    },
}

/// Why a late key does not enter its committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no committee for it.
    #[error("the {path} path is not in use")]
    UnusedPath {
        /// Which path.
        path: Path,
    },
    /// It was admitted elsewhere.
    #[error("key of {party} was admitted by another committee")]
    OtherCommittee {
        /// Whose.
        party: Party,
    },
    /// The first key stands.
    #[error("{party} has a key already")]
    Duplicate {
        /// Whose.
        party: Party,
    },
    /// Its fast partials would be its slow ones.
    #[error("{party} blinds its shares of both paths with one factor")]
    SharedBlinding {
        /// Whose.
        party: Party,
    },
}
