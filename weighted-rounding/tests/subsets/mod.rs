//! The oracle: all sets of parties, one by one.

use weighted_rounding::{Pair, Ratio, Stake, Weight};

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
