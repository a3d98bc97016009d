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

use crate::detail::{Coded, Detail, code};

impl Coded for CommitmentError {
    fn detail(&self) -> Detail {
        code("wrong-count").need(&self.max).got(&self.got)
    }
}

impl Coded for ShareError {
    fn detail(&self) -> Detail {
        match self {
            Self::OutOfRange { index, count } => code("share-range").index(index).need(count),
            Self::Mismatch { index } => code("share-mismatch").index(index),
        }
    }
}

impl Coded for CountError {
    fn detail(&self) -> Detail {
        code("too-many-shares").need(&self.max).got(&self.got)
    }
}

impl Coded for InterpolationError {
    fn detail(&self) -> Detail {
        match self {
            Self::NoShares => code("no-shares"),
            Self::OutOfRange { index, count } => code("share-range").index(index).need(count),
            Self::Duplicate { index } => code("duplicate-share").index(index),
            Self::Values { expected, got } => code("wrong-count").need(expected).got(got),
            Self::BelowThreshold { got, need } => code("below-threshold").need(need).got(got),
        }
    }
}

impl Coded for PurposeError {
    fn detail(&self) -> Detail {
        code("wrong-purpose")
    }
}

impl Coded for threshold::CommitteeError {
    fn detail(&self) -> Detail {
        match self {
            Self::Threshold { got, need } => code("threshold-total").need(need).got(got),
            Self::ShareKeys { got, need } => code("wrong-count").need(need).got(got),
            Self::Commitment { got, need } => code("wrong-count").need(need).got(got),
            Self::GroupIdentity => code("identity"),
            Self::Degree { t } => code("degree-too-high").need(t),
        }
    }
}

impl Coded for KeyShareError {
    fn detail(&self) -> Detail {
        match self {
            Self::NotMember { party } => code("not-a-member").party(*party),
            Self::NoShares { party } => code("holds-no-shares").party(*party),
            Self::Count { party, got, need } => {
                code("wrong-count").party(*party).need(need).got(got)
            }
            Self::Mismatch { party } => code("share-mismatch").party(*party),
        }
    }
}

impl Coded for threshold::PartialError {
    fn detail(&self) -> Detail {
        match self {
            Self::Purpose(error) => error.detail(),
            Self::NotMember { party } => code("not-a-member").party(*party),
            Self::NoShares { party } => code("holds-no-shares").party(*party),
            Self::ShareCount { party, got, need } => {
                code("wrong-count").party(*party).need(need).got(got)
            }
            Self::Mismatch { party } => code("partial-mismatch").party(*party),
        }
    }
}

impl<M: Coded> Coded for QuorumError<M> {
    fn detail(&self) -> Detail {
        match self {
            Self::Misuse(error) => error.detail(),
            Self::BelowThreshold { got, need } => code("below-threshold").need(need).got(got),
            Self::Faulty { culprits } => code("faulty").culprits(culprits),
        }
    }
}

impl Coded for threshold::MisuseError {
    fn detail(&self) -> Detail {
        match self {
            Self::Purpose(error) => error.detail(),
            Self::NoShares { party } => code("holds-no-shares").party(*party),
        }
    }
}

impl Coded for wvuf::CommitteeError {
    fn detail(&self) -> Detail {
        match self {
            Self::PublicShares { got, need } => code("wrong-count").need(need).got(got),
            Self::Threshold { got, need } => code("threshold-total").need(need).got(got),
            Self::IdentityShare { index } => code("identity").index(index),
            Self::GroupIdentity => code("identity"),
        }
    }
}

impl Coded for SharedBlinding {
    fn detail(&self) -> Detail {
        code("shared-blinding").party(self.party)
    }
}

impl Coded for AdmitError {
    fn detail(&self) -> Detail {
        match self {
            Self::NotMember { party } => code("not-a-member").party(*party),
            Self::NoShares { party } => code("holds-no-shares").party(*party),
            Self::ShareCount { got, need } => code("wrong-count").need(need).got(got),
            Self::Possession => code("possession-mismatch"),
            Self::Mismatch => code("share-mismatch"),
        }
    }
}

impl Coded for InsertError {
    fn detail(&self) -> Detail {
        match self {
            Self::OtherCommittee { party } => code("other-committee").party(*party),
            Self::Duplicate { party } => code("duplicate-key").party(*party),
        }
    }
}

impl Coded for wvuf::PartialError {
    fn detail(&self) -> Detail {
        match self {
            Self::NotAdmitted { party } => code("not-admitted").party(*party),
            Self::Mismatch { party } => code("partial-mismatch").party(*party),
        }
    }
}

impl Coded for wvuf::NotAdmitted {
    fn detail(&self) -> Detail {
        code("not-admitted").party(self.party)
    }
}

impl Coded for CombinationError {
    fn detail(&self) -> Detail {
        match self {
            Self::OtherCommittee => code("other-committee"),
            Self::Missing { party } => code("partial-missing").party(*party),
        }
    }
}

impl Coded for AuditError {
    fn detail(&self) -> Detail {
        match self {
            Self::PublicShares { got, need } => code("wrong-count").need(need).got(got),
            Self::Threshold { got, need } => code("threshold-range").need(need).got(got),
            Self::IdentityShare { index } => code("identity").index(index),
            Self::GroupIdentity => code("identity"),
            Self::Possession { party } => code("possession-mismatch").party(*party),
            Self::SharedBlinding { party } => code("shared-blinding").party(*party),
            Self::NotMember { party } => code("not-a-member").party(*party),
            Self::ShareCount { party, got, need } => {
                code("wrong-count").party(*party).need(need).got(got)
            }
            Self::NoShares { party } => code("holds-no-shares").party(*party),
            Self::Share { party, index } => code("share-mismatch").party(*party).index(index),
            Self::Partial { party } => code("partial-mismatch").party(*party),
            Self::UnknownPartial { party } => code("not-admitted").party(*party),
            Self::BelowThreshold { got, need } => code("below-threshold").need(need).got(got),
            Self::Output => code("output-mismatch"),
        }
    }
}

impl Coded for KeyError {
    fn detail(&self) -> Detail {
        match self {
            Self::Identity => code("identity"),
            Self::Halves => code("key-halves"),
        }
    }
}

impl Coded for elgamal::CommitteeError {
    fn detail(&self) -> Detail {
        match self {
            Self::Threshold(error) => error.detail(),
            Self::Key(error) => error.detail(),
            Self::Shares { got, need } => code("threshold-total").need(need).got(got),
            Self::ShareKeys { got, need } => code("wrong-count").need(need).got(got),
            Self::Degree { t } => code("degree-too-high").need(t),
        }
    }
}

impl Coded for KeySharesError {
    fn detail(&self) -> Detail {
        match self {
            Self::NotMember { party } => code("not-a-member").party(*party),
            Self::NoShares { party } => code("holds-no-shares").party(*party),
            Self::Count { got, need } => code("wrong-count").need(need).got(got),
            Self::Mismatch { index } => code("share-mismatch").index(index),
        }
    }
}

impl Coded for StoredKeyError {
    fn detail(&self) -> Detail {
        match self {
            Self::Decode(error) => error.detail(),
            Self::Shares(error) => error.detail(),
        }
    }
}

impl Coded for OtherKey {
    fn detail(&self) -> Detail {
        code("other-key")
    }
}

impl Coded for elgamal::ShareError {
    fn detail(&self) -> Detail {
        match self {
            Self::NotMember { party } => code("not-a-member").party(*party),
            Self::Count { party, got, need } => {
                code("wrong-count").party(*party).need(need).got(got)
            }
            Self::Mismatch { party } => code("partial-mismatch").party(*party),
            Self::OtherKey(error) => error.detail(),
        }
    }
}

impl Coded for CombineError {
    fn detail(&self) -> Detail {
        match self {
            Self::Faulty { culprits } => code("faulty").culprits(culprits),
            Self::Unopenable(error) => error.detail(),
        }
    }
}

impl Coded for LabelError {
    fn detail(&self) -> Detail {
        code("too-long").need(&self.max).got(&self.got)
    }
}

impl Coded for EncryptError {
    fn detail(&self) -> Detail {
        match self {
            Self::Plaintext(error) => error.detail(),
            Self::Randomness(error) => error.detail(),
        }
    }
}

impl Coded for PlaintextError {
    fn detail(&self) -> Detail {
        code("too-long").need(&self.max).got(&self.got)
    }
}

impl Coded for InvalidCiphertext {
    fn detail(&self) -> Detail {
        code("invalid-ciphertext")
    }
}

impl Coded for Unopenable {
    fn detail(&self) -> Detail {
        code("cannot-decrypt")
    }
}

impl Coded for WrongOpening {
    fn detail(&self) -> Detail {
        code("wrong-opening")
    }
}

impl Coded for DecryptError {
    fn detail(&self) -> Detail {
        code("cannot-decrypt")
    }
}
