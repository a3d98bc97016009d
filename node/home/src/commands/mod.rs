//! The commands that make homes: options as the command line has them, and functions that return what to print.
pub mod genesis;
pub mod init;
pub mod keys;
pub mod testnet;

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use prefinal_crypto_core::entropy::system_seed;
use prefinal_validator::setup::Algorithm;
use prefinal_weighted_rounding::Ratio;

use crate::error::HomeError;
use crate::genesis::{
    EngineName, ExecutorName, Genesis, GenesisAccount, GenesisExecution, GenesisMember,
};
use crate::names::Name;

/// What the members of a new chain agree on besides their keys.
#[derive(Args, Clone, Debug)]
pub struct ChainOptions {
    /// The algorithm that reveals values
    #[arg(long, value_enum, default_value = "fast")]
    pub algorithm: AlgorithmName,
    /// The part of the stake whose partials reveal a value early [with fast only; default: 5/6]
    #[arg(long, value_name = "RATIO")]
    pub fast: Option<Ratio>,
    /// Time from block to block, such as 500ms; 0s for as fast as the network is
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration)]
    pub pace: Duration,
    /// How long the engine waits in a round before it gives it up
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = humantime::parse_duration)]
    pub round_timeout: Duration,
    /// Execute the blocks, certify the states that they leave and serve them to those who follow
    #[arg(long, value_enum, value_name = "WHAT")]
    pub execute: Option<ExecutorName>,
    /// An account that has something at the beginning: its Ed25519 key in hex, and how much. More than one may be given
    #[arg(long, value_name = "KEY=BALANCE", value_parser = account, requires = "execute")]
    pub account: Vec<GenesisAccount>,
}

/// The algorithm that reveals values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AlgorithmName {
    /// Partials go out when a slot is final
    Slow,
    /// Partials of a second sharing go out with the vote that makes the slot final
    Fast,
    /// One sharing, no extra delay; every party counts as one unit of stake
    Tight,
}

impl From<AlgorithmName> for Algorithm {
    fn from(name: AlgorithmName) -> Self {
        match name {
            AlgorithmName::Slow => Self::Slow,
            AlgorithmName::Fast => Self::Fast,
            AlgorithmName::Tight => Self::Tight,
        }
    }
}

impl ChainOptions {
    /// The genesis of a new chain, which begins in this second.
    fn genesis(&self, name: Name, members: Vec<GenesisMember>) -> Result<Genesis, HomeError> {
        let is_fast = self.algorithm == AlgorithmName::Fast;
        if self.fast.is_some() && !is_fast {
            let what = "--fast: only --algorithm fast has a ratio".to_owned();
            return Err(HomeError::Options(what));
        }
        let accounts = self.account.clone();
        let execution = self.execute.map(|executor| GenesisExecution { executor, accounts });
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(Genesis {
            version: Genesis::VERSION,
            name,
            nonce: *system_seed()?.expose(),
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(now.as_secs()),
            engine: EngineName::Malachite,
            algorithm: self.algorithm.into(),
            fast: is_fast.then(|| self.fast.unwrap_or(Ratio::FIVE_SIXTHS)),
            round_timeout: self.round_timeout,
            block_time: self.pace,
            execution,
            members,
        })
    }
}

/// `NAME=VALUE`, as options for single validators have it.
#[derive(Clone, Debug)]
pub struct NamedValue<T> {
    name: Name,
    value: T,
}

impl<T> NamedValue<T> {
    fn parse(text: &str, value: impl Fn(&str) -> Result<T, String>) -> Result<Self, String> {
        let (name, rest) = text.split_once('=').ok_or("expected NAME=VALUE")?;
        let name = name.parse::<Name>().map_err(|error| error.to_string())?;
        Ok(Self { name, value: value(rest)? })
    }
}

fn account(text: &str) -> Result<GenesisAccount, String> {
    let (key, balance) = text.split_once('=').ok_or("expected KEY=BALANCE")?;
    let mut bytes = [0; 32];
    hex::decode_to_slice(key, &mut bytes).map_err(|_| "expected a key of 64 hexadecimal digits")?;
    let balance = balance.parse().map_err(|error| format!("balance {balance}: {error}"))?;
    Ok(GenesisAccount { key: bytes, balance })
}

fn stake(text: &str) -> Result<u128, String> {
    crate::stakes::number(text).ok_or_else(|| "expected a whole number".to_owned())
}

/// Hex digits behind a label, in lines of 64.
fn wrapped(text: &mut String, label: &str, bytes: &[u8]) {
    for (line, digits) in bytes.chunks(32).map(hex::encode).enumerate() {
        let label = if line == 0 { label } else { "" };
        // A string takes everything.
        let _: std::fmt::Result = writeln!(text, "{label:<14}{digits}");
    }
}

/// A path as one word of a shell's line.
fn quoted(path: &std::path::Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// How a passphrase for a new identity is given.
#[derive(Args, Clone, Debug, Default)]
pub struct PassphraseOptions {
    /// Encrypt the identity with the passphrase in this file, which others may not read
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
    /// Encrypt the identity with a passphrase that is asked for twice
    #[arg(long, conflicts_with = "passphrase_file")]
    pub passphrase: bool,
}
