//! `prefinal timelock`: files that open when a round of a beacon is out.
//!
//! `tle`, drand's own command, opens what is encrypted here and the other way round. This command opens
//! no connections: encrypting takes the beacon's key, decrypting the round's signature, both given by
//! hand. A file appears under its name only once it is complete.
//!
//! Elsewhere: file format and chains (`timelock`), the encryption (`crypto_core::timelock`).

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read};
use std::path::{Path, PathBuf};

use ::timelock::{Chain, Format, OpenError, Recipient, Refusal, RoundNumber};
use clap::{Args, Subcommand};
use serde::Deserialize;

use crate::failure::Failure;

/// Larger than any info or round that a relay serves.
const MAX_JSON: u64 = 1 << 16;

/// What is to be done.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Encrypt a file so that it opens once a round is out
    Encrypt(Encrypt),
    /// Open such a file with the round's signature
    Decrypt(Decrypt),
}

/// What is encrypted, and to which round.
#[derive(Args, Debug)]
pub struct Encrypt {
    /// The round whose signature opens the file
    #[arg(long, value_name = "N")]
    round: u64,
    /// Write text instead of bytes
    #[arg(long)]
    armor: bool,
    #[command(flatten)]
    beacon: Beacon,
    #[command(flatten)]
    files: Files,
}

/// What is opened, and with what.
#[derive(Args, Debug)]
pub struct Decrypt {
    /// The round's signature in hex, or a file with it, or with the round as a relay serves it; without
    /// it the command says which round it takes
    #[arg(long, value_name = "HEX|FILE")]
    signature: Option<String>,
    #[command(flatten)]
    beacon: Beacon,
    #[command(flatten)]
    files: Files,
}

#[derive(Args, Debug)]
struct Beacon {
    /// What a relay serves as the beacon's `info`, as a file [default: drand's quicknet]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "chain", "scheme"])]
    chain_info: Option<PathBuf>,
    /// Instead of that, the beacon's public key
    #[arg(long, value_name = "HEX", requires = "chain")]
    key: Option<String>,
    /// The hash that names the chain of this key
    #[arg(long, value_name = "HEX", requires = "key")]
    chain: Option<String>,
    /// The scheme of this key [default: bls-unchained-g1-rfc9380]
    #[arg(long, value_name = "ID", requires = "key")]
    scheme: Option<String>,
}

#[derive(Args, Debug)]
struct Files {
    /// What to read
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// What to write
    #[arg(value_name = "OUT")]
    output: PathBuf,
}

/// Encrypts or decrypts.
///
/// # Errors
/// [`Failure::BadInput`] if a file, the chain or the signature cannot be read, or they are of different
/// chains; [`Failure::Disagreement`] if the signature is not the round's, or the file was altered.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Encrypt(options) => encrypt(options),
        Command::Decrypt(options) => decrypt(options),
    }
}

fn encrypt(options: &Encrypt) -> Result<(), Failure> {
    let round = RoundNumber::new(options.round)
        .ok_or_else(|| Failure::bad_input("--round 0: rounds count from 1"))?;
    let recipient = Recipient { chain: options.beacon.chain()?, round };
    let format = if options.armor { Format::Text } else { Format::Binary };
    options.files.convert(|input, output| {
        ::timelock::encrypt(&recipient, format, input, output)
            .map_err(|error| named(&options.files.input, error))
    })
}

fn decrypt(options: &Decrypt) -> Result<(), Failure> {
    let chain = options.beacon.chain()?;
    let signature = options.signature.as_deref().map(read_signature).transpose()?;
    options.files.convert(|input, output| {
        ::timelock::decrypt(&chain, signature.as_deref(), input, output).map_err(|error| {
            let said = format!("{}: {error}", options.files.input.display());
            match error {
                OpenError::Altered(_)
                | OpenError::Refused(
                    Refusal::Round { .. } | Refusal::Body(_) | Refusal::Altered,
                ) => Failure::Disagreement(said),
                OpenError::Refused(Refusal::NoSignature { .. }) => {
                    Failure::BadInput(format!("{said}; give it with --signature"))
                }
                _ => Failure::BadInput(said),
            }
        })
    })
}

impl Beacon {
    fn chain(&self) -> Result<Chain, Failure> {
        if let Some(file) = &self.chain_info {
            return Chain::from_info(&read_text(file)?).map_err(|error| named(file, error));
        }
        let scheme = self.scheme.as_deref().unwrap_or("bls-unchained-g1-rfc9380");
        let chain = match (&self.key, &self.chain) {
            (Some(key), Some(hash)) => Chain::from_key(key, scheme, hash),
            _ => Chain::quicknet(),
        };
        chain.map_err(Failure::bad_input)
    }
}

impl Files {
    /// Writes beside the output and moves it there at the end, so that what fails leaves nothing.
    fn convert(
        &self,
        convert: impl FnOnce(BufReader<File>, BufWriter<&File>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let input = File::open(&self.input).map_err(|error| named(&self.input, error))?;
        let mut name = self.output.clone().into_os_string();
        name.push(".part");
        let part = PathBuf::from(name);
        let file = File::create(&part).map_err(|error| named(&part, error))?;
        let done = convert(BufReader::new(input), BufWriter::new(&file)).and_then(|()| {
            let moved = file.sync_all().and_then(|()| fs::rename(&part, &self.output));
            moved.map_err(|error| named(&self.output, error))
        });
        if done.is_err() {
            forget(&part);
        }
        done
    }
}

/// There is a failure to report already; that the rest could not be removed either would hide it.
fn forget(part: &Path) {
    let _: io::Result<()> = fs::remove_file(part);
}

/// A round as a relay serves it.
#[derive(Deserialize)]
struct Served {
    signature: String,
}

fn read_signature(given: &str) -> Result<Vec<u8>, Failure> {
    if let Ok(bytes) = hex::decode(given) {
        return Ok(bytes);
    }
    let file = Path::new(given);
    let text = read_text(file)?;
    let text = text.trim();
    let digits = if text.starts_with('{') {
        let served: Served = serde_json::from_str(text).map_err(|error| named(file, error))?;
        served.signature
    } else {
        text.to_owned()
    };
    hex::decode(digits).map_err(|error| named(file, format_args!("signature: {error}")))
}

fn read_text(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| named(path, error))?;
    file.take(MAX_JSON).read_to_string(&mut text).map_err(|error| named(path, error))?;
    Ok(text)
}

fn named(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::bad_input(format_args!("{}: {error}", path.display()))
}
