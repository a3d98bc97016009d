//! Errors of age files that open with a round.
use prefinal_timelock::{ChainError, OpenError, Refusal};

use crate::detail::{Coded, Detail};

impl Coded for ChainError {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for OpenError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::HeaderBytes { most } => plain.need(most),
            Self::HeaderLines { most } | Self::Stanzas { most } => plain.need(most),
            Self::Refused(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for Refusal {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Signature(error) | Self::Body(error) => error.detail(),
            _ => plain,
        }
    }
}
