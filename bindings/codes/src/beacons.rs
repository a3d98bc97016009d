//! Errors of a beacon's configuration and of what it shows.
use prefinal_beacon::{
    ConfigError, ContentError, FinalityError, KeyError, OtherGroupKey, OutputError, PartialsError,
    ShapeError, ThresholdError, Unopened, Unusable,
};

use crate::detail::{Coded, Detail};

impl Coded for ConfigError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::NotMember { party, members, .. } => plain.party(*party).need(members),
            Self::Members { slow, fast } => plain.need(slow).got(fast),
            Self::Stakes { parties, stakes, .. } => plain.need(parties).got(stakes),
            Self::Weight { party, got, expected, .. } => {
                plain.party(*party).need(expected).got(got)
            }
            Self::Threshold(error) => error.detail(),
            Self::Thresholds { slow, fast } => plain.need(slow).got(fast),
            Self::SharedBlinding { party } => plain.party(*party),
            Self::SharedShare { party } => plain.party(*party),
            Self::FirstLife { records } => plain.got(records),
            _ => plain,
        }
    }
}

impl Coded for ThresholdError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::OpensEarly { got, need, .. } => plain.need(&need.weight).got(&got.weight),
            Self::OpensNever { got, most, .. } => plain.need(&most.weight).got(&got.weight),
            _ => plain,
        }
    }
}

impl Coded for FinalityError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Weights(error) => error.detail(),
            Self::Unreachable { quorum, honest } => plain.need(quorum).got(honest),
            _ => plain,
        }
    }
}

impl Coded for PartialsError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::NotCounted { party } => plain.party(*party),
            Self::BelowThreshold { got, need } => plain.need(need).got(got),
            Self::Faulty { culprits } => plain.culprits(culprits),
            _ => plain,
        }
    }
}

impl Coded for OutputError {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for ShapeError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Points { got, need } => plain.need(need).got(got),
            Self::Ciphertexts { got, most } => plain.need(most).got(got),
            _ => plain,
        }
    }
}

impl Coded for OtherGroupKey {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for ContentError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::TooMany { most, .. } => plain.need(most),
            _ => plain,
        }
    }
}

impl Coded for KeyError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::OtherCommittee { party } => plain.party(*party),
            Self::Duplicate { party } => plain.party(*party),
            Self::SharedBlinding { party } => plain.party(*party),
            _ => plain,
        }
    }
}

impl Coded for Unusable {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::TooMany { position, most } => plain.index(position).need(most),
            Self::TooLong { got, most } => plain.need(most).got(got),
            _ => plain,
        }
    }
}

impl Coded for Unopened {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Unusable(error) => error.detail(),
            Self::Broken(error) => error.detail(),
            _ => plain,
        }
    }
}
