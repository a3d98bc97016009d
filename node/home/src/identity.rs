//! The file that holds a validator's secret: one seed of 32 bytes, from which all its keys are drawn.
//!
//! ```text
//! prefinal identity 1
//! seed 0123…cdef
//! ```
//! Lines that begin with `#` are for people. With a passphrase the same text is an [age] file with armour,
//! which `age -d` opens as well. The file is made once and never replaced: a validator that signs with two
//! seeds is two validators, and one that lost its seed is none.
//!
//! [age]: https://age-encryption.org/v1
use std::fmt;
use std::io::Read;

use age::armor::ArmoredReader;
use age::secrecy::SecretString;
use prefinal_crypto_core::secret::Secret;
use prefinal_protocol::Party;
use prefinal_validator::setup::Identity;
use zeroize::Zeroizing;

/// The first line.
const VERSION: &str = "prefinal identity 1";

/// How an encrypted file begins.
const ARMOR: &[u8] = b"-----BEGIN AGE ENCRYPTED FILE-----";

/// `log2` of scrypt's cost for a new file: 128 MiB and about a second.
const WORK: u8 = 17;

/// The highest cost that is paid to open a file: a gibibyte.
const MAX_WORK: u8 = 20;

/// A validator's seed, from which its keys are drawn.
#[derive(Debug)]
pub struct Seed(Secret<[u8; 32]>);

/// The content of an identity file.
#[derive(Debug)]
pub enum IdentityFile {
    /// Not encrypted: the file's mode alone protects it.
    Plain(Seed),
    /// Encrypted with a passphrase.
    Encrypted(EncryptedSeed),
}

/// A seed that a passphrase opens.
pub struct EncryptedSeed(Vec<u8>);

/// A passphrase: not empty, one line.
#[derive(Debug)]
pub struct Passphrase(Secret<String>);

/// Why an identity file cannot be read. No variant repeats what is in the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The first line is another one.
    #[error("line 1: expected `{VERSION}` or an age file with armour")]
    Version,
    /// A line is not what stands there.
    #[error("line {line}: expected {expected}")]
    Line {
        /// The line, counted from one.
        line: usize,
        /// What stands there in a good file.
        expected: &'static str,
    },
    /// The file ends early.
    #[error("the line `seed` is missing")]
    NoSeed,
    /// The file is encrypted in another way, or damaged.
    #[error("not an age file that a passphrase opens, or a damaged one")]
    Armor,
    /// The passphrase is another one.
    #[error("the passphrase does not open it")]
    WrongPassphrase,
    /// To open the file would take more memory than is allowed.
    #[error("its scrypt work factor is {got}, at most {MAX_WORK} is accepted")]
    Work {
        /// The work factor in the file.
        got: u8,
    },
    /// A passphrase is empty or has several lines.
    #[error("a passphrase is one line that is not empty")]
    Passphrase,
    /// The file could not be encrypted.
    #[error("encryption failed")]
    Encrypt,
}

impl IdentityError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Version => "wrong-version",
            Self::Line { .. } | Self::NoSeed | Self::Armor => "malformed",
            Self::WrongPassphrase => "wrong-passphrase",
            Self::Work { .. } => "work-factor",
            Self::Passphrase => "bad-passphrase",
            Self::Encrypt => "encryption",
        }
    }
}

impl Seed {
    /// A seed that was just drawn from the operating system.
    #[must_use]
    pub const fn new(seed: Secret<[u8; 32]>) -> Self {
        Self(seed)
    }

    /// The secrets that are drawn from the seed. They do not depend on the party's number.
    #[must_use]
    pub fn identity(&self, me: Party) -> Identity {
        Identity::from_seed(me, Secret::new(*self.0.expose()))
    }

    /// The text of a file that is not encrypted.
    pub(crate) fn to_plain(&self) -> Zeroizing<String> {
        let mut digits = Zeroizing::new([0; 64]);
        let encoded = hex::encode_to_slice(self.0.expose(), digits.as_mut_slice());
        let digits = encoded.ok().and_then(|()| str::from_utf8(digits.as_slice()).ok());
        // Room for all, for a text that grows leaves copies behind.
        let mut text = Zeroizing::new(String::with_capacity(1024));
        text.push_str(VERSION);
        text.push_str("\n# Secret. A copy of this file can sign in this validator's name.\nseed ");
        text.push_str(digits.unwrap_or_default());
        text.push('\n');
        text
    }

    /// The text of a file that the passphrase opens.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub(crate) fn to_encrypted(&self, passphrase: &Passphrase) -> Result<String, IdentityError> {
        self.to_encrypted_at(passphrase, WORK)
    }

    fn to_encrypted_at(&self, passphrase: &Passphrase, work: u8) -> Result<String, IdentityError> {
        let mut recipient = age::scrypt::Recipient::new(passphrase.for_age());
        recipient.set_work_factor(work);
        age::encrypt_and_armor(&recipient, self.to_plain().as_bytes())
            .map_err(|_| IdentityError::Encrypt)
    }
}

impl IdentityFile {
    /// The longest file that is read, in bytes.
    pub const MAX_BYTES: usize = 16 << 10;

    /// Reads an identity file. What is encrypted stays so.
    ///
    /// # Errors
    /// If the file is of another kind. The text repeats nothing of it.
    pub fn parse(bytes: &[u8]) -> Result<Self, IdentityError> {
        if bytes.trim_ascii_start().starts_with(ARMOR) {
            return Ok(Self::Encrypted(EncryptedSeed(bytes.to_vec())));
        }
        plain(bytes).map(Self::Plain)
    }
}

/// Reads the text of a file that is not encrypted.
fn plain(bytes: &[u8]) -> Result<Seed, IdentityError> {
    let text = str::from_utf8(bytes).map_err(|_| IdentityError::Version)?;
    let mut lines = (1..).zip(text.lines());
    if lines.next().map(|(_, line)| line) != Some(VERSION) {
        return Err(IdentityError::Version);
    }
    let mut lines = lines.filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty());
    let (line, text) = lines.next().ok_or(IdentityError::NoSeed)?;
    let expected = "`seed` with 64 hexadecimal digits";
    let digits = text.strip_prefix("seed ").ok_or(IdentityError::Line { line, expected })?;
    let mut seed = Zeroizing::new([0; 32]);
    hex::decode_to_slice(digits, seed.as_mut_slice())
        .map_err(|_| IdentityError::Line { line, expected })?;
    match lines.next() {
        Some((line, _)) => Err(IdentityError::Line { line, expected: "nothing more" }),
        None => Ok(Seed(Secret::new(*seed))),
    }
}

impl EncryptedSeed {
    /// Opens it. Takes the time and memory that guessing passphrases is meant to take.
    ///
    /// # Errors
    /// If the passphrase is another one, or what it opens is no identity.
    pub fn open(&self, passphrase: &Passphrase) -> Result<Seed, IdentityError> {
        let file = age::Decryptor::new_buffered(ArmoredReader::new(self.0.as_slice()));
        let file = file.map_err(|_| IdentityError::Armor)?;
        if !file.is_scrypt() {
            return Err(IdentityError::Armor);
        }
        let mut identity = age::scrypt::Identity::new(passphrase.for_age());
        identity.set_max_work_factor(MAX_WORK);
        let identity: &dyn age::Identity = &identity;
        let opened = file.decrypt(std::iter::once(identity)).map_err(|error| match error {
            age::DecryptError::ExcessiveWork { required, .. } => {
                IdentityError::Work { got: required }
            }
            age::DecryptError::InvalidHeader | age::DecryptError::InvalidMac => {
                IdentityError::Armor
            }
            _ => IdentityError::WrongPassphrase,
        })?;
        let mut text = Zeroizing::new(Vec::with_capacity(IdentityFile::MAX_BYTES));
        let limit = u64::try_from(IdentityFile::MAX_BYTES).unwrap_or(0);
        opened.take(limit).read_to_end(&mut text).map_err(|_| IdentityError::Armor)?;
        plain(&text)
    }
}

impl fmt::Debug for EncryptedSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptedSeed(..)")
    }
}

impl Passphrase {
    /// The longest file with a passphrase, in bytes.
    pub const MAX_BYTES: usize = 1024;

    /// A passphrase from the text of a file or from a terminal; an end of line after it does not count.
    ///
    /// # Errors
    /// If it is empty or has several lines.
    pub fn new(text: &[u8]) -> Result<Self, IdentityError> {
        let text = str::from_utf8(text).map_err(|_| IdentityError::Passphrase)?;
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        if text.is_empty() || text.contains(['\n', '\r', '\0']) || text.len() > Self::MAX_BYTES {
            return Err(IdentityError::Passphrase);
        }
        Ok(Self(Secret::new(text.to_owned())))
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.expose() == other.0.expose()
    }

    fn for_age(&self) -> SecretString {
        SecretString::from(self.0.expose().clone())
    }
}

#[cfg(test)]
mod tests;
