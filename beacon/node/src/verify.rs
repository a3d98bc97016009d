//! `prefinal verify`: checks the values in a file from public data alone.

use std::path::PathBuf;

use clap::Args;

use crate::chronicle::Chronicle;
use crate::failure::Failure;

/// What is to be checked.
#[derive(Args, Debug)]
pub struct Options {
    /// A file that `prefinal devnet --out` wrote
    file: PathBuf,
    /// The key that the values must belong to, as the committee shows it: the public key, or with the
    /// weighted VUF its digest
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

/// Verifies every value of the file.
///
/// # Errors
/// If the file is not readable or malformed, is of another key, or a value does not hold.
pub fn run(options: &Options) -> Result<(), Failure> {
    let chronicle = Chronicle::read(&options.file).map_err(Failure::bad_input)?;
    let key = chronicle.key();
    if let Some(expected) = options.key.as_ref().filter(|expected| **expected != key) {
        let what = format!("values are of key {key}, expected {expected}");
        return Err(Failure::Disagreement(what));
    }
    chronicle.verify()?;
    say!("{} slots verified, key {key}", chronicle.slots());
    Ok(())
}
