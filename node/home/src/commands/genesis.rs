//! `prefinal genesis`: registrations of independent operators become a chain's genesis.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use prefinal_weighted_rounding::Stake;

use super::{ChainOptions, NamedValue, quoted, stake, wrapped};
use crate::error::HomeError;
use crate::files::{self, Before, Content};
use crate::genesis::{Genesis, GenesisMember};
use crate::home::read_candidate;
use crate::keys::{Candidate, PublicKeys};
use crate::names::{Address, Name};
use crate::stakes::StakeTable;

/// What the genesis is made of.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The registration.json of each member; their order is the parties' order
    #[arg(required = true, value_name = "MEMBER.json")]
    pub members: Vec<PathBuf>,
    /// The file to write; it must not be there
    #[arg(long, value_name = "FILE", default_value = "genesis.json")]
    pub out: PathBuf,
    /// The chain's name
    #[arg(long)]
    pub name: Name,
    /// A member's stake
    #[arg(long, value_name = "NAME=N", value_parser = named_stake)]
    pub stake: Vec<NamedValue<u128>>,
    /// Stakes of members: CSV with the columns name and stake
    #[arg(long, value_name = "FILE")]
    pub stakes: Option<PathBuf>,
    /// Where a member's links are, in place of what its file says
    #[arg(long, value_name = "NAME=HOST:PORT", value_parser = named_address)]
    pub links: Vec<NamedValue<Address>>,
    /// Where a member's engine is, in place of what its file says
    #[arg(long, value_name = "NAME=HOST:PORT", value_parser = named_address)]
    pub engine: Vec<NamedValue<Address>>,
    /// What the members agree on
    #[command(flatten)]
    pub chain: ChainOptions,
}

fn named_stake(text: &str) -> Result<NamedValue<u128>, String> {
    NamedValue::parse(text, stake)
}

fn named_address(text: &str) -> Result<NamedValue<Address>, String> {
    NamedValue::parse(text, |text| text.parse::<Address>().map_err(|error| error.to_string()))
}

/// Writes the genesis, after all proofs were checked; the text is to be printed.
///
/// # Errors
/// If a file cannot be read or written, a stake or an address is missing, or a proof does not hold. The text
/// says what to do.
pub fn run(options: &Options) -> Result<String, HomeError> {
    let read = options.members.iter().map(|path| read_candidate(path));
    let candidates = read.collect::<Result<Vec<_>, _>>()?;
    let names = candidates.iter().map(|one| one.name.clone()).collect();
    let mut stakes = match &options.stakes {
        Some(path) => StakeTable::read(path)?.by_name(path)?,
        None => BTreeMap::new(),
    };
    stakes.extend(only("--stake", &options.stake)?.into_iter().map(|(k, v)| (k, Stake::new(v))));
    known("stakes", &stakes, &names)?;
    let (links, engine) = (only("--links", &options.links)?, only("--engine", &options.engine)?);
    known("--links", &links, &names)?;
    known("--engine", &engine, &names)?;
    let member = |candidate: Candidate| {
        let Candidate { name, registration, .. } = candidate;
        let missing = |what, option, value| {
            HomeError::Options(format!("no {what} of `{name}`: add {option} {name}={value}"))
        };
        let stake = stakes.get(&name).copied();
        let links = links.get(&name).cloned().or(candidate.links);
        let engine = engine.get(&name).cloned().or(candidate.engine);
        Ok(GenesisMember {
            stake: stake.ok_or_else(|| missing("stake", "--stake", "N"))?,
            links: links.ok_or_else(|| missing("links address", "--links", "HOST:PORT"))?,
            engine: engine.ok_or_else(|| missing("engine address", "--engine", "HOST:PORT"))?,
            registration,
            name,
        })
    };
    let members = candidates.into_iter().map(member).collect::<Result<Vec<_>, HomeError>>()?;
    let genesis = options.chain.genesis(options.name.clone(), members)?;
    let named = |error| HomeError::genesis(&options.out, error);
    let setup = genesis.setup().map_err(named)?;
    let text = genesis.to_text().map_err(named)?;
    files::write(&options.out, text.as_bytes(), Content::Public, Before::Nothing)?;
    Ok(summary(options, &genesis, &setup))
}

fn summary(
    options: &Options,
    genesis: &Genesis,
    setup: &prefinal_validator::setup::Setup,
) -> String {
    let mut text = String::new();
    wrapped(&mut text, "chain", setup.context.chain.as_bytes());
    let keys = setup.members.iter().zip(&setup.certifiers).zip(&setup.ed25519);
    for (member, ((signer, certifier), ed25519)) in genesis.members.iter().zip(keys) {
        let (signer, certifier) = (*signer.key.get(), *certifier.key.get());
        let fingerprint = PublicKeys { signer, certifier, ed25519: *ed25519 }.fingerprint();
        // A string takes everything.
        let _: std::fmt::Result =
            writeln!(text, "{:<32}  {fingerprint}\n  stake {}", member.name, member.stake.get());
    }
    let _: std::fmt::Result = write!(
        text,
        "\nCompare the fingerprints with the operators, then send them {}.\n\
         Each runs:\n  prefinal init --home FOLDER --genesis {}\n",
        quoted(&options.out),
        quoted(&options.out)
    );
    text
}

/// The options by name, each name once.
fn only<T: Clone>(option: &str, all: &[NamedValue<T>]) -> Result<BTreeMap<Name, T>, HomeError> {
    let mut map = BTreeMap::new();
    for NamedValue { name, value } in all {
        if map.insert(name.clone(), value.clone()).is_some() {
            return Err(HomeError::Options(format!("{option}: `{name}` is there twice")));
        }
    }
    Ok(map)
}

fn known<T>(
    what: &str,
    named: &BTreeMap<Name, T>,
    names: &BTreeSet<Name>,
) -> Result<(), HomeError> {
    match named.keys().find(|name| !names.contains(*name)) {
        Some(name) => Err(HomeError::Options(format!("{what}: no member is called `{name}`"))),
        None => Ok(()),
    }
}
