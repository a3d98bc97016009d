//! From stake to shares: how many shares each party holds, and how many rebuild the secret on each path.
//!
//! | stake is              | thresholds are             | constructor              |
//! |-----------------------|----------------------------|--------------------------|
//! | rounded to weights    | ramps, one for each path   | [`Shape::from_rounding`] |
//! | counted unit by unit  | tight, on one path         | [`Shape::tight`]         |
//! | not known here        | given, like the weights    | [`Shape::new`]           |
//!
//! The first two keep the stakes, and [`Config`](crate::Config) refuses members with other stakes. The
//! beacon, not this module, compares the guarantees of a rounding with an engine's finality.
//!
//! Share `k = 1, …, W` sits at `ω^(k−1)`, where `ω` is a root of unity of the least power of two `≥ W`.
//! A party of weight `w` holds `w` consecutive shares. Weight zero is normal and costs nothing.
use std::fmt;
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::{Access, AccessError, Party, Threshold, ThresholdError};
use prefinal_weighted_rounding::{Pair, Ratio, Rounding, Stake, Weight};
use thiserror::Error;

/// One of the two sharings of the one secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub enum SharePath {
    /// The sharing whose partials are released when a value is final.
    Slow,
    /// The sharing whose partials are released with the vote that may make a value final.
    Fast,
}

impl fmt::Display for SharePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slow => "slow",
            Self::Fast => "fast",
        })
    }
}

/// One value for each path.
///
/// ```
/// use prefinal_pvss_dkg::{Paths, SharePath};
/// let thresholds = Paths { slow: 9, fast: None };
/// assert_eq!(thresholds.get(SharePath::Slow), Some(&9));
/// assert_eq!(thresholds.get(SharePath::Fast), None); // no fast path
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paths<T> {
    /// The value of the slow path.
    pub slow: T,
    /// The value of the fast path, if there is one.
    pub fast: Option<T>,
}

impl<T> Paths<T> {
    /// All values, the slow path first.
    pub(crate) fn each(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.slow).chain(&self.fast)
    }

    /// The value of one path, if that path exists.
    #[must_use]
    pub const fn get(&self, path: SharePath) -> Option<&T> {
        match path {
            SharePath::Slow => Some(&self.slow),
            SharePath::Fast => self.fast.as_ref(),
        }
    }
}

/// Which party holds which shares, and how many shares rebuild the secret on each path.
///
/// ```
/// use prefinal_pvss_dkg::{Paths, Shape};
/// use prefinal_weighted_rounding::{Objective, Profile, Ratio, Rounding, Stake, Weight};
///
/// // From stake, by rounding.
/// let stakes = [41_000, 29_500, 20_700, 8_800].map(Stake::new);
/// let rounding = Rounding::solve(&stakes, &Profile::standard(), Objective::least_total())?;
/// let shape = Shape::from_rounding(&rounding)?;
/// assert_eq!(shape.weights(), rounding.weights());
///
/// // Four parties with a share each, of which three are needed.
/// let four = Shape::tight(&[1; 4].map(Stake::new), Ratio::HALF)?;
/// assert_eq!(four.slow().to_string(), "3 of 4");
///
/// let (slow, fast) = (Weight::new(4), Some(Weight::new(3)));
/// // Fast below slow.
/// assert!(Shape::new(&[5].map(Weight::new), Paths { slow, fast }).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Shape {
    access: Access,
    thresholds: Paths<Threshold>,
    /// The stakes that the weights were computed from, if known.
    stakes: Option<Arc<[Stake]>>,
}

/// Why weights and thresholds do not fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// Nobody would hold a share, or there are more parties or shares than are supported.
    #[error(transparent)]
    Weights(#[from] AccessError),
    /// The threshold is zero, or larger than the number of shares.
    #[error("{path} {error}")]
    Threshold {
        /// The path whose threshold is out of range.
        path: SharePath,
        /// The threshold and the number of shares.
        #[source]
        error: ThresholdError,
    },
    /// The fast threshold is below the slow one. What is released earlier must not be easier to rebuild.
    #[error("fast threshold {fast} is below slow threshold {slow}")]
    Order {
        /// Number of shares that reconstruct on the fast path.
        fast: u32,
        /// Number of shares that reconstruct on the slow path.
        slow: u32,
    },
    /// The rounding has no slow pair: it was made for another use.
    #[error("none of the rounding's {pairs} pairs is the slow one")]
    NoSlowPair {
        /// Number of pairs that it has.
        pairs: usize,
    },
    /// The rounding has a pair for neither path. Its threshold would be left out silently.
    #[error("pair {index} of the rounding's {pairs} is neither the slow nor the fast one")]
    OtherPair {
        /// The pair's place, from zero.
        index: usize,
        /// Number of pairs that the rounding has.
        pairs: usize,
    },
    /// This stake is too large to be counted unit by unit. It has to be rounded.
    #[error("{party} has a stake of {stake}, at most {most} units are counted as shares")]
    Stake {
        /// The party that has too much stake to count.
        party: Party,
        /// The stake of that party.
        stake: Stake,
        /// The largest number of shares that is supported.
        most: u32,
    },
}

impl ShapeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Weights(error) => error.code(),
            Self::Threshold { error, .. } => error.code(),
            Self::Order { .. } => "threshold-order",
            Self::NoSlowPair { .. } => "no-slow-pair",
            Self::OtherPair { .. } => "pair-of-no-path",
            Self::Stake { .. } => "too-many-shares",
        }
    }
}

impl Shape {
    /// A shape from a rounding: its weights, and the thresholds of its pairs named [`Pair::SLOW`] and,
    /// for a second sharing of the same secret, [`Pair::FAST`]. The order of the pairs does not matter.
    ///
    /// # Errors
    /// If there is no slow pair, if a pair is neither slow nor fast, if the fast threshold is below the
    /// slow one, or if there are more parties than are supported.
    pub fn from_rounding(rounding: &Rounding) -> Result<Self, ShapeError> {
        let pairs = rounding.guarantees().len();
        let known = [Pair::SLOW, Pair::FAST];
        let mut names = rounding.guarantees().iter().map(|guarantee| guarantee.name());
        if let Some(index) = names.position(|name| !known.contains(&name)) {
            return Err(ShapeError::OtherPair { index, pairs });
        }
        let slow = rounding.slow().ok_or(ShapeError::NoSlowPair { pairs })?.threshold();
        let fast = rounding.fast().map(|fast| fast.threshold());
        let shape = Self::new(rounding.weights(), Paths { slow, fast })?;
        Ok(Self { stakes: Some(rounding.stakes().into()), ..shape })
    }

    /// A shape with one share for each unit of stake, and one path. More than `above` of all stake
    /// rebuilds the secret, and nothing less does. For committees whose members have a stake of one, or
    /// of a few units.
    ///
    /// # Errors
    /// If nobody has stake, if there is more stake than shares are supported, or if all of it is not
    /// more than `above`.
    pub fn tight(stakes: &[Stake], above: Ratio) -> Result<Self, ShapeError> {
        let most = Access::MAX;
        let mut weights = Vec::with_capacity(stakes.len());
        for (party, stake) in (0..).map(Party::new).zip(stakes.iter().copied()) {
            let units = u32::try_from(stake.get()).ok().filter(|units| *units <= most);
            weights.push(Weight::new(units.ok_or(ShapeError::Stake { party, stake, most })?));
        }
        let access = access(&weights)?;
        let rebuilds = above.floor_of(access.total().into()).saturating_add(1);
        let slow = Weight::new(u32::try_from(rebuilds).unwrap_or(u32::MAX));
        let shape = Self::with_access(access, Paths { slow, fast: None })?;
        Ok(Self { stakes: Some(stakes.into()), ..shape })
    }

    /// A shape with given weights and thresholds, on one path or on two.
    ///
    /// # Errors
    /// If all weights are zero, there are more parties or shares than are supported, a threshold is
    /// zero or above the number of shares, or the fast threshold is below the slow one.
    pub fn new(weights: &[Weight], thresholds: Paths<Weight>) -> Result<Self, ShapeError> {
        Self::with_access(access(weights)?, thresholds)
    }

    fn with_access(access: Access, thresholds: Paths<Weight>) -> Result<Self, ShapeError> {
        let threshold = |path, t: Weight| {
            let threshold = Threshold::new(t.get(), access.total());
            threshold.map_err(|error| ShapeError::Threshold { path, error })
        };
        let slow = threshold(SharePath::Slow, thresholds.slow)?;
        let fast = thresholds.fast.map(|fast| threshold(SharePath::Fast, fast)).transpose()?;
        if let Some(fast) = fast.filter(|fast| fast.t() < slow.t()) {
            return Err(ShapeError::Order { fast: fast.t().get(), slow: slow.t().get() });
        }
        Ok(Self { access, thresholds: Paths { slow, fast }, stakes: None })
    }

    /// How the shares are distributed over the parties.
    #[must_use]
    pub const fn access(&self) -> &Access {
        &self.access
    }

    /// The number of shares of each party.
    #[must_use]
    pub fn weights(&self) -> Vec<Weight> {
        self.access.weights().into_iter().map(Weight::new).collect()
    }

    /// The stakes that the weights were computed from; `None` if only the weights were given.
    #[must_use]
    pub fn stakes(&self) -> Option<&[Stake]> {
        self.stakes.as_deref()
    }

    /// The threshold of the slow path.
    #[must_use]
    pub const fn slow(&self) -> Threshold {
        self.thresholds.slow
    }

    /// The threshold of `path`, if there is such a path.
    #[must_use]
    pub fn threshold(&self, path: SharePath) -> Option<Threshold> {
        self.thresholds.get(path).copied()
    }

    /// Number of paths: one or two.
    pub(crate) const fn paths(&self) -> usize {
        if self.thresholds.fast.is_some() { 2 } else { 1 }
    }
}

fn access(weights: &[Weight]) -> Result<Access, ShapeError> {
    let weights: Vec<u32> = weights.iter().map(|weight| weight.get()).collect();
    Ok(Access::new(&weights)?)
}
