//! `prefinal testnet`: homes of a whole committee, ready to start on one machine.
use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};

use clap::Args;
use prefinal_crypto_core::entropy::system_seed;
use prefinal_weighted_rounding::Stake;

use super::keys::CandidateOptions;
use super::{ChainOptions, init, keys, stake, wrapped};
use crate::config::Config;
use crate::error::HomeError;
use crate::files::{self, FileError};
use crate::genesis::{Genesis, GenesisMember};
use crate::home::{Folder, read_passphrase};
use crate::identity::{Passphrase, Seed};
use crate::keys::Candidate;
use crate::names::{Address, Name};
use crate::stakes::StakeTable;

/// Ports of each home: links over UDP, engine and HTTP over TCP.
const PORTS: u16 = 3;

/// How many homes, and how they differ.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The folder to make, with one home for each validator
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Number of validators [default: as many as there are stakes, else 4]
    #[arg(long, value_name = "N")]
    pub validators: Option<usize>,
    /// The chain's name
    #[arg(long, default_value = "testnet")]
    pub name: Name,
    /// A validator's stake, once for each in their order [default: 100 each]
    #[arg(long, value_name = "N", value_parser = stake)]
    pub stake: Vec<u128>,
    /// The validators' stakes: CSV with a column stake
    #[arg(long, value_name = "FILE", conflicts_with = "stake")]
    pub stakes: Option<PathBuf>,
    /// Where the validators are: an IP address of this machine
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub host: IpAddr,
    /// The first port; each home takes three. 0 takes ports that are free now
    #[arg(long, value_name = "PORT", default_value = "0")]
    pub base_port: u16,
    /// More homes with keys that are not in the genesis, to join later
    #[arg(long, value_name = "K", default_value = "0")]
    pub spare: usize,
    /// Encrypt the identities with the passphrase in this file, which others may not read
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
    /// What the members agree on
    #[command(flatten)]
    pub chain: ChainOptions,
}

/// A home before it is written.
struct Draft {
    seed: Seed,
    candidate: Candidate,
    config: Config,
    links: Address,
    engine: Address,
}

/// Makes the homes, all of them or none; the text is to be printed.
///
/// # Errors
/// If the folder is there already, ports are not to be had, or no committee can be made of the stakes.
pub fn run(options: &Options) -> Result<String, HomeError> {
    let stakes = options.stakes()?;
    let passphrase = options.passphrase_file.as_deref().map(read_passphrase).transpose()?;
    if is_taken(&options.out)? {
        return Err(FileError::Exists { path: options.out.clone() }.into());
    }
    let total = stakes.len().saturating_add(options.spare);
    if total > Genesis::MAX_MEMBERS {
        let what = format!("{total} homes, at most {} are made", Genesis::MAX_MEMBERS);
        return Err(HomeError::Options(what));
    }
    let ports = ports(options.host, options.base_port, total)?;
    let drafts: Vec<_> = (0_usize..).zip(ports).map(|(n, ports)| options.draft(n, ports)).collect();
    let drafts = drafts.into_iter().collect::<Result<Vec<_>, HomeError>>()?;
    let members = drafts.iter().zip(&stakes).map(|(draft, stake)| GenesisMember {
        name: draft.candidate.name.clone(),
        stake: *stake,
        links: draft.links.clone(),
        engine: draft.engine.clone(),
        registration: draft.candidate.registration.clone(),
    });
    let genesis = options.chain.genesis(options.name.clone(), members.collect())?;
    let named = |error| HomeError::genesis(&options.out, error);
    genesis.setup().map_err(named)?;
    write(&options.out, &genesis.to_text().map_err(named)?, &drafts, passphrase.as_ref())?;
    Ok(summary(options, &genesis, &drafts))
}

impl Options {
    fn stakes(&self) -> Result<Vec<Stake>, HomeError> {
        let given: Vec<Stake> = match &self.stakes {
            Some(path) => {
                StakeTable::read(path)?.rows.into_iter().map(|(_, stake)| stake).collect()
            }
            None => self.stake.iter().map(|stake| Stake::new(*stake)).collect(),
        };
        let wanted = self.validators.unwrap_or(if given.is_empty() { 4 } else { given.len() });
        if wanted > Genesis::MAX_MEMBERS {
            let most = Genesis::MAX_MEMBERS;
            return Err(HomeError::Options(format!("--validators: at most {most}, got {wanted}")));
        }
        if given.is_empty() {
            return Ok(vec![Stake::new(100); wanted]);
        }
        if given.len() != wanted {
            let what = format!("--validators {wanted}, but {} stakes", given.len());
            return Err(HomeError::Options(what));
        }
        Ok(given)
    }

    /// A home with new keys, at these ports.
    fn draft(&self, number: usize, ports: [u16; 3]) -> Result<Draft, HomeError> {
        let refused = |error: String| HomeError::Options(format!("--host: {error}"));
        let name: Name =
            format!("validator-{number}").parse().map_err(|error| refused(format!("{error}")))?;
        let [links, engine, http] = ports.map(|port| SocketAddr::new(self.host, port));
        let address = |at: SocketAddr| {
            Address::new(&at.ip().to_string(), at.port())
                .map_err(|error| refused(error.to_string()))
        };
        let mut config = Config::new(name.clone(), links, engine);
        config.http.listen = Some(http);
        if let Some(file) = &self.passphrase_file {
            let file = fs::canonicalize(file).map_err(|error| FileError::io(file, error))?;
            config.identity.passphrase_file = Some(file);
        }
        let seed = Seed::new(system_seed()?);
        let (links, engine) = (address(links)?, address(engine)?);
        let told = CandidateOptions {
            name: None,
            links: Some(links.clone()),
            engine: Some(engine.clone()),
        };
        let candidate = told.of(&seed, name);
        Ok(Draft { seed, candidate, config, links, engine })
    }
}

/// Whether the folder is there and not empty, or is something else.
fn is_taken(path: &Path) -> Result<bool, HomeError> {
    match fs::read_dir(path) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(files::exists(path)?),
        Err(error) if error.kind() == ErrorKind::NotADirectory => Ok(true),
        Err(error) => Err(FileError::io(path, error).into()),
    }
}

/// The ports of each home. Free ones are all open at the same time, so that no two are the same.
fn ports(host: IpAddr, base: u16, homes: usize) -> Result<Vec<[u16; 3]>, HomeError> {
    let failed = |error: std::io::Error| {
        HomeError::Options(format!("--host {host}: {error}; for another machine, set --base-port"))
    };
    if base == 0 {
        let open = |_| {
            let links = UdpSocket::bind((host, 0))?;
            Ok((links, TcpListener::bind((host, 0))?, TcpListener::bind((host, 0))?))
        };
        let open = (0..homes).map(open).collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
        let chosen = open.iter().map(|(links, engine, http)| {
            let ports = [links.local_addr()?, engine.local_addr()?, http.local_addr()?];
            Ok(ports.map(|address| address.port()))
        });
        return chosen.collect::<std::io::Result<Vec<_>>>().map_err(failed);
    }
    let first = |home: usize| {
        let first = u16::try_from(home).ok()?.checked_mul(PORTS)?.checked_add(base)?;
        Some([first, first.checked_add(1)?, first.checked_add(2)?])
    };
    let all = (0..homes).map(first).collect::<Option<Vec<_>>>();
    all.ok_or_else(|| {
        HomeError::Options(format!("--base-port {base}: {homes} homes need ports above 65535"))
    })
}

/// Writes all homes beside the place where they will be, then moves them there in one step.
fn write(
    out: &Path,
    genesis: &str,
    drafts: &[Draft],
    passphrase: Option<&Passphrase>,
) -> Result<(), HomeError> {
    let parent = files::parent(out);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".prefinal-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let staging = builder.tempdir_in(parent).map_err(|error| FileError::io(parent, error))?;
    for draft in drafts {
        let folder = Folder::new(staging.path().join(draft.candidate.name.as_str()));
        files::make_folder(folder.path())?;
        keys::write(&folder, &draft.seed, &draft.candidate, passphrase)?;
        init::put(&folder, genesis, &draft.config)?;
    }
    files::sync_folder(staging.path())?;
    fs::rename(staging.path(), out).map_err(|error| match error.kind() {
        ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            FileError::Exists { path: out.to_owned() }
        }
        _ => FileError::io(out, error),
    })?;
    // It is where it belongs; nothing is left to remove.
    drop(staging.keep());
    files::sync_folder(parent)?;
    Ok(())
}

fn summary(options: &Options, genesis: &Genesis, drafts: &[Draft]) -> String {
    let mut text = String::new();
    wrapped(&mut text, "chain", genesis.chain().as_bytes());
    for (number, draft) in drafts.iter().enumerate() {
        let stake = genesis.members.get(number).map_or_else(
            || "spare: not in the genesis".to_owned(),
            |member| format!("stake {}", member.stake.get()),
        );
        let http = draft.config.http.listen.unwrap_or((Ipv4Addr::UNSPECIFIED, 0).into());
        // A string takes everything.
        let _: std::fmt::Result = writeln!(
            text,
            "{:<14}{stake}\n{:<14}links {}, engine {}, http {http}",
            draft.candidate.name, "", draft.links, draft.engine
        );
    }
    text += "\nStart each in its own terminal:\n";
    for member in &genesis.members {
        text += &format!("  {}\n", init::start(&options.out.join(member.name.as_str())));
    }
    text
}
