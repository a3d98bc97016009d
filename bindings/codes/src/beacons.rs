//! Errors of a beacon's configuration and of what it shows.
use prefinal_beacon::{
    ConfigError, ContentError, FinalityError, KeyError, OtherGroupKey, PartialsError, ShapeError,
    ShownError, ThresholdError, Unopened, Unusable,
};

use crate::detail::{Coded, Detail, code};

impl Coded for ConfigError {
    fn detail(&self) -> Detail {
        match self {
            Self::NotMember { party, members, .. } => {
                code("not-a-member").party(*party).need(members)
            }
            Self::Members { slow, fast } => code("wrong-count").need(slow).got(fast),
            Self::Stakes { parties, stakes, .. } => code("wrong-count").need(parties).got(stakes),
            Self::Weight { party, got, expected, .. } => {
                code("weight-mismatch").party(*party).need(expected).got(got)
            }
            Self::Threshold(error) => error.detail(),
            Self::Thresholds { slow, fast } => code("threshold-order").need(slow).got(fast),
            Self::SharedBlinding { party } => code("shared-blinding").party(*party),
            Self::SharedShare { party } => code("shared-share").party(*party),
            Self::GroupKeys => code("other-key"),
            Self::WrongKey { .. } => code("share-mismatch"),
            Self::OnePath => code("one-path"),
            Self::Bounds => code("different-bounds"),
            Self::Unbound => code("value-unbound"),
            Self::Purpose { .. } => code("wrong-purpose"),
            Self::FirstLife { records } => code("not-first-life").got(records),
            Self::LastSlot { .. } => code("last-slot"),
            Self::NoInput { .. } => code("no-input"),
            Self::NoRounds => code("no-rounds"),
        }
    }
}

impl Coded for ThresholdError {
    fn detail(&self) -> Detail {
        match self {
            Self::OpensEarly { got, need, .. } => {
                code("threshold-leaks").need(&need.weight).got(&got.weight)
            }
            Self::OpensNever { got, most, .. } => {
                code("threshold-stalls").need(&most.weight).got(&got.weight)
            }
        }
    }
}

impl Coded for FinalityError {
    fn detail(&self) -> Detail {
        match self {
            Self::Weights(error) => error.detail(),
            Self::Unreachable { quorum, honest } => {
                code("quorum-unreachable").need(quorum).got(honest)
            }
        }
    }
}

impl Coded for PartialsError {
    fn detail(&self) -> Detail {
        match self {
            Self::Input => code("wrong-purpose"),
            Self::NotCounted { party } => code("not-admitted").party(*party),
            Self::BelowThreshold { got, need } => code("below-threshold").need(need).got(got),
            Self::Faulty { culprits } => code("faulty").culprits(culprits),
        }
    }
}

impl Coded for ShownError {
    fn detail(&self) -> Detail {
        match self {
            Self::NotCounted => code("not-admitted"),
            Self::False => code("output-mismatch"),
        }
    }
}

impl Coded for ShapeError {
    fn detail(&self) -> Detail {
        match self {
            Self::Points { got, need } => code("wrong-count").need(need).got(got),
            Self::Ciphertexts { got, most } => code("count-too-large").need(most).got(got),
        }
    }
}

impl Coded for OtherGroupKey {
    fn detail(&self) -> Detail {
        code("other-key")
    }
}

impl Coded for ContentError {
    fn detail(&self) -> Detail {
        match self {
            Self::Elsewhere { .. } => code("other-session"),
            Self::OtherValue { .. } => code("other-value"),
            Self::TooFar { .. } => code("slot-too-far"),
            Self::TooMany { most, .. } => code("count-too-large").need(most),
        }
    }
}

impl Coded for KeyError {
    fn detail(&self) -> Detail {
        match self {
            Self::UnusedPath { .. } => code("unused-path"),
            Self::OtherCommittee { party } => code("other-committee").party(*party),
            Self::Duplicate { party } => code("duplicate-key").party(*party),
            Self::SharedBlinding { party } => code("shared-blinding").party(*party),
        }
    }
}

impl Coded for Unusable {
    fn detail(&self) -> Detail {
        match self {
            Self::TooMany { position, most } => code("count-too-large").index(position).need(most),
            Self::TooLong { got, most } => code("too-long").need(most).got(got),
            Self::Undecodable | Self::Invalid => code("invalid-ciphertext"),
        }
    }
}

impl Coded for Unopened {
    fn detail(&self) -> Detail {
        match self {
            Self::Unusable(error) => error.detail(),
            Self::Broken(error) => error.detail(),
        }
    }
}
