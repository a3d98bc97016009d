//! The engines that the command knows, in one place: their names, and which keys each signs with.
//!
//! To add an engine is to add its crate, a [`Name`], an implementation of [`Listed`], and a line in
//! [`registry`](crate::registry).

use ::jolteon::Jolteon;
use clap::ValueEnum;
use crypto_core::bls::min_sig;
use crypto_core::verified::Verified;
pub use engine::{Block, Effect, Engine, Input, Launch, Member, Output, Past, Work};
use malachite::Malachite;

use crate::setup::{Identity, Setup};
use crate::validator::StartError;

/// Which engine a committee runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// Jolteon with order votes, the reference engine
    #[default]
    Jolteon,
    /// Malachite, the Tendermint of circlefin/malachite
    Malachite,
}

/// An engine whose keys a set-up and an identity have.
pub trait Listed: Launch {
    /// Whether its slots take milliseconds on one machine and wait for no job: unpaced they leave behind
    /// the parties that still open their shares, and then the jobs that compute values.
    const OUTRUNS_JOBS: bool;

    /// All members of the set-up, each with the key that this engine verifies.
    fn members(setup: &Setup) -> Vec<Member<Self::PublicKey>>;

    /// What this party signs with.
    ///
    /// # Errors
    /// If the identity has no such key.
    fn key(identity: &Identity) -> Result<Self::SecretKey, StartError>;

    /// An engine of this party that goes on where its records end.
    ///
    /// # Errors
    /// If the engine refuses its configuration or its records.
    fn begin(
        setup: &Setup,
        identity: &Identity,
        records: Vec<Self::Record>,
    ) -> Result<(Self, Past), StartError> {
        let config = engine::Config {
            context: setup.context,
            me: identity.me,
            members: Self::members(setup),
            timeout: setup.timeout,
            pace: setup.pace,
            max_block_bytes: setup.max_block_bytes,
        };
        let started = Self::start(config, Self::key(identity)?, records);
        started.map_err(|error| StartError::Engine(error.to_string()))
    }
}

impl Listed for Jolteon {
    const OUTRUNS_JOBS: bool = false;

    fn members(setup: &Setup) -> Vec<Member<Verified<min_sig::PublicKey>>> {
        setup.members.clone()
    }

    fn key(identity: &Identity) -> Result<min_sig::SecretKey, StartError> {
        let signer = identity.signer.to_secret_bytes();
        min_sig::SecretKey::from_secret_bytes(&signer)
            .map_err(|error| StartError::Engine(error.to_string()))
    }
}

/// It signs with a key of its own, on another curve, that each identity draws from its seed.
impl Listed for Malachite {
    const OUTRUNS_JOBS: bool = true;

    fn members(setup: &Setup) -> Vec<Member<malachite::PublicKey>> {
        let members = setup.members.iter().zip(&setup.ed25519);
        members.map(|(member, key)| Member { key: *key, stake: member.stake }).collect()
    }

    fn key(identity: &Identity) -> Result<malachite::SecretKey, StartError> {
        Ok(identity.ed25519())
    }
}

#[cfg(test)]
mod tests;
