//! Errors of bytes, of single and aggregate signatures, of certificates, of drand's rounds and of draws.
use prefinal_crypto_core::access::{AccessError, ThresholdError};
use prefinal_crypto_core::bls::{Culprits, DomainError, KeyPathError, SeedError, SignatureError};
use prefinal_crypto_core::certificate::{
    AssembleError, CertificateError, ElectorateError, Stranger, VotesError,
};
use prefinal_crypto_core::curve::{DecodeError, EmptyTag, PairingMismatch, PointError};
use prefinal_crypto_core::drand::{RoundError, RoundsError, UnknownScheme};
use prefinal_crypto_core::draw::DrawsError;
use prefinal_crypto_core::entropy::ImplausibleRandomness;
#[cfg(feature = "system")]
use prefinal_crypto_core::entropy::SystemError;
use prefinal_crypto_core::wire::{TrailingBytes, Truncated, WireError};

use crate::detail::{Coded, Detail};

impl Coded for DecodeError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Length { expected, got } => plain.need(expected).got(got),
            _ => plain,
        }
    }
}

impl Coded for PointError {
    fn detail(&self) -> Detail {
        let detail = self.error.detail();
        detail.index(&self.index)
    }
}

impl Coded for ImplausibleRandomness {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for DrawsError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::NameLength { got, max } => plain.need(max).got(got),
            Self::NameLetter { index } => plain.index(index),
            _ => plain,
        }
    }
}

#[cfg(feature = "system")]
impl Coded for SystemError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Implausible(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for PairingMismatch {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for Truncated {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).index(&self.at).need(&self.need).got(&self.got)
    }
}

impl Coded for TrailingBytes {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).index(&self.at).got(&self.got)
    }
}

impl Coded for WireError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Version { got } => plain.got(got),
            Self::UnknownKind { got } => plain.got(got),
            Self::Kind { expected, got } => plain.need(&expected.byte()).got(got),
            Self::Truncated { at, need, got } => plain.index(at).need(need).got(got),
            Self::Trailing { at, got } => plain.index(at).got(got),
            Self::Count { at, got, most } => plain.index(at).need(most).got(got),
            Self::Value { at, got, .. } => plain.index(at).got(got),
            Self::Halves { at } => plain.index(at),
            Self::Decode { at, error } => error.detail().index(at),
            _ => plain,
        }
    }
}

impl Coded for ThresholdError {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).need(&self.n).got(&self.t)
    }
}

impl Coded for AccessError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::TooManyShares { total, max } => plain.need(max).got(total),
            Self::TooManyParties { parties, max } => plain.need(max).got(parties),
            _ => plain,
        }
    }
}

impl Coded for DomainError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Length { got, max } => plain.need(max).got(got),
            _ => plain,
        }
    }
}

impl Coded for EmptyTag {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).need(&1_usize).got(&0_usize)
    }
}

impl Coded for SeedError {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).got(&self.got)
    }
}

impl Coded for KeyPathError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Index { at } => plain.index(at),
            _ => plain,
        }
    }
}

impl Coded for SignatureError {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for Culprits {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).culprits(&self.positions)
    }
}

impl Coded for ElectorateError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Size { got, max } => plain.need(max).got(got),
            Self::Overflow { at } => plain.party(*at).index(at),
            Self::RepeatedKey { at, earlier } => plain.party(*at).index(earlier),
            Self::Quorum { quorum, total } => plain.need(total).got(quorum),
            _ => plain,
        }
    }
}

impl Coded for Stranger {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).party(self.party).need(&self.parties)
    }
}

impl Coded for CertificateError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Bitmap { got, .. } => plain.got(got),
            Self::SignedTwice { party } => plain.party(*party),
            Self::BelowQuorum { got, need } => plain.need(need).got(got),
            Self::Signature(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for VotesError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Stranger(error) => error.detail(),
            Self::Faulty { culprits } => plain.culprits(culprits),
            _ => plain,
        }
    }
}

impl Coded for AssembleError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::BelowQuorum { got, need } => plain.need(need).got(got),
            Self::Votes(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for UnknownScheme {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for RoundError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::PreviousLength { got } => plain.got(got),
            Self::Decode(error) => error.detail(),
            Self::Signature(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for RoundsError {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).culprits(self.faults.keys())
    }
}
