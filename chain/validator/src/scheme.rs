//! The schemes that a committee can run, and what each needs between dealings and values.
//!
//! | scheme   | dealt are      | the next committee gets | before a party counts                     | a value is shown by      |
//! |----------|----------------|-------------------------|-------------------------------------------|--------------------------|
//! | [`Bls`]  | field elements | the same group key      | nothing                                   | itself, a signature      |
//! | [`Wvuf`] | group elements | a fresh key             | its blinded keys are ordered and admitted | the partials of a quorum |
//!
//! Key generation and validator are generic over [`Keyed`]; [`crate::keygen`] says what is done in which order.
mod bls;
mod wvuf;

use std::sync::Arc;

use ::beacon::{Binding, LateKey, Random, Scheme, Slot};
pub use ::beacon::{Bls, Wvuf};
use crypto_core::access::Party;
use crypto_core::bls::min_sig::{PublicKey, Signature};
use pvss_dkg::Config;
pub use pvss_dkg::Paths as PerPath;
use pvss_dkg::field::HandoverError;
use pvss_dkg::protocol::{Collect, EpochKey};

use crate::setup::{Identity, Setup};

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

/// The key of the committee before, as it is handed over to the next one.
pub struct Before<S: Keyed> {
    /// What everybody knows of it.
    pub key: Arc<Fixed<S>>,
    /// This party's shares of it, which it deals on; `None` if it holds none, or if they are wiped.
    pub shares: Option<Arc<S::Shares>>,
}

impl<S: Keyed> Clone for Before<S> {
    fn clone(&self) -> Self {
        Self { key: Arc::clone(&self.key), shares: self.shares.clone() }
    }
}

/// This party's keys: the secret halves, and the transaction that publishes the others if need be.
pub struct Opened<S: Keyed> {
    /// They evaluate.
    pub keys: PerPath<S::Secret>,
    /// What makes this party count at the others.
    pub transaction: Option<Vec<u8>>,
    /// What the keys were made of, if it is dealt on to the next committee.
    pub shares: Option<Arc<S::Shares>>,
}

/// The keys of a party that counts from now on.
#[derive(Clone, Debug)]
pub struct AdmittedKeys<S: Keyed> {
    /// Whose.
    pub party: Party,
    /// One per path.
    pub keys: PerPath<LateKey<S>>,
}

/// What becomes of the transactions that publish keys, one by one.
pub type Admissions<S> = Vec<Result<Arc<AdmittedKeys<S>>, String>>;

/// A scheme with all that a committee needs to get its keys and to show its values.
pub trait Keyed: Scheme + Random {
    /// What dealers publish, and what it adds up to.
    type Collect: Collect;
    /// What a party decrypts out of the sum: its shares.
    type Shares: Send + Sync;

    /// No dealing yet; `before` is what is handed over, nothing in a chain's first epoch.
    ///
    /// # Errors
    /// If the key before cannot be handed over to the members of `config`.
    fn collect(
        config: Arc<Config>,
        before: Option<&Before<Self>>,
    ) -> Result<Self::Collect, HandoverError>;

    /// What this party must know to deal.
    fn held(before: Option<&Before<Self>>) -> <Self::Collect as Collect>::Held;

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
        shares: &Arc<Self::Shares>,
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
}
