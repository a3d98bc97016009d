//! Polynomials against naive evaluation and interpolation; the two sharings of one secret.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]
use core::num::NonZeroU32;

use prefinal_crypto_core::access::{Access, ShareIndex, Threshold};
use prefinal_crypto_core::curve::Scalar;
use prefinal_crypto_core::polynomial::{
    Coefficients, Domain, InterpolationError, Placement, Points, Polynomial, lagrange_at_zero,
};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::sharing::Sharing;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

const SEED: u64 = 7;

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(SEED)
}

fn polynomial(t: u32, rng: &mut ChaCha20Rng) -> Polynomial {
    let constant = Secret::new(Scalar::random(rng));
    Polynomial::random(NonZeroU32::new(t).unwrap(), &constant, rng)
}

/// `Σᵢ λᵢ·sᵢ`, whether there are enough or not.
fn sum(lambda: &Coefficients, values: &Secret<Vec<Scalar>>) -> Scalar {
    lambda.to_scalars().into_iter().zip(values.expose()).map(|(l, value)| l * value).sum()
}

/// A random subset, in random order.
fn subset(of: u32, count: usize, rng: &mut ChaCha20Rng) -> Vec<ShareIndex> {
    let mut all: Vec<ShareIndex> = (1..=of).filter_map(ShareIndex::new).collect();
    for place in (1..all.len()).rev() {
        let other = usize::try_from(rng.next_u64() % (u64::try_from(place).unwrap() + 1)).unwrap();
        all.swap(place, other);
    }
    all.truncate(count);
    all
}

/// Straight from the definition, one inversion for each factor.
fn naive(points: &[Scalar]) -> Vec<Scalar> {
    let others = |x: Scalar| points.iter().copied().filter(move |y| *y != x);
    let factor = |x: Scalar, y: Scalar| y * (y - x).invert().unwrap();
    points.iter().map(|x| others(*x).map(|y| factor(*x, y)).product()).collect()
}

#[test]
fn the_transform_matches_horner() {
    let mut rng = rng();
    // Degrees below, at and above the domain's size.
    for (t, size) in [(1, 1), (1, 8), (3, 1), (5, 8), (8, 8), (9, 8), (20, 8), (100, 128)] {
        let f = polynomial(t, &mut rng);
        let domain = Domain::new(size);
        let values = f.evaluate_over(&domain);
        assert_eq!(values.expose().len(), domain.size());
        for (point, value) in domain.points().iter().zip(values.expose()) {
            assert_eq!(f.evaluate(point).expose(), value, "t = {t}, size = {size}");
        }
    }
}

#[test]
fn the_constant_term_is_the_value_at_zero() {
    let mut rng = rng();
    let constant = Secret::new(Scalar::from_u64(42));
    let f = Polynomial::random(NonZeroU32::new(4).unwrap(), &constant, &mut rng);
    assert_eq!(f.evaluate(&Scalar::ZERO).expose(), constant.expose());
    assert_ne!(f.evaluate(&Scalar::ONE).expose(), constant.expose());
    let flat = Polynomial::random(NonZeroU32::MIN, &constant, &mut rng);
    assert_eq!(flat.evaluate(&Scalar::ONE).expose(), constant.expose());
}

#[test]
fn both_ways_to_interpolate_match_the_definition() {
    let mut rng = rng();
    for (total, count) in [
        (1, 1),
        (2, 1),
        (2, 2),
        (3, 2),
        (4, 4),
        (7, 3),
        (16, 9),
        (100, 1),
        (100, 34),
        (128, 128),
        (200, 65),
        (200, 128),
        (200, 129),
        (300, 150),
        (414, 228),
        (512, 256),
        (1000, 500),
    ] {
        let domain = Domain::new(total);
        let indices = subset(total, count, &mut rng);
        let points: Vec<Scalar> = indices.iter().map(|i| domain.point(*i).unwrap()).collect();
        let expected = naive(&points);
        assert_eq!(lagrange_at_zero(&points).unwrap(), expected, "{count} of {total}, seed {SEED}");
        assert_eq!(domain.lagrange_at_zero(&indices), expected, "{count} of {total}, seed {SEED}");
    }
}

#[test]
fn any_points_but_zero_interpolate() {
    let mut rng = rng();
    let points: Vec<Scalar> = (0..20).map(|_| Scalar::random(&mut rng)).collect();
    let f = polynomial(20, &mut rng);
    let lambda = lagrange_at_zero(&points).unwrap();
    let value: Scalar = points.iter().zip(lambda).map(|(x, l)| *f.evaluate(x).expose() * l).sum();
    assert_eq!(value, *f.evaluate(&Scalar::ZERO).expose());
    assert_eq!(lagrange_at_zero(&[]), None);
    // No coefficients exist if two points are equal or one is the target; the order is zero.
    let [one, two] = [1, 2].map(Scalar::from_u64);
    let order = -one + one;
    assert_eq!(lagrange_at_zero(&[one, two, one]), None);
    assert_eq!(lagrange_at_zero(&[one, two, order]), None);
}

#[test]
fn indices_that_do_not_interpolate_give_nothing() {
    let domain = Domain::new(4);
    let indices = |numbers: &[u32]| -> Vec<ShareIndex> {
        numbers.iter().filter_map(|number| ShareIndex::new(*number)).collect()
    };
    assert!(domain.lagrange_at_zero(&[]).is_empty());
    assert!(domain.lagrange_at_zero(&indices(&[1, 2, 1])).is_empty());
    assert!(domain.lagrange_at_zero(&indices(&[1, 5])).is_empty());
    assert!(domain.lagrange_at_zero(&indices(&[u32::MAX])).is_empty());
    assert_eq!(domain.lagrange_at_zero(&indices(&[4, 2, 3, 1])).len(), 4);
}

#[test]
fn both_sharings_rebuild_one_secret_each_at_its_own_threshold() {
    let mut rng = rng();
    let access = Access::new(&[3, 0, 5, 1, 4]).unwrap();
    let total = access.total();
    let (slow, fast) = (Threshold::new(7, total).unwrap(), Threshold::new(10, total).unwrap());
    let sharing = Sharing::random(slow, Some(fast), &mut rng);
    for placement in [Placement::Consecutive, Placement::RootsOfUnity] {
        let points = Points::of(&access, placement);
        let mut rebuild = |f: &Polynomial, count: usize| -> Scalar {
            let indices = subset(total, count, &mut rng);
            let lambda = points.lagrange_at_zero(&indices).unwrap();
            sum(&lambda, &pick(&f.shares(&points), &indices))
        };
        let secret = *sharing.secret().expose();
        let fast_polynomial = sharing.fast().unwrap();
        assert_eq!(rebuild(sharing.slow(), 7), secret);
        assert_eq!(rebuild(sharing.slow(), 13), secret);
        assert_eq!(rebuild(fast_polynomial, 10), secret);
        // One share less gives something else, and so do shares of one path taken for the other's.
        assert_ne!(rebuild(sharing.slow(), 6), secret);
        assert_ne!(rebuild(fast_polynomial, 9), secret);
        assert_ne!(rebuild(fast_polynomial, 7), secret);
    }
}

#[test]
fn the_two_polynomials_have_nothing_but_the_secret_in_common() {
    let mut rng = rng();
    let threshold = Threshold::new(3, 8).unwrap();
    let sharing = Sharing::random(threshold, Some(threshold), &mut rng);
    let domain = Domain::new(8);
    let (slow, fast) =
        (sharing.slow().evaluate_over(&domain), sharing.fast().unwrap().evaluate_over(&domain));
    for (slow, fast) in slow.expose().iter().zip(fast.expose()) {
        assert_ne!(slow, fast);
    }
    assert!(Sharing::random(threshold, None, &mut rng).fast().is_none());
}

/// Every subset, as a bit mask, that has `count` members.
fn subsets(of: u32, count: u32) -> impl Iterator<Item = Vec<ShareIndex>> {
    (0..1_u32 << of).filter(move |mask| mask.count_ones() == count).map(move |mask| {
        (0..of).filter(|bit| mask >> bit & 1 == 1).filter_map(|b| ShareIndex::new(b + 1)).collect()
    })
}

fn pick(shares: &Secret<Vec<Scalar>>, indices: &[ShareIndex]) -> Secret<Vec<Scalar>> {
    Secret::new(indices.iter().map(|i| shares.expose()[i.position()]).collect())
}

#[test]
fn all_subsets_of_t_shares_give_the_secret_and_none_of_fewer_does() {
    let mut rng = rng();
    for placement in [Placement::Consecutive, Placement::RootsOfUnity] {
        for n in 1..=6 {
            let points = Points::new(placement, n).unwrap();
            for t in 1..=n {
                let f = polynomial(t, &mut rng);
                let secret = *f.evaluate(&Scalar::ZERO).expose();
                let shares = f.shares(&points);
                for count in 1..=n {
                    for indices in subsets(n, count) {
                        let lambda = points.lagrange_at_zero(&indices).unwrap();
                        let values = pick(&shares, &indices);
                        let got = sum(&lambda, &values);
                        assert_eq!(got == secret, count >= t, "{indices:?}, {t} of {n}");
                        // Fewer give a number too, which nobody is given for the secret.
                        let need = NonZeroU32::new(t).unwrap();
                        match lambda.recover(need, &values) {
                            Ok(recovered) => assert_eq!(*recovered.expose(), secret),
                            Err(error) => {
                                let got = indices.len();
                                assert!(count < t, "{indices:?}, {t} of {n}");
                                let few = InterpolationError::BelowThreshold { got, need: t };
                                assert_eq!(error, few);
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn fewer_shares_fit_every_secret() {
    let mut rng = rng();
    for placement in [Placement::Consecutive, Placement::RootsOfUnity] {
        let points = Points::new(placement, 5).unwrap();
        let shares = polynomial(4, &mut rng).shares(&points);
        for known in subsets(5, 3) {
            let lambda = points.lagrange_at_zero(&known).unwrap();
            let values = pick(&shares, &known);
            // The polynomial of degree 2 through the known shares, and the one of degree 3 that
            // vanishes on them: their sum over all multiples takes each value at zero once, and
            // agrees with the known shares whatever the multiple.
            let lowest = sum(&lambda, &values);
            let vanishing = |x: Scalar| -> Scalar {
                known.iter().map(|i| x - points.point(*i).unwrap()).product()
            };
            let at_zero = vanishing(Scalar::ZERO).invert().unwrap();
            for candidate in [Scalar::ZERO, Scalar::ONE, Scalar::random(&mut rng)] {
                let multiple = (candidate - lowest) * at_zero;
                let value = |index: ShareIndex| {
                    let x = points.point(index).unwrap();
                    let lambda = points.lagrange_at(&x, &known).unwrap();
                    sum(&lambda, &values) + multiple * vanishing(x)
                };
                for (index, share) in known.iter().zip(values.expose()) {
                    assert_eq!(value(*index), *share);
                }
                // With any fourth share of this polynomial the candidate is what comes out.
                let fourth = points.indices().find(|index| !known.contains(index)).unwrap();
                let all: Vec<ShareIndex> = known.iter().copied().chain([fourth]).collect();
                let shares: Vec<Scalar> = all.iter().map(|index| value(*index)).collect();
                let lambda = points.lagrange_at_zero(&all).unwrap();
                assert_eq!(sum(&lambda, &Secret::new(shares)), candidate);
            }
        }
    }
}

#[test]
fn a_lost_share_comes_back_from_t_others() {
    let mut rng = rng();
    for placement in [Placement::Consecutive, Placement::RootsOfUnity] {
        let points = Points::new(placement, 9).unwrap();
        let f = polynomial(5, &mut rng);
        let shares = f.shares(&points);
        for lost in points.indices() {
            let mut others = subset(9, 9, &mut rng);
            others.retain(|index| *index != lost);
            others.truncate(5);
            let lambda = points.lagrange_at_share(lost, &others).unwrap();
            let five = NonZeroU32::new(5).unwrap();
            let share = lambda.recover(five, &pick(&shares, &others)).unwrap();
            assert_eq!(*share.expose(), shares.expose()[lost.position()], "{lost}, {placement}");
        }
    }
}

#[test]
fn shares_handed_on_give_the_same_secret_to_the_next_committee() {
    let mut rng = rng();
    for (from, to) in [
        (Placement::Consecutive, Placement::RootsOfUnity),
        (Placement::RootsOfUnity, Placement::Consecutive),
    ] {
        let (old, new) = (Points::new(from, 4).unwrap(), Points::new(to, 7).unwrap());
        let (slow, fast) = (Threshold::new(4, 7).unwrap(), Threshold::new(6, 7).unwrap());
        let f = polynomial(3, &mut rng);
        let shares = f.shares(&old);
        let dealers = subset(4, 3, &mut rng);
        let lambda = old.lagrange_at_zero(&dealers).unwrap().to_scalars();
        let dealings: Vec<Sharing> = dealers
            .iter()
            .map(|index| Secret::new(shares.expose()[index.position()]))
            .map(|share| Sharing::new(share, slow, Some(fast), &mut rng))
            .collect();
        for (t, is_fast) in [(4, false), (6, true)] {
            let next = new.indices().map(|index| {
                let x = new.point(index).unwrap();
                let sub = dealings.iter().map(|dealing| {
                    let f = if is_fast { dealing.fast().unwrap() } else { dealing.slow() };
                    *f.evaluate(&x).expose()
                });
                sub.zip(&lambda).map(|(value, lambda)| value * lambda).sum()
            });
            let next: Secret<Vec<Scalar>> = Secret::new(next.collect());
            let indices = subset(7, usize::try_from(t).unwrap(), &mut rng);
            let coefficients = new.lagrange_at_zero(&indices).unwrap();
            let need = NonZeroU32::new(t).unwrap();
            let secret = coefficients.recover(need, &pick(&next, &indices)).unwrap();
            assert_eq!(secret.expose(), f.evaluate(&Scalar::ZERO).expose(), "{from} to {to}");
        }
    }
}

#[test]
fn sharings_are_not_printed() {
    let mut rng = rng();
    let threshold = Threshold::new(2, 2).unwrap();
    let printed = format!("{:?}", Sharing::random(threshold, Some(threshold), &mut rng));
    assert_eq!(
        printed,
        "Sharing { secret: Secret(..), slow: Polynomial { coefficients: Secret(..) }, \
         fast: Some(Polynomial { coefficients: Secret(..) }) }"
    );
}
