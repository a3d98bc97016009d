//! What a committee asks of its weights: pairs of stake ratios, each with a name.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::ratio::Ratio;

/// Up to `secrecy` of the stake learns nothing, `reconstruction` of the stake or more always suffices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    name: String,
    secrecy: Ratio,
    reconstruction: Ratio,
}

impl Pair {
    /// The name of the pair whose threshold releases when a value is final.
    pub const SLOW: &'static str = "slow";
    /// The name of the pair whose threshold releases with the vote that may make a value final.
    pub const FAST: &'static str = "fast";

    /// A pair that results refer to as `name`.
    ///
    /// # Errors
    /// If `secrecy` is not below `reconstruction`: rounded weights cannot tell sets of equal stake
    /// apart from each other. If it is zero: then nobody is kept from learning.
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

    /// The same name with ratios of exact stakes, among which a secrecy of zero is no request but a fact.
    pub(crate) fn exactly(&self, secrecy: Ratio, reconstruction: Ratio) -> Option<Self> {
        let ordered = secrecy < reconstruction;
        ordered.then(|| Self { name: self.name.clone(), secrecy, reconstruction })
    }

    /// One half and two thirds: released when a value is final.
    #[must_use]
    pub fn slow() -> Self {
        let (secrecy, reconstruction) = (Ratio::HALF, Ratio::TWO_THIRDS);
        Self { name: Self::SLOW.into(), secrecy, reconstruction }
    }

    /// Two thirds and five sixths: released with the vote that, once more than two thirds have cast
    /// it, makes the value final.
    #[must_use]
    pub fn fast() -> Self {
        let (secrecy, reconstruction) = (Ratio::TWO_THIRDS, Ratio::FIVE_SIXTHS);
        Self { name: Self::FAST.into(), secrecy, reconstruction }
    }

    /// Two thirds and `reconstruction`: the fast pair, complete at another share of the stake.
    ///
    /// # Errors
    /// If `reconstruction` is not above two thirds.
    pub fn fast_at(reconstruction: Ratio) -> Result<Self, PairError> {
        Self::new(Self::FAST, Ratio::TWO_THIRDS, reconstruction)
    }

    /// The name.
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

/// Why two ratios are no pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairError {
    /// Secrecy is not below reconstruction.
    Order {
        /// What should be the smaller ratio.
        secrecy: Ratio,
        /// What should be the larger ratio.
        reconstruction: Ratio,
    },
    /// A secrecy of zero: one party with the least stake may learn everything.
    NoSecrecy {
        /// What should be above zero.
        secrecy: Ratio,
        /// The larger ratio.
        reconstruction: Ratio,
    },
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

/// The pairs that one weight vector must satisfy, at least one, with distinct names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pairs: Vec<Pair>,
}

impl Profile {
    /// The pairs in the order in which results list them.
    ///
    /// # Errors
    /// If there is no pair, or two have one name.
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

    /// `slow` (1/2, 2/3), and `fast` from two thirds to `fast`.
    ///
    /// # Errors
    /// If `fast` is not above two thirds.
    pub fn slow_and_fast(fast: Ratio) -> Result<Self, PairError> {
        Ok(Self { pairs: vec![Pair::slow(), Pair::fast_at(fast)?] })
    }

    /// The pairs.
    #[must_use]
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }
}

/// Why pairs are no profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileError {
    /// Nothing is asked for.
    NoPairs,
    /// Results could not be told apart.
    DuplicateName {
        /// The name that occurs twice.
        name: String,
    },
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
