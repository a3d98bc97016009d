//! Are many points of the right order? Sums of them say so for all at once.
//!
//! A point of either curve is `P + T` with `P` in the subgroup of order `r` and `T` of an order that divides
//! the cofactor. One sum with random coefficients would not do: of an order as small as 3 it sees
//! nothing every third time. So there are `k = 85` of them,
//!
//! ```text
//! Sⱼ = Σᵢ cᵢⱼ·Pᵢ          cᵢⱼ ∈ {−1, 0, 1}, uniform, each from a hash of all the bytes
//! ```
//!
//! and each `Sⱼ` is checked. **Sound:** let `Tᵢ ≠ 0` for some `i`. Whatever the other coefficients are,
//! `Sⱼ` is in the subgroup only if `cᵢⱼ·Tᵢ` is one certain value. Since both cofactors are odd, `−Tᵢ`, `0`
//! and `Tᵢ` are three values, so one of the three `cᵢⱼ` at most gives it: chance `1/3` for each sum and
//! `3⁻⁸⁵ < 2⁻¹³⁴` for all, for each attempt of a cheater to choose its bytes. That errors cancel each
//! other makes no difference, nor which order they have.
//!
//! **Cheap:** five sums share their additions. Each point goes to one of `3⁵` buckets by its five
//! coefficients; from the bucket sums the five sums are some 480 additions. So a point costs 17 additions
//! of affine points with shared inversions, where its own check is a multiplication by 64 bits or more,
//! and 85 checks and 8000 additions come once. What is left of decoding is the square root:
//!
//! | µs a point, one thread | each by itself | together: so many of them                    |
//! |------------------------|----------------|----------------------------------------------|
//! | 𝔾₁                      | 59             | 256: 57, 512: 35, 1024: 33, 4096: 28, 16384: 25 |
//! | 𝔾₂                      | 89             | 224: 111, 448: 64, 1024: 48                   |
//!
//! (Bench `pvss`, rows `points`, on a machine with other work.) Below some 200 points of 𝔾₁ and 300 of 𝔾₂
//! each has its own check.
use alloc::vec;
use alloc::vec::Vec;

use super::batch::vartime_add_pairs;
use super::{Affine, Group};
use crate::challenge::Transcript;

const TAG: &[u8] = b"PREFINAL-V1-SUBGROUP";
/// Sums that share buckets: `3⁵` is just below what a byte holds.
const SHARED: u32 = 5;
const BUCKETS: usize = 3_usize.pow(SHARED);
/// How often they are taken.
const ROUNDS: usize = 17;
/// Points in buckets at a time.
const AT_ONCE: usize = 1 << 14;

/// Points in groups that are to be summed up.
struct Lists<G: Group> {
    points: Vec<Affine<G>>,
    lengths: Vec<usize>,
}

/// Whether all points of the curve are in the subgroup. `bytes` are all that whoever chose the points
/// has said. Not constant time.
pub(super) fn vartime_all_inside<G: Group>(points: &[Affine<G>], bytes: &[u8]) -> bool {
    let mut transcript = Transcript::new(TAG);
    transcript.append(b"points", bytes);
    let mut digits = digits(transcript);
    let rounds_at_once = (AT_ONCE / points.len().max(1)).clamp(1, ROUNDS);
    let mut left = ROUNDS;
    while left > 0 {
        let rounds = rounds_at_once.min(left);
        left -= rounds;
        let mut buckets = vec![Vec::new(); rounds * BUCKETS];
        for row in buckets.chunks_exact_mut(BUCKETS) {
            for (point, digit) in points.iter().zip(&mut digits) {
                if let Some(bucket) = row.get_mut(digit) {
                    bucket.push(*point);
                }
            }
        }
        let sums = Lists::of(buckets.into_iter()).sum();
        if !combinations(sums).iter().all(|sum| G::in_subgroup(&sum.0)) {
            return false;
        }
    }
    true
}

/// Uniform below the number of buckets.
fn digits(mut transcript: Transcript) -> impl Iterator<Item = usize> {
    let blocks = core::iter::repeat_with(move || transcript.coefficients_128(b"digits", 1024));
    let bytes = blocks.flatten().flat_map(u128::to_be_bytes);
    bytes.map(usize::from).filter(|byte| *byte < BUCKETS)
}

/// `Σ c·bucket` for every digit `c − 1` of the buckets' numbers, from the highest, of each row.
fn combinations<G: Group>(mut buckets: Vec<Affine<G>>) -> Vec<Affine<G>> {
    let mut sums = Vec::new();
    let mut size = BUCKETS;
    while size > 1 {
        let third = size / 3;
        let mut lists = Vec::new();
        for row in buckets.chunks_exact(size) {
            let (low, rest) = row.split_at(third);
            let (middle, high) = rest.split_at(third);
            let negative = low.iter().map(|point| -*point);
            lists.push(high.iter().copied().chain(negative).collect());
            let columns = low.iter().zip(middle).zip(high);
            lists.extend(columns.map(|((low, middle), high)| vec![*low, *middle, *high]));
        }
        let added = Lists::of(lists.into_iter()).sum();
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

impl<G: Group> Lists<G> {
    fn of(lists: impl Iterator<Item = Vec<Affine<G>>>) -> Self {
        let (mut points, mut lengths) = (Vec::new(), Vec::new());
        for list in lists {
            lengths.push(list.len());
            points.extend(list);
        }
        Self { points, lengths }
    }

    /// The sum of each list, by adding neighbours until one is left.
    fn sum(mut self) -> Vec<Affine<G>> {
        while self.lengths.iter().any(|length| *length > 1) {
            let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
            let mut rest = self.points.as_slice();
            for length in &mut self.lengths {
                let (list, others) = rest.split_at(*length);
                for pair in list.chunks(2) {
                    firsts.extend(pair.first());
                    seconds.push(pair.get(1).copied().unwrap_or(Affine::identity()));
                }
                rest = others;
                *length = length.div_ceil(2);
            }
            vartime_add_pairs(&mut firsts, &seconds);
            self.points = firsts;
        }
        let mut points = self.points.into_iter();
        let one = |length: usize| (0..length).filter_map(|_| points.next()).next();
        let mut one = one;
        self.lengths.into_iter().map(|length| one(length).unwrap_or(Affine::identity())).collect()
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::super::points::LEAST_TOGETHER;
    use super::super::{DecodeError, G1, G2, PointError, Projective, Scalar};
    use super::*;

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
        let drawn: Vec<usize> = digits(Transcript::new(TAG)).take(5000).collect();
        assert!((0..BUCKETS).all(|bucket| drawn.contains(&bucket)));
    }

    fn the_first_is_named<G: Group>(primes: &[u64], least: usize) {
        let mut points = inside::<G>(least + 20);
        assert_eq!(Affine::many_from_bytes(&encode(&points)), Ok(points.clone()));
        let error = of_order::<G>(primes, primes[0]);
        points[11] = (points[11] + error).into();
        points[70] = (points[70] + -error).into();
        let expected = Err(PointError { index: 11, error: DecodeError::NotInSubgroup });
        let mut bytes = encode(&points);
        assert_eq!(Affine::<G>::many_from_bytes(&bytes), expected);
        // Whatever else is wrong further on, but not before.
        let size = bytes.len() / points.len();
        bytes[size * 60] = 0;
        assert_eq!(Affine::<G>::many_from_bytes(&bytes), expected);
        bytes[size * 5] = 0;
        let expected = Err(PointError { index: 5, error: DecodeError::NotCanonical });
        assert_eq!(Affine::<G>::many_from_bytes(&bytes), expected);
    }

    #[test]
    fn the_first_of_many_that_is_outside_is_named() {
        let [in_g1, in_g2] = LEAST_TOGETHER;
        the_first_is_named::<G1>(&PRIMES_G1, in_g1);
        the_first_is_named::<G2>(&PRIMES_G2, in_g2);
    }
}
