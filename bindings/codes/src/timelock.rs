//! Errors of age files that open with a round.
use prefinal_timelock::{ChainError, OpenError, Refusal};

use crate::detail::{Coded, Detail, code};

impl Coded for ChainError {
    fn detail(&self) -> Detail {
        match self {
            Self::Json(_) => code("not-json"),
            Self::Field { .. } => code("invalid-field"),
            Self::Hash { .. } => code("wrong-chain-hash"),
            Self::Chained { .. } => code("chained-rounds"),
        }
    }
}

impl Coded for OpenError {
    fn detail(&self) -> Detail {
        match self {
            Self::Header(_) => code("not-an-age-file"),
            Self::HeaderBytes { most } => code("too-long").need(most),
            Self::HeaderLines { most } | Self::Stanzas { most } => {
                code("count-too-large").need(most)
            }
            Self::NoRound => code("not-to-a-round"),
            Self::Refused(error) => error.detail(),
            Self::Altered(_) => code("altered"),
            Self::Io(_) => code("input-output"),
        }
    }
}

impl Coded for Refusal {
    fn detail(&self) -> Detail {
        match self {
            Self::Arguments { .. } => code("not-to-a-round"),
            Self::Chain { .. } => code("other-chain"),
            Self::NoSignature { .. } => code("no-signature"),
            Self::Signature(error) | Self::Body(error) => error.detail(),
            Self::Round { .. } => code("signature-mismatch"),
            Self::Altered => code("altered"),
        }
    }
}
