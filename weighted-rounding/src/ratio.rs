//! Exact fractions between zero and one, and a fraction of a total, rounded down or up.
//!
//! `s·X` and `r·X` are compared with sums of integers, so only `⌊s·X⌋` and `⌈r·X⌉` are needed. Both
//! are exact for every 128-bit numerator, denominator and total. Products that need 256 bits are
//! either stored in two halves ([`wide_product`]) or never formed ([`Ratio::floor_of`] divides while
//! it multiplies).

use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;

/// A fraction in `[0, 1]`, in lowest terms.
///
/// ```
/// # use prefinal_weighted_rounding::Ratio;
/// assert_eq!(Ratio::new(4, 6)?, Ratio::TWO_THIRDS);
/// assert_eq!("2/3".parse(), Ok(Ratio::TWO_THIRDS));
/// assert_eq!("0.72".parse(), Ratio::new(18, 25));
/// assert!(Ratio::new(3, 2).is_err());
/// # Ok::<(), prefinal_weighted_rounding::RatioError>(())
/// ```
///
/// ```compile_fail,E0277
/// # use prefinal_weighted_rounding::Ratio;
/// let half: Ratio = 0.5.into();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: u128,
    denominator: u128,
}

impl Ratio {
    /// One third. A Byzantine fault tolerant engine tolerates faults of less than this share of the
    /// stake.
    pub const ONE_THIRD: Self = Self { numerator: 1, denominator: 3 };
    /// One half of the stake: the secrecy of the slow path in the standard profile.
    pub const HALF: Self = Self { numerator: 1, denominator: 2 };
    /// Two thirds. A quorum of a Byzantine fault tolerant engine has more than this share of the
    /// stake.
    pub const TWO_THIRDS: Self = Self { numerator: 2, denominator: 3 };
    /// Five sixths: as far above two thirds as two thirds are above one half.
    pub const FIVE_SIXTHS: Self = Self { numerator: 5, denominator: 6 };
    /// One: the whole stake.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// The fraction `numerator / denominator`, reduced to lowest terms.
    ///
    /// # Errors
    /// If the denominator is zero or the fraction exceeds one.
    pub fn new(numerator: u128, denominator: u128) -> Result<Self, RatioError> {
        if denominator == 0 {
            return Err(RatioError::ZeroDenominator { numerator });
        }
        if numerator > denominator {
            return Err(RatioError::AboveOne { numerator, denominator });
        }
        let divisor = greatest_common_divisor(numerator, denominator);
        Ok(Self { numerator: numerator / divisor, denominator: denominator / divisor })
    }

    /// The numerator in lowest terms.
    #[must_use]
    pub const fn numerator(self) -> u128 {
        self.numerator
    }

    /// The denominator in lowest terms; never zero.
    #[must_use]
    pub const fn denominator(self) -> u128 {
        self.denominator
    }

    /// This fraction of a total, rounded down: `⌊self · total⌋`.
    #[must_use]
    pub fn floor_of(self, total: u128) -> u128 {
        self.quotient(total).0
    }

    /// This fraction of a total, rounded up: `⌈self · total⌉`.
    #[must_use]
    pub fn ceil_of(self, total: u128) -> u128 {
        let (floor, exact) = self.quotient(total);
        if exact { floor } else { floor + 1 }
    }

    /// `⌊self · total⌋`, and whether the quotient is exact.
    fn quotient(self, total: u128) -> (u128, bool) {
        let whole = total / self.denominator * self.numerator;
        let part = total % self.denominator;
        // Long multiplication of `part` by the numerator, reduced at every bit: the remainder stays
        // below the denominator, and comparing with the distance to it avoids the 129th bit.
        let (mut quotient, mut remainder) = (0u128, 0u128);
        for bit in (0..u128::BITS).rev() {
            quotient *= 2;
            (quotient, remainder) = self.add_reduced(quotient, remainder, remainder);
            if (self.numerator >> bit) & 1 == 1 {
                (quotient, remainder) = self.add_reduced(quotient, remainder, part);
            }
        }
        (whole + quotient, remainder == 0)
    }

    fn add_reduced(self, quotient: u128, remainder: u128, addend: u128) -> (u128, u128) {
        let room = self.denominator - remainder;
        if addend >= room { (quotient + 1, addend - room) } else { (quotient, remainder + addend) }
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        wide_product(self.numerator, other.denominator)
            .cmp(&wide_product(other.numerator, self.denominator))
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

impl FromStr for Ratio {
    type Err = RatioError;

    /// Reads `2/3`, `0.72`, `.5`, `1` and `0`.
    fn from_str(text: &str) -> Result<Self, RatioError> {
        if let Some((numerator, denominator)) = text.split_once('/') {
            return Self::new(digits(numerator)?, digits(denominator)?);
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if whole.is_empty() && fraction.is_empty() {
            return Err(RatioError::NotAFraction);
        }
        let places = u32::try_from(fraction.len()).map_err(|_| RatioError::NotAFraction)?;
        let scale = 10u128.checked_pow(places).ok_or(RatioError::NotAFraction)?;
        let whole = if whole.is_empty() { 0 } else { digits(whole)? };
        let fraction = if fraction.is_empty() { 0 } else { digits(fraction)? };
        let numerator = whole.checked_mul(scale).and_then(|whole| whole.checked_add(fraction));
        Self::new(numerator.ok_or(RatioError::NotAFraction)?, scale)
    }
}

/// Reads decimal digits only. The standard parser would also accept a sign.
fn digits(text: &str) -> Result<u128, RatioError> {
    let text = text.trim();
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(RatioError::NotAFraction);
    }
    text.parse().map_err(|_| RatioError::NotAFraction)
}

/// The product in two halves, the high one first, so that the tuples compare like the numbers.
pub(crate) const fn wide_product(a: u128, b: u128) -> (u128, u128) {
    const LOW: u128 = (1 << 64) - 1;
    let (a_high, a_low) = (a >> 64, a & LOW);
    let (b_high, b_low) = (b >> 64, b & LOW);
    let low = a_low * b_low;
    let middle = a_high * b_low + (low >> 64);
    let other = a_low * b_high + (middle & LOW);
    (a_high * b_high + (middle >> 64) + (other >> 64), (other << 64) | (low & LOW))
}

const fn greatest_common_divisor(a: u128, b: u128) -> u128 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Why two numbers, or a text, are not a [`Ratio`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RatioError {
    /// The denominator is zero.
    ZeroDenominator {
        /// The numerator that was given with it.
        numerator: u128,
    },
    /// The fraction is greater than one, but no set holds more than the whole stake.
    AboveOne {
        /// The given numerator, which is the larger number.
        numerator: u128,
        /// The denominator that was given with it.
        denominator: u128,
    },
    /// The text is not a fraction, or has more digits than fit into 128 bits.
    NotAFraction,
}

impl RatioError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::ZeroDenominator { .. } => "zero-denominator",
            Self::AboveOne { .. } => "ratio-above-one",
            Self::NotAFraction => "not-a-fraction",
        }
    }
}

impl fmt::Display for RatioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroDenominator { numerator } => {
                write!(f, "ratio {numerator}/0 has a zero denominator")
            }
            Self::AboveOne { numerator, denominator } => {
                write!(f, "ratio {numerator}/{denominator} is above one")
            }
            Self::NotAFraction => f.write_str("expected a fraction like 2/3 or 0.72"),
        }
    }
}

impl core::error::Error for RatioError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roundings_are_exact_where_plain_products_overflow() {
        let near_one = Ratio::new(u128::MAX - 1, u128::MAX).unwrap();
        assert_eq!(near_one.floor_of(u128::MAX), u128::MAX - 1);
        assert_eq!(near_one.ceil_of(u128::MAX), u128::MAX - 1);
        assert_eq!(near_one.floor_of(u128::MAX - 1), u128::MAX - 2);
        assert_eq!(near_one.ceil_of(u128::MAX - 1), u128::MAX - 1);
        assert_eq!(Ratio::TWO_THIRDS.floor_of(u128::MAX), u128::MAX / 3 * 2);
        assert_eq!(Ratio::ONE.ceil_of(u128::MAX), u128::MAX);
    }

    #[test]
    fn roundings_agree_with_plain_arithmetic_on_small_numbers() {
        for denominator in 1..25u128 {
            for numerator in 0..=denominator {
                let ratio = Ratio::new(numerator, denominator).unwrap();
                for total in 0..100 {
                    let product = numerator * total;
                    assert_eq!(ratio.floor_of(total), product / denominator);
                    assert_eq!(ratio.ceil_of(total), product.div_ceil(denominator));
                }
            }
        }
    }

    #[test]
    fn wide_products_carry() {
        assert_eq!(wide_product(u128::MAX, u128::MAX), (u128::MAX - 1, 1));
        assert_eq!(wide_product(1 << 127, 2), (1, 0));
        assert_eq!(wide_product(u64::MAX.into(), u64::MAX.into()), (0, u128::MAX - (1 << 65) + 2));
    }

    #[test]
    fn order_is_that_of_the_fractions() {
        let a = Ratio::new(u128::MAX - 2, u128::MAX - 1).unwrap();
        let b = Ratio::new(u128::MAX - 1, u128::MAX).unwrap();
        assert!(a < b && b < Ratio::ONE && Ratio::HALF < Ratio::TWO_THIRDS);
    }

    #[test]
    fn what_is_no_fraction_is_refused() {
        assert_eq!(Ratio::new(1, 0), Err(RatioError::ZeroDenominator { numerator: 1 }));
        assert_eq!(
            "7/6".parse::<Ratio>(),
            Err(RatioError::AboveOne { numerator: 7, denominator: 6 })
        );
        for text in ["", ".", "-1/2", "+1/2", "1/-2", "a", "1/2/3", "0.5e1", "1e-1", "/", "1/"] {
            assert_eq!(text.parse::<Ratio>(), Err(RatioError::NotAFraction), "{text:?}");
        }
        let long = "0.3333333333333333333333333333333333333333333";
        assert_eq!(long.parse::<Ratio>(), Err(RatioError::NotAFraction));
    }
}
