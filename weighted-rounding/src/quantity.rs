//! Stake and weight, as two types that cannot be mixed up.

use core::fmt;

/// An amount of stake, as consensus counts it. It is not a number of shares; only a
/// [`Rounding`](crate::Rounding) relates stake and shares.
///
/// ```compile_fail,E0308
/// # use prefinal_weighted_rounding::{Stake, Weight};
/// let shares: Weight = Stake::new(7);
/// ```
///
/// ```
/// use prefinal_weighted_rounding::Stake;
/// let sum = Stake::new(3).checked_add(Stake::new(4));
/// assert_eq!(sum, Some(Stake::new(7)));
/// assert_eq!(Stake::new(u128::MAX).checked_add(Stake::new(1)), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stake(u128);

impl Stake {
    /// No stake: such a party gets no weight.
    pub const ZERO: Self = Self(0);

    /// A stake of `units`, in the unit that the chain counts.
    #[must_use]
    pub const fn new(units: u128) -> Self {
        Self(units)
    }

    /// The number of units.
    #[must_use]
    pub const fn get(self) -> u128 {
        self.0
    }

    /// The sum, or `None` if it exceeds 128 bits.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }
}

impl fmt::Display for Stake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number of shares: how many a party holds, or how many a threshold needs. Zero is normal.
///
/// ```compile_fail,E0308
/// # use prefinal_weighted_rounding::{Stake, Weight};
/// let stake: Stake = Weight::new(7);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(u32);

impl Weight {
    /// No shares: such a party is a member and sends no partials.
    pub const ZERO: Self = Self(0);

    /// A weight of `shares` shares.
    #[must_use]
    pub const fn new(shares: u32) -> Self {
        Self(shares)
    }

    /// The number of shares.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
