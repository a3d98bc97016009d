//! The engines that programs know, by name, and the keys that each signs with.
//!
//! To add an engine, add its crate, a [`Name`], an implementation of [`NamedEngine`], and a line in
//! [`engine_type!`](crate::engine_type).
use std::fmt;

use ::prefinal_jolteon::Jolteon;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::verified::Verified;
use prefinal_dispel::Dispel;
use prefinal_engine::{Launch, Member, PastVotes};
use prefinal_malachite::Malachite;
use prefinal_trantor::Trantor;

use prefinal_validator::StartError;
use prefinal_validator::setup::{Identity, Setup};

/// The engine that a committee runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// Jolteon with order votes, the reference engine
    #[default]
    Jolteon,
    /// Malachite, the Tendermint of circlefin/malachite
    Malachite,
    /// Trantor, several leaders at once
    Trantor,
    /// DISPEL, no leader: everybody's batches are in each block
    Dispel,
}

impl Name {
    /// Every engine that programs can name.
    pub const ALL: &'static [Self] = &[Self::Jolteon, Self::Malachite, Self::Trantor, Self::Dispel];

    /// The name that a user types.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Jolteon => "jolteon",
            Self::Malachite => "malachite",
            Self::Trantor => "trantor",
            Self::Dispel => "dispel",
        }
    }

    /// A description in one line.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Jolteon => "Jolteon with order votes, the reference engine",
            Self::Malachite => "Malachite, the Tendermint of circlefin/malachite",
            Self::Trantor => "Trantor, several leaders at once",
            Self::Dispel => "DISPEL, no leader: everybody's batches are in each block",
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An engine whose keys can be taken from a set-up and an identity.
pub trait NamedEngine: Launch {
    /// Whether its slots take only milliseconds on one machine and wait for no job. Without a pace,
    /// such an engine outruns the parties that still open their shares, and later the jobs that compute
    /// values.
    const OUTRUNS_JOBS: bool;

    /// All members of the set-up, each with the key that this engine verifies.
    ///
    /// # Errors
    /// If a member has no such key.
    fn members(setup: &Setup) -> Result<Vec<Member<Self::PublicKey>>, StartError>;

    /// The secret key that this party signs with.
    ///
    /// # Errors
    /// If the identity has no such key.
    fn key(identity: &Identity) -> Result<Self::SecretKey, StartError>;

    /// Starts this party's engine. The engine continues where its records end.
    ///
    /// # Errors
    /// If the engine refuses its configuration or its records.
    fn begin(
        setup: &Setup,
        identity: &Identity,
        records: Vec<Self::Record>,
    ) -> Result<(Self, PastVotes), StartError> {
        let config = prefinal_engine::Config {
            context: setup.context,
            me: identity.me,
            members: Self::members(setup)?,
            timeout: setup.timeout,
            pace: setup.pace,
            max_block_bytes: setup.max_block_bytes,
        };
        let started = Self::start(config, Self::key(identity)?, records);
        started.map_err(|error| StartError::Engine(error.to_string()))
    }
}

impl NamedEngine for Jolteon {
    const OUTRUNS_JOBS: bool = false;

    fn members(setup: &Setup) -> Result<Vec<Member<Verified<min_sig::PublicKey>>>, StartError> {
        Ok(setup.members.clone())
    }

    fn key(identity: &Identity) -> Result<min_sig::SecretKey, StartError> {
        let signer = identity.signer.to_secret_bytes();
        min_sig::SecretKey::from_secret_bytes(&signer)
            .map_err(|error| StartError::Engine(error.to_string()))
    }
}

impl NamedEngine for Trantor {
    const OUTRUNS_JOBS: bool = true;

    fn members(setup: &Setup) -> Result<Vec<Member<Verified<min_sig::PublicKey>>>, StartError> {
        Ok(setup.members.clone())
    }

    fn key(identity: &Identity) -> Result<min_sig::SecretKey, StartError> {
        Jolteon::key(identity)
    }
}

/// It signs with a separate key on another curve, which each identity draws from its seed.
impl NamedEngine for Malachite {
    const OUTRUNS_JOBS: bool = true;

    fn members(setup: &Setup) -> Result<Vec<Member<prefinal_malachite::PublicKey>>, StartError> {
        let members = setup.members.iter().zip(&setup.ed25519);
        let member = |(member, key): (&Member<_>, &[u8; 32])| {
            let key = prefinal_malachite::PublicKey::from_bytes(*key);
            let key = key.map_err(|error| StartError::Engine(error.to_string()))?;
            Ok(Member { key, stake: member.stake })
        };
        members.map(member).collect()
    }

    fn key(identity: &Identity) -> Result<prefinal_malachite::SecretKey, StartError> {
        Ok(prefinal_malachite::SecretKey::from_seed(*identity.ed25519().expose()))
    }
}

/// Nothing is signed: links authenticate the members.
impl NamedEngine for Dispel {
    const OUTRUNS_JOBS: bool = true;

    fn members(setup: &Setup) -> Result<Vec<Member<()>>, StartError> {
        Ok(setup.members.iter().map(|member| Member { key: (), stake: member.stake }).collect())
    }

    fn key(_: &Identity) -> Result<(), StartError> {
        Ok(())
    }
}
