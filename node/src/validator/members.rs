//! Who the other validators are, and where: from the genesis, the configuration, and the registrations of those who
//! joined later.
//!
//! The chain decides whose keys count. Where a member is dialled is every operator's own affair: an address in
//! `[links] peers` or `[engine] peers` goes before that of the genesis, and the registration of a validator that joins
//! later lies in the folder `peers` of the home.
use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;

use prefinal_crypto_core::access::Party;
use prefinal_home::{Address, Candidate, Home, Name, Reload};
use prefinal_net::{Peer, PeerKey};
use prefinal_validator::setup::Setup;

use crate::output::named;
use prefinal_lab::Failure;

/// The validators that this one has heard of, by their Ed25519 keys.
pub(super) struct Members(BTreeMap<[u8; 32], Entry>);

struct Entry {
    name: String,
    links: Option<Address>,
    engine: Option<Address>,
}

impl Members {
    /// Those of the genesis and those in the folder `peers`.
    ///
    /// # Errors
    /// If a registration there cannot be read.
    pub(super) fn of(home: &Home) -> Result<Self, Failure> {
        let keys = &home.setup().ed25519;
        let mut members = BTreeMap::new();
        for ((party, member), key) in (0..).map(Party::new).zip(&home.genesis().members).zip(keys) {
            let (links, engine) = (home.links_address(party), home.engine_address(party));
            let (links, engine) = (links.cloned(), engine.cloned());
            members.insert(*key, Entry { name: member.name.to_string(), links, engine });
        }
        for candidate in candidates(&home.folder().path().join("peers"))? {
            let (config, name) = (home.config(), &candidate.name);
            let configured = |peers: &BTreeMap<Name, Address>| peers.get(name).cloned();
            let links = configured(&config.links.peers).or(candidate.links);
            let engine = configured(&config.engine.peers).or(candidate.engine);
            let key = candidate.registration.0.ed25519();
            members.insert(key, Entry { name: name.to_string(), links, engine });
        }
        Ok(Self(members))
    }

    /// Reads the configuration and the folder again.
    ///
    /// # Errors
    /// If one of the files cannot be read. Nothing has changed then.
    pub(super) fn reload(&mut self, home: &mut Home) -> Result<Reload, Failure> {
        let reload = home.reload().map_err(Failure::bad_input)?;
        *self = Self::of(home)?;
        Ok(reload)
    }

    /// The names of a set-up's parties, as far as they are known.
    pub(super) fn names(&self, setup: &Setup) -> BTreeMap<Party, String> {
        let parties = (0..).map(Party::new).zip(&setup.ed25519);
        let name = |(party, key): (Party, &[u8; 32])| Some((party, self.0.get(key)?.name.clone()));
        parties.filter_map(name).collect()
    }

    /// The members of some committees, each with its key and where it is dialled. A name is looked up now.
    pub(super) async fn peers<'a>(
        &self,
        committees: impl IntoIterator<Item = &'a Setup>,
    ) -> BTreeMap<Party, Peer> {
        let mut peers = BTreeMap::new();
        for setup in committees {
            let parties = (0..).map(Party::new).zip(&setup.ed25519).zip(&setup.members);
            for ((party, key), member) in parties {
                if member.stake.get() > 0 && !peers.contains_key(&party) {
                    let address = match self.0.get(key) {
                        Some(entry) => resolve(&entry.name, entry.links.as_ref()).await,
                        None => None,
                    };
                    peers.insert(party, Peer { key: PeerKey::new(*key), address });
                }
            }
        }
        peers
    }

    /// Where the engines of all others listen.
    pub(super) async fn engines(&self, own: &[u8; 32]) -> Vec<SocketAddr> {
        let mut addresses = Vec::new();
        for (key, entry) in &self.0 {
            if key != own {
                addresses.extend(resolve(&entry.name, entry.engine.as_ref()).await);
            }
        }
        addresses
    }
}

/// The registrations in a folder, which need not exist.
fn candidates(folder: &Path) -> Result<Vec<Candidate>, Failure> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

/// Reads a `registration.json`.
///
/// # Errors
/// If it cannot be read, is too long, or is anything else.
pub(super) fn read(file: &Path) -> Result<Candidate, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(Candidate::MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let opened =
        std::fs::File::open(file).and_then(|opened| opened.take(most).read_to_end(&mut bytes));
    opened.map_err(|error| named(file, error))?;
    if bytes.len() > Candidate::MAX_BYTES {
        return Err(named(file, format_args!("more than {} bytes", Candidate::MAX_BYTES)));
    }
    Candidate::parse(&bytes).map_err(|error| named(file, error))
}

async fn resolve(name: &str, address: Option<&Address>) -> Option<SocketAddr> {
    let address = address?;
    if let Some(ip) = address.ip() {
        return Some((ip, address.port()).into());
    }
    match tokio::net::lookup_host((address.host(), address.port())).await {
        Ok(mut found) => found.next(),
        Err(why) => {
            tracing::warn!(name, %address, %why, "no address; it is looked up again with the next reload");
            None
        }
    }
}
