//! The purpose that a run of the key generation makes a key for.
//!
//! | purpose                    | what its key gives                                                     |
//! |----------------------------|------------------------------------------------------------------------|
//! | [`Purpose::Randomness`]    | values of the weighted VUF; signatures on rounds, as drand signs them   |
//! | [`Purpose::Certificates`]  | signatures on messages in a separate domain                             |
//! | [`Purpose::Decryption`]    | decryption shares of what is encrypted to the committee                 |
//!
//! One committee makes several keys in one epoch, and one key must not do the work of another. The
//! danger: a decryption share of a point that somebody else chose is also a signature share on that
//! point. So the purpose is part of the [`Session`](crate::Session) and of the configuration's digest.
//! All that parties draw, prove and sign is bound to that digest. Without the purpose two runs would be
//! the same run. An honest dealer's messages in both would contradict each other, and dealings of one
//! run would count in the other and make the same secret twice. A key keeps its purpose in its bytes
//! and when it is handed over, and serves no other purpose.
//!
//! Two keys for one purpose in one epoch are two attempts.
use std::fmt;

use prefinal_crypto_core::{elgamal, threshold, wvuf};
use thiserror::Error;

use crate::wire::{DecodeError, Reader};

/// The one use that a key is made for.
///
/// ```
/// use prefinal_pvss_dkg::Purpose;
/// assert!(Purpose::Randomness.check(Purpose::Randomness).is_ok());
/// assert!(Purpose::Randomness.check(Purpose::Certificates).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Values that nobody can predict.
    Randomness,
    /// Signatures on statements of the chain.
    Certificates,
    /// Decryption of what was encrypted to the committee.
    Decryption,
}

/// A key was asked to serve another purpose than the one it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("key was made for {made}, not for {asked}")]
pub struct OtherPurpose {
    /// The purpose that the key was made for.
    pub made: Purpose,
    /// The purpose that was asked for.
    pub asked: Purpose,
}

impl OtherPurpose {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "wrong-purpose"
    }
}

/// Why a key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PurposeError {
    /// The key was made under another configuration: another session or committee.
    #[error("key was made for another session or committee")]
    Foreign,
    /// The key was made for another purpose.
    #[error(transparent)]
    Other(#[from] OtherPurpose),
    /// The evaluation committee is refused. This never happens for a sum of verified dealings.
    #[error(transparent)]
    Evaluation(#[from] wvuf::CommitteeError),
    /// The signing committee is refused. This never happens for a sum of verified dealings.
    #[error(transparent)]
    Signing(#[from] threshold::CommitteeError),
    /// The decryption committee is refused. This never happens for a sum of verified dealings.
    #[error(transparent)]
    Decryption(#[from] elgamal::CommitteeError),
}

impl PurposeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Foreign => "other-session",
            Self::Other(error) => error.code(),
            Self::Evaluation(error) => error.code(),
            Self::Signing(error) => error.code(),
            Self::Decryption(error) => error.code(),
        }
    }
}

impl Purpose {
    /// All purposes that a key can be made for.
    pub const ALL: [Self; 3] = [Self::Randomness, Self::Certificates, Self::Decryption];

    /// The byte that stands for the purpose in hashes and encodings.
    #[must_use]
    pub const fn tag(self) -> u8 {
        match self {
            Self::Randomness => 1,
            Self::Certificates => 2,
            Self::Decryption => 3,
        }
    }

    /// The purpose that this byte stands for, if there is one.
    #[must_use]
    pub fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|purpose| purpose.tag() == tag)
    }

    /// The purpose of a signing key: rounds are randomness, all other messages are certificates.
    #[must_use]
    pub const fn of_signing(what: threshold::Purpose) -> Self {
        match what {
            threshold::Purpose::Rounds => Self::Randomness,
            threshold::Purpose::Messages(_) => Self::Certificates,
        }
    }

    /// Checks that a key for this purpose serves the purpose `asked`.
    ///
    /// # Errors
    /// If the key was made for another purpose.
    pub fn check(self, asked: Self) -> Result<(), OtherPurpose> {
        if self == asked { Ok(()) } else { Err(OtherPurpose { made: self, asked }) }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = reader.at();
        let [tag] = reader.array()?;
        Self::from_tag(tag).ok_or(DecodeError::Element { what: "purpose", at })
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Randomness => "randomness",
            Self::Certificates => "certificates",
            Self::Decryption => "decryption",
        })
    }
}
