//! The two ways in which a command fails, each with its exit code.

use std::fmt;

use prefinal_crypto_core::access::Party;

use prefinal_registry::chronicle::Unverified;

use crate::global::TimesError;
use crate::stakes::StakesError;
use prefinal_validator::HaltError;

/// Why a command fails.
#[derive(Debug)]
pub enum Failure {
    /// The input is bad: one line says what and where. Exit code 2.
    BadInput(String),
    /// Parties disagree, or a value does not verify. Exit code 1.
    Disagreement(String),
}

impl Failure {
    /// A party that got keys from its input, and can have no beacon.
    #[must_use]
    pub fn halted(party: Party, why: &HaltError) -> Self {
        Self::bad_input(format_args!("{party} stops: {why}"))
    }

    /// Bad input, in its own words.
    pub fn bad_input(what: impl fmt::Display) -> Self {
        Self::BadInput(what.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadInput(what) | Self::Disagreement(what) => f.write_str(what),
        }
    }
}

impl From<Unverified> for Failure {
    fn from(error: Unverified) -> Self {
        Self::Disagreement(error.to_string())
    }
}

impl From<TimesError> for Failure {
    fn from(error: TimesError) -> Self {
        Self::Disagreement(error.to_string())
    }
}

impl From<StakesError> for Failure {
    fn from(error: StakesError) -> Self {
        Self::bad_input(error)
    }
}
