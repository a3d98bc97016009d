//! What makes a value final, in stake, and what that asks of thresholds in weight.
//!
//! An engine counts stake, partials are counted by weight. A partial that leaves on prefinalize is safe
//! only because a party that gathers enough of them has gathered a quorum of votes as well; and an output is
//! sure to come only if the honest alone suffice for it. With `X` all stake, `q` the least stake that
//! makes a value final (`t_fin` of Definition 5) and `f` the most that may be faulty:
//!
//! | path  | no set below this stake opens it | every set of this stake opens it |
//! |-------|----------------------------------|----------------------------------|
//! | slow  | `f + 1`                          | `X − f`                          |
//! | fast  | `q`                              | (up to everything)               |
//! | tight | `q`                              | `X − f`                          |
//!
//! Where weight *is* stake the threshold is the amount. Where it was rounded, [`Separation`] says which
//! stake a threshold stands for, over all sets of parties.
//!
//! Weights for which this holds come from `weighted_rounding`.
use alloc::sync::Arc;
use core::fmt;

use protocol::Party;
use weighted_rounding::verify::VerifyError;
use weighted_rounding::{Ratio, Rounding, Separation, Stake, Weight};

use crate::Path;

/// What an engine's finality rests on, as shares of all stake. A property of the engine, and no setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quorum {
    above: Ratio,
    faulty_below: Ratio,
}

/// The stake that the engine counts, the weight that partials count, and what makes a value final.
#[derive(Clone, Debug)]
pub struct Finality {
    stakes: Arc<[Stake]>,
    /// `None` if every party's weight is its stake.
    rounded: Option<Arc<Separation>>,
    total: u128,
    quorum: u128,
    faulty: u128,
}

/// A threshold both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// What the engine counts.
    pub stake: u128,
    /// What partials count.
    pub weight: u128,
}

/// Why a stake table and a quorum say nothing about thresholds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FinalityError {
    /// Stakes and weights do not fit together, or are too large.
    #[error(transparent)]
    Weights(#[from] VerifyError),
    /// No value would ever be final while all that may be faulty are silent.
    #[error("finality takes a stake of {quorum}, the honest alone hold {honest}")]
    Unreachable {
        /// What finality takes.
        quorum: u128,
        /// What is honest at least.
        honest: u128,
    },
}

/// Why a threshold does not fit what makes a value final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdError {
    /// The output would be out before its value is final; on the slow path, before anybody honest says so.
    #[error("{path} path opens from {got} on, and must not before {need}")]
    OpensEarly {
        /// The path whose threshold it is.
        path: Path,
        /// The threshold, and the least stake that reaches it.
        got: Amount,
        /// The least stake that may open it, and the threshold for it.
        need: Amount,
    },
    /// The honest alone would not get the output.
    #[error("{path} path opens for sure from {got} on, and the honest alone hold {most}")]
    OpensNever {
        /// The path whose threshold it is.
        path: Path,
        /// The threshold, and the least stake that reaches it however it is spread.
        got: Amount,
        /// What is honest at least, and the threshold that it reaches.
        most: Amount,
    },
}

impl Quorum {
    /// More than two thirds make a value final, and less than one third may be faulty.
    pub const BYZANTINE: Self = Self { above: Ratio::TWO_THIRDS, faulty_below: Ratio::ONE_THIRD };

    /// Finality takes *more* than the one share, and *less* than the other may be faulty.
    ///
    /// ```
    /// # use contract::Quorum;
    /// # use weighted_rounding::Ratio;
    /// // One round of voting, n ≥ 5f + 1.
    /// let fast = Quorum::new(Ratio::new(4, 5)?, Ratio::new(1, 5)?);
    /// assert_ne!(fast, Quorum::BYZANTINE);
    /// # Ok::<(), weighted_rounding::RatioError>(())
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
    /// For partials that are counted in exact stake: multi-signatures, or as many shares as there are
    /// units of stake.
    ///
    /// # Errors
    /// If there is no stake, more than 128 bits hold, or finality is out of reach.
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

    /// For partials that are counted in weights that were made of the stakes.
    ///
    /// # Errors
    /// If there is not one weight for each stake, one of them does not add up, or finality is out of
    /// reach.
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

    /// The stake that is honest at least.
    #[must_use]
    pub const fn honest(&self) -> Stake {
        Stake::new(self.total.saturating_sub(self.faulty))
    }

    /// A party's stake; nothing for one that is not of the committee.
    #[must_use]
    pub fn stake(&self, party: Party) -> Stake {
        self.stakes.get(party.index()).copied().unwrap_or(Stake::ZERO)
    }

    /// How many parties there are.
    #[must_use]
    pub fn parties(&self) -> usize {
        self.stakes.len()
    }

    /// The stake of peers among whom, whoever they are, an honest one has voted for what this party saw
    /// become final: more than `X − q + f`, or all peers if they hold less.
    #[must_use]
    pub fn witnesses(&self, party: Party) -> Stake {
        let others = self.total.saturating_sub(self.stake(party).get());
        let silent = self.total.saturating_sub(self.quorum).saturating_add(self.faulty);
        Stake::new(others.min(silent.saturating_add(1)))
    }

    /// All stake.
    #[must_use]
    pub const fn total(&self) -> Stake {
        Stake::new(self.total)
    }

    /// Checks the threshold, in weight, from which one path's partials give the output.
    ///
    /// # Errors
    /// If it opens before finality, or the honest alone do not reach it.
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
        if path == Path::Fast {
            return Ok(());
        }
        let stake = self.honest().get();
        let got = Amount { stake: self.least_sufficient(threshold), weight: threshold };
        if got.stake > stake {
            let most = Amount { stake, weight: self.most_reached(stake) };
            return Err(ThresholdError::OpensNever { path, got, most });
        }
        Ok(())
    }

    /// The weight that a party's partials count; nothing for one that is not of the committee.
    #[must_use]
    pub fn weight(&self, party: Party) -> u128 {
        match &self.rounded {
            None => self.stake(party).get(),
            Some(separation) => {
                separation.weights().get(party.index()).map_or(0, |weight| weight.get().into())
            }
        }
    }

    /// The least stake that reaches a threshold. Nobody reaches more than there is.
    fn least_leaking(&self, threshold: u128) -> u128 {
        let Some(separation) = &self.rounded else { return threshold };
        narrow(threshold).and_then(|at| separation.least_leaking(at)).map_or(u128::MAX, Stake::get)
    }

    /// The stake from which every set reaches a threshold.
    fn least_sufficient(&self, threshold: u128) -> u128 {
        let Some(separation) = &self.rounded else { return threshold };
        let least = narrow(threshold).and_then(|at| separation.least_sufficient(at));
        least.map_or(u128::MAX, Stake::get)
    }

    fn least_safe(&self, stake: u128) -> u128 {
        let Some(separation) = &self.rounded else { return stake };
        let least = separation.least_safe(Stake::new(stake));
        // Where a quorum can be had from who holds no share, no threshold is safe.
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
