//! Points, coefficients and commitments against the definitions.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]
use core::num::NonZeroU32;

use prefinal_crypto_core::access::{Access, ShareIndex};
use prefinal_crypto_core::commitment::{Commitment, CommitmentError, ShareError};
use prefinal_crypto_core::curve::hazmat::vartime_msm_bytes;
use prefinal_crypto_core::curve::{Affine, G1, G2, Group, Projective, Scalar};
use prefinal_crypto_core::polynomial::{
    CountError, InterpolationError, Placement, Points, Polynomial, lagrange_at_zero,
};
use prefinal_crypto_core::secret::Secret;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

const SEED: u64 = 11;
const PLACEMENTS: [Placement; 2] = [Placement::Consecutive, Placement::RootsOfUnity];

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(SEED)
}

fn polynomial(t: u32, rng: &mut ChaCha20Rng) -> Polynomial {
    let constant = Secret::new(Scalar::random(rng));
    Polynomial::random(NonZeroU32::new(t).unwrap(), &constant, rng)
}

fn index(number: u32) -> ShareIndex {
    ShareIndex::new(number).unwrap()
}

fn run(numbers: impl IntoIterator<Item = u32>) -> Vec<ShareIndex> {
    numbers.into_iter().map(index).collect()
}

/// A random subset, in random order.
fn subset(of: u32, count: u32, rng: &mut ChaCha20Rng) -> Vec<ShareIndex> {
    let mut all = run(1..=of);
    for place in (1..all.len()).rev() {
        let other = usize::try_from(rng.next_u64() % (u64::try_from(place).unwrap() + 1)).unwrap();
        all.swap(place, other);
    }
    all.truncate(usize::try_from(count).unwrap());
    all
}

fn in_exponent<G: Group>(scalars: &[Scalar]) -> Vec<Affine<G>> {
    let points: Vec<_> = scalars.iter().map(|s| Projective::<G>::generator() * s).collect();
    Projective::batch_to_affine(&points)
}

/// `λᵢ(x)` straight from the definition.
fn naive(points: &[Scalar], x: &Scalar) -> Vec<Scalar> {
    let factor = |own: &Scalar, other: &Scalar| (*x - *other) * (*own - *other).invert().unwrap();
    let others = |own: &Scalar| points.iter().filter(|p| **p != *own).copied().collect::<Vec<_>>();
    points.iter().map(|own| others(own).iter().map(|other| factor(own, other)).product()).collect()
}

fn at(points: &Points, indices: &[ShareIndex]) -> Vec<Scalar> {
    indices.iter().map(|i| points.point(*i).unwrap()).collect()
}

#[test]
fn coefficients_match_the_definition_wherever_the_target_is() {
    let mut rng = rng();
    for placement in PLACEMENTS {
        for (n, t) in [(1, 1), (2, 1), (3, 2), (7, 7), (20, 11), (64, 33), (100, 67), (300, 200)] {
            let points = Points::new(placement, n).unwrap();
            let indices = subset(n, t, &mut rng);
            let xs = at(&points, &indices);
            let case = format!("{t} of {n} {placement}, seed {SEED}");
            let zero = points.lagrange_at_zero(&indices).unwrap();
            assert_eq!(zero.to_scalars(), naive(&xs, &Scalar::ZERO), "{case}");
            assert_eq!(zero.to_scalars(), lagrange_at_zero(&xs).unwrap(), "{case}");
            let x = Scalar::random(&mut rng);
            let elsewhere = points.lagrange_at(&x, &indices).unwrap();
            assert_eq!(elsewhere.to_scalars(), naive(&xs, &x), "{case}");
            for target in [1, n, indices[0].get()].map(index) {
                let share = points.lagrange_at_share(target, &indices).unwrap();
                let expected = naive(&xs, &points.point(target).unwrap());
                assert_eq!(share.to_scalars(), expected, "{target}, {case}");
                assert_eq!(
                    points.lagrange_at(&xs[0], &indices).unwrap().to_scalars()[0],
                    Scalar::ONE
                );
            }
        }
    }
}

#[test]
fn fast_ways_match_the_quadratic_one_for_large_thresholds() {
    let mut rng = rng();
    let choices = [
        // Multiplied out over the shares, over the gaps, and by transforms: few gaps, many, a power
        // of two of them, none.
        subset(20_000, 500, &mut rng),
        subset(1000, 700, &mut rng),
        subset(1200, 1130, &mut rng),
        subset(2500, 1000, &mut rng),
        subset(1000 + 128, 1000, &mut rng),
        subset(1000 + 64, 1000, &mut rng),
        run(1..1001),
        run(7000..8200),
        run((1..2000).filter(|n| n % 2 == 0)),
    ];
    for placement in PLACEMENTS {
        let points = Points::new(placement, 20_000).unwrap();
        for indices in &choices {
            let xs = at(&points, indices);
            let case = format!("{} shares, {placement}, seed {SEED}", indices.len());
            let zero = points.lagrange_at_zero(indices).unwrap();
            assert_eq!(zero.to_scalars(), lagrange_at_zero(&xs).unwrap(), "{case}");
            // Seen from the target, zero is where the target is.
            let target = points.point(index(4_321)).unwrap();
            let moved: Vec<Scalar> = xs.iter().map(|x| *x - target).collect();
            if !moved.contains(&Scalar::ZERO) {
                let share = points.lagrange_at_share(index(4_321), indices).unwrap();
                assert_eq!(share.to_scalars(), lagrange_at_zero(&moved).unwrap(), "{case}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        rng_seed: RngSeed::Fixed(SEED),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_indices_match_the_quadratic_formula(
        roots in any::<bool>(),
        n in 1..400_u32,
        part in 1..=100_u32,
        target in 1..400_u32,
        seed in any::<u64>(),
    ) {
        let placement = if roots { Placement::RootsOfUnity } else { Placement::Consecutive };
        let points = Points::new(placement, n).unwrap();
        let t = (n * part).div_ceil(100);
        let indices = subset(n, t, &mut ChaCha20Rng::seed_from_u64(seed));
        let xs = at(&points, &indices);
        let zero = points.lagrange_at_zero(&indices).unwrap();
        prop_assert_eq!(zero.to_scalars(), lagrange_at_zero(&xs).unwrap());
        let target = index(target.min(n));
        let x = points.point(target).unwrap();
        let share = points.lagrange_at_share(target, &indices).unwrap().to_scalars();
        prop_assert_eq!(&share, &points.lagrange_at(&x, &indices).unwrap().to_scalars());
        if !indices.contains(&target) {
            let moved: Vec<Scalar> = xs.iter().map(|own| *own - x).collect();
            prop_assert_eq!(share, lagrange_at_zero(&moved).unwrap());
        }
    }
}

#[test]
fn contiguous_and_many_scattered_indices_have_short_coefficients() {
    let points = Points::new(Placement::Consecutive, 100).unwrap();
    for (first, bits) in [(1, 64), (2, 70), (10, 101), (34, 151)] {
        let coefficients = points.lagrange_at_zero(&run(first..first + 67)).unwrap();
        assert_eq!(coefficients.bits(), bits, "from {first}");
    }
    let mut rng = rng();
    for _ in 0..5 {
        let bits = points.lagrange_at_zero(&subset(100, 67, &mut rng)).unwrap().bits();
        assert!(bits < 190, "{bits}, seed {SEED}");
    }
    let binomials: Vec<Scalar> = [6_u64, 15, 20, 15, 6, 1]
        .into_iter()
        .enumerate()
        .map(|(i, c)| if i % 2 == 0 { Scalar::from_u64(c) } else { -Scalar::from_u64(c) })
        .collect();
    let coefficients = points.lagrange_at_zero(&run(1..7)).unwrap();
    assert_eq!((coefficients.to_scalars(), coefficients.bits()), (binomials, 5));
}

fn values_combine_in_the_exponent<G: Group>() {
    let mut rng = rng();
    for placement in PLACEMENTS {
        for (n, t) in [(1, 1), (3, 2), (6, 6), (40, 27)] {
            let points = Points::new(placement, n).unwrap();
            let (f, need) = (polynomial(t, &mut rng), NonZeroU32::new(t).unwrap());
            let shares = f.shares(&points);
            let public = in_exponent::<G>(shares.expose());
            let target = Projective::<G>::generator() * f.evaluate(&Scalar::ZERO).expose();
            for indices in [subset(n, t, &mut rng), run(1..=t), run(n - t + 1..=n), run(1..=n)] {
                let coefficients = points.lagrange_at_zero(&indices).unwrap();
                let own: Vec<_> = indices.iter().map(|i| public[i.position()]).collect();
                assert!(coefficients.combine(&own).unwrap() == target, "{t} of {n} {placement}");
                let secrets = indices.iter().map(|i| shares.expose()[i.position()]).collect();
                let secret = coefficients.recover(need, &Secret::new(secrets)).unwrap();
                assert_eq!(secret.expose(), f.evaluate(&Scalar::ZERO).expose());
                let lost = coefficients.combine(&own[1..]);
                let error = InterpolationError::Values { expected: own.len(), got: own.len() - 1 };
                assert_eq!(lost, Err(error));
            }
        }
    }
}

#[test]
fn values_combine_in_g1() {
    values_combine_in_the_exponent::<G1>();
}

#[test]
fn values_combine_in_g2() {
    values_combine_in_the_exponent::<G2>();
}

#[test]
fn shares_are_the_values_at_their_points() {
    let mut rng = rng();
    for placement in PLACEMENTS {
        for (t, n) in
            [(1, 1), (1, 9), (2, 1), (5, 3), (9, 10), (10, 10), (11, 10), (67, 100), (3, 70)]
        {
            let points = Points::new(placement, n).unwrap();
            let f = polynomial(t, &mut rng);
            let expected: Vec<Scalar> = points
                .indices()
                .map(|index| *f.evaluate(&points.point(index).unwrap()).expose())
                .collect();
            assert_eq!(*f.shares(&points).expose(), expected, "t = {t}, n = {n}, {placement}");
        }
    }
}

#[test]
fn the_lowest_shares_are_chosen() {
    let t = NonZeroU32::new(3).unwrap();
    for placement in PLACEMENTS {
        let points = Points::new(placement, 9).unwrap();
        assert_eq!(points.choose(&run([8, 2, 9, 2, 5, 4]), t), Ok(run([2, 4, 5])));
        let error = InterpolationError::BelowThreshold { got: 2, need: 3 };
        assert_eq!(points.choose(&run([8, 2, 8]), t), Err(error));
        assert_eq!(error.to_string(), "2 shares, threshold is 3");
        let error = InterpolationError::OutOfRange { index: index(10), count: 9 };
        assert_eq!(points.choose(&run([1, 2, 3, 10]), t), Err(error));
    }
    // No choice among 80 shares at hand beats it by much, and random ones are far behind.
    let mut rng = rng();
    let points = Points::new(Placement::Consecutive, 100).unwrap();
    let t = NonZeroU32::new(67).unwrap();
    let at_hand = subset(100, 80, &mut rng);
    let chosen = points.choose(&at_hand, t).unwrap();
    let bits = |indices: &[ShareIndex]| points.lagrange_at_zero(indices).unwrap().bits();
    assert!(bits(&chosen) < bits(&at_hand[..67]), "seed {SEED}");
}

#[test]
fn indices_that_do_not_interpolate_are_named() {
    for placement in PLACEMENTS {
        let points = Points::new(placement, 5).unwrap();
        let x = Scalar::from_u64(9);
        let all = |indices: &[ShareIndex]| {
            let error = points.lagrange_at_zero(indices).unwrap_err();
            assert_eq!(points.lagrange_at(&x, indices), Err(error));
            assert_eq!(points.lagrange_at_share(index(1), indices), Err(error));
            error
        };
        assert_eq!(all(&[]), InterpolationError::NoShares);
        assert_eq!(all(&run([1, 2, 1])), InterpolationError::Duplicate { index: index(1) });
        // The ninth root of unity of order 8 is the first again.
        for number in [6, 8, 9, u32::MAX] {
            let error = InterpolationError::OutOfRange { index: index(number), count: 5 };
            assert_eq!(all(&run([1, number])), error);
            assert_eq!(points.point(index(number)), None);
            assert_eq!(points.lagrange_at_share(index(number), &run([1])), Err(error));
        }
        assert_eq!(all(&run([6])).to_string(), "share 6 does not exist, there are 5");
        assert_eq!(all(&run([3, 3])).to_string(), "share 3 is given twice");
    }
}

#[test]
fn sums_over_short_scalars_are_right_for_any_number_of_bits() {
    let mut rng = rng();
    for bits in 1..=256_usize {
        let count = [1, 2, 3, 40][bits % 4];
        let points =
            in_exponent::<G1>(&(0..count).map(|_| Scalar::random(&mut rng)).collect::<Vec<_>>());
        let mut scalars: Vec<[u8; 32]> =
            (0..count).map(|_| Scalar::random(&mut rng).to_bytes()).collect();
        for (place, scalar) in scalars.iter_mut().enumerate() {
            // Little-endian; the first has all its bits set.
            scalar.reverse();
            for (position, byte) in scalar.iter_mut().enumerate() {
                *byte |= if place == 0 { 0xff } else { 0 };
                let kept = bits.saturating_sub(8 * position).min(8);
                *byte &= u8::try_from((1_u16 << kept) - 1).unwrap();
            }
        }
        let expected: Projective<G1> = points
            .iter()
            .zip(&scalars)
            .map(|(point, scalar)| {
                let mut wide = [0; 64];
                wide[32..].copy_from_slice(scalar);
                wide[32..].reverse();
                *point * Scalar::from_wide(&wide)
            })
            .sum();
        assert!(vartime_msm_bytes(&points, &scalars) == expected, "{count} of {bits} bits");
    }
}

#[test]
fn counts_that_make_no_sense_are_refused() {
    for placement in PLACEMENTS {
        for got in [0, Access::MAX + 1, u32::MAX] {
            let error = CountError { got, max: Access::MAX };
            assert_eq!(Points::new(placement, got), Err(error));
        }
        let access = Access::new(&[2, 0, 3]).unwrap();
        let points = Points::of(&access, placement);
        assert_eq!(Points::new(placement, 5), Ok(points.clone()));
        assert_eq!((points.placement(), points.count()), (placement, 5));
    }
    let error = CountError { got: 0, max: Access::MAX };
    assert_eq!(error.to_string(), "0 shares, expected 1 to 1048576");
}

fn shares_match_their_commitment_and_nothing_else<G: Group>() {
    let mut rng = rng();
    for placement in PLACEMENTS {
        for (n, t) in [(1, 1), (4, 3), (5, 5), (9, 2), (2, 7), (40, 27), (160, 150), (6, 300)] {
            let points = Points::new(placement, n).unwrap();
            let f = polynomial(t, &mut rng);
            let commitment = Commitment::<G>::commit(&f);
            let shares = f.shares(&points);
            assert_eq!(commitment.t().get(), t);
            assert_eq!(commitment.evaluate_all(&points), in_exponent::<G>(shares.expose()));
            for (index, share) in points.indices().zip(shares.expose()).take(5) {
                let check =
                    |share: Scalar| commitment.verify_share(&points, index, &Secret::new(share));
                assert_eq!(check(*share), Ok(()));
                assert_eq!(check(*share + Scalar::ONE), Err(ShareError::Mismatch { index }));
                assert_eq!(check(-*share), Err(ShareError::Mismatch { index }));
                let other = polynomial(t, &mut rng).shares(&points).expose()[index.position()];
                assert_eq!(check(other), Err(ShareError::Mismatch { index }));
            }
            let index = index(n + 1);
            let result = commitment.verify_share(&points, index, &Secret::new(Scalar::ONE));
            assert_eq!(result, Err(ShareError::OutOfRange { index, count: n }));
        }
    }
}

#[test]
fn shares_match_their_commitment_in_g1() {
    shares_match_their_commitment_and_nothing_else::<G1>();
}

#[test]
fn shares_match_their_commitment_in_g2() {
    shares_match_their_commitment_and_nothing_else::<G2>();
}

#[test]
fn special_commitments_evaluate_as_others_do() {
    let mut rng = rng();
    let g = Affine::<G1>::generator();
    let random = (Projective::from(g) * Scalar::random(&mut rng)).to_affine();
    let zero = Affine::identity();
    // Differences that meet equal points, opposite points and the identity.
    for coefficients in [
        vec![zero],
        vec![zero; 4],
        vec![g; 4],
        vec![g, -g, g, -g, g],
        vec![g, zero, zero, g],
        vec![zero, zero, random, zero],
        vec![random, -random, -random, g, g],
    ] {
        let commitment = Commitment::from_points(coefficients).unwrap();
        for placement in PLACEMENTS {
            let points = Points::new(placement, 20).unwrap();
            let all = commitment.evaluate_all(&points);
            assert_eq!(all.len(), 20);
            for (index, value) in points.indices().zip(all) {
                let x = points.point(index).unwrap();
                let powers = (0..).map(|k| x.vartime_pow(k));
                let terms = commitment.points().iter().zip(powers).map(|(c, power)| *c * power);
                let expected: Projective<G1> = terms.sum();
                assert!(expected == value.into(), "{index} {placement}");
                assert!(commitment.evaluate(&x) == expected);
                assert!(commitment.share_key(&points, index) == Some(expected));
            }
            assert_eq!(commitment.share_key(&points, index(21)), None);
        }
    }
}

#[test]
fn commitments_add_up_as_their_polynomials_do() {
    let mut rng = rng();
    let (f, g) = (polynomial(3, &mut rng), polynomial(5, &mut rng));
    let (cf, cg) = (Commitment::<G1>::commit(&f), Commitment::<G1>::commit(&g));
    let sum = &cf + &cg;
    assert_eq!((sum.t().get(), &cg + &cf), (5, sum.clone()));
    let x = Scalar::random(&mut rng);
    let value = *f.evaluate(&x).expose() + *g.evaluate(&x).expose();
    assert!(sum.evaluate(&x) == Projective::generator() * value);
    assert!(sum.constant() == (cf.constant() + cg.constant()).to_affine());
}

#[test]
fn encoded_commitments_come_back_and_empty_ones_do_not() {
    let commitment = Commitment::<G2>::commit(&polynomial(3, &mut rng()));
    let bytes = borsh::to_vec(&commitment).unwrap();
    assert_eq!(bytes.len(), 4 + 3 * 96);
    assert_eq!(borsh::from_slice::<Commitment<G2>>(&bytes).unwrap(), commitment);
    assert!(borsh::from_slice::<Commitment<G2>>(&bytes[..bytes.len() - 1]).is_err());
    assert!(borsh::from_slice::<Commitment<G2>>(&[0; 4]).is_err());
    assert!(borsh::from_slice::<Commitment<G2>>(&[0xff; 4]).is_err());
    let error = CommitmentError { got: 0, max: Access::MAX };
    assert_eq!(Commitment::<G2>::from_points(Vec::new()), Err(error));
}
