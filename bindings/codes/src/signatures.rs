//! Errors of bytes, of single and aggregate signatures, of certificates and of drand's rounds.
use prefinal_crypto_core::access::{AccessError, ThresholdError};
use prefinal_crypto_core::bls::{Culprits, DomainError, KeyPathError, SeedError, SignatureError};
use prefinal_crypto_core::certificate::{
    AssembleError, CertificateError, ElectorateError, Stranger, VotesError,
};
use prefinal_crypto_core::curve::{DecodeError, EmptyTag, PairingMismatch, PointError};
use prefinal_crypto_core::drand::{RoundError, RoundsError, UnknownScheme};
use prefinal_crypto_core::entropy::ImplausibleRandomness;
#[cfg(feature = "system")]
use prefinal_crypto_core::entropy::SystemError;
use prefinal_crypto_core::wire::{Trailing, Truncated, WireError};

use crate::detail::{Coded, Detail, code};

impl Coded for DecodeError {
    fn detail(&self) -> Detail {
        match self {
            Self::Length { expected, got } => code("wrong-length").need(expected).got(got),
            Self::NotCanonical => code("not-canonical"),
            Self::NotOnCurve => code("not-on-curve"),
            Self::NotInSubgroup => code("not-in-subgroup"),
            Self::Identity => code("identity"),
            Self::Zero => code("zero-scalar"),
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
        code("implausible-randomness")
    }
}

#[cfg(feature = "system")]
impl Coded for SystemError {
    fn detail(&self) -> Detail {
        match self {
            Self::Unavailable(_) => code("no-randomness"),
            Self::Implausible(error) => error.detail(),
        }
    }
}

impl Coded for PairingMismatch {
    fn detail(&self) -> Detail {
        code("pairing-mismatch")
    }
}

impl Coded for Truncated {
    fn detail(&self) -> Detail {
        code("truncated").index(&self.at).need(&self.need).got(&self.got)
    }
}

impl Coded for Trailing {
    fn detail(&self) -> Detail {
        code("trailing-bytes").index(&self.at).got(&self.got)
    }
}

impl Coded for WireError {
    fn detail(&self) -> Detail {
        match self {
            Self::Version { got } => code("wrong-version").got(got),
            Self::UnknownKind { got } => code("unknown-kind").got(got),
            Self::Kind { expected, got } => code("wrong-kind").need(&expected.byte()).got(got),
            Self::Truncated { at, need, got } => {
                Truncated { at: *at, need: *need, got: *got }.detail()
            }
            Self::Trailing { at, got } => Trailing { at: *at, got: *got }.detail(),
            Self::Count { at, got, most } => code("count-too-large").index(at).need(most).got(got),
            Self::Value { at, got, .. } => code("invalid-value").index(at).got(got),
            Self::Halves { at } => code("key-halves").index(at),
            Self::Decode { at, error } => {
                let detail = error.detail();
                detail.index(at)
            }
        }
    }
}

impl Coded for ThresholdError {
    fn detail(&self) -> Detail {
        code("threshold-range").need(&self.n).got(&self.t)
    }
}

impl Coded for AccessError {
    fn detail(&self) -> Detail {
        match self {
            Self::NoShares { .. } => code("no-shares"),
            Self::TooManyShares { total, max } => code("too-many-shares").need(max).got(total),
            Self::TooManyParties { parties, max } => {
                code("too-many-parties").need(max).got(parties)
            }
        }
    }
}

impl Coded for DomainError {
    fn detail(&self) -> Detail {
        match self {
            Self::Length { got, max } => code("invalid-argument").need(max).got(got),
            Self::LooksLikeTag => code("name-is-a-tag"),
            Self::Reserved => code("reserved-tag"),
        }
    }
}

impl Coded for EmptyTag {
    fn detail(&self) -> Detail {
        code("invalid-argument").need(&1_usize).got(&0_usize)
    }
}

impl Coded for SeedError {
    fn detail(&self) -> Detail {
        code("seed-length").got(&self.got)
    }
}

impl Coded for KeyPathError {
    fn detail(&self) -> Detail {
        match self {
            Self::Root => code("key-path"),
            Self::Index { at } => code("key-path").index(at),
        }
    }
}

impl Coded for SignatureError {
    fn detail(&self) -> Detail {
        match self {
            Self::NoSigners => code("no-signers"),
            Self::KeysCancel => code("keys-cancel"),
            Self::SignaturesCancel => code("signatures-cancel"),
            Self::Mismatch => code("signature-mismatch"),
        }
    }
}

impl Coded for Culprits {
    fn detail(&self) -> Detail {
        code("faulty").culprits(&self.positions)
    }
}

impl Coded for ElectorateError {
    fn detail(&self) -> Detail {
        match self {
            Self::Size { got, max } => code("too-many-parties").need(max).got(got),
            Self::Overflow { at } => code("stake-overflow").party(*at).index(at),
            Self::RepeatedKey { at, earlier } => code("duplicate-key").party(*at).index(earlier),
            Self::NoStake => code("no-stake"),
            Self::Quorum { quorum, total } => code("quorum-range").need(total).got(quorum),
        }
    }
}

impl Coded for Stranger {
    fn detail(&self) -> Detail {
        code("not-a-member").party(self.party).need(&self.parties)
    }
}

impl Coded for CertificateError {
    fn detail(&self) -> Detail {
        match self {
            Self::Bitmap { got, .. } => code("signers-bitmap").got(got),
            Self::SignedTwice { party } => code("signed-twice").party(*party),
            Self::BelowQuorum { got, need } => code("below-quorum").need(need).got(got),
            Self::Signature(error) => error.detail(),
        }
    }
}

impl Coded for VotesError {
    fn detail(&self) -> Detail {
        match self {
            Self::NoVotes => code("no-signers"),
            Self::Stranger(error) => error.detail(),
            Self::Faulty { culprits } => code("faulty").culprits(culprits),
        }
    }
}

impl Coded for AssembleError {
    fn detail(&self) -> Detail {
        match self {
            Self::BelowQuorum { got, need } => code("below-quorum").need(need).got(got),
            Self::Votes(error) => error.detail(),
        }
    }
}

impl Coded for UnknownScheme {
    fn detail(&self) -> Detail {
        code("unknown-scheme")
    }
}

impl Coded for RoundError {
    fn detail(&self) -> Detail {
        match self {
            Self::NoPrevious { .. } => code("no-previous-signature"),
            Self::PreviousLength { got } => code("previous-signature-length").got(got),
            Self::NotChained { .. } => code("not-chained"),
            Self::Genesis => code("wrong-genesis"),
            Self::Randomness => code("invalid-field"),
            Self::Decode(error) => error.detail(),
            Self::Signature(error) => error.detail(),
        }
    }
}

impl Coded for RoundsError {
    fn detail(&self) -> Detail {
        code("faulty").culprits(self.faults.keys())
    }
}
