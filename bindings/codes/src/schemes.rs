//! Errors of threshold signatures, of the weighted VUF and of decryption.
use prefinal_crypto_core::commitment::{CommitmentError, ShareError};
use prefinal_crypto_core::elgamal::{
    self, CombineError, EncryptError, InvalidCiphertext, KeyError, KeySharesError, LabelError,
    OtherKey, PlaintextError, StoredKeyError, Unopenable, WrongOpening,
};
use prefinal_crypto_core::polynomial::{CountError, InterpolationError};
use prefinal_crypto_core::quorum::QuorumError;
use prefinal_crypto_core::threshold::{self, KeyShareError, PurposeError};
use prefinal_crypto_core::timelock::DecryptError;
use prefinal_crypto_core::wvuf::audit::AuditError;
use prefinal_crypto_core::wvuf::{self, AdmitError, CombinationError, InsertError, SharedBlinding};

use crate::detail::{Coded, Detail};

impl Coded for CommitmentError {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).need(&self.max).got(&self.got)
    }
}

impl Coded for ShareError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::OutOfRange { index, count } => plain.index(index).need(count),
            Self::Mismatch { index } => plain.index(index),
            _ => plain,
        }
    }
}

impl Coded for CountError {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).need(&self.max).got(&self.got)
    }
}

impl Coded for InterpolationError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::OutOfRange { index, count } => plain.index(index).need(count),
            Self::Duplicate { index } => plain.index(index),
            Self::Values { expected, got } => plain.need(expected).got(got),
            Self::BelowThreshold { got, need } => plain.need(need).got(got),
            _ => plain,
        }
    }
}

impl Coded for PurposeError {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for threshold::CommitteeError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Threshold { got, need } => plain.need(need).got(got),
            Self::ShareKeys { got, need } => plain.need(need).got(got),
            Self::Commitment { got, need } => plain.need(need).got(got),
            Self::Degree { t } => plain.need(t),
            _ => plain,
        }
    }
}

impl Coded for KeyShareError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::NotMember { party } => plain.party(*party),
            Self::NoShares { party } => plain.party(*party),
            Self::Count { party, got, need } => plain.party(*party).need(need).got(got),
            Self::Mismatch { party } => plain.party(*party),
            _ => plain,
        }
    }
}

impl Coded for threshold::PartialError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Purpose(error) => error.detail(),
            Self::NotMember { party } => plain.party(*party),
            Self::NoShares { party } => plain.party(*party),
            Self::ShareCount { party, got, need } => plain.party(*party).need(need).got(got),
            Self::Mismatch { party } => plain.party(*party),
            _ => plain,
        }
    }
}

macro_rules! of_quorums {
    ($($misuse:ty),*) => {$(
        impl Coded for QuorumError<$misuse> {
            fn detail(&self) -> Detail {
                let plain = Detail::of(self.code());
                match self {
                    Self::Misuse(error) => error.detail(),
                    Self::BelowThreshold { got, need } => plain.need(need).got(got),
                    Self::Faulty { culprits } => plain.culprits(culprits),
                    _ => plain,
                }
            }
        }
    )*};
}

of_quorums!(OtherKey, threshold::MisuseError, wvuf::NotAdmitted);

impl Coded for threshold::MisuseError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Purpose(error) => error.detail(),
            Self::NoShares { party } => plain.party(*party),
            _ => plain,
        }
    }
}

impl Coded for wvuf::CommitteeError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::PublicShares { got, need } => plain.need(need).got(got),
            Self::Threshold { got, need } => plain.need(need).got(got),
            Self::IdentityShare { index } => plain.index(index),
            _ => plain,
        }
    }
}

impl Coded for SharedBlinding {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).party(self.party)
    }
}

impl Coded for AdmitError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::NotMember { party } => plain.party(*party),
            Self::NoShares { party } => plain.party(*party),
            Self::ShareCount { got, need } => plain.need(need).got(got),
            _ => plain,
        }
    }
}

impl Coded for InsertError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::OtherCommittee { party } => plain.party(*party),
            Self::Duplicate { party } => plain.party(*party),
            _ => plain,
        }
    }
}

impl Coded for wvuf::PartialError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::NotAdmitted { party } => plain.party(*party),
            Self::Mismatch { party } => plain.party(*party),
            _ => plain,
        }
    }
}

impl Coded for wvuf::NotAdmitted {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).party(self.party)
    }
}

impl Coded for CombinationError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Missing { party } => plain.party(*party),
            _ => plain,
        }
    }
}

impl Coded for AuditError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::PublicShares { got, need } => plain.need(need).got(got),
            Self::Threshold { got, need } => plain.need(need).got(got),
            Self::IdentityShare { index } => plain.index(index),
            Self::Possession { party } => plain.party(*party),
            Self::SharedBlinding { party } => plain.party(*party),
            Self::NotMember { party } => plain.party(*party),
            Self::ShareCount { party, got, need } => plain.party(*party).need(need).got(got),
            Self::NoShares { party } => plain.party(*party),
            Self::Share { party, index } => plain.party(*party).index(index),
            Self::Partial { party } => plain.party(*party),
            Self::UnknownPartial { party } => plain.party(*party),
            Self::BelowThreshold { got, need } => plain.need(need).got(got),
            _ => plain,
        }
    }
}

impl Coded for KeyError {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for elgamal::CommitteeError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Threshold(error) => error.detail(),
            Self::Key(error) => error.detail(),
            Self::Shares { got, need } => plain.need(need).got(got),
            Self::ShareKeys { got, need } => plain.need(need).got(got),
            Self::Degree { t } => plain.need(t),
            _ => plain,
        }
    }
}

impl Coded for KeySharesError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::NotMember { party } => plain.party(*party),
            Self::NoShares { party } => plain.party(*party),
            Self::Count { got, need } => plain.need(need).got(got),
            Self::Mismatch { index } => plain.index(index),
            _ => plain,
        }
    }
}

impl Coded for StoredKeyError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Decode(error) => error.detail(),
            Self::Shares(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for OtherKey {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for elgamal::ShareError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::NotMember { party } => plain.party(*party),
            Self::Count { party, got, need } => plain.party(*party).need(need).got(got),
            Self::Mismatch { party } => plain.party(*party),
            Self::OtherKey(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for CombineError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Faulty { culprits } => plain.culprits(culprits),
            Self::Unopenable(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for LabelError {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).need(&self.max).got(&self.got)
    }
}

impl Coded for EncryptError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Plaintext(error) => error.detail(),
            Self::Randomness(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for PlaintextError {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).need(&self.max).got(&self.got)
    }
}

impl Coded for InvalidCiphertext {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for Unopenable {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for WrongOpening {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for DecryptError {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}
