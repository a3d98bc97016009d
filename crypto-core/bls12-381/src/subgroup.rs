//! Checks that many points are in the subgroup, by checking sums of them.
//!
//! A point of either curve is `P + T` with `P` in the subgroup of order `r` and `T` of an order that
//! divides the cofactor. One sum with random coefficients is not enough: it misses an error of order
//! 3 in every third case. So there are `k = 85` sums,
//!
//! ```text
//! Sⱼ = Σᵢ cᵢⱼ·Pᵢ          cᵢⱼ ∈ {−1, 0, 1}, uniform, each from a hash of all the bytes
//! ```
//!
//! and each `Sⱼ` is checked. **Sound:** let `Tᵢ ≠ 0` for some `i`. Whatever the other coefficients
//! are, `Sⱼ` is in the subgroup only if `cᵢⱼ·Tᵢ` is one certain value. Because both cofactors are
//! odd, `−Tᵢ`, `0` and `Tᵢ` are three different values, so at most one of the three `cᵢⱼ` gives it.
//! The probability of missing the error is `1/3` for each sum and `3⁻⁸⁵ < 2⁻¹³⁴` for all sums, for
//! each attempt of an attacker to choose the bytes. This holds for errors of any order, and also if
//! errors are chosen to cancel each other.
//!
//! **Cheap:** five sums share their additions. Each point goes into one of `3⁵` buckets by its five
//! coefficients, and the five sums follow from the bucket sums with some 480 additions. So a point
//! costs 17 additions of affine points with shared inversions, while a separate check is a
//! multiplication by 64 bits or more. In addition there are 85 checks and 8000 additions once for all
//! points. The rest of the decoding time is the square root.
//!
//! On processors that compute eight points at a time (`lanes`), a separate check and the square root
//! cost a quarter, so checking together pays off only with more points. The table shows times
//! relative to decoding one by one:
//!
//! |                 | each separately | together, by number of points                         |
//! |-----------------|----------------|--------------------------------------------------------|
//! | 𝔾₁, one by one   | 1              | 128: 1.2, 256: 0.81, 512: 0.65, 1024: 0.53, 4096: 0.41 |
//! | 𝔾₂, one by one   | 1              | 256: 1.1, 384: 0.96, 512: 0.90, 1024: 0.79, 4096: 0.64 |
//! | 𝔾₁, in lanes     | 0.24           | 256: 0.28, 512: 0.21, 1024: 0.20, 4096: 0.14           |
//! | 𝔾₂, in lanes     | 0.24           | 512: 0.33, 1024: 0.29, 2048: 0.24, 4096: 0.22          |
//!
//! (Each is the least processor time of many runs in one process, on one thread of a machine with
//! other work.)
use alloc::vec::Vec;

use sha2::{Digest, Sha256};

use crate::batch::vartime_add_cells;
use crate::group::Group;
use crate::lanes::{LANES, Wide};
use crate::points::Affine;

const TAG: &[u8] = b"PREFINAL-V1-SUBGROUP";
/// Sums that share buckets: `3⁵` is just below what a byte holds.
const SHARED: u32 = 5;
const BUCKETS: usize = 3_usize.pow(SHARED);
/// Number of rounds of `SHARED` sums each.
const ROUNDS: usize = 17;
/// Number of points that are put into buckets at a time.
const AT_ONCE: usize = 1 << 14;

/// The smallest number of points of 𝔾₁ and of 𝔾₂ that are checked together.
const LEAST_TOGETHER: [usize; 2] = [256, 384];
/// The same numbers for processors that can check separate points in lanes.
const LEAST_TOGETHER_WIDE: [usize; 2] = [512, 3072];
/// The smallest number of points that are checked in lanes.
const LEAST_WIDE: usize = 3;

/// The position of the first of these points that is outside the subgroup. All points must be on the
/// curve. `bytes` must be all data that the sender of the points chose, because the coefficients are
/// hashed from it. Not constant time.
pub(crate) fn vartime_first_outside<G: Group>(points: &[Affine<G>], bytes: &[u8]) -> Option<usize> {
    let [in_g1, in_g2] = Wide::detect().map_or(LEAST_TOGETHER, |_| LEAST_TOGETHER_WIDE);
    let least = if G::DIGITS == 2 { in_g1 } else { in_g2 };
    if points.len() >= least && vartime_all_inside(points, bytes) {
        return None;
    }
    first_outside(points)
}

/// Finds it by a separate check of each point.
fn first_outside<G: Group>(points: &[Affine<G>]) -> Option<usize> {
    let outside = |points: &[Affine<G>]| match Wide::detect() {
        Some(wide) if points.len() >= LEAST_WIDE => {
            let inside = wide.inside(points).trailing_ones();
            usize::try_from(inside).ok().filter(|first| *first < points.len())
        }
        _ => points.iter().position(|point| !G::in_subgroup(&point.0)),
    };
    let mut chunks = points.chunks(LANES).enumerate();
    chunks.find_map(|(chunk, points)| Some(chunk * LANES + outside(points)?))
}

/// Checks with sums whether all points are in the subgroup. They must be on the curve.
fn vartime_all_inside<G: Group>(points: &[Affine<G>], bytes: &[u8]) -> bool {
    let mut digits = digits(bytes);
    let rounds_at_once = (AT_ONCE / points.len().max(1)).clamp(1, ROUNDS);
    let mut left = ROUNDS;
    while left > 0 {
        let rounds = rounds_at_once.min(left);
        left -= rounds;
        let mut terms = Vec::with_capacity(rounds * points.len());
        for row in 0..rounds {
            let digits = points.iter().zip(&mut digits);
            terms.extend(digits.map(|(point, digit)| (row * BUCKETS + digit, *point)));
        }
        let buckets = vartime_add_cells(rounds * BUCKETS, &terms);
        if first_outside(&combinations(buckets)).is_some() {
            return false;
        }
    }
    true
}

/// Uniform numbers below the number of buckets: those bytes of `H(H(tag ‖ bytes) ‖ counter)` that are
/// below it.
fn digits(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let seed = Sha256::new().chain_update(TAG).chain_update(bytes).finalize();
    let block = move |counter: u64| {
        let hash = Sha256::new().chain_update(seed).chain_update(counter.to_be_bytes());
        <[u8; 32]>::from(hash.finalize())
    };
    (0..).flat_map(block).map(usize::from).filter(|byte| *byte < BUCKETS)
}

/// `Σ c·bucket` for every digit `c − 1` of the buckets' numbers, from the highest, of each row.
fn combinations<G: Group>(mut buckets: Vec<Affine<G>>) -> Vec<Affine<G>> {
    let mut sums = Vec::new();
    let mut size = BUCKETS;
    while size > 1 {
        let third = size / 3;
        let mut terms = Vec::new();
        for (row, buckets) in buckets.chunks_exact(size).enumerate() {
            let first = row * (third + 1);
            for (at, point) in buckets.iter().enumerate() {
                terms.push((first + 1 + at % third, *point));
                match at / third {
                    0 => terms.push((first, -*point)),
                    1 => {}
                    _ => terms.push((first, *point)),
                }
            }
        }
        let added = vartime_add_cells(buckets.len() / size * (third + 1), &terms);
        buckets.clear();
        for row in added.chunks_exact(third + 1) {
            if let [sum, columns @ ..] = row {
                sums.push(*sum);
                buckets.extend_from_slice(columns);
            }
        }
        size = third;
    }
    sums
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;
    use crate::backend::{G1, G2};
    use crate::error::{DecodeError, PointError};
    use crate::points::Projective;
    use crate::scalar::Scalar;
    use alloc::vec;

    /// Primes of the cofactor in 𝔾₁; all but 3 divide it twice.
    const PRIMES_G1: [u64; 5] = [3, 11, 10_177, 859_267, 52_437_899];
    /// The same in 𝔾₂, where 13 and 23 divide it twice and one more prime is too large for a number.
    const PRIMES_G2: [u64; 5] = [13, 23, 2713, 11_953, 262_069];
    const REST_G2: &str = concat!(
        "8d9f503deeeb5d5c423572788bea4d6ae0490c5afca1eeb2a9d75bb9",
        "8b95878afab9c0da5cf222c377d87384d026cd73826d177200c0d3b1"
    );
    const ORDER: &str = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";

    /// Plainly, for points of any order.
    fn times<G: Group>(point: Projective<G>, bits: impl Iterator<Item = bool>) -> Projective<G> {
        bits.fold(Projective::identity(), |sum, bit| {
            let sum = sum.double();
            if bit { sum + point } else { sum }
        })
    }

    fn times_number<G: Group>(point: Projective<G>, number: u64) -> Projective<G> {
        times(point, (0..u64::BITS).rev().map(|bit| number >> bit & 1 == 1))
    }

    fn times_hex<G: Group>(point: Projective<G>, number: &str) -> Projective<G> {
        let digits = number.chars().map(|digit| digit.to_digit(16).unwrap());
        times(point, digits.flat_map(|digit| (0..4).rev().map(move |bit| digit >> bit & 1 == 1)))
    }

    /// Some point of the curve, hardly ever of the subgroup.
    fn on_the_curve<G: Group>(start: u8) -> Projective<G> {
        let mut bytes = G::EMPTY;
        bytes.as_mut()[0] = 0x80;
        bytes.as_mut()[1] = start;
        let found = (0..=255).find_map(|x| {
            bytes.as_mut()[47] = x;
            G::decompress_unchecked(&bytes).ok()
        });
        Affine::<G>(found.unwrap()).into()
    }

    /// A point of this prime order.
    fn of_order<G: Group>(primes: &[u64], prime: u64) -> Affine<G> {
        for start in 1..20 {
            let mut point = times_hex(on_the_curve::<G>(start), ORDER);
            if primes == PRIMES_G2 {
                point = times_hex(point, REST_G2);
            }
            for other in primes.iter().filter(|other| **other != prime) {
                point = times_number(times_number(point, *other), *other);
            }
            while !point.is_identity() {
                let next = times_number(point, prime);
                if next.is_identity() {
                    return point.into();
                }
                point = next;
            }
        }
        panic!("no point of order {prime}");
    }

    fn inside<G: Group>(count: usize) -> Vec<Affine<G>> {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let points = (0..count).map(|_| Affine::generator() * Scalar::random(&mut rng));
        Projective::batch_to_affine(&points.collect::<Vec<_>>())
    }

    fn encode<G: Group>(points: &[Affine<G>]) -> Vec<u8> {
        points.iter().flat_map(|point| point.to_bytes().as_ref().to_vec()).collect()
    }

    fn passes<G: Group>(points: &[Affine<G>]) -> bool {
        vartime_all_inside(points, &encode(points))
    }

    fn all_inside_pass<G: Group>() {
        let mut points = inside::<G>(40);
        for count in [0, 1, 2, 40] {
            assert!(passes(&points[..count]), "{count}");
        }
        points[3] = points[4];
        points[5] = -points[6];
        points[7] = Affine::identity();
        points[20..].fill(Affine::generator());
        assert!(passes(&points));
    }

    #[test]
    fn points_of_the_subgroup_pass_whatever_they_are() {
        all_inside_pass::<G1>();
        all_inside_pass::<G2>();
    }

    fn small_orders_are_noticed<G: Group>(primes: &[u64]) {
        let points = inside::<G>(30);
        for prime in primes.iter().copied() {
            let error = of_order::<G>(primes, prime);
            assert!(!error.is_identity() && !G::in_subgroup(&error.0));
            assert!(times_number(error.into(), prime).is_identity());
            let with = |errors: &[(usize, Affine<G>)]| {
                let mut points = points.clone();
                errors.iter().for_each(|(at, error)| points[*at] = (points[*at] + *error).into());
                passes(&points)
            };
            assert!(!with(&[(0, error)]), "{prime}");
            assert!(!with(&[(29, error)]), "{prime}");
            assert!(!with(&[(4, error), (17, -error)]), "{prime}");
            assert!(!with(&[(4, error), (5, error), (6, error)]), "{prime}");
            let everywhere: Vec<_> = (0..30).map(|at| (at, error)).collect();
            assert!(!with(&everywhere), "{prime}");
        }
    }

    fn each_is_checked_as_by_itself<G: Group>(primes: &[u64]) {
        let mut points = inside::<G>(2 * LANES + 3);
        points[5] = Affine::identity();
        points[LANES] = points[0];
        points[LANES + 1] = -points[0];
        for count in 0..=points.len() {
            assert_eq!(first_outside(&points[..count]), None, "{count}");
        }
        for prime in primes.iter().copied() {
            let error = of_order::<G>(primes, prime);
            for at in 0..points.len() {
                let mut with = points.clone();
                // Of the small order alone, and of one that is large.
                for error in [error, -error, (points[at] + error).into()] {
                    with[at] = error;
                    assert_eq!(first_outside(&with), Some(at), "{prime}");
                    assert_eq!(first_outside(&with[at..]), Some(0), "{prime}");
                    assert_eq!(first_outside(&with[..at]), None, "{prime}");
                    with[at + 1..].fill(error);
                    assert_eq!(first_outside(&with), Some(at), "{prime}");
                }
            }
        }
        for start in 1..10 {
            let mut with = points.clone();
            with[LANES + 3] = on_the_curve::<G>(start).into();
            assert_eq!(first_outside(&with), Some(LANES + 3));
        }
    }

    #[test]
    fn the_first_outside_is_found_wherever_it_is() {
        each_is_checked_as_by_itself::<G1>(&PRIMES_G1);
        each_is_checked_as_by_itself::<G2>(&PRIMES_G2);
    }

    #[test]
    fn every_small_order_is_noticed_alone_and_where_errors_cancel() {
        small_orders_are_noticed::<G1>(&PRIMES_G1);
        small_orders_are_noticed::<G2>(&PRIMES_G2);
    }

    /// What each sum is, by its definition.
    #[test]
    fn sums_have_the_coefficients_that_were_drawn() {
        let points = inside::<G1>(6);
        let row = [0, 80, 81, 162, 200, 242];
        let mut buckets = vec![Affine::identity(); BUCKETS];
        row.iter().zip(&points).for_each(|(at, point)| buckets[*at] = *point);
        let sums = combinations(buckets);
        assert_eq!(sums.len(), 5);
        for (sum, place) in sums.into_iter().zip([81, 27, 9, 3, 1]) {
            let terms = row.iter().zip(&points).map(|(at, point)| match at / place % 3 {
                0 => -Projective::from(point),
                1 => Projective::identity(),
                _ => Projective::from(point),
            });
            assert_eq!(Projective::from(sum), terms.sum());
        }
        let drawn: Vec<usize> = digits(b"bytes").take(5000).collect();
        assert!((0..BUCKETS).all(|bucket| drawn.contains(&bucket)));
    }

    fn the_first_is_named<G: Group>(primes: &[u64], least: usize) {
        let mut points = inside::<G>(80);
        points = points.iter().cycle().take(least + 20).copied().collect();
        assert_eq!(Affine::many_from_bytes(&encode(&points)), Ok(points.clone()));
        let error = of_order::<G>(primes, primes[0]);
        points[11] = (points[11] + error).into();
        points[70] = (points[70] + -error).into();
        let expected = Err(PointError { index: 11, error: DecodeError::NotInSubgroup });
        let mut bytes = encode(&points);
        assert_eq!(Affine::<G>::many_from_bytes(&bytes), expected);
        // Whatever else is wrong further on, but not before.
        let size = bytes.len() / points.len();
        bytes[size * (least + 10)] = 0;
        assert_eq!(Affine::<G>::many_from_bytes(&bytes), expected);
        bytes[size * 5] = 0;
        let expected = Err(PointError { index: 5, error: DecodeError::NotCanonical });
        assert_eq!(Affine::<G>::many_from_bytes(&bytes), expected);
    }

    #[test]
    fn the_first_of_many_that_is_outside_is_named() {
        for [in_g1, in_g2] in [LEAST_TOGETHER, LEAST_TOGETHER_WIDE] {
            the_first_is_named::<G1>(&PRIMES_G1, in_g1);
            the_first_is_named::<G2>(&PRIMES_G2, in_g2);
        }
    }
}
