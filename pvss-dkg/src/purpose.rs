//! What a run of the key generation makes a key for.
//!
//! | purpose                    | what its key gives                                                     |
//! |----------------------------|------------------------------------------------------------------------|
//! | [`Purpose::Randomness`]    | values of the weighted VUF; signatures on rounds, as drand signs them   |
//! | [`Purpose::Certificates`]  | signatures on messages in a domain of their own                         |
//! | [`Purpose::Decryption`]    | shares of what is encrypted to the committee                            |
//!
//! One committee makes several keys in one epoch, and one key must not do the work of another: a
//! decryption share of a point that somebody else chose is a signature share on it. So the purpose is part
//! of the [`Session`](crate::Session) and of the configuration's digest, to which everything that parties
//! draw, prove and sign is bound. Without it two runs would be one: what an honest dealer says in both
//! would contradict itself, and dealings of one would count in the other and make the same secret twice.
//! A key keeps its purpose, in its bytes and when it is handed over, and serves no other one.
//!
//! Two keys for one purpose in one epoch are two attempts.
use std::fmt;

use crypto_core::{elgamal, threshold, wvuf};
use thiserror::Error;

use crate::wire::{DecodeError, Reader};

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Values that nobody can foresee.
    Randomness,
    /// Statements of the chain.
    Certificates,
    /// Opening what was encrypted to the committee.
    Decryption,
}

/// A key is asked to do what it was not made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("key was made for {made}, not for {asked}")]
pub struct OtherPurpose {
    /// What the key is for.
    pub made: Purpose,
    /// What was asked of it.
    pub asked: Purpose,
}

/// Why a key is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PurposeError {
    /// The key was made under another configuration.
    #[error("key was made for another session or committee")]
    Foreign,
    /// The key was made for something else.
    #[error(transparent)]
    Other(#[from] OtherPurpose),
    /// Never for a sum of verified dealings.
    #[error(transparent)]
    Evaluation(#[from] wvuf::CommitteeError),
    /// Never for a sum of verified dealings.
    #[error(transparent)]
    Signing(#[from] threshold::CommitteeError),
    /// Never for a sum of verified dealings.
    #[error(transparent)]
    Decryption(#[from] elgamal::CommitteeError),
}

impl Purpose {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Randomness, Self::Certificates, Self::Decryption];

    /// The one byte that stands for it where it is hashed or stored.
    #[must_use]
    pub const fn tag(self) -> u8 {
        match self {
            Self::Randomness => 1,
            Self::Certificates => 2,
            Self::Decryption => 3,
        }
    }

    /// Which purpose that byte stands for.
    #[must_use]
    pub fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|purpose| purpose.tag() == tag)
    }

    /// What signing is for: rounds are randomness, all other messages are certificates.
    #[must_use]
    pub const fn of_signing(what: threshold::Purpose) -> Self {
        match what {
            threshold::Purpose::Rounds => Self::Randomness,
            threshold::Purpose::Messages(_) => Self::Certificates,
        }
    }

    /// Does a key for this purpose serve that one?
    ///
    /// # Errors
    /// If it was made for another.
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
