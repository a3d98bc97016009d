//! Any stakes, any ratios: a typed error, or weights that the verifier and all subsets accept.
use arbitrary::Arbitrary;
use prefinal_weighted_rounding::verify::{Claim, verify};
use prefinal_weighted_rounding::{
    Bound, Objective, Pair, Profile, Ratio, Rounding, SolveError, Stake, Weight,
};

/// Totals up to here: enough to get somewhere, little enough for thousands of runs a second.
const LIMIT: u32 = 300;

/// Steps of an offset, for the same reason.
const STEPS: u64 = 1 << 12;

#[derive(Arbitrary, Debug)]
pub(crate) struct Input {
    stakes: Vec<u64>,
    /// Brings sums above 2^64 and, rarely, above 2^128.
    shift: u8,
    pairs: Vec<[u16; 4]>,
    budget: Option<u16>,
    nodes: u8,
}

pub(crate) fn run(input: Input) {
    let shift = u32::from(input.shift % 68);
    let stakes: Vec<Stake> =
        input.stakes.iter().take(40).map(|stake| Stake::new(u128::from(*stake) << shift)).collect();
    let Some(profile) = profile(&input.pairs) else { return };
    let objective = match input.budget {
        Some(budget) => Objective::least_reconstruction(Weight::new(u32::from(budget) % LIMIT)),
        None => Objective::least_total().within(Weight::new(LIMIT)),
    };
    // What the least budget is, is looked for among all totals: close ratios may take all steps.
    let objective = objective.prove(input.nodes.into()).steps(STEPS);
    match Rounding::solve(&stakes, &profile, objective) {
        Ok(rounding) => check(&stakes, &rounding),
        Err(SolveError::Unsound(error)) => panic!("the search was wrong: {error}"),
        Err(_) => {}
    }
}

fn profile(pairs: &[[u16; 4]]) -> Option<Profile> {
    let pair = |(place, parts): (usize, &[u16; 4])| {
        let [a, b, c, d] = parts.map(u128::from);
        let (secrecy, reconstruction) = (Ratio::new(a, b).ok()?, Ratio::new(c, d).ok()?);
        Pair::new(place.to_string(), secrecy, reconstruction).ok()
    };
    Profile::new(pairs.iter().take(3).enumerate().filter_map(pair).collect()).ok()
}

fn check(stakes: &[Stake], rounding: &Rounding) {
    let claims: Vec<Claim<'_>> = rounding
        .guarantees()
        .iter()
        .map(|guarantee| Claim { pair: guarantee.pair(), threshold: guarantee.threshold() })
        .collect();
    verify(stakes, rounding.weights(), &claims).unwrap();
    match (rounding.bound(), rounding.guarantees().last()) {
        (Bound::Total(least), _) => assert!(least <= rounding.total()),
        (Bound::Sufficient(least), Some(last)) => assert!(least <= last.least_sufficient()),
        (Bound::Sufficient(_), None) => panic!("a bound without a pair"),
    }
    if stakes.len() > 10 {
        return;
    }
    for guarantee in rounding.guarantees() {
        for set in 0u32..1 << stakes.len() {
            let members = (0..stakes.len()).filter(|party| set >> party & 1 == 1);
            let (stake, weight) = members.fold((0, 0), |(stake, weight), party| {
                (stake + stakes[party].get(), weight + rounding.weights()[party].get())
            });
            let reached = weight >= guarantee.threshold().get();
            assert!(!reached || stake >= guarantee.least_leaking().get());
            assert!(reached || stake < guarantee.least_sufficient().get());
        }
    }
}
