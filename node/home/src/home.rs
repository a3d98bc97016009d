//! The home folder: where each file is, and all of them read and checked together.
use std::path::{Path, PathBuf};

use prefinal_crypto_core::context::ChainId;
use prefinal_protocol::Party;
use prefinal_validator::setup::{Identity, Setup};

use crate::config::Config;
use crate::error::HomeError;
use crate::files::{self, Content, FileError};
use crate::genesis::Genesis;
use crate::identity::{IdentityFile, Passphrase, Seed};
use crate::keys::{Candidate, PublicKeys};
use crate::lock::Lock;
use crate::names::{Address, Name};
use crate::prompt;

/// The paths of a home folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder at this path, which need not be there.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// How the process runs.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.0.join("config.toml")
    }

    /// What all validators agree on.
    #[must_use]
    pub fn genesis(&self) -> PathBuf {
        self.0.join("genesis.json")
    }

    /// The path of the file with the secret seed.
    #[must_use]
    pub fn identity(&self) -> PathBuf {
        self.0.join("identity")
    }

    /// The public keys with their proofs, for the others.
    #[must_use]
    pub fn registration(&self) -> PathBuf {
        self.0.join("registration.json")
    }

    /// Held while a process runs.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// What the process stores.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    /// The beacon's journal: what this validator has said.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.data().join("journal.redb")
    }

    /// The engine's folder, with its write-ahead log and its blocks.
    #[must_use]
    pub fn engine(&self) -> PathBuf {
        self.data().join("engine")
    }

    /// The values that clients may ask for.
    #[must_use]
    pub fn values(&self) -> PathBuf {
        self.data().join("values.redb")
    }

    /// The states that the blocks have left, if the chain executes them.
    #[must_use]
    pub fn states(&self) -> PathBuf {
        self.data().join("states.redb")
    }

    /// What this validator has signed of states, and the blocks that it has not executed yet.
    #[must_use]
    pub fn execution(&self) -> PathBuf {
        self.data().join("execution.redb")
    }

    /// Reads the configuration.
    ///
    /// # Errors
    /// With file, line and key.
    pub fn read_config(&self) -> Result<Config, HomeError> {
        let path = self.config();
        let limit = u64::try_from(Config::MAX_BYTES).unwrap_or(0);
        let text = self.present(files::read_text(&path, limit), "run `prefinal init` first")?;
        Config::parse(&text).map_err(|error| HomeError::Parse { path, error })
    }

    /// Reads the genesis. Proofs of keys are not checked yet.
    ///
    /// # Errors
    /// With file, line and key.
    pub fn read_genesis(&self) -> Result<Genesis, HomeError> {
        let genesis = read_genesis(&self.genesis());
        match genesis {
            Err(HomeError::File(error)) => self.present(Err(error), "run `prefinal init` first"),
            other => other,
        }
    }

    /// Reads the file with the public keys.
    ///
    /// # Errors
    /// With file, line and key.
    pub fn read_registration(&self) -> Result<Candidate, HomeError> {
        let what = "write it with `prefinal keys show --registration`";
        match read_candidate(&self.registration()) {
            Err(HomeError::File(error)) => self.present(Err(error), what),
            other => other,
        }
    }

    /// Opens the identity, with a passphrase if it is encrypted: from the file if one is named, else from the
    /// terminal.
    ///
    /// # Errors
    /// If the file can be read by others, is no identity, or the passphrase does not open it. The text
    /// repeats nothing of the file.
    pub fn open_identity(&self, passphrase_file: Option<&Path>) -> Result<Seed, HomeError> {
        let path = self.identity();
        let limit = u64::try_from(IdentityFile::MAX_BYTES).unwrap_or(0);
        let bytes = files::read(&path, limit, Content::OwnSecret);
        let bytes =
            self.present(bytes, "make keys with `prefinal keys new`, or restore the copy")?;
        let named = |error| HomeError::Identity { path: path.clone(), error };
        match IdentityFile::parse(&bytes).map_err(named)? {
            IdentityFile::Plain(seed) => Ok(seed),
            IdentityFile::Encrypted(sealed) => {
                let passphrase = match passphrase_file {
                    Some(file) => read_passphrase(&self.0.join(file))?,
                    None => prompt::passphrase(&path)?,
                };
                sealed.open(&passphrase).map_err(named)
            }
        }
    }

    /// Says what to do if a file is not there.
    fn present<T>(&self, read: Result<T, FileError>, next: &'static str) -> Result<T, HomeError> {
        read.map_err(|error| match error {
            FileError::Io { path, .. } if !files::exists(&path).unwrap_or(true) => {
                HomeError::Missing { path, next }
            }
            error => error.into(),
        })
    }
}

/// Reads a genesis from any path.
pub(crate) fn read_genesis(path: &Path) -> Result<Genesis, HomeError> {
    let limit = u64::try_from(Genesis::MAX_BYTES).unwrap_or(0);
    let bytes = files::read(path, limit, Content::Public)?;
    Genesis::parse(&bytes).map_err(|error| HomeError::genesis(path, error))
}

/// Reads a `registration.json` from any path.
pub(crate) fn read_candidate(path: &Path) -> Result<Candidate, HomeError> {
    let limit = u64::try_from(Candidate::MAX_BYTES).unwrap_or(0);
    let bytes = files::read(path, limit, Content::Public)?;
    Candidate::parse(&bytes).map_err(|error| HomeError::Parse { path: path.to_owned(), error })
}

/// Reads a passphrase from a file that is closed to others.
pub(crate) fn read_passphrase(path: &Path) -> Result<Passphrase, HomeError> {
    let limit = u64::try_from(Passphrase::MAX_BYTES).unwrap_or(0);
    let bytes = files::read(path, limit, Content::Secret)?;
    let named = |error| HomeError::Identity { path: path.to_owned(), error };
    Passphrase::new(&bytes).map_err(named)
}

/// A home that this process runs on: locked, read and checked.
pub struct Home {
    folder: Folder,
    config: Config,
    genesis: Genesis,
    setup: Setup,
    keys: PublicKeys,
    party: Option<Party>,
    seed: Seed,
    _lock: Lock,
}

impl Home {
    /// Locks the home and reads all of it: configuration, genesis with all proofs, identity. An encrypted
    /// identity is opened with the passphrase file of the configuration, or the terminal is asked.
    ///
    /// # Errors
    /// If another process runs on it, or a file is missing, wrong, or open to other users. The text says what
    /// to do next.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, HomeError> {
        let folder = Folder::new(path);
        let found = folder.present(files::own_folder(&folder.0), "run `prefinal keys new` first");
        found?;
        let lock = Lock::take(&folder.lock())?;
        let config = folder.read_config()?;
        let genesis = folder.read_genesis()?;
        let seed = folder.open_identity(config.identity.passphrase_file.as_deref())?;
        let keys = PublicKeys::of(&seed.identity(Party::new(0)));
        let named = |error| HomeError::genesis(&folder.genesis(), error);
        let setup = genesis.setup().map_err(named)?;
        let party = genesis.party(&setup, &keys).map_err(named)?;
        files::make_folder(&folder.data())?;
        Ok(Self { folder, config, genesis, setup, keys, party, seed, _lock: lock })
    }

    /// Where the files are.
    #[must_use]
    pub const fn folder(&self) -> &Folder {
        &self.folder
    }

    /// How the process runs.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// What all validators agree on.
    #[must_use]
    pub const fn genesis(&self) -> &Genesis {
        &self.genesis
    }

    /// The chain's first set-up, checked.
    #[must_use]
    pub const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The identifier of the chain.
    #[must_use]
    pub const fn chain(&self) -> ChainId {
        self.setup.context.chain
    }

    /// This validator's public keys.
    #[must_use]
    pub const fn keys(&self) -> &PublicKeys {
        &self.keys
    }

    /// The party that this validator is in the genesis' committee; `None` if it is not a member (yet).
    #[must_use]
    pub const fn party(&self) -> Option<Party> {
        self.party
    }

    /// This validator's secrets as the party `me`: [`party`](Self::party), or the number with which it joins
    /// later.
    #[must_use]
    pub fn identity(&self, me: Party) -> Identity {
        self.seed.identity(me)
    }

    /// Where a member's links are: what the configuration says, else the genesis.
    #[must_use]
    pub fn links_address(&self, party: Party) -> Option<&Address> {
        let member = self.genesis.member(party)?;
        Some(self.config.links.peers.get(&member.name).unwrap_or(&member.links))
    }

    /// Where a member's engine is: what the configuration says, else the genesis.
    #[must_use]
    pub fn engine_address(&self, party: Party) -> Option<&Address> {
        let member = self.genesis.member(party)?;
        Some(self.config.engine.peers.get(&member.name).unwrap_or(&member.engine))
    }

    /// Names in the configuration that no member of the genesis has: peers that joined later, or typing
    /// errors.
    #[must_use]
    pub fn unknown_peers(&self) -> Vec<&Name> {
        let names = self.config.links.peers.keys().chain(self.config.engine.peers.keys());
        let members = &self.genesis.members;
        names.filter(|name| members.iter().all(|member| member.name != **name)).collect()
    }

    /// Reads the configuration again and takes over the addresses of peers. The result says whether anything
    /// else changed, which waits for a restart.
    ///
    /// # Errors
    /// If the file is wrong now; then the old one stays in use.
    pub fn reload(&mut self) -> Result<Reload, HomeError> {
        let new = self.folder.read_config()?;
        let reload = if self.config.differs_in_peers_only(&new) {
            Reload::Complete
        } else {
            Reload::RestartNeeded
        };
        self.config.links.peers = new.links.peers;
        self.config.engine.peers = new.engine.peers;
        Ok(reload)
    }
}

/// What a new configuration takes to be in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// All of it is in use.
    Complete,
    /// The addresses of peers are in use. The rest needs a restart.
    RestartNeeded,
}

impl std::fmt::Debug for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Home")
            .field("folder", &self.folder)
            .field("chain", &self.chain())
            .field("party", &self.party)
            .finish_non_exhaustive()
    }
}
