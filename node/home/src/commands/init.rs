//! `prefinal init`: a home with keys gets the genesis and a configuration.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;

use super::{quoted, wrapped};
use crate::config::Config;
use crate::error::HomeError;
use crate::files::{self, Before, Content, FileError};
use crate::home::{Folder, read_genesis};
use crate::names::Address;

/// Where the process listens if neither genesis nor registration says where others reach it.
const LINKS: u16 = 7000;
const ENGINE: u16 = 7001;

/// Which home, and which chain.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The validator's folder, with keys
    #[arg(long, value_name = "FOLDER")]
    pub home: PathBuf,
    /// The chain's genesis
    #[arg(long, value_name = "FILE")]
    pub genesis: PathBuf,
    /// Serve values, status and metrics over HTTP at this address of this machine
    #[arg(long, value_name = "IP:PORT")]
    pub http: Option<SocketAddr>,
    /// The file with the identity's passphrase, for the configuration
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
}

/// Writes genesis and configuration; the text is to be printed. Nothing that is there is replaced.
///
/// # Errors
/// If there are no keys, the genesis is refused, or there is another one.
pub fn run(options: &Options) -> Result<String, HomeError> {
    let folder = Folder::new(&options.home);
    if !files::exists(&folder.identity())? {
        let next = "make keys first: prefinal keys new";
        return Err(HomeError::Missing { path: folder.identity(), next });
    }
    let candidate = folder.read_registration()?;
    let genesis = read_genesis(&options.genesis)?;
    let named = |error| HomeError::genesis(&options.genesis, error);
    let setup = genesis.setup().map_err(named)?;
    let member = genesis.member_of(&candidate);
    let links = member.map(|member| &member.links).or(candidate.links.as_ref());
    let engine = member.map(|member| &member.engine).or(candidate.engine.as_ref());
    let name = member.map_or(&candidate.name, |member| &member.name);
    let mut config = Config::new(name.clone(), listen(links, LINKS), listen(engine, ENGINE));
    config.http.listen = options.http;
    if let Some(file) = &options.passphrase_file {
        let file = std::path::absolute(file).map_err(|error| FileError::io(file, error))?;
        config.identity.passphrase_file = Some(file);
    }
    let text = genesis.to_text().map_err(named)?;
    put(&folder, &text, &config)?;
    let mut text = String::new();
    wrapped(&mut text, "chain", setup.context.chain.as_bytes());
    let who = match member {
        Some(member) => format!("`{}`, stake {}", member.name, member.stake.get()),
        None => "not a member: this home follows the chain until it joins".to_owned(),
    };
    text += &format!(
        "{:<14}{who}\n\nRead {}, then:\n  {}\n",
        "validator",
        quoted(&folder.config()),
        start(folder.path())
    );
    Ok(text)
}

/// The command that runs a home.
pub(super) fn start(home: &Path) -> String {
    format!("prefinal run --home {}", quoted(home))
}

/// The genesis first: with its configuration a home is complete, so an interrupted command can be repeated.
pub(super) fn put(folder: &Folder, genesis: &str, config: &Config) -> Result<(), HomeError> {
    let path = folder.config();
    if files::exists(&path)? {
        return Err(FileError::Exists { path }.into());
    }
    let path = folder.genesis();
    let is_same =
        files::exists(&path)? && folder.read_genesis()?.to_text().ok().as_deref() == Some(genesis);
    if !is_same {
        files::write(&path, genesis.as_bytes(), Content::Public, Before::Nothing)?;
    }
    let text = config.to_text();
    files::write(&folder.config(), text.as_bytes(), Content::Public, Before::Nothing)?;
    Ok(())
}

/// Where to listen to be reached at an address. An address of the loopback stays on this machine; otherwise
/// the machine's own address may be another one than others dial.
fn listen(address: Option<&Address>, otherwise: u16) -> SocketAddr {
    let port = address.map_or(otherwise, Address::port);
    let ip = match address.and_then(Address::ip) {
        Some(ip) if ip.is_loopback() => ip,
        Some(IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
        _ => Ipv4Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(ip, port)
}
