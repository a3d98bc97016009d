//! The stake that makes a value final, and the thresholds in weight that fit it.
//!
//! An engine counts stake; partials are counted by weight. A partial that leaves on prefinalize is safe only
//! because a party that has gathered enough partials has also gathered a quorum of votes. And an output is
//! certain to come only if the honest parties alone suffice for it. Let `X` be all stake, `q` the least stake
//! that makes a value final (`t_fin` of Definition 5), and `f` the most stake that may be faulty:
//!
//! | path  | no set below this stake opens it | every set of this stake opens it |
//! |-------|----------------------------------|----------------------------------|
//! | slow  | `f + 1`                          | `X − f`                          |
//! | fast  | `q`                              | (up to everything)               |
//! | tight | `q`                              | `q`, so that a party that knows a value to be final has its output |
//!
//! If weight *is* stake, the threshold is the amount in the table. If stake was rounded to weight,
//! [`Separation`] says which stake a threshold stands for, over all sets of parties.
//!
//! Weights for which this holds come from `prefinal_weighted_rounding`.
use alloc::sync::Arc;
use core::fmt;

use prefinal_protocol::Party;
use prefinal_weighted_rounding::verify::VerifyError;
use prefinal_weighted_rounding::{Ratio, Rounding, Separation, Stake, Weight};

use crate::Path;

/// The shares of all stake on which an engine's finality rests. A property of the engine, not a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quorum {
    above: Ratio,
    faulty_below: Ratio,
}

/// The stake that the engine counts, the weight that partials count, and the stake that makes a value final.
///
/// ```
/// use prefinal_contract::{Finality, Path, Quorum};
/// use prefinal_weighted_rounding::Stake;
/// let finality = Finality::exact(&[40, 30, 20, 10].map(Stake::new), Quorum::BYZANTINE)?;
/// assert_eq!(finality.quorum(), Stake::new(67));
/// assert!(finality.check(Path::Fast, 67).is_ok());
/// // With less, partials could suffice before a value is final.
/// assert!(finality.check(Path::Fast, 66).is_err());
/// # Ok::<(), prefinal_contract::FinalityError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Finality {
    stakes: Arc<[Stake]>,
    /// `None` if the weight of every party is its stake.
    rounded: Option<Arc<Separation>>,
    total: u128,
    quorum: u128,
    faulty: u128,
}

/// One threshold, in stake and in weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// The threshold as the engine counts it.
    pub stake: u128,
    /// The threshold as partials are counted.
    pub weight: u128,
}

/// Why a stake table and a quorum do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FinalityError {
    /// Stakes and weights do not fit together, or they are too large.
    #[error(transparent)]
    Weights(#[from] VerifyError),
    /// While all parties that may be faulty are silent, no value would ever become final.
    #[error("finality takes a stake of {quorum}, the honest alone hold {honest}")]
    Unreachable {
        /// The least stake that makes a value final.
        quorum: u128,
        /// The least stake that is honest.
        honest: u128,
    },
}

impl FinalityError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Weights(error) => error.code(),
            Self::Unreachable { .. } => "quorum-unreachable",
        }
    }
}

/// Why a threshold does not fit the stake that makes a value final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ThresholdError {
    /// The output could be computed before its value is final; on the slow path, before any honest party
    /// says that it is final.
    #[error("{path} path opens from {got} on, and must not before {need}")]
    OpensEarly {
        /// The path that the threshold belongs to.
        path: Path,
        /// The threshold, and the least stake that reaches it.
        got: Amount,
        /// The least stake that may open the path, and the threshold for it.
        need: Amount,
    },
    /// Those who must suffice could not compute the output: the honest parties alone; with tight thresholds a quorum.
    #[error("{path} path opens for sure from {got} on, and must from {most} on")]
    OpensNever {
        /// The path that the threshold belongs to.
        path: Path,
        /// The threshold, and the least stake that always reaches it, however the stake is spread.
        got: Amount,
        /// The stake that must suffice, and the threshold that it reaches.
        most: Amount,
    },
}

impl ThresholdError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::OpensEarly { .. } => "threshold-leaks",
            Self::OpensNever { .. } => "threshold-stalls",
        }
    }
}

impl Quorum {
    /// More than two thirds make a value final, and less than one third may be faulty.
    pub const BYZANTINE: Self = Self { above: Ratio::TWO_THIRDS, faulty_below: Ratio::ONE_THIRD };

    /// Finality takes *more* than the share `above`. *Less* than the share `faulty_below` may be faulty.
    ///
    /// ```
    /// # use prefinal_contract::Quorum;
    /// # use prefinal_weighted_rounding::Ratio;
    /// // One round of voting, n ≥ 5f + 1.
    /// let fast = Quorum::new(Ratio::new(4, 5)?, Ratio::new(1, 5)?);
    /// assert_ne!(fast, Quorum::BYZANTINE);
    /// # Ok::<(), prefinal_weighted_rounding::RatioError>(())
    /// ```
    #[must_use]
    pub const fn new(above: Ratio, faulty_below: Ratio) -> Self {
        Self { above, faulty_below }
    }

    /// The least stake that makes a value final: `⌊above · total⌋ + 1`.
    #[must_use]
    pub fn of(self, total: Stake) -> Stake {
        Stake::new(self.above.floor_of(total.get()).saturating_add(1))
    }

    /// The most stake that may be faulty: `⌈faulty_below · total⌉ − 1`.
    #[must_use]
    pub fn faulty(self, total: Stake) -> Stake {
        Stake::new(self.faulty_below.ceil_of(total.get()).saturating_sub(1))
    }
}

impl Finality {
    /// For partials that are counted in exact stake: multi-signatures, or one share for each unit of stake.
    ///
    /// # Errors
    /// If there is no stake, if the sum exceeds 128 bits, or if finality is out of reach.
    pub fn exact(stakes: &[Stake], quorum: Quorum) -> Result<Self, FinalityError> {
        Self::new(stakes, None, quorum)
    }

    /// For partials that are counted in the weights of a rounding.
    ///
    /// # Errors
    /// If finality is out of reach.
    pub fn of_rounding(rounding: &Rounding, quorum: Quorum) -> Result<Self, FinalityError> {
        Self::rounded(rounding.stakes(), rounding.weights(), quorum)
    }

    /// For partials that are counted in weights that were computed from the stakes.
    ///
    /// # Errors
    /// If there is not one weight for each stake, if one of the sums is wrong or too large, or if finality is
    /// out of reach.
    pub fn rounded(
        stakes: &[Stake],
        weights: &[Weight],
        quorum: Quorum,
    ) -> Result<Self, FinalityError> {
        let separation = Separation::new(stakes, weights)?;
        Self::new(stakes, Some(Arc::new(separation)), quorum)
    }

    fn new(
        stakes: &[Stake],
        rounded: Option<Arc<Separation>>,
        quorum: Quorum,
    ) -> Result<Self, FinalityError> {
        let mut total = Stake::ZERO;
        for (party, stake) in stakes.iter().enumerate() {
            total = total.checked_add(*stake).ok_or(VerifyError::StakeOverflow { party })?;
        }
        if total == Stake::ZERO {
            return Err(VerifyError::ZeroTotal { parties: stakes.len() }.into());
        }
        let (total, needed) = (total.get(), quorum.of(total).get());
        let faulty = quorum.faulty(Stake::new(total)).get();
        let honest = total.saturating_sub(faulty);
        if needed > honest {
            return Err(FinalityError::Unreachable { quorum: needed, honest });
        }
        Ok(Self { stakes: stakes.into(), rounded, total, quorum: needed, faulty })
    }

    /// The least stake that makes a value final.
    #[must_use]
    pub const fn quorum(&self) -> Stake {
        Stake::new(self.quorum)
    }

    /// The most stake that may be faulty.
    #[must_use]
    pub const fn faulty(&self) -> Stake {
        Stake::new(self.faulty)
    }

    /// The least stake that is honest.
    #[must_use]
    pub const fn honest(&self) -> Stake {
        Stake::new(self.total.saturating_sub(self.faulty))
    }

    /// A party's stake; 0 for a party that is not in the committee.
    #[must_use]
    pub fn stake(&self, party: Party) -> Stake {
        self.stakes.get(party.index()).copied().unwrap_or(Stake::ZERO)
    }

    /// How many parties there are.
    #[must_use]
    pub fn parties(&self) -> usize {
        self.stakes.len()
    }

    /// The stake of peers that must be asked about what this party saw become final. In any set of peers with
    /// this stake, at least one honest peer has voted for it. It is more than `X − q + f`, or all peers if
    /// they hold less.
    #[must_use]
    pub fn witnesses(&self, party: Party) -> Stake {
        let others = self.total.saturating_sub(self.stake(party).get());
        let silent = self.total.saturating_sub(self.quorum).saturating_add(self.faulty);
        Stake::new(others.min(silent.saturating_add(1)))
    }

    /// The stake of all parties together.
    #[must_use]
    pub const fn total(&self) -> Stake {
        Stake::new(self.total)
    }

    /// Checks the threshold of one path. It is the weight from which partials give the output.
    ///
    /// # Errors
    /// If the path opens before finality, or if the honest parties alone do not reach the threshold; on the tight path,
    /// if a quorum does not.
    pub fn check(&self, path: Path, threshold: u128) -> Result<(), ThresholdError> {
        self.check_secrecy(path, threshold)?;
        self.check_reconstruction(path, threshold)
    }

    fn check_secrecy(&self, path: Path, threshold: u128) -> Result<(), ThresholdError> {
        let stake = match path {
            Path::Slow => self.faulty.saturating_add(1),
            Path::Fast | Path::Tight => self.quorum,
        };
        let got = Amount { stake: self.least_leaking(threshold), weight: threshold };
        if got.stake < stake {
            let need = Amount { stake, weight: self.least_safe(stake) };
            return Err(ThresholdError::OpensEarly { path, got, need });
        }
        Ok(())
    }

    fn check_reconstruction(&self, path: Path, threshold: u128) -> Result<(), ThresholdError> {
        let stake = match path {
            Path::Fast => return Ok(()),
            Path::Slow => self.honest().get(),
            Path::Tight => self.quorum,
        };
        let got = Amount { stake: self.least_sufficient(threshold), weight: threshold };
        if got.stake > stake {
            let most = Amount { stake, weight: self.most_reached(stake) };
            return Err(ThresholdError::OpensNever { path, got, most });
        }
        Ok(())
    }

    /// The weight of a party's partials; 0 for a party that is not in the committee.
    #[must_use]
    pub fn weight(&self, party: Party) -> u128 {
        match &self.rounded {
            None => self.stake(party).get(),
            Some(separation) => {
                separation.weights().get(party.index()).map_or(0, |weight| weight.get().into())
            }
        }
    }

    /// The least stake that reaches a threshold. `u128::MAX` if all parties together do not reach it.
    fn least_leaking(&self, threshold: u128) -> u128 {
        let Some(separation) = &self.rounded else { return threshold };
        narrow(threshold).and_then(|at| separation.least_leaking(at)).map_or(u128::MAX, Stake::get)
    }

    /// The least stake from which every set reaches a threshold.
    fn least_sufficient(&self, threshold: u128) -> u128 {
        let Some(separation) = &self.rounded else { return threshold };
        let least = narrow(threshold).and_then(|at| separation.least_sufficient(at));
        least.map_or(u128::MAX, Stake::get)
    }

    fn least_safe(&self, stake: u128) -> u128 {
        let Some(separation) = &self.rounded else { return stake };
        let least = separation.least_safe(Stake::new(stake));
        // If parties without shares can form a quorum, no threshold is safe.
        least.map_or_else(|| u128::from(separation.total().get()).saturating_add(1), wide)
    }

    fn most_reached(&self, stake: u128) -> u128 {
        let Some(separation) = &self.rounded else { return stake };
        wide(separation.most_reached(Stake::new(stake)))
    }
}

fn narrow(threshold: u128) -> Option<Weight> {
    u32::try_from(threshold).ok().map(Weight::new)
}

fn wide(weight: Weight) -> u128 {
    weight.get().into()
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a stake of {} (weight {})", self.stake, self.weight)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_quorum_is_more_and_the_faulty_are_less() {
        for total in 1..40_u128 {
            let quorum = Quorum::BYZANTINE.of(Stake::new(total)).get();
            assert!(3 * quorum > 2 * total && 3 * (quorum - 1) <= 2 * total, "{total}");
            let faulty = Quorum::BYZANTINE.faulty(Stake::new(total)).get();
            assert!(3 * faulty < total && 3 * (faulty + 1) >= total, "{total}");
            assert_eq!(quorum, total - faulty);
        }
    }

    #[test]
    fn finality_that_the_honest_cannot_reach_is_refused() {
        let stakes = [1; 10].map(Stake::new);
        let greedy = Quorum::new(Ratio::new(4, 5).unwrap(), Ratio::ONE_THIRD);
        let error = Finality::exact(&stakes, greedy).unwrap_err();
        assert_eq!(error, FinalityError::Unreachable { quorum: 9, honest: 7 });
        let enough = Quorum::new(Ratio::new(4, 5).unwrap(), Ratio::new(1, 5).unwrap());
        assert_eq!(Finality::exact(&stakes, enough).unwrap().quorum(), Stake::new(9));
    }
}
