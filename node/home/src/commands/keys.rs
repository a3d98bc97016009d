//! `prefinal keys`: a validator's keys are made once, and shown as often as needed.
use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use prefinal_crypto_core::context::ChainId;
use prefinal_crypto_core::entropy::system_seed;
use prefinal_protocol::Party;

use super::{PassphraseOptions, quoted, wrapped};
use crate::error::HomeError;
use crate::files::{self, Before, Content, FileError};
use crate::home::{Folder, read_passphrase};
use crate::identity::{Passphrase, Seed};
use crate::keys::{Candidate, PublicKeys, RegistrationHex};
use crate::names::{Address, Name};
use crate::prompt;

/// What can be done with keys.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Make a validator's keys in a home that has none
    New(NewOptions),
    /// Show a validator's public keys
    Show(ShowOptions),
}

/// What others are told beside the public keys.
#[derive(Args, Clone, Debug, Default)]
pub struct CandidateOptions {
    /// The validator's name [default: the home's]
    #[arg(long)]
    pub name: Option<Name>,
    /// Where the others will reach its links over UDP
    #[arg(long, value_name = "HOST:PORT")]
    pub links: Option<Address>,
    /// Where the others will reach its engine over TCP
    #[arg(long, value_name = "HOST:PORT")]
    pub engine: Option<Address>,
}

/// Where the keys go.
#[derive(Args, Clone, Debug)]
pub struct NewOptions {
    /// The validator's folder; it is made if it is not there
    #[arg(long, value_name = "FOLDER")]
    pub home: PathBuf,
    /// What others are told
    #[command(flatten)]
    pub candidate: CandidateOptions,
    /// How the secret is protected
    #[command(flatten)]
    pub passphrase: PassphraseOptions,
}

/// Whose keys are shown.
#[derive(Args, Clone, Debug)]
pub struct ShowOptions {
    /// The validator's folder
    #[arg(long, value_name = "FOLDER")]
    pub home: PathBuf,
    /// Show them as JSON
    #[arg(long)]
    pub json: bool,
    /// The file with the identity's passphrase [default: what config.toml names, else the terminal]
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
    /// Write the registration to this file as well, which others take into a genesis
    #[arg(long, value_name = "FILE")]
    pub registration: Option<PathBuf>,
    /// What others are told
    #[command(flatten)]
    pub candidate: CandidateOptions,
}

/// Makes or shows keys; the text is to be printed.
///
/// # Errors
/// If there are keys already, or a file cannot be read or written. The text says what to do.
pub fn run(command: &Command) -> Result<String, HomeError> {
    match command {
        Command::New(options) => new(options),
        Command::Show(options) => show(options),
    }
}

fn new(options: &NewOptions) -> Result<String, HomeError> {
    let folder = Folder::new(&options.home);
    let name = options.candidate.name(&folder)?;
    // Before a passphrase is asked for.
    refuse_second(&folder)?;
    let passphrase = options.passphrase.read(&folder)?;
    let seed = Seed::new(system_seed()?);
    files::make_folder(folder.path())?;
    let candidate = options.candidate.of(&seed, name);
    write(&folder, &seed, &candidate, passphrase.as_ref())?;
    let mut text = public(&PublicKeys::of(&seed.identity(Party::new(0))));
    // A string takes everything.
    let _: std::fmt::Result = write!(
        text,
        "\nSecret, keep a copy in a safe place: {}\nSend this file to the others: {}\n\
         Then, with the genesis that they agree on:\n  prefinal init --home {} --genesis FILE\n",
        quoted(&folder.identity()),
        quoted(&folder.registration()),
        quoted(folder.path())
    );
    Ok(text)
}

fn refuse_second(folder: &Folder) -> Result<(), HomeError> {
    let path = folder.identity();
    if files::exists(&path)? { Err(FileError::Exists { path }.into()) } else { Ok(()) }
}

/// Writes both files. The identity comes last: with it the home has keys, and never gets other ones.
pub(super) fn write(
    folder: &Folder,
    seed: &Seed,
    candidate: &Candidate,
    passphrase: Option<&Passphrase>,
) -> Result<(), HomeError> {
    refuse_second(folder)?;
    let public = candidate.to_text();
    files::write(&folder.registration(), public.as_bytes(), Content::Public, Before::Older)?;
    let path = folder.identity();
    match passphrase {
        None => {
            let text = seed.to_plain();
            files::write(&path, text.as_bytes(), Content::OwnSecret, Before::Nothing)?;
        }
        Some(passphrase) => {
            let named = |error| HomeError::Identity { path: path.clone(), error };
            let text = seed.to_encrypted(passphrase).map_err(named)?;
            files::write(&path, text.as_bytes(), Content::OwnSecret, Before::Nothing)?;
        }
    }
    Ok(())
}

fn show(options: &ShowOptions) -> Result<String, HomeError> {
    let folder = Folder::new(&options.home);
    let configured = if files::exists(&folder.config())? {
        let file = folder.read_config()?.identity.passphrase_file;
        file.map(|file| folder.path().join(file))
    } else {
        None
    };
    // What is on the command line is in relation to where the command runs, not to the home.
    let file = match &options.passphrase_file {
        Some(file) => Some(std::path::absolute(file).map_err(|error| FileError::io(file, error))?),
        None => configured,
    };
    let seed = folder.open_identity(file.as_deref())?;
    let keys = PublicKeys::of(&seed.identity(Party::new(0)));
    if let Some(out) = &options.registration {
        let candidate = options.candidate.of(&seed, options.candidate.name(&folder)?);
        let text = candidate.to_text();
        files::write(out, text.as_bytes(), Content::Public, Before::Nothing)?;
    }
    let place = place(&folder, &keys)?;
    if options.json {
        return Ok(json(&keys, place));
    }
    let mut text = public(&keys);
    if let Some((chain, party)) = place {
        wrapped(&mut text, "chain", chain.as_bytes());
        text += &match party {
            Some(party) => format!("{:<14}{}\n", "party", party.get()),
            None => format!("{:<14}none: not a member in genesis.json\n", "party"),
        };
    }
    Ok(text)
}

/// The chain of the home's genesis and the party in it, if there is a genesis.
fn place(
    folder: &Folder,
    keys: &PublicKeys,
) -> Result<Option<(ChainId, Option<Party>)>, HomeError> {
    if !files::exists(&folder.genesis())? {
        return Ok(None);
    }
    let named = |error| HomeError::genesis(&folder.genesis(), error);
    let genesis = folder.read_genesis()?;
    let setup = genesis.setup().map_err(named)?;
    let party = genesis.party(&setup, keys).map_err(named)?;
    Ok(Some((setup.context.chain, party)))
}

fn public(keys: &PublicKeys) -> String {
    let mut text = format!("{:<14}{}\n", "fingerprint", keys.fingerprint());
    wrapped(&mut text, "signer", &keys.signer.to_bytes());
    wrapped(&mut text, "certifier", &keys.certifier.to_bytes());
    wrapped(&mut text, "ed25519", &keys.ed25519);
    text
}

fn json(keys: &PublicKeys, place: Option<(ChainId, Option<Party>)>) -> String {
    let value = serde_json::json!({
        "fingerprint": keys.fingerprint().to_string(),
        "signer": hex::encode(keys.signer.to_bytes()),
        "certifier": hex::encode(keys.certifier.to_bytes()),
        "ed25519": hex::encode(keys.ed25519),
        "chain": place.map(|(chain, _)| hex::encode(chain.as_bytes())),
        "party": place.and_then(|(_, party)| party).map(Party::get),
    });
    format!("{value:#}\n")
}

impl CandidateOptions {
    /// The name: what is asked for, else the folder's.
    fn name(&self, folder: &Folder) -> Result<Name, HomeError> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        let path = std::path::absolute(folder.path()).unwrap_or_else(|_| folder.path().to_owned());
        let last = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        last.parse().map_err(|error| {
            HomeError::Options(format!("the home's name is no validator's name: --name: {error}"))
        })
    }

    /// What others are told of the validator with this seed.
    pub(super) fn of(&self, seed: &Seed, name: Name) -> Candidate {
        let registration = RegistrationHex(seed.identity(Party::new(0)).registration());
        let (links, engine) = (self.links.clone(), self.engine.clone());
        Candidate { name, links, engine, registration }
    }
}

impl PassphraseOptions {
    fn read(&self, folder: &Folder) -> Result<Option<Passphrase>, HomeError> {
        match (&self.passphrase_file, self.passphrase) {
            (Some(file), _) => read_passphrase(file).map(Some),
            (None, true) => prompt::new_passphrase(&folder.identity()).map(Some),
            (None, false) => Ok(None),
        }
    }
}
