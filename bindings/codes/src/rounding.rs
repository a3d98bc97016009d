//! Errors of `prefinal_weighted_rounding`.
use prefinal_weighted_rounding::verify::{Counterexample, VerifyError};
use prefinal_weighted_rounding::{PairError, ProfileError, RatioError, SolveError};

use crate::detail::{Coded, Detail};

impl Coded for RatioError {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for PairError {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for ProfileError {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for SolveError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::TotalOverflow { party } => plain.index(party),
            Self::NothingFound { searched } => plain.got(searched),
            Self::OutOfSteps { tried, .. } => plain.got(tried),
            Self::BudgetTooSmall { budget, least, .. } => plain.need(least).got(budget),
            Self::Unsound(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for VerifyError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Lengths { stakes, weights } => plain.need(stakes).got(weights),
            Self::StakeOverflow { party } => plain.index(party),
            Self::TotalTooLarge { total } => plain.got(total),
            Self::ThresholdOutOfRange { threshold, total, .. } => plain.need(total).got(threshold),
            Self::Refuted(example) => example.detail(),
            _ => plain,
        }
    }
}

/// `need` is the threshold, `got` the weight of the set.
impl Coded for Counterexample {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).need(&self.threshold).got(&self.weight).culprits(&self.parties)
    }
}
