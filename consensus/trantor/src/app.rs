//! The application that is replicated, and the configuration that it chooses.
//!
//! A [`Replica`](crate::Replica) calls an application in the same way at every party:
//! ```text
//! new_epoch(0)  apply  apply  …  snapshot  checkpoint  new_epoch(1)  apply  …
//! …  apply  restore  new_epoch(8)  apply  …          a replica that fell behind
//! ```
//! What [`new_epoch`](Application::new_epoch) returns takes effect `config_offset` epochs later, so every party
//! knows the committees of the next epochs long before they begin. Parties keep their places: a
//! configuration has all places of the one before, with the same keys. A party leaves with a stake of
//! zero, and then follows without a vote; a new one joins at the end of the list. Let it join without stake
//! first, and give it stake when it has the state: until then nothing can be decided that needs it. Start it
//! with [`Replica::join`](crate::Replica::join) and a configuration that it has a place in.
//!
//! After [Trantor](https://arxiv.org/abs/2308.15849), section 5.6.
use core::fmt::Debug;
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::SignatureError;
use prefinal_crypto_core::bls::min_sig::{ProofOfPossession, PublicKey};
use prefinal_protocol::Slot;
use prefinal_weighted_rounding::Stake;
use thiserror::Error;

use crate::config::{ConfigError, MAX_MEMBERS, Member, Replicas};
use crate::replica::checkpoint::Statement;

/// A deterministic state machine. Everything that it does depends on these calls alone.
pub trait Application: Debug + Send {
    /// Carries out the transactions of a height. They were not ordered before.
    fn apply(&mut self, slot: Slot, transactions: &[Arc<[u8]>]);

    /// The state, so that [`restore`](Self::restore) can read it. The bytes are the same at every party.
    fn snapshot(&self) -> Vec<u8>;

    /// Takes this state in place of its own. A quorum has certified the bytes.
    ///
    /// # Errors
    /// [`RestoreError`] if the bytes are no snapshot of this application. The state is then as before.
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), RestoreError>;

    /// Hears that the state at the beginning of an epoch is certified, for instance to keep a copy.
    fn checkpoint(&mut self, statement: &Statement, certificate: &[u8]) {
        let _ = (statement, certificate);
    }

    /// Hears that an epoch begins. Returns the configuration that takes effect `config_offset` epochs
    /// later; `None` to go on with the one before.
    fn new_epoch(&mut self, epoch: u64) -> Option<Configuration> {
        let _ = epoch;
        None
    }
}

/// Why an application does not take a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not a snapshot of this application: {0}")]
pub struct RestoreError(pub String);

impl RestoreError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "invalid-snapshot"
    }
}

/// A party's place in a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Seat {
    /// The key that the party signs with.
    pub key: PublicKey,
    /// The proof that the party has the secret key.
    pub proof: ProofOfPossession,
    /// Its stake; zero if it only follows.
    pub stake: u128,
}

/// The committee of an epoch, as an application chooses it. The position in the list is the [`Party`].
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Configuration {
    /// The places of all parties.
    pub seats: Vec<Seat>,
}

/// Why a configuration does not take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigurationError {
    /// It does not make a committee.
    #[error(transparent)]
    Committee(#[from] ConfigError),
    /// It lacks places that the one before has.
    #[error("configuration has {got} places, the one before has {need}")]
    TooFewSeats {
        /// Number of places in the configuration.
        got: usize,
        /// Number of places in the configuration before it.
        need: usize,
    },
    /// A party's place has another key than before.
    #[error("the key of {party} is not the one before")]
    OtherKey {
        /// The party whose place it is.
        party: Party,
    },
    /// The proof of possession of a key is not valid.
    #[error("{party} does not prove possession of its key: {error}")]
    Possession {
        /// The party that should own the key.
        party: Party,
        /// What is wrong with the proof.
        error: SignatureError,
    },
}

impl ConfigurationError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Committee(error) => error.code(),
            Self::TooFewSeats { .. } => "wrong-count",
            Self::OtherKey { .. } => "other-identity",
            Self::Possession { error, .. } => error.code(),
        }
    }
}

impl Configuration {
    /// The members, with their proofs of possession checked: one pairing equation for each.
    pub(crate) fn members(&self) -> Result<Vec<Member>, ConfigurationError> {
        let got = self.seats.len();
        if got > MAX_MEMBERS {
            return Err(ConfigError::Size { got }.into());
        }
        let member = |(party, seat): (Party, &Seat)| {
            let key = seat.key.verify_possession(&seat.proof);
            let key = key.map_err(|error| ConfigurationError::Possession { party, error })?;
            Ok(Member { key, stake: Stake::new(seat.stake) })
        };
        (0_u32..).map(Party::new).zip(&self.seats).map(member).collect()
    }

    /// Checks that it may follow another one.
    pub(crate) fn follows(&self, before: &Self) -> Result<(), ConfigurationError> {
        let (got, need) = (self.seats.len(), before.seats.len());
        if got < need {
            return Err(ConfigurationError::TooFewSeats { got, need });
        }
        let pairs = (0_u32..).map(Party::new).zip(self.seats.iter().zip(&before.seats));
        match pairs.into_iter().find(|(_, (seat, old))| seat.key != old.key) {
            Some((party, _)) => Err(ConfigurationError::OtherKey { party }),
            None => Ok(()),
        }
    }
}

/// A configuration and the committee that it makes.
#[derive(Clone, Debug)]
pub(crate) struct SeatedCommittee {
    pub(crate) configuration: Configuration,
    pub(crate) committee: Arc<Replicas>,
}

impl SeatedCommittee {
    pub(crate) fn new(
        context: &prefinal_crypto_core::context::Context,
        configuration: Configuration,
    ) -> Result<Self, ConfigurationError> {
        let committee = Arc::new(Replicas::new(context, configuration.members()?)?);
        Ok(Self { configuration, committee })
    }
}
