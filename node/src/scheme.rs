//! The schemes that a committee can run, and what each needs between dealings and values.
//!
//! | scheme                  | dealt are      | before a party counts                    | a value is shown by      |
//! |-------------------------|----------------|------------------------------------------|--------------------------|
//! | [`Bls`]                 | field elements | nothing                                  | itself, a signature      |
//! | [`Wvuf`]                | group elements | its blinded keys are ordered and admitted | the partials of a quorum |
//!
//! Engine, key generation, validator, devnet and simulation are generic over [`Keyed`]; the command
//! line picks the type. Elsewhere: the functions themselves (`beacon`), the dealings (`pvss_dkg`), what
//! is done with them in which order ([`crate::keygen`]).
mod bls;
mod wvuf;

use std::sync::Arc;

use ::beacon::{Binding, Random, Reveal, Slot};
pub use ::beacon::{Bls, Wvuf};
use clap::ValueEnum;
use crypto_core::access::Party;
use crypto_core::bls::min_sig::{PublicKey, Signature};
use crypto_core::context::Context;
use pvss_dkg::Config;
pub use pvss_dkg::Paths as PerPath;
use pvss_dkg::protocol::{Collect, EpochKey};

use crate::chronicle::Chronicle;
use crate::setup::{Identity, Setup};

/// Which scheme a committee runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// Threshold BLS: values are rounds that every drand client verifies
    #[default]
    Bls,
    /// The weighted verifiable unpredictable function: one point from each party, whatever its weight
    Wvuf,
}

/// The dealings of a scheme, added up.
pub type Sum<S> = <<S as Keyed>::Collect as Collect>::Sum;
/// What everybody knows of a scheme's key.
pub type Key<S> = EpochKey<<<S as Keyed>::Collect as Collect>::Element>;

/// The dealings that count, added up, and who may evaluate under their key.
pub struct Fixed<S: Keyed> {
    /// What everybody knows of it.
    pub key: Arc<Key<S>>,
    /// The sum.
    pub sum: Arc<Sum<S>>,
    /// As they are before anybody's late key is admitted.
    pub committees: PerPath<S::Committee>,
}

/// This party's keys: the secret halves, and the transaction that publishes the others if need be.
pub struct Opened<S: Keyed> {
    /// They evaluate.
    pub keys: PerPath<S::Secret>,
    /// What makes this party count at the others.
    pub transaction: Option<Vec<u8>>,
}

/// The keys of a party that counts from now on.
#[derive(Clone, Debug)]
pub struct AdmittedKeys<S: Keyed> {
    /// Whose.
    pub party: Party,
    /// One per path.
    pub keys: PerPath<S::LateKey>,
}

/// What becomes of the transactions that publish keys, one by one.
pub type Admissions<S> = Vec<Result<Arc<AdmittedKeys<S>>, String>>;

/// A scheme with all that a committee needs to get its keys and to show its values.
pub trait Keyed: Random {
    /// Its name.
    const NAME: Name;
    /// What dealers publish, and what it adds up to.
    type Collect: Collect<Held = ()>;
    /// What a party decrypts out of the sum: its shares.
    type Shares: Send + Sync;

    /// No dealing yet.
    fn collect(config: Arc<Config>) -> Self::Collect;

    /// Who evaluates under the key.
    ///
    /// # Errors
    /// If its parts do not fit together.
    fn fix(key: &Arc<Key<Self>>, sum: &Arc<Sum<Self>>) -> Result<Fixed<Self>, String>;

    /// Whose secrets are in the sum, ascending.
    fn dealers(sum: &Sum<Self>) -> Vec<Party>;

    /// Decrypts this party's shares.
    ///
    /// # Errors
    /// If they cannot be decrypted.
    fn decrypt(
        setup: &Setup,
        identity: &Identity,
        key: &Fixed<Self>,
    ) -> Result<Self::Shares, String>;

    /// Makes this party's keys of its shares: the same at each call.
    ///
    /// # Errors
    /// If the shares are not the party's.
    fn open(
        setup: &Setup,
        identity: &Identity,
        key: &Fixed<Self>,
        shares: &Self::Shares,
    ) -> Result<Opened<Self>, String>;

    /// The exact length of the transaction that publishes keys for shares of this number; `None` if
    /// there is none.
    fn keys_bytes(shares: usize, paths: usize) -> Option<usize>;

    /// Decodes and checks published keys, in the order of the transactions.
    fn admit_all(setup: &Setup, transactions: &[Arc<[u8]>], key: &Fixed<Self>) -> Admissions<Self>;

    /// What values depend on, if the first one is of this slot.
    #[must_use]
    fn binding(_: Slot) -> Binding {
        Binding::Slot
    }

    /// The key that drand's clients verify values with, if they can.
    fn public_key(_: &Self::Committee) -> Option<PublicKey> {
        None
    }

    /// A value as these clients know it, if they can verify it.
    fn signature(_: &Self::Output) -> Option<Signature> {
        None
    }

    /// Values with what it takes to verify them.
    fn chronicle(
        context: Context,
        committees: &PerPath<Self::Committee>,
        reveals: &[&Reveal<Self>],
    ) -> Chronicle;
}
