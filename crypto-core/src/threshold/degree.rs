//! Tests whether keys lie on one polynomial of degree below `t`.
//!
//! `n` points `xᵢ` and zero carry keys `g^yᵢ` and `g^y₀`. If the `y` are the values of a polynomial
//! `f` of degree below `t`, then for every `q` of degree at most `n − t` the product `f·q` has degree
//! below `n` and
//!
//! ```text
//! Σᵢ λᵢ·q(xᵢ)·yᵢ = q(0)·y₀                            λᵢ interpolates at zero from all n points
//! ```
//!
//! The left side minus the right side is linear in `q`. It is zero for all `q` only if such an `f`
//! exists. Take `q = Σ ρᵏ·Xᵏ`. If no such `f` exists, the difference is a non-zero polynomial in `ρ`
//! of degree at most `n − t`. So a random `ρ` shows the error except with probability `n/r`, about
//! 2⁻²³⁵ for the widest committee. `ρ` comes from a transcript over all keys. Because `q` is a
//! geometric series, everything but the one sum in the exponent costs a few multiplications for each
//! key.
//!
//! After Cascudo and David, SCRAPE ([eprint 2017/216](https://eprint.iacr.org/2017/216)), who draw all
//! coefficients of `q` at random.
use alloc::vec::Vec;

use crate::access::ShareIndex;
use crate::curve::hazmat::{batch_invert, vartime_msm};
use crate::curve::{Affine, Group, Scalar};
use crate::polynomial::Points;

/// `Some` if the keys of all shares and the key at zero are on one polynomial of degree below `t`.
/// Costs a multi-scalar multiplication over `n` full scalars.
pub(crate) fn check<G: Group>(
    points: &Points,
    t: u32,
    (secret, shares): (Affine<G>, &[Affine<G>]),
    rho: &Scalar,
) -> Option<()> {
    let indices: Vec<ShareIndex> = points.indices().collect();
    let lambda = points.lagrange_at_zero(&indices).ok()?.to_scalars();
    let terms = u64::from(points.count().checked_sub(t)?) + 1;
    let xs: Vec<Scalar> = indices.iter().filter_map(|index| points.point(*index)).collect();
    let mut weights = geometric(&xs, terms, rho);
    weights.iter_mut().zip(&lambda).for_each(|(q, lambda)| *q *= *lambda);
    (vartime_msm(shares, &weights) == secret.into()).then_some(())
}

/// `q(x) = Σ_(k < terms) (ρ·x)ᵏ` at each `x`. At zero the value is one.
fn geometric(xs: &[Scalar], terms: u64, rho: &Scalar) -> Vec<Scalar> {
    let ratios: Vec<Scalar> = xs.iter().map(|x| *x * *rho).collect();
    let mut below: Vec<Scalar> = ratios.iter().map(|ratio| *ratio - Scalar::ONE).collect();
    batch_invert(&mut below);
    let sum = |(ratio, inverse): (&Scalar, &Scalar)| {
        if *ratio == Scalar::ONE {
            Scalar::from_u64(terms)
        } else {
            (ratio.vartime_pow(terms) - Scalar::ONE) * *inverse
        }
    };
    ratios.iter().zip(&below).map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::{G1, Projective};
    use crate::polynomial::Placement;

    fn keys(coefficients: &[u64], points: &Points) -> (Affine<G1>, Vec<Affine<G1>>) {
        let value = |x: Scalar| {
            let scalars = coefficients.iter().map(|c| Scalar::from_u64(*c));
            let value = scalars.rev().fold(Scalar::ZERO, |sum, c| sum * x + c);
            (Projective::<G1>::generator() * value).to_affine()
        };
        let shares = points.indices().map(|i| value(points.point(i).unwrap())).collect();
        (value(Scalar::ZERO), shares)
    }

    #[test]
    fn the_degree_is_what_it_says_and_not_one_more() {
        let coefficients = [5, 3, 0, 7];
        for placement in [Placement::Consecutive, Placement::RootsOfUnity] {
            for n in 4..8 {
                let points = Points::new(placement, n).unwrap();
                let (secret, shares) = keys(&coefficients, &points);
                for rho in [2, 3, 1_000_003].map(Scalar::from_u64) {
                    for t in 1..=n {
                        let verdict = check(&points, t, (secret, &shares), &rho);
                        assert_eq!(verdict.is_some(), t >= 4, "{placement} t={t} n={n}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_secret_is_on_the_polynomial_even_if_all_shares_are_needed() {
        for placement in [Placement::Consecutive, Placement::RootsOfUnity] {
            let points = Points::new(placement, 4).unwrap();
            let (secret, mut shares) = keys(&[5, 3, 0, 7], &points);
            let rho = Scalar::from_u64(9);
            assert!(check(&points, 4, (secret, &shares), &rho).is_some());
            let other = (Projective::<G1>::generator() * Scalar::from_u64(6)).to_affine();
            assert!(check(&points, 4, (other, &shares), &rho).is_none());
            shares[2] = other;
            assert!(check(&points, 4, (secret, &shares), &rho).is_none());
        }
    }

    #[test]
    fn a_ratio_of_one_counts_its_terms() {
        let three = geometric(&[Scalar::from_u64(2)], 3, &Scalar::from_u64(2).invert().unwrap());
        assert_eq!(three, [Scalar::from_u64(3)]);
        let seven = geometric(&[Scalar::ONE], 3, &Scalar::from_u64(2));
        assert_eq!(seven, [Scalar::from_u64(7)]);
    }
}
