//! Computes many sums of few products at once. The doublings of all sums are done together.
//!
//! Each sum is computed by the digits of its factors (`straus`). The multiples, the additions between
//! two doublings, and the doublings of many sums are batches of affine additions (`batch`). A sum of
//! some dozens of terms or more is cheaper with buckets (`msm`).
//!
//! The time depends on all inputs, so they must be public.
use alloc::vec::Vec;

use crate::batch::vartime_add_pairs;
use crate::factor::Factor;
use crate::group::Group;
use crate::msm;
use crate::points::{Affine, Projective};
use crate::straus::{PLACES, at_places, horner};

/// With at least this many sums, the doublings are done together.
const MANY: usize = 24;
/// Number of terms whose points are added up at once: enough to share an inversion, few enough for
/// the cache.
const TOGETHER: usize = 128;

/// Many sums `Σ factor·point`. `ends` must ascend; each sum covers the terms from the end before it
/// up to its own end.
#[must_use]
pub fn vartime_sums<G: Group>(terms: &[(Affine<G>, Factor<G>)], ends: &[usize]) -> Vec<Affine<G>> {
    let mut sums = Vec::with_capacity(ends.len());
    let (mut from, mut rest) = (0, ends);
    while !rest.is_empty() {
        // The sums that end within the next `TOGETHER` terms, but at least one sum.
        let count = rest.partition_point(|end| *end < from + TOGETHER).max(1);
        let (own, others) = rest.split_at(count);
        let to = own.last().copied().unwrap_or(from).min(terms.len());
        let own: Vec<usize> = own.iter().map(|end| end.saturating_sub(from)).collect();
        let terms = terms.get(from..to).unwrap_or_default();
        match own.as_slice() {
            [_] if terms.len() >= msm::FEW => sums.push(msm::sum(terms).to_affine()),
            own => sums.extend(together(terms, own)),
        }
        (from, rest) = (to.max(from), others);
    }
    sums
}

/// Computes the sums at once: first the additions at each place of each sum, then the doublings.
fn together<G: Group>(terms: &[(Affine<G>, Factor<G>)], ends: &[usize]) -> Vec<Affine<G>> {
    let (additions, places) = (at_places(terms, ends), PLACES / G::DIGITS);
    if ends.len() < MANY {
        let sums: Vec<_> = additions.chunks_exact(places).map(horner).collect();
        return Projective::batch_to_affine(&sums);
    }
    horner_all(&additions, places)
}

/// `Σ 2ᵏ·termₖ` for each group of `places` terms, all groups together.
fn horner_all<G: Group>(terms: &[Affine<G>], places: usize) -> Vec<Affine<G>> {
    let rows = || terms.chunks_exact(places);
    let mut sums = alloc::vec![Affine::identity(); rows().len()];
    for place in (0..places).rev() {
        let doubled = sums.clone();
        vartime_add_pairs(&mut sums, &doubled);
        let column: Vec<_> = rows().filter_map(|row| row.get(place)).copied().collect();
        vartime_add_pairs(&mut sums, &column);
    }
    sums
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::backend::{G1, G2};
    use crate::factor::challenge;
    use crate::group::Z;
    use crate::msm::vartime_msm_challenges;
    use crate::scalar::Scalar;

    fn scalars() -> Vec<Scalar> {
        let mut rng = ChaCha20Rng::seed_from_u64(41);
        let z = Scalar::from_u64(Z);
        let mut scalars =
            [0, 1, 2, 7, 8, 15, 16, u64::MAX, Z - 1, Z].map(Scalar::from_u64).to_vec();
        // The windows of these end one place above their digits.
        scalars.push(Scalar::from_u64(26 << 59));
        scalars.push(
            Scalar::from_u64(21 << 59) * Scalar::from_u64(1 << 32) * Scalar::from_u64(1 << 32),
        );
        scalars.extend([-Scalar::ONE, z * z, z * z - Scalar::ONE, -(z * z), z * z * z]);
        scalars.extend((0..10).map(|_| Scalar::random(&mut rng)));
        scalars
    }

    fn points<G: Group>(count: u64) -> Vec<Affine<G>> {
        (1..=count).map(|k| (Affine::generator() * Scalar::from_u64(k * k)).to_affine()).collect()
    }

    fn the_map_is_a_power_of_z<G: Group>() {
        let z = Scalar::from_u64(Z);
        let power = if G::DIGITS == 2 { z * z } else { z };
        for point in points::<G>(3) {
            let mapped = Affine::<G>(G::endomorphism(&point.0));
            assert_eq!(mapped, (point * power).to_affine());
        }
        let identity = Affine::<G>::identity();
        assert!(Affine::<G>(G::endomorphism(&identity.0)).is_identity());
    }

    #[test]
    fn the_maps_are_powers_of_z() {
        the_map_is_a_power_of_z::<G1>();
        the_map_is_a_power_of_z::<G2>();
    }

    fn sums_are_those_of_single_products<G: Group>() {
        let scalars = scalars();
        let mut points = points::<G>(u64::try_from(scalars.len()).unwrap());
        points[5] = Affine::identity();
        // Equal and opposite points, so that an addition meets its own value.
        points[11] = points[12];
        points[13] = -points[14];
        let terms: Vec<_> = points.iter().copied().zip(scalars.iter().map(Factor::new)).collect();
        let products: Vec<_> = points.iter().zip(&scalars).map(|(p, k)| p * k).collect();
        let singles: Vec<usize> = (1..=terms.len()).collect();
        assert_eq!(vartime_sums(&terms, &singles), Projective::batch_to_affine(&products));
        let ends = [0, 3, 3, 10, terms.len()];
        let mut start = 0;
        for (end, sum) in ends.into_iter().zip(vartime_sums(&terms, &ends)) {
            assert_eq!(
                sum,
                products[start..end].iter().copied().sum::<Projective<G>>().to_affine(),
                "{start}..{end}"
            );
            start = end;
        }
        assert!(vartime_sums::<G>(&[], &[]).is_empty());
    }

    #[test]
    fn sums_in_both_groups_are_those_of_single_products() {
        sums_are_those_of_single_products::<G1>();
        sums_are_those_of_single_products::<G2>();
    }

    #[test]
    fn sums_do_not_depend_on_what_is_added_up_together() {
        let count = 2 * TOGETHER + 44;
        let points = points::<G1>(u64::try_from(count).unwrap());
        let number = |at: usize| Scalar::from_u64(u64::try_from(at * at + 5).unwrap());
        let terms: Vec<_> =
            points.into_iter().zip((0..count).map(|at| Factor::new(&number(at)))).collect();
        let value = |at: usize| Scalar::from_u64(u64::try_from((at + 1) * (at + 1)).unwrap());
        for ends in [
            (1..=count).collect(),
            alloc::vec![count],
            alloc::vec![TOGETHER - 1, TOGETHER, TOGETHER, TOGETHER + 1, count],
            alloc::vec![0, 1, 2 * TOGETHER + 1, 2 * TOGETHER + 3],
        ] {
            let sums = vartime_sums(&terms, &ends);
            assert_eq!(sums.len(), ends.len());
            let mut start = 0;
            for (end, sum) in ends.into_iter().zip(sums) {
                let expected = (start..end).map(|at| number(at) * value(at)).sum::<Scalar>();
                assert_eq!(sum, (Projective::generator() * expected).to_affine(), "{start}..{end}");
                start = end;
            }
        }
    }

    fn challenges_are_scalars_too<G: Group>() {
        let mut rng = ChaCha20Rng::seed_from_u64(42);
        let mut bits = alloc::vec![0, 1, u128::MAX, 1 << 32, 1 << 64, 1 << 96, u128::MAX << 96];
        bits.extend((0..5).map(|_| u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64())));
        let points = points::<G>(u64::try_from(bits.len()).unwrap());
        let products: Vec<_> =
            points.iter().zip(&bits).map(|(point, bits)| *point * challenge(*bits)).collect();
        let factors = bits.iter().map(|bits| Factor::challenge(*bits));
        let terms: Vec<_> = points.iter().copied().zip(factors).collect();
        let singles: Vec<usize> = (1..=terms.len()).collect();
        assert_eq!(vartime_sums(&terms, &singles), Projective::batch_to_affine(&products));
        assert_eq!(vartime_msm_challenges(&points, &bits), products.into_iter().sum());
    }

    #[test]
    fn challenges_are_scalars_in_both_groups() {
        challenges_are_scalars_too::<G1>();
        challenges_are_scalars_too::<G2>();
        // Injective where the digits meet.
        let z = Scalar::from_u64(Z);
        assert_eq!(challenge(u128::MAX >> 96), Scalar::from_u64(u64::from(u32::MAX)));
        assert_eq!(challenge(1 << 32), z);
        assert_eq!(challenge(1 << 96), z * z * z);
    }
}
