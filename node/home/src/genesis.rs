//! The genesis: what all validators of a chain agree on before its first block.
//!
//! `genesis.json` has the members in order with stakes and public keys, the algorithm and the timing. All
//! of it, with a nonce drawn at random, goes into the [`ChainId`], so validators whose files differ anywhere
//! never take each other's messages. Spaces and the order of keys in the file do not count.
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use borsh::BorshSerialize;
use prefinal_crypto_core::context::ChainId;
use prefinal_engine::Pace;
use prefinal_protocol::Party;
use prefinal_validator::setup::{Algorithm, Plan, PlanError, Setup};
use prefinal_weighted_rounding::{Ratio, Stake};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::keys::{Candidate, PublicKeys, RegistrationHex};
use crate::names::{Address, Name};
use crate::parse::{self, ParseError};

const CHAIN: &[u8] = b"PREFINAL-V1-NODE-GENESIS";

/// The consensus engine of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EngineName {
    /// Tendermint as Malachite implements it.
    Malachite,
}

impl EngineName {
    /// The name as it stands in the genesis.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malachite => "malachite",
        }
    }
}

/// The genesis of a chain, as `genesis.json` has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Genesis {
    /// The version of the file's format: [`Genesis::VERSION`].
    pub version: u32,
    /// The chain's name, for people.
    pub name: Name,
    /// Drawn at random, so that two chains with the same members are two chains.
    #[serde(with = "hex::serde")]
    pub nonce: [u8; 32],
    /// When the chain begins; a whole second.
    #[serde(with = "text::time")]
    pub time: SystemTime,
    /// The engine that orders blocks.
    pub engine: EngineName,
    /// The algorithm that reveals values.
    #[serde(with = "text::algorithm")]
    pub algorithm: Algorithm,
    /// The part of the stake whose partials reveal a value early; with the fast algorithm only.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::ratio")]
    pub fast: Option<Ratio>,
    /// How long the engine waits in a round before it gives it up.
    #[serde(with = "text::span")]
    pub round_timeout: Duration,
    /// Time from block to block; zero for as fast as the network is.
    #[serde(with = "text::span")]
    pub block_time: Duration,
    /// What executes the blocks; without it they are ordered and have values, and leave no states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<GenesisExecution>,
    /// The first committee. A member's place is its [`Party`].
    pub members: Vec<GenesisMember>,
}

/// An executor by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ExecutorName {
    /// Payments between accounts
    Transfers,
}

impl ExecutorName {
    /// The name as it stands in the genesis.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transfers => "transfers",
        }
    }
}

/// What executes the blocks of a chain, and on which state it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenesisExecution {
    /// What executes transactions, by its name.
    pub executor: ExecutorName,
    /// The accounts that have something at the beginning, each once.
    #[serde(default)]
    pub accounts: Vec<GenesisAccount>,
}

/// An account that has something at the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenesisAccount {
    /// The Ed25519 key that signs for it.
    #[serde(with = "hex::serde")]
    pub key: [u8; 32],
    /// What it has. All accounts together have less than 2^64.
    pub balance: u64,
}

/// A member of the first committee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenesisMember {
    /// Its name, unique in the chain.
    pub name: Name,
    /// Its stake, as a decimal number. A string holds numbers that other JSON parsers round.
    #[serde(with = "text::stake")]
    pub stake: Stake,
    /// Where its links are reached, over UDP.
    pub links: Address,
    /// Where its engine is reached, over TCP.
    pub engine: Address,
    /// Its public keys with their proofs.
    pub registration: RegistrationHex,
}

/// Why a genesis is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenesisError {
    /// The text is no genesis.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The format is of another release.
    #[error("`version`: this release reads {expected}, got {got}", expected = Genesis::VERSION)]
    Version {
        /// The file's version.
        got: u32,
    },
    /// A number is out of its range.
    #[error("`{key}`: expected {expected}, got {got}")]
    Range {
        /// The key in the file.
        key: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What the file has.
        got: String,
    },
    /// Two members have something in common that must be different.
    #[error("members `{first}` and `{second}` have the same {what}: {value}")]
    Same {
        /// What they have in common.
        what: &'static str,
        /// What both have, as text.
        value: String,
        /// One of the two.
        first: Name,
        /// The other member.
        second: Name,
    },
    /// Not one stake, or more than numbers can count.
    #[error("`members`: the stakes add up to {0}")]
    Total(&'static str),
    /// A member's registration is refused.
    #[error("member {who}: {error}; ask for its registration.json again")]
    Registration {
        /// The member's name, or the two members' names.
        who: String,
        /// What is wrong.
        #[source]
        error: PlanError,
    },
    /// Stakes, algorithm and ratio do not fit together.
    #[error("no committee can be made of it: {0}")]
    Plan(#[source] PlanError),
    /// A member has one of the keys of this validator, and another one beside it.
    #[error(
        "member `{name}` has this validator's {own} key, but another {other} key: \
         do not start; ask how this genesis was made"
    )]
    MixedKeys {
        /// The member.
        name: Name,
        /// A key that is this validator's.
        own: &'static str,
        /// One that is not.
        other: &'static str,
    },
}

impl GenesisError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Parse(error) => error.code(),
            Self::Version { .. } => "wrong-version",
            Self::Range { .. } => "invalid-value",
            Self::Same { .. } => "duplicate-member",
            Self::Total(_) => "stake-total",
            Self::Registration { error, .. } | Self::Plan(error) => error.code(),
            Self::MixedKeys { .. } => "mixed-keys",
        }
    }
}

/// What the chain's identifier is a hash of.
#[derive(BorshSerialize)]
struct Canonical<'a> {
    version: u32,
    name: &'a str,
    nonce: [u8; 32],
    time: u64,
    engine: &'a str,
    algorithm: &'a str,
    fast: Option<[u128; 2]>,
    round_timeout: u64,
    block_time: u64,
    members: Vec<CanonicalMember<'a>>,
}

#[derive(BorshSerialize)]
struct CanonicalMember<'a> {
    name: &'a str,
    stake: u128,
    links: String,
    engine: String,
    registration: Vec<u8>,
}

impl Genesis {
    /// The version of the format.
    pub const VERSION: u32 = 1;
    /// The longest file that is read, in bytes.
    pub const MAX_BYTES: usize = 4 << 20;
    /// The most members that a genesis can have.
    pub const MAX_MEMBERS: usize = 1024;

    /// Reads a genesis. Proofs of keys are not checked yet; [`setup`](Self::setup) does.
    ///
    /// # Errors
    /// With line and key if the text is no genesis; if a number is out of range or two members have the same
    /// name or address.
    pub fn parse(bytes: &[u8]) -> Result<Self, GenesisError> {
        let genesis: Self = parse::json(bytes)?;
        genesis.check()?;
        Ok(genesis)
    }

    /// The text of a `genesis.json`.
    ///
    /// # Errors
    /// If [`parse`](Self::parse) would refuse it.
    pub fn to_text(&self) -> Result<String, GenesisError> {
        self.check()?;
        Ok(serde_json::to_string_pretty(self).unwrap_or_default() + "\n")
    }

    /// The chain's identifier: a hash over all that is in the genesis.
    #[must_use]
    pub fn chain(&self) -> ChainId {
        let members = self.members.iter().map(|member| CanonicalMember {
            name: member.name.as_str(),
            stake: member.stake.get(),
            links: member.links.to_string(),
            engine: member.engine.to_string(),
            registration: member.registration.to_bytes(),
        });
        let canonical = Canonical {
            version: self.version,
            name: self.name.as_str(),
            nonce: self.nonce,
            time: text::seconds(self.time).unwrap_or(u64::MAX),
            engine: self.engine.as_str(),
            algorithm: text::algorithm::name(self.algorithm),
            fast: self.fast.map(|ratio| [ratio.numerator(), ratio.denominator()]),
            round_timeout: text::millis(self.round_timeout),
            block_time: text::millis(self.block_time),
            members: members.collect(),
        };
        // A vector takes everything.
        let bytes = borsh::to_vec(&canonical).unwrap_or_default();
        // Nothing is left between: the encoding above says where it ends.
        let execution = self.execution.as_ref().map(|execution| {
            let GenesisExecution { executor, accounts } = execution;
            borsh::to_vec(&(executor.as_str(), accounts)).unwrap_or_default()
        });
        let hash = Sha256::new().chain_update(CHAIN).chain_update(bytes);
        ChainId::new(hash.chain_update(execution.unwrap_or_default()).finalize().into())
    }

    /// The chain's first set-up. Checks all registrations, which costs seven pairings for each member.
    ///
    /// # Errors
    /// If a proof does not hold, two members have a key in common, or no committee can be made of the stakes.
    pub fn setup(&self) -> Result<Setup, GenesisError> {
        self.check()?;
        let stakes = self.members.iter().map(|member| member.stake).collect();
        let fast = self.fast.unwrap_or(Ratio::FIVE_SIXTHS);
        let plan = Plan::new(stakes, self.algorithm, fast).map_err(GenesisError::Plan)?;
        let all: Vec<_> = self.members.iter().map(|one| one.registration.0.clone()).collect();
        let setup = Setup::new(self.chain(), &plan, &all).map_err(|error| self.blame(error))?;
        let pace = Pace { pause: Duration::ZERO, period: self.block_time, before: 0 };
        Ok(Setup { timeout: self.round_timeout, pace, ..setup })
    }

    /// Which party has these keys; `None` if no member has one of them. `setup` is this genesis' own.
    ///
    /// # Errors
    /// If a member has some of the keys and not all. Registrations prove each key alone, so a genesis can
    /// join a validator's signing key with someone else's Ed25519 key, who would then vote for it.
    pub fn party(&self, setup: &Setup, keys: &PublicKeys) -> Result<Option<Party>, GenesisError> {
        let members = setup.members.iter().zip(&setup.certifiers).zip(&setup.ed25519);
        let parties = (0..).map(Party::new).zip(&self.members).zip(members);
        for ((party, member), ((signer, certifier), ed25519)) in parties {
            let same = [
                ("signing", *signer.key.get() == keys.signer),
                ("certificate", *certifier.key.get() == keys.certifier),
                ("Ed25519", *ed25519 == keys.ed25519),
            ];
            let find = |wanted| same.iter().find(|(_, is_own)| *is_own == wanted);
            match (find(true), find(false)) {
                (Some(_), None) => return Ok(Some(party)),
                (Some((own, _)), Some((other, _))) => {
                    let name = member.name.clone();
                    return Err(GenesisError::MixedKeys { name, own, other });
                }
                (None, _) => {}
            }
        }
        Ok(None)
    }

    /// The member that published this file; `None` if there is none.
    #[must_use]
    pub fn member_of(&self, candidate: &Candidate) -> Option<&GenesisMember> {
        self.members.iter().find(|member| member.registration == candidate.registration)
    }

    /// The member with this number.
    #[must_use]
    pub fn member(&self, party: Party) -> Option<&GenesisMember> {
        self.members.get(usize::try_from(party.get()).ok()?)
    }

    fn check(&self) -> Result<(), GenesisError> {
        if self.version != Self::VERSION {
            return Err(GenesisError::Version { got: self.version });
        }
        let range = |is_good: bool, key, expected, got: String| {
            if is_good { Ok(()) } else { Err(GenesisError::Range { key, expected, got }) }
        };
        let count = self.members.len();
        range((4..=Self::MAX_MEMBERS).contains(&count), "members", "4 to 1024", count.to_string())?;
        let spans = [
            ("round_timeout", self.round_timeout, 10, "10ms to 10m"),
            ("block_time", self.block_time, 0, "0s to 10m"),
        ];
        for (key, span, least, expected) in spans {
            let is_good = (least..=600_000).contains(&text::millis(span));
            let is_whole = span.subsec_nanos().is_multiple_of(1_000_000);
            let got = humantime::format_duration(span).to_string();
            range(is_good && is_whole, key, expected, got)?;
        }
        let time = text::seconds(self.time);
        range(time.is_some(), "time", "a whole second since 1970", format!("{:?}", self.time))?;
        let is_fast = self.algorithm == Algorithm::Fast;
        let fast = self.fast.map_or_else(|| "nothing".to_owned(), |ratio| ratio.to_string());
        let expected =
            if is_fast { "a ratio, such as 5/6" } else { "nothing: not this algorithm's" };
        range(self.fast.is_some() == is_fast, "fast", expected, fast)?;
        self.check_accounts()?;
        self.distinct("name", |member| member.name.to_string())?;
        self.distinct("links address", |member| member.links.to_string())?;
        self.distinct("engine address", |member| member.engine.to_string())?;
        let mut stakes = self.members.iter().map(|member| member.stake.get());
        match stakes.try_fold(0_u128, u128::checked_add) {
            Some(0) => Err(GenesisError::Total("0")),
            Some(_) => Ok(()),
            None => Err(GenesisError::Total("2^128 or more")),
        }
    }

    fn check_accounts(&self) -> Result<(), GenesisError> {
        let accounts = self.execution.iter().flat_map(|execution| &execution.accounts);
        let (mut keys, mut total) = (BTreeSet::new(), 0_u64);
        for account in accounts {
            let (key, expected) = ("execution.accounts", "each account once");
            if !keys.insert(account.key) {
                return Err(GenesisError::Range { key, expected, got: hex::encode(account.key) });
            }
            let expected = "less than 2^64 in all accounts together";
            let got = account.balance.to_string();
            let sum = total.checked_add(account.balance);
            total = sum.ok_or(GenesisError::Range { key, expected, got })?;
        }
        Ok(())
    }

    fn distinct(
        &self,
        what: &'static str,
        text: impl Fn(&GenesisMember) -> String,
    ) -> Result<(), GenesisError> {
        let mut owners = BTreeMap::new();
        for member in &self.members {
            let (value, second) = (text(member), member.name.clone());
            if let Some(first) = owners.insert(value.clone(), second.clone()) {
                return Err(GenesisError::Same { what, value, first, second });
            }
        }
        Ok(())
    }

    /// Names the members that an error gives as numbers.
    fn blame(&self, error: PlanError) -> GenesisError {
        let parties = match &error {
            PlanError::SameKey { first, second, .. } => vec![*first, *second],
            PlanError::Encryption { party, .. } | PlanError::Signing { party, .. } => vec![*party],
            _ => return GenesisError::Plan(error),
        };
        let names = parties.iter().filter_map(|party| self.member(*party));
        let names: Vec<_> = names.map(|member| format!("`{}`", member.name)).collect();
        GenesisError::Registration { who: names.join(" and "), error }
    }
}
