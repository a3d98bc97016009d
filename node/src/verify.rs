//! `prefinal verify`: checks the values in a file from public data alone.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use prefinal_lab::Failure;
use prefinal_registry::chronicle::Chronicle;

/// What is to be checked.
#[derive(Args, Debug)]
pub struct Options {
    /// A file that `prefinal devnet --out` wrote
    file: PathBuf,
    /// The key that the values must belong to, as the committee shows it: the public key, or with the
    /// weighted VUF its digest
    #[arg(long, value_name = "KEY")]
    key: Option<Key>,
}

/// A key as people copy it: hex in either case, with or without `0x` before it.
#[derive(Clone, Debug)]
struct Key(String);

impl FromStr for Key {
    type Err = hex::FromHexError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.trim();
        let digits = digits.strip_prefix("0x").or(digits.strip_prefix("0X")).unwrap_or(digits);
        hex::decode(digits).map(|bytes| Self(hex::encode(bytes)))
    }
}

/// Verifies every value of the file.
///
/// # Errors
/// If the file is not readable or malformed, is of another key, or a value does not hold.
pub fn run(options: &Options) -> Result<(), Failure> {
    let chronicle = Chronicle::read(&options.file).map_err(Failure::bad_input)?;
    let key = chronicle.key();
    let expected = options.key.as_ref().map(|Key(key)| key);
    if let Some(expected) = expected.filter(|expected| **expected != key) {
        let what = format!("values are of key {key}, expected {expected}");
        return Err(Failure::Disagreement(what));
    }
    chronicle.verify()?;
    say!("{} slots verified, key {key}", chronicle.slots());
    if expected.is_none() {
        // Anybody can make a file whose values are of some key.
        warn!("no --key: compare the file's key with the one that the committee shows");
    }
    Ok(())
}
