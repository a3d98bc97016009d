//! `prefinal timelock`: files that open when a round of a beacon is out.
//!
//! `tle`, drand's own command, opens what is encrypted here and the other way round. Encrypting takes the
//! beacon's key, decrypting the round's signature; both are given by hand, or fetched from a relay
//! whose URL is given: no other connection is opened. Without file names it reads stdin and writes
//! stdout. A file appears under its name only once it is complete; what went to stdout before an error
//! is to be thrown away.
//!
//! The crate `timelock` defines the file format and knows the chains;
//! `prefinal_crypto_core::timelock` encrypts.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ::prefinal_timelock::{Chain, Format, OpenError, Recipient, Refusal, RoundNumber};
use clap::{Args, Subcommand};
use serde::Deserialize;

use crate::output::{Sink, Stdout, named};
use prefinal_lab::Failure;

/// What stands for stdin and stdout.
const PIPE: &str = "-";

/// How long a relay may take.
const PATIENCE: Duration = Duration::from_secs(20);

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
    #[arg(long, value_name = "N", required_unless_present = "duration")]
    round: Option<u64>,
    /// Instead of that, how long it stays shut: 90s, 3h, `1day 12h`
    #[arg(long, value_name = "TIME", conflicts_with_all = ["round", "key"], value_parser = humantime::parse_duration)]
    duration: Option<Duration>,
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
    /// The round's signature in hex, or a file with it, or a file or URL with the round as a relay serves
    /// it; without it the command says which round it takes
    #[arg(long, value_name = "HEX|FILE|URL")]
    signature: Option<String>,
    #[command(flatten)]
    beacon: Beacon,
    #[command(flatten)]
    files: Files,
}

#[derive(Args, Debug)]
struct Beacon {
    /// What a relay serves as the beacon's `info`, as a file or where it serves it, such as
    /// `http://127.0.0.1:8787/info` [default: drand's quicknet]
    #[arg(long, value_name = "FILE|URL", conflicts_with_all = ["key", "chain", "scheme"])]
    chain_info: Option<String>,
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
    /// What to read, `-` for stdin
    #[arg(value_name = "IN", default_value = PIPE)]
    input: PathBuf,
    /// What to write, `-` for stdout
    #[arg(value_name = "OUT", default_value = PIPE)]
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
    let chain = options.beacon.chain()?;
    let round = options.round(&chain)?;
    let recipient = Recipient { chain, round };
    let format = if options.armor { Format::Text } else { Format::Binary };
    if !options.armor && options.files.output == Path::new(PIPE) && io::stdout().is_terminal() {
        return Err(Failure::bad_input(
            "bytes are not for a terminal: name a file, or use --armor",
        ));
    }
    options.files.convert(|input, output| {
        ::prefinal_timelock::encrypt(&recipient, format, input, output)
            .map_err(|error| named(options.files.input(), error))
    })
}

impl Encrypt {
    fn round(&self, chain: &Chain) -> Result<RoundNumber, Failure> {
        match (self.round, self.duration) {
            (Some(round), _) => RoundNumber::new(round)
                .ok_or_else(|| Failure::bad_input("--round 0: rounds count from 1")),
            (None, shut) => {
                let opens = now().checked_add(shut.unwrap_or_default());
                let opens =
                    opens.map(|opens| opens.as_secs() + u64::from(opens.subsec_nanos() > 0));
                let round = opens.and_then(|opens| chain.round_from(opens));
                round.ok_or_else(|| Failure::bad_input("--duration: no round is due so late"))
            }
        }
    }
}

/// Unix time.
fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

fn decrypt(options: &Decrypt) -> Result<(), Failure> {
    let chain = options.beacon.chain()?;
    let signature = options.signature.as_deref().map(read_signature).transpose()?;
    options.files.convert(|input, output| {
        ::prefinal_timelock::decrypt(&chain, signature.as_deref(), input, output).map_err(|error| {
            let said = format!("{}: {error}", options.files.input().display());
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
        if let Some(place) = &self.chain_info {
            let said = read_text(place)?;
            return Chain::from_info(&said).map_err(|error| named(Path::new(place), error));
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
    /// What fails leaves nothing, but on stdout.
    fn convert(
        &self,
        convert: impl FnOnce(Box<dyn Read>, Box<dyn Write + '_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let input: Box<dyn Read> = if self.input == Path::new(PIPE) {
            Box::new(io::stdin().lock())
        } else {
            let file = File::open(&self.input).map_err(|error| named(&self.input, error))?;
            Box::new(BufReader::new(file))
        };
        if self.output == Path::new(PIPE) {
            return convert(input, Box::new(BufWriter::new(Stdout)));
        }
        let sink = Sink::open(&self.output)?;
        convert(input, Box::new(sink.writer()))?;
        sink.keep()
    }

    /// What the input is called in messages.
    fn input(&self) -> &Path {
        if self.input == Path::new(PIPE) { Path::new("stdin") } else { &self.input }
    }
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
    let place = Path::new(given);
    let text = read_text(given)?;
    let text = text.trim();
    let digits = if text.starts_with('{') {
        let served: Served = serde_json::from_str(text).map_err(|error| named(place, error))?;
        served.signature
    } else {
        text.to_owned()
    };
    hex::decode(digits).map_err(|error| named(place, format_args!("signature: {error}")))
}

/// From a file, or from a relay.
fn read_text(place: &str) -> Result<String, Failure> {
    let path = Path::new(place);
    if place.starts_with("http://") || place.starts_with("https://") {
        return fetch(place).map_err(|error| named(path, error));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(|error| named(path, error))?;
    file.take(MAX_JSON).read_to_string(&mut text).map_err(|error| named(path, error))?;
    Ok(text)
}

fn fetch(url: &str) -> Result<String, ureq::Error> {
    let limits = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).build();
    let mut answer = ureq::Agent::new_with_config(limits).get(url).call()?;
    answer.body_mut().with_config().limit(MAX_JSON).read_to_string()
}
