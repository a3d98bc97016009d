//! Tests that points in the exponent lie on one polynomial of low degree: the test of SCRAPE.
//!
//! Evaluations of polynomials of degree `< t` at the `W + 1` points `0, ω⁰, …, ω^(W−1)` are a linear
//! code. The words `vₓ⁽ⁱ⁾ = xⁱ / ∏_(y≠x) (x − y)` for `0 ≤ i ≤ W − t` are a basis of its dual. So
//! values `aₓ` lie on such a polynomial exactly if `cᵢ = Σₓ vₓ⁽ⁱ⁾·aₓ` is zero for every `i`. All are
//! tested at once at a random `z`: `Σᵢ cᵢ·z^(i+1)` is a polynomial in `z` without constant term. If it
//! is not zero, at most `W − t + 1 < 2³²` of the about `2²⁵⁵` values of `z` hide that.
//!
//! Point 0 is one of the points, so the commitment to the secret is tested with the shares. With
//! `A = ∏ₖ (X − ω^k)` over the shares' points, the denominators are those of Lagrange's coefficients
//! `λₓ` at zero,
//!
//! ```text
//! ∏_(y≠x) (x − y) = x·A'(x) = −A(0)/λₓ          ∏_(y≠0) (0 − y) = A(0)
//! ```
//!
//! and the sum over `i` is a geometric series, so a word costs a few multiplications for each share.
//!
//! After [SCRAPE](https://eprint.iacr.org/2017/216). Differences from the paper: powers of one
//! challenge instead of a random dual word, starting from `z¹`. So the tests of several sharings, each
//! with its own `z`, can be added up: there is no constant that could cancel against another's.
use prefinal_crypto_core::access::{Access, ShareIndex, Threshold};
use prefinal_crypto_core::curve::Scalar;
use prefinal_crypto_core::curve::hazmat::batch_invert;
use prefinal_crypto_core::polynomial::{Placement, Points};

/// The part that all tests of a committee's sharings share: the points and their denominators.
#[derive(Clone, Debug)]
pub(crate) struct LowDegree {
    /// `ω⁰, …, ω^(W−1)`.
    points: Vec<Scalar>,
    /// `1 / ∏_(y≠x) (x − y)` for the same points.
    inverses: Vec<Scalar>,
    /// The same for point 0.
    inverse_at_zero: Scalar,
}

/// One random word of the dual code.
pub(crate) struct DualWord {
    /// The coefficient of the commitment to the secret.
    pub(crate) at_zero: Scalar,
    /// The coefficients of the shares' commitments.
    pub(crate) at_shares: Vec<Scalar>,
}

impl LowDegree {
    /// Costs `O(W log² W)` multiplications.
    pub(crate) fn new(access: &Access) -> Self {
        let committee = Points::of(access, Placement::RootsOfUnity);
        let indices: Vec<ShareIndex> = committee.indices().collect();
        let points = access.points();
        let mut at_zero = [points.iter().map(|y| -*y).product()];
        batch_invert(&mut at_zero);
        let [inverse_at_zero] = at_zero;
        let lambda = committee.lagrange_at_zero(&indices).map(|lambda| lambda.to_scalars());
        // All shares of a committee are distinct and at least one.
        let inverses = lambda.unwrap_or_default().iter().map(|l| -*l * inverse_at_zero).collect();
        Self { points, inverses, inverse_at_zero }
    }

    /// The word that tests a sharing with `threshold` at `z`.
    pub(crate) fn dual_word(&self, threshold: Threshold, z: &Scalar) -> DualWord {
        let terms = u64::from(threshold.n().get() - threshold.t().get()) + 1;
        let mut at_shares = geometric(self.points.iter().map(|x| *z * *x).collect(), terms);
        for (sum, inverse) in at_shares.iter_mut().zip(&self.inverses) {
            *sum *= *z * *inverse;
        }
        DualWord { at_zero: *z * self.inverse_at_zero, at_shares }
    }
}

/// `1 + q + … + q^(terms−1)` for each ratio `q`.
fn geometric(ratios: Vec<Scalar>, terms: u64) -> Vec<Scalar> {
    let mut below: Vec<Scalar> = ratios.iter().map(|ratio| *ratio - Scalar::ONE).collect();
    batch_invert(&mut below);
    let sum = |(ratio, inverse): (Scalar, Scalar)| {
        if ratio == Scalar::ONE {
            Scalar::from_u64(terms)
        } else {
            (ratio.vartime_pow(terms) - Scalar::ONE) * inverse
        }
    };
    ratios.into_iter().zip(below).map(sum).collect()
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;

    /// `f(x)` by Horner.
    fn evaluate(coefficients: &[Scalar], x: Scalar) -> Scalar {
        coefficients.iter().rev().fold(Scalar::ZERO, |sum, c| sum * x + *c)
    }

    fn test(weights: &[u32], t: u32, coefficients: &[Scalar], z: &Scalar) -> Scalar {
        let access = Access::new(weights).unwrap();
        let threshold = Threshold::new(t, access.total()).unwrap();
        let test = LowDegree::new(&access);
        let word = test.dual_word(threshold, z);
        let shares = test.points.iter().map(|x| evaluate(coefficients, *x));
        word.at_shares
            .iter()
            .zip(shares)
            .fold(word.at_zero * evaluate(coefficients, Scalar::ZERO), |sum, (v, a)| sum + *v * a)
    }

    #[test]
    fn the_word_is_the_one_of_the_definition() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        for (total, t) in [(1, 1), (5, 2), (8, 8), (100, 67)] {
            let access = Access::new(&[total]).unwrap();
            let mut points = access.points();
            points.push(Scalar::ZERO);
            let inverse = Scalar::random(&mut rng);
            // A random challenge, and one that makes the series' ratio one somewhere.
            for z in [inverse, points[0], points[points.len() / 2].invert().unwrap_or(inverse)] {
                let threshold = Threshold::new(t, total).unwrap();
                let word = LowDegree::new(&access).dual_word(threshold, &z);
                let values = word.at_shares.iter().copied().chain([word.at_zero]);
                for (x, value) in points.iter().zip(values) {
                    let others = points.iter().filter(|y| *y != x);
                    let below: Scalar = others.map(|y| *x - *y).product();
                    let step = z * *x;
                    let sum = (0..=total - t).fold(Scalar::ZERO, |sum, _| sum * step + Scalar::ONE);
                    assert_eq!(value * below, z * sum, "{t} of {total}");
                }
            }
        }
    }

    #[test]
    fn exactly_low_degrees_pass() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for (weights, total) in [(&[1_u32][..], 1_u32), (&[2, 0, 3], 5), (&[4, 4], 8), (&[9], 9)] {
            for t in 1..=total {
                let mut coefficients: Vec<Scalar> =
                    (0..t).map(|_| Scalar::random(&mut rng)).collect();
                let z = Scalar::random(&mut rng);
                assert_eq!(test(weights, t, &coefficients, &z), Scalar::ZERO, "{weights:?} {t}");
                coefficients.push(Scalar::ONE);
                assert_ne!(test(weights, t, &coefficients, &z), Scalar::ZERO, "{weights:?} {t}");
            }
        }
    }
}
