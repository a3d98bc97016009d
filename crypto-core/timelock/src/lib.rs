//! Age files that open when a round of a beacon is out.
//!
//! An [age](https://age-encryption.org/v1) file's key is encrypted to a round of drand's, or of any
//! beacon that signs as drand does, and put into the file's header the way drand's `tle` does it; so
//! `tle` opens what is encrypted here, and the other way round. Encrypting needs the beacon's key
//! alone, decrypting the round's signature, which the caller brings: nothing here knows a network.
//!
//! | module   | what                                               |
//! |----------|----------------------------------------------------|
//! | `chain`  | which beacon: quicknet, a relay's `info`, or a key |
//! | `header` | how much of a file is read before it is understood |
//! | `stanza` | what drand adds to an age file's header            |
//!
//! ```
//! use timelock::{Chain, Format, Recipient, RoundNumber, decrypt, encrypt};
//!
//! let chain = Chain::quicknet()?;
//! let recipient = Recipient { chain: chain.clone(), round: RoundNumber::new(1000).unwrap() };
//! let mut file = Vec::new();
//! encrypt(&recipient, Format::Text, &b"hello, past"[..], &mut file)?;
//!
//! let signature = hex::decode("b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39")?;
//! let mut opened = Vec::new();
//! decrypt(&chain, Some(&signature), file.as_slice(), &mut opened)?;
//! assert_eq!(opened, b"hello, past");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A crate of its own, since age brings a hundred others. Elsewhere: the encryption to a round
//! (`crypto_core::timelock`), the command (the node, with its feature `timelock`).
#![forbid(unsafe_code)]

mod chain;
mod header;
mod stanza;

use std::io::{self, BufReader, Read, Write};

use age::armor::{ArmoredReader, ArmoredWriter};
use age::{Decryptor, Encryptor};

pub use chain::{Chain, ChainError};
pub use crypto_core::drand::RoundNumber;
pub use header::{MAX_HEADER, MAX_LINES, MAX_STANZAS};
pub use stanza::{Identity, Recipient, Refusal};

/// How a file is written. Either is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Bytes.
    Binary,
    /// Lines of base64 between a first and a last line.
    Text,
}

/// Why a file was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No header of an age file.
    #[error("not an age file: {0}")]
    Header(String),
    /// More of a header than is read.
    #[error("header has more than {most} bytes")]
    HeaderBytes {
        /// Bytes that are read.
        most: usize,
    },
    /// More lines of a header than are read.
    #[error("header has more than {most} lines")]
    HeaderLines {
        /// Lines that are read.
        most: usize,
    },
    /// More recipients than are tried.
    #[error("header names more than {most} recipients")]
    Stanzas {
        /// Recipients that are tried.
        most: usize,
    },
    /// An age file for other recipients.
    #[error("file is not encrypted to a round")]
    NoRound,
    /// To another chain or round, or its key was altered.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The key is there, but header or content were altered, or the end is missing.
    #[error("file was altered or cut off: {0}")]
    Altered(String),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Encrypts all of `input` to a round.
///
/// # Errors
/// If reading or writing fails, or the system has no randomness.
pub fn encrypt(
    recipient: &Recipient,
    format: Format,
    mut input: impl Read,
    output: impl Write,
) -> io::Result<()> {
    let recipients: [&dyn age::Recipient; 1] = [recipient];
    let encryptor =
        Encryptor::with_recipients(recipients.into_iter()).map_err(|error| match error {
            age::EncryptError::Io(error) => error,
            other => io::Error::other(other.to_string()),
        })?;
    let format = match format {
        Format::Binary => age::armor::Format::Binary,
        Format::Text => age::armor::Format::AsciiArmor,
    };
    let armored = ArmoredWriter::wrap_output(output, format)?;
    let mut encrypted = encryptor.wrap_output(armored)?;
    io::copy(&mut input, &mut encrypted)?;
    encrypted.finish()?.finish()?.flush()
}

/// Opens all of `input` with the signature of its round; without one, the [`Refusal`] says which round
/// it takes. Of a header at most [`MAX_HEADER`] bytes, [`MAX_LINES`] lines and [`MAX_STANZAS`] recipients are
/// read. What was written before an error is to be thrown away: only the end of a file proves that
/// nothing is missing.
///
/// # Errors
/// [`OpenError`] says what is wrong.
pub fn decrypt(
    chain: &Chain,
    signature: Option<&[u8]>,
    input: impl Read,
    mut output: impl Write,
) -> Result<(), OpenError> {
    let mut input = BufReader::new(ArmoredReader::new(input));
    let header = header::read(&mut input).map_err(|error| match error {
        OpenError::Io(error) if tells_of_content(&error) => OpenError::Header(error.to_string()),
        other => other,
    })?;
    let input = header.as_slice().chain(input);
    let decryptor = Decryptor::new_buffered(input).map_err(|error| match error {
        age::DecryptError::Io(error) if !tells_of_content(&error) => OpenError::Io(error),
        other => OpenError::Header(other.to_string()),
    })?;
    let identity = Identity::new(chain, signature);
    let identities: [&dyn age::Identity; 1] = [&identity];
    let mut plaintext = match decryptor.decrypt(identities.into_iter()) {
        Ok(plaintext) => plaintext,
        Err(age::DecryptError::NoMatchingKeys) => {
            return Err(identity.into_refusal().map_or(OpenError::NoRound, OpenError::Refused));
        }
        Err(error) => return Err(OpenError::Altered(error.to_string())),
    };
    io::copy(&mut plaintext, &mut output).map_err(|error| {
        if tells_of_content(&error) {
            OpenError::Altered(error.to_string())
        } else {
            OpenError::Io(error)
        }
    })?;
    Ok(output.flush()?)
}

/// Not of the system, but of what was read.
fn tells_of_content(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}
