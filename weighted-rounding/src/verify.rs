//! Checks weights and thresholds without trusting their source.
//!
//! This module shares no code with the search. The tables are built party by party over exact weights
//! up to the threshold. The stake that may be missing is computed in a separate table, not derived
//! from the other one. Fractions are compared by Euclid's algorithm instead of being rounded. Two
//! tables serve all claims. They cost the number of parties times the largest threshold; the parties
//! of the most common weight do not count, because sorted sums of their stakes start the tables. For
//! a pair `(s, r)` and a threshold `T` of stakes with total `X`:
//!
//! - *no leak*: the least stake of a set with weight `≥ T` exceeds `s·X`;
//! - *no stall*: the largest stake of a set with weight `< T` is below `r·X`.
//!
//! If a claim fails, the error names a set that breaks it. The stake and the weight of this set are
//! summed separately, so everyone can check them by adding up.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use crate::profile::Pair;
use crate::quantity::{Stake, Weight};
use crate::ratio::Ratio;

/// The largest total weight that is accepted. Larger totals are refused, because the tables grow with
/// them.
pub const MAX_TOTAL: Weight = Weight::new(1 << 20);

/// A claim that a threshold satisfies a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The pair of stake ratios.
    pub pair: &'a Pair,
    /// The threshold that is claimed to satisfy the pair.
    pub threshold: Weight,
}

/// Checks that every claim holds for all sets of parties.
///
/// ```
/// # use prefinal_weighted_rounding::{Pair, Stake, Weight, verify::{Claim, verify}};
/// let stakes = [3, 2, 2].map(Stake::new);
/// let weights = [1, 1, 1].map(Weight::new);
/// let slow = Pair::slow();
/// assert!(verify(&stakes, &weights, &[Claim { pair: &slow, threshold: Weight::new(2) }]).is_ok());
/// assert!(
///     verify(&stakes, &weights, &[Claim { pair: &slow, threshold: Weight::new(3) }]).is_err()
/// );
/// # Ok::<(), prefinal_weighted_rounding::PairError>(())
/// ```
///
/// # Errors
/// [`VerifyError::Refuted`] with a counterexample if a claim is wrong. Another variant if stakes,
/// weights and thresholds are not valid input.
pub fn verify(
    stakes: &[Stake],
    weights: &[Weight],
    claims: &[Claim<'_>],
) -> Result<(), VerifyError> {
    let committee = Committee::new(stakes, weights)?;
    let thresholds = claims.iter().map(|claim| committee.threshold(claim));
    let thresholds = thresholds.collect::<Result<Vec<usize>, _>>()?;
    let most = thresholds.iter().copied().max().unwrap_or(1);
    let (least_reaching, most_below) = (committee.least_reaching(most), committee.most_below(most));
    for (claim, threshold) in claims.iter().zip(thresholds) {
        let leaking = least_reaching.get(threshold).copied().unwrap_or(0);
        if committee.share(leaking, claim.pair.secrecy()).is_le() {
            // A set that reaches T with the least stake leaves out the most stake that fits into
            // weight W − T.
            let mut present = vec![true; committee.parties.len()];
            for absent in richest(&committee.parties, committee.weight - threshold) {
                if let Some(cell) = present.get_mut(absent.place) {
                    *cell = false;
                }
            }
            let set = committee.parties.iter().zip(present);
            let set = set.filter_map(|(party, there)| there.then_some(*party)).collect();
            return Err(refuted(claim, Breach::Leak, set));
        }
        let stalling = most_below.get(threshold - 1).copied().unwrap_or(u128::MAX);
        if committee.share(stalling, claim.pair.reconstruction()).is_ge() {
            return Err(refuted(claim, Breach::Stall, richest(&committee.parties, threshold - 1)));
        }
    }
    Ok(())
}

pub(crate) struct Committee {
    parties: Vec<Party>,
    stake: u128,
    pub(crate) weight: usize,
}

#[derive(Clone, Copy)]
struct Party {
    place: usize,
    stake: u128,
    weight: usize,
}

impl Committee {
    pub(crate) fn new(stakes: &[Stake], weights: &[Weight]) -> Result<Self, VerifyError> {
        if stakes.len() != weights.len() {
            return Err(VerifyError::Lengths { stakes: stakes.len(), weights: weights.len() });
        }
        let mut this = Self { parties: Vec::new(), stake: 0, weight: 0 };
        let mut shares = 0u64;
        for (place, (stake, weight)) in stakes.iter().zip(weights).enumerate() {
            let sum = this.stake.checked_add(stake.get());
            this.stake = sum.ok_or(VerifyError::StakeOverflow { party: place })?;
            shares = shares.saturating_add(u64::from(weight.get()));
            let weight = usize::try_from(weight.get()).unwrap_or(usize::MAX);
            this.parties.push(Party { place, stake: stake.get(), weight });
        }
        if this.stake == 0 {
            return Err(VerifyError::ZeroTotal { parties: stakes.len() });
        }
        if shares > u64::from(MAX_TOTAL.get()) {
            return Err(VerifyError::TotalTooLarge { total: shares });
        }
        this.weight = usize::try_from(shares).unwrap_or(usize::MAX);
        Ok(this)
    }

    /// The claim's threshold, checked to be between one and the total weight.
    fn threshold(&self, claim: &Claim<'_>) -> Result<usize, VerifyError> {
        let threshold = usize::try_from(claim.threshold.get()).unwrap_or(usize::MAX);
        if threshold == 0 || threshold > self.weight {
            return Err(VerifyError::ThresholdOutOfRange {
                name: claim.pair.name().to_string(),
                threshold: claim.threshold,
                total: self.weight,
            });
        }
        Ok(threshold)
    }

    /// Compares `stake / total stake` with `ratio`.
    fn share(&self, stake: u128, ratio: Ratio) -> Ordering {
        compare((stake, self.stake), (ratio.numerator(), ratio.denominator()))
    }

    /// For each threshold up to `most`, the least stake of a set with at least that weight.
    pub(crate) fn least_reaching(&self, most: usize) -> Vec<u128> {
        let common = self.most_common_weight();
        let mut alike = self.stakes_of(common);
        alike.sort_unstable();
        let sums = sums(0, &alike);
        let of_alike = |reached: usize| sums.get(reached.div_ceil(common)).copied();
        let mut least: Vec<u128> =
            (0..=most).map(|reached| of_alike(reached).unwrap_or(u128::MAX)).collect();
        for party in self.parties.iter().filter(|party| ![0, common].contains(&party.weight)) {
            for reached in (0..=most).rev() {
                let before = reached.saturating_sub(party.weight);
                let with = least.get(before).map_or(u128::MAX, |b| b.saturating_add(party.stake));
                if let Some(cell) = least.get_mut(reached) {
                    *cell = (*cell).min(with);
                }
            }
        }
        least
    }

    /// For each weight below `most`, the largest stake of a set with at most that weight.
    pub(crate) fn most_below(&self, most: usize) -> Vec<u128> {
        let common = self.most_common_weight();
        let mut alike = self.stakes_of(common);
        alike.sort_unstable();
        alike.reverse();
        // Parties without weight belong to all of these sets.
        let sums = sums(self.stakes_of(0).iter().sum(), &alike);
        let of_alike = |weight: usize| sums.get(weight / common).or(sums.last()).copied();
        let mut held: Vec<u128> = (0..most).filter_map(of_alike).collect();
        let others = self.parties.iter().filter(|party| ![0, common].contains(&party.weight));
        add_to(&mut held, others);
        held
    }

    fn stakes_of(&self, weight: usize) -> Vec<u128> {
        let parties = self.parties.iter().filter(|party| party.weight == weight);
        parties.map(|party| party.stake).collect()
    }

    /// The non-zero weight that most parties have.
    fn most_common_weight(&self) -> usize {
        // The weights are as wide as the stakes, so the browser's program contains one sort function
        // less.
        let mut weights: Vec<u128> = Vec::with_capacity(self.parties.len());
        weights.extend(self.parties.iter().filter_map(|party| u128::try_from(party.weight).ok()));
        weights.retain(|weight| *weight > 0);
        weights.sort_unstable();
        let classes = weights.chunk_by(|one, other| one == other);
        let most = classes.max_by_key(|class| class.len()).and_then(|class| class.first());
        most.and_then(|weight| usize::try_from(*weight).ok()).unwrap_or(1)
    }
}

/// For each weight up to `capacity`, the largest stake of a set with at most that weight.
fn most_within(parties: &[Party], capacity: usize) -> Vec<u128> {
    let mut most = vec![0u128; capacity + 1];
    add_to(&mut most, parties.iter());
    most
}

/// The running sums: `first`, then `first` plus the first stake, and so on.
fn sums(first: u128, stakes: &[u128]) -> Vec<u128> {
    let mut sum = first;
    let mut sums = vec![first];
    sums.extend(stakes.iter().map(|stake| {
        sum += stake;
        sum
    }));
    sums
}

/// Adds `parties` to a table of the largest stake within each weight.
fn add_to<'a>(most: &mut [u128], parties: impl Iterator<Item = &'a Party>) {
    for party in parties {
        for weight in (party.weight..most.len()).rev() {
            let with = most.get(weight - party.weight).map_or(0, |most| most + party.stake);
            if let Some(cell) = most.get_mut(weight) {
                *cell = (*cell).max(with);
            }
        }
    }
}

/// A set of the largest stake within `capacity`, found by halving the parties. Two tables show how
/// much of the capacity each half uses. Only the tables are stored, not the choices.
fn richest(parties: &[Party], capacity: usize) -> Vec<Party> {
    if let [party] = parties {
        return if party.weight <= capacity { vec![*party] } else { Vec::new() };
    }
    if parties.is_empty() {
        return Vec::new();
    }
    let (first, second) = parties.split_at(parties.len() / 2);
    let (in_first, in_second) = (most_within(first, capacity), most_within(second, capacity));
    let split = (0..=capacity)
        .zip(in_first.iter().zip(in_second.iter().rev()))
        .max_by_key(|(_, (first, second))| **first + **second)
        .map_or(0, |(split, _)| split);
    let mut set = richest(first, split);
    set.extend(richest(second, capacity - split));
    set
}

/// Compares two fractions: first the whole parts, then the reciprocals of the remainders in reverse
/// order. No product is formed, so nothing overflows.
fn compare((a, b): (u128, u128), (c, d): (u128, u128)) -> Ordering {
    let whole = (a / b).cmp(&(c / d));
    match (a % b, c % d) {
        _ if whole.is_ne() => whole,
        (0, 0) => Ordering::Equal,
        (0, _) => Ordering::Less,
        (_, 0) => Ordering::Greater,
        (left, right) => compare((d, right), (b, left)),
    }
}

fn refuted(claim: &Claim<'_>, breach: Breach, set: Vec<Party>) -> VerifyError {
    let weight: usize = set.iter().map(|party| party.weight).sum();
    VerifyError::Refuted(Box::new(Counterexample {
        pair: claim.pair.clone(),
        threshold: claim.threshold,
        breach,
        stake: Stake::new(set.iter().map(|party| party.stake).sum()),
        weight: Weight::new(u32::try_from(weight).unwrap_or(u32::MAX)),
        parties: set.iter().map(|party| party.place).collect(),
    }))
}

/// How a set breaks a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// A set with too little stake reaches the threshold.
    Leak,
    /// A set with enough stake stays below the threshold.
    Stall,
}

/// A set of parties for which a claim is false.
///
/// ```
/// use prefinal_weighted_rounding::verify::{Breach, Claim, VerifyError, verify};
/// use prefinal_weighted_rounding::{Pair, Stake, Weight};
/// let (stakes, weights) = ([3, 2, 2].map(Stake::new), [1, 1, 1].map(Weight::new));
/// let slow = Pair::slow();
/// let one = Claim { pair: &slow, threshold: Weight::new(1) };
/// // One share must not suffice, since each party alone has less than half of the stake.
/// let Err(VerifyError::Refuted(found)) = verify(&stakes, &weights, &[one]) else {
///     unreachable!()
/// };
/// assert_eq!((found.breach, found.parties.len()), (Breach::Leak, 1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// The pair that does not hold.
    pub pair: Pair,
    /// The threshold that was claimed for it.
    pub threshold: Weight,
    /// The way in which the set breaks the claim.
    pub breach: Breach,
    /// The members of the set, by their position in the list of stakes, from zero.
    pub parties: Vec<usize>,
    /// The total stake of the set.
    pub stake: Stake,
    /// The total weight of the set.
    pub weight: Weight,
}

impl Counterexample {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self.breach {
            Breach::Leak => "rounding-leaks",
            Breach::Stall => "rounding-stalls",
        }
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pair, threshold, breach, parties, stake, weight } = self;
        let reach = match breach {
            Breach::Leak => "reach",
            Breach::Stall => "stay below",
        };
        let members = parties.len();
        write!(
            f,
            "{members} parties with stake {stake} and weight {weight} \
             {reach} threshold {threshold} against pair {pair}"
        )
    }
}

/// Why weights and thresholds were not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifyError {
    /// There is not exactly one weight for each stake.
    Lengths {
        /// Number of stakes in the claim.
        stakes: usize,
        /// Number of weights in the claim.
        weights: usize,
    },
    /// All stakes are zero.
    ZeroTotal {
        /// Number of parties, none of which has stake.
        parties: usize,
    },
    /// The sum of the stakes does not fit into 128 bits.
    StakeOverflow {
        /// Position in the list at which the sum overflows, counted from zero.
        party: usize,
    },
    /// The total weight is more than [`MAX_TOTAL`].
    TotalTooLarge {
        /// The sum of the weights.
        total: u64,
    },
    /// A threshold is zero, or greater than the total weight.
    ThresholdOutOfRange {
        /// The name of the pair that it was claimed for.
        name: String,
        /// The threshold that was claimed for it.
        threshold: Weight,
        /// The sum of the weights.
        total: usize,
    },
    /// A claim is false.
    Refuted(Box<Counterexample>),
}

impl VerifyError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Lengths { .. } => "wrong-count",
            Self::ZeroTotal { .. } => "no-stake",
            Self::StakeOverflow { .. } => "stake-overflow",
            Self::TotalTooLarge { .. } => "too-many-shares",
            Self::ThresholdOutOfRange { .. } => "threshold-range",
            Self::Refuted(example) => example.code(),
        }
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lengths { stakes, weights } => {
                write!(f, "expected one weight for each of {stakes} stakes, got {weights}")
            }
            Self::ZeroTotal { parties } => {
                write!(f, "expected some stake, got {parties} parties that all hold zero")
            }
            Self::StakeOverflow { party } => {
                write!(f, "the sum of stakes exceeds 128 bits at entry {party}")
            }
            Self::TotalTooLarge { total } => {
                write!(f, "total weight {total} exceeds the limit of {MAX_TOTAL}")
            }
            Self::ThresholdOutOfRange { name, threshold, total } => {
                write!(f, "threshold {threshold} of pair {name:?} is not within 1..={total}")
            }
            Self::Refuted(counterexample) => counterexample.fmt(f),
        }
    }
}

impl core::error::Error for VerifyError {}
