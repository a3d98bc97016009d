//! The schemes that a committee can run, and what each needs between dealings and values.
//!
//! | scheme   | what is dealt  | the next committee gets | before a party counts                     | a value is shown by      |
//! |----------|----------------|-------------------------|-------------------------------------------|--------------------------|
//! | [`Bls`]  | field elements | the same group key      | nothing                                   | itself, a signature      |
//! | [`Wvuf`] | group elements | a fresh key             | its blinded keys are ordered and admitted | the partials of a quorum |
//!
//! Key generation and validator are generic over [`KeyedScheme`]. The order of the steps is described in
//! [`crate::keygen`].
mod bls;
mod wvuf;

use std::sync::Arc;

use ::prefinal_beacon::{Binding, LateKey, Random, Scheme, Slot};
pub use ::prefinal_beacon::{Bls, Wvuf};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{PublicKey, Signature};
use prefinal_pvss_dkg::Config;
pub use prefinal_pvss_dkg::Paths as PerPath;
use prefinal_pvss_dkg::field::HandoverError;
use prefinal_pvss_dkg::protocol::{Collect, EpochKey};

use crate::setup::{Identity, Setup};

/// The sum of the dealings of a scheme.
pub type Sum<S> = <<S as KeyedScheme>::Collect as Collect>::Sum;
/// The public part of a scheme's key.
pub type Key<S> = EpochKey<<<S as KeyedScheme>::Collect as Collect>::Element>;

/// The key that the dealings make: the sum, its public part, and the committees that evaluate.
pub struct CommitteeKey<S: KeyedScheme> {
    /// The public part of the key.
    pub key: Arc<Key<S>>,
    /// The sum of the dealings that count.
    pub sum: Arc<Sum<S>>,
    /// The committees, before any late key is admitted.
    pub committees: PerPath<S::Committee>,
}

/// The key of the committee before, with this party's shares, as it is handed over to the next committee.
pub struct PreviousKey<S: KeyedScheme> {
    /// The key that is handed over.
    pub key: Arc<CommitteeKey<S>>,
    /// This party's shares of it, which it deals on. `None` if it holds none, or if they are wiped.
    pub shares: Option<Arc<S::Shares>>,
}

impl<S: KeyedScheme> Clone for PreviousKey<S> {
    fn clone(&self) -> Self {
        Self { key: Arc::clone(&self.key), shares: self.shares.clone() }
    }
}

/// This party's keys: the secret halves and, if needed, the transaction that publishes the public halves.
pub struct PartyKeys<S: KeyedScheme> {
    /// The secret keys that evaluate, for each path.
    pub keys: PerPath<S::Secret>,
    /// The transaction by which this party counts at the others, if the scheme needs one.
    pub transaction: Option<Vec<u8>>,
    /// The shares that the keys were made from, if they are dealt on to the next committee.
    pub shares: Option<Arc<S::Shares>>,
}

/// The published keys of a party. They were admitted, so the party counts from now on.
#[derive(Clone, Debug)]
pub struct AdmittedKeys<S: KeyedScheme> {
    /// The owner of the keys.
    pub party: Party,
    /// One key for each path.
    pub keys: PerPath<LateKey<S>>,
}

/// The results for transactions that publish keys, one for each.
pub type Admissions<S> = Vec<Result<Arc<AdmittedKeys<S>>, String>>;

/// A scheme with everything that a committee needs to get its keys and to show its values.
pub trait KeyedScheme: Scheme + Random {
    /// The collector of the dealings.
    type Collect: Collect;
    /// The shares that a party decrypts from the sum.
    type Shares: Send + Sync;

    /// A collector without dealings. `before` is the key that is handed over; `None` in a chain's first
    /// epoch.
    ///
    /// # Errors
    /// If the key before cannot be handed over to the members of `config`.
    fn collect(
        config: Arc<Config>,
        before: Option<&PreviousKey<Self>>,
    ) -> Result<Self::Collect, HandoverError>;

    /// The secrets that this party needs to deal.
    fn held(before: Option<&PreviousKey<Self>>) -> <Self::Collect as Collect>::DealerInput;

    /// The key with the committees that evaluate under it.
    ///
    /// # Errors
    /// If the parts of the key do not fit together.
    fn fix(key: &Arc<Key<Self>>, sum: &Arc<Sum<Self>>) -> Result<CommitteeKey<Self>, String>;

    /// The dealers whose secrets are in the sum, ascending.
    fn dealers(sum: &Sum<Self>) -> Vec<Party>;

    /// Decrypts this party's shares from the sum.
    ///
    /// # Errors
    /// If the shares cannot be decrypted.
    fn decrypt(
        setup: &Setup,
        identity: &Identity,
        key: &CommitteeKey<Self>,
    ) -> Result<Self::Shares, String>;

    /// Makes this party's keys from its shares. The result is the same at each call.
    ///
    /// # Errors
    /// If the shares are not the party's.
    fn open(
        setup: &Setup,
        identity: &Identity,
        key: &CommitteeKey<Self>,
        shares: &Arc<Self::Shares>,
    ) -> Result<PartyKeys<Self>, String>;

    /// The exact length in bytes of the transaction that publishes keys for this number of shares;
    /// `None` if the scheme has no such transaction.
    fn keys_bytes(shares: usize, paths: usize) -> Option<usize>;

    /// Decodes and checks published keys, in the order of the transactions.
    fn admit_all(
        setup: &Setup,
        transactions: &[Arc<[u8]>],
        key: &CommitteeKey<Self>,
    ) -> Admissions<Self>;

    /// What a value is bound to, if the chain's first slot with a value is the given one.
    #[must_use]
    fn binding(_: Slot) -> Binding {
        Binding::Slot
    }

    /// The key with which drand clients verify values, if they can.
    fn public_key(_: &Self::Committee) -> Option<PublicKey> {
        None
    }

    /// A value in the form that drand clients know, if they can verify it.
    fn signature(_: &Self::Output) -> Option<Signature> {
        None
    }
}
