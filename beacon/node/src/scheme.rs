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

use std::fmt::Debug;
use std::sync::Arc;

pub use ::beacon::{Bls, Wvuf};
use ::beacon::{Reveal, Scheme};
use clap::ValueEnum;
use crypto_core::access::Party;
use crypto_core::context::Context;
pub use pvss_dkg::field::Paths as PerPath;
use pvss_dkg::{Config, Dealt, Dkg, Verified};

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

/// The dealings that count, added up, and who may evaluate under their key.
pub struct Fixed<S: Keyed> {
    /// The sum.
    pub sum: S::Sum,
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
pub trait Keyed: Scheme {
    /// Its name.
    const NAME: Name;
    /// What dealers publish.
    type Dealing: Dealt + Clone + Debug + Send + Sync + 'static;
    /// Dealings, added up.
    type Sum: Debug + Send + Sync + 'static;

    /// The exact length of a dealing.
    fn dealing_bytes(config: &Config) -> usize;

    /// This party's dealing, encoded. The same one each time it is asked for.
    ///
    /// # Errors
    /// If the party is not of the committee.
    fn deal(setup: &Setup, identity: &Identity) -> Result<Vec<u8>, String>;

    /// Decodes and checks a dealing.
    ///
    /// # Errors
    /// What is wrong with it.
    fn judge(config: &Config, dealing: &[u8]) -> Result<Verified<Self::Dealing>, String>;

    /// Adds the dealings up.
    ///
    /// # Errors
    /// If they make no key.
    fn fix(dkg: &Dkg<Self::Dealing>) -> Result<Fixed<Self>, String>;

    /// Whose secrets are in the sum, ascending.
    fn dealers(sum: &Self::Sum) -> Vec<Party>;

    /// Names the sum and no other.
    fn digest(sum: &Self::Sum) -> [u8; 32];

    /// Decrypts this party's shares and makes its keys of them.
    ///
    /// # Errors
    /// If they cannot be decrypted.
    fn open(setup: &Setup, identity: &Identity, key: &Fixed<Self>) -> Result<Opened<Self>, String>;

    /// The exact length of the transaction that publishes keys for shares of this number; `None` if
    /// there is none.
    fn keys_bytes(shares: usize, paths: usize) -> Option<usize>;

    /// Decodes and checks published keys, in the order of the transactions.
    fn admit_all(setup: &Setup, transactions: &[Arc<[u8]>], key: &Fixed<Self>) -> Admissions<Self>;

    /// Values with what it takes to verify them.
    fn chronicle(
        context: Context,
        committees: &PerPath<Self::Committee>,
        reveals: &[&Reveal<Self>],
    ) -> Chronicle;
}
