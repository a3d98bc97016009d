//! Errors of `prefinal_weighted_rounding`.
use prefinal_weighted_rounding::verify::{Breach, Counterexample, VerifyError};
use prefinal_weighted_rounding::{PairError, ProfileError, RatioError, SolveError};

use crate::detail::{Coded, Detail, code};

impl Coded for RatioError {
    fn detail(&self) -> Detail {
        match self {
            Self::ZeroDenominator { .. } => code("zero-denominator"),
            Self::AboveOne { .. } => code("ratio-above-one"),
            Self::NotAFraction => code("not-a-fraction"),
        }
    }
}

impl Coded for PairError {
    fn detail(&self) -> Detail {
        match self {
            Self::Order { .. } => code("ratio-order"),
            Self::NoSecrecy { .. } => code("ratio-zero"),
        }
    }
}

impl Coded for ProfileError {
    fn detail(&self) -> Detail {
        match self {
            Self::NoPairs => code("no-pairs"),
            Self::DuplicateName { .. } => code("duplicate-name"),
        }
    }
}

impl Coded for SolveError {
    fn detail(&self) -> Detail {
        match self {
            Self::NoParties => code("no-parties"),
            Self::ZeroTotal { .. } => code("no-stake"),
            Self::TotalOverflow { party } => code("stake-overflow").index(party),
            Self::NothingFound { searched } => code("no-rounding").got(searched),
            Self::OutOfSteps { tried, .. } => code("out-of-steps").got(tried),
            Self::BudgetTooSmall { budget, least, .. } => {
                code("budget-too-small").need(least).got(budget)
            }
            Self::Unsound(error) => error.detail(),
        }
    }
}

impl Coded for VerifyError {
    fn detail(&self) -> Detail {
        match self {
            Self::Lengths { stakes, weights } => code("wrong-count").need(stakes).got(weights),
            Self::ZeroTotal { .. } => code("no-stake"),
            Self::StakeOverflow { party } => code("stake-overflow").index(party),
            Self::TotalTooLarge { total } => code("too-many-shares").got(total),
            Self::ThresholdOutOfRange { threshold, total, .. } => {
                code("threshold-range").need(total).got(threshold)
            }
            Self::Refuted(example) => example.detail(),
        }
    }
}

/// `need` is the threshold, `got` the weight of the set.
impl Coded for Counterexample {
    fn detail(&self) -> Detail {
        let code = match self.breach {
            Breach::Leak => code("rounding-leaks"),
            Breach::Stall => code("rounding-stalls"),
        };
        code.need(&self.threshold).got(&self.weight).culprits(&self.parties)
    }
}
