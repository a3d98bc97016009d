//! Errors of a light client.
use prefinal_light::{
    AccountClaimError, AccountError, BeaconError, BlockError, EndingError, LightProofError,
    LightWireError, MembersError, TrustError, VufKeysError, VufValueError,
};

use crate::detail::{Coded, Detail};

impl Coded for MembersError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Place { party, parties } => plain.party(*party).need(parties),
            Self::Possession { party, .. } => plain.party(*party),
            Self::Electorate(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for TrustError {
    fn detail(&self) -> Detail {
        match self {
            Self::Committee(error) => error.detail(),
            _ => Detail::of(self.code()),
        }
    }
}

impl Coded for BlockError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Epoch { here, got } => plain.need(&here.get()).got(&got.get()),
            Self::BeforeEpoch { first, got } => plain.need(&first.get()).got(&got.get()),
            Self::Certificate(error) => error.detail(),
            Self::Signature(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for EndingError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Block(error) => error.detail(),
            Self::First { first, slot } => plain.need(&slot.get()).got(&first.get()),
            Self::Handover(error) => error.detail(),
            Self::Members(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for VufKeysError {
    fn detail(&self) -> Detail {
        match self {
            Self::Weights(error) => error.detail(),
            Self::Threshold(error) => error.detail(),
            Self::Committee(error) => error.detail(),
            Self::Blinded { party, error } => error.detail().party(*party),
            Self::SharedBlinding(error) => error.detail(),
            Self::Insert(error) => error.detail(),
            _ => Detail::of(self.code()),
        }
    }
}

impl Coded for VufValueError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Epoch { here, got } => plain.need(&here.get()).got(&got.get()),
            Self::BeforeEpoch { first, got } => plain.need(&first.get()).got(&got.get()),
            Self::Partials(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for AccountError {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).need(&16_u8).got(&self.got)
    }
}

impl Coded for AccountClaimError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Account(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for BeaconError {
    fn detail(&self) -> Detail {
        match self {
            Self::Signature(error) => error.detail(),
            _ => Detail::of(self.code()),
        }
    }
}

impl Coded for LightProofError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Ending { at, error } => error.detail().index(at),
            Self::Block(error) => error.detail(),
            Self::Claim { at, .. } => plain.index(at),
            _ => plain,
        }
    }
}

impl Coded for LightWireError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::TooLong { got, most } => plain.need(most).got(got),
            Self::Truncated { got } => plain.need(&2_u8).got(got),
            Self::Version { got } => plain.got(got),
            Self::Kind { expected, got } => plain.need(expected).got(got),
            _ => plain,
        }
    }
}
