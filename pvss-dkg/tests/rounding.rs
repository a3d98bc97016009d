//! Stake to shares: what a rounding makes of real stake tables, and each way in which it is refused.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use prefinal_crypto_core::access::{Access, AccessError, Party, Threshold, ThresholdError};
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_pvss_dkg::{
    Config, ConfigError, Dealer, DecryptionKey, Member, Paths, Purpose, Session, Shape, ShapeError,
    SharePath,
};
use prefinal_weighted_rounding::{Objective, Pair, Profile, Ratio, Rounding, Stake, Weight};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

const STAKES: [u128; 4] = [40, 30, 20, 10];

fn table(name: &str) -> Vec<Stake> {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/stakes").join(name);
    let text = std::fs::read_to_string(file.with_extension("csv")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| Stake::new(line.parse().unwrap())).collect()
}

fn round(stakes: &[Stake], pairs: &[Pair]) -> Rounding {
    let profile = Profile::new(pairs.to_vec()).unwrap();
    Rounding::solve(stakes, &profile, Objective::least_total().prove(0)).unwrap()
}

fn shape_of(pairs: &[Pair]) -> Result<Shape, ShapeError> {
    Shape::from_rounding(&round(&STAKES.map(Stake::new), pairs))
}

/// By hand: the weights as they are, and each pair's threshold out of their sum.
#[test]
fn a_shape_is_what_the_rounding_says() {
    for name in ["aptos_mainnet_129", "sui_epoch_1200", "cosmos_hub_leap2022", "solana_epoch_860"] {
        let stakes = table(name);
        for pairs in [vec![Pair::slow()], vec![Pair::slow(), Pair::fast()]] {
            let rounding = round(&stakes, &pairs);
            let shape = Shape::from_rounding(&rounding).unwrap();
            let weights: Vec<u32> = rounding.weights().iter().map(|weight| weight.get()).collect();
            assert_eq!(*shape.access(), Access::new(&weights).unwrap(), "{name}");
            assert_eq!(
                (shape.weights(), shape.stakes()),
                (rounding.weights().to_vec(), Some(&*stakes))
            );
            let [slow, fast] = ["slow", "fast"].map(|pair| {
                let threshold = rounding.guarantee(pair)?.threshold();
                Some(Threshold::new(threshold.get(), rounding.total().get()).unwrap())
            });
            assert_eq!(
                (Some(shape.slow()), shape.threshold(SharePath::Fast)),
                (slow, fast),
                "{name}"
            );
            assert_eq!(fast.is_some(), pairs.len() == 2);
            let holders =
                shape.access().parties().filter(|party| shape.access().weight(*party) > 0);
            assert_eq!(holders.count(), rounding.holders(), "{name}: others hold nothing");
        }
    }
}

#[test]
fn pairs_are_told_apart_by_name_and_not_by_place() {
    let shape = shape_of(&[Pair::slow(), Pair::fast()]).unwrap();
    let turned = shape_of(&[Pair::fast(), Pair::slow()]).unwrap();
    assert_eq!(turned.weights(), shape.weights());
    for path in [SharePath::Slow, SharePath::Fast] {
        assert_eq!(turned.threshold(path), shape.threshold(path));
    }
    assert!(shape.slow().t() < shape.threshold(SharePath::Fast).unwrap().t());
}

#[test]
fn pairs_that_are_not_those_of_the_paths_are_refused() {
    let error = shape_of(&[Pair::fast()]).unwrap_err();
    assert_eq!(error, ShapeError::NoSlowPair { pairs: 1 });
    assert_eq!(error.to_string(), "none of the rounding's 1 pairs is the slow one");

    // Misspelled, it would be a key without a fast path.
    let fsat = Pair::new("fsat", Ratio::TWO_THIRDS, Ratio::FIVE_SIXTHS).unwrap();
    let error = shape_of(&[Pair::slow(), fsat]).unwrap_err();
    assert_eq!(error, ShapeError::OtherPair { index: 1, pairs: 2 });
    let words = "pair 1 of the rounding's 2 is neither the slow nor the fast one";
    assert_eq!(error.to_string(), words);

    // Each under the other's name.
    let slow = Pair::new(Pair::SLOW, Ratio::TWO_THIRDS, Ratio::FIVE_SIXTHS).unwrap();
    let fast = Pair::new(Pair::FAST, Ratio::HALF, Ratio::TWO_THIRDS).unwrap();
    let right = shape_of(&[Pair::slow(), Pair::fast()]).unwrap();
    let [slow_t, fast_t] =
        [right.threshold(SharePath::Fast), Some(right.slow())].map(|one| one.unwrap().t().get());
    let error = shape_of(&[slow, fast]).unwrap_err();
    assert_eq!(error, ShapeError::Order { fast: fast_t, slow: slow_t });
}

#[test]
fn weights_and_thresholds_must_fit() {
    let shape = |weights: &[u32], slow: u32, fast: Option<u32>| {
        let weights: Vec<Weight> = weights.iter().copied().map(Weight::new).collect();
        let (slow, fast) = (Weight::new(slow), fast.map(Weight::new));
        Shape::new(&weights, Paths { slow, fast }).map(drop)
    };
    assert_eq!(shape(&[2, 0, 3], 3, Some(3)), Ok(()));
    assert_eq!(shape(&[0, 0], 1, None), Err(AccessError::NoShares { parties: 2 }.into()));
    let (total, max) = (u64::from(Access::MAX) + 1, Access::MAX);
    let too_many = AccessError::TooManyShares { total, max };
    assert_eq!(shape(&[max, 1], 1, None), Err(too_many.into()));
    let outside = |path, t| Err(ShapeError::Threshold { path, error: ThresholdError { t, n: 5 } });
    assert_eq!(shape(&[2, 0, 3], 0, None), outside(SharePath::Slow, 0));
    assert_eq!(shape(&[2, 0, 3], 6, Some(5)), outside(SharePath::Slow, 6));
    assert_eq!(shape(&[2, 0, 3], 3, Some(6)), outside(SharePath::Fast, 6));
    let error = shape(&[2, 0, 3], 3, Some(0)).unwrap_err();
    assert_eq!(error.to_string(), "fast threshold is 0 of 5 shares, expected 1 to 5");
    assert_eq!(shape(&[2, 0, 3], 4, Some(3)), Err(ShapeError::Order { fast: 3, slow: 4 }));
}

/// More than two thirds, in whole units.
#[test]
fn tight_is_the_quorum_of_exact_stake() {
    for parties in 1..60_u32 {
        let stakes = vec![Stake::new(1); usize::try_from(parties).unwrap()];
        let shape = Shape::tight(&stakes, Ratio::TWO_THIRDS).unwrap();
        let quorum = Threshold::new(parties - parties.div_ceil(3) + 1, parties).unwrap();
        assert_eq!((shape.slow(), shape.threshold(SharePath::Fast)), (quorum, None));
        assert_eq!(shape.stakes(), Some(&*stakes));
    }
    let shape = Shape::tight(&[4, 0, 3, 3].map(Stake::new), Ratio::TWO_THIRDS).unwrap();
    assert_eq!(shape.access().weights(), [4, 0, 3, 3]);
    assert_eq!(shape.slow().t().get(), 7);
}

#[test]
fn stake_that_cannot_be_counted_in_shares_is_refused() {
    let tight = |stakes: &[u128], above| {
        let stakes: Vec<Stake> = stakes.iter().copied().map(Stake::new).collect();
        Shape::tight(&stakes, above).map(drop)
    };
    for stake in [u128::from(Access::MAX) + 1, u128::from(u32::MAX) + 1, u128::MAX] {
        let (party, stake, most) = (Party::new(1), Stake::new(stake), Access::MAX);
        let refused = Err(ShapeError::Stake { party, stake, most });
        assert_eq!(tight(&[1, stake.get()], Ratio::HALF), refused);
    }
    let max = Access::MAX;
    let too_many = AccessError::TooManyShares { total: u64::from(max) + 2, max };
    assert_eq!(tight(&[max.into(), 2], Ratio::HALF), Err(too_many.into()));
    assert_eq!(tight(&[0, 0], Ratio::HALF), Err(AccessError::NoShares { parties: 2 }.into()));
    let (path, error) = (SharePath::Slow, ThresholdError { t: 4, n: 3 });
    assert_eq!(tight(&[1, 1, 1], Ratio::ONE), Err(ShapeError::Threshold { path, error }));
}

fn members(stakes: [u128; 4]) -> Vec<Member> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut member = |stake| {
        let signer = min_sig::SecretKey::random(&mut rng);
        let (key, public) = (DecryptionKey::random(&mut rng), signer.public_key());
        Member {
            stake: Stake::new(stake),
            encryption: key.register(&signer, &mut rng).verify(&public).unwrap(),
            signer: public.verify_possession(&signer.prove_possession()).unwrap(),
        }
    };
    stakes.map(&mut member).to_vec()
}

/// Weights of other stakes would promise what does not hold; so would those of another order.
#[test]
fn members_hold_the_stakes_that_were_rounded() {
    let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
    let session = Session { context, attempt: 0, purpose: Purpose::Randomness };
    let shape = shape_of(&[Pair::slow(), Pair::fast()]).unwrap();
    let qualify = Config::more_than(Ratio::ONE_THIRD, STAKES.map(Stake::new)).unwrap();
    let fresh = |stakes| Config::new(session, shape.clone(), members(stakes), qualify).map(drop);
    assert_eq!(fresh(STAKES), Ok(()));
    let other = |party, got, expected| {
        let (party, got, expected) = (Party::new(party), Stake::new(got), Stake::new(expected));
        Err(ConfigError::Stake { party, got, expected })
    };
    assert_eq!(fresh([40, 20, 30, 10]), other(1, 20, 30));
    assert_eq!(fresh([40, 30, 20, 11]), other(3, 11, 10));
    let text = fresh([40, 30, 20, 11]).unwrap_err().to_string();
    assert_eq!(text, "party 3 has a stake of 11, its weight was made of 10");

    // The dealers of a handover are others, and so is their stake.
    let dealer = |member: &Member| Dealer { stake: Stake::new(1), signer: member.signer };
    let hand_over = |stakes| {
        let (members, dealers) = (members(stakes), members(STAKES).iter().map(dealer).collect());
        Config::handover(session, shape.clone(), members, dealers, Stake::new(1)).map(drop)
    };
    assert_eq!(hand_over(STAKES), Ok(()));
    assert_eq!(hand_over([10, 20, 30, 40]), other(0, 10, 40));

    // Where only weights are known there is nothing to compare with.
    let thresholds = Paths { slow: Weight::new(3), fast: None };
    let weights = Shape::new(&[Weight::new(1); 4], thresholds).unwrap();
    assert!(weights.stakes().is_none());
    assert!(Config::new(session, weights, members(STAKES), qualify).is_ok());
}
