//! The oracle: all sets of parties, one by one.

use prefinal_weighted_rounding::{Pair, Ratio, Stake, Weight};

/// Compares `stake/total` with `ratio` where plain products fit, as they do for small stakes.
fn share(stake: u128, total: u128, ratio: Ratio) -> std::cmp::Ordering {
    (stake * ratio.denominator()).cmp(&(ratio.numerator() * total))
}

/// Whether every set of parties agrees with `pair` and `threshold`.
pub(crate) fn hold(stakes: &[Stake], weights: &[Weight], pair: &Pair, threshold: Weight) -> bool {
    let total: u128 = stakes.iter().map(|stake| stake.get()).sum();
    (0u32..1 << stakes.len()).all(|set| {
        let members = (0..stakes.len()).filter(|party| set >> party & 1 == 1);
        let (mut stake, mut weight) = (0, 0);
        for party in members {
            stake += stakes[party].get();
            weight += weights[party].get();
        }
        let leaks = share(stake, total, pair.secrecy()).is_le() && weight >= threshold.get();
        let stalls = share(stake, total, pair.reconstruction()).is_ge() && weight < threshold.get();
        !leaks && !stalls
    })
}

/// Whether some threshold makes `pair` hold.
pub(crate) fn feasible(stakes: &[Stake], weights: &[Weight], pair: &Pair) -> bool {
    let total: u32 = weights.iter().map(|weight| weight.get()).sum();
    (1..=total).any(|threshold| hold(stakes, weights, pair, Weight::new(threshold)))
}

/// The least total of any vector, sorted or not, that satisfies all pairs.
pub(crate) fn least_total(stakes: &[Stake], pairs: &[Pair], limit: u32) -> Option<u32> {
    (1..=limit).find(|total| {
        let mut weights = vec![Weight::ZERO; stakes.len()];
        any_vector(&mut weights, 0, *total, &mut |weights| {
            pairs.iter().all(|pair| feasible(stakes, weights, pair))
        })
    })
}

/// The least stake from which all sets reach some threshold that keeps the last pair's secret, of any
/// vector with a total up to `budget` that satisfies all pairs.
pub(crate) fn least_sufficient(stakes: &[Stake], pairs: &[Pair], budget: u32) -> Option<u128> {
    let mut best: Option<u128> = None;
    for total in 1..=budget {
        let mut weights = vec![Weight::ZERO; stakes.len()];
        any_vector(&mut weights, 0, total, &mut |weights| {
            if pairs.iter().all(|pair| feasible(stakes, weights, pair)) {
                let legal = (1..=total).map(Weight::new).filter(|threshold| {
                    pairs.last().is_some_and(|last| hold(stakes, weights, last, *threshold))
                });
                let stake = legal.map(|threshold| sufficient(stakes, weights, threshold)).min();
                best = [best, stake].into_iter().flatten().min();
            }
            false
        });
    }
    best
}

/// One unit more than any set below the threshold holds.
fn sufficient(stakes: &[Stake], weights: &[Weight], threshold: Weight) -> u128 {
    let below = (0u32..1 << stakes.len()).filter_map(|set| {
        let members = (0..stakes.len()).filter(|party| set >> party & 1 == 1);
        let (stake, weight) = members.fold((0, 0), |(stake, weight), party| {
            (stake + stakes[party].get(), weight + weights[party].get())
        });
        (weight < threshold.get()).then_some(stake)
    });
    below.max().unwrap_or(0) + 1
}

fn any_vector(
    weights: &mut [Weight],
    from: usize,
    rest: u32,
    accepts: &mut impl FnMut(&[Weight]) -> bool,
) -> bool {
    if from + 1 == weights.len() {
        weights[from] = Weight::new(rest);
        return accepts(weights);
    }
    (0..=rest).any(|weight| {
        weights[from] = Weight::new(weight);
        any_vector(weights, from + 1, rest - weight, accepts)
    })
}
