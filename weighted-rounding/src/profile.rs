//! The requirements on a committee's weights: pairs of stake ratios, each with a name.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::ratio::Ratio;

/// Two stake ratios with a name. Parties with up to `secrecy` of the stake learn nothing; parties
/// with `reconstruction` of the stake or more can always reconstruct.
///
/// ```
/// use prefinal_weighted_rounding::{Pair, Ratio};
/// let pair = Pair::new("archive", Ratio::ONE_THIRD, Ratio::HALF)?;
/// assert_eq!(pair.name(), "archive");
/// // Stake that learns nothing must be less than stake that reconstructs.
/// assert!(Pair::new("archive", Ratio::HALF, Ratio::ONE_THIRD).is_err());
/// # Ok::<(), prefinal_weighted_rounding::PairError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    name: String,
    secrecy: Ratio,
    reconstruction: Ratio,
}

impl Pair {
    /// The name of the pair for partials that are released when a value is final.
    pub const SLOW: &'static str = "slow";
    /// The name of the pair for partials that are released with the vote that may make a value final.
    pub const FAST: &'static str = "fast";

    /// A pair of ratios. Results refer to it as `name`.
    ///
    /// # Errors
    /// If `secrecy` is not below `reconstruction`, because one threshold cannot separate sets of
    /// equal stake. If `secrecy` is zero, because then no stake is kept from learning the secret.
    pub fn new(
        name: impl Into<String>,
        secrecy: Ratio,
        reconstruction: Ratio,
    ) -> Result<Self, PairError> {
        if secrecy >= reconstruction {
            return Err(PairError::Order { secrecy, reconstruction });
        }
        if secrecy.numerator() == 0 {
            return Err(PairError::NoSecrecy { secrecy, reconstruction });
        }
        Ok(Self { name: name.into(), secrecy, reconstruction })
    }

    /// A pair with the same name and ratios of exact stakes. Here a secrecy of zero is allowed,
    /// because it is a result and not a request.
    pub(crate) fn exactly(&self, secrecy: Ratio, reconstruction: Ratio) -> Option<Self> {
        let ordered = secrecy < reconstruction;
        ordered.then(|| Self { name: self.name.clone(), secrecy, reconstruction })
    }

    /// The slow pair, one half and two thirds. Its partials are released when a value is final.
    #[must_use]
    pub fn slow() -> Self {
        let (secrecy, reconstruction) = (Ratio::HALF, Ratio::TWO_THIRDS);
        Self { name: Self::SLOW.into(), secrecy, reconstruction }
    }

    /// The fast pair, two thirds and five sixths. Its partials are released with a vote. Once more
    /// than two thirds of the stake have cast this vote, the value is final.
    #[must_use]
    pub fn fast() -> Self {
        let (secrecy, reconstruction) = (Ratio::TWO_THIRDS, Ratio::FIVE_SIXTHS);
        Self { name: Self::FAST.into(), secrecy, reconstruction }
    }

    /// The fast pair with another reconstruction ratio: two thirds and `reconstruction`.
    ///
    /// # Errors
    /// If `reconstruction` is not above two thirds.
    pub fn fast_at(reconstruction: Ratio) -> Result<Self, PairError> {
        Self::new(Self::FAST, Ratio::TWO_THIRDS, reconstruction)
    }

    /// The name of the pair.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets with this share of the stake, or less, stay below the threshold.
    #[must_use]
    pub const fn secrecy(&self) -> Ratio {
        self.secrecy
    }

    /// Sets with this share of the stake, or more, reach the threshold.
    #[must_use]
    pub const fn reconstruction(&self) -> Ratio {
        self.reconstruction
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.name, self.secrecy, self.reconstruction)
    }
}

/// Why two ratios cannot form a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PairError {
    /// Secrecy is not below reconstruction.
    Order {
        /// The given secrecy ratio, which should be the smaller one.
        secrecy: Ratio,
        /// The given reconstruction ratio, which should be the larger one.
        reconstruction: Ratio,
    },
    /// The secrecy ratio is zero, so a single party with the least stake might learn the secret.
    NoSecrecy {
        /// The given secrecy ratio, which should be above zero.
        secrecy: Ratio,
        /// The given reconstruction ratio.
        reconstruction: Ratio,
    },
}

impl PairError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Order { .. } => "ratio-order",
            Self::NoSecrecy { .. } => "ratio-zero",
        }
    }
}

impl fmt::Display for PairError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order { secrecy, reconstruction } => {
                write!(
                    f,
                    "secrecy ratio {secrecy} is not below reconstruction ratio {reconstruction}"
                )
            }
            Self::NoSecrecy { secrecy, reconstruction } => {
                write!(
                    f,
                    "secrecy ratio {secrecy} below reconstruction ratio {reconstruction} is not above zero"
                )
            }
        }
    }
}

impl core::error::Error for PairError {}

/// The pairs that one weight vector must satisfy. There is at least one, and all names are distinct.
///
/// ```
/// use prefinal_weighted_rounding::{Pair, Profile, Ratio};
/// assert_eq!(Profile::slow().pairs(), [Pair::slow()]);
/// let profile = Profile::slow_and_fast(Ratio::new(4, 5)?)?; // fast with four fifths of the stake
/// assert_eq!(profile.pairs().len(), 2);
/// assert!(Profile::new(vec![]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pairs: Vec<Pair>,
}

impl Profile {
    /// A profile of these pairs. Results list them in the same order.
    ///
    /// # Errors
    /// If there is no pair, or two pairs have the same name.
    pub fn new(pairs: Vec<Pair>) -> Result<Self, ProfileError> {
        if pairs.is_empty() {
            return Err(ProfileError::NoPairs);
        }
        for (place, pair) in pairs.iter().enumerate() {
            if pairs.iter().take(place).any(|earlier| earlier.name == pair.name) {
                return Err(ProfileError::DuplicateName { name: pair.name.clone() });
            }
        }
        Ok(Self { pairs })
    }

    /// `slow` (1/2, 2/3) and `fast` (2/3, 5/6).
    #[must_use]
    pub fn standard() -> Self {
        Self { pairs: vec![Pair::slow(), Pair::fast()] }
    }

    /// `slow` (1/2, 2/3) alone.
    #[must_use]
    pub fn slow() -> Self {
        Self { pairs: vec![Pair::slow()] }
    }

    /// `slow` (1/2, 2/3) and `fast` (2/3, `fast`).
    ///
    /// # Errors
    /// If `fast` is not above two thirds.
    pub fn slow_and_fast(fast: Ratio) -> Result<Self, PairError> {
        Ok(Self { pairs: vec![Pair::slow(), Pair::fast_at(fast)?] })
    }

    /// The pairs, in the order in which results list them.
    #[must_use]
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }
}

/// Why pairs cannot form a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProfileError {
    /// There are no pairs.
    NoPairs,
    /// Two pairs have the same name, so their results could not be told apart.
    DuplicateName {
        /// The name that occurs twice.
        name: String,
    },
}

impl ProfileError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoPairs => "no-pairs",
            Self::DuplicateName { .. } => "duplicate-name",
        }
    }
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPairs => f.write_str("a profile needs at least one pair of ratios, got none"),
            Self::DuplicateName { name } => {
                write!(f, "two pairs of the profile are named {name:?}")
            }
        }
    }
}

impl core::error::Error for ProfileError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_needs_room_between_its_ratios() {
        let equal = Pair::new("tight", Ratio::TWO_THIRDS, Ratio::TWO_THIRDS);
        assert_eq!(
            equal,
            Err(PairError::Order { secrecy: Ratio::TWO_THIRDS, reconstruction: Ratio::TWO_THIRDS })
        );
        assert!(Pair::new("swapped", Ratio::TWO_THIRDS, Ratio::HALF).is_err());
    }

    #[test]
    fn a_secrecy_of_zero_is_none() {
        let zero = Ratio::new(0, 7).unwrap();
        let error = PairError::NoSecrecy { secrecy: zero, reconstruction: Ratio::HALF };
        assert_eq!(Pair::new("open", zero, Ratio::HALF), Err(error));
        let order = PairError::Order { secrecy: zero, reconstruction: zero };
        assert_eq!(Pair::new("open", zero, zero), Err(order));
        let least = Ratio::new(1, u128::MAX).unwrap();
        assert!(Pair::new("least", least, Ratio::HALF).is_ok());
    }

    #[test]
    fn the_fast_pair_is_above_two_thirds() {
        assert_eq!(Pair::fast_at(Ratio::FIVE_SIXTHS), Ok(Pair::fast()));
        assert_eq!(Profile::slow_and_fast(Ratio::FIVE_SIXTHS), Ok(Profile::standard()));
        assert_eq!(Profile::slow().pairs(), [Pair::slow()]);
        let (secrecy, reconstruction) = (Ratio::TWO_THIRDS, Ratio::HALF);
        let low = Err(PairError::Order { secrecy, reconstruction });
        assert_eq!(Pair::fast_at(reconstruction), low);
        assert_eq!(Profile::slow_and_fast(reconstruction).map(drop), low.map(drop));
    }

    #[test]
    fn names_tell_pairs_apart() {
        assert_eq!(Profile::new(Vec::new()), Err(ProfileError::NoPairs));
        let twice = Profile::new(vec![Pair::slow(), Pair::fast(), Pair::slow()]);
        assert_eq!(twice, Err(ProfileError::DuplicateName { name: "slow".into() }));
    }
}
