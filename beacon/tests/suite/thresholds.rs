//! Thresholds against finality: what would open before a value is final, or not without the faulty.
//!
//! Every refused configuration is sound in all other respects: with the check left out it runs.
use prefinal_beacon::{
    Amount, Beacon, Bls, ConfigError, Finality, MultiSig, Path, Quorum, ThresholdError,
};
use prefinal_weighted_rounding::{Objective, Profile as Pairs, Ratio, Rounding, Stake, Weight};

use crate::fixture::*;

const EQUAL: [u128; 4] = [1; 4];

fn exact(stakes: &[u128]) -> Finality {
    let stakes: Vec<Stake> = stakes.iter().copied().map(Stake::new).collect();
    Finality::exact(&stakes, Quorum::BYZANTINE).unwrap()
}

fn rounded(stakes: &[u128], weights: &[u32]) -> Finality {
    let stakes: Vec<Stake> = stakes.iter().copied().map(Stake::new).collect();
    let weights: Vec<Weight> = weights.iter().copied().map(Weight::new).collect();
    Finality::rounded(&stakes, &weights, Quorum::BYZANTINE).unwrap()
}

fn start<S: Instance>(
    profile: &Profile,
    thresholds: [u32; 3],
    finality: &Finality,
) -> Result<(), ConfigError> {
    let weights = [1, 1, 1, 1];
    let mut world = World::<S>::new(1100, &weights, thresholds);
    world.finality = finality.clone();
    Beacon::new(world.config(A, profile), &[]).map(drop)
}

fn early(path: Path, got: (u128, u128), need: (u128, u128)) -> Result<(), ConfigError> {
    Err(ThresholdError::OpensEarly { path, got: amount(got), need: amount(need) }.into())
}

fn never(path: Path, got: (u128, u128), most: (u128, u128)) -> Result<(), ConfigError> {
    Err(ThresholdError::OpensNever { path, got: amount(got), most: amount(most) }.into())
}

const fn amount((stake, weight): (u128, u128)) -> Amount {
    Amount { stake, weight }
}

#[test]
fn tight_is_what_makes_a_value_final_and_nothing_else() {
    let tight = |t| start::<Bls>(&TIGHT, [2, 4, t], &exact(&EQUAL));
    assert_eq!(tight(2), early(Path::Tight, (2, 2), (3, 3)));
    assert_eq!(tight(3), Ok(()));
    assert_eq!(tight(4), never(Path::Tight, (4, 4), (3, 3)));
}

/// Where fewer may be faulty, the honest hold more than a quorum, and have to wait for none of the rest.
#[test]
fn tight_is_a_quorum_also_if_more_are_honest() {
    let quorum = Quorum::new(Ratio::TWO_THIRDS, Ratio::new(1, 5).unwrap());
    let finality = Finality::exact(&[1; 10].map(Stake::new), quorum).unwrap();
    assert_eq!((finality.quorum(), finality.honest()), (Stake::new(7), Stake::new(9)));
    let tight = |t| {
        let mut world = World::<Bls>::new(1102, &[1; 10], [2, 8, t]);
        world.finality = finality.clone();
        Beacon::new(world.config(A, &TIGHT), &[]).map(drop)
    };
    assert_eq!(tight(6), early(Path::Tight, (6, 6), (7, 7)));
    assert_eq!(tight(7), Ok(()));
    assert_eq!(tight(8), never(Path::Tight, (8, 8), (7, 7)));
}

#[test]
fn fast_opens_from_a_quorum_on_and_may_ask_for_everybody() {
    let fast = |t| start::<Bls>(&BOTH, [2, t, 3], &exact(&EQUAL));
    assert_eq!(fast(2), early(Path::Fast, (2, 2), (3, 3)));
    assert_eq!(fast(3), Ok(()));
    assert_eq!(fast(4), Ok(()));
}

#[test]
fn slow_opens_above_the_faulty_and_within_the_honest() {
    for profile in [SLOW, BOTH] {
        let slow = |t| start::<Bls>(&profile, [t, 4, 3], &exact(&EQUAL));
        assert_eq!(slow(1), early(Path::Slow, (1, 1), (2, 2)));
        assert_eq!([slow(2), slow(3)], [Ok(()), Ok(())]);
        assert_eq!(slow(4), never(Path::Slow, (4, 4), (3, 3)));
    }
}

/// Three of four are a quorum in counts. Who they are decides in stake.
#[test]
fn counts_that_stake_does_not_stand_behind_are_refused() {
    // The fourth holds a share and no stake: two thirds of the stake and this share are not final.
    let light = rounded(&[100, 100, 100, 0], &[1; 4]);
    assert_eq!(start::<Bls>(&TIGHT, [2, 4, 3], &light), early(Path::Tight, (200, 3), (201, 4)));
    assert_eq!(start::<Bls>(&BOTH, [2, 3, 3], &light), early(Path::Fast, (200, 3), (201, 4)));
    assert_eq!(start::<Bls>(&BOTH, [2, 4, 3], &light), Ok(()));
    // The first alone is honest stake enough, and has one share.
    let heavy = rounded(&[100, 1, 1, 1], &[1; 4]);
    assert_eq!(start::<Bls>(&SLOW, [2, 4, 3], &heavy), early(Path::Slow, (2, 2), (35, 4)));
    let large = rounded(&[40, 40, 10, 10], &[1; 4]);
    assert_eq!(start::<Bls>(&SLOW, [3, 4, 3], &large), never(Path::Slow, (81, 3), (67, 2)));
    assert_eq!(start::<Bls>(&TIGHT, [3, 4, 3], &large), early(Path::Tight, (60, 3), (67, 4)));
}

/// Whatever a rounding guarantees is enough, for it is guaranteed in stake.
#[test]
fn a_rounding_for_the_quorum_is_accepted() {
    for stakes in [[40, 30, 20, 10], [97, 61, 33, 9], [1, 1, 1, 1], [1000, 999, 998, 3]] {
        let table = stakes.map(Stake::new);
        let rounding =
            Rounding::solve(&table, &Pairs::standard(), Objective::least_total()).unwrap();
        let weights: Vec<u32> = rounding.weights().iter().map(|weight| weight.get()).collect();
        let [slow, fast] = [rounding.slow(), rounding.fast()].map(|one| one.unwrap().threshold());
        let thresholds = [slow, fast, fast].map(Weight::get);
        let mut world = World::<Bls>::new(1101, &weights, thresholds);
        world.finality = Finality::of_rounding(&rounding, Quorum::BYZANTINE).unwrap();
        assert_eq!(Beacon::new(world.config(A, &BOTH), &[]).map(drop), Ok(()), "{stakes:?}");
    }
}

#[test]
fn certificates_count_to_the_last_unit_of_stake() {
    let quorum = |t: u32| start::<MultiSig>(&TIGHT_VALUE, [2, 4, t], &exact(&EQUAL));
    assert_eq!(quorum(2), early(Path::Tight, (2, 2), (3, 3)));
    assert_eq!(quorum(3), Ok(()));
    assert_eq!(quorum(4), never(Path::Tight, (4, 4), (3, 3)));
}

#[test]
fn a_table_of_other_parties_or_weights_is_refused() {
    let stakes = ConfigError::Stakes { path: Path::Slow, parties: 4, stakes: 3 };
    assert_eq!(start::<Bls>(&SLOW, [2, 4, 3], &exact(&[1; 3])), Err(stakes));
    let weight = ConfigError::Weight { path: Path::Slow, party: C, got: 1, expected: 2 };
    assert_eq!(start::<Bls>(&SLOW, [2, 4, 3], &exact(&[1, 1, 2, 1])), Err(weight));
    let other = rounded(&[1; 4], &[1, 1, 2, 1]);
    assert_eq!(start::<Bls>(&SLOW, [2, 4, 3], &other), Err(weight));
}

#[test]
fn both_numbers_are_said_in_stake_and_in_weight() {
    let light = rounded(&[100, 100, 100, 0], &[1; 4]);
    let error = start::<Bls>(&TIGHT, [2, 4, 3], &light).unwrap_err().to_string();
    let words = "tight path opens from a stake of 200 (weight 3) on, and must not before a stake of 201 (weight 4)";
    assert_eq!(error, words);
}
