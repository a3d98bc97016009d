//! What the rounding methods of other chains give for one pair of ratios.
//!
//! Written from their public descriptions, in integers, for comparison only; what they return goes
//! through our verifier like any vector, for each trusts another bound or convention.
//!
//! | module    | method                                              | in use at            |
//! |-----------|-----------------------------------------------------|----------------------|
//! | `nearest` | round to the nearest, additive bound on the errors  | Aptos, randomness     |
//! | `swiper`  | `⌊s·x + c⌋` with one `c`, bisection, exact knapsack  | Swiper, [arXiv:2307.15561](https://arxiv.org/abs/2307.15561) |
//! | `floor`   | one divisor, remainders bounded                     | Sui, randomness       |
//!
//! Absent: the newer knapsack reduction of Sui's library, whose published figures we could not
//! reproduce from its description.

mod floor;
mod nearest;
mod swiper;

use prefinal_weighted_rounding::verify::{Claim, verify};
use prefinal_weighted_rounding::{Pair, Ratio, Stake, Weight};

/// Above this many parties all but [`Method::Nearest`] take minutes.
const MAX_PARTIES: usize = 5000;

/// A method, by what it is known as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Round to the nearest, with an additive bound on the errors.
    Nearest,
    /// `⌊s·x + c⌋` with one `c`, checked by an exact knapsack.
    Swiper,
    /// One divisor, with a bound on the remainders.
    Floor,
}

impl Method {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Nearest, Self::Swiper, Self::Floor];

    /// The method and who uses it, for tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nearest => "round to nearest (Aptos)",
            Self::Swiper => "Swiper",
            Self::Floor => "floor and remainder (Sui)",
        }
    }

    /// Its weights and threshold; `None` if a number leaves 128 bits, the method finds nothing or
    /// would take minutes.
    #[must_use]
    pub fn round(self, stakes: &[Stake], pair: &Pair) -> Option<Outcome> {
        if self != Self::Nearest && stakes.len() > MAX_PARTIES {
            return None;
        }
        let task = Task::new(stakes, pair)?;
        let (weights, threshold) = match self {
            Self::Nearest => {
                let found = nearest::find(&task, None)?;
                (found.weights, found.threshold)
            }
            Self::Swiper => swiper::round(&task)?,
            Self::Floor => floor::round(&task)?,
        };
        let weights: Vec<Weight> = weights.into_iter().map(Weight::new).collect();
        let threshold = Weight::new(threshold);
        let refuted = verify(stakes, &weights, &[Claim { pair, threshold }]).err();
        Some(Outcome { weights, threshold, refuted: refuted.map(|error| error.to_string()) })
    }
}

/// Weights of one rounding to the nearest, and its thresholds for both paths.
pub(crate) struct NearestForBoth {
    pub(crate) weights: Vec<Weight>,
    pub(crate) slow: Weight,
    pub(crate) fast: Weight,
}

/// Rounds to the nearest for the slow pair, and takes a second threshold that sets of up to the stake `early` stay
/// below: the paper's rounding, which says what the second one guarantees and not how it is computed. It is by the
/// same bound here.
pub(crate) fn nearest(stakes: &[Stake], slow: &Pair, early: Ratio) -> Option<NearestForBoth> {
    let nearest::Found { weights, threshold, early } =
        nearest::find(&Task::new(stakes, slow)?, Some(early))?;
    let weights = weights.into_iter().map(Weight::new).collect();
    Some(NearestForBoth { weights, slow: Weight::new(threshold), fast: Weight::new(early?) })
}

/// What a method returned, and why it is wrong if it is.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One weight for each party, in the order of the stakes.
    pub weights: Vec<Weight>,
    /// The threshold that goes with them.
    pub threshold: Weight,
    /// What our verifier says of both, if it refutes them.
    pub refuted: Option<String>,
}

impl Outcome {
    /// The sum of all weights.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.weights.iter().map(|weight| u64::from(weight.get())).sum()
    }
}

/// One pair on one table.
struct Task {
    stakes: Vec<u128>,
    /// Their sum.
    total: u128,
    secrecy: Ratio,
    reconstruction: Ratio,
    /// `⌊s·X⌋`: the largest stake that must stay below the threshold.
    leaking: u128,
    /// `X − ⌈r·X⌉`: the largest stake that may be missing.
    missing: u128,
}

impl Task {
    fn new(stakes: &[Stake], pair: &Pair) -> Option<Self> {
        let stakes: Vec<u128> = stakes.iter().map(|stake| stake.get()).collect();
        let total = stakes.iter().try_fold(0u128, |sum, stake| sum.checked_add(*stake))?;
        let (secrecy, reconstruction) = (pair.secrecy(), pair.reconstruction());
        let leaking = total.checked_mul(secrecy.numerator())? / secrecy.denominator();
        let present = total.checked_mul(reconstruction.numerator())?;
        let present = present.div_ceil(reconstruction.denominator());
        Some(Self { stakes, total, secrecy, reconstruction, leaking, missing: total - present })
    }

    /// The products `(s·d, r·d, d)` with `d` the product of both denominators.
    fn scaled_ratios(&self) -> Option<(u128, u128, u128)> {
        let (s, r) = (self.secrecy, self.reconstruction);
        let below = s.numerator().checked_mul(r.denominator())?;
        let above = r.numerator().checked_mul(s.denominator())?;
        Some((below, above, s.denominator().checked_mul(r.denominator())?))
    }

    /// How many parties hold anything.
    fn holders(&self) -> u128 {
        self.stakes.iter().map(|stake| u128::from(*stake > 0)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stakes::StakeTable;
    use std::path::Path;

    const TABLES: [&str; 10] = [
        "swiper_aptos",
        "aptos_mainnet_112",
        "aptos_mainnet_129",
        "aptos_mainnet_152",
        "swiper_tezos",
        "cosmos_hub_leap2022",
        "cosmos_hub_block1_2019",
        "ethereum_entities_2023",
        "sui_epoch_100",
        "sui_epoch_1200",
    ];

    /// Totals, and the tables on which the verifier refutes the method's threshold.
    fn round_all(method: Method) -> (Vec<u64>, Vec<&'static str>) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/stakes");
        let (mut totals, mut refuted) = (Vec::new(), Vec::new());
        for name in TABLES {
            let table = StakeTable::read(&folder.join(name).with_extension("csv")).unwrap();
            let outcome = method.round(&table.stakes(), &Pair::slow()).unwrap();
            totals.push(outcome.total());
            refuted.extend(outcome.refuted.map(|_| name));
        }
        (totals, refuted)
    }

    /// The totals that were measured with the original.
    #[test]
    fn round_to_nearest_gives_what_the_original_gives() {
        let (totals, refuted) = round_all(Method::Nearest);
        assert_eq!(totals, [139, 155, 224, 230, 364, 242, 150, 65, 187, 187]);
        // The rounding of its threshold is not in its bound.
        assert_eq!(refuted, ["cosmos_hub_leap2022"]);
    }

    /// The totals that were measured with the original.
    #[test]
    fn swiper_gives_what_the_original_gives() {
        let (totals, refuted) = round_all(Method::Swiper);
        assert_eq!(totals, [102, 124, 215, 233, 248, 250, 157, 23, 179, 180]);
        assert_eq!(refuted, [""; 0]);
    }

    /// Pinned; there is no figure of the original to compare with.
    #[test]
    fn one_divisor_gives_these_totals() {
        let (totals, refuted) = round_all(Method::Floor);
        assert_eq!(refuted, [""; 0]);
        assert_eq!(totals, [161, 192, 287, 377, 309, 367, 222, 56, 229, 311]);
    }

    #[test]
    fn large_tables_give_what_the_originals_give() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/stakes");
        for (name, method, total) in [
            ("solana_epoch_860", Method::Nearest, 1273),
            ("solana_epoch_860", Method::Swiper, 1306),
            ("swiper_algorand", Method::Nearest, 40_038),
        ] {
            let table = StakeTable::read(&folder.join(name).with_extension("csv")).unwrap();
            let outcome = method.round(&table.stakes(), &Pair::slow()).unwrap();
            assert_eq!(outcome.total(), total, "{name}, {}", method.name());
        }
    }

    /// Half and two thirds of the ideal total, each with all that was rounded up: 38 apart.
    #[test]
    fn both_thresholds_of_the_paper_are_by_one_bound() {
        let stakes = StakeTable::embedded().unwrap().stakes();
        let both = nearest(&stakes, &Pair::slow(), Ratio::TWO_THIRDS).unwrap();
        assert_eq!((both.slow.get(), both.fast.get()), (132, 170));
        let claim = |pair, threshold| verify(&stakes, &both.weights, &[Claim { pair, threshold }]);
        let early = Pair::new("fast", Ratio::TWO_THIRDS, Ratio::ONE).unwrap();
        assert!(claim(&early, both.fast).is_ok());
    }

    #[test]
    fn the_deployed_threshold_of_aptos_is_met() {
        let table = StakeTable::embedded().unwrap();
        let outcome = Method::Nearest.round(&table.stakes(), &Pair::slow()).unwrap();
        assert_eq!((outcome.total(), outcome.threshold), (224, Weight::new(132)));
    }

    #[test]
    fn numbers_beyond_128_bits_give_nothing() {
        let stakes = [u128::MAX / 2, u128::MAX / 3].map(Stake::new);
        for method in Method::ALL {
            assert!(method.round(&stakes, &Pair::slow()).is_none());
        }
    }
}
