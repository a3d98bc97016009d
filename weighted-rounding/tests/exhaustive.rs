//! Roundings and refutations against all subsets, and least totals against all vectors.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that panics fails, as it should"
)]

mod subsets;

use prefinal_weighted_rounding::verify::{Breach, Claim, VerifyError, verify};
use prefinal_weighted_rounding::{
    Bound, Objective, Pair, Profile, Ratio, Rounding, SolveError, Stake, Weight,
};
use proptest::prelude::*;
use subsets::{feasible, hold, least_sufficient, least_total};

const NODES: u64 = 10_000_000;

fn ratio(numerator: u128, denominator: u128) -> Ratio {
    Ratio::new(numerator, denominator).unwrap()
}

fn pair(name: &str, secrecy: Ratio, reconstruction: Ratio) -> Pair {
    Pair::new(name, secrecy, reconstruction).unwrap()
}

fn stakes(units: &[u128]) -> Vec<Stake> {
    units.iter().map(|units| Stake::new(*units)).collect()
}

fn profile(pairs: &[Pair]) -> Profile {
    Profile::new(pairs.to_vec()).unwrap()
}

/// Several shapes of committees: even, steep, many equal, some without stake.
fn committee(most: usize) -> impl Strategy<Value = Vec<Stake>> {
    let entry = prop_oneof![0u128..4, 1u128..20, 1u128..1000, (0u32..12).prop_map(|e| 1 << e)];
    prop::collection::vec(entry.prop_map(Stake::new), 1..=most)
        .prop_filter("some stake", |stakes| stakes.iter().any(|stake| *stake > Stake::ZERO))
}

fn any_pair(name: &'static str) -> impl Strategy<Value = Pair> {
    (2u128..=12).prop_flat_map(move |denominator| {
        (1..denominator).prop_flat_map(move |secrecy| {
            (secrecy + 1..=denominator).prop_map(move |reconstruction| {
                pair(name, ratio(secrecy, denominator), ratio(reconstruction, denominator))
            })
        })
    })
}

/// Every legal threshold holds, those next to the range do not, and the exact stakes are exact.
fn check(stakes: &[Stake], rounding: &Rounding) {
    let total: u128 = stakes.iter().map(|stake| stake.get()).sum();
    for guarantee in rounding.guarantees() {
        let (pair, legal) = (guarantee.pair(), guarantee.legal_thresholds());
        assert!(legal.contains(&guarantee.threshold()));
        let (low, high) = (legal.start().get(), legal.end().get());
        for threshold in low.saturating_sub(1)..=high + 1 {
            let held = hold(stakes, rounding.weights(), pair, Weight::new(threshold));
            assert_eq!(held, (low..=high).contains(&threshold), "{guarantee} at {threshold}");
        }
        let leaking = guarantee.least_leaking().get();
        let sufficient = guarantee.least_sufficient().get();
        let exact = pair_of_stakes(leaking, sufficient, total);
        assert!(hold(stakes, rounding.weights(), &exact, guarantee.threshold()), "{guarantee}");
        if sufficient > leaking {
            let smaller = pair_of_stakes(leaking, sufficient - 1, total);
            assert!(!hold(stakes, rounding.weights(), &smaller, guarantee.threshold()));
        }
        let reached = (0u32..1 << stakes.len()).any(|set| {
            let members = (0..stakes.len()).filter(|party| set >> party & 1 == 1);
            let sums = members.fold((0, 0), |(stake, weight), party| {
                (stake + stakes[party].get(), weight + rounding.weights()[party].get())
            });
            sums.0 == leaking && sums.1 >= guarantee.threshold().get()
        });
        assert!(reached, "no set of stake {leaking} reaches {guarantee}");
    }
}

/// Below `leaking` nothing leaks, from `sufficient` on nothing stalls.
fn pair_of_stakes(leaking: u128, sufficient: u128, total: u128) -> Pair {
    let secrecy = ratio(leaking * 2 - 1, total * 2);
    pair("exact", secrecy, ratio((sufficient * 2 - 1).max(leaking * 2), total * 2))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(3), ..ProptestConfig::default() })]

    #[test]
    fn every_rounding_holds_for_all_subsets(
        stakes in committee(9), one in any_pair("one"), two in any_pair("two"),
    ) {
        let rounding =
            Rounding::solve(&stakes, &profile(&[one, two]), Objective::least_total()).unwrap();
        check(&stakes, &rounding);
    }

    #[test]
    fn the_check_agrees_with_all_subsets_on_any_vector(
        stakes in committee(8),
        weights in prop::collection::vec((0u32..6).prop_map(Weight::new), 8),
        pair in any_pair("any"),
        threshold in 1u32..12,
    ) {
        let weights = &weights[..stakes.len()];
        let claim = Claim { pair: &pair, threshold: Weight::new(threshold) };
        match verify(&stakes, weights, &[claim]) {
            Ok(()) => prop_assert!(hold(&stakes, weights, &pair, claim.threshold)),
            Err(VerifyError::ThresholdOutOfRange { total, .. }) => {
                prop_assert!(usize::try_from(threshold).unwrap() > total);
            }
            Err(VerifyError::Refuted(set)) => {
                let sum = |of: &dyn Fn(usize) -> u128| set.parties.iter().map(|p| of(*p)).sum::<u128>();
                prop_assert_eq!(set.stake.get(), sum(&|p| stakes[p].get()));
                prop_assert_eq!(u128::from(set.weight.get()), sum(&|p| weights[p].get().into()));
                let total: u128 = stakes.iter().map(|stake| stake.get()).sum();
                let share = ratio(set.stake.get(), total);
                match set.breach {
                    Breach::Leak => {
                        prop_assert!(share <= pair.secrecy() && set.weight >= claim.threshold);
                    }
                    Breach::Stall => {
                        prop_assert!(share >= pair.reconstruction() && set.weight < claim.threshold);
                    }
                }
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn the_proven_total_is_that_of_all_vectors(
        stakes in committee(5), one in any_pair("one"), two in any_pair("two"),
    ) {
        let pairs = [one, two];
        let objective = Objective::least_total().prove(NODES);
        let rounding = Rounding::solve(&stakes, &profile(&pairs), objective).unwrap();
        prop_assert!(rounding.is_optimal());
        // All vectors are too many beyond some totals; then at least nothing smaller may exist.
        let limit = rounding.total().get().min(9);
        let least = least_total(&stakes, &pairs, limit);
        prop_assert_eq!(least, (limit == rounding.total().get()).then_some(limit));
        check(&stakes, &rounding);
    }

    #[test]
    fn the_proven_stake_is_that_of_all_vectors(
        stakes in committee(5), slow in any_pair("slow"), secrecy in (1u128..6), budget in 1u32..9,
    ) {
        let pairs = [slow, pair("fast", ratio(secrecy, 6), Ratio::ONE)];
        let expected = least_sufficient(&stakes, &pairs, budget);
        let objective = Objective::least_reconstruction(Weight::new(budget));
        match Rounding::solve(&stakes, &profile(&pairs), objective.prove(NODES)) {
            Ok(rounding) => {
                let got = rounding.guarantees()[1].least_sufficient();
                prop_assert!(rounding.is_optimal());
                prop_assert_eq!(rounding.bound(), Bound::Sufficient(got));
                prop_assert_eq!(Some(got.get()), expected);
                check(&stakes, &rounding);
            }
            Err(SolveError::BudgetTooSmall { least, least_possible, .. }) => {
                prop_assert_eq!(expected, None);
                prop_assert_eq!(least, least_possible);
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
        // With few nodes there is a bound, and it is one.
        for nodes in [0, 1, 3, 10, 40] {
            let rounding = Rounding::solve(&stakes, &profile(&pairs), objective.prove(nodes));
            if let (Ok(rounding), Some(expected)) = (rounding, expected) {
                let Bound::Sufficient(bound) = rounding.bound() else {
                    return Err(TestCaseError::fail("a bound on the total"));
                };
                let got = rounding.guarantees()[1].least_sufficient();
                prop_assert!(bound.get() <= expected && expected <= got.get());
                prop_assert!(rounding.effort().nodes <= nodes);
            }
        }
    }

    #[test]
    fn a_pair_and_its_dual_need_the_same_total(stakes in committee(10), pair in any_pair("one")) {
        // The dual of what takes all stake would keep no secret.
        prop_assume!(pair.reconstruction() < Ratio::ONE);
        let flip = |ratio: Ratio| {
            Ratio::new(ratio.denominator() - ratio.numerator(), ratio.denominator()).unwrap()
        };
        let dual = Pair::new("dual", flip(pair.reconstruction()), flip(pair.secrecy())).unwrap();
        let objective = Objective::least_total();
        let one = Rounding::solve(&stakes, &profile(&[pair]), objective).unwrap();
        let other = Rounding::solve(&stakes, &profile(&[dual]), objective).unwrap();
        prop_assert_eq!(one.total(), other.total());
    }

    #[test]
    fn a_larger_budget_never_needs_more_stake(
        stakes in committee(9), slow in any_pair("slow"), secrecy in (1u128..6), spare in 0u32..30,
    ) {
        let fast = pair("fast", ratio(secrecy, 6), Ratio::ONE);
        let profile = profile(&[slow, fast]);
        let least = Rounding::solve(&stakes, &profile, Objective::least_total()).unwrap();
        let (mut budget, mut sufficient) = (least.total().get(), Stake::new(u128::MAX));
        for more in [0, spare, 30] {
            budget += more;
            let objective = Objective::least_reconstruction(Weight::new(budget));
            let rounding = Rounding::solve(&stakes, &profile, objective).unwrap();
            check(&stakes, &rounding);
            prop_assert!(rounding.total() <= Weight::new(budget));
            prop_assert!(rounding.guarantees()[1].least_sufficient() <= sufficient);
            sufficient = rounding.guarantees()[1].least_sufficient();
        }
        let small = Weight::new(least.total().get() - 1);
        let error = Rounding::solve(&stakes, &profile, Objective::least_reconstruction(small));
        let Err(SolveError::BudgetTooSmall { budget, least: enough, least_possible }) = error else {
            return Err(TestCaseError::fail(format!("{error:?}")));
        };
        prop_assert_eq!((budget, enough), (small, least.total()));
        prop_assert!(least_possible <= enough);
    }

    #[test]
    fn weights_follow_a_permutation_of_distinct_stakes(
        stakes in prop::collection::btree_set(0u128..10_000, 2..12), shift in 0usize..12,
    ) {
        let stakes: Vec<Stake> = stakes.into_iter().map(Stake::new).collect();
        let mut moved = stakes.clone();
        moved.rotate_left(shift % stakes.len());
        let solve = |stakes: &[Stake]| {
            Rounding::solve(stakes, &Profile::standard(), Objective::least_total()).unwrap()
        };
        let mut weights = solve(&stakes).weights().to_vec();
        weights.rotate_left(shift % stakes.len());
        let of_moved = solve(&moved);
        prop_assert_eq!(weights, of_moved.weights());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(4), ..ProptestConfig::default() })]

    #[test]
    fn of_equal_stakes_those_listed_first_get_the_extra_unit(
        (stakes, moved) in committee(12).prop_flat_map(|stakes| {
            (Just(stakes.clone()), Just(stakes).prop_shuffle())
        }),
    ) {
        let solve = |stakes: &[Stake]| {
            Rounding::solve(stakes, &Profile::standard(), Objective::least_total()).unwrap()
        };
        let (one, other) = (solve(&stakes), solve(&moved));
        // The same, except for which of the parties with equal stake has which weight.
        prop_assert_eq!(one.guarantees(), other.guarantees());
        let sorted = |stakes: &[Stake], rounding: &Rounding| {
            let mut pairs: Vec<(Stake, Weight)> =
                stakes.iter().copied().zip(rounding.weights().iter().copied()).collect();
            pairs.sort_unstable();
            pairs
        };
        prop_assert_eq!(sorted(&stakes, &one), sorted(&moved, &other));
        for (later, stake) in stakes.iter().enumerate() {
            for earlier in (0..later).filter(|earlier| stakes[*earlier] == *stake) {
                prop_assert!(one.weights()[earlier] >= one.weights()[later]);
            }
        }
    }
}

#[test]
fn fourteen_parties_against_all_their_subsets() {
    for units in [
        [900, 700, 700, 420, 300, 210, 210, 150, 99, 70, 35, 20, 3, 0u128],
        [83, 79, 73, 71, 67, 61, 59, 53, 47, 43, 41, 37, 31, 29],
        [1 << 13, 1 << 12, 1 << 11, 1 << 10, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1],
        [7; 14],
    ] {
        let stakes = stakes(&units);
        let objective = Objective::least_total().prove(NODES);
        let rounding = Rounding::solve(&stakes, &Profile::standard(), objective).unwrap();
        check(&stakes, &rounding);
    }
}

#[test]
fn inputs_on_which_other_roundings_went_wrong() {
    let close = pair("close", ratio(9, 10), ratio(19, 20));
    let slow = Pair::slow();
    for (units, pair) in [
        (vec![3136, 1806, 738, 123, 105], &close),
        (vec![94, 34], &slow),
        (vec![46, 44, 20, 5, 7, 15, 26], &slow),
        (vec![1; 13], &slow),
        (vec![1; 14], &slow),
        (vec![100], &slow),
        (vec![0, 0, 100, 0], &slow),
    ] {
        let stakes = stakes(&units);
        let objective = Objective::least_total().prove(NODES);
        let rounding = Rounding::solve(&stakes, &profile(std::slice::from_ref(pair)), objective);
        let rounding = rounding.unwrap();
        assert!(rounding.is_optimal(), "{units:?}");
        check(&stakes, &rounding);
    }
}

#[test]
fn one_vector_serves_any_number_of_pairs() {
    let stakes = stakes(&[900, 700, 700, 420, 300, 210, 210, 150, 99, 70]);
    let third = Ratio::new(1, 3).unwrap();
    let pairs = [
        Pair::fast(),
        pair("available", third, Ratio::HALF),
        Pair::slow(),
        pair("some", ratio(1, 10), third),
        pair("all but few", ratio(4, 5), Ratio::ONE),
    ];
    let mut before = 0;
    for count in 1..=pairs.len() {
        let objective = Objective::least_total().prove(NODES);
        let rounding = Rounding::solve(&stakes, &profile(&pairs[..count]), objective).unwrap();
        assert_eq!(rounding.guarantees().len(), count);
        check(&stakes, &rounding);
        // Proven, so one more pair never costs less.
        assert!(rounding.is_optimal() && rounding.total().get() >= before);
        before = rounding.total().get();
    }
}

/// A knapsack that takes the best weight per stake first, or floats, ends below 26 here.
#[test]
fn the_capacity_of_twenty_six_is_filled() {
    let units = [46, 44, 20, 5, 7, 15, 26];
    let weights = units.map(Weight::new);
    let stakes = stakes(&units.map(u128::from));
    let total: u128 = units.iter().copied().map(u128::from).sum();
    // Stake is weight, so a threshold holds iff some sum lies on neither side of it.
    let at = |stake: u128| ratio(stake, total);
    for (secrecy, reconstruction, threshold, holds) in
        [(25, 26, 26, true), (26, 27, 26, false), (26, 27, 27, true), (25, 26, 27, false)]
    {
        let pair = pair("at", at(secrecy), at(reconstruction));
        let claim = Claim { pair: &pair, threshold: Weight::new(threshold) };
        assert_eq!(verify(&stakes, &weights, &[claim]).is_ok(), holds, "{pair} {threshold}");
        assert_eq!(hold(&stakes, &weights, &pair, claim.threshold), holds, "{pair} {threshold}");
    }
}

#[test]
fn a_set_at_exact_equality_is_bound_by_both_ratios() {
    let equal = stakes(&[1; 6]);
    let weights = [Weight::new(1); 6];
    let slow = Pair::slow();
    // Three of six hold exactly one half and must stay below; four hold exactly two thirds and must
    // reach it.
    assert!(feasible(&equal, &weights, &slow));
    for (threshold, breach) in [(3, Some(Breach::Leak)), (4, None), (5, Some(Breach::Stall))] {
        let claim = Claim { pair: &slow, threshold: Weight::new(threshold) };
        match (verify(&equal, &weights, &[claim]), breach) {
            (Ok(()), None) => {}
            (Err(VerifyError::Refuted(set)), Some(breach)) => {
                assert_eq!(
                    (set.breach, set.parties.len()),
                    (breach, if threshold == 3 { 3 } else { 4 })
                );
            }
            (got, _) => panic!("threshold {threshold}: {got:?}"),
        }
    }
}
