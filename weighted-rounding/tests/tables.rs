//! The stake tables of live chains: totals never above what is known to be possible.
#![allow(clippy::unwrap_used, reason = "a test that panics fails, as it should")]

use std::path::Path;

use weighted_rounding::{Objective, Pair, Profile, Ratio, Rounding, SolveError, Stake, Weight};

fn table(name: &str) -> Vec<Stake> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/stakes").join(name);
    let text = std::fs::read_to_string(file.with_extension("csv")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| Stake::new(line.parse().unwrap())).collect()
}

fn slow() -> Profile {
    Profile::new(vec![Pair::slow()]).unwrap()
}

#[test]
fn totals_for_one_half_and_two_thirds() {
    for (name, most) in [
        ("swiper_aptos", 96),
        ("aptos_mainnet_112", 122),
        ("aptos_mainnet_129", 162),
        ("aptos_mainnet_152", 219),
        ("swiper_tezos", 199),
        ("cosmos_hub_leap2022", 230),
        ("cosmos_hub_block1_2019", 141),
        ("sui_epoch_100", 173),
        ("sui_epoch_1200", 170),
        ("solana_epoch_860", 1208),
    ] {
        let rounding = Rounding::solve(&table(name), &slow(), Objective::least_total()).unwrap();
        assert!(rounding.total() <= Weight::new(most), "{name}: {} > {most}", rounding.total());
    }
}

#[test]
fn small_tables_are_solved_to_the_proven_optimum() {
    for (name, least) in
        [("ethereum_entities_2023", 18), ("swiper_primes_23", 28), ("swiper_1_to_7", 8)]
    {
        let objective = Objective::least_total().prove(100_000);
        let rounding = Rounding::solve(&table(name), &slow(), objective).unwrap();
        assert!(rounding.is_optimal(), "{name}");
        assert_eq!(rounding.total(), Weight::new(least), "{name}");
    }
}

#[test]
fn scans_of_live_chains_are_proven_optimal() {
    for (name, nodes) in
        [("swiper_aptos", 4000), ("aptos_mainnet_112", 12_000), ("aptos_mainnet_129", 40_000)]
    {
        let objective = Objective::least_total().prove(nodes);
        let rounding = Rounding::solve(&table(name), &slow(), objective).unwrap();
        assert!(rounding.is_optimal(), "{name}: at least {}", rounding.least_possible());
    }
}

#[test]
fn a_second_pair_is_free_for_aptos() {
    let stakes = table("aptos_mainnet_129");
    let both = Rounding::solve(&stakes, &Profile::standard(), Objective::least_total()).unwrap();
    assert_eq!(both.total(), Weight::new(162));
    let sum: u32 = both.weights().iter().map(|weight| weight.get()).sum();
    assert_eq!(sum, 162);
    assert_eq!((both.largest(), both.holders()), (Weight::new(4), 80));
    // Pinned, so that every platform and build is held to the same answer.
    let count = |weight| both.weights().iter().filter(|w| **w == Weight::new(weight)).count();
    assert_eq!([4, 3, 2, 1, 0].map(count), [1, 26, 27, 26, 49]);
    let thresholds = both.guarantees().iter().map(|guarantee| guarantee.threshold().get());
    assert_eq!(thresholds.collect::<Vec<_>>(), [96, 124]);
    let sufficient = both.guarantees().iter().map(|guarantee| guarantee.least_sufficient().get());
    assert_eq!(
        sufficient.collect::<Vec<_>>(),
        [5_693_413_673_601_452_601, 6_953_162_310_895_252_201]
    );
}

#[test]
fn a_budget_buys_a_smaller_gap() {
    let stakes = table("aptos_mainnet_129");
    let fast = Pair::new("fast", Ratio::TWO_THIRDS, Ratio::ONE).unwrap();
    let profile = Profile::new(vec![Pair::slow(), fast]).unwrap();
    for (budget, most) in [(219, "0.80"), (438, "0.75"), (682, "0.70"), (833, "0.69")] {
        let objective = Objective::least_reconstruction(Weight::new(budget));
        let rounding = Rounding::solve(&stakes, &profile, objective).unwrap();
        let reached = rounding.guarantee("fast").unwrap().reconstruction();
        assert!(reached <= most.parse().unwrap(), "budget {budget}: {reached} > {most}");
    }
}

/// The scan needs 20 here; a budget below that is met, or refused with the smallest that works.
#[test]
fn a_budget_below_the_scan_is_met_if_any_weights_meet_it() {
    let stakes = table("ethereum_entities_2023");
    let within = |budget| {
        let objective = Objective::least_reconstruction(Weight::new(budget)).prove(100_000);
        Rounding::solve(&stakes, &slow(), objective)
    };
    assert_eq!(within(18).unwrap().total(), Weight::new(18));
    let (budget, least) = (Weight::new(17), Weight::new(18));
    assert_eq!(within(17), Err(SolveError::BudgetTooSmall { budget, least }));
}
