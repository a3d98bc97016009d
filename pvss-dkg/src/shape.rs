//! From stake to shares: who holds how many, and how many rebuild the secret on each path.
//!
//! | stake is              | thresholds are             | road                     |
//! |-----------------------|----------------------------|--------------------------|
//! | rounded to weights    | ramps, one for each path   | [`Shape::from_rounding`] |
//! | counted unit by unit  | tight, on one path         | [`Shape::tight`]         |
//! | not looked at         | given, as weights are      | [`Shape::new`]           |
//!
//! The first two keep the stakes, and [`Config`](crate::Config) refuses members that hold others. What
//! a rounding guarantees is held against an engine's finality by the beacon, not here.
//!
//! Share `k = 1, …, W` sits at `ω^(k−1)` for `ω` a root of unity of the least power of two `≥ W`;
//! a party of weight `w` holds `w` consecutive shares; weight zero is normal and costs nothing.
use std::fmt;
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::access::{Access, AccessError, Party, Threshold, ThresholdError};
use thiserror::Error;
use weighted_rounding::{Pair, Ratio, Rounding, Stake, Weight};

/// Which of the two sharings of the one secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub enum SharePath {
    /// Released when a value is final.
    Slow,
    /// Released with the vote that may make a value final.
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

/// One of something for each path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paths<T> {
    /// Of the slow path.
    pub slow: T,
    /// Of the fast path, if there is one.
    pub fast: Option<T>,
}

impl<T> Paths<T> {
    /// Both, the slow one first.
    pub(crate) fn each(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.slow).chain(&self.fast)
    }

    /// That of one path.
    #[must_use]
    pub const fn get(&self, path: SharePath) -> Option<&T> {
        match path {
            SharePath::Slow => Some(&self.slow),
            SharePath::Fast => self.fast.as_ref(),
        }
    }
}

/// Who holds which shares, and how many shares rebuild the secret on each path.
#[derive(Clone, Debug)]
pub struct Shape {
    access: Access,
    thresholds: Paths<Threshold>,
    /// What the weights were made of, if that is known.
    stakes: Option<Arc<[Stake]>>,
}

/// Why weights and thresholds do not fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ShapeError {
    /// Nobody would hold a share, or there are more parties or shares than are supported.
    #[error(transparent)]
    Weights(#[from] AccessError),
    /// No shares would suffice, or not even all.
    #[error("{path} {error}")]
    Threshold {
        /// The path whose threshold is out of range.
        path: SharePath,
        /// The threshold, and how many shares there are.
        #[source]
        error: ThresholdError,
    },
    /// What is released earlier must not be easier to rebuild.
    #[error("fast threshold {fast} is below slow threshold {slow}")]
    Order {
        /// Shares that reconstruct on the fast path.
        fast: u32,
        /// Shares that reconstruct on the slow path.
        slow: u32,
    },
    /// The rounding was made for something else.
    #[error("none of the rounding's {pairs} pairs is the slow one")]
    NoSlowPair {
        /// How many there are.
        pairs: usize,
    },
    /// A threshold that is of neither path would be left out without a word.
    #[error("pair {index} of the rounding's {pairs} is neither the slow nor the fast one")]
    OtherPair {
        /// Its place, from zero.
        index: usize,
        /// How many there are.
        pairs: usize,
    },
    /// So much stake is not counted unit by unit; it has to be rounded.
    #[error("{party} has a stake of {stake}, at most {most} units are counted as shares")]
    Stake {
        /// The party that has too much stake to count.
        party: Party,
        /// The stake of that party.
        stake: Stake,
        /// The most shares there are.
        most: u32,
    },
}

impl Shape {
    /// The weights of a rounding, with the thresholds of its pairs named [`Pair::SLOW`] and, for a second
    /// sharing of the same secret, [`Pair::FAST`]. Which is which does not depend on their order.
    ///
    /// # Errors
    /// If there is no slow pair, there is one that is neither, the fast threshold is below the slow one,
    /// or there are more parties than are supported.
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

    /// One share for each unit of stake, and one path: more than `above` of all rebuild the secret, and
    /// nothing less does. For committees whose members count one each, or a few.
    ///
    /// # Errors
    /// If nobody has stake, there is more of it than shares are supported, or not even all of it is more
    /// than `above`.
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

    /// Weights and thresholds that were fixed elsewhere, on one path or on two.
    ///
    /// # Errors
    /// If all weights are zero, there are more parties or shares than are supported, a threshold is zero or
    /// above the number of shares, or the fast one is below the slow one.
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

    /// Which party holds which shares.
    #[must_use]
    pub const fn access(&self) -> &Access {
        &self.access
    }

    /// How many shares each party holds.
    #[must_use]
    pub fn weights(&self) -> Vec<Weight> {
        self.access.weights().into_iter().map(Weight::new).collect()
    }

    /// The stakes that the weights were made of; `None` if only the weights were given.
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

    /// How many paths have a threshold: one or two.
    pub(crate) const fn paths(&self) -> usize {
        if self.thresholds.fast.is_some() { 2 } else { 1 }
    }
}

fn access(weights: &[Weight]) -> Result<Access, ShapeError> {
    let weights: Vec<u32> = weights.iter().map(|weight| weight.get()).collect();
    Ok(Access::new(&weights)?)
}
