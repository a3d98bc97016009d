//! Bad input is a typed error each, and its text says what is wrong.

use prefinal_weighted_rounding::verify::{Claim, MAX_TOTAL, VerifyError, verify};
use prefinal_weighted_rounding::{
    Objective, Pair, Profile, Ratio, Rounding, SolveError, Stake, Weight,
};

fn solve(units: &[u128]) -> Result<Rounding, SolveError> {
    let stakes: Vec<Stake> = units.iter().map(|units| Stake::new(*units)).collect();
    Rounding::solve(&stakes, &Profile::standard(), Objective::least_total())
}

#[test]
fn committees_without_stake_are_refused() {
    let empty = solve(&[]).unwrap_err();
    assert_eq!(empty, SolveError::NoParties);
    assert_eq!(empty.to_string(), "expected at least one party, got none");
    let zeros = solve(&[0, 0, 0]).unwrap_err();
    assert_eq!(zeros, SolveError::ZeroTotal { parties: 3 });
    assert_eq!(zeros.to_string(), "expected some stake, got 3 parties that all hold zero");
}

#[test]
fn a_sum_beyond_128_bits_is_refused_where_it_overflows() {
    assert!(solve(&[u128::MAX - 2, 1, 1]).is_ok());
    let error = solve(&[u128::MAX - 2, 1, 1, 1, 1]).unwrap_err();
    assert_eq!(error, SolveError::TotalOverflow { party: 3 });
}

#[test]
fn totals_above_64_bits_round_as_their_small_copies_do() {
    let units = [340u128, 210, 180, 90, 90, 60, 30];
    let large = units.map(|units| units << 110);
    let (small, large) = (solve(&units).unwrap(), solve(&large).unwrap());
    assert_eq!(small.weights(), large.weights());
    let thresholds = |rounding: &Rounding| -> Vec<Weight> {
        rounding.guarantees().iter().map(|guarantee| guarantee.threshold()).collect()
    };
    assert_eq!(thresholds(&small), thresholds(&large));
}

#[test]
fn ratios_too_close_for_the_limit_are_said_to_be() {
    let near = Ratio::new(5001, 10_000).unwrap();
    let close = Profile::new(vec![Pair::new("close", Ratio::HALF, near).unwrap()]).unwrap();
    let stakes = [10_007, 9_973, 7_919, 6_007, 4_001].map(Stake::new);
    let objective = Objective::least_total().within(Weight::new(6));
    let error = Rounding::solve(&stakes, &close, objective).unwrap_err();
    assert_eq!(error, SolveError::NothingFound { searched: Weight::new(6) });
    assert!(error.to_string().starts_with("no weights of total up to 6 satisfy the profile"));
}

/// Where no offset finds the least total within its steps, one goes on in larger strides.
#[test]
fn few_steps_still_end_in_weights_or_say_that_they_were_few() {
    let stakes: Vec<Stake> = (1..=60u128).map(|x| Stake::new(x * x * 1009 + 77 * x)).collect();
    let pair = |reconstruction| {
        let near = Ratio::new(reconstruction, 1_000_000).unwrap();
        Profile::new(vec![Pair::new("close", Ratio::HALF, near).unwrap()]).unwrap()
    };
    let few = Objective::least_total().prove(0).steps(20_000);
    let rounding = Rounding::solve(&stakes, &pair(502_000), few).unwrap();
    let best = Rounding::solve(&stakes, &pair(502_000), few.steps(1 << 22)).unwrap();
    assert!(best.total() < rounding.total());
    assert!(rounding.effort().steps < best.effort().steps);
    let error = Rounding::solve(&stakes, &pair(500_001), few).unwrap_err();
    let SolveError::OutOfSteps { searched, tried, steps: 20_000 } = error else {
        panic!("{error}");
    };
    assert!(searched < tried);
    assert!(error.to_string().ends_with("allow more steps or put its ratios further apart"));
}

#[test]
fn budgets_and_limits_end_at_what_the_verifier_takes() {
    let stakes = [10_007, 9_973, 7_919, 6_007, 4_001].map(Stake::new);
    let within = |budget| Objective::least_reconstruction(budget).prove(0).steps(20_000);
    let (most, more) = (within(MAX_TOTAL), within(Weight::new(u32::MAX)));
    let profile = Profile::standard();
    let rounding = Rounding::solve(&stakes, &profile, most).unwrap();
    assert_eq!(Rounding::solve(&stakes, &profile, more), Ok(rounding));
    for nothing in [0, 1] {
        let objective = Objective::least_total().within(Weight::new(nothing)).prove(0);
        let error = Rounding::solve(&stakes, &profile, objective).unwrap_err();
        assert_eq!(error, SolveError::NothingFound { searched: Weight::new(nothing) });
    }
}

#[test]
fn the_check_refuses_what_makes_no_sense() {
    let slow = Pair::slow();
    let claim = |threshold| [Claim { pair: &slow, threshold: Weight::new(threshold) }];
    let stakes = [3, 2, 2].map(Stake::new);
    let weights = [1, 1, 1].map(Weight::new);
    assert_eq!(
        verify(&stakes, &weights[..2], &claim(2)),
        Err(VerifyError::Lengths { stakes: 3, weights: 2 })
    );
    for threshold in [0, 4, u32::MAX] {
        let error = verify(&stakes, &weights, &claim(threshold)).unwrap_err();
        assert!(matches!(error, VerifyError::ThresholdOutOfRange { .. }), "{error}");
    }
    let huge = [u32::MAX, u32::MAX, 1].map(Weight::new);
    let total = 2 * u64::from(u32::MAX) + 1;
    assert_eq!(verify(&stakes, &huge, &claim(2)), Err(VerifyError::TotalTooLarge { total }));
    let none = [0; 3].map(Stake::new);
    assert_eq!(verify(&none, &weights, &claim(2)), Err(VerifyError::ZeroTotal { parties: 3 }));
    let overflow = [u128::MAX, 1, 1].map(Stake::new);
    assert_eq!(
        verify(&overflow, &weights, &claim(2)),
        Err(VerifyError::StakeOverflow { party: 1 })
    );
}

#[test]
fn a_refutation_names_the_set() {
    let stakes = [94, 34].map(Stake::new);
    let weights = [1, 1].map(Weight::new);
    let slow = Pair::slow();
    let claim = Claim { pair: &slow, threshold: Weight::new(1) };
    let error = verify(&stakes, &weights, &[claim]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "1 parties with stake 34 and weight 1 reach threshold 1 against pair slow (1/2, 2/3)"
    );
}
