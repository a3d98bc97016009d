//! Sums of many products (multi-scalar multiplication) by Pippenger's buckets, after the
//! endomorphisms have cut the terms.
//!
//! A term `k·P` is cut into two terms in `𝔾₁` and four in `𝔾₂`, `dᵢ·zⁱP`, with digits of 128 or 64 bits
//! (`factor`). A digit is read in windows of `c` bits with signed values (Booth): from bits `cw − 1` to
//! `cw + c − 1` the value is `−2^(c−1)·b_(top) + … + b_(bottom)`, between `−2^(c−1)` and `2^(c−1)`, and
//! needs no carry from other windows.
//!
//! ```text
//! B_(w,v) = Σ ±Pᵢ          over the terms whose window w has the value ±v
//! S_(w,b) = Σ B_(w,v)      over the v that have bit b
//! result  = Σ 2^(cw+b)·S_(w,b)
//! additions: windows·(terms + 2^(c−1)·(c−1)/2), and a doubling and an addition for each bit
//! ```
//!
//! The first two lines are batches of affine additions (`batch`), which cost half of other additions,
//! and a fifth if eight of them are done at a time (`lanes`). So adding up by bits is cheaper than
//! the usual running sums, which take two additions for each bucket that cannot be batched, because
//! each needs the one before it. Halved or quartered digits leave the same number of terms for each
//! window, but fewer windows, buckets and doublings.
//!
//! Sums of few terms are computed by `straus`, whose multiples of every term are then cheaper than
//! buckets.
//!
//! The time depends on all inputs, so they must be public.
use alloc::vec::Vec;

use crate::batch::vartime_add_cells;
use crate::factor::Factor;
use crate::group::Group;
use crate::many::in_parts;
use crate::points::{Affine, Projective};
use crate::scalar::Scalar;
use crate::straus::{at_places, horner};

/// The greatest width of a window. Wider windows need buckets that cost more memory than they are
/// worth.
const WIDEST: u32 = 15;
/// With fewer terms than this, separate multiples of each term cost less than buckets.
pub(crate) const FEW: usize = 32;
/// Number of points that are sorted at once: enough to share an inversion, few enough for the cache.
const AT_ONCE: usize = 4096;
/// The smallest number of terms for which a separate thread pays off. They take some hundred
/// microseconds.
const LEAST_SUM: usize = 32;

/// The sum `Σ scalarᵢ·pointᵢ` over as many terms as the shorter slice has. It is the identity if
/// there are none. The time depends on scalars and points, so all must be public.
#[must_use]
pub fn vartime_msm<G: Group>(points: &[Affine<G>], scalars: &[Scalar]) -> Projective<G> {
    sum_of_products(points, scalars.iter().map(Factor::new))
}

/// Like [`vartime_msm`], with scalars of 128 bits.
#[must_use]
pub fn vartime_msm_128<G: Group>(points: &[Affine<G>], scalars: &[u128]) -> Projective<G> {
    sum_of_products(
        points,
        scalars.iter().map(|scalar| Factor::from_le_bytes(&scalar.to_le_bytes())),
    )
}

/// Like [`vartime_msm`], with little-endian scalars of at most 32 bytes each, which may be above the
/// order. Small scalars cost less.
#[must_use]
pub fn vartime_msm_bytes<G: Group, const LEN: usize>(
    points: &[Affine<G>],
    scalars: &[[u8; LEN]],
) -> Projective<G> {
    const { assert!(LEN <= 32, "a factor has at most 32 bytes") };
    sum_of_products(points, scalars.iter().map(|scalar| Factor::from_le_bytes(scalar)))
}

/// The sum `Σ challenge(bitsᵢ)·pointᵢ` over as many terms as the shorter slice has.
#[must_use]
pub fn vartime_msm_challenges<G: Group>(points: &[Affine<G>], bits: &[u128]) -> Projective<G> {
    sum_of_products(points, bits.iter().map(|bits| Factor::challenge(*bits)))
}

/// The sum, split into parts if they can run at the same time.
fn sum_of_products<G: Group>(
    points: &[Affine<G>],
    factors: impl Iterator<Item = Factor<G>>,
) -> Projective<G> {
    let terms: Vec<_> = points.iter().copied().zip(factors).collect();
    let sums = in_parts(terms.len(), LEAST_SUM, |range| sum(terms.get(range).unwrap_or_default()));
    sums.into_iter().sum()
}

/// `Σ factor·point`
pub(crate) fn sum<G: Group>(terms: &[(Affine<G>, Factor<G>)]) -> Projective<G> {
    if terms.len() < FEW {
        return horner(&at_places(terms, &[terms.len()]));
    }
    let mut cut = Vec::with_capacity(G::DIGITS * terms.len());
    for (point, factor) in terms {
        let mut point = *point;
        for digit in factor.digits() {
            if *digit != 0 {
                cut.push((point, *digit));
            }
            point = Affine(G::endomorphism(&point.0));
        }
    }
    buckets(&cut)
}

fn buckets<G: Group>(terms: &[(Affine<G>, u128)]) -> Projective<G> {
    let longest = terms.iter().map(|(_, digit)| u128::BITS - digit.leading_zeros()).max();
    let bits = longest.unwrap_or(0);
    let width = width(terms.len(), bits);
    let windows: Vec<u32> = (0..=bits / width).collect();
    let mut places = Vec::new();
    for windows in windows.chunks((AT_ONCE / terms.len().max(1)).max(1)) {
        let half = 1 << (width - 1);
        let mut additions = Vec::with_capacity(windows.len() * terms.len());
        for (row, window) in windows.iter().enumerate() {
            additions.extend(terms.iter().filter_map(|(point, digit)| {
                let (negative, size) = value(*digit, *window, width);
                let bucket = row * half + size.checked_sub(1)?;
                Some((bucket, if negative { -*point } else { *point }))
            }));
        }
        let buckets = vartime_add_cells(windows.len() * half, &additions);
        places.extend(by_bits(&buckets, half, width));
    }
    horner(&places)
}

/// For each bit of each window, the sum of the buckets whose value has this bit.
fn by_bits<G: Group>(buckets: &[Affine<G>], half: usize, width: u32) -> Vec<Affine<G>> {
    let bits = usize::try_from(width).unwrap_or(0);
    let mut additions = Vec::new();
    for (row, buckets) in buckets.chunks(half).enumerate() {
        for (value, bucket) in (1_usize..).zip(buckets) {
            let set = (0..bits).filter(|bit| value >> bit & 1 == 1);
            additions.extend(set.map(|bit| (row * bits + bit, *bucket)));
        }
    }
    vartime_add_cells(buckets.len() / half * bits, &additions)
}

/// The cheapest width of the windows, given that half of a window's values have a certain bit.
fn width(terms: usize, bits: u32) -> u32 {
    let terms = u64::try_from(terms).unwrap_or(u64::MAX);
    let cost = |width: &u32| {
        let again = u64::from(width - 1) << (width - 1) >> 1;
        u64::from(bits / width + 1) * (terms + again)
    };
    (1..=WIDEST).min_by_key(cost).unwrap_or(1)
}

/// The sign (`true` if negative) and the magnitude of the signed value of a window.
fn value(digit: u128, window: u32, width: u32) -> (bool, usize) {
    // The bits of the window and the one below, which is zero below the lowest.
    let raw = match (window * width).checked_sub(1) {
        Some(from) => digit >> from,
        None => digit << 1,
    };
    let raw = usize::try_from(raw & ((2 << width) - 1)).unwrap_or(0);
    let rounded = raw.div_ceil(2);
    if raw >> width == 1 { (true, (1 << width) - rounded) } else { (false, rounded) }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::backend::{G1, G2};
    use crate::group::Z;

    /// Factors at the limits of digits and windows, then random ones; points that repeat, cancel and
    /// are the identity.
    fn exponents(count: usize) -> Vec<(Scalar, Scalar)> {
        let mut rng = ChaCha20Rng::seed_from_u64(44);
        let z = Scalar::from_u64(Z);
        let mut factors = alloc::vec![Scalar::ZERO, Scalar::ONE, -Scalar::ONE, z, z * z, -z];
        factors.extend([z - Scalar::ONE, z * z - Scalar::ONE, Scalar::from_u64(u64::MAX)]);
        factors.extend((0..64).map(|bit| Scalar::from_u64(1 << bit)));
        let factor = |at: usize, rng: &mut ChaCha20Rng| match factors.get(at) {
            Some(factor) => *factor,
            None => Scalar::random(rng),
        };
        let point = |at: usize, rng: &mut ChaCha20Rng| match at % 16 {
            3 => Scalar::ZERO,
            4 | 5 => Scalar::from_u64(7),
            6 => -Scalar::from_u64(7),
            _ => Scalar::from_u64(rng.next_u64()),
        };
        (0..count).map(|at| (point(at, &mut rng), factor(at, &mut rng))).collect()
    }

    fn sums_are_right<G: Group>(counts: &[usize]) {
        for count in counts.iter().copied() {
            let exponents = exponents(count);
            let points: Vec<_> =
                exponents.iter().map(|(point, _)| Affine::<G>::generator() * *point).collect();
            let points = Projective::batch_to_affine(&points);
            let factors = exponents.iter().map(|(_, factor)| Factor::new(factor));
            let terms: Vec<_> = points.into_iter().zip(factors).collect();
            let expected = exponents.iter().map(|(point, factor)| *point * *factor).sum::<Scalar>();
            assert_eq!(sum(&terms), Projective::generator() * expected, "{count}");
        }
    }

    #[test]
    fn sums_are_right_on_both_sides_of_every_limit() {
        // Few; some; more than one round of windows; one window for each round.
        sums_are_right::<G1>(&[0, 1, FEW - 1, FEW, FEW + 1, 90, 300, AT_ONCE / 2 + 100]);
        sums_are_right::<G2>(&[0, 1, FEW - 1, FEW, FEW + 1, 90, 300]);
    }

    #[test]
    fn nothing_but_zeros_is_the_identity() {
        let term = (Affine::<G1>::generator(), Factor::new(&Scalar::ZERO));
        assert!(sum(&[term; 2 * FEW]).is_identity());
    }

    #[test]
    fn windows_of_every_width_add_up() {
        for width in 1..=WIDEST {
            for digit in [0, 1, 2, 5, u128::MAX >> 1, u128::MAX, 1 << 127, 0x5555 << 90] {
                let windows = (0..=u128::BITS / width).rev();
                let total = windows.fold(0_u128, |total, window| {
                    let (negative, size) = value(digit, window, width);
                    let size = u128::try_from(size).unwrap();
                    let shifted = total << width;
                    if negative { shifted.wrapping_sub(size) } else { shifted.wrapping_add(size) }
                });
                assert_eq!(total, digit, "{width}");
            }
        }
    }
}
