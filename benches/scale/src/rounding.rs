//! Stake to weights: over parties, and over the weight that is allowed.
use prefinal_fixture::stakes;
use prefinal_weighted_rounding::{Objective, Profile, Rounding, Stake, Weight};

use crate::gauge::Gauge;

/// Of 42 920 holders; the largest of them make committees of any size.
const ALGORAND: &str = include_str!("../../../data/stakes/swiper_algorand.csv");

/// The least total weight for both paths.
pub(crate) fn solve(gauge: &mut Gauge) {
    let profile = Profile::standard();
    let mut all = stakes(ALGORAND);
    all.sort_unstable_by(|one, other| other.cmp(one));
    for parties in gauge.sizes().into_iter().map(|size| size / 4) {
        let largest: Vec<Stake> =
            all.iter().copied().take(usize::try_from(parties).unwrap()).collect();
        gauge.measure("rounding::solve", (&format!("n={parties}"), parties), || {
            Rounding::solve(&largest, &profile, Objective::least_total()).unwrap()
        });
    }
}

/// The fast path that needs least stake, for the validators of one chain.
pub(crate) fn within(gauge: &mut Gauge) {
    let profile = Profile::standard();
    let stakes = stakes(prefinal_fixture::STAKES);
    let least = Rounding::solve(&stakes, &profile, Objective::least_total()).unwrap().total().get();
    for allowed in gauge.sizes().into_iter().filter(|allowed| *allowed >= least) {
        let case = format!("W={allowed}, n={}", stakes.len());
        let objective = Objective::least_reconstruction(Weight::new(allowed));
        gauge.measure("rounding::within", (&case, allowed), || {
            Rounding::solve(&stakes, &profile, objective).unwrap()
        });
    }
}
