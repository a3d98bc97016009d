//! Age files that can be opened once a round of a beacon is published.
//!
//! ```
//! use prefinal_timelock::{Chain, Format, Recipient, RoundNumber, decrypt, encrypt};
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
//! The key of an [age](https://age-encryption.org/v1) file is encrypted to a round of drand, or of
//! any beacon that signs as drand does. It is put into the file's header in the format of drand's
//! `tle`. So `tle` opens files that are encrypted here, and the reverse. Encryption needs only the
//! beacon's key. Decryption needs the round's signature, which the caller provides; this crate uses
//! no network.
//!
//! | module   | contents                                           |
//! |----------|----------------------------------------------------|
//! | `chain`  | the beacon: quicknet, a relay's `info`, or a key   |
//! | `header` | reads a file's header within limits                |
//! | `stanza` | the lines that drand adds to an age file's header  |
//!
//! This is a separate crate because age depends on a hundred other crates. The encryption to a round
//! is in `prefinal_crypto_core::timelock`. The command is in the node, with its feature `timelock`.
#![forbid(unsafe_code)]

mod chain;
mod header;
mod stanza;

use std::io::{self, BufReader, Read, Write};

use age::armor::{ArmoredReader, ArmoredWriter};
use age::{Decryptor, Encryptor};

pub use chain::{Chain, ChainError};
pub use header::{MAX_HEADER, MAX_LINES, MAX_STANZAS};
pub use prefinal_crypto_core::drand::RoundNumber;
pub use stanza::{Identity, Recipient, Refusal};

/// The format in which a file is written. Both formats can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The binary format, which `age` writes by default.
    Binary,
    /// The text format: lines of base64 between a first and a last line.
    Text,
}

/// Why a file was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The input does not start with a valid header of an age file.
    #[error("not an age file: {0}")]
    Header(String),
    /// The header is longer than the limit.
    #[error("header has more than {most} bytes")]
    HeaderBytes {
        /// The limit in bytes.
        most: usize,
    },
    /// The header has more lines than the limit.
    #[error("header has more than {most} lines")]
    HeaderLines {
        /// The limit of lines.
        most: usize,
    },
    /// The header has more recipients than the limit.
    #[error("header names more than {most} recipients")]
    Stanzas {
        /// The limit of recipients.
        most: usize,
    },
    /// The file is not encrypted to a round, only to recipients of other kinds.
    #[error("file is not encrypted to a round")]
    NoRound,
    /// The file is for another chain or round, or its encrypted key was altered.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The file key was found, but the header or the content was altered, or the end is missing.
    #[error("file was altered or cut off: {0}")]
    Altered(String),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl OpenError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Header(_) => "not-an-age-file",
            Self::HeaderBytes { .. } => "too-long",
            Self::HeaderLines { .. } | Self::Stanzas { .. } => "count-too-large",
            Self::NoRound => "not-to-a-round",
            Self::Refused(error) => error.code(),
            Self::Altered(_) => "altered",
            Self::Io(_) => "input-output",
        }
    }
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

/// Opens all of `input` with the signature of its round. Without a signature, the [`Refusal`] says
/// which round is needed. At most [`MAX_HEADER`] bytes, [`MAX_LINES`] lines and [`MAX_STANZAS`]
/// recipients of a header are read. After an error, discard everything that was written: only the end
/// of a file proves that nothing is missing.
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

/// Whether the error is about the content that was read, not about the system.
fn tells_of_content(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}
